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

-- name: create.iot
-- InnoDB's own organisation: the rows stand in the primary key. So the key is there before the rows, which come in its
-- order; the other indexes come after them.
create table {{table}} (
  {{columns}},
  primary key (id)
) engine = innodb comment = 'made by dbdyno'

-- name: create.heap
-- Aria (part of every MariaDB): rows lie in pages in the order in which they came, every index points to them. It survives
-- crashes, but has no transactions and locks whole tables. Without "no engine substitution" a server that lacks it would
-- take another engine silently; it has been the default since 10.2.
create table {{table}} (
  {{columns}},
  primary key (id)
) engine = aria transactional = 1 row_format = page comment = 'made by dbdyno'

-- name: create.iot-list
-- A partition per region; the primary key must have the partition key in it.
create table {{table}} (
  {{columns}},
  primary key (id, region)
) engine = innodb comment = 'made by dbdyno'
partition by list (region) (
  partition p1 values in (1), partition p2 values in (2), partition p3 values in (3), partition p4 values in (4),
  partition p5 values in (5), partition p6 values in (6), partition p7 values in (7), partition p8 values in (8)
)

-- name: create.heap-list
-- As create.heap, a partition per region.
create table {{table}} (
  {{columns}},
  primary key (id, region)
) engine = aria transactional = 1 row_format = page comment = 'made by dbdyno'
partition by list (region) (
  partition p1 values in (1), partition p2 values in (2), partition p3 values in (3), partition p4 values in (4),
  partition p5 values in (5), partition p6 values in (6), partition p7 values in (7), partition p8 values in (8)
)

-- name: create.range-hash
-- Half-years, and in each 8 partitions by the hash of the id.
create table {{table}} (
  {{columns}},
  primary key (id, booked_on)
) engine = innodb comment = 'made by dbdyno'
partition by range (to_days(booked_on)) subpartition by hash (id) subpartitions 8 (
  partition p1 values less than (to_days('2024-07-01')), partition p2 values less than (to_days('2025-01-01')),
  partition p3 values less than (to_days('2025-07-01')), partition p4 values less than (to_days('2026-01-01'))
)

-- name: create.lsm
-- MyRocks: rows and index entries are written into files of sorted entries, which are merged in the background.
create table {{table}} (
  {{columns}},
  primary key (id)
) engine = rocksdb comment = 'made by dbdyno'

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
) comment = 'made by dbdyno'

-- name: chunks.create
create table if not exists {{prefix}}state_chunks (
  table_name varchar(64) not null,
  first_id bigint not null,
  last_id bigint not null,
  data_set_id varchar(64) not null,
  primary key (table_name, first_id)
) comment = 'made by dbdyno'

-- name: parts
-- Partitions, and the size of a block: tables of Aria and MyRocks have one of their own. The settings of MyRocks have names that
-- only a server with it knows.
select count(*) as parts,
       (select case engine when 'Aria' then @@global.aria_block_size
                 when 'ROCKSDB' then (select variable_value from information_schema.global_variables
                                       where variable_name = 'ROCKSDB_BLOCK_SIZE')
                 else @@global.innodb_page_size end
          from information_schema.tables
         where table_schema = trim(trailing '.' from '{{prefix}}') and table_name = '{{name}}') as block_bytes
  from information_schema.partitions
 where table_schema = trim(trailing '.' from '{{prefix}}') and table_name = '{{name}}'

-- name: row-select
-- Rows {{lo}} to {{hi}}: the numbers come from the sequence engine, which is part of every MariaDB.
select i, 1 + mod(i - 1, {{rows}} div 25), 1 + mod(i - 1, {{rows}} div 125), 1 + mod(i - 1, {{rows}} div 320),
       1 + mod(h1, 8), date '2024-01-01' + interval mod(h2, 731) day,
       (1 + mod(h1 div 8, 1000000)) / 100, 1 + mod(h2 div 731, 100), 0,
       concat(h1 + 3000000000, h2 + 3000000000, i + 100000000000), concat('{{pad}}', i + 100000000000)
  from (select i, h1, mod(h1 * h1 + i, 2147483647) as h2
          from (select seq as i, mod(seq * 1327217885 + 12345 + {{seed}}, 2147483647) as h1
                  from seq_{{lo}}_to_{{hi}}) as first_hash) as hashes

-- name: checksum
select count(*) as row_count, sum(id) as id, sum(key25) as key25, sum(key125) as key125, sum(key320) as key320,
       sum(region) as region, sum(to_days(booked_on) - 719528) as booked_on, sum(quantity) as quantity,
       sum(cast(substr(code, 1, 10) as unsigned)) as code_h1, sum(cast(substr(code, 11, 10) as unsigned)) as code_h2,
       sum(cast(substr(code, 21, 12) as unsigned) - 100000000000) as code_id,
       sum(length(filler)) as filler_length,
       sum(cast(substr(filler, 169, 12) as unsigned) - 100000000000) as filler_id,
       sum(mod(id, 9973) * (quantity + 101 * region + mod(key320, 1009))) as mix,
       cast(sum(amount) * 100 as decimal(30, 0)) as amount, sum(status) as status
  from {{table}}

