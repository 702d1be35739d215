-- Scripts for SQL*Plus and SQLcl ('dbdyno export-sql oracle'): the database runs the jobs itself, no other program is needed on the host.
-- Not run on a server of Oracle by us (docs/decisions/0019-oracle.md).

-- name: client
sqlplus -S

-- name: connect
-- for the README: where the client gets its connection from
its first argument

-- name: loops
-- for the README: where the jobs loop
Jobs are sessions of DBMS_SCHEDULER that loop inside the database.

-- name: statement
-- a slash runs what stands before it, SQL and PL/SQL alike
{{sql}}
/

-- name: head
-- first in every script
whenever sqlerror exit failure rollback
whenever oserror exit failure rollback
set define on verify off echo off feedback off heading off pagesize 0 linesize 32767 long 40000 longchunksize 32767
set trimspool on trimout on sqlblanklines on serveroutput on size unlimited autocommit on
alter session set nls_numeric_characters = '.,' plsql_code_type = native plsql_optimize_level = 2;

-- name: schema
-- What the runs leave: their results, and the counters of the database before and after.
create table {{prefix}}state_runs (
  test number(19) not null primary key,
  name varchar2(200) not null,
  jobs number(10) not null,
  ready number(10) not null,
  started varchar2(30) not null,
  starts_at timestamp(6) with time zone,
  began_at timestamp(6) with time zone,
  ended_at timestamp(6) with time zone
)
/
create table {{prefix}}state_results (
  test number(19) not null,
  kind varchar2(4) not null,
  job number(10) not null,
  part number(10) not null,
  ops number, rows_done number, commits number, elapsed_us number, stride number, longest_us number,
  samples clob,
  error varchar2(1000)
)
/
create table {{prefix}}state_counters (
  test number(19) not null,
  moment varchar2(5) not null,
  name varchar2(64) not null,
  value number not null
)
/
create or replace procedure {{prefix}}w_count(p_test in number, p_moment in varchar2)
authid current_user
as
begin
  -- without the right to read v$sysstat there are no counters
  execute immediate 'insert into {{prefix}}state_counters
select :test, :moment, decode(name, ''user commits'', ''commits'', ''redo writes'', ''wal_syncs'', ''redo synch writes'', ''commits_waited'',
  ''session logical reads'', ''logical_reads'', ''physical reads'', ''physical_reads'', ''redo size'', ''wal_bytes'',
  ''blocks_written''), sum(value)
from gv$sysstat
where name in (''user commits'', ''redo writes'', ''redo synch writes'', ''session logical reads'', ''physical reads'', ''redo size'',
  ''physical writes'')
group by name' using p_test, p_moment;
  commit;
exception
  when others then
    if sqlcode not in (-942, -1031) then
      raise;
    end if;
end;
/

-- name: schema-drop
begin
  for v_object in (select object_type, object_name from user_objects
                   where object_type in ('TABLE', 'PROCEDURE', 'FUNCTION')
                     and regexp_like(lower(object_name), '^{{prefix}}(w|state)_')) loop
    execute immediate 'drop ' || v_object.object_type || ' ' || v_object.object_name
      || case v_object.object_type when 'TABLE' then ' purge' else '' end;
  end loop;
end;
/
exit success

-- name: verify
-- the sums over all rows, held against those of the program's row function
declare
  v_found varchar2(4000);
begin
  select {{found}} into v_found from ({{checksum}}) sums;
  if v_found <> '{{expected}}' then
    raise_application_error(-20001, '{{table}}: ' || v_found || ' instead of {{expected}}');
  end if;
  dbms_output.put_line('{{table}}: the rows are those of the row function');
end;
/

-- name: part
-- One job of a part: a warm-up, the common moment, the window. It runs in a session of DBMS_SCHEDULER.
create or replace procedure {{prefix}}w_part_{{part}}(
  p_test in number, p_job in number, p_jobs in number, p_warmup_us in number, p_window_us in number)
