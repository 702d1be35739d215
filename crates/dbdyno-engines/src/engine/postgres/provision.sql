-- Our schema: {{schema}} is its name.

-- name: state
-- One row: the process that serves us, the server is a standby, transactions may only read unless they say otherwise.
select pg_backend_pid(), pg_is_in_recovery(), current_setting('default_transaction_read_only')

-- name: privileges
-- One row: user, database, schema exists, may create in database, may use and create in schema.
select current_user, current_database(), n.oid is not null,
  has_database_privilege(current_database(), 'CREATE'),
  has_schema_privilege(n.oid, 'USAGE') and has_schema_privilege(n.oid, 'CREATE')
from (select 1) one left join pg_catalog.pg_namespace n on n.nspname = '{{schema}}'

-- name: create
-- The comment tells `clean` that the schema is ours to drop.
create schema if not exists {{schema}}; comment on schema {{schema}} is 'made by dbdyno'

-- name: directory
select setting from pg_catalog.pg_settings where name = 'data_directory'

-- name: sessions
-- A row per limit: name, sessions, of these kept for others, for whom, in use. Superusers are under no limit but the server's,
-- and may use what is kept for them (manual: "Connections and Authentication", "CREATE ROLE"). Other backends than those of
-- clients do not count.
with backends as (
  select datid, usesysid from pg_catalog.pg_stat_activity
  where datid is not null and pid <> pg_backend_pid() and coalesce(backend_type, 'client backend') = 'client backend'
), me as (
  select r.oid as role_id, r.rolsuper, r.rolconnlimit, d.oid as database_id, d.datconnlimit
  from pg_catalog.pg_roles r, pg_catalog.pg_database d
  where r.rolname = session_user and d.datname = current_database()
)
select 'max_connections', current_setting('max_connections')::int,
  case when rolsuper then 0 else current_setting('superuser_reserved_connections')::int
    + coalesce(current_setting('reserved_connections', true)::int, 0) end,
  'superusers', (select count(*) from backends)
from me
union all
select 'connection limit of the user', rolconnlimit, 0, '', (select count(*) from backends where usesysid = role_id)
from me where not rolsuper and rolconnlimit >= 0
union all
select 'connection limit of the database', datconnlimit, 0, '', (select count(*) from backends where datid = database_id)
from me where not rolsuper and datconnlimit >= 0

-- name: set
select set_config('{{name}}', '{{value}}', false)

-- name: named-so
select pid, clock_timestamp() as now from pg_stat_activity
where datname = current_database()
  and (application_name = '{{application}}' or application_name like '{{application}} %' or pid in ({{backends}}))

-- name: backend
select pg_backend_pid()

-- name: tell-counts
-- At the end of its transaction a session tells what it counted, unless it has read no table. One that began since is new.
select pid, backend_start > '{{since}}' as is_new, pg_stat_force_next_flush(), (select count(*) from pg_database)
from pg_stat_activity where pid = pg_backend_pid()

-- name: tell-counts-later
-- Before version 15 it does so by itself, unless it has within half a second.
select pid, backend_start > '{{since}}' as is_new, pg_sleep(0.6), (select count(*) from pg_database)
from pg_stat_activity where pid = pg_backend_pid()

-- name: pooler-version
-- Of the pooler itself, in its console.
show version

-- name: identity
-- One row: the server and its database.
select pg_postmaster_start_time(), current_setting('port'), current_database()

-- name: leave-traces
-- Of a session: the process that serves it, and what nobody else is to see or get.
select pg_backend_pid(), set_config('dbdyno.via', '1', false), pg_try_advisory_lock(1684169849, 71)

-- name: see-traces
select pg_backend_pid(), current_setting('dbdyno.via', true), pg_try_advisory_lock(1684169849, 71)

-- name: remove-traces
select pg_backend_pid(), set_config('dbdyno.via', '', false), pg_advisory_unlock(1684169849, 71), pg_advisory_unlock(1684169849, 71)

-- name: addresses
-- TCP port, addresses that it listens on, directories of its Unix sockets.
select current_setting('port'), current_setting('listen_addresses'), current_setting('unix_socket_directories')

-- name: account
-- For TCP, on a private server only.
set password_encryption = 'scram-sha-256'; drop role if exists {{user}}; create role {{user}} superuser login password '{{password}}'

-- name: drop-account
drop role if exists {{user}}

-- name: node
-- One row: what no other server says of itself (a standby has the system identifier of its primary), the cluster, the name,
-- whether it can be written to, whether it takes work.
select concat(system_identifier, ':', current_setting('port'), ':', extract(epoch from pg_postmaster_start_time())) as id,
  system_identifier as cluster, current_setting('cluster_name') as name, (not pg_is_in_recovery())::int as writable, 1 as ready
from pg_control_system()

-- name: end-in-vain
-- Ends backend {{pid}}, with 1, if it waits for standbys and none is left that it could wait for. Whoever may not see what the
-- standbys are sees their rows without it.
select pg_terminate_backend(pid)::int from pg_stat_activity
where pid = {{pid}} and wait_event = 'SyncRep'
  and not exists (select from pg_stat_replication where sync_state is null or sync_state in ('sync', 'quorum'))

-- name: position
select pg_current_wal_flush_lsn()

-- name: reached
-- 1 once the standby has replayed what the primary had written; a server that is not one has it.
select case when pg_is_in_recovery() then (coalesce(pg_last_wal_replay_lsn(), '0/0') >= '{{position}}')::int else 1 end
