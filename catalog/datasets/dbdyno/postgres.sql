-- name: columns
-- Of every table, whatever its organisation.
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

-- name: create.heap
create table {{table}} (
  {{columns}}
);
comment on table {{table}} is 'made by dbdyno'

-- name: create.heap-list
-- A partition per region.
create table {{table}} (
  {{columns}}
) partition by list (region);
comment on table {{table}} is 'made by dbdyno';
do $$
begin
  for region in 1..8 loop
    execute format('create table {{table}}_%s partition of {{table}} for values in (%s)', region, region);
  end loop;
end
$$

-- name: create.range-list
-- Half-years, and in each a partition per region: 32 partitions. More of them would only make look-ups dearer that do
-- not name the partition, as those by id.
create table {{table}} (
  {{columns}}
) partition by range (booked_on);
comment on table {{table}} is 'made by dbdyno';
do $$
declare
  first_day date := '2024-01-01';
begin
  for half in 1..4 loop
    execute format('create table {{table}}_%s partition of {{table}} for values from (%L) to (%L) partition by list (region)',
      half, first_day + (half - 1) * interval '6 months', first_day + half * interval '6 months');
    for region in 1..8 loop
      execute format('create table {{table}}_%s_%s partition of {{table}}_%s for values in (%s)', half, region, half, region);
    end loop;
  end loop;
end
$$

-- name: create.range-hash
-- Half-years, and in each 8 partitions by the hash of the id.
create table {{table}} (
  {{columns}}
) partition by range (booked_on);
comment on table {{table}} is 'made by dbdyno';
do $$
declare
  first_day date := '2024-01-01';
begin
  for half in 1..4 loop
    execute format('create table {{table}}_%s partition of {{table}} for values from (%L) to (%L) partition by hash (id)',
      half, first_day + (half - 1) * interval '6 months', first_day + half * interval '6 months');
    for part in 1..8 loop
      execute format('create table {{table}}_%s_%s partition of {{table}}_%s for values with (modulus 8, remainder %s)',
        half, part, half, part - 1);
    end loop;
  end loop;
end
$$

-- name: state.create
create table if not exists {{prefix}}state (
  table_name varchar(64) not null primary key,
  row_count bigint not null,
  seed bigint not null,
  revision integer not null,
  data_set_id varchar(64) not null,
  checksum varchar(1000) not null,
  table_bytes bigint not null,
  index_bytes bigint not null,
  loaded_at varchar(40) not null
);
comment on table {{prefix}}state is 'made by dbdyno'

-- name: chunks.create
create table if not exists {{prefix}}state_chunks (
  table_name varchar(64) not null,
  first_id bigint not null,
  last_id bigint not null,
  data_set_id varchar(64) not null,
  primary key (table_name, first_id)
);
comment on table {{prefix}}state_chunks is 'made by dbdyno'

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

-- name: indexes.present
-- Indexes of the table by their names in dataset.toml.
select case when relname = '{{name}}_pkey' then 'id' else substr(relname, length('{{name}}_') + 1) end as name
  from pg_index join pg_class on pg_class.oid = indexrelid where indrelid = '{{table}}'::regclass and indisvalid

-- name: index.id
-- The primary key is made of this index afterwards (block finish): "alter table" alone would shut out the others.
create unique index {{name}}_pkey on {{table}} (id)

-- name: finish
do $$
begin
  if not exists (select from pg_constraint where conrelid = '{{table}}'::regclass and contype = 'p') then
    alter table {{table}} add constraint {{name}}_pkey primary key using index {{name}}_pkey;
  end if;
end
$$

-- name: index.id.heap-list
-- nothing: the primary key of a partitioned table cannot be made of an index that is there

-- name: index.id.range-list
-- nothing: the primary key of a partitioned table cannot be made of an index that is there

-- name: index.id.range-hash
-- nothing: the primary key of a partitioned table cannot be made of an index that is there

-- name: finish.heap-list
-- A unique index of a partitioned table must have the partition keys in it, and there is no index over all partitions:
-- a look-up by id alone goes through the index of every partition (docs/decisions/0009-table-organisations.md).
do $$
begin
  if not exists (select from pg_constraint where conrelid = '{{table}}'::regclass and contype = 'p') then
    alter table {{table}} add constraint {{name}}_pkey primary key (id, region);
  end if;
end
$$

