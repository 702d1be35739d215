-- Counters and settings of PostgreSQL 13 to 18 under the standard names of docs/counters.md. A column that is null is
-- a counter that cannot be had.

-- name: version
select current_setting('server_version') as version

-- name: settled
-- Before 15 a collector counts, and a session sees its counts as they were up to half a second ago: now, and the time up to
-- which the counts go. A reading before or after the jobs waits until that has caught up.
select extract(epoch from now()) as now_s, extract(epoch from pg_stat_get_snapshot_timestamp()) as counted_s

-- name: settled
-- from: 15
-- A session that has ended has left its counts in shared memory, but one that lives on leaves them there at most once a second:
-- what the session of the probes did itself would be counted late, in another test.
select pg_stat_force_next_flush()

-- name: counters.database
-- the whole database, system tables included
select xact_commit as commits, xact_rollback as rollbacks, deadlocks, blks_hit + blks_read as logical_reads,
  blks_read as physical_reads,
  case when current_setting('track_io_timing')::boolean then blk_read_time end as physical_read_time_ms,
  temp_bytes
from pg_stat_database where datname = current_database()

-- name: counters.sessions
-- nothing: sessions are counted from 14 on

-- name: counters.sessions
-- from: 14
select sessions as sessions_opened from pg_stat_database where datname = current_database()

-- name: counters.durability
-- while-jobs-run: no
-- a gauge: 1 if a commit waits until the log is on durable storage
select (current_setting('fsync')::boolean and current_setting('synchronous_commit') <> 'off')::int as durable

-- name: counters.tables
-- only our own tables and their indexes
select sum(pg_stat_get_numscans(c.oid)) filter (where c.relkind = 'r') as seq_scans,
  sum(pg_stat_get_numscans(c.oid)) filter (where c.relkind = 'i') as index_scans,
  sum(pg_stat_get_tuples_returned(c.oid)) filter (where c.relkind = 'r') as rows_returned,
  sum(pg_stat_get_tuples_fetched(c.oid)) filter (where c.relkind in ('r', 'i')) as rows_fetched,
  sum(pg_stat_get_tuples_inserted(c.oid)) filter (where c.relkind = 'r') as rows_inserted,
  sum(pg_stat_get_tuples_updated(c.oid)) filter (where c.relkind = 'r') as rows_updated,
  sum(pg_stat_get_tuples_deleted(c.oid)) filter (where c.relkind = 'r') as rows_deleted
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'dbdyno' and c.relkind in ('r', 'i')

-- name: counters.files
-- while-jobs-run: no
-- Bytes of the tables of tests, not those of the data set. A table that somebody is about to drop or to empty is left out:
-- its size would be waited for.
select sum(pg_relation_size(c.oid)) as table_bytes
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'dbdyno' and c.relkind in ('r', 'i') and c.relname !~ '^(small|big)'
  and not exists (select from pg_locks l where l.relation = c.oid and l.mode = 'AccessExclusiveLock')

-- name: counters.writers
-- blocks written by checkpoints, by the background writer and by sessions themselves
select buffers_checkpoint + buffers_clean + buffers_backend as blocks_written,
  checkpoints_timed + checkpoints_req as checkpoints
from pg_stat_bgwriter

-- name: counters.writers
-- from: 17
-- sessions' own writes moved to pg_stat_io
select c.buffers_written + b.buffers_clean + s.blocks as blocks_written, c.num_timed + c.num_requested as checkpoints
from pg_stat_checkpointer c, pg_stat_bgwriter b,
  (select coalesce(sum(coalesce(writes, 0) + coalesce(extends, 0)), 0) as blocks from pg_stat_io
   where object = 'relation' and backend_type not in ('checkpointer', 'background writer')) s

-- name: counters.writers
-- from: 18
-- one operation may write several blocks, so bytes are counted; a checkpoint with nothing to do is not one that was done
select c.buffers_written + b.buffers_clean + s.blocks as blocks_written, c.num_done as checkpoints
from pg_stat_checkpointer c, pg_stat_bgwriter b,
  (select coalesce(sum(coalesce(write_bytes, 0) + coalesce(extend_bytes, 0)), 0)
     / current_setting('block_size')::numeric as blocks from pg_stat_io
   where object = 'relation' and backend_type not in ('checkpointer', 'background writer')) s

