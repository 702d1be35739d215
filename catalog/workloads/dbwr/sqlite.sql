-- DBWR on SQLite.

-- name: DBWR-EACH.write-out
-- a commit writes the pages itself, so there is nobody to ask; no row, since rows are those that were updated
select 1 as committed where false
