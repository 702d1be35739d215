-- name: columns
-- "amount" in hundredths: SQLite has no decimal type. "booked_on" as ISO text: it has no date type.
  id integer not null primary key,
  key25 integer not null,
  key125 integer not null,
  key320 integer not null,
  region integer not null,
  booked_on text not null,
  amount integer not null,
  quantity integer not null,
  status integer not null,
  code text not null,
  filler text not null

-- name: create.rowid
create table {{table}} (
  {{columns}}
)

-- name: create.iot
create table {{table}} (
  {{columns}}
) without rowid

-- name: row-select
with recursive
  ids(i) as (select {{lo}} union all select i + 1 from ids where i < {{hi}}),
  first_hash(i, h1) as materialized (select i, (i * 1327217885 + 12345 + {{seed}}) % 2147483647 from ids),
  hashes(i, h1, h2) as materialized (select i, h1, (h1 * h1 + i) % 2147483647 from first_hash)
select i, 1 + (i - 1) % ({{rows}} / 25), 1 + (i - 1) % ({{rows}} / 125), 1 + (i - 1) % ({{rows}} / 320),
       1 + h1 % 8, date('2024-01-01', '+' || (h2 % 731) || ' days'),
       1 + (h1 / 8) % 1000000, 1 + (h2 / 731) % 100, 0,
       (h1 + 3000000000) || (h2 + 3000000000) || (i + 100000000000),
       '{{pad}}' || (i + 100000000000)
  from hashes

-- name: checksum
select count(*) as row_count, sum(id) as id, sum(key25) as key25, sum(key125) as key125, sum(key320) as key320,
       sum(region) as region, sum(cast(strftime('%s', booked_on) as integer) / 86400) as booked_on,
       sum(quantity) as quantity,
       sum(cast(substr(code, 1, 10) as integer)) as code_h1, sum(cast(substr(code, 11, 10) as integer)) as code_h2,
       sum(cast(substr(code, 21, 12) as integer) - 100000000000) as code_id,
       sum(length(filler)) as filler_length,
       sum(cast(substr(filler, 169, 12) as integer) - 100000000000) as filler_id,
       sum((id % 9973) * (quantity + 101 * region + key320 % 1009)) as mix,
       sum(amount) as amount, sum(status) as status
  from {{table}}

-- name: session.index
-- nothing: one writer builds them one after the other

-- name: indexes.present
-- Indexes of the table by their names in dataset.toml.
select substr(name, length('{{name}}_') + 1) as name from sqlite_schema
 where type = 'index' and tbl_name = '{{name}}' and sql is not null

-- name: index.id
-- nothing: the table itself is organised by id

-- name: finish
-- nothing: the primary key is part of the table

-- name: analyze
analyze {{table}}

-- name: sizes
select coalesce(sum(pgsize) filter (where name = '{{name}}'), 0) as table_bytes,
       coalesce(sum(pgsize) filter (where name <> '{{name}}'), 0) as index_bytes
  from dbstat where aggregate = true and name in (select name from sqlite_schema where tbl_name = '{{name}}')

-- name: warm.fast
-- nothing: no call fills the cache directly

-- name: warm.session
-- nothing: a scan fills the page cache

-- name: warm.read.id
select sum(length(filler)) from {{table}} not indexed

-- name: warm.read.key25
select count(key25) from {{table}} indexed by {{name}}_key25

-- name: warm.read.key125
select count(key125) from {{table}} indexed by {{name}}_key125

-- name: warm.read.key320
select count(key320) from {{table}} indexed by {{name}}_key320

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
select name, 'drop table "' || name || '"' as "drop" from sqlite_schema
 where type = 'table'
   and instr('|state|small|big|{{words}}|', '|' || substr(name, 1, instr(name || '_', '_') - 1) || '|') > 0
 order by name

-- name: objects.leftover
-- As objects.own without the data set, and indexes that a test added to it.
select name, 'drop ' || type || ' "' || name || '"' as "drop" from sqlite_schema
 where instr('|{{words}}|', '|' || substr(name, 1, instr(name || '_', '_') - 1) || '|') > 0
   and (type = 'table'
     or type = 'index' and instr('|small|big|', '|' || substr(tbl_name, 1, instr(tbl_name || '_', '_') - 1) || '|') > 0)
 order by type, name

-- name: objects.foreign
select name from sqlite_schema
 where type in ('table', 'view') and name not like 'sqlite\_%' escape '\'
   and (type = 'view'
     or instr('|state|small|big|{{words}}|', '|' || substr(name, 1, instr(name || '_', '_') - 1) || '|') = 0)
 order by 1

-- name: schema.drop
-- nothing: the file is removed with the data directory

-- name: files
-- One file holds everything; an empty path means the storage path itself.
select '' as path
