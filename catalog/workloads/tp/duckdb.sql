-- DuckDB has no row locks: of two transactions that change the same row the later one fails at once and is counted as an error.

-- name: TP-LIGHT.lock
select * from {{big}} where id = :id

-- name: TP-MEDIUM.lock
select * from {{big}} where key25 = :key

-- name: TP-HEAVY.lock
select * from {{big}} where key125 = :key

-- name: gather-upsert
-- nothing: it keeps its statistics by itself
