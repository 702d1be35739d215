-- Vectors of PostgreSQL: the extension vector (pgvector) with its graph index (hnsw).
--
-- Our sessions look for no name in the schema public, so that it is said. A column of plain storage is not moved out of its row. The operator <-> gives the distance, whose square is rounded by less than
-- 0.5: the square of the last true neighbour's is a whole number.

-- name: available
-- Installed for the server; and made in this database, or one that we may make.
select 1 from pg_available_extensions as e
where e.name = 'vector' and case when e.installed_version is null
    then (select rolsuper from pg_roles where rolname = current_user)
    else exists (select 1 from pg_extension where extname = 'vector' and extnamespace = 'public'::regnamespace) end

-- name: vector_version
-- of this database, or the one that we would make: the first two numbers
string_to_array(substring(coalesce(e.installed_version, e.default_version) from '^[0-9]+[.][0-9]+'), '.')::int[]

-- name: has-graphs
select 1 where not exists (
  select 1 from pg_available_extensions as e where e.name = 'vector' and {{vector_version}} < array[0, 5])

-- name: VEC-SEARCH.goes-on
-- only where it keeps fewer candidates than it has to give
select 1 where {{k}} < 100 or not exists (
  select 1 from pg_available_extensions as e where e.name = 'vector' and {{vector_version}} < array[0, 8])

-- name: VEC-FILTER.goes-on
select 1 where not exists (
  select 1 from pg_available_extensions as e where e.name = 'vector' and {{vector_version}} < array[0, 8])

-- name: extension
create extension if not exists vector with schema public

-- name: create-rows
create table {{prefix}}vec_rows (id bigint not null primary key, grp int not null, v public.vector(128) not null);
alter table {{prefix}}vec_rows alter column v set storage plain;
comment on table {{prefix}}vec_rows is 'made by dbdyno'

-- name: create-queries
create table {{prefix}}vec_queries (id bigint not null primary key, truth bigint not null, v public.vector(128) not null);
alter table {{prefix}}vec_queries alter column v set storage plain;
comment on table {{prefix}}vec_queries is 'made by dbdyno'

-- name: create-added
create table {{prefix}}vec_added (id bigint not null primary key, grp int not null, v public.vector(128) not null);
alter table {{prefix}}vec_added alter column v set storage plain;
comment on table {{prefix}}vec_added is 'made by dbdyno'

-- name: fill-rows
insert into {{prefix}}vec_rows (id, grp, v) values {{each_row}}({{id}}, {{grp}}, '[{{vector}}]'){{end}}

-- name: fill-queries
insert into {{prefix}}vec_queries (id, truth, v) values {{each_query}}({{id}}, {{truth}}, '[{{vector}}]'){{end}}

-- name: fill-added
insert into {{prefix}}vec_added (id, grp, v) values {{each_added}}({{id}}, {{grp}}, '[{{vector}}]'){{end}}

-- name: index-rows
-- The graph has to fit into the memory of a build, or it is built far slower.
set maintenance_work_mem = '1GB';
create index vec_rows_v on {{prefix}}vec_rows using hnsw (v public.vector_l2_ops) with (m = {{m}}, ef_construction = {{ef_construction}});
reset maintenance_work_mem

-- name: gather-rows
vacuum (analyze) {{prefix}}vec_rows

-- name: load-library
-- its settings are known to a session once that has used it
select '[0]'::public.vector

-- name: keep-candidates
-- the table may be so small that the planner would rather scan it
select set_config('hnsw.ef_search', '{{ef}}', false), set_config('enable_seqscan', 'off', false)

-- name: more-than-candidates-100
-- an index gives no more rows than it has candidates, unless it goes on
select set_config('hnsw.iterative_scan', 'strict_order', false)

-- name: go-on
select set_config('hnsw.iterative_scan', '{{iterative}}_order', false), set_config('hnsw.max_scan_tuples', '1000000', false)

