-- The data set on Oracle, in the schema of the user who connects. Written against the documentation of 19c, not run on a server of
-- Oracle by us (docs/decisions/0019-oracle.md). Texts in PL/SQL end in a comment: see harness/oracle.sql.

-- name: columns
-- Of every table, whatever its organisation.
  id number(19) not null,
  key25 number(10) not null,
  key125 number(10) not null,
  key320 number(10) not null,
  region number(10) not null,
  booked_on date not null,
  amount number(12,2) not null,
  quantity number(10) not null,
  status number(10) not null,
  code varchar2(32) not null,
  filler varchar2(200) not null

-- name: create.heap
-- CACHE: a full scan keeps the blocks where those of a look-up are.
create table {{table}} (
  {{columns}}
) pctfree 10 initrans 4 cache

-- name: create.iot
-- The rows stand in the primary key.
create table {{table}} (
  {{columns}},
  constraint {{table}}_pkey primary key (id)
) organization index pctfree 10 initrans 4

-- name: create.hash
-- A single-table hash cluster: the hash of an id is the id, so that each bucket has one row.
begin
  execute immediate 'create cluster {{table}}_c (id number(19)) size 330 initrans 4 single table hashkeys {{rows}} hash is id cache';
  execute immediate 'create table {{table}} (
  {{columns}}
) cluster {{table}}_c (id)';
exception
  when others then
    execute immediate 'drop cluster {{table}}_c including tables';
    raise;
end;
-- PL/SQL

-- name: create.heap-list
-- A partition per region.
create table {{table}} (
  {{columns}}
) pctfree 10 initrans 4
partition by list (region) (
  partition p1 values (1), partition p2 values (2), partition p3 values (3), partition p4 values (4),
  partition p5 values (5), partition p6 values (6), partition p7 values (7), partition p8 values (8)
) cache

-- name: create.iot-list
-- The primary key of a partitioned index-organised table must have the partition key in it.
create table {{table}} (
  {{columns}},
  constraint {{table}}_pkey primary key (id, region)
) organization index pctfree 10 initrans 4
partition by list (region) (
  partition p1 values (1), partition p2 values (2), partition p3 values (3), partition p4 values (4),
  partition p5 values (5), partition p6 values (6), partition p7 values (7), partition p8 values (8)
)

-- name: create.range-list
-- Half-years, and in each a partition per region.
create table {{table}} (
  {{columns}}
) pctfree 10 initrans 4
partition by range (booked_on)
subpartition by list (region)
subpartition template (
  subpartition s1 values (1), subpartition s2 values (2), subpartition s3 values (3), subpartition s4 values (4),
  subpartition s5 values (5), subpartition s6 values (6), subpartition s7 values (7), subpartition s8 values (8)
) (
  partition p1 values less than (to_date('2024-07-01', 'YYYY-MM-DD')),
  partition p2 values less than (to_date('2025-01-01', 'YYYY-MM-DD')),
  partition p3 values less than (to_date('2025-07-01', 'YYYY-MM-DD')),
  partition p4 values less than (to_date('2026-01-01', 'YYYY-MM-DD'))
) cache

-- name: row-select
-- Rows {{lo}} to {{hi}}. The numbers come from a cross join: one long CONNECT BY would need memory for all. NUMBER holds the
-- square of a hash exactly.
select /*+ no_merge(hashes) */ i, 1 + mod(i - 1, floor({{rows}} / 25)), 1 + mod(i - 1, floor({{rows}} / 125)),
  1 + mod(i - 1, floor({{rows}} / 320)), 1 + mod(h1, 8), to_date('2024-01-01', 'YYYY-MM-DD') + mod(h2, 731),
  (1 + mod(floor(h1 / 8), 1000000)) / 100, 1 + mod(floor(h2 / 731), 100), 0,
  to_char(h1 + 3000000000) || to_char(h2 + 3000000000) || to_char(i + 100000000000),
  '{{pad}}' || to_char(i + 100000000000)
