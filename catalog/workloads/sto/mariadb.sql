-- As in the SRV group every column of the rows found goes into a variable: of many rows the greatest value.

-- name: parallel
-- nothing: one thread per statement

-- name: declare
declare v_id, v_key25, v_key125, v_key320, v_region, v_quantity, v_status, v_count bigint;
declare v_booked_on date;
declare v_amount decimal(12,2);
declare v_code varchar(32);
declare v_filler varchar(200);

-- name: STO-READ.body
select count(*), max(id + 0), max(key25 + 0), max(key125 + 0), max(key320 + 0), max(region),
    max(booked_on), max(amount), max(quantity), max(status), max(code), max(filler)
  into v_count, v_id, v_key25, v_key125, v_key320, v_region,
    v_booked_on, v_amount, v_quantity, v_status, v_code, v_filler
  from {{big}} where quantity = -1;
set v_rows = v_rows + v_count;

-- name: STO-RANDOM.declare
{{declare}}
declare v_key bigint;

-- name: STO-RANDOM.body
if v_seed * 100 >> 31 < {{write_pct}} then
  set v_seed = v_seed * 48271 % 2147483647;
  set v_key = {{drawn_id}};
  update {{big}} set status = status + 1 where id = v_key;
  set v_rows = v_rows + row_count();
  set v_commits = v_commits + 1;
else
  set v_seed = v_seed * 48271 % 2147483647;
  set v_key = {{drawn_id}};
  select id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler
    into v_id, v_key25, v_key125, v_key320, v_region, v_booked_on, v_amount, v_quantity, v_status, v_code, v_filler
    from {{big}} where id = v_key;
  set v_rows = v_rows + row_count();
end if;

-- name: STO-SCATTER.scatter
select b.*
  from seq_0_to_31 as part straight_join {{big}} as b
    on b.key320 = 1 + (:key + part.seq * ({{big_key320}} div ({{rows}} div 320))) % {{big_key320}}
 where part.seq < {{rows}} div 320

-- name: STO-SCATTER.declare
{{declare}}
declare v_key bigint;

-- name: STO-SCATTER.body
set v_key = 1 + (v_seed * {{big_key320}} >> 31);
select count(*), max(b.id + 0), max(b.key25 + 0), max(b.key125 + 0), max(b.key320 + 0), max(b.region),
    max(b.booked_on), max(b.amount), max(b.quantity), max(b.status), max(b.code), max(b.filler)
  into v_count, v_id, v_key25, v_key125, v_key320, v_region,
    v_booked_on, v_amount, v_quantity, v_status, v_code, v_filler
  from seq_0_to_31 as part straight_join {{big}} as b
    on b.key320 = 1 + (v_key + part.seq * ({{big_key320}} div ({{rows}} div 320))) % {{big_key320}}
 where part.seq < {{rows}} div 320;
set v_rows = v_rows + v_count;

-- name: STO-OFFLOAD.declare
declare v_id, v_quantity, v_count bigint;
declare v_amount decimal(12,2);

-- name: STO-OFFLOAD.body
select count(*), max(id + 0), max(quantity), max(amount) into v_count, v_id, v_quantity, v_amount
  from {{big}} where quantity = 7;
set v_rows = v_rows + v_count;

-- name: STO-WRITE.declare
-- nothing: no row is fetched

-- name: STO-WRITE.body
-- Eight rows fill a page of 16 kB. "for export" writes all pages of the table and syncs the file.
execute immediate concat('create or replace table {{prefix}}sto_write_', p_job,
  ' (filler varchar(4000) not null) engine = innodb charset = latin1 comment = ''made by dbdyno''');
execute immediate concat('insert into {{prefix}}sto_write_', p_job, ' select repeat(''x'', 1880) from seq_1_to_',
  {{file_mb}} * 1000000 div 2048);
set v_rows = v_rows + row_count();
execute immediate concat('flush tables {{prefix}}sto_write_', p_job, ' for export');
execute immediate 'unlock tables';
execute immediate concat('drop table {{prefix}}sto_write_', p_job);
set v_commits = v_commits + 1;

-- name: STO-ACTIVE.declare
{{declare}}
declare v_key bigint;

-- name: STO-ACTIVE.body
set v_key = 1 + (v_seed * {{active_rows}} >> 31);
select id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler
  into v_id, v_key25, v_key125, v_key320, v_region, v_booked_on, v_amount, v_quantity, v_status, v_code, v_filler
  from {{big}} where id = v_key;
set v_rows = v_rows + row_count();

-- name: no-kept-files
-- also those of a test that was killed
begin not atomic
  for kept in (select concat('{{prefix}}', table_name) as name from information_schema.tables
      where table_schema = trim(trailing '.' from '{{prefix}}') and table_name regexp '^sto_files_[0-9]+_[0-9]+$'
        and table_comment = 'made by dbdyno') do
    execute immediate concat('drop table ', kept.name);
  end for;
end

-- name: STO-FILES.declare
-- files of a session are numbered: each call is one op
declare v_number int;
declare v_file varchar(100);

-- name: STO-FILES.body
-- as STO-WRITE, but that the file stays
set v_number = coalesce(@dbdyno_sto_files, 0) + 1;
set v_file = concat('{{prefix}}sto_files_', p_job, '_');
if v_number > {{files}} then
  execute immediate concat('drop table if exists ', v_file, v_number - {{files}});
end if;
execute immediate concat('create or replace table ', v_file, v_number,
  ' (filler varchar(4000) not null) engine = innodb charset = latin1 comment = ''made by dbdyno''');
execute immediate concat('insert into ', v_file, v_number, ' select repeat(''x'', 1880) from seq_1_to_', {{file_mb}} * 1000000 div 2048);
set v_rows = v_rows + row_count();
execute immediate concat('flush tables ', v_file, v_number, ' for export');
execute immediate 'unlock tables';
set @dbdyno_sto_files = v_number;
set v_commits = v_commits + 1;
