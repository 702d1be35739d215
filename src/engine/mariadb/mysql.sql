-- Statements of provision.sql as MySQL has them.

-- name: privileges
-- Privileges that hold for the whole server or for our database, of the user; those of roles are not listed here by MySQL, so
-- that a user who has them by a role only is told to be granted them.
select p.privilege_type
from (
  select grantee, privilege_type from information_schema.user_privileges
  union all
  select grantee, privilege_type from information_schema.schema_privileges where '{{database}}' like table_schema
) as p
where p.grantee = concat('''', replace(current_user(), '@', '''@'''), '''')

-- name: create
-- MySQL has no comments on databases: an empty table tells `clean` that the database is ours to drop.
create database if not exists {{database}} character set utf8mb4 collate utf8mb4_bin;
create table if not exists {{database}}.state_made (by_dbdyno int) engine = innodb

-- name: try-routine
create procedure if not exists {{database}}.w_try() do 0

-- name: rocksdb
-- MySQL has no MyRocks.
select 0

-- name: bulk-load
-- No storage engine of it wants anything.
select 1 from dual where '{{database}}{{table}}' = ''

-- name: sessions
-- As provision.sql has it; the status is in performance_schema, also where that is off.
with connected as (
  select cast(variable_value as signed) - 1 as used from performance_schema.global_status
  where variable_name = 'Threads_connected'
)
select 'max_connections', @@global.max_connections, 0, '', used from connected
union all
select 'max_user_connections', @@session.max_user_connections, 0, '',
  (select count(*) from information_schema.processlist where user = substring_index(current_user(), '@', 1)) - 1
from connected where @@session.max_user_connections > 0
union all
select 'open_files_limit', @@global.open_files_limit, 128, 'files of tables and logs', used
from connected where @@global.open_files_limit > 0
