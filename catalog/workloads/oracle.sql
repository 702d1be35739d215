-- What several groups need on Oracle.

-- name: parallel
begin
  if {{threads}} > 1 then
    execute immediate 'alter session force parallel query parallel {{threads}}';
  else
    execute immediate 'alter session disable parallel query';
  end if;
end;
-- PL/SQL

-- name: store-column
-- Database In-Memory, for the time of the test.
declare
  v_one varchar2(128) := upper('{{big}}');
  v_other varchar2(128);
{{populate}};
-- PL/SQL

-- name: unstore-column
declare
  v_one varchar2(128) := upper('{{big}}');
  v_other varchar2(128);
{{forget}};
-- PL/SQL

-- name: populate
-- A scan begins to fill the column store; the wait ends when every segment is in it, on all instances together.
  v_size number;
  v_row_count number;
  v_segments number;
  v_done number;
  v_waited_s number := 0;
begin
  select to_number(value) into v_size from v$parameter where name = 'inmemory_size';
  if v_size = 0 then
    raise_application_error(-20005, 'inmemory_size is 0; if Database In-Memory is licensed, the administrator can set it');
  end if;
  for v_table in (select table_name from user_tables where table_name in (v_one, v_other)) loop
    execute immediate 'alter table ' || v_table.table_name || ' inmemory memcompress for query low';
    execute immediate 'select /*+ full(t) no_parallel(t) */ count(*) from ' || v_table.table_name || ' t' into v_row_count;
    select count(*) into v_segments from user_segments where segment_name = v_table.table_name and bytes > 65536;
    loop
      select count(*) into v_done
      from (select partition_name from gv$im_segments where owner = user and segment_name = v_table.table_name
            group by partition_name having sum(bytes - bytes_not_populated) >= max(bytes)) filled;
      exit when v_done >= v_segments;
      if v_waited_s > 3600 then
        raise_application_error(-20006, v_table.table_name || ' did not get into the column store within an hour: see inmemory_size');
      end if;
      dbms_session.sleep(0.5);
      v_waited_s := v_waited_s + 0.5;
    end loop;
  end loop;
end

-- name: forget
begin
  for v_table in (select table_name from user_tables where table_name in (v_one, v_other)) loop
    execute immediate 'alter table ' || v_table.table_name || ' no inmemory';
  end loop;
end

-- name: advance
v_seed := v_seed * c_multiplier;
v_seed := v_seed - floor(v_seed / c_modulus) * c_modulus;
