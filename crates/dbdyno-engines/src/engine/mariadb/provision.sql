-- Our database: {{database}} is its name.

-- name: privileges
-- Privileges that hold for the whole server or for our database, of the user and of the role that is on.
select p.privilege_type
from (
  select grantee, privilege_type from information_schema.user_privileges
  union all
  select grantee, privilege_type from information_schema.schema_privileges where '{{database}}' like table_schema
) as p
where p.grantee in (concat('''', replace(current_user(), '@', '''@'''), ''''), concat('''', current_role(), ''''))

-- name: exists
select count(*) from information_schema.schemata where schema_name = '{{database}}'

-- name: proof
-- One row: 1 if we made the database; other accounts, of those that are seen, that may put something into it that would run
-- with our rights (administrators, who can make users, may anyway), and whether one of them may do so in every database; a
-- trigger of one of its tables.
select (select schema_comment = 'made by dbdyno' from information_schema.schemata where schema_name = '{{database}}') as made,
  (select group_concat(distinct p.grantee order by p.grantee separator ', ')
     from (select grantee from information_schema.schema_privileges
            where '{{database}}' like table_schema
              and privilege_type in ('CREATE', 'ALTER', 'CREATE VIEW', 'CREATE ROUTINE', 'ALTER ROUTINE', 'TRIGGER')
           union
           select grantee from information_schema.user_privileges
            where privilege_type in ('CREATE', 'ALTER', 'CREATE VIEW', 'CREATE ROUTINE', 'ALTER ROUTINE')) as p
    where p.grantee not in (concat('''', replace(current_user(), '@', '''@'''), ''''),
        concat('''', coalesce(current_role(), ''), ''''))
      and p.grantee not in (select grantee from information_schema.user_privileges
                             where privilege_type in ('SUPER', 'CREATE USER'))) as others,
  exists (select 1 from information_schema.user_privileges as p
           where privilege_type in ('CREATE', 'ALTER', 'CREATE VIEW', 'CREATE ROUTINE', 'ALTER ROUTINE')
             and p.grantee not in (concat('''', replace(current_user(), '@', '''@'''), ''''),
        concat('''', coalesce(current_role(), ''), ''''))
             and p.grantee not in (select grantee from information_schema.user_privileges
                                    where privilege_type in ('SUPER', 'CREATE USER'))) as everywhere,
  (select max(concat(event_object_table, ' has the trigger ', trigger_name))
     from information_schema.triggers where event_object_schema = '{{database}}') as attached

-- name: adopt
-- As administrator.
alter database {{database}} comment = 'made by dbdyno'

-- name: create
-- The comment tells `clean` that the database is ours to drop.
create database if not exists {{database}} character set utf8mb4 collate utf8mb4_bin comment 'made by dbdyno'

-- name: try-routine
-- Named as our routines are, so that it is cleaned like them. One of this name that is there is left as it is.
create procedure if not exists {{database}}.w_try() comment 'made by dbdyno' do 0

-- name: tried-of-others
-- 1 if somebody else has a procedure of that name: it is neither replaced nor dropped.
select count(*) from information_schema.routines
where routine_schema = '{{database}}' and routine_name = 'w_try' and routine_comment <> 'made by dbdyno'

-- name: drop-tried
-- Another dbdyno that starts now has tried, too.
drop procedure if exists {{database}}.w_try

-- name: rocksdb
-- MyRocks is a plugin that a server may have loaded.
select count(*) from information_schema.engines where engine = 'ROCKSDB' and support in ('YES', 'DEFAULT')

-- name: bulk-load
-- What stands around the rows of a load where the storage engine wants it: MyRocks then writes them into sorted files of their own,
-- past its log and its tables in memory; they belong to no transaction. Sessions take turns: what one has open of a table may be
-- given to another between two statements, whose rows are then out of order (error 4054).
select concat('begin not atomic do get_lock(''', table_schema, '.bulk'', 86400); set rocksdb_bulk_load = 1; end') as first,
       concat('begin not atomic set rocksdb_bulk_load = 0; do release_lock(''', table_schema, '.bulk''); end') as last
from information_schema.tables
where table_schema = '{{database}}' and table_name = substring_index('{{table}}', '.', -1) and engine = 'ROCKSDB'

-- name: user
select current_user()

-- name: directory
select @@datadir

-- name: sessions
-- A row per limit: name, sessions, of these kept for others, for whom, in use. The session's max_user_connections is the limit
-- of this user, 0 = none; without the privilege PROCESS a user sees its own sessions only, which is what is counted. A server
-- that may open too few files takes the connections that its settings allow, but answers no more than it has files for,
-- besides those of tables and logs.
with connected as (
  select cast(variable_value as signed) - 1 as used from information_schema.global_status
  where variable_name = 'THREADS_CONNECTED'
)
select 'max_connections', @@global.max_connections, 0, '', used from connected
union all
select 'max_user_connections', @@session.max_user_connections, 0, '',
  (select count(*) from information_schema.processlist where user = substring_index(current_user(), '@', 1)) - 1
from connected where @@session.max_user_connections > 0
union all
select 'open_files_limit', @@global.open_files_limit, 128, 'files of tables and logs', used
from connected where @@global.open_files_limit > 0

-- name: statements
-- Statements that may be prepared, in all sessions together, as sessions above.
select 'max_prepared_stmt_count', @@global.max_prepared_stmt_count, 0, '', variable_value
from information_schema.global_status where variable_name = 'PREPARED_STMT_COUNT'

-- name: addresses
-- TCP port, whether it listens on none, path of its Unix socket.
select @@global.port, @@global.skip_networking, @@global.socket

-- name: account
-- For TCP, on a private server only.
create or replace user {{user}}@'127.0.0.1' identified by '{{password}}'

-- name: grant-account
grant all on *.* to {{user}}@'127.0.0.1'

-- name: drop-account
drop user if exists {{user}}@'127.0.0.1'

-- name: node
-- One row: what no other server says of itself, the cluster (of Galera only), the name, whether it can be written to, whether
-- it takes work.
select max(case variable_name when 'WSREP_GCOMM_UUID' then variable_value end) as id,
  max(case variable_name when 'WSREP_CLUSTER_STATE_UUID' then variable_value end) as cluster,
  (select variable_value from information_schema.global_variables where variable_name = 'WSREP_NODE_NAME') as name,
  @@global.read_only = 0 as writable,
  max(case variable_name when 'WSREP_READY' then variable_value end) = 'ON' as ready
from information_schema.global_status
where variable_name in ('WSREP_GCOMM_UUID', 'WSREP_CLUSTER_STATE_UUID', 'WSREP_READY')

-- name: position
-- The last transaction of the whole cluster that this node has.
select variable_value from information_schema.global_status where variable_name = 'WSREP_LAST_COMMITTED'

-- name: reached
select variable_value >= {{position}} from information_schema.global_status where variable_name = 'WSREP_LAST_COMMITTED'
