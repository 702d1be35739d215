-- Vectors of MariaDB, from 11.7 on, with its graph index (mhnsw). A scalar subquery is a constant to the optimizer, which
-- so uses the index; the square of a distance is rounded by less than 0.5.

-- name: available
select 1 where cast(substring_index(version(), '.', 1) as int) * 100
  + cast(substring_index(substring_index(version(), '.', 2), '.', -1) as int) >= 1107

-- name: create-rows
create table {{prefix}}vec_rows (id bigint not null primary key, grp int not null, v vector(128) not null) comment = 'made by dbdyno'

-- name: create-queries
create table {{prefix}}vec_queries (id bigint not null primary key, truth bigint not null, v vector(128) not null) comment = 'made by dbdyno'

-- name: create-added
create table {{prefix}}vec_added (id bigint not null primary key, grp int not null, v vector(128) not null) comment = 'made by dbdyno'

-- name: fill-rows
insert into {{prefix}}vec_rows (id, grp, v) values {{each_row}}({{id}}, {{grp}}, vec_fromtext('[{{vector}}]')){{end}}

-- name: fill-queries
insert into {{prefix}}vec_queries (id, truth, v) values {{each_query}}({{id}}, {{truth}}, vec_fromtext('[{{vector}}]')){{end}}

-- name: fill-added
insert into {{prefix}}vec_added (id, grp, v) values {{each_added}}({{id}}, {{grp}}, vec_fromtext('[{{vector}}]')){{end}}

-- name: index-rows
alter table {{prefix}}vec_rows add vector index vec_rows_v (v) m={{m}} distance=euclidean

-- name: gather-rows
analyze table {{prefix}}vec_rows

-- name: keep-candidates
set session mhnsw_ef_search = {{ef}}

-- name: search
select case when s.d * s.d < (select truth from {{prefix}}vec_queries where id = :query) + 0.5 then 1 else 0 end + 0 as hit, s.id, s.d
from (select id, vec_distance_euclidean(v, (select v from {{prefix}}vec_queries where id = :query)) as d from {{prefix}}vec_rows
      order by vec_distance_euclidean(v, (select v from {{prefix}}vec_queries where id = :query)) limit {{near}}) as s

-- name: search-share
select case when s.d * s.d < (select truth from {{prefix}}vec_queries where id = :query) + 0.5 then 1 else 0 end + 0 as hit, s.id, s.d
from (select id, vec_distance_euclidean(v, (select v from {{prefix}}vec_queries where id = :query)) as d from {{prefix}}vec_rows where grp <= {{pct}}
      order by vec_distance_euclidean(v, (select v from {{prefix}}vec_queries where id = :query)) limit {{near}}) as s

-- name: drop-index
-- the build replaces it
do 0

-- name: build
-- one statement, so that jobs do not meet between two
alter table {{prefix}}vec_rows drop index if exists vec_rows_v, add vector index vec_rows_v (v) m={{m}} distance=euclidean

-- name: look
select 1 as built from information_schema.statistics
where table_schema = trim(trailing '.' from '{{prefix}}') and table_name = 'vec_rows' and index_name = 'vec_rows_v'

-- name: declare
declare v_query vector(128);
declare v_truth, v_found, v_hits bigint;

-- name: VEC-SEARCH.body
select v, truth into v_query, v_truth from {{prefix}}vec_queries where id = 1 + (v_seed * {{queries}} >> 31);
select count(*), coalesce(sum(s.d * s.d < v_truth + 0.5), 0) into v_found, v_hits
  from (select vec_distance_euclidean(v, v_query) as d from {{prefix}}vec_rows order by vec_distance_euclidean(v, v_query) limit {{near}}) as s;
set v_rows = v_rows + v_found;
set v_sink = v_sink + v_hits;

-- name: VEC-EXACT.body
select v, truth into v_query, v_truth from {{prefix}}vec_queries where id = 1 + (v_seed * {{queries}} >> 31);
select count(*), coalesce(sum(s.d * s.d < v_truth + 0.5), 0) into v_found, v_hits
  from (select vec_distance_euclidean(v, v_query) as d from {{prefix}}vec_rows order by vec_distance_euclidean(v, v_query) limit {{near}}) as s;
set v_rows = v_rows + v_found;
set v_sink = v_sink + v_hits;

-- name: VEC-FILTER.body
select v, truth into v_query, v_truth from {{prefix}}vec_queries where id = 1 + (v_seed * {{queries}} >> 31);
select count(*), coalesce(sum(s.d * s.d < v_truth + 0.5), 0) into v_found, v_hits
  from (select vec_distance_euclidean(v, v_query) as d from {{prefix}}vec_rows where grp <= {{pct}}
        order by vec_distance_euclidean(v, v_query) limit {{near}}) as s;
set v_rows = v_rows + v_found;
set v_sink = v_sink + v_hits;

-- name: VEC-INSERT.declare
-- Ids of a job are its own: job * 10^12 + 1, 2, ... The last one is kept in a variable of the session, since each call is one
-- transaction; the first call of a session asks the table.
declare v_id bigint;

-- name: VEC-INSERT.body
set v_id = @dbdyno_vec_insert;
if v_id is null then
  select coalesce(max(id), p_job * 1000000000000) into v_id from {{prefix}}vec_rows
  where id > p_job * 1000000000000 and id < (p_job + 1) * 1000000000000;
end if;
set v_id = v_id + 1;
insert into {{prefix}}vec_rows (id, grp, v) select v_id, grp, v from {{prefix}}vec_added where id = 1 + (v_seed * {{added}} >> 31);
set v_rows = v_rows + row_count();
set @dbdyno_vec_insert = v_id;
set v_commits = v_commits + 1;