-- name: counters.wal
-- before 14 only the position in the log is known
select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end - '0/0'::pg_lsn as wal_bytes

-- name: counters.wal
-- from: 14
-- the times are only counted with track_wal_io_timing; wal_sync is not counted with an open_sync method
select wal_bytes, wal_records,
  case when current_setting('wal_sync_method') not in ('open_datasync', 'open_sync') then wal_sync end as wal_syncs,
  case when current_setting('track_wal_io_timing')::boolean then wal_sync_time end as wal_sync_time_ms,
  wal_write as log_writes, wal_buffers_full as log_buffer_full
from pg_stat_wal

-- name: counters.wal
-- from: 18
-- syncs and their times moved to pg_stat_io
select w.wal_bytes, w.wal_records,
  case when current_setting('wal_sync_method') not in ('open_datasync', 'open_sync') then i.syncs end as wal_syncs,
  case when current_setting('track_wal_io_timing')::boolean then i.sync_ms end as wal_sync_time_ms,
  i.writes as log_writes, w.wal_buffers_full as log_buffer_full
from pg_stat_wal w,
  (select sum(fsyncs) as syncs, sum(fsync_time) as sync_ms, sum(writes) as writes from pg_stat_io where object = 'wal' and context = 'normal') i

-- name: counters.debt
-- while-jobs-run: no
-- gauges of what is put off: log since the last checkpoint began, and dead rows of our own tables, which a vacuum removes
select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end
    - (pg_control_checkpoint()).redo_lsn as debt_log_bytes,
  (select sum(pg_stat_get_dead_tuples(c.oid)) from pg_class c join pg_namespace n on n.oid = c.relnamespace
   where n.nspname = 'dbdyno' and c.relkind = 'r') as debt_dead_rows

-- name: counters.replication
-- a gauge of a standby: how far what it shows is behind the primary; without a connection it cannot know that it has all
select case when pg_is_in_recovery() then
    case when pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() and exists (select 1 from pg_stat_wal_receiver) then 0
      else extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()) end end as replication_lag_s

-- name: pay.work
-- statements that do what is put off; a checkpoint takes a superuser, from version 15 on a member of pg_checkpoint
select statement
from (select 1 as place, format('vacuum %I.%I', n.nspname, c.relname) as statement
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'dbdyno' and c.relkind = 'r' and pg_stat_get_dead_tuples(c.oid) > 0
      union all
      select 2, 'checkpoint'
      from pg_roles
      where rolname = current_user
        and (rolsuper or coalesce(pg_has_role(to_regrole('pg_checkpoint'), 'usage'), false))) as work
order by place, statement

-- name: sessions
-- period: 0.155
-- Sessions of this process of ours, their parallel workers, and the server's processes that are at work: those that wait for
-- work (Activity) or pace themselves (Timeout) are not. From 17 on some events are spelled otherwise: BuffileRead, WalSync.
select case when a.backend_type in ('client backend', 'parallel worker') then coalesce(a.leader_pid, a.pid) end as id, a.pid as process,
  (a.backend_type = 'client backend' and a.state <> 'active')::int as idle,
  case when a.backend_type not in ('client backend', 'parallel worker') then a.backend_type || ': ' else '' end
    || coalesce(a.wait_event_type, 'CPU') as class,
  coalesce(a.wait_event, 'CPU') as event,
  case when a.wait_event is null then 'cpu'
    when a.wait_event ~* '^(WALWrite|WALSync|WALInitWrite|WALInitSync|SyncRep|WALWriteLock|WALBufMapping)$' then 'log-sync'
    when a.wait_event_type = 'IO' and a.wait_event ~* '^(DataFile(Read|Prefetch)|AioIo|BufFileRead|SLRURead)' then 'data-read'
    when a.wait_event_type = 'IO' and a.wait_event ~* '^(DataFile|BufFileWrite|DSMFill|Checkpoint|SLRU)' then 'data-write'
    when a.wait_event_type = 'Lock' and a.wait_event in ('tuple', 'transactionid') then 'row-lock'
    when a.wait_event_type in ('LWLock', 'BufferPin', 'Buffer') or a.wait_event = 'extend' or a.wait_event = 'SpinDelay' then 'latch'
    when a.wait_event_type = 'Client' then 'network' else 'other' end as activity
