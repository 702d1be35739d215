-- A job's rows stand together in the primary key; a single update commits by itself.

-- name: create-table
create table {{prefix}}lgwr_lat (pool int not null, slot int not null, counter bigint not null, pad varchar(1000) not null,
  primary key (pool, slot)) engine = innodb comment = 'made by dbdyno'

-- name: fill
-- After the rows of each job (pools 2, 4, ...) come 18 wide rows (pools 3, 5, ...), more than a block, so that no two jobs
-- share a block. There are rows for at least 64 jobs, as on other engines.
insert into {{prefix}}lgwr_lat (pool, slot, counter, pad)
select case when slots.seq <= {{rows}} then 2 * jobs.seq else 2 * jobs.seq + 1 end, slots.seq, 0,
  case when slots.seq <= {{rows}} then '' else repeat('p', 1000) end
from seq_1_to_10000 as jobs, seq_1_to_200 as slots
where jobs.seq <= greatest({{jobs}}, 64) and slots.seq <= {{rows}} + 18

-- name: index
-- nothing: the table stands in its primary key

-- name: gather
analyze table {{prefix}}lgwr_lat

-- name: LGWR-LAT.update
update {{prefix}}lgwr_lat set counter = counter + 1 where pool = 2 * :job

-- name: LGWR-LAT.body
update {{prefix}}lgwr_lat set counter = counter + 1 where pool = 2 * p_job;
set v_rows = v_rows + row_count();
set v_commits = v_commits + 1;

-- name: LGWR-THR.create-table
create table {{prefix}}lgwr_thr (pool int not null, slot int not null, counter bigint not null, pad varchar(1000) not null,
  primary key (pool, slot)) engine = innodb comment = 'made by dbdyno'

-- name: LGWR-THR.fill
insert into {{prefix}}lgwr_thr (pool, slot, counter, pad)
select case when slots.seq <= {{rows}} then 2 * jobs.seq else 2 * jobs.seq + 1 end, slots.seq, 0, repeat('p', 1000)
from seq_1_to_10000 as jobs, seq_1_to_11000 as slots
where jobs.seq <= greatest({{jobs}}, 8) and slots.seq <= {{rows}} + 18

-- name: LGWR-THR.index
-- nothing: the table stands in its primary key

-- name: LGWR-THR.gather
analyze table {{prefix}}lgwr_thr

-- name: LGWR-THR.update
-- the letter changes with every update
update {{prefix}}lgwr_thr set counter = counter + 1, pad = repeat(char(97 + counter % 26), 1000) where pool = 2 * :job

-- name: LGWR-THR.body
update {{prefix}}lgwr_thr set counter = counter + 1, pad = repeat(char(97 + counter % 26), 1000) where pool = 2 * p_job;
set v_rows = v_rows + row_count();
set v_commits = v_commits + 1;
