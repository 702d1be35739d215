-- Vectors of SQLite: blobs of 32-bit floats, with the functions of sqlite-vec.

-- name: create-rows
create table {{prefix}}vec_rows (id integer not null primary key, grp integer not null, v blob not null)

-- name: create-queries
create table {{prefix}}vec_queries (id integer not null primary key, truth integer not null, v blob not null)

-- name: fill-rows
insert into {{prefix}}vec_rows (id, grp, v) values {{each_row}}({{id}}, {{grp}}, vec_f32('[{{vector}}]')){{end}}

-- name: fill-queries
insert into {{prefix}}vec_queries (id, truth, v) values {{each_query}}({{id}}, {{truth}}, vec_f32('[{{vector}}]')){{end}}

-- name: search
select s.d * s.d < (select truth from {{prefix}}vec_queries where id = :query) + 0.5 as hit, s.id, s.d
from (select r.id, vec_distance_l2(r.v, (select v from {{prefix}}vec_queries where id = :query)) as d from {{prefix}}vec_rows as r
      order by d limit {{near}}) as s