from pg_stat_get_activity(null) as a
where a.pid <> pg_backend_pid()
  and case when a.backend_type in ('client backend', 'parallel worker')
      then a.application_name like 'dbdyno-%' -- of load machines, too: those of the jobs are told by their numbers
      else a.wait_event_type is null or a.wait_event_type not in ('Activity', 'Timeout') end

-- name: sessions.all
-- Every session but those of this process of ours, their parallel workers, and the server's processes that are at work.
select case when a.backend_type in ('client backend', 'parallel worker') then coalesce(a.leader_pid, a.pid) end as id,
  (a.backend_type = 'client backend' and a.state <> 'active')::int as idle,
  case when a.backend_type not in ('client backend', 'parallel worker') then a.backend_type || ': ' else '' end
    || coalesce(a.wait_event_type, 'CPU') as class,
  coalesce(a.wait_event, 'CPU') as event,
  case when a.wait_event is null then 'cpu'
    when a.wait_event ~* '^(WALWrite|WALSync|WALInitWrite|WALInitSync|SyncRep|WALWriteLock|WALBufMapping)$' then 'log-sync'
    when a.wait_event_type = 'IO' and a.wait_event ~* '^(DataFile(Read|Prefetch)|AioIo|BufFileRead|SLRURead)' then 'data-read'
    when a.wait_event_type = 'IO' and a.wait_event ~* '^(DataFile|BufFileWrite|DSMFill|Checkpoint|SLRU)' then 'data-write'
    when a.wait_event_type = 'Lock' and a.wait_event in ('tuple', 'transactionid') then 'row-lock'
    when a.wait_event_type in ('LWLock', 'BufferPin', 'Buffer') or a.wait_event = 'extend' or a.wait_event = 'SpinDelay' then 'latch'
    when a.wait_event_type = 'Client' then 'network' else 'other' end as activity
from pg_stat_get_activity(null) as a
where case when a.backend_type in ('client backend', 'parallel worker')
      then a.state is not null and a.application_name <> current_setting('application_name')
      else a.wait_event_type not in ('Activity', 'Timeout') or a.backend_type is not null and a.wait_event_type is null end

-- name: sessions.all.missing
select 'what sessions of other roles do is not seen: the role is not a member of pg_monitor'
 where not pg_has_role(current_user, 'pg_read_all_stats', 'usage')
union all
select 'what sessions do is not seen: track_activities is off' where not current_setting('track_activities')::boolean

-- name: sessions.own
select pg_backend_pid()

-- name: sessions.missing
select 'the server''s own processes are not seen: the role is not a member of pg_read_all_stats'
 where not pg_has_role(current_user, 'pg_read_all_stats', 'usage')
union all
select 'what sessions do is not seen: track_activities is off' where not current_setting('track_activities')::boolean

-- name: profile.statements.missing
select 'pg_stat_statements is not created in this database; to load it costs every statement'
where not exists (select from pg_extension where extname = 'pg_stat_statements')

-- name: profile.statements
-- The query itself, of the view in the schema of the extension, whatever else has its name. Texts are kept of the user's own
-- statements only, and of these where the server has put $1 for each constant, or they name our schema: any other statement may
-- hold a secret, as "alter role ... password" does. Such are one row.
select format($query$
  select case when s.userid = (select oid from pg_roles where rolname = current_user)
      and (t.text ~* '^(select|insert|update|delete|merge|with|begin|commit|rollback)\M' or t.text ~* '^(call|copy) dbdyno\.')
    then left(t.text, 200) else 'other statements' end as name,
    s.calls, s.total_exec_time as time_ms, s.rows, s.shared_blks_hit + s.shared_blks_read as logical_reads,
    s.shared_blks_read as physical_reads, s.wal_bytes
  from %I.pg_stat_statements as s,
    lateral (select btrim(regexp_replace(regexp_replace(s.query, '/\*.*?\*/|--[^\n]*', ' ', 'g'), '\s+', ' ', 'g')) as text) as t
  where s.dbid = (select oid from pg_database where datname = current_database())$query$, n.nspname) as query
from pg_extension as e join pg_namespace as n on n.oid = e.extnamespace
where e.extname = 'pg_stat_statements'

