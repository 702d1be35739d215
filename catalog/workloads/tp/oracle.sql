-- TP on Oracle. The draw for read or update comes before that of the key (see postgres.sql). Hints fix the way by the index, which short
-- transactions have to go whatever the optimizer thinks of a small table.

-- name: declare
v_key number;
v_count pls_integer;

-- name: TP-LOOKUP.lookup
select /*+ hash(t) no_result_cache */ * from {{big}} t where id = :id

-- name: TP-LOOKUP.declare
v_key number;
v_row {{big}}%rowtype;

-- name: TP-LOOKUP.body
v_key := {{drawn_id}};
select /*+ hash(t) no_result_cache */ * into v_row from {{big}} t where id = v_key;
v_rows := v_rows + sql%rowcount;

-- name: TP-SELECT32.lookup
select /*+ hash(t) no_result_cache */ * from {{big}} t where id = :id

-- name: TP-SELECT32.declare
v_key number;
v_row {{big}}%rowtype;

-- name: TP-SELECT32.body
for v_select in 1 .. 32 loop
  {{advance}}
  v_key := 1 + floor(to_number(v_seed) * {{big_rows}} / 2147483648);
  select /*+ hash(t) no_result_cache */ * into v_row from {{big}} t where id = v_key;
  v_rows := v_rows + sql%rowcount;
end loop;

-- name: TP-UPDATE32.update
update /*+ hash(t) */ {{big}} t set status = status + 1, amount = amount + 1
where id = (:k - 1) * floor({{big_rows}} / 32) + :offset

-- name: TP-UPDATE32.declare
v_key number;

-- name: TP-UPDATE32.body
for v_update in 1 .. 32 loop
  {{advance}}
  v_key := (v_update - 1) * floor({{big_rows}} / 32) + 1 + floor(to_number(v_seed) * floor({{big_rows}} / 32) / 2147483648);
  update /*+ hash(t) */ {{big}} t set status = status + 1, amount = amount + 1 where id = v_key;
  v_rows := v_rows + sql%rowcount;
end loop;
commit write immediate wait;
v_commits := v_commits + 1;

-- name: TP-HOT.update
update /*+ hash(t) */ {{big}} t set status = status + 1, amount = amount + 1
where id = 1 + (:hot - 1) * floor({{big_rows}} / 64)

-- name: TP-HOT.declare
v_key number;

-- name: TP-HOT.body
v_key := 1 + floor(to_number(v_seed) * {{rows}} / 2147483648) * floor({{big_rows}} / 64);
update /*+ hash(t) */ {{big}} t set status = status + 1, amount = amount + 1 where id = v_key;
v_rows := v_rows + sql%rowcount;
commit write immediate wait;
v_commits := v_commits + 1;

-- name: TP-REPORT.lookup
select /*+ index(t (key25)) no_result_cache */ * from {{big}} t where key25 = :key

-- name: TP-REPORT.body
v_key := 1 + floor(to_number(v_seed) * {{big_key25}} / 2147483648);
v_count := 0;
for v_row in (select /*+ index(t (key25)) no_result_cache */ * from {{big}} t where key25 = v_key) loop
  v_count := v_count + 1;
end loop;
v_rows := v_rows + v_count;

-- name: TP-LIGHT.lookup
select /*+ hash(t) no_result_cache */ * from {{big}} t where id = :id

-- name: TP-LIGHT.lock
select /*+ hash(t) */ * from {{big}} t where id = :id for update

-- name: TP-LIGHT.update
update /*+ hash(t) */ {{big}} t set status = status + 1, amount = amount + 1 where id = :id

-- name: TP-LIGHT.declare
v_key number;
v_row {{big}}%rowtype;

-- name: TP-LIGHT.body
if floor(to_number(v_seed) * 100 / 2147483648) < {{update_pct}} then
  {{advance}}
  v_key := {{drawn_id}};
  select /*+ hash(t) */ * into v_row from {{big}} t where id = v_key for update;
  v_rows := v_rows + sql%rowcount;
  update /*+ hash(t) */ {{big}} t set status = status + 1, amount = amount + 1 where id = v_key;
  v_rows := v_rows + sql%rowcount;
  commit write immediate wait;
  v_commits := v_commits + 1;
else
  {{advance}}
  v_key := {{drawn_id}};
  select /*+ hash(t) no_result_cache */ * into v_row from {{big}} t where id = v_key;
  v_rows := v_rows + sql%rowcount;
end if;

-- name: TP-MEDIUM.lookup
select /*+ index(t (key25)) no_result_cache */ * from {{big}} t where key25 = :key

-- name: TP-MEDIUM.lock
select /*+ index(t (key25)) */ * from {{big}} t where key25 = :key order by id for update

-- name: TP-MEDIUM.update
update /*+ index(t (key25)) */ {{big}} t set status = status + 1, amount = amount + 1 where key25 = :key

-- name: TP-MEDIUM.body
v_count := 0;
if floor(to_number(v_seed) * 100 / 2147483648) < {{update_pct}} then
  {{advance}}
  v_key := 1 + floor(to_number(v_seed) * {{big_key25}} / 2147483648);
  for v_row in (select /*+ index(t (key25)) */ * from {{big}} t where key25 = v_key order by id for update) loop
    v_count := v_count + 1;
  end loop;
  update /*+ index(t (key25)) */ {{big}} t set status = status + 1, amount = amount + 1 where key25 = v_key;
  v_rows := v_rows + sql%rowcount;
  commit write immediate wait;
  v_commits := v_commits + 1;
