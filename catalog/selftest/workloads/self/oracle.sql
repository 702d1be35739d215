-- dbms_session.sleep (18c) counts in hundredths of a second.

-- name: SELF-SLEEP.sleep
with
  function slept(p_us in number) return number is
  begin
    dbms_session.sleep(p_us / 1000000);
    return p_us;
  end;
select slept({{sleep_us}}) as slept from dual

-- name: SELF-SLEEP.body
dbms_session.sleep({{sleep_us}} / 1000000);
v_rows := v_rows + 1;
