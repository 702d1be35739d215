-- name: drop-table
drop table if exists {{prefix}}dbwr_thr

-- name: create-table
-- pool: 2 * job + 1 or 2, the two sets of a job
create table {{prefix}}dbwr_thr (pool integer not null, counter bigint not null, pad varchar(3000) not null)

-- name: place-heap
-- nothing: the engine's own organisation

-- name: place-iot
-- nothing: the engine's own organisation

-- name: place-rowid
-- nothing: the engine's own organisation

-- name: place-columns
-- nothing: the engine's own organisation

-- name: fill
-- a row of more than half a block: one row per block
insert into {{prefix}}dbwr_thr (pool, counter, pad)
with recursive
  pools(p) as (select 3 union all select p + 1 from pools where p < 2 * {{jobs}} + 2),
  slots(r) as (select 1 union all select r + 1 from slots where r < {{rows}})
select p, 0, replace(replace(replace('xxx', 'x', 'yyyyyyyyyy'), 'y', 'zzzzzzzzzz'), 'z', 'pppppppppp')
from pools, slots
order by p, r

-- name: index
create index dbwr_thr_pool on {{prefix}}dbwr_thr (pool)

-- name: gather
analyze {{prefix}}dbwr_thr

-- name: DBWR-THR.update
update {{prefix}}dbwr_thr set counter = counter + 1 where pool = 2 * :job + :set

-- name: DBWR-EACH.drop-table
drop table if exists {{prefix}}dbwr_each

-- name: DBWR-EACH.create-table
create table {{prefix}}dbwr_each (pool integer not null, counter bigint not null, pad varchar(3000) not null)

-- name: DBWR-EACH.fill
-- a row of more than half a block: one row per block
insert into {{prefix}}dbwr_each (pool, counter, pad)
with recursive
  pools(p) as (select 1 union all select p + 1 from pools where p < {{jobs}}),
  slots(r) as (select 1 union all select r + 1 from slots where r < {{rows}})
select p, 0, replace(replace(replace('xxx', 'x', 'yyyyyyyyyy'), 'y', 'zzzzzzzzzz'), 'z', 'pppppppppp')
from pools, slots
order by p, r

-- name: DBWR-EACH.index
create index dbwr_each_pool on {{prefix}}dbwr_each (pool)

-- name: DBWR-EACH.gather
analyze {{prefix}}dbwr_each

-- name: DBWR-EACH.update
update {{prefix}}dbwr_each set counter = counter + 1 where pool = :job
