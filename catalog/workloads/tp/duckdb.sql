-- DuckDB has no row locks: of two transactions that change the same row the later one fails at once and is counted as an error.

-- name: TP-LIGHT.lock
select * from {{big}} where id = :id

-- name: TP-MEDIUM.lock
select * from {{big}} where key25 = :key

-- name: TP-HEAVY.lock
select * from {{big}} where key125 = :key

-- name: TP-UPDATE32.update
-- DuckDB makes a fraction of "/", and to compare ids with a fraction it converts each of them, which is a scan of the table
update {{big}} set status = status + 1, amount = amount + 1 where id = (:k - 1) * ({{big_rows}} // 32) + :offset

-- name: gather-upsert
-- nothing: it keeps its statistics by itself
