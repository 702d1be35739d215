-- Counters and settings of Oracle 19c and later under the standard names of docs/counters.md. Statistic names may change with a
-- release: one that is not there gives null, an absent counter. Nothing but the blocks repository.awr is of the Diagnostics Pack (no
-- v$active_session_history, no dba_hist_*), and these run only with --awr: the other views are free in every edition. They need SELECT
-- on them or SELECT_CATALOG_ROLE. On a cluster gv$ adds up all instances. Written against the documentation, not run on a server of Oracle by us.

-- name: version
select version_full from product_component_version where rownum = 1

-- name: counters.statistics
-- The whole database, all instances. A write of the log writer ends when it is on the device: wal_syncs. commits_waited are the times
-- that a session waited for one: a COMMIT inside PL/SQL that is not waited for shows here.
select max(decode(name, 'user commits', total)) as commits,
  max(decode(name, 'user rollbacks', total)) as rollbacks,
  max(decode(name, 'enqueue deadlocks', total)) as deadlocks,
  max(decode(name, 'session logical reads', total)) as logical_reads,
  max(decode(name, 'db block gets', total)) as current_reads,
  max(decode(name, 'physical reads', total)) as physical_reads,
  max(decode(name, 'db block changes', total)) as block_changes,
  max(decode(name, 'physical writes', total)) as blocks_written,
  max(decode(name, 'background checkpoints completed', total)) as checkpoints,
  max(decode(name, 'redo size', total)) as wal_bytes,
  max(decode(name, 'redo entries', total)) as wal_records,
  max(decode(name, 'redo writes', total)) as wal_syncs,
  max(decode(name, 'redo writes', total)) as log_writes,
  max(decode(name, 'redo synch writes', total)) as commits_waited,
  max(decode(name, 'redo log space requests', total)) as log_buffer_full
from (select name, sum(value) as total from gv$sysstat
      where name in ('user commits', 'user rollbacks', 'enqueue deadlocks', 'session logical reads', 'db block gets', 'physical reads', 'db block changes',
        'physical writes', 'background checkpoints completed', 'redo size', 'redo entries', 'redo synch writes',
        'redo writes', 'redo log space requests')
      group by name) stats

-- name: counters.temp
select sum(s.value) * max(to_number(p.value)) as temp_bytes
from gv$sysstat s cross join v$parameter p
where s.name = 'physical writes direct temporary tablespace' and p.name = 'db_block_size'

-- name: counters.reads
-- waits of sessions for single blocks, several blocks, and reads past the cache; those for Exadata's cells have names of their own,
-- from 21c on with the cache that served them
select sum(time_waited_micro) / 1000 as physical_read_time_ms
from gv$system_event where event in ('db file sequential read', 'db file scattered read', 'direct path read', 'db file parallel read',
    'cell smart table scan', 'cell smart index scan')
  or event like 'cell % physical read' or event like 'cell % physical read: %'

-- name: counters.storage
-- what Exadata's cells served from their caches, and what they evaluated themselves; elsewhere it stays 0
select max(decode(name, 'physical read total IO requests', total)) as storage_read_requests,
  max(decode(name, 'physical read requests optimized', total)) as storage_cache_read_requests,
  max(decode(name, 'physical read total bytes', total)) as storage_read_bytes,
  max(decode(name, 'cell physical IO bytes eligible for predicate offload', total)) as offload_eligible_bytes,
  max(decode(name, 'cell physical IO interconnect bytes returned by smart scan', total)) as offload_returned_bytes,
  max(decode(name, 'memopt r hits', total)) as memoptimized_hits
from (select name, sum(value) as total from gv$sysstat
      where name in ('physical read total IO requests', 'physical read requests optimized', 'physical read total bytes',
        'cell physical IO bytes eligible for predicate offload', 'cell physical IO interconnect bytes returned by smart scan',
        'memopt r hits')
      group by name) stats

-- name: counters.locks
-- times that a session waited for a row that another one had locked
select sum(total_waits) as row_lock_waits from gv$system_event where event = 'enq: TX - row lock contention'

