-- Our objects belong to the user that we connect as; all of their names begin with {{prefix}}. Not run on a server by us:
-- written after Oracle Database Reference 19c.

-- name: settings
-- Of every session: texts of dates and numbers that do not depend on the site, routines compiled natively.
alter session set nls_date_format = 'YYYY-MM-DD' nls_timestamp_format = 'YYYY-MM-DD HH24:MI:SS.FF6'
  nls_numeric_characters = '.,' plsql_code_type = native plsql_optimize_level = 2
  result_cache_mode = manual

-- name: time-zone
alter session set time_zone = '+00:00'

-- name: instance
-- Number of the instance that the session is on; 1 without a cluster.
select sys_context('userenv', 'instance') as instance from dual

-- name: user
select sys_context('userenv', 'current_schema') as name, sys_context('userenv', 'database_role') as role,
       (select open_mode from v$database) as open_mode
  from dual

-- name: user-plain
-- For users that may not see v$database.
select sys_context('userenv', 'current_schema') as name, sys_context('userenv', 'database_role') as role from dual

-- name: privileges
-- What the user may do; a quota is as good as UNLIMITED TABLESPACE.
select privilege as name from session_privs
union all
select 'UNLIMITED TABLESPACE' from user_ts_quotas where max_bytes <> 0

-- name: partitioning
-- The option is licensed apart and may be switched off. v$option may be read by everybody.
select value from v$option where parameter = 'Partitioning'

-- name: compile-errors
-- CREATE of a routine with errors succeeds: the errors stand here. A warning is not an error.
select line, position, text from user_errors
 where name = upper('{{name}}') and attribute = 'ERROR' order by sequence

-- name: cancel
-- From 18c on; needs the privilege ALTER SYSTEM.
alter system cancel sql '{{sid}}, {{serial}}, @{{instance}}'

-- name: sessions
-- A row per limit: name, sessions, of these kept for others, for whom, in use.
select resource_name, to_number(trim(limit_value)), 0, '', current_utilization - 1
  from v$resource_limit
 where resource_name in ('processes', 'sessions') and trim(limit_value) <> 'UNLIMITED'

-- name: insert-rows
insert into {{table}} (id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler)
values (:1, :2, :3, :4, :5, to_date(:6, 'YYYY-MM-DD'), :7 / 100, :8, :9, :10, :11)
