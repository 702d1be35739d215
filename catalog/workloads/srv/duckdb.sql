-- name: SRV-SCAN.scan
-- DuckDB knows the least and the greatest value of every column of a row group, so that a row group without -1 is not read at all;
-- and by a test of one column alone it reads the others only where that holds. This expression, which is never negative, is of
-- two columns, so every column of every row is read.
select * from {{small}} where xor(quantity, status) = -1

-- name: index-json
-- nothing: it has no index of an expression

-- name: gather-json
-- nothing: it keeps its statistics by itself

-- name: find-path
select * from {{prefix}}srv_json where cast(doc ->> '$.a.k' as bigint) = :k

-- name: set-path
update {{prefix}}srv_json
set doc = json_merge_patch(doc, json_object('n', cast(doc ->> '$.n' as bigint) + 1)) where id = :k
