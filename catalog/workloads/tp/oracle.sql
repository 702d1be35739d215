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
