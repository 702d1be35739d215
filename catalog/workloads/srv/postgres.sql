-- Database drive of the SRV group. PERFORM runs the query to its end and copies every row found, all columns, out of
-- the buffer into the memory of the session; ROW_COUNT is the executor's own count of them.

-- name: declare
v_count bigint;

-- name: SRV-QUERY1.body
perform * from {{small}} where id = {{drawn_id}};
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: SRV-QUERY25.body
perform * from {{small}} where key25 = 1 + (v_seed * {{small_key25}} >> 31);
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: SRV-QUERY320.body
perform * from {{small}} where key320 = 1 + (v_seed * {{small_key320}} >> 31);
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: SRV-REPORT.body
perform * from {{small}} where key125 = 1 + (v_seed * {{small_key125}} >> 31);
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: SRV-SCAN.body
perform * from {{small}} where quantity = -1;
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: SRV-UPDATE1.body
update {{small}} set status = status + 1 where id = {{drawn_id}};
get diagnostics v_count = row_count;
commit;
v_rows := v_rows + v_count;
v_commits := v_commits + 1;