authid current_user
as
  -- where job 1 of the first, the second, ... test begins to draw keys; the jobs follow one another at a fixed distance
  type t_states is varray({{tests}}) of number;
  v_states t_states := t_states(
    {{states}});
  v_state number := v_states(mod(p_test - 1, {{tests}}) + 1);
  v_stride number := 1;
  v_ops number;
  v_elapsed_us number;
  v_starts_at timestamp(6) with time zone;
  v_left interval day to second;
  v_error varchar2(1000);
  procedure run(p_kind in varchar2, p_slice_us in number) is
    v_rows number;
    v_commits number;
    v_sink number;
    v_seed number;
    v_longest_us number;
    v_samples varchar2(32767);
  begin
    {{routine}}(p_job, p_jobs, p_slice_us, 1000000000000, v_stride, v_state, v_ops, v_rows, v_commits, v_sink, v_seed,
      v_elapsed_us, v_longest_us, v_samples);
    v_state := v_seed;
    insert into {{prefix}}state_results
    values (p_test, p_kind, p_job, {{part}}, v_ops, v_rows, v_commits, v_elapsed_us, v_stride, v_longest_us, v_samples, null);
    commit;
  end;
begin
  execute immediate 'alter session set result_cache_mode = manual';
{{session}}
  for v_before in 2 .. p_job loop
    v_state := mod(v_state * {{job_factor}}, 2147483647);
  end loop;
  run('warm', p_warmup_us);
  if v_elapsed_us <= 100 * v_ops then
    v_stride := 100;
  end if;
  update {{prefix}}state_runs set ready = ready + 1 where test = p_test;
  commit;
  loop
    select starts_at into v_starts_at from {{prefix}}state_runs where test = p_test;
    exit when v_starts_at is not null;
    dbms_session.sleep(0.02);
  end loop;
  v_left := v_starts_at - systimestamp;
  dbms_session.sleep(greatest(0, extract(minute from v_left) * 60 + extract(second from v_left)));
  run('job', p_window_us);
exception
  when others then
    v_error := substr(sqlerrm, 1, 1000);
    rollback;
    insert into {{prefix}}state_results (test, kind, job, part, error) values (p_test, 'job', p_job, {{part}}, v_error);
    commit;
end;
/

-- name: facts.sizes
select 'fact {{kind}}_table_bytes ' || table_bytes || chr(10) || 'fact {{kind}}_index_bytes ' || index_bytes from ({{sql}})

-- name: facts.parts
select 'fact {{kind}}_parts ' || parts || chr(10) || 'fact {{kind}}_block_bytes ' || block_bytes from ({{sql}}) parts

-- name: run
-- jobs, seconds and seconds of warm-up; of a mixed workload every part gets the same number of jobs
column jobs new_value jobs noprint
select ceil(&1 / {{parts}}) * {{parts}} as jobs from dual
/
{{setup}}
{{part_procedures}}
-- a procedure with errors is created all the same
declare
  v_error varchar2(1000);
begin
  select max(substr(name || ' in line ' || line || ': ' || text, 1, 1000)) into v_error from user_errors
  where attribute = 'ERROR' and regexp_like(lower(name), '^{{prefix}}');
  if v_error is not null then
    raise_application_error(-20004, 'does not compile: ' || v_error);
  end if;
end;
/
variable test number
begin
  select coalesce(max(test), 0) + 1 into :test from {{prefix}}state_runs;
  insert into {{prefix}}state_runs
  values (:test, '{{name}}', &jobs, 0, to_char(sys_extract_utc(systimestamp), 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), null, systimestamp, null);
  commit;
  {{prefix}}w_count(:test, 'begin');
  for v_job in 1 .. &jobs loop
    dbms_scheduler.create_job(
      job_name => upper('{{prefix}}w_') || :test || '_' || v_job,
      job_type => 'PLSQL_BLOCK',
      job_action => 'begin {{prefix}}w_part_' || (mod(v_job - 1, {{parts}}) + 1) || '(' || :test || ', ' || v_job || ', &jobs, '
        || round(&3 * 1000000) || ', ' || round(&2 * 1000000) || '); end;',
      enabled => true,
      auto_drop => true);
  end loop;
end;
/
-- All are ready, or one has failed: then the common moment, or the end. A job that never begins (job_queue_processes) is told.
declare
  v_ready number;
  v_failed number;
  v_done number;
  v_waited_s number := 0;
  v_error varchar2(1000);
