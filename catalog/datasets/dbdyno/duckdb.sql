-- name: columns
-- Uncompressed: the pad of the rows is the same in all of them, so that DuckDB would keep a quarter of the bytes that other
-- engines keep, and every test of storage would be one of its decompression.
  id bigint not null using compression uncompressed,
  key25 integer not null using compression uncompressed,
  key125 integer not null using compression uncompressed,
  key320 integer not null using compression uncompressed,
  region integer not null using compression uncompressed,
  booked_on date not null using compression uncompressed,
  amount numeric(12,2) not null using compression uncompressed,
  quantity integer not null using compression uncompressed,
  status integer not null using compression uncompressed,
  code varchar not null using compression uncompressed,
  filler varchar not null using compression uncompressed

-- name: create.columns
create table {{table}} (
  {{columns}}
)

-- name: row-select
select i, 1 + (i - 1) % ({{rows}} // 25), 1 + (i - 1) % ({{rows}} // 125), 1 + (i - 1) % ({{rows}} // 320),
       1 + h1 % 8, date '2024-01-01' + cast(h2 % 731 as integer),
       cast(1 + (h1 // 8) % 1000000 as numeric(12,2)) / 100, 1 + (h2 // 731) % 100, 0,
       (h1 + 3000000000) || (h2 + 3000000000) || (i + 100000000000),
       '{{pad}}' || (i + 100000000000)
  from (select i, h1, (h1 * h1 + i) % 2147483647 as h2
          from (select i, (i * 1327217885 + 12345 + {{seed}}) % 2147483647 as h1 from range({{lo}}, {{hi}} + 1) ids(i)))

-- name: checksum
select count(*) as row_count, sum(id) as id, sum(key25) as key25, sum(key125) as key125, sum(key320) as key320,
       sum(region) as region, sum(booked_on - date '1970-01-01') as booked_on, sum(quantity) as quantity,
       sum(cast(substr(code, 1, 10) as bigint)) as code_h1, sum(cast(substr(code, 11, 10) as bigint)) as code_h2,
       sum(cast(substr(code, 21, 12) as bigint) - 100000000000) as code_id,
       sum(length(filler)) as filler_length,
       sum(cast(substr(filler, 169, 12) as bigint) - 100000000000) as filler_id,
       sum((id % 9973) * (quantity + 101 * region + key320 % 1009)) as mix,
       cast(sum(amount) * 100 as bigint) as amount, sum(status) as status
  from {{table}}

-- name: session.index
-- An index is built by all processors; the sessions of jobs have set them to one.
reset threads

-- name: indexes.present
-- Indexes of the table by their names in dataset.toml.
select substr(index_name, length('{{name}}_') + 1) as name from duckdb_indexes()
 where database_name = 'dbdyno' and table_name = '{{name}}'

-- name: index.id
create unique index {{name}}_id on {{table}} (id)

-- name: finish
-- what was loaded goes from the log into the file
checkpoint

-- name: analyze
analyze {{table}}

-- name: sizes
-- Blocks of the table's columns; those of no table's columns are the indexes' (and a few of the catalogue's).
select table_blocks * block_size as table_bytes,
       greatest((used_blocks - small_blocks - big_blocks) * block_size
         - (select coalesce(sum(index_bytes), 0) from {{prefix}}state where table_name <> '{{name}}'), 0) as index_bytes
  from (select block_size, used_blocks from pragma_database_size() where database_name = 'dbdyno'),
       (select count(distinct block_id) as table_blocks from pragma_storage_info('{{name}}') where persistent),
       (select coalesce(sum(table_bytes), 0) // 262144 as small_blocks from {{prefix}}state where table_name <> '{{name}}'),
       (select count(distinct block_id) as big_blocks from pragma_storage_info('{{name}}') where persistent)

-- name: warm.fast
-- nothing: no call fills the cache directly

-- name: warm.session
-- nothing: a scan fills the cache

-- name: warm.read.id
-- every column, and the index by look-ups of all its keys' blocks
select sum(id + key25 + key125 + key320 + region + quantity + status) + sum(amount), max(booked_on),
       sum(length(code) + length(filler)) from {{table}}

-- name: warm.read.key25
-- nothing: the blocks of an index are read by the first look-ups

-- name: warm.read.key125
-- nothing: the blocks of an index are read by the first look-ups

-- name: warm.read.key320
-- nothing: the blocks of an index are read by the first look-ups

-- name: lock.take
-- nothing: a lock on the data directory keeps others out

-- name: lock.holder
-- nothing: a lock on the data directory keeps others out

-- name: lock.waits
-- nothing: nobody else has sessions there

-- name: others
-- nothing: a lock on the data directory keeps others out

-- name: objects.own
-- Everything that we made, by our naming rule (see dataset::clean).
select '{{prefix}}' || table_name as name, 'drop table {{prefix}}"' || table_name || '"' as "drop" from duckdb_tables()
 where database_name = 'dbdyno'
   and instr('|state|small|big|{{words}}|', '|' || split_part(table_name, '_', 1) || '|') > 0
 order by 1

-- name: objects.leftover
-- As objects.own without the data set, and indexes that a test added to it.
select '{{prefix}}' || name as name, 'drop ' || type || ' {{prefix}}"' || name || '"' as "drop"
  from (select table_name as name, 'table' as type, table_name as of_table from duckdb_tables()
         where database_name = 'dbdyno'
        union all
        select index_name, 'index', table_name from duckdb_indexes() where database_name = 'dbdyno') objects
 where instr('|{{words}}|', '|' || split_part(objects.name, '_', 1) || '|') > 0
   and (type = 'table' or instr('|small|big|', '|' || split_part(of_table, '_', 1) || '|') > 0)
 order by type, objects.name

-- name: objects.foreign
select name
  from (select table_name as name, false as is_view from duckdb_tables() where database_name = 'dbdyno' and not internal
        union all
        select view_name, true from duckdb_views() where database_name = 'dbdyno' and not internal)
 where is_view or instr('|state|small|big|{{words}}|', '|' || split_part(name, '_', 1) || '|') = 0
 order by 1

-- name: schema.drop
-- nothing: the file is removed with the data directory

-- name: files
-- One file holds everything; an empty path means the storage path itself.
select '' as path
