-- DL on Oracle. Tables have the form of the data set's (datasets/dbdyno/oracle.sql).

-- name: columns
-- those of the data set's tables, after the id
key25 number(10) not null, key125 number(10) not null, key320 number(10) not null, region number(10) not null,
  booked_on date not null, amount number(12,2) not null, quantity number(10) not null, status number(10) not null,
  code varchar2(32) not null, filler varchar2(200) not null

-- name: row_values
-- the formulas of the data set, of the id i, its last nine digits n and the hashes h1 and h2
i, 1 + mod(i - 1, {{small_key25}}), 1 + mod(i - 1, {{small_key125}}), 1 + mod(i - 1, {{small_key320}}), 1 + mod(h1, 8),
  to_date('2024-01-01', 'YYYY-MM-DD') + mod(h2, 731), (1 + mod(floor(h1 / 8), 1000000)) / 100,
  1 + mod(floor(h2 / 731), 100), 0,
  to_char(h1 + 3000000000) || to_char(h2 + 3000000000) || to_char(n + 100000000000),
  '{{pad}}' || to_char(n + 100000000000)

-- name: regions
partition by list (region) (
  partition p1 values (1), partition p2 values (2), partition p3 values (3), partition p4 values (4),
  partition p5 values (5), partition p6 values (6), partition p7 values (7), partition p8 values (8))

-- name: half_years
-- bounds for a text within a text: its quotes are doubled
(partition p1 values less than (to_date(''2024-07-01'', ''YYYY-MM-DD'')),
  partition p2 values less than (to_date(''2025-01-01'', ''YYYY-MM-DD'')),
  partition p3 values less than (to_date(''2025-07-01'', ''YYYY-MM-DD'')),
  partition p4 values less than (to_date(''2026-01-01'', ''YYYY-MM-DD'')))

-- name: drop-buffer
begin
  begin
    execute immediate 'drop table {{prefix}}dl_buffer purge';
  exception
    when others then
      if sqlcode <> -942 then
        raise;
      end if;
  end;
  begin
    execute immediate 'drop cluster {{prefix}}dl_buffer_c including tables';
  exception
    when others then
      if sqlcode <> -943 then
        raise;
      end if;
  end;
end;
-- PL/SQL

-- name: create-buffer-heap
create table {{prefix}}dl_buffer (
  id number(19) not null primary key, {{columns}}) initrans 4

-- name: create-buffer-iot
create table {{prefix}}dl_buffer (
  id number(19) not null primary key, {{columns}}) organization index initrans 4

-- name: create-buffer-hash
-- a single-table hash cluster of as many buckets as the small table has rows
begin
  execute immediate 'create cluster {{prefix}}dl_buffer_c (id number(19)) size 330 initrans 4 single table hashkeys {{small_rows}}';
  execute immediate 'create table {{prefix}}dl_buffer (
  id number(19) not null primary key, {{columns}}) cluster {{prefix}}dl_buffer_c (id)';
exception
  when others then
    execute immediate 'drop cluster {{prefix}}dl_buffer_c including tables';
    raise;
end;
-- PL/SQL

-- name: create-buffer-heap-list
-- a partition per region; the primary key is one index over all of them
create table {{prefix}}dl_buffer (
  id number(19) not null primary key, {{columns}}) initrans 4
{{regions}}

-- name: create-buffer-iot-list
-- the primary key of a partitioned index-organised table must have the partition key in it
create table {{prefix}}dl_buffer (
  id number(19) not null, {{columns}},
  primary key (id, region)) organization index initrans 4
{{regions}}

-- name: index-key25
create index {{prefix}}dl_buffer_key25 on {{prefix}}dl_buffer (key25)

-- name: index-key125
create index {{prefix}}dl_buffer_key125 on {{prefix}}dl_buffer (key125)

-- name: index-key320
create index {{prefix}}dl_buffer_key320 on {{prefix}}dl_buffer (key320)

-- name: drop-direct
begin
  begin
    execute immediate 'drop table {{prefix}}dl_direct purge';
  exception
    when others then
      if sqlcode <> -942 then
        raise;
      end if;
  end;
  begin
    execute immediate 'drop cluster {{prefix}}dl_direct_c including tables';
  exception
    when others then
      if sqlcode <> -943 then
        raise;
      end if;
  end;
end;
-- PL/SQL

-- name: create-direct-heap
begin
  execute immediate 'create table {{prefix}}dl_direct (
  id number(19) not null, {{columns}})'
    || case '{{compress}}' when 'yes' then ' row store compress basic' else ' nocompress' end;
end;
-- PL/SQL

-- name: create-direct-iot
create table {{prefix}}dl_direct (
  id number(19) not null primary key, {{columns}}) organization index

-- name: create-direct-hash
begin
  execute immediate 'create cluster {{prefix}}dl_direct_c (id number(19)) size 330 single table hashkeys {{small_rows}}';
  execute immediate 'create table {{prefix}}dl_direct (
  id number(19) not null, {{columns}}) cluster {{prefix}}dl_direct_c (id)';