-- name: finish.range-list
do $$
begin
  if not exists (select from pg_constraint where conrelid = '{{table}}'::regclass and contype = 'p') then
    alter table {{table}} add constraint {{name}}_pkey primary key (id, booked_on, region);
  end if;
end
$$

-- name: finish.range-hash
do $$
begin
  if not exists (select from pg_constraint where conrelid = '{{table}}'::regclass and contype = 'p') then
    alter table {{table}} add constraint {{name}}_pkey primary key (id, booked_on);
  end if;
end
$$

-- name: analyze
-- Marks the blocks as visible to all, or an automatic vacuum would do so in the middle of a test. Without "freeze",
-- which would write and log every block again (docs/decisions/0002-loading.md).
vacuum (analyze) {{table}}

-- name: sizes
-- Of the table and its partitions: those of a partitioned table itself are 0.
select sum(pg_table_size(oid)) as table_bytes, sum(pg_indexes_size(oid)) as index_bytes
  from (select '{{table}}'::regclass as oid union select relid from pg_partition_tree('{{table}}')) as tables

-- name: parts
select greatest(count(*), 1) as parts from pg_partition_tree('{{table}}') where isleaf

-- name: warm.fast
-- Fills the buffer cache directly, if the extension is there; a plain scan of a big table goes through a small ring. The query
-- itself, with the function in the schema of the extension, whatever else has its name.
select format($query$
  with tables as (select '{{table}}'::regclass as oid union select relid from pg_partition_tree('{{table}}'))
  select sum(%I.pg_prewarm(oid)) from pg_class
   where relkind in ('r', 'i')
     and (oid in (select oid from tables)
       or oid in (select indexrelid from pg_index where indrelid in (select oid from tables)))$query$, n.nspname) as query
  from pg_extension as e join pg_namespace as n on n.oid = e.extnamespace
 where e.extname = 'pg_prewarm'

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

-- name: lock.take
-- Keeps other dbdynos out as long as this session lives. Such locks are per database, as our schema is; the number spells
-- "dbdyno".
select pg_try_advisory_lock(x'646264796e6f'::bigint)::int as taken

-- name: lock.holder
-- Of a session of another user only its number and that user are shown.
select concat_ws(', ', replace(a.application_name, 'dbdyno-', 'process '), 'user ' || a.usename,
         case when a.client_port = -1 then 'on the server''s host' else 'on host ' || host(a.client_addr) end,
         'backend ' || l.pid) as who,
       'select pg_terminate_backend(' || l.pid || ')' as "end"
  from pg_locks as l left join pg_stat_activity as a on a.pid = l.pid
 where l.locktype = 'advisory' and l.granted and l.objsubid = 1
   and l.database = (select oid from pg_database where datname = current_database())
   and l.classid::bigint << 32 | l.objid::bigint = x'646264796e6f'::bigint

-- name: lock.waits
-- Sessions that keep those of this process waiting for a lock. Of another user's the time is shown to members of
-- pg_read_all_stats only.
select distinct concat_ws(', ', case when b.pid = 0 then 'a prepared transaction (pg_prepared_xacts)' else 'session ' || b.pid end,
         'user ' || h.usename, nullif(h.application_name, ''),
         case when b.pid = 0 then null
           else coalesce('in a transaction since ' || to_char(h.xact_start, 'YYYY-MM-DD HH24:MI:SS TZ'),
             'since when is told to members of pg_read_all_stats only') end) as who,
       case when b.pid > 0 then 'select pg_terminate_backend(' || b.pid || ')' end as "end"
  from pg_stat_activity as w cross join unnest(pg_blocking_pids(w.pid)) as b(pid)
  left join pg_stat_activity as h on h.pid = b.pid
 where w.application_name = current_setting('application_name') and w.usename = current_user and w.wait_event_type = 'Lock'
 order by 1

-- name: others
-- Backends of other dbdyno processes in this database with a statement or transaction under way, once we have the lock. One
-- whose process was killed ends by itself (from version 14 on within a second, before that at the end of its statement).
select pid from pg_stat_activity
 where application_name like 'dbdyno-%' and application_name <> current_setting('application_name')
   and datname = current_database() and usename = current_user and state <> 'idle'