from (select /*+ no_merge(first_hash) */ i, h1, mod(h1 * h1 + i, 2147483647) as h2
      from (select /*+ no_merge(numbers) */ i, mod(i * 1327217885 + 12345 + {{seed}}, 2147483647) as h1
            from (select {{lo}} + (a.n - 1) * 1000 + b.n - 1 as i
                  from (select level as n from dual connect by level <= ceil(({{hi}} - {{lo}} + 1) / 1000.0)) a
                    cross join (select level as n from dual connect by level <= 1000) b) numbers
            where i <= {{hi}}) first_hash) hashes

-- name: insert-select
-- Direct path where the organisation has it (not in clusters, nor in an index-organised table that is not partitioned); sessions
-- that load side by side wait for one another.
insert /*+ append */ into {{table}} (id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler)
{{row_select}}

-- name: checksum
select count(*) as row_count, sum(id) as id, sum(key25) as key25, sum(key125) as key125, sum(key320) as key320,
  sum(region) as region, sum(booked_on - to_date('1970-01-01', 'YYYY-MM-DD')) as booked_on, sum(quantity) as quantity,
  sum(to_number(substr(code, 1, 10))) as code_h1, sum(to_number(substr(code, 11, 10))) as code_h2,
  sum(to_number(substr(code, 21, 12)) - 100000000000) as code_id,
  sum(length(filler)) as filler_length, sum(to_number(substr(filler, 169, 12)) - 100000000000) as filler_id,
  sum(mod(id, 9973) * (quantity + 101 * region + mod(key320, 1009))) as mix,
  sum(amount * 100) as amount, sum(status) as status
from {{table}}

-- name: drop
-- with its cluster, if it has one; neither need be there
begin
  begin
    execute immediate 'drop table {{table}} purge';
  exception
    when others then
      if sqlcode <> -942 then
        raise;
      end if;
  end;
  begin
    execute immediate 'drop cluster {{table}}_c including tables';
  exception
    when others then
      if sqlcode <> -943 then
        raise;
      end if;
  end;
end;
-- PL/SQL

-- name: state.create
begin
  execute immediate 'create table {{prefix}}state (
  table_name varchar2(64) not null primary key,
  row_count number(19) not null,
  seed number(19) not null,
  revision number(10) not null,
  data_set_id varchar2(64) not null,
  checksum varchar2(1000) not null,
  table_bytes number(19) not null,
  index_bytes number(19) not null,
  loaded_at varchar2(40) not null
)';
exception
  when others then
    if sqlcode <> -955 then
      raise;
    end if;
end;
-- PL/SQL

-- name: chunks.create
begin
  execute immediate 'create table {{prefix}}state_chunks (
  table_name varchar2(64) not null,
  first_id number(19) not null,
  last_id number(19) not null,
  data_set_id varchar2(64) not null,
  primary key (table_name, first_id)
)';
exception
  when others then
    if sqlcode <> -955 then
      raise;
    end if;
end;
-- PL/SQL

-- name: session.index
-- One sort per index, no helpers: the builds run side by side.
begin
  execute immediate 'alter session disable parallel ddl';
end;
-- PL/SQL

-- name: indexes.present
-- Indexes of the table by their names in dataset.toml.
select case when index_name = upper('{{table}}_pkey') then 'id'
    else lower(substr(index_name, length('{{table}}_') + 1)) end as name
from user_indexes where table_name = upper('{{table}}') and status in ('VALID', 'N/A')

-- name: index.id
-- The primary key is made of this index afterwards (block finish). In a partitioned table it is one index over all partitions.
create unique index {{table}}_pkey on {{table}} (id)

-- name: index.id.iot
-- nothing: the table itself is organised by id

-- name: index.id.iot-list
-- nothing: the table itself is organised by id

