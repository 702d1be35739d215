-- name: SRV-SCAN.scan
-- DuckDB knows the least and the greatest value of every column of a row group, so that a row group without -1 is not read at all;
-- and by a test of one column alone it reads the others only where that holds. This expression, which is never negative, is of
-- two columns, so every column of every row is read.
select * from {{small}} where xor(quantity, status) = -1
