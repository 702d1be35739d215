-- Client drive of the CONN group.

-- name: CONN-NEW.ask
select 1 as one

-- name: CONN-IDLE.lookup
select * from {{small}} where id = :id