-- name: index.key25
create index {{table}}_key25 on {{table}} (key25)

-- name: index.key125
create index {{table}}_key125 on {{table}} (key125)

-- name: index.key320
create index {{table}}_key320 on {{table}} (key320)

-- name: finish
-- Every block is read once through the buffer cache: the first reader of a block cleans out what the load left in it, and writes
-- redo for that. It shall not be a test. Where the instance has a KEEP pool, the small table and its indexes go there first: without
-- one the attribute would mean the default pool.
declare
  v_found number;
  v_keep number;
begin
  select to_number(value) into v_keep from v$parameter where name = 'db_keep_cache_size';
  if v_keep > 0 and '{{table}}' like '%small%' then
    for v_table in (select table_name, cluster_name, partitioned from user_tables where table_name = upper('{{table}}')) loop
      if v_table.cluster_name is not null then
        execute immediate 'alter cluster ' || v_table.cluster_name || ' storage (buffer_pool keep)';
      elsif v_table.partitioned = 'NO' then
        execute immediate 'alter table ' || v_table.table_name || ' storage (buffer_pool keep)';
      end if;
    end loop;
    for v_part in (select partition_name from user_tab_partitions where table_name = upper('{{table}}')) loop
      execute immediate 'alter table {{table}} modify partition ' || v_part.partition_name || ' storage (buffer_pool keep)';
    end loop;
    for v_index in (select index_name from user_indexes
        where table_name = upper('{{table}}') and index_type = 'NORMAL' and partitioned = 'NO') loop
      execute immediate 'alter index ' || v_index.index_name || ' storage (buffer_pool keep)';
    end loop;
  end if;
  select count(*) into v_found from user_constraints where table_name = upper('{{table}}') and constraint_type = 'P';
  if v_found = 0 then
    execute immediate 'alter table {{table}} add constraint {{table}}_pkey primary key (id) using index {{table}}_pkey';
  end if;
  execute immediate 'select /*+ index(t (id)) no_parallel(t) */ sum(length(filler)) from {{table}} t where id > 0' into v_found;
end;
-- PL/SQL

-- name: analyze
begin
  dbms_stats.gather_table_stats(user, upper('{{table}}'), estimate_percent => dbms_stats.auto_sample_size, cascade => true,
    method_opt => 'for all columns size 1', no_invalidate => false);
end;
-- PL/SQL

-- name: sizes
-- An index-organised table is the segment of its primary key, a clustered one that of its cluster.
select
  (select sum(s.bytes) from user_segments s where s.segment_name in (
     select table_name from user_tables where table_name = upper('{{table}}')
     union all
     select cluster_name from user_tables where table_name = upper('{{table}}') and cluster_name is not null
     union all
     select index_name from user_indexes where table_name = upper('{{table}}') and index_type = 'IOT - TOP')) as table_bytes,
  (select nvl(sum(s.bytes), 0) from user_segments s where s.segment_name in (
     select index_name from user_indexes where table_name = upper('{{table}}') and index_type <> 'IOT - TOP')) as index_bytes
from dual

-- name: parts
select greatest((select count(*) from user_tab_partitions where table_name = upper('{{table}}')),
    (select count(*) from user_tab_subpartitions where table_name = upper('{{table}}')), 1) as parts,
  (select max(p.block_size) from user_tablespaces p join user_users u on u.default_tablespace = p.tablespace_name) as block_bytes
from dual

-- name: warm.fast
-- nothing: no call fills the buffer cache directly

-- name: warm.session
-- Reads by several processes would go past the buffer cache.
begin
  execute immediate 'alter session disable parallel query';
end;
-- PL/SQL

-- name: warm.read.id
-- By the index: such reads fill the buffer cache; a scan of a big table may go past it.
select /*+ index(t (id)) no_parallel(t) */ sum(length(filler)) from {{table}} t where id > 0

-- name: warm.read.key25
select /*+ index(t (key25)) no_parallel(t) */ count(key25) from {{table}} t where key25 > 0

