-- Vectors of DuckDB: arrays of 32-bit floats.

-- name: create-rows
create table {{prefix}}vec_rows (id bigint not null primary key, grp integer not null, v float[128] not null)

-- name: create-queries
create table {{prefix}}vec_queries (id bigint not null primary key, truth bigint not null, v float[128] not null)

-- name: fill-rows
insert into {{prefix}}vec_rows (id, grp, v) values {{each_row}}({{id}}, {{grp}}, [{{vector}}]::float[128]){{end}}

-- name: fill-queries
insert into {{prefix}}vec_queries (id, truth, v) values {{each_query}}({{id}}, {{truth}}, [{{vector}}]::float[128]){{end}}

-- name: search
select (s.d * s.d < (select truth from {{prefix}}vec_queries where id = :query) + 0.5)::bigint as hit, s.id, s.d
from (select r.id, array_distance(r.v, q.v) as d from {{prefix}}vec_rows as r, {{prefix}}vec_queries as q where q.id = :query
      order by d limit {{near}}) as s
