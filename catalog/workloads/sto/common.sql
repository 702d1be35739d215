-- name: STO-READ.scan
select * from {{big}} where quantity = -1

-- name: STO-RANDOM.lookup
select * from {{big}} where id = :id

-- name: STO-RANDOM.update
-- never to the same value: engines skip the log for that
update {{big}} set status = status + 1 where id = :id

-- name: STO-OFFLOAD.offload
select id, quantity, amount from {{big}} where quantity = 7

-- name: STO-ACTIVE.lookup
select * from {{big}} where id = :id