-- name: profile.io
-- by who reads and writes; the times need track_io_timing
select 'sessions: data' as name, d.blks_read as reads, d.blks_read * s.bytes as read_bytes,
  case when s.is_timed then d.blk_read_time end as read_ms, b.buffers_backend as writes,
  b.buffers_backend * s.bytes as written_bytes, case when s.is_timed then d.blk_write_time end as write_ms,
  b.buffers_backend_fsync as syncs, null::float8 as sync_ms
from pg_stat_database d, pg_stat_bgwriter b,
  (select current_setting('block_size')::bigint as bytes, current_setting('track_io_timing')::boolean as is_timed) s
where d.datname = current_database()
union all
select 'checkpointer', null, null, null, buffers_checkpoint, buffers_checkpoint * current_setting('block_size')::bigint,
  checkpoint_write_time, null, checkpoint_sync_time from pg_stat_bgwriter
union all
select 'background writer', null, null, null, buffers_clean, buffers_clean * current_setting('block_size')::bigint, null, null, null
from pg_stat_bgwriter
union all
select 'temporary files', null, null, null, temp_files, temp_bytes, null, null, null
from pg_stat_database where datname = current_database()

-- name: profile.io.log
-- from: 14
-- until: 18
-- the times need track_wal_io_timing; before 18 the log is not in pg_stat_io; wal_sync is not counted with an open_sync method
select 'log' as name, wal_write as writes, wal_bytes as written_bytes,
  case when current_setting('track_wal_io_timing')::boolean then wal_write_time end as write_ms,
  case when current_setting('wal_sync_method') not in ('open_datasync', 'open_sync') then wal_sync end as syncs,
  case when current_setting('track_wal_io_timing')::boolean then wal_sync_time end as sync_ms
from pg_stat_wal

-- name: profile.io
-- from: 16
select backend_type || ': ' || object || case context when 'normal' then '' else ', ' || context end as name,
  reads, reads * op_bytes as read_bytes, read_time as read_ms,
  coalesce(writes, 0) + coalesce(extends, 0) as writes, (coalesce(writes, 0) + coalesce(extends, 0)) * op_bytes as written_bytes,
  coalesce(write_time, 0) + coalesce(extend_time, 0) as write_ms, fsyncs as syncs, fsync_time as sync_ms
from pg_stat_io

-- name: profile.io
-- from: 18
select backend_type || ': ' || object || case context when 'normal' then '' else ', ' || context end as name,
  reads, read_bytes, read_time as read_ms, coalesce(writes, 0) + coalesce(extends, 0) as writes,
  coalesce(write_bytes, 0) + coalesce(extend_bytes, 0) as written_bytes,
  coalesce(write_time, 0) + coalesce(extend_time, 0) as write_ms, fsyncs as syncs, fsync_time as sync_ms
from pg_stat_io

-- name: settings.server
-- every setting that differs from its default; of those that are any text, which may be a password or a path, these only
select name, setting || coalesce(' ' || unit, '') as value
from pg_settings
where source not in ('default', 'override', 'client', 'session') and context <> 'internal'
  and (vartype <> 'string' or name in ('debug_io_direct', 'default_table_access_method', 'default_tablespace',
    'jit_provider', 'local_preload_libraries', 'log_connections', 'log_destination', 'session_preload_libraries',
    'shared_preload_libraries', 'synchronous_standby_names', 'temp_tablespaces', 'wal_consistency_checking'))
order by name

-- name: settings.performance
-- those that decide about performance and durability, default or not
select name, setting || coalesce(' ' || unit, '') as value
from pg_settings
where name in ('autovacuum', 'bgwriter_delay', 'bgwriter_lru_maxpages', 'block_size', 'checkpoint_completion_target',
  'checkpoint_timeout', 'commit_delay', 'data_checksums', 'effective_cache_size', 'effective_io_concurrency', 'fsync',
  'full_page_writes', 'huge_pages', 'huge_pages_status', 'io_method', 'io_workers', 'jit', 'log_min_duration_statement',
  'log_statement', 'maintenance_work_mem', 'max_connections', 'max_parallel_workers', 'max_parallel_workers_per_gather',
  'max_wal_size', 'min_wal_size', 'random_page_cost', 'shared_buffers', 'shared_preload_libraries', 'synchronous_commit',
  'track_activities', 'track_io_timing', 'track_wal_io_timing', 'wal_buffers', 'wal_compression', 'wal_level',
  'wal_segment_size', 'wal_sync_method', 'work_mem')
