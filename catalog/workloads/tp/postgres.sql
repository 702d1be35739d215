-- Database drive of the TP group. The draw for read or update comes before that of the key, as on the client drive. The
-- other way round the key would decide it: the state after that of a key in n is known to 48271 / n, so that of a table of
-- 500,000 rows seven in ten would never be updated (docs/decisions/0003-one-key-generator-everywhere.md).

-- name: declare
v_count bigint;

-- name: TP-LOOKUP.body
perform * from {{big}} where id = {{drawn_id}};
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: TP-SELECT32.body
for v_select in 1..32 loop
  v_seed := v_seed * 48271 % 2147483647;
  perform * from {{big}} where id = 1 + (v_seed * {{big_rows}} >> 31);
  get diagnostics v_count = row_count;
  v_rows := v_rows + v_count;
end loop;

-- name: TP-UPDATE32.body
for v_update in 1..32 loop
  v_seed := v_seed * 48271 % 2147483647;
  update {{big}} set status = status + 1, amount = amount + 1
    where id = (v_update - 1) * ({{big_rows}} / 32) + 1 + (v_seed * ({{big_rows}} / 32) >> 31);
  get diagnostics v_count = row_count;
  v_rows := v_rows + v_count;
end loop;
commit;
v_commits := v_commits + 1;

-- name: TP-HOT.body
update {{big}} set status = status + 1, amount = amount + 1
where id = 1 + (v_seed * {{rows}} >> 31) * ({{big_rows}} / 64);
get diagnostics v_count = row_count;
commit;
v_rows := v_rows + v_count;
v_commits := v_commits + 1;

-- name: TP-REPORT.body
perform * from {{big}} where key25 = 1 + (v_seed * {{big_key25}} >> 31);
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: TP-LIGHT.declare
v_count bigint;
v_key bigint;

-- name: TP-LIGHT.body
if v_seed * 100 >> 31 < {{update_pct}} then
  v_seed := v_seed * 48271 % 2147483647;
  v_key := {{drawn_id}};
  perform * from {{big}} where id = v_key for update;
  get diagnostics v_count = row_count;
  v_rows := v_rows + v_count;
  update {{big}} set status = status + 1, amount = amount + 1 where id = v_key;
  get diagnostics v_count = row_count;
  commit;
  v_commits := v_commits + 1;
else
  v_seed := v_seed * 48271 % 2147483647;
  v_key := {{drawn_id}};
  perform * from {{big}} where id = v_key;
  get diagnostics v_count = row_count;
end if;
v_rows := v_rows + v_count;

-- name: TP-MEDIUM.declare
v_count bigint;
v_key bigint;

-- name: TP-MEDIUM.body
if v_seed * 100 >> 31 < {{update_pct}} then
  v_seed := v_seed * 48271 % 2147483647;
  v_key := 1 + (v_seed * {{big_key25}} >> 31);
  perform * from {{big}} where key25 = v_key order by id for update;
  get diagnostics v_count = row_count;
  v_rows := v_rows + v_count;
  update {{big}} set status = status + 1, amount = amount + 1 where key25 = v_key;
  get diagnostics v_count = row_count;
  commit;
  v_commits := v_commits + 1;
else
  v_seed := v_seed * 48271 % 2147483647;
  v_key := 1 + (v_seed * {{big_key25}} >> 31);
  perform * from {{big}} where key25 = v_key;
  get diagnostics v_count = row_count;
end if;
v_rows := v_rows + v_count;

-- name: TP-HEAVY.declare
v_count bigint;
v_key bigint;

-- name: TP-HEAVY.body
if v_seed * 100 >> 31 < {{update_pct}} then
  v_seed := v_seed * 48271 % 2147483647;
  v_key := 1 + (v_seed * {{big_key125}} >> 31);
  perform * from {{big}} where key125 = v_key order by id for update;
  get diagnostics v_count = row_count;
  v_rows := v_rows + v_count;
  update {{big}} set status = status + 1, amount = amount + 1 where key125 = v_key;
  get diagnostics v_count = row_count;
  commit;
  v_commits := v_commits + 1;
else
  v_seed := v_seed * 48271 % 2147483647;
  v_key := 1 + (v_seed * {{big_key125}} >> 31);
  perform * from {{big}} where key125 = v_key;
  get diagnostics v_count = row_count;
end if;
v_rows := v_rows + v_count;

-- name: create-queue
create table {{prefix}}tp_queue (id bigint generated always as identity primary key, note varchar(200) not null);
comment on table {{prefix}}tp_queue is 'made by dbdyno'

-- name: begin-held
begin isolation level repeatable read

-- name: take
delete from {{prefix}}tp_queue
where id = (select id from {{prefix}}tp_queue order by id limit 1 for update skip locked)

-- name: TP-QUEUE.body
insert into {{prefix}}tp_queue (note) values ('{{pad}}');
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;
delete from {{prefix}}tp_queue
where id = (select id from {{prefix}}tp_queue order by id limit 1 for update skip locked);
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;
commit;
v_commits := v_commits + 1;

-- name: create-upsert
create table {{prefix}}tp_upsert (id bigint not null primary key, n bigint not null, note varchar(200) not null);
comment on table {{prefix}}tp_upsert is 'made by dbdyno'

-- name: TP-UPSERT.declare
-- new keys of a job are its own: job * 10^12 + 1, 2, ...; a slice goes on where the last one ended
v_count bigint;
v_key bigint;
v_last bigint := coalesce((select max(id) from {{prefix}}tp_upsert
  where id > p_job * 1000000000000 and id < (p_job + 1) * 1000000000000), p_job * 1000000000000);

-- name: TP-UPSERT.body
if v_seed * 100 >> 31 < {{hit}} then
  v_seed := v_seed * 48271 % 2147483647;
  v_key := 1 + (v_seed * 20000 >> 31);
else
  v_last := v_last + 1;
  v_key := v_last;
end if;
insert into {{prefix}}tp_upsert as t (id, n, note) values (v_key, 1, '{{pad}}')
on conflict (id) do update set n = t.n + 1;
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;
commit;
v_commits := v_commits + 1;
