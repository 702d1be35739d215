-- Database drive of the SRV group on MariaDB. A routine can only fetch rows into variables: one row as it is; of many rows
-- the greatest value of each column, so that every column of every row is read, and their number as the executor counts
-- them. "+ 0" keeps the optimizer from looking the greatest value of a key up in the index. A cursor over the rows is a third
-- slower (it copies them into a temporary table first).

-- name: declare
declare v_id, v_key25, v_key125, v_key320, v_region, v_quantity, v_status, v_count bigint;
declare v_booked_on date;
declare v_amount decimal(12,2);
declare v_code varchar(32);
declare v_filler varchar(200);

-- name: all_columns
select count(*), max(id + 0), max(key25 + 0), max(key125 + 0), max(key320 + 0), max(region),
    max(booked_on), max(amount), max(quantity), max(status), max(code), max(filler)
  into v_count, v_id, v_key25, v_key125, v_key320, v_region,
    v_booked_on, v_amount, v_quantity, v_status, v_code, v_filler

-- name: SRV-QUERY1.declare
declare v_id, v_key25, v_key125, v_key320, v_region, v_quantity, v_status bigint;
declare v_booked_on date;
declare v_amount decimal(12,2);
declare v_code varchar(32);
declare v_filler varchar(200);

-- name: SRV-QUERY1.body
select id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler, v_rows + 1
  into v_id, v_key25, v_key125, v_key320, v_region, v_booked_on, v_amount, v_quantity, v_status, v_code, v_filler, v_rows
  from {{small}} where id = {{drawn_id}};

-- name: SRV-QUERY25.body
{{all_columns}}
  from {{small}} where key25 = 1 + (v_seed * {{small_key25}} >> 31);
set v_rows = v_rows + v_count;

-- name: SRV-QUERY320.body
{{all_columns}}
  from {{small}} where key320 = 1 + (v_seed * {{small_key320}} >> 31);
set v_rows = v_rows + v_count;

-- name: SRV-REPORT.body
{{all_columns}}
  from {{small}} where key125 = 1 + (v_seed * {{small_key125}} >> 31);
set v_rows = v_rows + v_count;

-- name: SRV-SCAN.body
{{all_columns}}
  from {{small}} where quantity = -1;
set v_rows = v_rows + v_count;

-- name: SRV-UPDATE1.declare
-- nothing: no row is fetched

-- name: SRV-UPDATE1.body
update {{small}} set status = status + 1 where id = {{drawn_id}};
set v_rows = v_rows + row_count();
set v_commits = v_commits + 1;
