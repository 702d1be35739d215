-- name: columns
-- those of the data set's tables, after the id
key25 int not null, key125 int not null, key320 int not null, region int not null,
  booked_on date not null, amount decimal(12, 2) not null, quantity int not null, status int not null,
  code varchar(32) not null, filler varchar(200) not null

-- name: row_values
-- the formulas of the data set, of the id i, its last nine digits n and the hashes h1 and h2
i, 1 + (i - 1) % {{small_key25}}, 1 + (i - 1) % {{small_key125}}, 1 + (i - 1) % {{small_key320}}, 1 + h1 % 8,
  date '2024-01-01' + interval h2 % 731 day, (1 + h1 div 8 % 1000000) / 100, 1 + h2 div 731 % 100, 0,
  concat(h1 + 3000000000, h2 + 3000000000, n + 100000000000), concat('{{pad}}', n + 100000000000)

-- name: create-buffer-iot
create table {{prefix}}dl_buffer (
  id bigint not null, {{columns}},
  primary key (id)
) engine = innodb comment = 'made by dbdyno'

-- name: create-buffer-iot-list
-- a partition per region; a primary key must have the partition key in it
create table {{prefix}}dl_buffer (
  id bigint not null, {{columns}},
  primary key (id, region)
) engine = innodb comment = 'made by dbdyno'
partition by list (region) (
  partition p1 values in (1), partition p2 values in (2), partition p3 values in (3), partition p4 values in (4),
  partition p5 values in (5), partition p6 values in (6), partition p7 values in (7), partition p8 values in (8)
)


-- name: create-direct-iot
-- InnoDB's own organisation: the primary key is the table
create table {{prefix}}dl_direct (
  id bigint not null, {{columns}},
  primary key (id)
) engine = innodb comment = 'made by dbdyno'

-- name: create-direct-iot-list
create table {{prefix}}dl_direct (
  id bigint not null, {{columns}},
  primary key (id, region)
) engine = innodb comment = 'made by dbdyno'
partition by list (region) (
  partition p1 values in (1), partition p2 values in (2), partition p3 values in (3), partition p4 values in (4),
  partition p5 values in (5), partition p6 values in (6), partition p7 values in (7), partition p8 values in (8)
)


-- name: create-buffer-lsm
create table {{prefix}}dl_buffer (
  id bigint not null, {{columns}},
  primary key (id)
) engine = rocksdb comment = 'made by dbdyno'

-- name: create-direct-lsm
create table {{prefix}}dl_direct (
  id bigint not null, {{columns}},
  primary key (id)
) engine = rocksdb comment = 'made by dbdyno'

-- name: create-direct-range-hash
-- as the data set's big table of this organisation: half-years, and in each 8 partitions by the hash of the id
create table {{prefix}}dl_direct (
  id bigint not null, {{columns}},
  primary key (id, booked_on)
) engine = innodb comment = 'made by dbdyno'
partition by range (to_days(booked_on)) subpartition by hash (id) subpartitions 8 (
  partition p1 values less than (to_days('2024-07-01')), partition p2 values less than (to_days('2025-01-01')),
  partition p3 values less than (to_days('2025-07-01')), partition p4 values less than (to_days('2026-01-01'))
)


-- name: compress-yes
alter table {{prefix}}dl_direct row_format = compressed key_block_size = 8

-- name: create-stream
create table {{prefix}}dl_stream (
  id bigint not null, {{columns}},
  primary key (id)
) engine = innodb comment = 'made by dbdyno'

-- name: DL-BUFFER.declare
-- Ids of a job are its own: job * 10^12 + 1, 2, ... The last one is kept in a variable of the session, since each call is one
-- transaction; the first call of a session asks the table.
declare v_id bigint;
declare v_row int;

-- name: DL-BUFFER.body
-- the rows of the small table in their order, after the last one the first again
set v_id = @dbdyno_dl_buffer;
if v_id is null then
  -- "select into" reads without locks; a query within "set" would lock the gap that the insert goes into
  select coalesce(max(id), p_job * 1000000000000) into v_id from {{prefix}}dl_buffer
  where id > p_job * 1000000000000 and id < (p_job + 1) * 1000000000000;
end if;
set v_row = 0;
start transaction;
while v_row < {{rpt}} do
  set v_row = v_row + 1;
  set v_id = v_id + 1;
  insert into {{prefix}}dl_buffer
  select v_id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler from {{small}}
  where id = 1 + v_id % {{small_rows}};
  set v_rows = v_rows + row_count();
end while;
commit;
set @dbdyno_dl_buffer = v_id;
set v_commits = v_commits + 1;

-- name: DL-BUFFER.insert
insert into {{prefix}}dl_buffer
select :seq, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler from {{small}}
where id = 1 + :seq % {{small_rows}}

-- name: DL-STREAM.declare
declare v_last bigint;