begin
  loop
    select ready into v_ready from {{prefix}}state_runs where test = :test;
    select count(*), max(error) into v_failed, v_error from {{prefix}}state_results where test = :test and error is not null;
    exit when v_ready = &jobs or v_failed > 0;
    if v_waited_s > &3 + 300 then
      raise_application_error(-20002, v_ready || ' of &jobs jobs have begun: see job_queue_processes');
    end if;
    dbms_session.sleep(0.1);
    v_waited_s := v_waited_s + 0.1;
  end loop;
  update {{prefix}}state_runs set starts_at = systimestamp + numtodsinterval(0.5, 'second') where test = :test;
  commit;
  loop
    select count(*), count(error), max(error) into v_done, v_failed, v_error from {{prefix}}state_results
    where test = :test and kind = 'job';
    exit when v_done >= &jobs or v_failed > 0;
    dbms_session.sleep(0.1);
  end loop;
  if v_failed > 0 then
    raise_application_error(-20003, 'a job failed: ' || v_error);
  end if;
  {{prefix}}w_count(:test, 'end');
  update {{prefix}}state_runs set ended_at = systimestamp where test = :test;
  commit;
end;
/
-- what 'dbdyno results import' reads
spool dbdyno.spool append
{{spool_head}}
select 'server ' || version_full from product_component_version where rownum = 1
/
-- without the right to read v$parameter there are no settings
declare
  v_settings sys_refcursor;
  v_line varchar2(4000);
begin
  open v_settings for 'select ''setting '' || name || '' '' || display_value from v$parameter
where name in (''cpu_count'', ''db_block_size'', ''commit_wait'', ''commit_logging'', ''sga_target'', ''pga_aggregate_target'')
  and display_value is not null';
  loop
    fetch v_settings into v_line;
    exit when v_settings%notfound;
    dbms_output.put_line(v_line);
  end loop;
  close v_settings;
exception
  when others then
    if sqlcode not in (-942, -1031) then
      raise;
    end if;
end;
/
{{test_head}}
select 'started ' || started || chr(10) || 'jobs ' || jobs || chr(10) || 'window_s &2' || chr(10) || 'total_s '
  || to_char(extract(hour from ended_at - began_at) * 3600 + extract(minute from ended_at - began_at) * 60
    + extract(second from ended_at - began_at), 'fm9999990.000000')
from {{prefix}}state_runs where test = :test
/
{{facts}}
select 'begin ' || name || ' ' || to_char(value) from {{prefix}}state_counters where test = :test and moment = 'begin'
/
select 'warm ' || job || ' ops ' || ops || ' rows ' || rows_done || ' commits ' || commits || ' elapsed_us ' || round(elapsed_us)
from {{prefix}}state_results where test = :test and kind = 'warm' order by job
/
select 'job ' || job || ' part ' || part || ' ops ' || ops || ' rows ' || rows_done || ' commits ' || commits || ' elapsed_us '
  || round(elapsed_us) || ' stride ' || stride || ' longest_us ' || round(longest_us)
from {{prefix}}state_results where test = :test and kind = 'job' order by job
/
-- in lines of at most 2000 letters, cut between two samples
declare
  v_from pls_integer;
  v_to pls_integer;
begin
  for v_row in (select job, samples from {{prefix}}state_results where test = :test and kind = 'job' order by job) loop
    v_from := 1;
    while v_from <= length(v_row.samples) loop
      v_to := instr(v_row.samples, ' ', least(v_from + 1950, length(v_row.samples)));
      if v_to = 0 then
        v_to := length(v_row.samples);
      end if;
      dbms_output.put_line('us ' || v_row.job || ' ' || trim(substr(v_row.samples, v_from, v_to - v_from + 1)));
      v_from := v_to + 1;
    end loop;
  end loop;
end;
/
select 'end ' || name || ' ' || to_char(value) from {{prefix}}state_counters where test = :test and moment = 'end'
/
prompt done
spool off
-- for the reader
select '{{name}} jobs=' || count(*) || ' ops_per_s=' || round(sum(ops / elapsed_us) * 1000000, 3) || ' rows_per_s='
  || round(sum(rows_done / elapsed_us) * 1000000, 3) || ' commits_per_s=' || round(sum(commits / elapsed_us) * 1000000, 3) || ' mean_us='
  || round(sum(elapsed_us) / nullif(sum(ops), 0), 3)
from {{prefix}}state_results where test = :test and kind = 'job'
/
{{teardown}}
exit success
