-- The VEC group: tables of vectors, of queries with the squared distance of their last true neighbour, and of vectors to add.

-- name: drop-rows
drop table if exists {{prefix}}vec_rows

-- name: drop-queries
drop table if exists {{prefix}}vec_queries

-- name: drop-added
drop table if exists {{prefix}}vec_added

-- name: insert
insert into {{prefix}}vec_rows (id, grp, v) select :id, grp, v from {{prefix}}vec_added where id = :new