-- name: DL-STREAM.body
set v_last = @dbdyno_dl_stream;
if v_last is null then
  -- "select into" reads without locks; a query within "set" would lock the gap that the insert goes into
  select coalesce(max(id), p_job * 1000000000000) into v_last from {{prefix}}dl_stream
  where id > p_job * 1000000000000 and id < (p_job + 1) * 1000000000000;
end if;
insert into {{prefix}}dl_stream
select {{row_values}}
from (select i, n, h1, (h1 * h1 + n) % 2147483647 as h2
      from (select i, n, (n * 1327217885 + 12345) % 2147483647 as h1
            from (select v_last + seq as i, (v_last + seq) % 1000000000 as n from seq_1_to_{{rpt}}) as one) as two) as three;
set v_rows = v_rows + row_count();
set @dbdyno_dl_stream = v_last + {{rpt}};
set v_commits = v_commits + 1;

-- name: DL-STREAM.insert
-- the array :seq of a job (job * 10^12 + 1, 2, ...): ids job * 10^12 + (number - 1) * rpt + 1 and on
insert into {{prefix}}dl_stream
select {{row_values}}
from (select i, n, h1, (h1 * h1 + n) % 2147483647 as h2
      from (select i, n, (n * 1327217885 + 12345) % 2147483647 as h1
            from (select base + seq as i, (base + seq) % 1000000000 as n
                  from seq_1_to_{{rpt}},
                    (select :seq div 1000000000000 * 1000000000000 + (:seq % 1000000000000 - 1) * {{rpt}} as base) as array_of_job) as one) as two) as three

-- name: create-delete
create table {{prefix}}dl_delete (id bigint not null primary key, slot bigint not null, note varchar(200) not null)
engine = innodb comment = 'made by dbdyno'

-- name: create-new
create table {{prefix}}dl_delete_new (slot bigint not null primary key, note varchar(200) not null)
engine = innodb comment = 'made by dbdyno'

-- name: gather-delete
analyze table {{prefix}}dl_delete

-- name: first
-- the id before the first of the range
:job * 1000000000000 + (case '{{old}}' when 'random' then :range else :seq % 1000000000000 end - 1) * {{rpt}}

-- name: DL-DELETE.declare
-- The id before the first of the range is kept in a variable of the session, since each call is one transaction.
declare v_first bigint;

-- name: DL-DELETE.body
if '{{old}}' = 'random' then
  set v_first = p_job * 1000000000000 + (v_seed * (20000 div {{rpt}}) >> 31) * {{rpt}};
else
  if @dbdyno_dl_delete is null then
    select coalesce(min(id), 1) - 1 into @dbdyno_dl_delete from {{prefix}}dl_delete
    where id > p_job * 1000000000000 and id < (p_job + 1) * 1000000000000;
  end if;
  set v_first = @dbdyno_dl_delete;
end if;
start transaction;
delete from {{prefix}}dl_delete where id between v_first + 1 and v_first + {{rpt}};
set v_rows = v_rows + row_count();
insert into {{prefix}}dl_delete (id, slot, note)
select v_first + case '{{old}}' when 'random' then 0 else 20000 end + slot, slot, note from {{prefix}}dl_delete_new;
set v_rows = v_rows + row_count();
commit;
set @dbdyno_dl_delete = v_first + {{rpt}};
set v_commits = v_commits + 1;

-- name: create-copy-plain
-- InnoDB's own organisation: the primary key is the table
create table {{prefix}}dl_copy (
  id bigint not null, {{columns}},
  primary key (id)
) engine = innodb comment = 'made by dbdyno'

-- name: create-copy-parts
-- as the data set's big table of this organisation: half-years, and in each 8 partitions by the hash of the id
create table {{prefix}}dl_copy (
  id bigint not null, {{columns}},
  primary key (id, booked_on)
) engine = innodb comment = 'made by dbdyno'
partition by range (to_days(booked_on)) subpartition by hash (id) subpartitions 8 (
  partition p1 values less than (to_days('2024-07-01')), partition p2 values less than (to_days('2025-01-01')),
  partition p3 values less than (to_days('2025-07-01')), partition p4 values less than (to_days('2026-01-01'))
)

-- name: compress-copy-yes
alter table {{prefix}}dl_copy row_format = compressed key_block_size = 8

-- name: DL-COPY.copy
-- the copy :seq of a job (job * 10^12 + 1, 2, ...), with ids of its own: the table stands in its primary key
insert into {{prefix}}dl_copy
select :seq div 1000000000000 * 1000000000000000 + (:seq % 1000000000000 - 1) * {{small_rows}} + id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler from {{small}}

-- name: DL-COPY.declare
-- how many copies the session has made: each call is one transaction
declare v_base bigint;

-- name: DL-COPY.body
set v_base = p_job * 1000000000000000 + coalesce(@dbdyno_dl_copy, 0) * {{small_rows}};
insert into {{prefix}}dl_copy
select v_base + id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler from {{small}};
set v_rows = v_rows + row_count();
set @dbdyno_dl_copy = coalesce(@dbdyno_dl_copy, 0) + 1;
set v_commits = v_commits + 1;
