-- DBWR on SQLite.

-- name: DBWR-EACH.write-out
-- a commit writes the pages itself, so there is nobody to ask
select 1 as committed
