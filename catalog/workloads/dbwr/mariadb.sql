-- A row takes nearly half of a block of 16 kB: InnoDB wants at least two in each. So neighbours in the primary key are rows of
-- different sets, and no two of one set share a block. The characters are single bytes.

-- name: create-table
create table {{prefix}}dbwr_thr (pool int not null, slot int not null, counter bigint not null, pad varchar(8000) not null,
  primary key (slot, pool)) engine = innodb character set latin1 row_format = dynamic comment = 'made by dbdyno'

-- name: place-lsm
alter table {{prefix}}dbwr_thr engine = rocksdb row_format = default

-- name: fill
insert into {{prefix}}dbwr_thr (pool, slot, counter, pad)
select pools.seq, slots.seq, 0, repeat('p', 7800)
from seq_3_to_20002 as pools, seq_1_to_{{rows}} as slots
where pools.seq <= 2 * {{jobs}} + 2
order by slots.seq, pools.seq

-- name: gather
analyze table {{prefix}}dbwr_thr

-- name: DBWR-THR.update
update {{prefix}}dbwr_thr force index (dbwr_thr_pool) set counter = counter + 1 where pool = 2 * :job + :set

-- name: DBWR-THR.body
-- Of few rows the whole table would be read, which locks those of other jobs.
update {{prefix}}dbwr_thr force index (dbwr_thr_pool) set counter = counter + 1 where pool = 2 * p_job + 1 + (v_seed * 2 >> 31);
set v_rows = v_rows + row_count();
set v_commits = v_commits + 1;
