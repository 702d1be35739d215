-- name: create-table
-- fillfactor 10 keeps a second row out of a block; some versions of the one in it find room, so that an update stays
-- in the block even if an older version cannot be removed yet
create table {{prefix}}dbwr_thr (pool int not null, counter bigint not null, pad varchar(1000) not null)
with (fillfactor = 10);
comment on table {{prefix}}dbwr_thr is 'made by dbdyno'

-- name: fill
insert into {{prefix}}dbwr_thr (pool, counter, pad)
select p, 0, repeat('p', 900)
from generate_series(3, 2 * {{jobs}} + 2) as p, generate_series(1, {{rows}}) as r
order by p, r

-- name: DBWR-THR.declare
v_count bigint;

-- name: DBWR-THR.body
update {{prefix}}dbwr_thr set counter = counter + 1 where pool = 2 * p_job + 1 + (v_seed * 2 >> 31);
get diagnostics v_count = row_count;
commit;
v_rows := v_rows + v_count;
v_commits := v_commits + 1;

-- name: DBWR-EACH.create-table
-- as that of DBWR-THR
create table {{prefix}}dbwr_each (pool int not null, counter bigint not null, pad varchar(1000) not null)
with (fillfactor = 10);
comment on table {{prefix}}dbwr_each is 'made by dbdyno'

-- name: DBWR-EACH.fill
insert into {{prefix}}dbwr_each (pool, counter, pad)
select p, 0, repeat('p', 900)
from generate_series(1, {{jobs}}) as p, generate_series(1, {{rows}}) as r
order by p, r

-- name: DBWR-EACH.write-out
-- takes a superuser, from version 15 on a member of pg_checkpoint
checkpoint

-- name: DBWR-EACH.declare
v_count bigint;

-- name: DBWR-EACH.body
update {{prefix}}dbwr_each set counter = counter + 1 where pool = p_job;
get diagnostics v_count = row_count;
checkpoint;
commit;
v_rows := v_rows + v_count;
v_commits := v_commits + 1;