-- name: session.index
-- nothing: the memory for sorting is the server's (innodb_sort_buffer_size)

-- name: indexes.present
-- Indexes of the table by their names in dataset.toml.
select distinct substr(index_name, length('{{name}}_') + 1) as name from information_schema.statistics
 where table_schema = trim(trailing '.' from '{{prefix}}') and table_name = '{{name}}' and index_name like '{{name}}\_%'

-- name: chunks.clear.heap
-- Aria's rows and their note are not one transaction.
delete from {{table}} where id between {{lo}} and {{hi}}

-- name: chunks.clear.heap-list
delete from {{table}} where id between {{lo}} and {{hi}}

-- name: chunks.clear.lsm
-- Its bulk load belongs to no transaction.
delete from {{table}} where id between {{lo}} and {{hi}}

-- name: index.id
-- nothing: the table itself is organised by id

-- name: index.key25
-- nothing: built with key320

-- name: index.key125
-- nothing: built with key320

-- name: index.key320
-- All in one statement: one scan of the table, and one change of its definition.
alter table {{table}} add index {{name}}_key25 (key25), add index {{name}}_key125 (key125),
  add index {{name}}_key320 (key320)

-- name: finish
-- nothing: the primary key is part of the table

-- name: finish.lsm
-- Merges all that was written: a test begins without what the load would leave to the background.
optimize table {{table}}

-- name: analyze
analyze table {{table}}

-- name: sizes
select sum(data_length) as table_bytes, sum(index_length) as index_bytes
  from information_schema.tables
 where table_schema = trim(trailing '.' from '{{prefix}}') and table_name = '{{name}}'

-- name: warm.fast
-- nothing: no call fills the buffer pool directly

-- name: warm.session
-- nothing: a scan fills the buffer pool

-- name: warm.read.id
select sum(length(filler)) from {{table}} force index (primary) where id > 0

-- name: warm.read.key25
select count(key25) from {{table}} force index ({{name}}_key25) where key25 > 0

-- name: warm.read.key125
select count(key125) from {{table}} force index ({{name}}_key125) where key125 > 0

-- name: warm.read.key320
select count(key320) from {{table}} force index ({{name}}_key320) where key320 > 0

-- name: lock.take
-- Keeps other dbdynos out as long as this session lives. Such names are the whole server's, as our database is.
select get_lock('{{prefix}}lock', 0) as taken

-- name: lock.holder
-- Without the privilege PROCESS only sessions of one's own user are shown.
select concat_ws(', ', concat('session ', h.id), concat('user ', p.user), concat('on host ', p.host)) as who,
       concat('kill ', h.id) as `end`
  from (select is_used_lock('{{prefix}}lock') as id) as h left join information_schema.processlist as p on p.id = h.id
 where h.id is not null