exception
  when others then
    execute immediate 'drop cluster {{prefix}}dl_direct_c including tables';
    raise;
end;
-- PL/SQL

-- name: create-direct-heap-list
begin
  execute immediate 'create table {{prefix}}dl_direct (
  id number(19) not null, {{columns}})'
    || case '{{compress}}' when 'yes' then ' row store compress basic' else ' nocompress' end || '
{{regions}}';
end;
-- PL/SQL

-- name: create-direct-iot-list
create table {{prefix}}dl_direct (
  id number(19) not null, {{columns}},
  primary key (id, region)) organization index
{{regions}}

-- name: create-direct-range-list
-- as the data set's big table of this organisation: half-years, and in each a partition per region
begin
  execute immediate 'create table {{prefix}}dl_direct (
  id number(19) not null, {{columns}})'
    || case '{{compress}}' when 'yes' then ' row store compress basic' else ' nocompress' end || '
partition by range (booked_on) subpartition by list (region)
subpartition template (
  subpartition s1 values (1), subpartition s2 values (2), subpartition s3 values (3), subpartition s4 values (4),
  subpartition s5 values (5), subpartition s6 values (6), subpartition s7 values (7), subpartition s8 values (8))
{{half_years}}';
end;
-- PL/SQL

-- name: DL-DIRECT.declare
v_base number;

-- name: DL-DIRECT.body
-- The state of the key generator numbers a job's batches: it comes back after 2^31 of them only, and what a slice has used up
-- need not be remembered.
v_base := mod(p_job, 90) * 100000000000000000 + to_number(v_seed) * 10000000;
insert /*+ append */ into {{prefix}}dl_direct
select {{row_values}}
from (select i, n, h1, mod(h1 * h1 + n, 2147483647) as h2
      from (select i, n, mod(n * 1327217885 + 12345, 2147483647) as h1
            from (select v_base + r as i, mod(v_base + r, 1000000000) as n
                  from (select (a.part - 1) * 1000 + b.row_of_part as r
                        from (select level as part from dual connect by level <= ceil({{batch}} / 1000)) a
                          cross join (select level as row_of_part from dual connect by level <= 1000) b) numbers
                  where r <= {{batch}}) one) two) three;
v_rows := v_rows + sql%rowcount;
commit write immediate wait;
v_commits := v_commits + 1;

-- name: compress-yes
-- nothing: the table is created so

-- name: compress-no
-- nothing: the table is created so

-- name: drop-stream
begin
  execute immediate 'drop table {{prefix}}dl_stream purge';
exception
  when others then
    if sqlcode <> -942 then
      raise;
    end if;
end;
-- PL/SQL

-- name: create-stream
create table {{prefix}}dl_stream (
  id number(19) not null primary key, {{columns}}) initrans 4

-- name: index-device
create index {{prefix}}dl_stream_device on {{prefix}}dl_stream (key320)

-- name: relax-1
alter session set commit_logging = 'BATCH' commit_wait = 'NOWAIT'

-- name: DL-BUFFER.declare
-- ids of a job are its own: job * 10^12 + 1, 2, ...; a slice goes on where the last one ended
v_id number;

-- name: DL-BUFFER.body
-- the rows of the small table in their order, after the last one the first again
if v_id is null then
  select coalesce(max(id), p_job * 1000000000000) into v_id from {{prefix}}dl_buffer
  where id > p_job * 1000000000000 and id < (p_job + 1) * 1000000000000;
end if;
for v_row in 1 .. {{rpt}} loop
  v_id := v_id + 1;
  insert into {{prefix}}dl_buffer
  select v_id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler from {{small}}
  where id = 1 + mod(v_id, {{small_rows}});
  v_rows := v_rows + sql%rowcount;
end loop;
commit write immediate wait;
v_commits := v_commits + 1;

-- name: DL-BUFFER.insert
insert into {{prefix}}dl_buffer
select cast(:seq as number(19)), key25, key125, key320, region, booked_on, amount, quantity, status, code, filler from {{small}}
where id = 1 + mod(cast(:seq as number(19)), {{small_rows}})

-- name: DL-STREAM.declare
-- arrays of a job have numbers of their own; a slice goes on where the last one ended
v_last number;

-- name: DL-STREAM.body
if v_last is null then
  select coalesce(max(id), p_job * 1000000000000) into v_last from {{prefix}}dl_stream
  where id > p_job * 1000000000000 and id < (p_job + 1) * 1000000000000;
end if;
insert into {{prefix}}dl_stream
select {{row_values}}
from (select i, n, h1, mod(h1 * h1 + n, 2147483647) as h2
      from (select i, n, mod(n * 1327217885 + 12345, 2147483647) as h1
            from (select v_last + r as i, mod(v_last + r, 1000000000) as n
                  from (select level as r from dual connect by level <= {{rpt}}) array_rows) one) two) three;
v_rows := v_rows + sql%rowcount;
v_last := v_last + {{rpt}};
if {{relaxed}} = 1 then
  commit write batch nowait;
