-- Counters and settings of MySQL 8.0 and newer under the standard names of docs/counters.md. A column that is null is a counter
-- that cannot be had. The status stands in performance_schema, also where that is off; it adds up all sessions at every reading,
-- our own readings with them. "max(case ...)" picks names out of one reading.

-- name: version
select version() as version

-- name: flush
-- nothing: the global status adds up the sessions at every reading

-- name: counters.transactions
-- A statement that commits itself is a transaction. InnoDB counts them only where innodb_monitor_enable says so; the status
-- Handler_commit would count the statements within a transaction too.
select
  sum(case when name in ('trx_rw_commits', 'trx_ro_commits', 'trx_nl_ro_commits') and counted then count end) as commits,
  sum(case when name = 'trx_rollbacks' and status = 'enabled' then count end) as rollbacks,
  sum(case when name = 'log_checkpoints' and status = 'enabled' then count end) as checkpoints
from (select name, count, status, (select count(*) from information_schema.innodb_metrics
                            where status = 'enabled' and name in ('trx_rw_commits', 'trx_ro_commits', 'trx_nl_ro_commits')) = 3 as counted
        from information_schema.innodb_metrics
       where name in ('trx_rw_commits', 'trx_ro_commits', 'trx_nl_ro_commits', 'trx_rollbacks', 'log_checkpoints')) as metrics

-- name: counters.rows
-- InnoDB's rows are those of all tables but the server's own, of a partitioned table counted once. A look-up in an index is one
-- Handler_read_key; a full scan reads "rnd_next", or the primary key from its first entry on.
select
  max(case variable_name when 'Handler_read_key' then variable_value end) as index_scans,
  max(case variable_name when 'Innodb_rows_read' then variable_value end) as rows_fetched,
  max(case variable_name when 'Handler_read_rnd_next' then variable_value end) as rows_returned,
  max(case variable_name when 'Innodb_rows_inserted' then variable_value end) as rows_inserted,
  max(case variable_name when 'Innodb_rows_updated' then variable_value end) as rows_updated,
  max(case variable_name when 'Innodb_rows_deleted' then variable_value end) as rows_deleted
from performance_schema.global_status
where variable_name in ('Handler_read_key', 'Innodb_rows_read', 'Handler_read_rnd_next', 'Innodb_rows_inserted',
  'Innodb_rows_updated', 'Innodb_rows_deleted')

-- name: counters.blocks
-- pages that the server asked its buffer pool for, had to read, with those that were read ahead, and wrote
select
  max(case variable_name when 'Innodb_buffer_pool_read_requests' then variable_value end) as logical_reads,
  max(case variable_name when 'Innodb_pages_read' then variable_value end) as physical_reads,
  max(case variable_name when 'Innodb_pages_written' then variable_value end) as blocks_written,
  max(case variable_name when 'Innodb_buffer_pool_write_requests' then variable_value end) as block_changes,
  max(case variable_name when 'Innodb_row_lock_waits' then variable_value end) as row_lock_waits,
  (select max(count) from information_schema.innodb_metrics
    where name = 'lock_deadlocks' and status = 'enabled') as deadlocks
from performance_schema.global_status
where variable_name in ('Innodb_buffer_pool_write_requests', 'Innodb_buffer_pool_read_requests', 'Innodb_pages_read',
  'Innodb_pages_written', 'Innodb_row_lock_waits')

-- name: counters.log
select
  max(case variable_name when 'Innodb_os_log_written' then variable_value end) as wal_bytes,
  max(case variable_name when 'Innodb_os_log_fsyncs' then variable_value end) as wal_syncs,
  max(case variable_name when 'Innodb_log_writes' then variable_value end) as log_writes,
  max(case variable_name when 'Innodb_log_waits' then variable_value end) as log_buffer_full
from performance_schema.global_status
where variable_name in ('Innodb_os_log_written', 'Innodb_os_log_fsyncs', 'Innodb_log_writes', 'Innodb_log_waits')

-- name: counters.sessions
select max(variable_value) as sessions_opened from performance_schema.global_status where variable_name = 'Connections'

-- name: counters.durability
-- while-jobs-run: no
-- A gauge: 1 if a commit waits until the log is on durable storage, a binary log, if there is one, too. The redo log can be
-- switched off as a whole (8.0.21).
select @@global.innodb_flush_log_at_trx_commit = 1 and (@@global.log_bin = 0 or @@global.sync_binlog = 1)
  and @@global.innodb_flush_method not in ('nosync', 'littlesync')
  and not exists (select 1 from performance_schema.global_status
                   where variable_name = 'Innodb_redo_log_enabled' and variable_value = 'OFF') as durable

