-- name: DA-AGGREGATE.declare
v_count bigint;

-- name: DA-AGGREGATE.body
perform region, count(*), sum(amount), avg(amount), min(amount), max(amount) from {{big}} group by region;
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: drop-indexes
-- those of all jobs, also of a test that was killed
do $$
declare
  v_name text;
begin
  for v_name in select indexrelid::regclass::text from pg_index where indrelid = '{{big}}'::regclass
    and indexrelid::regclass::text like '%da\_index%'
  loop
    execute 'drop index ' || v_name;
  end loop;
end
$$

-- name: DA-INDEX.body
execute 'create index da_index_' || p_job || ' on {{big}} (quantity)';
commit;
execute 'drop index {{prefix}}da_index_' || p_job;
commit;
v_rows := v_rows + {{big_rows}};
v_commits := v_commits + 2;

-- name: DA-INDEX.drop
-- two jobs that find no index would both create it: the lock lets one after the other have the table
do $$
begin
  lock table {{big}} in access exclusive mode;
  drop index if exists {{prefix}}da_index;
end
$$
