-- name: SELF-SLEEP.sleep
select sleep({{sleep_us}} / 1000000)

-- name: SELF-SLEEP.body
do sleep({{sleep_us}} / 1000000);
set v_rows = v_rows + 1;
