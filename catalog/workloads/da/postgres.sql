-- name: parallel-build
-- As `parallel`, for index builds. A build takes a helper only if each process has 32 MB to sort in.
select set_config('max_parallel_maintenance_workers', ({{threads}} - 1)::text, false),
  set_config('min_parallel_table_scan_size', '0', false),
  set_config('maintenance_work_mem',
    greatest({{threads}} * 32 * 1024, (select setting::bigint from pg_settings where name = 'maintenance_work_mem'))::text,
    false)
 where {{threads}} > 1

-- name: loops
-- those that this version has
select set_config(name, 'off', false) from pg_settings
 where name in ('enable_hashjoin', 'enable_mergejoin', 'enable_seqscan', 'enable_material', 'enable_memoize')

-- name: hashes
select set_config('enable_nestloop', 'off', false), set_config('enable_mergejoin', 'off', false),
  set_config('enable_indexscan', 'off', false), set_config('enable_bitmapscan', 'off', false)

-- name: DA-SCAN.declare
v_count bigint;

-- name: DA-SCAN.body
perform count(*), sum(id), sum(amount) from {{table}} where key25 + 0 <= {{table_key25}} / 2;
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: DA-AGGREGATE.declare
v_count bigint;

-- name: DA-AGGREGATE.body
perform region, count(*), sum(amount), avg(amount), min(amount), max(amount) from {{big}} group by region;
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: DA-SORT.declare
v_count bigint;

-- name: DA-SORT.body
-- Counting whole rows keeps all columns in the sort. The statement gives a row if all came: a result that is assigned
-- would be fetched without parallel workers.
perform 1 from (select * from {{big}} order by quantity, code offset 0) as sorted having count(sorted) = {{big_rows}};
get diagnostics v_count = row_count;
v_rows := v_rows + v_count * {{big_rows}};

-- name: drop-indexes
-- Those of all jobs, also of a test that was killed. Two jobs of a client that find no index would both create it: the lock
-- lets one after the other have the table.
do $$
declare
  v_table regclass := case '{{logging}}' when 'no' then '{{prefix}}da_copy' else '{{big}}' end;
  v_name text;
begin
  execute format('lock table %s in access exclusive mode', v_table);
  for v_name in select indexrelid::regclass::text from pg_index where indrelid = v_table
    and indexrelid::regclass::text like '%da\_index%'
  loop
    execute 'drop index ' || v_name;
  end loop;
end
$$

-- name: copy-no
-- In the organisation of the table: the same partitions, none of them logged. Only leaves hold rows, and can be unlogged.
do $$
declare
  v_big text := (select relname from pg_class where oid = '{{big}}'::regclass);
  v_part record;
begin
  for v_part in
    with tree as (
      select '{{big}}'::regclass as relid, null::regclass as parentrelid, 0 as level
      union
      select relid, parentrelid, level from pg_partition_tree('{{big}}')
    )
    select '{{prefix}}' || replace(part.relname, v_big, 'da_copy') as name,
        '{{prefix}}' || replace(parent.relname, v_big, 'da_copy') as parent, part.relkind = 'r' as is_leaf,
        pg_get_partkeydef(part.oid) as key, pg_get_expr(part.relpartbound, part.oid) as bounds
      from tree join pg_class as part on part.oid = tree.relid left join pg_class as parent on parent.oid = tree.parentrelid
     order by level
  loop
    execute concat('create ', case when v_part.is_leaf then 'unlogged ' end, 'table ', v_part.name,
      coalesce(' partition of ' || v_part.parent || ' ' || v_part.bounds, ' (like {{big}})'),
      ' partition by ' || v_part.key);
  end loop;
  insert into {{prefix}}da_copy select * from {{big}};
end
$$;
comment on table {{prefix}}da_copy is 'made by dbdyno'

-- name: drop-copy-no
drop table if exists {{prefix}}da_copy

-- name: DA-INDEX.look
select 1 as built from pg_index where indexrelid = to_regclass('{{prefix}}da_index') and indisvalid

-- name: DA-INDEX.declare
v_count bigint;

-- name: DA-INDEX.body
-- The server itself names the indexes of partitions, and two jobs at once would find the same name free: the lock, which ends
-- with the build, lets one after the other build.
if '{{org}}' like 'range-%' then
  lock table {{big}} in share update exclusive mode;
end if;
execute 'create index da_index_' || p_job || ' on '
  || case '{{logging}}' when 'no' then '{{prefix}}da_copy' else '{{big}}' end || ' (quantity)';
commit;
perform 1 from pg_index where indexrelid = to_regclass('{{prefix}}da_index_' || p_job) and indisvalid;
get diagnostics v_count = row_count;
execute 'drop index {{prefix}}da_index_' || p_job;
commit;
v_rows := v_rows + v_count;
v_commits := v_commits + 2;

-- name: DA-INDEX.create
do $$
begin
  execute 'create index da_index on '
    || case '{{logging}}' when 'no' then '{{prefix}}da_copy' else '{{big}}' end || ' (quantity)';
end
$$

-- name: DA-JOIN-LOOP.declare
v_count bigint;

-- name: DA-JOIN-LOOP.body
perform count(*), sum(b.amount)
  from {{table}} as a join {{table}} as b on
    b.key25 = 1 + (a.key320 + (a.id - 1) / {{table_key320}} * 7919 % 320 * ({{table_key25}} / 320)) % {{table_key25}}
 where a.key320 = 1 + (v_seed * {{table_key320}} >> 31);
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: DA-JOIN-HASH.declare
v_count bigint;

-- name: DA-JOIN-HASH.body
perform count(*), sum(b.amount), max(s.code) from {{big}} as b join {{small}} as s on s.id = b.key320;
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;