-- name: counters.log
-- what the log writer waited for the device, and what sessions waited for the log writer
select sum(decode(event, 'log file parallel write', time_waited_micro)) / 1000 as wal_sync_time_ms,
  sum(decode(event, 'log file sync', time_waited_micro)) / 1000 as commit_wait_time_ms,
  sum(decode(event, 'log file sync', total_waits)) as commit_waits
from gv$system_event where event in ('log file parallel write', 'log file sync')

-- name: counters.durability
-- a gauge: 1 if a commit waits until the log is on durable storage
select case when max(decode(name, 'commit_wait', upper(value))) in ('NOWAIT', 'FORCE_NOWAIT')
    or upper(max(decode(name, 'commit_write', value))) like '%NOWAIT%' then 0 else 1 end as durable
from v$parameter where name in ('commit_wait', 'commit_write')

-- name: counters.server
-- processor time of the database's processes, as it counts it itself
select sum(value) / 1000000 as server_cpu_s from gv$sys_time_model where stat_name in ('DB CPU', 'background cpu time')

-- name: session-counts
-- of the session of a job: exact, at once, and free in every edition
select max(decode(n.name, 'user commits', s.value)) as job_commits,
  max(decode(n.name, 'session logical reads', s.value)) as job_logical_reads,
  max(decode(n.name, 'physical reads', s.value)) as job_physical_reads,
  max(decode(n.name, 'db block changes', s.value)) as job_block_changes,
  max(decode(n.name, 'redo size', s.value)) as job_wal_bytes,
  max(decode(n.name, 'redo synch writes', s.value)) as job_commits_waited
from v$mystat s join v$statname n on n.statistic# = s.statistic#
where n.name in ('user commits', 'session logical reads', 'physical reads', 'db block changes', 'redo size', 'redo synch writes')

-- name: sessions
-- period: 0.1
-- Sessions of this process of ours, their parallel servers, and the server's processes that are at work.
select case when s.type = 'USER' then nvl(q.qcsid, s.sid) end as id,
  case when s.type = 'USER' and s.status <> 'ACTIVE' then 1 else 0 end as idle,
  case when s.type = 'USER' then '' else p.pname || ': ' end || case when s.state = 'WAITING' then s.wait_class else 'CPU' end as class,
  case when s.state = 'WAITING' then s.event else 'CPU' end as event,
  case when s.state <> 'WAITING' then 'cpu'
    when s.event in ('log file sync', 'log file parallel write', 'log buffer space') or s.event like 'log file switch%' then 'log-sync'
    when s.event like 'db file%read' or s.event like 'direct path read%' or s.event like 'cell%read' then 'data-read'
    when s.event like 'db file%write' or s.event like 'direct path write%' or s.event like 'free buffer%' then 'data-write'
    when s.event like 'enq: TX%' then 'row-lock'
    when s.event like 'latch%' or s.event like 'buffer busy%' or s.event like 'cursor: %' or s.event like 'library cache%' then 'latch'
    when s.wait_class = 'Network' or s.event like 'SQL*Net%' then 'network'
    else 'other' end as activity
from v$session s
  join v$session me on me.sid = sys_context('userenv', 'sid')
  left join v$process p on p.addr = s.paddr
  left join v$px_session q on q.sid = s.sid
where s.sid <> me.sid
  and (s.type = 'USER' and s.program = me.program and s.machine = me.machine and s.process = me.process
    or s.type = 'USER' and q.qcsid <> s.sid or s.type = 'BACKGROUND' and s.wait_class <> 'Idle')

-- name: sessions.own
select sys_context('userenv', 'sid') as sid from dual