-- name: counters.instruments
-- while-jobs-run: no
-- a gauge: 1 if the server instruments every statement, also each within a routine
select @@global.performance_schema as instruments

-- name: counters.debt
-- while-jobs-run: no
-- Gauges of what is put off: changed pages that are not written, log since the last checkpoint (8.0.30), and transactions whose
-- old versions of rows are not purged.
select
  max(case variable_name when 'Innodb_buffer_pool_pages_dirty' then variable_value end) as debt_dirty_blocks,
  max(case variable_name when 'Innodb_redo_log_current_lsn' then variable_value end)
    - max(case variable_name when 'Innodb_redo_log_checkpoint_lsn' then variable_value end) as debt_log_bytes,
  (select max(count) from information_schema.innodb_metrics
    where name = 'trx_rseg_history_len' and status = 'enabled') as debt_undo
from performance_schema.global_status
where variable_name in ('Innodb_buffer_pool_pages_dirty', 'Innodb_redo_log_current_lsn', 'Innodb_redo_log_checkpoint_lsn')

-- name: pay.hurry
-- with these at 0 the page cleaner writes all changed pages, as fast as it may
select 'set global innodb_max_dirty_pages_pct_lwm = 0' as hurry,
  concat('set global innodb_max_dirty_pages_pct_lwm = ', @@global.innodb_max_dirty_pages_pct_lwm) as calm
union all
select 'set global innodb_max_dirty_pages_pct = 0',
  concat('set global innodb_max_dirty_pages_pct = ', @@global.innodb_max_dirty_pages_pct)

-- name: sessions
-- period: 0.105
-- log-file: #ib_redo
-- Sessions of our user; their threads are known with performance_schema only. InnoDB's lock waits are copied at most every 0.1 s,
-- so that to ask more often shows old ones.
select p.id as id, s.thread_os_id as thread, p.command = 'Sleep' as idle,
  case when t.trx_id is not null then 'Lock' when p.state = 'waiting for handler commit' then 'Commit'
    when p.state like 'Waiting for%' then 'Lock' else 'Stage' end as class,
  case when t.trx_id is not null then 'row lock' else coalesce(nullif(p.state, ''), p.command) end as event,
  case when t.trx_id is not null then 'row-lock' when p.state = 'waiting for handler commit' then 'log-sync'
    when p.state like 'Waiting for%' then 'other' end as activity
from information_schema.processlist as p
left join performance_schema.threads as s on s.processlist_id = p.id
left join information_schema.innodb_trx as t on t.trx_mysql_thread_id = p.id and t.trx_state = 'LOCK WAIT'
where p.id <> connection_id() and p.user = substring_index(user(), '@', 1)

-- name: sessions.less
-- row locks are not told from other waits without the right PROCESS
select p.id as id, null as thread, p.command = 'Sleep' as idle,
  case when p.state = 'waiting for handler commit' then 'Commit' when p.state like 'Waiting for%' then 'Lock' else 'Stage' end as class,
  coalesce(nullif(p.state, ''), p.command) as event,
  case when p.state = 'waiting for handler commit' then 'log-sync' when p.state like 'Waiting for%' then 'other' end as activity
from information_schema.processlist as p
where p.id <> connection_id() and p.user = substring_index(user(), '@', 1)

-- name: sessions.all
-- Every session but this one; our other one sleeps while this one looks.
select p.id as id, s.thread_os_id as thread, p.command = 'Sleep' as idle,
  case when t.trx_id is not null then 'Lock' when p.state = 'waiting for handler commit' then 'Commit'
    when p.state like 'Waiting for%' then 'Lock' else 'Stage' end as class,
  case when t.trx_id is not null then 'row lock' else coalesce(nullif(p.state, ''), p.command) end as event,
  case when t.trx_id is not null then 'row-lock' when p.state = 'waiting for handler commit' then 'log-sync'
    when p.state like 'Waiting for%' then 'other' end as activity
from information_schema.processlist as p
left join performance_schema.threads as s on s.processlist_id = p.id
left join information_schema.innodb_trx as t on t.trx_mysql_thread_id = p.id and t.trx_state = 'LOCK WAIT'
where p.id <> connection_id() and p.command not in ('Daemon', 'Binlog Dump') and p.user not in ('system user', 'event_scheduler')