-- name: no-helpers
select set_config('max_parallel_workers_per_gather', '0', false)

-- name: build-in-memory
select set_config('maintenance_work_mem', '1GB', false), set_config('max_parallel_maintenance_workers', '0', false)

-- name: search
select case when s.d * s.d < (select truth from {{prefix}}vec_queries where id = :query) + 0.5 then 1::bigint else 0 end as hit, s.id, s.d
from (select id, v operator(public.<->) (select v from {{prefix}}vec_queries where id = :query) as d from {{prefix}}vec_rows
      order by v operator(public.<->) (select v from {{prefix}}vec_queries where id = :query) limit {{near}}) as s

-- name: search-share
select case when s.d * s.d < (select truth from {{prefix}}vec_queries where id = :query) + 0.5 then 1::bigint else 0 end as hit, s.id, s.d
from (select id, v operator(public.<->) (select v from {{prefix}}vec_queries where id = :query) as d from {{prefix}}vec_rows where grp <= {{pct}}
      order by v operator(public.<->) (select v from {{prefix}}vec_queries where id = :query) limit {{near}}) as s

-- name: declare
v_query public.vector(128);
v_truth bigint;
v_found int;
v_hits int;

-- name: VEC-INSERT.declare
-- ids of a job are its own: job * 10^12 + 1, 2, ...; a slice goes on where the last one ended
v_count bigint;
v_id bigint := coalesce((select max(id) from {{prefix}}vec_rows
  where id > p_job * 1000000000000 and id < (p_job + 1) * 1000000000000), p_job * 1000000000000);

-- name: VEC-SEARCH.body
select v, truth into v_query, v_truth from {{prefix}}vec_queries where id = 1 + (v_seed * {{queries}} >> 31);
select count(*), count(*) filter (where s.d * s.d < v_truth + 0.5) into v_found, v_hits
  from (select v operator(public.<->) v_query as d from {{prefix}}vec_rows order by v operator(public.<->) v_query limit {{near}}) as s;
v_rows := v_rows + v_found;
v_sink := v_sink + v_hits;

-- name: VEC-FILTER.body
select v, truth into v_query, v_truth from {{prefix}}vec_queries where id = 1 + (v_seed * {{queries}} >> 31);
select count(*), count(*) filter (where s.d * s.d < v_truth + 0.5) into v_found, v_hits
  from (select v operator(public.<->) v_query as d from {{prefix}}vec_rows where grp <= {{pct}} order by v operator(public.<->) v_query limit {{near}}) as s;
v_rows := v_rows + v_found;
v_sink := v_sink + v_hits;

-- name: VEC-EXACT.body
select v, truth into v_query, v_truth from {{prefix}}vec_queries where id = 1 + (v_seed * {{queries}} >> 31);
select count(*), count(*) filter (where s.d * s.d < v_truth + 0.5) into v_found, v_hits
  from (select v operator(public.<->) v_query as d from {{prefix}}vec_rows order by v operator(public.<->) v_query limit {{near}}) as s;
v_rows := v_rows + v_found;
v_sink := v_sink + v_hits;

-- name: drop-index
-- with the table for this job until its commit: two that build at once would find the name taken
do $$
begin
  lock table {{prefix}}vec_rows in access exclusive mode;
  drop index if exists {{prefix}}vec_rows_v;
end
$$

-- name: build
create index vec_rows_v on {{prefix}}vec_rows using hnsw (v public.vector_l2_ops) with (m = {{m}}, ef_construction = {{ef_construction}})

-- name: look
select 1 as built from pg_index where indexrelid = to_regclass('{{prefix}}vec_rows_v') and indisvalid

-- name: VEC-INSERT.body
v_id := v_id + 1;
insert into {{prefix}}vec_rows (id, grp, v)
  select v_id, grp, v from {{prefix}}vec_added where id = 1 + (v_seed * {{added}} >> 31);
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;
commit;
v_commits := v_commits + 1;
