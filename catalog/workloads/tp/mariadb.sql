-- Database drive of the TP group. A query in a MariaDB procedure must go somewhere. One row is fetched into a variable for each
-- column; of several rows every column of every row goes through an aggregate, which is cheaper than a cursor: that would
-- copy the rows into a temporary table first. Columns with an index go through bit_xor, since their maximum would be looked up in
-- the index once more. A routine that commits does one op; its reads commit by themselves.

-- name: declare
declare v_id bigint;
declare v_key25, v_key125, v_key320, v_region, v_quantity, v_status int;
declare v_booked_on date;
declare v_amount decimal(12,2);
declare v_code varchar(32);
declare v_filler varchar(200);

-- name: all_columns
select count(*), bit_xor(id), bit_xor(key25), bit_xor(key125), bit_xor(key320), max(region), max(booked_on), max(amount),
  max(quantity), max(status), max(code), max(filler)
into v_count, v_id, v_key25, v_key125, v_key320, v_region, v_booked_on, v_amount, v_quantity, v_status, v_code, v_filler

-- name: TP-LOOKUP.body
select * into v_id, v_key25, v_key125, v_key320, v_region, v_booked_on, v_amount, v_quantity, v_status, v_code, v_filler
from {{big}} where id = {{drawn_id}};
set v_rows = v_rows + row_count();

-- name: TP-SELECT32.declare
{{declare}}
declare v_select int;

-- name: TP-SELECT32.body
set v_select = 0;
while v_select < 32 do
  set v_select = v_select + 1;
  set v_seed = v_seed * 48271 % 2147483647;
  select * into v_id, v_key25, v_key125, v_key320, v_region, v_booked_on, v_amount, v_quantity, v_status, v_code, v_filler
  from {{big}} where id = 1 + (v_seed * {{big_rows}} >> 31);
  set v_rows = v_rows + row_count();
end while;

-- name: TP-UPDATE32.update
update {{big}} set status = status + 1, amount = amount + 1 where id = (:k - 1) * ({{big_rows}} div 32) + :offset

-- name: TP-UPDATE32.declare
declare v_update int;

-- name: TP-UPDATE32.body
set v_update = 0;
start transaction;
while v_update < 32 do
  set v_update = v_update + 1;
  set v_seed = v_seed * 48271 % 2147483647;
  update {{big}} set status = status + 1, amount = amount + 1
  where id = (v_update - 1) * ({{big_rows}} div 32) + 1 + (v_seed * ({{big_rows}} div 32) >> 31);
  set v_rows = v_rows + row_count();
end while;
commit;
set v_commits = v_commits + 1;

-- name: TP-HOT.update
update {{big}} set status = status + 1, amount = amount + 1 where id = 1 + (:hot - 1) * ({{big_rows}} div 64)

-- name: TP-HOT.body
update {{big}} set status = status + 1, amount = amount + 1
where id = 1 + (v_seed * {{rows}} >> 31) * ({{big_rows}} div 64);
set v_rows = v_rows + row_count();
set v_commits = v_commits + 1;

-- name: TP-REPORT.declare
{{declare}}
declare v_count bigint;

-- name: TP-REPORT.body
{{all_columns}}
from {{big}} where key25 = 1 + (v_seed * {{big_key25}} >> 31);
set v_rows = v_rows + v_count;

-- name: TP-LIGHT.declare
{{declare}}
declare v_key bigint;

-- name: TP-LIGHT.body
if v_seed * 100 >> 31 < {{update_pct}} then
  set v_seed = v_seed * 48271 % 2147483647;
  set v_key = {{drawn_id}};
  start transaction;
  select * into v_id, v_key25, v_key125, v_key320, v_region, v_booked_on, v_amount, v_quantity, v_status, v_code, v_filler
  from {{big}} where id = v_key for update;
  set v_rows = v_rows + row_count();
  update {{big}} set status = status + 1, amount = amount + 1 where id = v_key;
  set v_rows = v_rows + row_count();
  commit;
  set v_commits = v_commits + 1;
else
  set v_seed = v_seed * 48271 % 2147483647;
  set v_key = {{drawn_id}};
  select * into v_id, v_key25, v_key125, v_key320, v_region, v_booked_on, v_amount, v_quantity, v_status, v_code, v_filler
  from {{big}} where id = v_key;
  set v_rows = v_rows + row_count();