-- name: lock.waits
-- Sessions that keep those of our user waiting for a table: gives the question that can be asked here, none if nobody waits.
-- The plugin METADATA_LOCK_INFO tells who has the table; without it (and on MySQL) those are named that are in a transaction.
-- Who may see the transactions has the privilege PROCESS.
select case
  when not exists (select 1 from information_schema.processlist
                    where user = substring_index(current_user(), '@', 1) and id <> connection_id()
                      and state like 'Waiting for table%lock') then null
  when exists (select 1 from information_schema.plugins
                where plugin_name = 'METADATA_LOCK_INFO' and plugin_status = 'ACTIVE') then
    'select distinct concat_ws('', '', concat(''session '', p.id), concat(''user '', p.user), concat(''on host '', p.host),
         concat(''in a transaction since '', t.trx_started)) as who, concat(''kill '', p.id) as `end`
       from information_schema.metadata_lock_info as l
       join information_schema.processlist as p on p.id = l.thread_id
       left join information_schema.innodb_trx as t on t.trx_mysql_thread_id = p.id
      where concat(l.table_schema, ''.'') = ''{{prefix}}'' and p.id <> connection_id()
        and coalesce(p.state, '''') not like ''Waiting for table%lock'' order by 1'
  else
    'select concat_ws('', '', concat(''session '', p.id), concat(''user '', p.user), concat(''on host '', p.host),
         concat(''in a transaction since '', t.trx_started),
         ''if it has used the table, which the plugin METADATA_LOCK_INFO would tell'') as who, concat(''kill '', p.id) as `end`
       from information_schema.innodb_trx as t join information_schema.processlist as p on p.id = t.trx_mysql_thread_id
      where p.id <> connection_id() and coalesce(p.state, '''') not like ''Waiting for table%lock'' order by t.trx_started, p.id'
  end as query

-- name: others
-- Sessions of our user in our database that are at work, once we have the lock: those of a killed dbdyno end with their
-- statement.
select id from information_schema.processlist
 where user = substring_index(current_user(), '@', 1) and command not in ('Sleep', 'Daemon') and id <> connection_id()
   and db = trim(trailing '.' from '{{prefix}}')

-- name: objects.own
-- Everything that is proven ours: in our database, with our comment. On MySQL an empty table says that the database is ours, and
-- goes with it.
select name, `drop` from (
  select 1 as step, concat('{{prefix}}', routine_name) as name,
         concat('drop ', lower(routine_type), ' {{prefix}}`', replace(routine_name, '`', '``'), '`') as `drop`
    from information_schema.routines
   where routine_schema = trim(trailing '.' from '{{prefix}}') and routine_comment = 'made by dbdyno'
  union all
  select 2, concat('{{prefix}}', table_name), concat('drop table {{prefix}}`', replace(table_name, '`', '``'), '`')
    from information_schema.tables
   where table_schema = trim(trailing '.' from '{{prefix}}') and table_type = 'BASE TABLE' and table_name <> 'state_made'
     and table_comment = 'made by dbdyno'
) as ours order by step, name

-- name: objects.leftover
-- As objects.own without the data set, and indexes that a test added to it.
select name, `drop` from (
  select 1 as step, concat('{{prefix}}', routine_name) as name,
         concat('drop ', lower(routine_type), ' {{prefix}}`', replace(routine_name, '`', '``'), '`') as `drop`
    from information_schema.routines
   where routine_schema = trim(trailing '.' from '{{prefix}}') and routine_comment = 'made by dbdyno'
  union all
  select 2, concat('{{prefix}}', table_name), concat('drop table {{prefix}}`', replace(table_name, '`', '``'), '`')
    from information_schema.tables
   where table_schema = trim(trailing '.' from '{{prefix}}') and table_type = 'BASE TABLE'
     and table_comment = 'made by dbdyno' and table_name not regexp '^(state|small|big)(_[a-z0-9_]+)?$'
  union all
  select distinct 3, concat('{{prefix}}', s.index_name), concat('drop index `', s.index_name, '` on {{prefix}}`', s.table_name, '`')
    from information_schema.statistics as s join information_schema.tables as t using (table_schema, table_name)
   where table_schema = trim(trailing '.' from '{{prefix}}') and s.index_name regexp '^({{words}})(_[a-z0-9_]+)?$'
     and table_name regexp '^(small|big)(_[a-z0-9_]+)?$' and t.table_comment = 'made by dbdyno'
) as leftover order by step, name

-- name: objects.foreign
-- What else stands in our database.
select name from (
  select routine_name as name from information_schema.routines
   where routine_schema = trim(trailing '.' from '{{prefix}}') and routine_comment <> 'made by dbdyno'
  union all
  select table_name from information_schema.tables
   where table_schema = trim(trailing '.' from '{{prefix}}') and table_name <> 'state_made'
     and (table_type <> 'BASE TABLE' or table_comment <> 'made by dbdyno')
  union all
  select event_name from information_schema.events where event_schema = trim(trailing '.' from '{{prefix}}')
) as others order by 1

-- name: schema.drop
-- Only a database that we created (it has our comment), and that is empty.
begin not atomic
  if exists (select 1 from information_schema.schemata
              where schema_name = trim(trailing '.' from '{{prefix}}') and schema_comment = 'made by dbdyno')
    and not exists (select 1 from information_schema.tables where table_schema = trim(trailing '.' from '{{prefix}}'))
    and not exists (select 1 from information_schema.routines where routine_schema = trim(trailing '.' from '{{prefix}}'))
  then
    drop database dbdyno;
  end if;
end

-- name: files-of-system-cache
-- As files, where the operating system's cache is not passed by.
select concat(trim(trailing '.' from '{{prefix}}'), '/{{name}}') as path from dual
where @@innodb_flush_method not like 'O_DIRECT%'

-- name: files-of-system-cache.lsm
select distinct concat(@@global.rocksdb_datadir, '/', m.sst_name) as path
from information_schema.rocksdb_ddl as d join information_schema.rocksdb_index_file_map as m using (index_number)
where d.table_schema = trim(trailing '.' from '{{prefix}}') and d.table_name = '{{name}}' and @@global.rocksdb_use_direct_reads = 0

-- name: files.lsm
-- A file may hold entries of several tables.
select distinct concat(@@global.rocksdb_datadir, '/', m.sst_name) as path
from information_schema.rocksdb_ddl as d join information_schema.rocksdb_index_file_map as m using (index_number)
where d.table_schema = trim(trailing '.' from '{{prefix}}') and d.table_name = '{{name}}'

-- name: files
-- Files of tables and partitions lie under the schema's name in the data directory and begin with the table's.
select concat(trim(trailing '.' from '{{prefix}}'), '/{{name}}') as path

-- name: cache
select @@innodb_buffer_pool_size as cache_bytes
