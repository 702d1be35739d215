-- Client drive of the TP group.

-- name: TP-LOOKUP.lookup
select * from {{big}} where id = :id

-- name: TP-SELECT32.lookup
select * from {{big}} where id = :id

-- name: TP-UPDATE32.update
update {{big}} set status = status + 1, amount = amount + 1 where id = (:k - 1) * ({{big_rows}} / 32) + :offset

-- name: TP-HOT.update
update {{big}} set status = status + 1, amount = amount + 1 where id = 1 + (:hot - 1) * ({{big_rows}} / 64)

-- name: TP-REPORT.lookup
select * from {{big}} where key25 = :key

-- name: TP-LIGHT.lookup
select * from {{big}} where id = :id

-- name: TP-LIGHT.lock
select * from {{big}} where id = :id for update

-- name: TP-LIGHT.update
update {{big}} set status = status + 1, amount = amount + 1 where id = :id

-- name: TP-MEDIUM.lookup
select * from {{big}} where key25 = :key

-- name: TP-MEDIUM.lock
select * from {{big}} where key25 = :key order by id for update

-- name: TP-MEDIUM.update
update {{big}} set status = status + 1, amount = amount + 1 where key25 = :key

-- name: TP-HEAVY.lookup
select * from {{big}} where key125 = :key

-- name: TP-HEAVY.lock
select * from {{big}} where key125 = :key order by id for update

-- name: TP-HEAVY.update
update {{big}} set status = status + 1, amount = amount + 1 where key125 = :key
