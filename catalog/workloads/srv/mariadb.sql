-- Database drive of the SRV group. A query in a MariaDB procedure must go somewhere: every column is fetched into a
-- variable. row_count() is the executor's own count of the rows found.

-- name: SRV-QUERY1.declare
declare v_id bigint;
declare v_key25, v_key125, v_key320, v_region, v_quantity, v_status int;
declare v_booked_on date;
declare v_amount decimal(12,2);
declare v_code varchar(32);
declare v_filler varchar(200);

-- name: SRV-QUERY1.body
select * into v_id, v_key25, v_key125, v_key320, v_region, v_booked_on, v_amount, v_quantity, v_status, v_code, v_filler
from {{small}} where id = 1 + (v_seed * {{small_rows}} >> 31);
set v_rows = v_rows + row_count();