end if;

-- name: TP-MEDIUM.declare
{{declare}}
declare v_key, v_count bigint;

-- name: TP-MEDIUM.body
-- the rows are locked in the order of the index, that is of their ids
if v_seed * 100 >> 31 < {{update_pct}} then
  set v_seed = v_seed * 48271 % 2147483647;
  set v_key = 1 + (v_seed * {{big_key25}} >> 31);
  start transaction;
  {{all_columns}}
  from {{big}} where key25 = v_key for update;
  set v_rows = v_rows + v_count;
  update {{big}} set status = status + 1, amount = amount + 1 where key25 = v_key;
  set v_rows = v_rows + row_count();
  commit;
  set v_commits = v_commits + 1;
else
  set v_seed = v_seed * 48271 % 2147483647;
  set v_key = 1 + (v_seed * {{big_key25}} >> 31);
  {{all_columns}}
  from {{big}} where key25 = v_key;
  set v_rows = v_rows + v_count;
end if;

-- name: TP-HEAVY.declare
{{declare}}
declare v_key, v_count bigint;

-- name: TP-HEAVY.body
-- the rows are locked in the order of the index, that is of their ids
if v_seed * 100 >> 31 < {{update_pct}} then
  set v_seed = v_seed * 48271 % 2147483647;
  set v_key = 1 + (v_seed * {{big_key125}} >> 31);
  start transaction;
  {{all_columns}}
  from {{big}} where key125 = v_key for update;
  set v_rows = v_rows + v_count;
  update {{big}} set status = status + 1, amount = amount + 1 where key125 = v_key;
  set v_rows = v_rows + row_count();
  commit;
  set v_commits = v_commits + 1;
else
  set v_seed = v_seed * 48271 % 2147483647;
  set v_key = 1 + (v_seed * {{big_key125}} >> 31);
  {{all_columns}}
  from {{big}} where key125 = v_key;
  set v_rows = v_rows + v_count;
end if;

-- name: create-queue
create table {{prefix}}tp_queue (id bigint not null auto_increment primary key, note varchar(200) not null)
engine = innodb comment = 'made by dbdyno'

-- name: begin-held
start transaction with consistent snapshot

-- name: TP-QUEUE.declare
declare v_id bigint;

-- name: TP-QUEUE.body
start transaction;
insert into {{prefix}}tp_queue (note) values ('{{pad}}');
set v_rows = v_rows + row_count();
select id into v_id from {{prefix}}tp_queue order by id limit 1 for update skip locked;
delete from {{prefix}}tp_queue where id = v_id;
set v_rows = v_rows + row_count();
commit;
set v_commits = v_commits + 1;

-- name: create-upsert
create table {{prefix}}tp_upsert (id bigint not null primary key, n bigint not null, note varchar(200) not null)
engine = innodb comment = 'made by dbdyno'

-- name: gather-upsert
analyze table {{prefix}}tp_upsert

-- name: change
insert into {{prefix}}tp_upsert (id, n, note) values (:id, 1, '{{pad}}') on duplicate key update n = n + 1

-- name: add
insert into {{prefix}}tp_upsert (id, n, note) values (:seq, 1, '{{pad}}') on duplicate key update n = n + 1

-- name: TP-UPSERT.declare
-- New keys of a job are its own: job * 10^12 + 1, 2, ... The last one is kept in a variable of the session, since each call is one
-- transaction; the first call of a session asks the table.
declare v_key bigint;

-- name: TP-UPSERT.body
if v_seed * 100 >> 31 < {{hit}} then
  set v_seed = v_seed * 48271 % 2147483647;
  set v_key = 1 + (v_seed * 20000 >> 31);
else
  if @dbdyno_tp_upsert is null then
    select coalesce(max(id), p_job * 1000000000000) into @dbdyno_tp_upsert from {{prefix}}tp_upsert
    where id > p_job * 1000000000000 and id < (p_job + 1) * 1000000000000;
  end if;
  set @dbdyno_tp_upsert = @dbdyno_tp_upsert + 1;
  set v_key = @dbdyno_tp_upsert;
end if;
insert into {{prefix}}tp_upsert (id, n, note) values (v_key, 1, '{{pad}}') on duplicate key update n = n + 1;
-- a row that is changed counts twice
set v_rows = v_rows + (row_count() + 1) div 2;
set v_commits = v_commits + 1;
