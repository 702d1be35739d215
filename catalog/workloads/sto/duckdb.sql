-- name: STO-READ.scan
-- as SRV-SCAN: an expression of two columns, so that DuckDB reads every column of every row
select * from {{big}} where xor(quantity, status) = -1

-- name: STO-SCATTER.scatter
select * from {{big}} where key320 = 1 + :key % {{big_key320}}

-- name: STO-WRITE.empty
create or replace table sto_write (id integer not null, filler varchar not null using compression uncompressed)

-- name: STO-WRITE.fill
insert into sto_write (id, filler) select i, rpad('x', 2020, 'x') from range(1, {{file_mb}} * 1000000 // 2048 + 1) ids(i)

-- name: files
create or replace table sto_write (id integer not null, filler varchar not null using compression uncompressed)

-- name: no-files
drop table if exists sto_write