-- name: warm.read.key125
select /*+ index(t (key125)) no_parallel(t) */ count(key125) from {{table}} t where key125 > 0

-- name: warm.read.key320
select /*+ index(t (key320)) no_parallel(t) */ count(key320) from {{table}} t where key320 > 0

-- name: warm.read.scan
-- As SRV-SCAN reads it: all of a hash cluster's blocks.
select /*+ full(t) no_parallel(t) */ count(filler) from {{table}} t where quantity > 0

-- name: lock.take
-- Keeps other dbdynos out as long as this session lives; 4: it is ours already. DBMS_LOCK must have been granted: without, the
-- statement fails and nothing keeps a second dbdyno out. The lock is the user's, as the tables are.
-- In a function of the statement: one of its parameters is a BOOLEAN, which SQL itself does not know before 23ai.
with
  function taken_now return number is
  begin
    return case when dbms_lock.request(dbms_utility.get_hash_value('dbdyno ' || user, 0, 1000000000), 6, 0) in (0, 4)
      then 1 else 0 end;
  end;
select taken_now() as taken from dual

-- name: lock.holder
select 'session ' || s.sid || ', user ' || s.username || ', on host ' || s.machine as who,
  'alter system kill session ''' || s.sid || ',' || s.serial# || ',@' || s.inst_id || '''' as "end"
from gv$lock l join gv$session s on s.inst_id = l.inst_id and s.sid = l.sid
where l.type = 'UL' and l.lmode = 6 and l.id1 = dbms_utility.get_hash_value('dbdyno ' || user, 0, 1000000000)

-- name: lock.waits
-- nothing: a statement that drops a table does not wait for locks of others, it fails (ORA-00054)

-- name: others
-- nothing: to see other sessions takes a privilege that a user of its own need not have

-- name: objects.own
-- Everything that we made: in our user's schema, named by our rule (see dataset::clean). A table goes before its cluster.
select lower(object_name) as name,
  'drop ' || lower(object_type) || ' ' || lower(object_name) || case object_type when 'TABLE' then ' purge' end as "drop"
from user_objects
where object_type in ('PROCEDURE', 'FUNCTION', 'TABLE', 'CLUSTER')
  and regexp_like(lower(object_name), '^{{prefix}}(state|small|big|{{words}})(_[a-z0-9_]+)?$')
order by case object_type when 'CLUSTER' then 2 when 'TABLE' then 1 else 0 end, object_name

-- name: objects.leftover
-- As objects.own without the data set, and indexes that a test added to it.
select name, "drop"
from (select case object_type when 'CLUSTER' then 2 when 'TABLE' then 1 else 0 end as turn, lower(object_name) as name,
        'drop ' || lower(object_type) || ' ' || lower(object_name) || case object_type when 'TABLE' then ' purge' end as "drop"
      from user_objects
      where object_type in ('PROCEDURE', 'FUNCTION', 'TABLE', 'CLUSTER')
        and regexp_like(lower(object_name), '^{{prefix}}({{words}})(_[a-z0-9_]+)?$')
      union all
      select 0, lower(index_name), 'drop index ' || lower(index_name)
      from user_indexes
      where regexp_like(lower(index_name), '^{{prefix}}({{words}})(_[a-z0-9_]+)?$')
        and regexp_like(lower(table_name), '^{{prefix}}(small|big)(_[a-z0-9_]+)?$')) found
order by turn, name

-- name: objects.foreign
-- The schema is the user's, who may have anything in it: none of it keeps us from going.
-- nothing: what does not begin with our prefix is not ours

-- name: schema.drop
-- nothing: the schema is the user's

-- name: files
-- nothing: data files are the tablespace's, and Oracle reads them past the system's cache where it may

-- name: cache
select bytes as cache_bytes from v$sgainfo where name = 'Buffer Cache Size'
