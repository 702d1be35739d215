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

-- name: DBWR-EACH.create-table
create table {{prefix}}dbwr_each (pool int not null, slot int not null, counter bigint not null, pad varchar(8000) not null,
  primary key (slot, pool)) engine = innodb character set latin1 row_format = dynamic comment = 'made by dbdyno'

-- name: DBWR-EACH.fill
-- after each row of a job one of pool 0, which nobody changes and which takes the other half of its block
insert into {{prefix}}dbwr_each (pool, slot, counter, pad)
select if(halves.seq = 1, pools.seq, 0), 2 * ((pools.seq - 1) * {{rows}} + slots.seq) + halves.seq, 0, repeat('p', 7800)
from seq_1_to_10000 as pools, seq_1_to_{{rows}} as slots, seq_1_to_2 as halves
where pools.seq <= {{jobs}}
order by pools.seq, slots.seq, halves.seq

-- name: DBWR-EACH.gather
analyze table {{prefix}}dbwr_each

-- name: DBWR-EACH.may-ask
select 1 from information_schema.user_privileges as p
join information_schema.system_variables as v on v.variable_name = 'INNODB_LOG_CHECKPOINT_NOW'
where p.privilege_type = 'SUPER' and p.grantee = concat('\'', replace(current_user(), '@', '\'@\''), '\'')

-- name: DBWR-EACH.write-out
-- all that was changed, of all tables; takes the right SUPER
set global innodb_log_checkpoint_now = 1

-- name: DBWR-EACH.update
update {{prefix}}dbwr_each force index (dbwr_each_pool) set counter = counter + 1 where pool = :job

-- name: DBWR-EACH.body
-- Of few rows the whole table would be read, which locks those of other jobs. An update commits by itself.
update {{prefix}}dbwr_each force index (dbwr_each_pool) set counter = counter + 1 where pool = p_job;
set v_rows = v_rows + row_count();
set v_commits = v_commits + 1;
set global innodb_log_checkpoint_now = 1;
