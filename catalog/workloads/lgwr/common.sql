-- name: drop-table
drop table if exists {{prefix}}lgwr_lat

-- name: create-table
-- pool: the job that owns the row; 0 = padding
create table {{prefix}}lgwr_lat (pool integer not null, counter bigint not null, pad varchar(1000))

-- name: fill
-- After the rows of each job come 9 wide rows, more than a block, so that no two jobs share a block. There are rows for
-- at least 64 jobs, so that the table is big enough to be worth its index.
insert into {{prefix}}lgwr_lat (pool, counter, pad)
with recursive
  jobs(j) as (select 1 union all select j + 1 from jobs where j < {{jobs}} or j < 64),
  slots(r) as (select 1 union all select r + 1 from slots where r < {{rows}} + 9)
select case when r <= {{rows}} then j else 0 end, 0,
  case when r <= {{rows}} then '' else replace(replace(replace('x', 'x', 'yyyyyyyyyy'), 'y', 'zzzzzzzzzz'), 'z', 'pppppppppp') end
from jobs, slots
order by j, r

-- name: index
create index lgwr_lat_pool on {{prefix}}lgwr_lat (pool)

-- name: gather
analyze {{prefix}}lgwr_lat

-- name: LGWR-LAT.update
update {{prefix}}lgwr_lat set counter = counter + 1 where pool = :job

-- name: LGWR-INSERT.drop-table
drop table if exists {{prefix}}lgwr_insert

-- name: LGWR-INSERT.create-table
create table {{prefix}}lgwr_insert (id bigint not null primary key, amount bigint not null, note varchar(200) not null)

-- name: LGWR-INSERT.insert
insert into {{prefix}}lgwr_insert (id, amount, note) values (:seq, 0, '{{pad}}')

-- name: LGWR-THR.drop-table
drop table if exists {{prefix}}lgwr_thr

-- name: LGWR-THR.create-table
-- pool: the job that owns the row; 0 = padding
create table {{prefix}}lgwr_thr (pool integer not null, counter bigint not null, pad varchar(1000) not null)

-- name: LGWR-THR.fill
-- After the rows of each job come 18 wide rows, more than a block, so that no two jobs share a block. There are rows for
-- at least 8 jobs, so that the table is big enough to be worth its index.
insert into {{prefix}}lgwr_thr (pool, counter, pad)
with recursive
  jobs(j) as (select 1 union all select j + 1 from jobs where j < {{jobs}} or j < 8),
  slots(r) as (select 1 union all select r + 1 from slots where r < {{rows}} + 18)
select case when r <= {{rows}} then j else 0 end, 0,
  replace(replace(replace('x', 'x', 'yyyyyyyyyy'), 'y', 'zzzzzzzzzz'), 'z', 'pppppppppp')
from jobs, slots
order by j, r

-- name: LGWR-THR.index
create index lgwr_thr_pool on {{prefix}}lgwr_thr (pool)

-- name: LGWR-THR.gather
analyze {{prefix}}lgwr_thr
