-- name: columns
-- Uncompressed: the pad of the rows is the same in all of them, so that every test would be one of its decompression.
  id Int64 codec(NONE),
  key25 Int32 codec(NONE),
  key125 Int32 codec(NONE),
  key320 Int32 codec(NONE),
  region Int32 codec(NONE),
  booked_on Date codec(NONE),
  amount Decimal(12, 2) codec(NONE),
  quantity Int32 codec(NONE),
  status Int32 codec(NONE),
  code String codec(NONE),
  filler String codec(NONE)

-- name: create.columns
create table {{table}} (
  {{columns}}
) engine = MergeTree order by id

-- name: row-select
select i, 1 + (i - 1) % intDiv({{rows}}, 25), 1 + (i - 1) % intDiv({{rows}}, 125), 1 + (i - 1) % intDiv({{rows}}, 320),
       1 + h1 % 8, toDate('2024-01-01') + h2 % 731,
       toDecimal64(1 + intDiv(h1, 8) % 1000000, 2) / 100, 1 + intDiv(h2, 731) % 100, 0,
       concat(toString(h1 + 3000000000), toString(h2 + 3000000000), toString(i + 100000000000)),
       concat('{{pad}}', toString(i + 100000000000))
  from (select i, h1, (h1 * h1 + i) % 2147483647 as h2
          from (select toInt64(number) as i, (i * 1327217885 + 12345 + {{seed}}) % 2147483647 as h1
                  from numbers({{lo}}, {{hi}} - {{lo}} + 1)))

-- name: checksum
select count(*) as row_count, sum(id) as id, sum(key25) as key25, sum(key125) as key125, sum(key320) as key320,
       sum(region) as region, sum(booked_on - toDate('1970-01-01')) as booked_on, sum(quantity) as quantity,
       sum(toInt64(substring(code, 1, 10))) as code_h1, sum(toInt64(substring(code, 11, 10))) as code_h2,
       sum(toInt64(substring(code, 21, 12)) - 100000000000) as code_id,
       sum(length(filler)) as filler_length,
       sum(toInt64(substring(filler, 169, 12)) - 100000000000) as filler_id,
       sum((id % 9973) * (quantity + 101 * region + key320 % 1009)) as mix,
       toInt64(sum(amount) * 100) as amount, sum(status) as status
  from {{table}}

-- name: state.create
create table if not exists {{prefix}}state (
  table_name String,
  row_count Int64,
  seed Int64,
  revision Int32,
  data_set_id String,
  checksum String,
  table_bytes Int64,
  index_bytes Int64,
  loaded_at String
) engine = MergeTree order by table_name

-- name: chunks.create
create table if not exists {{prefix}}state_chunks (
  table_name String,
  first_id Int64,
  last_id Int64,
  data_set_id String
) engine = MergeTree order by (table_name, first_id)

-- name: chunks.clear
-- A chunk and its note are two statements.
alter table {{table}} delete where id between {{lo}} and {{hi}}

-- name: session.index
-- nothing: an index is built by all processors

-- name: indexes.present
-- Indexes of the table by their names in dataset.toml.
select name from system.projections where database = 'dbdyno' and table = '{{name}}' and type = 'Normal'

-- name: index.id
-- nothing: the table is ordered by id

-- name: index.key25
-- The positions of the rows in the order of the key (a projection), in parts that are there and in those to come.
alter table {{table}}
  add projection key25 (select _part_offset order by key25),
  materialize projection key25

-- name: index.key125
alter table {{table}}
  add projection key125 (select _part_offset order by key125),
  materialize projection key125

-- name: index.key320
alter table {{table}}
  add projection key320 (select _part_offset order by key320),
  materialize projection key320

-- name: finish
-- One part: no merge is left to do in the background.
optimize table {{table}} final

-- name: analyze
-- nothing: there are no statistics to gather

-- name: sizes
select (select sum(bytes_on_disk) from system.parts where active and database = 'dbdyno' and table = '{{name}}') - index_bytes
         as table_bytes,
       (select sum(bytes_on_disk) from system.projection_parts where active and database = 'dbdyno' and table = '{{name}}')
         as index_bytes

-- name: warm.fast
-- nothing: no call fills the cache directly

-- name: warm.session
-- nothing: a scan fills the cache

-- name: warm.read.id
-- every column
select sum(id + key25 + key125 + key320 + region + quantity + status) as numbers, sum(amount) as amounts,
       max(booked_on) as day, sum(length(code) + length(filler)) as characters, max(cityHash64(code, filler)) as hash from {{table}}

-- name: warm.read.key25
-- nothing: the blocks of a projection are read by the first look-ups

-- name: warm.read.key125
-- nothing: the blocks of a projection are read by the first look-ups

-- name: warm.read.key320
-- nothing: the blocks of a projection are read by the first look-ups

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
select '{{prefix}}' || name as name, 'drop table {{prefix}}"' || name || '" sync' as "drop"
  from (select name from system.tables where database = 'dbdyno')
 where position('|state|small|big|{{words}}|', '|' || splitByChar('_', name)[1] || '|') > 0
 order by 1

-- name: objects.leftover
-- As objects.own without the data set.
select '{{prefix}}' || name as name, 'drop table {{prefix}}"' || name || '" sync' as "drop"
  from (select name from system.tables where database = 'dbdyno')
 where position('|{{words}}|', '|' || splitByChar('_', name)[1] || '|') > 0
 order by 1

-- name: objects.foreign
select name from system.tables
 where database = 'dbdyno'
   and (engine = 'View' or position('|state|small|big|{{words}}|', '|' || splitByChar('_', name)[1] || '|') = 0)
 order by 1

-- name: schema.drop
-- nothing: the directory is removed with the data directory

-- name: files
-- Each column of a part is a file, or all of a small part are one.
select distinct concat(path, if(part_type = 'Compact', 'data', column)) as path
  from system.parts_columns where active and database = 'dbdyno' and table = '{{name}}'