order by name

-- name: settings.cluster
-- of a primary with standbys: what a commit waits for, and how many standbys it may wait for
select 'cluster_consistency' as name, 'synchronous_commit=' || current_setting('synchronous_commit')
    || ', synchronous_standby_names=' || coalesce(nullif(current_setting('synchronous_standby_names'), ''), 'none')
    || ', standbys=' || count(*) || ', synchronous=' || count(*) filter (where sync_state in ('sync', 'quorum')) as value
from pg_stat_replication having count(*) > 0

-- name: settings.connection
-- how this connection, and so those of the jobs, is encrypted
select 'tls' as name, case when ssl then version || ' ' || cipher else 'off' end as value
from pg_stat_ssl where pid = pg_backend_pid()

-- name: host.files
-- what the kernel of the server's host counts: paths and texts; null is a file that is not there
select path, pg_read_file(path, 0, 4194304, true) as text
from unnest(array['/proc/stat', '/proc/meminfo', '/proc/diskstats', '/proc/net/dev', '/proc/self/mountinfo']) as path

-- name: host.facts
select path, pg_read_file(path, 0, 4194304, true) as text
from unnest(array['/proc/cpuinfo', '/proc/version', '/etc/os-release']
  || array(select '/sys/class/dmi/id/' || name
    from unnest(array['sys_vendor', 'product_name', 'chassis_asset_tag', 'bios_version']) as name)) as path

-- name: network.round-trip
select 1

-- name: network.transfer
select repeat('x', 4000000)

-- name: host.directory
-- where the server's files are: from its settings, else from its lock file
select coalesce((select setting from pg_settings where name = 'data_directory'),
  case when has_function_privilege('pg_read_file(text, bigint, bigint, boolean)', 'execute')
    then split_part(pg_read_file('postmaster.pid', 0, 4096, true), chr(10), 2) end)

-- name: rights
-- what is not to be had for lack of a right, and the statement that grants it
select lacks, statement
from (values
  ('waits of the server''s own processes, statements of others and the place of its files',
    pg_has_role('pg_monitor', 'usage'), format('grant pg_monitor to %I', current_user)),
  ('checkpoints after tests that leave work behind',
    pg_has_role(coalesce(to_regrole('pg_checkpoint'), current_user::regrole), 'usage'),
    format('grant pg_checkpoint to %I', current_user))
) as rights (lacks, is_held, statement)
where not is_held

-- name: rights.superuser
-- what the user may and no test needs: a mistake, or what others have planted, would have all of it
select format('%I is a superuser, which no test needs', current_user) as lacks,
  'the script of ''dbdyno check TARGET --role-sql'' makes a role that suffices' as statement
from pg_roles where rolname = current_user and rolsuper

-- name: rights.elsewhere
-- of a server on another host
select 'figures of its host' as lacks, format('start a node_exporter there, or "dbdyno host-exporter", and name it with --host-metrics; '
  'or, which lets this user read every file that the server itself may read: grant pg_read_server_files to %1$I; '
  'grant execute on function pg_read_file(text, bigint, bigint, boolean) to %1$I', current_user) as statement
where not (pg_has_role('pg_read_server_files', 'usage')
  and has_function_privilege('pg_read_file(text, bigint, bigint, boolean)', 'execute'))

-- name: noise
-- what this server does beside the tests; the first matters most
select found, advice
from (values
  (1, 'autovacuum', 'on', 'autovacuum may work on the tables of a test', 'alter system set autovacuum = off while you measure'),
  (2, 'checkpoint_timeout', null, 'a checkpoint by time falls into some tests and not into others',
    'alter system set checkpoint_timeout = ''30min'', and max_wal_size as the load needs'),
  (3, 'jit', 'on', 'queries are compiled at run time, at some costs and not at others', 'alter system set jit = off')
) as cause (rank, name, value, found, advice)
join pg_settings as s using (name)
where case when cause.value is null then s.setting::int < 1800 else s.setting = cause.value end
order by rank
