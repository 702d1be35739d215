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

-- name: LGWR-INSERT.create-table
create table {{prefix}}lgwr_insert (id bigint not null primary key, amount bigint not null, note varchar(200) not null)
  engine = innodb comment = 'made by dbdyno'

-- name: LGWR-INSERT.declare
-- Ids of a job are its own: job * 10^12 + 1, 2, ... The last one is kept in a variable of the session, since each call is one
-- transaction; the first call of a session asks the table.
declare v_id bigint;
declare v_row int;

-- name: LGWR-INSERT.body
set v_id = @dbdyno_lgwr_insert;
if v_id is null then
  -- "select into" reads without locks; a query within "set" would lock the gap that the insert goes into
  select coalesce(max(id), p_job * 1000000000000) into v_id from {{prefix}}lgwr_insert
  where id > p_job * 1000000000000 and id < (p_job + 1) * 1000000000000;
end if;
set v_row = 0;
start transaction;
while v_row < {{rows}} do
  set v_row = v_row + 1;
  set v_id = v_id + 1;
  insert into {{prefix}}lgwr_insert (id, amount, note) values (v_id, 0, '{{pad}}');
  set v_rows = v_rows + row_count();
end while;
commit;
set @dbdyno_lgwr_insert = v_id;
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
