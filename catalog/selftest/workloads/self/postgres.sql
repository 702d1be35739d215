-- name: SELF-SLEEP.sleep
select pg_sleep({{sleep_us}} / 1000000.0)

-- name: SELF-SLEEP.body
perform pg_sleep({{sleep_us}} / 1000000.0);
v_rows := v_rows + 1;