else
  commit write immediate wait;
end if;
v_commits := v_commits + 1;

-- name: DL-STREAM.insert
-- the array :seq of a job (job * 10^12 + 1, 2, ...): ids job * 10^12 + (number - 1) * rpt + 1 and on
insert into {{prefix}}dl_stream
select {{row_values}}
from (select i, n, h1, mod(h1 * h1 + n, 2147483647) as h2
      from (select i, n, mod(n * 1327217885 + 12345, 2147483647) as h1
            from (select base + r as i, mod(base + r, 1000000000) as n
                  from (select level as r from dual connect by level <= {{rpt}}) array_rows
                    cross join (select floor(seq / 1000000000000) * 1000000000000
                        + (mod(seq, 1000000000000) - 1) * {{rpt}} as base
                      from (select cast(:seq as number(19)) as seq from dual) given) array_of_job) one) two) three

-- name: drop-delete
begin
  execute immediate 'drop table {{prefix}}dl_delete purge';
exception
  when others then
    if sqlcode <> -942 then
      raise;
    end if;
end;
-- PL/SQL

-- name: drop-new
begin
  execute immediate 'drop table {{prefix}}dl_delete_new purge';
exception
  when others then
    if sqlcode <> -942 then
      raise;
    end if;
end;
-- PL/SQL

-- name: create-delete
create table {{prefix}}dl_delete (id number(19) not null primary key, slot number(10) not null, note varchar2(200) not null)

-- name: create-new
create table {{prefix}}dl_delete_new (slot number(10) not null primary key, note varchar2(200) not null)

-- name: fill-delete
insert into {{prefix}}dl_delete (id, slot, note)
select j * 1000000000000 + r, 1 + mod(r - 1, {{rpt}}), '{{pad}}'
from (select level as j from dual connect by level <= {{jobs}}) jobs
  cross join (select level as r from dual connect by level <= 20000) ranges
order by 1

-- name: fill-new
insert into {{prefix}}dl_delete_new (slot, note)
select r, '{{pad}}' from (select level as r from dual connect by level <= {{rpt}}) ranges

-- name: index-delete
create index {{prefix}}dl_delete_slot on {{prefix}}dl_delete (slot)

-- name: gather-delete
begin
  dbms_stats.gather_table_stats(user, upper('{{prefix}}dl_delete'), cascade => true);
end;
-- PL/SQL

-- name: first
-- the id before the first of the range
:job * 1000000000000 + (case '{{old}}' when 'random' then :range else mod(:seq, 1000000000000) end - 1) * {{rpt}}

-- name: DL-DELETE.declare
-- the id before the first of the range; a slice goes on where the last one ended
v_first number;

-- name: DL-DELETE.body
if '{{old}}' = 'random' then
  v_first := p_job * 1000000000000 + floor(to_number(v_seed) * floor(20000 / {{rpt}}) / 2147483648) * {{rpt}};
elsif v_first is null then
  select coalesce(min(id), 1) - 1 into v_first from {{prefix}}dl_delete
  where id > p_job * 1000000000000 and id < (p_job + 1) * 1000000000000;
end if;
delete from {{prefix}}dl_delete where id between v_first + 1 and v_first + {{rpt}};
v_rows := v_rows + sql%rowcount;
insert into {{prefix}}dl_delete (id, slot, note)
select v_first + case '{{old}}' when 'random' then 0 else 20000 end + slot, slot, note from {{prefix}}dl_delete_new;
v_rows := v_rows + sql%rowcount;
commit write immediate wait;
v_first := v_first + {{rpt}};
v_commits := v_commits + 1;

-- name: drop-copy
begin
  execute immediate 'drop table {{prefix}}dl_copy purge';
exception
  when others then
    if sqlcode <> -942 then
      raise;
    end if;
end;
-- PL/SQL

-- name: create-copy-plain
begin
  execute immediate 'create table {{prefix}}dl_copy (
  id number(19) not null, {{columns}})'
    || case '{{compress}}' when 'yes' then ' row store compress advanced' else ' nocompress' end;
end;
-- PL/SQL

-- name: create-copy-parts
-- as the data set's big table of this organisation: half-years, and in each a partition per region
begin
  execute immediate 'create table {{prefix}}dl_copy (
  id number(19) not null, {{columns}})'
    || case '{{compress}}' when 'yes' then ' row store compress advanced' else ' nocompress' end || '
partition by range (booked_on) subpartition by list (region)
subpartition template (
  subpartition s1 values (1), subpartition s2 values (2), subpartition s3 values (3), subpartition s4 values (4),
  subpartition s5 values (5), subpartition s6 values (6), subpartition s7 values (7), subpartition s8 values (8))
{{half_years}}';
end;
-- PL/SQL

-- name: DL-COPY.body
-- the conventional path: a direct one (append) would hold the table, so that jobs took turns
insert into {{prefix}}dl_copy
select id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler from {{small}};
v_rows := v_rows + sql%rowcount;
commit write immediate wait;
v_commits := v_commits + 1;