-- name: objects.own
-- Everything that is proven ours: in our schema, owned by our user, with our comment, which only its owner can give.
select name, "drop" from (
  select 1 as step, '{{prefix}}' || quote_ident(proname) as name,
         'drop ' || case prokind when 'p' then 'procedure ' else 'function ' end || oid::regprocedure as "drop"
    from pg_proc
   where pronamespace = to_regnamespace(rtrim('{{prefix}}', '.')) and pg_get_userbyid(proowner) = current_user
     and obj_description(oid, 'pg_proc') = 'made by dbdyno'
  union all
  select 2, '{{prefix}}' || quote_ident(relname), 'drop table ' || oid::regclass
    from pg_class
   where relnamespace = to_regnamespace(rtrim('{{prefix}}', '.')) and pg_get_userbyid(relowner) = current_user
     and relkind in ('r', 'p') and not relispartition and obj_description(oid, 'pg_class') = 'made by dbdyno'
) as ours order by step, name

-- name: objects.leftover
-- As objects.own without the data set, and indexes that a test added to it.
select name, "drop" from (
  select 1 as step, '{{prefix}}' || quote_ident(proname) as name,
         'drop ' || case prokind when 'p' then 'procedure ' else 'function ' end || oid::regprocedure as "drop"
    from pg_proc
   where pronamespace = to_regnamespace(rtrim('{{prefix}}', '.')) and pg_get_userbyid(proowner) = current_user
     and obj_description(oid, 'pg_proc') = 'made by dbdyno'
  union all
  select 2, '{{prefix}}' || quote_ident(c.relname),
         'drop ' || case when i.indexrelid is null then 'table ' else 'index ' end || c.oid::regclass
    from pg_class as c left join pg_index as i on i.indexrelid = c.oid left join pg_class as t on t.oid = i.indrelid
   where c.relnamespace = to_regnamespace(rtrim('{{prefix}}', '.')) and pg_get_userbyid(c.relowner) = current_user
     and obj_description(coalesce(t.oid, c.oid), 'pg_class') = 'made by dbdyno' and not c.relispartition
     and (c.relkind in ('r', 'p') and c.relname !~ '^(state|small|big)(_[a-z0-9_]+)?$'
       or c.relkind in ('i', 'I') and c.relname ~ '^({{words}})(_[a-z0-9_]+)?$' and t.relname ~ '^(small|big)(_[a-z0-9_]+)?$')
) as leftover order by step, name

-- name: objects.foreign
-- What else stands in our schema. Partitions and indexes belong to their tables.
select name from (
  select proname as name from pg_proc
   where pronamespace = to_regnamespace(rtrim('{{prefix}}', '.'))
     and (pg_get_userbyid(proowner) <> current_user or obj_description(oid, 'pg_proc') is distinct from 'made by dbdyno')
  union all
  select relname from pg_class
   where relnamespace = to_regnamespace(rtrim('{{prefix}}', '.')) and relkind in ('r', 'v', 'm', 'f', 'p', 'S', 'c')
     and not relispartition
     and (pg_get_userbyid(relowner) <> current_user or relkind not in ('r', 'p')
       or obj_description(oid, 'pg_class') is distinct from 'made by dbdyno')
  union all
  select typname from pg_type
   where typnamespace = to_regnamespace(rtrim('{{prefix}}', '.')) and typtype in ('d', 'e', 'r')
) as others order by 1

-- name: schema.drop
-- Only a schema that we created (it has our comment), and without "cascade": that protects whatever is not ours. A user who may
-- create no other one keeps it: it was made for that user.
do $$
begin
  if obj_description(to_regnamespace('dbdyno'), 'pg_namespace') = 'made by dbdyno'
    and has_database_privilege(current_database(), 'CREATE')
  then
    drop schema dbdyno;
  end if;
end
$$

-- name: files
-- Of the table and its indexes, partitions included, relative to the data directory; a table larger than 1 GB goes on in
-- files of the same name and a number. Partitioned tables have no files themselves. What lookups by key need comes last: it is
-- read into the system's cache last.
with of_table as (
  select '{{table}}'::regclass::oid as id union select relid from pg_partition_tree('{{table}}')
), relations as (
  select id from of_table union select indexrelid from pg_index where indrelid in (select id from of_table)
)
select pg_relation_filepath(id) as path from relations left join pg_index on indexrelid = id
where pg_relation_filepath(id) is not null
order by case when indisprimary then 3 when indexrelid is null then 2 else 1 end, id

-- name: cache
select pg_size_bytes(current_setting('shared_buffers')) as cache_bytes