else
  {{advance}}
  v_key := 1 + floor(to_number(v_seed) * {{big_key25}} / 2147483648);
  for v_row in (select /*+ index(t (key25)) no_result_cache */ * from {{big}} t where key25 = v_key) loop
    v_count := v_count + 1;
  end loop;
end if;
v_rows := v_rows + v_count;

-- name: TP-HEAVY.lookup
select /*+ index(t (key125)) no_result_cache */ * from {{big}} t where key125 = :key

-- name: TP-HEAVY.lock
select /*+ index(t (key125)) */ * from {{big}} t where key125 = :key order by id for update

-- name: TP-HEAVY.update
update /*+ index(t (key125)) */ {{big}} t set status = status + 1, amount = amount + 1 where key125 = :key

-- name: TP-HEAVY.body
v_count := 0;
if floor(to_number(v_seed) * 100 / 2147483648) < {{update_pct}} then
  {{advance}}
  v_key := 1 + floor(to_number(v_seed) * {{big_key125}} / 2147483648);
  for v_row in (select /*+ index(t (key125)) */ * from {{big}} t where key125 = v_key order by id for update) loop
    v_count := v_count + 1;
  end loop;
  update /*+ index(t (key125)) */ {{big}} t set status = status + 1, amount = amount + 1 where key125 = v_key;
  v_rows := v_rows + sql%rowcount;
  commit write immediate wait;
  v_commits := v_commits + 1;
else
  {{advance}}
  v_key := 1 + floor(to_number(v_seed) * {{big_key125}} / 2147483648);
  for v_row in (select /*+ index(t (key125)) no_result_cache */ * from {{big}} t where key125 = v_key) loop
    v_count := v_count + 1;
  end loop;
end if;
v_rows := v_rows + v_count;

-- name: drop-queue
begin
  execute immediate 'drop table {{prefix}}tp_queue purge';
exception
  when others then
    if sqlcode <> -942 then
      raise;
    end if;
end;
-- PL/SQL

-- name: create-queue
create table {{prefix}}tp_queue (id number(19) generated always as identity, note varchar2(200) not null, primary key (id))

-- name: fill-queue
insert into {{prefix}}tp_queue (note) select '{{pad}}' from (select level as n from dual connect by level <= 1000) numbers

-- name: begin-held
set transaction read only

-- name: TP-QUEUE.declare
-- rows are locked as they are fetched: one
cursor c_oldest is
  select /*+ index(q) */ id from {{prefix}}tp_queue q order by id for update skip locked;
v_id number;

-- name: TP-QUEUE.body
insert into {{prefix}}tp_queue (note) values ('{{pad}}');
v_rows := v_rows + sql%rowcount;
open c_oldest;
fetch c_oldest into v_id;
close c_oldest;
delete from {{prefix}}tp_queue where id = v_id;
v_rows := v_rows + sql%rowcount;
commit write immediate wait;
v_commits := v_commits + 1;

-- name: drop-upsert
begin
  execute immediate 'drop table {{prefix}}tp_upsert purge';
exception
  when others then
    if sqlcode <> -942 then
      raise;
    end if;
end;
-- PL/SQL

-- name: create-upsert
create table {{prefix}}tp_upsert (id number(19) not null primary key, n number(19) not null, note varchar2(200) not null)

-- name: fill-upsert
insert into {{prefix}}tp_upsert (id, n, note)
select (a - 1) * 1000 + b, 0, '{{pad}}'
from (select level as a from dual connect by level <= 20) p cross join (select level as b from dual connect by level <= 1000) q

-- name: gather-upsert
begin
  dbms_stats.gather_table_stats(user, upper('{{prefix}}tp_upsert'), cascade => true);
end;
-- PL/SQL

-- name: change
merge into {{prefix}}tp_upsert t using (select :id as id from dual) s on (t.id = s.id)
when matched then update set n = t.n + 1
when not matched then insert (id, n, note) values (s.id, 1, '{{pad}}')

-- name: add
merge into {{prefix}}tp_upsert t using (select :seq as id from dual) s on (t.id = s.id)
when matched then update set n = t.n + 1
when not matched then insert (id, n, note) values (s.id, 1, '{{pad}}')

-- name: TP-UPSERT.declare
-- new keys of a job are its own: job * 10^12 + 1, 2, ...; a slice goes on where the last one ended
v_key number;
v_last number;

-- name: TP-UPSERT.body
if v_last is null then
  select coalesce(max(id), p_job * 1000000000000) into v_last from {{prefix}}tp_upsert
  where id > p_job * 1000000000000 and id < (p_job + 1) * 1000000000000;
end if;
if floor(to_number(v_seed) * 100 / 2147483648) < {{hit}} then
  {{advance}}
  v_key := 1 + floor(to_number(v_seed) * 20000 / 2147483648);
else
  v_last := v_last + 1;
  v_key := v_last;
end if;
merge into {{prefix}}tp_upsert t using (select v_key as id from dual) s on (t.id = s.id)
when matched then update set n = t.n + 1
when not matched then insert (id, n, note) values (s.id, 1, '{{pad}}');
v_rows := v_rows + sql%rowcount;
commit write immediate wait;
v_commits := v_commits + 1;

-- name: memoptimize-yes
-- takes memoptimize_pool_size, and a table with a primary key that is neither index-organised nor in a cluster
begin
  execute immediate 'alter table {{big}} memoptimize for read';
  dbms_memoptimize.populate(user, upper('{{big}}'));
end;
-- PL/SQL

-- name: memoptimized-yes
begin
  execute immediate 'alter table {{big}} no memoptimize for read';
end;
-- PL/SQL
