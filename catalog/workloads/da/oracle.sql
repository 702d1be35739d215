-- DA on Oracle. Hints fix the plans; how many processes work on a statement is the session's.

-- name: parallel-build
-- An index is dropped when no other job builds one on the table: without the timeout the drop would not wait (ORA-00054).
begin
  execute immediate 'alter session set ddl_lock_timeout = 100000';
  if {{threads}} > 1 then
    execute immediate 'alter session force parallel ddl parallel {{threads}}';
    execute immediate 'alter session force parallel query parallel {{threads}}';
  else
    execute immediate 'alter session disable parallel ddl';
    execute immediate 'alter session disable parallel query';
  end if;
end;
-- PL/SQL

-- name: DA-SCAN.store-column
declare
  v_one varchar2(128) := upper('{{table}}');
  v_other varchar2(128);
{{populate}};
-- PL/SQL

-- name: DA-SCAN.unstore-column
declare
  v_one varchar2(128) := upper('{{table}}');
  v_other varchar2(128);
{{forget}};
-- PL/SQL

-- name: DA-SCAN.scan
select /*+ full(t) no_result_cache */ count(*) as n, sum(id) as ids, sum(amount) as total
from {{table}} t where key25 + 0 <= {{table_key25}} / 2

-- name: DA-SCAN.declare
v_n number;
v_ids number;
v_total number;

-- name: DA-SCAN.body
select /*+ full(t) no_result_cache */ count(*), sum(id), sum(amount) into v_n, v_ids, v_total
from {{table}} t where key25 + 0 <= {{table_key25}} / 2;
v_rows := v_rows + sql%rowcount;

-- name: DA-AGGREGATE.aggregate
select /*+ full(t) no_result_cache */ region, count(*) as n, sum(amount) as total, avg(amount) as mean, min(amount) as least,
  max(amount) as most
from {{big}} t group by region

-- name: DA-AGGREGATE.declare
v_count pls_integer;

-- name: DA-AGGREGATE.body
v_count := 0;
for v_row in (select /*+ full(t) no_result_cache */ region, count(*) as n, sum(amount) as total, avg(amount) as mean,
                min(amount) as least, max(amount) as most
              from {{big}} t group by region) loop
  v_count := v_count + 1;
end loop;
v_rows := v_rows + v_count;

-- name: DA-SORT.sort
select /*+ full(t) no_result_cache */ * from {{big}} t order by quantity, code

-- name: DA-SORT.declare
v_count number;

-- name: DA-SORT.body
v_count := 0;
for v_row in (select /*+ full(t) no_result_cache */ * from {{big}} t order by quantity, code) loop
  v_count := v_count + 1;
end loop;
v_rows := v_rows + v_count;

-- name: drop-indexes
-- those of all jobs, also of a test that was killed
begin
  for v_index in (select index_name from user_indexes
                  where table_name = upper('{{big}}')
                    and regexp_like(index_name, '^' || upper('{{prefix}}da_index') || '(_[0-9]+)?$')) loop
    execute immediate 'drop index ' || v_index.index_name;
  end loop;
end;
-- PL/SQL

-- name: copy-no
-- nothing: an index can be built without log on the table itself

-- name: drop-copy-no
-- nothing: an index can be built without log on the table itself

-- name: DA-INDEX.look
select 1 as built from user_indexes where index_name = upper('{{prefix}}da_index') and status in ('VALID', 'N/A')

-- name: DA-INDEX.declare
v_count pls_integer;

-- name: DA-INDEX.body
-- Two indexes on the same columns cannot be: those of other jobs than the first have the job's number as a second column. DDL
-- commits, and waits for it, by itself. FORCE LOGGING of the database would overrule NOLOGGING; the settings disclose it.
execute immediate 'create index {{prefix}}da_index_' || to_char(p_job) || ' on {{big}} (quantity'
  || case when p_job > 1 then ', ' || to_char(p_job) else '' end || ')'
  || case when '{{org}}' like '%-%' then ' local' else '' end
  || case '{{logging}}' when 'no' then ' nologging' else ' logging' end;
select count(*) into v_count from user_indexes
where index_name = upper('{{prefix}}da_index_' || to_char(p_job)) and status in ('VALID', 'N/A');
execute immediate 'drop index {{prefix}}da_index_' || to_char(p_job);
v_rows := v_rows + v_count;
v_commits := v_commits + 2;

-- name: DA-INDEX.create
create index {{prefix}}da_index on {{big}} (quantity)

-- name: DA-JOIN-LOOP.join
select /*+ leading(a b) index(a (key320)) use_nl(b) index(b (key25)) no_parallel(a) no_parallel(b) no_result_cache */
  count(*) as n, sum(b.amount) as total
from {{table}} a join {{table}} b on
  b.key25 = 1 + mod(a.key320 + mod(floor((a.id - 1) / {{table_key320}}) * 7919, 320) * floor({{table_key25}} / 320), {{table_key25}})
where a.key320 = :key

-- name: DA-JOIN-LOOP.declare
v_key number;
v_n number;
v_total number;

-- name: DA-JOIN-LOOP.body
v_key := 1 + floor(to_number(v_seed) * {{table_key320}} / 2147483648);
select /*+ leading(a b) index(a (key320)) use_nl(b) index(b (key25)) no_parallel(a) no_parallel(b) no_result_cache */
  count(*), sum(b.amount) into v_n, v_total
from {{table}} a join {{table}} b on
  b.key25 = 1 + mod(a.key320 + mod(floor((a.id - 1) / {{table_key320}}) * 7919, 320) * floor({{table_key25}} / 320), {{table_key25}})
where a.key320 = v_key;
v_rows := v_rows + sql%rowcount;

-- name: DA-JOIN-HASH.store-column
declare
  v_one varchar2(128) := upper('{{big}}');
  v_other varchar2(128) := upper('{{small}}');
{{populate}};
-- PL/SQL

-- name: DA-JOIN-HASH.unstore-column
declare
  v_one varchar2(128) := upper('{{big}}');
  v_other varchar2(128) := upper('{{small}}');
{{forget}};
-- PL/SQL

-- name: DA-JOIN-HASH.join
select /*+ leading(s b) full(s) full(b) use_hash(b) no_result_cache */ count(*) as n, sum(b.amount) as total, max(s.code) as most
from {{big}} b join {{small}} s on s.id = b.key320

-- name: DA-JOIN-HASH.declare
v_n number;
v_total number;
v_most varchar2(32);

-- name: DA-JOIN-HASH.body
select /*+ leading(s b) full(s) full(b) use_hash(b) no_result_cache */ count(*), sum(b.amount), max(s.code)
into v_n, v_total, v_most
from {{big}} b join {{small}} s on s.id = b.key320;
v_rows := v_rows + sql%rowcount;