-- name: sessions.all.less
-- row locks and the sessions of other users are not seen without the right PROCESS
select p.id as id, null as thread, p.command = 'Sleep' as idle,
  case when p.state = 'waiting for handler commit' then 'Commit' when p.state like 'Waiting for%' then 'Lock' else 'Stage' end as class,
  coalesce(nullif(p.state, ''), p.command) as event,
  case when p.state = 'waiting for handler commit' then 'log-sync' when p.state like 'Waiting for%' then 'other' end as activity
from information_schema.processlist as p
where p.id <> connection_id() and p.command not in ('Daemon', 'Binlog Dump') and p.user not in ('system user', 'event_scheduler')

-- name: sessions.all.missing
select 'the threads of sessions are not seen: MySQL tells them with performance_schema only' from dual where not @@global.performance_schema

-- name: own-counts
-- what a session of ours that only looks has added to the server's counters itself
select max(case variable_name when 'Handler_read_rnd_next' then variable_value end) as rows_returned,
  max(case variable_name when 'Handler_read_key' then variable_value end) as index_scans
from performance_schema.session_status
where variable_name in ('Handler_read_rnd_next', 'Handler_read_key')

-- name: session-counts
-- of the session of a job; rows and transactions of InnoDB are not counted apart
select max(case variable_name when 'Handler_read_key' then variable_value end) as job_index_scans
from performance_schema.session_status where variable_name = 'Handler_read_key'

-- name: sessions.own
select thread_os_id from performance_schema.threads where processlist_id = connection_id()

-- name: sessions.missing
select 'the threads of sessions are not seen: MySQL tells them with performance_schema only' from dual where not @@global.performance_schema

-- name: profile.statements.missing
select 'performance_schema is off: it would time every statement, also within routines' from dual
 where not @@global.performance_schema

-- name: profile.statements
-- Texts are kept of sessions in our own database only: what others do is theirs, and is one row.
select case when schema_name = 'dbdyno' then left(digest_text, 200) else 'other statements' end as name, count_star as calls,
  sum_timer_wait / 1e9 as time_ms, sum_rows_sent as rows_sent, sum_rows_affected as rows_affected,
  sum_rows_examined as rows_examined
from performance_schema.events_statements_summary_by_digest where digest_text is not null
union all
select 'all executions of prepared statements', count_star, sum_timer_wait / 1e9, sum_rows_sent, sum_rows_affected, sum_rows_examined
from performance_schema.events_statements_summary_global_by_event_name where event_name = 'statement/com/Execute'

-- name: profile.io
-- requests and bytes; InnoDB times none of them
select 'data files' as name,
  max(case variable_name when 'Innodb_data_reads' then variable_value end) as 'reads',
  max(case variable_name when 'Innodb_data_read' then variable_value end) as read_bytes,
  max(case variable_name when 'Innodb_data_writes' then variable_value end) as 'writes',
  max(case variable_name when 'Innodb_data_written' then variable_value end) as written_bytes,
  null as syncs
from performance_schema.global_status where variable_name like 'Innodb_data%'
union all
select 'log', null, null, max(case variable_name when 'Innodb_log_writes' then variable_value end),
  max(case variable_name when 'Innodb_os_log_written' then variable_value end),
  max(case variable_name when 'Innodb_os_log_fsyncs' then variable_value end)
from performance_schema.global_status where variable_name in ('Innodb_log_writes', 'Innodb_os_log_written', 'Innodb_os_log_fsyncs')
union all
select 'doublewrite buffer', null, null, max(case variable_name when 'Innodb_dblwr_writes' then variable_value end),
  max(case variable_name when 'Innodb_dblwr_pages_written' then variable_value * @@global.innodb_page_size end), null
from performance_schema.global_status where variable_name in ('Innodb_dblwr_writes', 'Innodb_dblwr_pages_written')

-- name: profile.io.timed
-- files by their kind, with the times, which performance_schema counts if it is on
select concat('timed: ', substring_index(event_name, '/', -1)) as name, count_read as 'reads',
  sum_number_of_bytes_read as read_bytes, sum_timer_read / 1e9 as read_ms, count_write as 'writes',
  sum_number_of_bytes_write as written_bytes, sum_timer_write / 1e9 as write_ms
