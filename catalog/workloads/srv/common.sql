-- Client drive of the SRV group: one prepared statement per op, every row of the result is read.

-- name: SRV-QUERY1.lookup
select * from {{small}} where id = :id

-- name: SRV-QUERY25.lookup
select * from {{small}} where key25 = :key

-- name: SRV-QUERY320.lookup
select * from {{small}} where key320 = :key

-- name: SRV-REPORT.lookup
select * from {{small}} where key125 = :key

-- name: SRV-SCAN.scan
select * from {{small}} where quantity = -1

-- name: SRV-UPDATE1.update
-- never to the same value: engines skip the log for that
update {{small}} set status = status + 1 where id = :id
