-- SRV on Oracle. A cursor loop fetches every row found with all its columns, 100 at a time (optimizer level 2). Of 320 rows in
-- 320 blocks the optimizer would rather scan a small table: hints say which way is measured; one that does not fit the organisation
-- of the table (hash) is passed over.

-- name: declare
v_key number;
v_count pls_integer;

-- name: SRV-QUERY1.lookup
select /*+ hash(t) no_result_cache */ * from {{small}} t where id = :id

-- name: SRV-QUERY1.declare
v_key number;
v_row {{small}}%rowtype;

-- name: SRV-QUERY1.body
v_key := {{drawn_id}};
select /*+ hash(t) no_result_cache */ * into v_row from {{small}} t where id = v_key;
v_rows := v_rows + sql%rowcount;

-- name: SRV-QUERY25.lookup
select /*+ index(t (key25)) no_result_cache */ * from {{small}} t where key25 = :key

-- name: SRV-QUERY25.body
v_key := 1 + floor(to_number(v_seed) * {{small_key25}} / 2147483648);
v_count := 0;
for v_row in (select /*+ index(t (key25)) no_result_cache */ * from {{small}} t where key25 = v_key) loop
  v_count := v_count + 1;
end loop;
v_rows := v_rows + v_count;

-- name: SRV-QUERY320.lookup
select /*+ index(t (key320)) no_result_cache */ * from {{small}} t where key320 = :key

-- name: SRV-QUERY320.body
v_key := 1 + floor(to_number(v_seed) * {{small_key320}} / 2147483648);
v_count := 0;
for v_row in (select /*+ index(t (key320)) no_result_cache */ * from {{small}} t where key320 = v_key) loop
  v_count := v_count + 1;
end loop;
v_rows := v_rows + v_count;

-- name: SRV-REPORT.lookup
select /*+ index(t (key125)) no_result_cache */ * from {{small}} t where key125 = :key

-- name: SRV-REPORT.body
v_key := 1 + floor(to_number(v_seed) * {{small_key125}} / 2147483648);
v_count := 0;
for v_row in (select /*+ index(t (key125)) no_result_cache */ * from {{small}} t where key125 = v_key) loop
  v_count := v_count + 1;
end loop;
v_rows := v_rows + v_count;

-- name: SRV-SCAN.scan
select /*+ full(t) no_parallel(t) no_result_cache */ * from {{small}} t where quantity = -1

-- name: SRV-SCAN.body
-- The table has the attribute CACHE and was read before. That its scan went through the cache, not past it (direct path reads), is
-- what the claim of cached reads checks: it counts those, too.
v_count := 0;
for v_row in (select /*+ full(t) no_parallel(t) no_result_cache */ * from {{small}} t where quantity = -1) loop
  v_count := v_count + 1;
end loop;
v_rows := v_rows + v_count;

-- name: SRV-ROWS.scan
select /*+ full(t) no_parallel(t) no_result_cache */ * from {{small}} t

-- name: SRV-ROWS.body
-- as SRV-SCAN: through the cache, or the claim of cached reads fails
v_count := 0;
for v_row in (select /*+ full(t) no_parallel(t) no_result_cache */ * from {{small}} t) loop
  v_count := v_count + 1;
end loop;
v_rows := v_rows + v_count;

-- name: SRV-UPDATE1.update
-- never to the same value: engines skip the log for that
update /*+ hash(t) */ {{small}} t set status = status + 1 where id = :id

-- name: SRV-UPDATE1.declare
v_key number;

-- name: SRV-UPDATE1.body
v_key := {{drawn_id}};
update /*+ hash(t) */ {{small}} t set status = status + 1 where id = v_key;
v_rows := v_rows + sql%rowcount;
commit write immediate wait;
v_commits := v_commits + 1;