from performance_schema.file_summary_by_event_name where count_read + count_write > 0

-- name: settings.server
-- every setting that somebody gave; of those that are any text, which may be a password or a path, these only
select v.variable_name as name, v.variable_value as value
from performance_schema.variables_info as i join performance_schema.global_variables as v on v.variable_name = i.variable_name
where i.variable_source <> 'COMPILED'
  and (v.variable_value regexp '^(-?[0-9.]+|ON|OFF|YES|NO)$'
    or v.variable_name in ('default_storage_engine', 'default_tmp_storage_engine', 'innodb_flush_method', 'innodb_monitor_enable'))
order by 1

-- name: settings.performance
-- those that decide about performance and durability, default or not
select variable_name as name, variable_value as value
from performance_schema.global_variables
where variable_name in ('innodb_adaptive_hash_index', 'innodb_buffer_pool_size', 'innodb_change_buffering', 'innodb_doublewrite',
  'innodb_flush_log_at_trx_commit', 'innodb_flush_method', 'innodb_flush_neighbors', 'innodb_io_capacity',
  'innodb_io_capacity_max', 'innodb_log_buffer_size', 'innodb_redo_log_capacity', 'innodb_log_file_size', 'innodb_log_files_in_group',
  'innodb_log_writer_threads', 'innodb_page_size', 'innodb_parallel_read_threads', 'innodb_purge_threads',
  'innodb_read_io_threads', 'innodb_use_native_aio', 'innodb_write_io_threads', 'join_buffer_size', 'log_bin',
  'max_connections', 'performance_schema', 'sort_buffer_size', 'sync_binlog', 'table_open_cache', 'thread_cache_size',
  'thread_handling', 'transaction_isolation')
order by 1

-- name: settings.connection
-- how this connection, and so those of the jobs, is encrypted
select 'tls' as name,
  coalesce(nullif(trim(group_concat(variable_value order by variable_name desc separator ' ')), ''), 'off') as value
from performance_schema.session_status
where variable_name in ('Ssl_version', 'Ssl_cipher')

-- name: network.round-trip
select 1

-- name: network.transfer
select repeat('x', 4000000)

-- name: host.directory
select @@datadir

-- name: rights
-- what is not to be had for lack of a right or of a setting, and the statement that gives it
select 'waits and blocks that the server counts' as lacks,
  concat('grant process on *.* to ''', replace(current_user(), '@', '''@'''), '''') as statement
from dual
where not exists (select 1 from information_schema.user_privileges where privilege_type = 'PROCESS'
  and grantee = concat('''', replace(current_user(), '@', '''@'''), ''''))
union all
select 'transactions that the server counts',
  'set global innodb_monitor_enable = ''trx_rw_commits'', global innodb_monitor_enable = ''trx_ro_commits'', global innodb_monitor_enable = ''trx_nl_ro_commits'', global innodb_monitor_enable = ''trx_rollbacks'', global innodb_monitor_enable = ''log_checkpoints'''
from dual
where exists (select 1 from information_schema.innodb_metrics where status <> 'enabled'
  and name in ('trx_rw_commits', 'trx_ro_commits', 'trx_nl_ro_commits'))

-- name: rights.superuser
-- what the user may and no test needs: a mistake, or what others have planted, would have all of it
select concat(current_user(), ' may administer the server, which no test needs') as lacks,
  'the script of ''dbdyno check TARGET --role-sql'' makes a user that suffices' as statement
from dual
where exists (select 1 from information_schema.user_privileges where privilege_type in ('SUPER', 'CREATE USER')
  and grantee in (concat('''', replace(current_user(), '@', '''@'''), '''')))

-- name: noise
-- what this server does beside the tests; the first matters most
select found, advice
from (
  select 1 as place, 'innodb_stats_auto_recalc' as name, 'ON' as value, 'statistics are gathered while tests run' as found,
    'set global innodb_stats_auto_recalc = off while you measure' as advice
  union all select 2, 'performance_schema', 'ON', 'performance_schema times every statement, also within routines',
    'start the server with performance_schema = off'
  union all select 3, 'innodb_adaptive_hash_index', 'ON', 'the adaptive hash index builds up while tests run',
    'set global innodb_adaptive_hash_index = off while you measure'
) as cause
join performance_schema.global_variables as s on s.variable_name = cause.name
where s.variable_value = cause.value
order by cause.place
