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

-- name: proof
-- As provision.sql has it; an empty table tells that we made the database.
select exists (select 1 from information_schema.tables where table_schema = '{{database}}' and table_name = 'state_made') as made,
  (select group_concat(distinct p.grantee order by p.grantee separator ', ')
     from (select grantee from information_schema.schema_privileges
            where '{{database}}' like table_schema
              and privilege_type in ('CREATE', 'ALTER', 'CREATE VIEW', 'CREATE ROUTINE', 'ALTER ROUTINE', 'TRIGGER')
           union
           select grantee from information_schema.user_privileges
            where privilege_type in ('CREATE', 'ALTER', 'CREATE VIEW', 'CREATE ROUTINE', 'ALTER ROUTINE')) as p
    where p.grantee <> concat('''', replace(current_user(), '@', '''@'''), '''')
      and p.grantee not in (select grantee from information_schema.user_privileges
                             where privilege_type in ('SUPER', 'CREATE USER'))) as others,
  exists (select 1 from information_schema.user_privileges as p
           where privilege_type in ('CREATE', 'ALTER', 'CREATE VIEW', 'CREATE ROUTINE', 'ALTER ROUTINE')
             and p.grantee <> concat('''', replace(current_user(), '@', '''@'''), '''')
             and p.grantee not in (select grantee from information_schema.user_privileges
                                    where privilege_type in ('SUPER', 'CREATE USER'))) as everywhere,
  (select max(concat(event_object_table, ' has the trigger ', trigger_name))
     from information_schema.triggers where event_object_schema = '{{database}}') as attached

-- name: adopt
create table {{database}}.state_made (by_dbdyno int) comment = 'made by dbdyno'

-- name: create
-- MySQL has no comments on databases: an empty table tells `clean` that the database is ours to drop.
create database if not exists {{database}} character set utf8mb4 collate utf8mb4_bin;
create table if not exists {{database}}.state_made (by_dbdyno int) engine = innodb comment = 'made by dbdyno'

-- name: try-routine
create procedure if not exists {{database}}.w_try() comment 'made by dbdyno' do 0

-- name: rocksdb
-- MySQL has no MyRocks.
select 0

-- name: bulk-load
-- No storage engine of it wants anything.
select 1 from dual where '{{database}}{{table}}' = ''

-- name: statements
select 'max_prepared_stmt_count', @@global.max_prepared_stmt_count, 0, '', variable_value
from performance_schema.global_status where variable_name = 'Prepared_stmt_count'

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
