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
