-- name: parallel-build
-- as `parallel`
set max_threads = {{threads}}

-- name: hashes
-- one table of hashes, made of the right side, which is the small table
set join_algorithm = 'hash', query_plan_join_swap_table = 'false'

-- name: DA-SCAN.scan
-- ClickHouse divides into fractions. It sees through the expression, and would go through the projection of key25 instead of all
-- rows.
select count(*) as n, sum(id) as ids, sum(amount) as total from {{table}} where key25 + 0 <= intDiv({{table_key25}}, 2)
settings optimize_use_projections = 0
