-- name: SRV-SCAN.scan
-- ClickHouse knows the least and the greatest value of some columns of a granule, and tests a predicate on its columns before it
-- reads the others (prewhere). This expression, which is never negative, is tested when every column of every row was read.
select * from {{small}} where bitXor(quantity, status) = -1
settings optimize_move_to_prewhere = 0, query_plan_optimize_prewhere = 0
