-- name: create.heap
create table {{table}} (
  id bigint not null,
  key25 integer not null,
  key125 integer not null,
  key320 integer not null,
  region integer not null,
  booked_on date not null,
  amount numeric(12,2) not null,
  quantity integer not null,
  status integer not null,
  code varchar(32) not null,
  filler varchar(200) not null
)

-- name: row-select
-- Rows {{lo}} to {{hi}}; "offset 0" keeps the hashes from being computed again for every column.
select i, 1 + mod(i - 1, {{rows}} / 25), 1 + mod(i - 1, {{rows}} / 125), 1 + mod(i - 1, {{rows}} / 320),
       (1 + mod(h1, 8))::int, date '2024-01-01' + mod(h2, 731)::int,
       (1 + mod(h1 / 8, 1000000))::numeric / 100, (1 + mod(h2 / 731, 100))::int, 0,
       (h1 + 3000000000)::text || (h2 + 3000000000)::text || (i + 100000000000)::text,
       '{{pad}}' || (i + 100000000000)::text
  from (select i, h1, mod(h1 * h1 + i, 2147483647) as h2
          from (select i, mod(i * 1327217885 + 12345 + {{seed}}, 2147483647) as h1
                  from generate_series({{lo}}::bigint, {{hi}}::bigint) as i offset 0) as first_hash offset 0) as hashes

-- name: checksum
select count(*) as row_count, sum(id) as id, sum(key25) as key25, sum(key125) as key125, sum(key320) as key320,
       sum(region) as region, sum(booked_on - date '1970-01-01') as booked_on, sum(quantity) as quantity,
       sum(substr(code, 1, 10)::bigint) as code_h1, sum(substr(code, 11, 10)::bigint) as code_h2,
       sum(substr(code, 21, 12)::bigint - 100000000000) as code_id,
       sum(length(filler)) as filler_length, sum(substr(filler, 169, 12)::bigint - 100000000000) as filler_id,
       sum(mod(id, 9973) * (quantity + 101 * region + mod(key320, 1009))) as mix,
       sum((amount * 100)::bigint) as amount, sum(status) as status
  from {{table}}

-- name: session.index
-- One sort per index in memory, no helpers: the builds themselves run side by side.
select set_config('maintenance_work_mem', '256MB', false), set_config('max_parallel_maintenance_workers', '0', false)

-- name: index.id
-- The primary key is made of this index afterwards (block finish): "alter table" alone would shut out the others.
create unique index {{name}}_pkey on {{table}} (id)

-- name: finish
alter table {{table}} add constraint {{name}}_pkey primary key using index {{name}}_pkey

-- name: analyze
vacuum (freeze, analyze) {{table}}

-- name: sizes
select pg_table_size('{{table}}'::regclass) as table_bytes, pg_indexes_size('{{table}}'::regclass) as index_bytes

-- name: warm.fast
-- Fills the buffer cache directly, if the extension is there; a plain scan of a big table goes through a small ring.
select sum(pg_prewarm(oid)) from pg_class
 where oid = '{{table}}'::regclass or oid in (select indexrelid from pg_index where indrelid = '{{table}}'::regclass)

-- name: warm.session
select set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false),
       set_config('max_parallel_workers_per_gather', '0', false)

-- name: warm.read.id
-- In index order: such reads fill the buffer cache, a sequential scan of a big table does not.
select sum(length(filler)) from (select filler from {{table}} where id > 0 order by id offset 0) as t

-- name: warm.read.key25
select count(*) from (select key25 from {{table}} where key25 > 0 order by key25 offset 0) as t

-- name: warm.read.key125
select count(*) from (select key125 from {{table}} where key125 > 0 order by key125 offset 0) as t

-- name: warm.read.key320
select count(*) from (select key320 from {{table}} where key320 > 0 order by key320 offset 0) as t

-- name: objects.foreign
-- What stands in our schema and is not ours, by our naming rule.
select relname as name from pg_class
 where relnamespace = to_regnamespace(rtrim('{{prefix}}', '.')) and relkind in ('r', 'v', 'm', 'f', 'p', 'S')
   and relname !~ '^(state|small|big)(_[a-z0-9_]+)?$'
 order by 1

-- name: objects.tables
-- Every table that we made.
select '{{prefix}}' || quote_ident(relname) as name from pg_class
 where relnamespace = to_regnamespace(rtrim('{{prefix}}', '.')) and relkind in ('r', 'p')
   and relname ~ '^(state|small|big)(_[a-z0-9_]+)?$'
 order by 1

-- name: schema.drop
-- Without "cascade": it fails, and so protects, whatever is not ours.
drop schema if exists dbdyno