-- name: settings.performance
-- those that decide about performance and durability, default or not
select name, display_value as value from v$parameter
where name in ('commit_logging', 'commit_wait', 'commit_write', 'compatible', 'control_management_pack_access', 'cpu_count', 'cursor_sharing',
  'db_block_checking', 'db_block_checksum', 'db_block_size', 'db_cache_size', 'db_file_multiblock_read_count', 'db_flash_cache_size',
  'db_keep_cache_size', 'db_lost_write_protect', 'db_writer_processes', 'disk_asynch_io', 'fast_start_mttr_target', 'filesystemio_options',
  'inmemory_size', 'log_archive_max_processes', 'log_buffer', 'memory_target', 'open_cursors', 'optimizer_features_enable',
  'optimizer_mode', 'parallel_degree_policy', 'parallel_max_servers', 'pga_aggregate_limit', 'pga_aggregate_target', 'plsql_code_type',
  'plsql_optimize_level', 'processes', 'recyclebin', 'result_cache_mode', 'session_cached_cursors', 'sga_max_size', 'sga_target',
  'shared_pool_size', 'statistics_level', 'undo_retention', 'use_large_pages', 'workarea_size_policy')
order by name

-- name: settings.changed
-- other numbers and switches that differ from their default: no texts, which may be paths
select name, display_value as value from v$parameter where isdefault = 'FALSE' and type in (1, 3, 6) order by name

-- name: settings.database
-- what decides whether NOLOGGING holds, whether a commit waits for another site, and how the log lies
select 'log_mode' as name, log_mode as value from v$database
union all
select 'force_logging', force_logging from v$database
union all
select 'flashback_on', flashback_on from v$database
union all
select 'protection_mode', protection_mode from v$database
union all
select 'database_role', database_role from v$database
union all
select 'redo_groups', to_char(count(*)) || ' of ' || to_char(max(bytes) / 1048576) || ' MB, ' || to_char(max(members)) || ' members' from v$log
union all
select 'redo_block_bytes', to_char(max(blocksize)) from v$log
union all
select 'instances', to_char(count(*)) from gv$instance

-- name: settings.encryption
-- tablespaces whose blocks are encrypted and how, and whether that of the tables of a test is one
select 'encrypted_tablespaces' as name, to_char(count(*)) || ' ' || max(encryptionalg) as value
from v$encrypted_tablespaces where encryptedts = 'YES'
union all
select 'own_tablespace_encrypted', max(t.encrypted)
from user_tablespaces t join user_users u on u.default_tablespace = t.tablespace_name

-- name: settings.host
-- as the server sees its host; its name is not told
select lower(stat_name) as name, to_char(value) as value from v$osstat
where stat_name in ('NUM_CPUS', 'NUM_CPU_CORES', 'NUM_CPU_SOCKETS', 'PHYSICAL_MEMORY_BYTES')

-- name: settings.options
-- options that have a licence of their own and are there; dbdyno uses Partitioning for the organisations with lists and ranges
select 'option ' || lower(parameter) as name, value from v$option
where parameter in ('Partitioning', 'Advanced Compression', 'In-Memory Column Store', 'Real Application Clusters', 'Active Data Guard')

-- name: settings.connection
-- how this connection, and so those of the jobs, travels
select 'network_protocol' as name, sys_context('userenv', 'network_protocol') as value from dual

-- name: repository.awr
-- 'run --awr' only: it states that the Diagnostics Pack is licensed
begin
  dbms_workload_repository.create_snapshot;
end;
-- PL/SQL

-- name: repository.awr.last
select to_char(max(snap_id)) as snap_id from dba_hist_snapshot where instance_number = sys_context('userenv', 'instance')

-- name: repository.awr.report
-- the text that awrrpt.sql prints, between two snapshots of this instance
select output
from table(dbms_workload_repository.awr_report_text((select dbid from v$database), to_number(sys_context('userenv', 'instance')),
  {{begin}}, {{end}}))

-- name: repository.awr.licence
select 'Diagnostics Pack' as pack from dual

-- name: repository.statspack
-- 'run --statspack' only
begin
  perfstat.statspack.snap;
end;
-- PL/SQL

-- name: repository.statspack.last
select to_char(max(snap_id)) as snap_id from perfstat.stats$snapshot where instance_number = sys_context('userenv', 'instance')
