-- Counters and settings of MariaDB 10.6 and newer under the standard names of docs/counters.md. A column that is null is
-- a counter that cannot be had. The status adds up all sessions at every reading; those of the whole server are counted,
-- our own readings with them (a dozen rows of a memory table each). "max(case ...)" picks names out of one reading.

-- name: version
select version() as version

-- name: flush
-- nothing: the global status adds up the sessions at every reading

-- name: counters.transactions
-- A statement that commits itself is a transaction. InnoDB counts them only where innodb_monitor_enable says so, which it
-- does on private servers; the status Handler_commit would count the statements within a transaction too. MyRocks (org lsm)
-- counts the writes of its transactions: one each, none of those that only read. A node of Galera counts the transactions of
-- others that it applies, too: of those that write its own are taken. To read innodb_metrics takes the privilege PROCESS: so this
-- is apart from what the status tells.
select rocksdb + case when counted = 3 then coalesce(galera, written) + others end as commits,
  case when counted = 3 then undone end as rollbacks,
  case when counted = 3 then checkpoints end as checkpoints
from (select max(case name when 'trx_rw_commits' then count end) as written,
        sum(case when name in ('trx_ro_commits', 'trx_nl_ro_commits') then count end) as others,
        sum(enabled and name in ('trx_rw_commits', 'trx_ro_commits', 'trx_nl_ro_commits')) as counted,
        max(case name when 'trx_rollbacks' then count end) as undone,
        max(case name when 'log_checkpoints' then count end) as checkpoints
      from information_schema.innodb_metrics
      where name in ('trx_rw_commits', 'trx_ro_commits', 'trx_nl_ro_commits', 'trx_rollbacks', 'log_checkpoints')) as metrics
cross join (
  select coalesce(sum(case when variable_name like 'ROCKSDB%' then variable_value end), 0) as rocksdb,
    case max(case variable_name when 'WSREP_CONNECTED' then variable_value end)
      when 'ON' then max(case variable_name when 'WSREP_LOCAL_COMMITS' then variable_value end) end as galera
  from information_schema.global_status
  where variable_name in ('ROCKSDB_WRITE_SELF', 'ROCKSDB_WRITE_OTHER', 'WSREP_CONNECTED', 'WSREP_LOCAL_COMMITS')) as others

-- name: counters.status
-- All that the status tells, by one reading: it is filled anew for each query, which takes the server longer than anything
-- else that we ask.
-- Rows are of all tables, whatever their schema. A look-up in an index is one Handler_read_key; rows_read counts rows that were
-- found, not the attempts; a full scan reads "rnd_next", or the primary key from its first entry on.
-- Blocks are pages that the server asked its caches for, had to read, and wrote: InnoDB's, with those that were read ahead,
-- those of Aria (tables of org heap, the server's own tables, temporary tables on disk), and blocks of MyRocks (org lsm: those of
-- data, of indexes and of filters; written by flushes and merges), which have caches of their own.
-- With innodb_flush_log_at_trx_commit = 1 every write of the log is followed by one sync; up to 10.7 the syncs themselves
-- are counted. Otherwise writes are not syncs, and the syncs are not counted. MyRocks has a log of its own.
-- lsm_: what MyRocks (org lsm) writes of what users wrote, and what keeps them waiting; null on a server without it.
-- Of a node of a Galera cluster only: how long writers were held up until all nodes had applied what was sent, transactions
-- that failed because another node was first (at their commit, or while they ran), and what was sent to the others.
select
  max(case variable_name when 'HANDLER_READ_KEY' then variable_value end) as index_scans,
  max(case variable_name when 'CONNECTIONS' then variable_value end) as sessions_opened,
  max(case variable_name when 'ROWS_READ' then variable_value end) as rows_fetched,
  max(case variable_name when 'HANDLER_READ_RND_NEXT' then variable_value end) as rows_returned,
  max(case variable_name when 'HANDLER_WRITE' then variable_value end) as rows_inserted,
  max(case variable_name when 'HANDLER_UPDATE' then variable_value end) as rows_updated,
  max(case variable_name when 'HANDLER_DELETE' then variable_value end) as rows_deleted,
  sum(case when variable_name in ('INNODB_BUFFER_POOL_READ_REQUESTS', 'ARIA_PAGECACHE_READ_REQUESTS',
    'ROCKSDB_BLOCK_CACHE_HIT', 'ROCKSDB_BLOCK_CACHE_MISS') then variable_value end) as logical_reads,
  sum(case when variable_name in ('INNODB_PAGES_READ', 'ARIA_PAGECACHE_READS', 'ROCKSDB_BLOCK_CACHE_MISS')
    then variable_value end) as physical_reads,
  sum(case when variable_name in ('INNODB_PAGES_WRITTEN', 'ARIA_PAGECACHE_WRITES') then variable_value
           when variable_name in ('ROCKSDB_FLUSH_WRITE_BYTES', 'ROCKSDB_COMPACT_WRITE_BYTES')
    then variable_value div (select variable_value from information_schema.global_variables
                              where variable_name = 'ROCKSDB_BLOCK_SIZE') end) as blocks_written,
  max(case variable_name when 'INNODB_BUFFER_POOL_WRITE_REQUESTS' then variable_value end) as block_changes,
  sum(case when variable_name in ('INNODB_DEADLOCKS', 'ROCKSDB_ROW_LOCK_DEADLOCKS') then variable_value end) as deadlocks,
  max(case variable_name when 'INNODB_ROW_LOCK_WAITS' then variable_value end) as row_lock_waits,
  sum(case when variable_name in ('INNODB_OS_LOG_WRITTEN', 'ROCKSDB_WAL_BYTES') then variable_value end) as wal_bytes,
  coalesce(max(case variable_name when 'INNODB_OS_LOG_FSYNCS' then variable_value end),
    case when @@global.innodb_flush_log_at_trx_commit = 1
      then max(case variable_name when 'INNODB_LOG_WRITES' then variable_value end) end)
  + coalesce(max(case variable_name when 'ROCKSDB_WAL_SYNCED' then variable_value end), 0) as wal_syncs,
  max(case variable_name when 'INNODB_LOG_WRITES' then variable_value end) as log_writes,
  max(case variable_name when 'INNODB_LOG_WAITS' then variable_value end) as log_buffer_full,
  max(case variable_name when 'ROCKSDB_BYTES_WRITTEN' then variable_value end) as lsm_user_bytes,
  max(case variable_name when 'ROCKSDB_FLUSH_WRITE_BYTES' then variable_value end) as lsm_flushed_bytes,
  max(case variable_name when 'ROCKSDB_COMPACT_READ_BYTES' then variable_value end) as lsm_merge_read_bytes,
  max(case variable_name when 'ROCKSDB_COMPACT_WRITE_BYTES' then variable_value end) as lsm_merge_written_bytes,
  max(case variable_name when 'ROCKSDB_STALL_MICROS' then variable_value / 1000000 end) as lsm_stall_s,
  max(case variable_name when 'ROCKSDB_STALL_TOTAL_STOPS' then variable_value end) as lsm_stops,
  max(case variable_name when 'ROCKSDB_STALL_TOTAL_SLOWDOWNS' then variable_value end) as lsm_slowdowns,
  max(case variable_name when 'ROCKSDB_BLOOM_FILTER_USEFUL' then variable_value end) as lsm_filter_hits,
  max(case variable_name when 'ROCKSDB_BLOCK_CACHE_HIT' then variable_value end) as lsm_cache_hits,
  max(case variable_name when 'ROCKSDB_BLOCK_CACHE_MISS' then variable_value end) as lsm_cache_misses,
  max(case variable_name when 'ROCKSDB_MEMTABLE_HIT' then variable_value end) as lsm_memory_hits,
  max(case variable_name when 'ROCKSDB_ROWS_READ' then variable_value end) as lsm_rows_read,
  sum(case when variable_name in ('ROCKSDB_ROWS_INSERTED', 'ROCKSDB_ROWS_UPDATED', 'ROCKSDB_ROWS_DELETED')
    then variable_value end) as lsm_rows_changed,
  case max(case variable_name when 'WSREP_CONNECTED' then variable_value end)
    when 'ON' then max(case variable_name when 'WSREP_FLOW_CONTROL_PAUSED_NS' then variable_value / 1000000000 end)
  end as flow_control_paused_s,
  case max(case variable_name when 'WSREP_CONNECTED' then variable_value end)
    when 'ON' then max(case variable_name when 'WSREP_LOCAL_CERT_FAILURES' then variable_value end) end as cert_failures,
  case max(case variable_name when 'WSREP_CONNECTED' then variable_value end)
    when 'ON' then max(case variable_name when 'WSREP_LOCAL_BF_ABORTS' then variable_value end) end as brute_force_aborts,
  case max(case variable_name when 'WSREP_CONNECTED' then variable_value end)
    when 'ON' then max(case variable_name when 'WSREP_REPLICATED_BYTES' then variable_value end) end as replicated_bytes
from information_schema.global_status
where variable_name in (
  'ARIA_PAGECACHE_READS', 'ARIA_PAGECACHE_READ_REQUESTS', 'ARIA_PAGECACHE_WRITES', 'CONNECTIONS', 'HANDLER_DELETE',
  'HANDLER_READ_KEY', 'HANDLER_READ_RND_NEXT', 'HANDLER_UPDATE', 'HANDLER_WRITE', 'INNODB_BUFFER_POOL_READ_REQUESTS',
  'INNODB_BUFFER_POOL_WRITE_REQUESTS', 'INNODB_DEADLOCKS', 'INNODB_LOG_WAITS', 'INNODB_LOG_WRITES',
  'INNODB_OS_LOG_FSYNCS', 'INNODB_OS_LOG_WRITTEN', 'INNODB_PAGES_READ', 'INNODB_PAGES_WRITTEN', 'INNODB_ROW_LOCK_WAITS',
  'ROCKSDB_BLOCK_CACHE_HIT', 'ROCKSDB_BLOCK_CACHE_MISS', 'ROCKSDB_BLOOM_FILTER_USEFUL', 'ROCKSDB_BYTES_WRITTEN',
  'ROCKSDB_COMPACT_READ_BYTES', 'ROCKSDB_COMPACT_WRITE_BYTES', 'ROCKSDB_FLUSH_WRITE_BYTES', 'ROCKSDB_MEMTABLE_HIT',
  'ROCKSDB_ROWS_DELETED', 'ROCKSDB_ROWS_INSERTED', 'ROCKSDB_ROWS_READ', 'ROCKSDB_ROWS_UPDATED',
  'ROCKSDB_ROW_LOCK_DEADLOCKS', 'ROCKSDB_STALL_MICROS', 'ROCKSDB_STALL_TOTAL_SLOWDOWNS', 'ROCKSDB_STALL_TOTAL_STOPS',
  'ROCKSDB_WAL_BYTES', 'ROCKSDB_WAL_SYNCED', 'ROWS_READ', 'WSREP_CONNECTED', 'WSREP_FLOW_CONTROL_PAUSED_NS',
  'WSREP_LOCAL_BF_ABORTS', 'WSREP_LOCAL_CERT_FAILURES', 'WSREP_REPLICATED_BYTES')

-- name: counters.durability
-- while-jobs-run: no
-- A gauge: 1 if a commit waits until the log is on durable storage. With a binary log InnoDB syncs when a transaction is
-- prepared and leaves the commit itself to the binary log, from which it is recovered: that must be synced at every commit
-- too. With innodb_flush_log_at_trx_commit = 3 InnoDB syncs at the commit as well. Of MyRocks the setting counts where we have
-- tables of it.
select (@@global.innodb_flush_log_at_trx_commit = 3
    or @@global.innodb_flush_log_at_trx_commit = 1 and (@@global.log_bin = 0 or @@global.sync_binlog = 1))
  and @@global.innodb_flush_method not in ('nosync', 'littlesync')
  and not exists (select 1 from information_schema.global_variables
                   where variable_name = 'ROCKSDB_FLUSH_LOG_AT_TRX_COMMIT' and variable_value <> '1'
                     and exists (select 1 from information_schema.tables
                                  where table_schema = 'dbdyno' and engine = 'ROCKSDB')) as durable

-- name: counters.instruments
-- while-jobs-run: no
-- a gauge: 1 if the server instruments every statement, also each within a routine
select @@global.performance_schema as instruments

-- name: counters.debt
-- while-jobs-run: no
-- Gauges of what is put off: changed pages that are not written, log since the last checkpoint, and transactions whose old
-- versions of rows are not purged. Of MyRocks what is in memory only, and what is to be merged: level 0, and of other levels what is
-- over their target size (the score tells how many times that a level is); it shows no estimate of its own.
begin not atomic
  set @dbdyno_debt_merge = null;
  if exists (select 1 from information_schema.engines where engine = 'ROCKSDB' and support in ('YES', 'DEFAULT')) then
    execute immediate 'select coalesce(sum(case when size.level = ''L0'' then size.value
        when score.value > 1 then size.value * (1 - 1 / score.value) else 0 end), 0) into @dbdyno_debt_merge
      from information_schema.rocksdb_compaction_stats as size
      join information_schema.rocksdb_compaction_stats as score using (cf_name, level)
      where size.type = ''SizeBytes'' and score.type = ''Score'' and size.level <> ''Sum''';
  end if;
  select
    max(case variable_name when 'INNODB_BUFFER_POOL_PAGES_DIRTY' then variable_value end) as debt_dirty_blocks,
    max(case variable_name when 'INNODB_CHECKPOINT_AGE' then variable_value end) as debt_log_bytes,
    max(case variable_name when 'INNODB_HISTORY_LIST_LENGTH' then variable_value end) as debt_undo,
    max(case variable_name when 'ROCKSDB_MEMTABLE_UNFLUSHED' then variable_value end) as debt_memory_bytes,
    @dbdyno_debt_merge as debt_merge_bytes
  from information_schema.global_status
  where variable_name in ('INNODB_BUFFER_POOL_PAGES_DIRTY', 'INNODB_CHECKPOINT_AGE', 'INNODB_HISTORY_LIST_LENGTH',
    'ROCKSDB_MEMTABLE_UNFLUSHED');
end

-- name: pay.again
-- A checkpoint on request writes all changed pages at the speed of the device, also those that the purge changes meanwhile; 11.4.5
-- has it in debug builds only.
select 'set global innodb_log_checkpoint_now = 1' as statement
from information_schema.system_variables where variable_name = 'INNODB_LOG_CHECKPOINT_NOW'

-- name: pay.hurry
-- With these at 0 the page cleaner writes all changed pages, once a second at most innodb_io_capacity. MyRocks flushes and merges
-- level 0 at once; what a flush under way adds to that meanwhile, by the second one. Once the jobs have ended the purge of old versions
-- rests for up to a second; the end of an export lets it go on at once. On a cluster an export would stop the node.
select case seq when 1 then 'flush tables mysql.innodb_table_stats for export' else 'unlock tables' end as hurry, 'do 0' as calm
from information_schema.tables, seq_1_to_2
where table_schema = 'mysql' and table_name = 'innodb_table_stats' and engine = 'InnoDB'
  and not exists (select 1 from information_schema.global_variables where variable_name = 'WSREP_ON' and variable_value = 'ON')
union all
select 'set global rocksdb_force_flush_memtable_and_lzero_now = 1', 'do 0'
from information_schema.engines, seq_1_to_2 where engine = 'ROCKSDB' and support in ('YES', 'DEFAULT')
union all
select 'set global innodb_max_dirty_pages_pct_lwm = 0',
  concat('set global innodb_max_dirty_pages_pct_lwm = ', @@global.innodb_max_dirty_pages_pct_lwm)
union all
select 'set global innodb_max_dirty_pages_pct = 0',
  concat('set global innodb_max_dirty_pages_pct = ', @@global.innodb_max_dirty_pages_pct)

-- name: sessions
-- period: 0.205
-- log-file: ib_log
-- Sessions of our user. The stage of a session does not tell whether it works or waits: its thread does, where it can be
-- read. A statement of commits ends (Starting cleanup, Updating status) when the log is synced. InnoDB's lock waits are copied at most every 0.1 s
-- (CACHE_MIN_IDLE_TIME_NS), so that to ask more often shows old ones; and a look costs the server 0.7 ms of CPU time, most of it
-- for the table of processes, which MariaDB makes on disk. Where innodb_monitor_enable counts the checkpoint's age: from
-- the limit on that begins 7/8 of the way to the greatest age InnoDB writes changed pages as fast as it can (a row of the
-- server's own, in place of that of this session: a second query would fill the table of metrics twice), and at the greatest
-- age sessions wait for it (98 % of it, since it is never met exactly).
with log as (
  select coalesce(max(case name when 'log_lsn_checkpoint_age' then count end)
    / nullif(max(case name when 'log_max_modified_age_async' then count end), 0), 0) as age
  from information_schema.innodb_metrics where name in ('log_lsn_checkpoint_age', 'log_max_modified_age_async'))
select nullif(p.id, connection_id()) as id, case when p.id <> connection_id() then p.tid end as thread,
  @@global.thread_handling = 'one-thread-per-connection' as keeps_thread, p.command = 'Sleep' as idle,
  case when p.id = connection_id() then 'checkpointer: the log is nearly full' when t.trx_id is not null then 'Lock'
    when p.state like 'Commit%' or p.state in ('Starting cleanup', 'Updating status') then 'Commit'
    when p.state like 'Waiting for%' then 'Lock' when log.age > 0.98 * 8 / 7 then 'checkpointer: the log is full' else 'Stage' end as class,
  case when p.id = connection_id() then 'writes changed pages' when t.trx_id is not null then 'row lock'
    else coalesce(nullif(p.state, ''), p.command) end as event,
  case when p.id = connection_id() then 'data-write' when t.trx_id is not null then 'row-lock'
    when p.state like 'Commit%' or p.state in ('Starting cleanup', 'Updating status') then 'log-sync'
    when p.state like 'Waiting for%' or log.age > 0.98 * 8 / 7 then 'other' end as activity
from information_schema.processlist as p
cross join log
left join information_schema.innodb_trx as t on t.trx_mysql_thread_id = p.id and t.trx_state = 'LOCK WAIT'
where case when p.id = connection_id() then log.age > 1 else p.user = substring_index(user(), '@', 1) end

-- name: sessions.less
-- row locks are not told from other waits without the right PROCESS
select p.id, p.tid as thread, @@global.thread_handling = 'one-thread-per-connection' as keeps_thread,
  p.command = 'Sleep' as idle,
  case when p.state like 'Commit%' or p.state in ('Starting cleanup', 'Updating status') then 'Commit'
    when p.state like 'Waiting for%' then 'Lock' else 'Stage' end as class,
  coalesce(nullif(p.state, ''), p.command) as event,
  case when p.state like 'Commit%' or p.state in ('Starting cleanup', 'Updating status') then 'log-sync'
    when p.state like 'Waiting for%' then 'other' end as activity
from information_schema.processlist as p
where p.id <> connection_id() and p.user = substring_index(user(), '@', 1)

-- name: sessions.all
-- Every session but this one; our other one sleeps while this one looks.
select p.id, p.tid as thread, p.command = 'Sleep' as idle,
  case when t.trx_id is not null then 'Lock' when p.state like 'Commit%' or p.state in ('Starting cleanup', 'Updating status') then 'Commit'
    when p.state like 'Waiting for%' then 'Lock' else 'Stage' end as class,
  case when t.trx_id is not null then 'row lock' else coalesce(nullif(p.state, ''), p.command) end as event,
  case when t.trx_id is not null then 'row-lock' when p.state like 'Commit%' or p.state in ('Starting cleanup', 'Updating status') then 'log-sync'
    when p.state like 'Waiting for%' then 'other' end as activity
from information_schema.processlist as p
left join information_schema.innodb_trx as t on t.trx_mysql_thread_id = p.id and t.trx_state = 'LOCK WAIT'
where p.id <> connection_id() and p.command not in ('Daemon', 'Binlog Dump') and p.user <> 'system user'

-- name: sessions.all.less
-- row locks and the sessions of other users are not seen without the right PROCESS
select p.id, p.tid as thread, p.command = 'Sleep' as idle,
  case when p.state like 'Commit%' or p.state in ('Starting cleanup', 'Updating status') then 'Commit'
    when p.state like 'Waiting for%' then 'Lock' else 'Stage' end as class,
  coalesce(nullif(p.state, ''), p.command) as event,
  case when p.state like 'Commit%' or p.state in ('Starting cleanup', 'Updating status') then 'log-sync'
    when p.state like 'Waiting for%' then 'other' end as activity
from information_schema.processlist as p
where p.id <> connection_id() and p.command not in ('Daemon', 'Binlog Dump') and p.user <> 'system user'

-- name: sessions.all.missing
select 'the server''s own threads are not seen: MariaDB lists none without performance_schema'

-- name: own-counts
-- what a session of ours that only looks has added to the server's counters itself
select max(case variable_name when 'HANDLER_READ_RND_NEXT' then variable_value end) as rows_returned,
  max(case variable_name when 'HANDLER_READ_KEY' then variable_value end) as index_scans
from information_schema.session_status
where variable_name in ('HANDLER_READ_RND_NEXT', 'HANDLER_READ_KEY')

-- name: session-counts
-- of the session of a job; its transactions are not counted apart
select max(case variable_name when 'HANDLER_READ_KEY' then variable_value end) as job_index_scans,
  max(case variable_name when 'ROWS_READ' then variable_value end) as job_rows_fetched,
  max(case variable_name when 'HANDLER_WRITE' then variable_value end) as job_rows_inserted,
  max(case variable_name when 'HANDLER_UPDATE' then variable_value end) as job_rows_updated
from information_schema.session_status
where variable_name in ('HANDLER_READ_KEY', 'ROWS_READ', 'HANDLER_WRITE', 'HANDLER_UPDATE')

-- name: sessions.own
select tid from information_schema.processlist where id = connection_id()

-- name: sessions.missing
select 'the server''s own threads are not seen: MariaDB lists none without performance_schema'

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
  max(case variable_name when 'INNODB_DATA_READS' then variable_value end) as 'reads',
  max(case variable_name when 'INNODB_DATA_READ' then variable_value end) as read_bytes,
  max(case variable_name when 'INNODB_DATA_WRITES' then variable_value end) as writes,
  max(case variable_name when 'INNODB_DATA_WRITTEN' then variable_value end) as written_bytes,
  null as syncs
from information_schema.global_status where variable_name like 'INNODB_DATA%'
union all
select 'log', null, null, max(case variable_name when 'INNODB_LOG_WRITES' then variable_value end),
  max(case variable_name when 'INNODB_OS_LOG_WRITTEN' then variable_value end),
  coalesce(max(case variable_name when 'INNODB_OS_LOG_FSYNCS' then variable_value end),
    case when @@global.innodb_flush_log_at_trx_commit = 1
      then max(case variable_name when 'INNODB_LOG_WRITES' then variable_value end) end)
from information_schema.global_status where variable_name in ('INNODB_LOG_WRITES', 'INNODB_OS_LOG_WRITTEN', 'INNODB_OS_LOG_FSYNCS')
union all
select 'doublewrite buffer', null, null, max(case variable_name when 'INNODB_DBLWR_WRITES' then variable_value end),
  max(case variable_name when 'INNODB_DBLWR_PAGES_WRITTEN' then variable_value * @@global.innodb_page_size end), null
from information_schema.global_status where variable_name in ('INNODB_DBLWR_WRITES', 'INNODB_DBLWR_PAGES_WRITTEN')
union all
select 'Aria files', max(case variable_name when 'ARIA_PAGECACHE_READS' then variable_value end),
  max(case variable_name when 'ARIA_PAGECACHE_READS' then variable_value * @@global.aria_block_size end),
  max(case variable_name when 'ARIA_PAGECACHE_WRITES' then variable_value end),
  max(case variable_name when 'ARIA_PAGECACHE_WRITES' then variable_value * @@global.aria_block_size end), null
from information_schema.global_status where variable_name in ('ARIA_PAGECACHE_READS', 'ARIA_PAGECACHE_WRITES')

-- name: profile.io.timed
-- files by their kind, with the times, which performance_schema counts if it is on; not those of InnoDB's log
select concat('timed: ', substring_index(event_name, '/', -1)) as name, count_read as 'reads',
  sum_number_of_bytes_read as read_bytes, sum_timer_read / 1e9 as read_ms, count_write as writes,
  sum_number_of_bytes_write as written_bytes, sum_timer_write / 1e9 as write_ms
from performance_schema.file_summary_by_event_name where count_read + count_write > 0

-- name: settings.server
-- every setting that differs from its default; of those that are any text, which may be a password or a path, these only
select lower(variable_name) as name, global_value as value
from information_schema.system_variables
where global_value is not null and global_value_origin not in ('COMPILE-TIME', 'AUTO')
  and (default_value is null or global_value <> default_value)
  and (variable_type <> 'VARCHAR' or variable_name in ('DEFAULT_STORAGE_ENGINE', 'DEFAULT_TMP_STORAGE_ENGINE',
    'ENFORCE_STORAGE_ENGINE', 'GTID_POS_AUTO_ENGINES', 'INNODB_MONITOR_ENABLE', 'VERSION_MALLOC_LIBRARY'))
order by 1

-- name: settings.performance
-- those that decide about performance and durability, default or not
select lower(variable_name) as name, global_value as value
from information_schema.system_variables
where variable_name in ('INNODB_ADAPTIVE_HASH_INDEX', 'INNODB_BUFFER_POOL_SIZE', 'INNODB_CHANGE_BUFFERING', 'INNODB_DOUBLEWRITE',
  'INNODB_FLUSH_LOG_AT_TRX_COMMIT', 'INNODB_FLUSH_METHOD', 'INNODB_FLUSH_NEIGHBORS', 'INNODB_IO_CAPACITY',
  'INNODB_IO_CAPACITY_MAX', 'INNODB_LOG_BUFFER_SIZE', 'INNODB_LOG_FILE_SIZE', 'INNODB_LOG_FILE_BUFFERING', 'INNODB_PAGE_SIZE',
  'INNODB_PURGE_THREADS', 'INNODB_READ_IO_THREADS', 'INNODB_USE_NATIVE_AIO', 'INNODB_WRITE_IO_THREADS', 'LOG_BIN',
  'ARIA_BLOCK_SIZE', 'ARIA_PAGECACHE_BUFFER_SIZE', 'MAX_CONNECTIONS', 'PERFORMANCE_SCHEMA', 'QUERY_CACHE_TYPE',
  'SORT_BUFFER_SIZE', 'SYNC_BINLOG', 'TABLE_OPEN_CACHE',
  'ROCKSDB_BLOCK_CACHE_SIZE', 'ROCKSDB_BLOCK_SIZE', 'ROCKSDB_DEFAULT_CF_OPTIONS', 'ROCKSDB_FLUSH_LOG_AT_TRX_COMMIT',
  'ROCKSDB_MAX_BACKGROUND_JOBS', 'ROCKSDB_USE_DIRECT_READS',
  'THREAD_CACHE_SIZE', 'THREAD_HANDLING', 'TX_ISOLATION', 'TRANSACTION_ISOLATION', 'USERSTAT')
order by 1

-- name: settings.cluster
-- of a node of Galera: what a read waits for (0: nothing), and threads that apply what others wrote
select 'cluster_consistency' as name, group_concat(concat(lower(variable_name), '=', variable_value) order by variable_name
    separator ', ') as value
from information_schema.global_variables
where variable_name in ('WSREP_SYNC_WAIT', 'WSREP_SLAVE_THREADS')
  and 'ON' = (select variable_value from information_schema.global_status where variable_name = 'WSREP_CONNECTED')
having count(*) > 0

-- name: settings.connection
-- how this connection, and so those of the jobs, is encrypted
select 'tls' as name,
  coalesce(nullif(trim(group_concat(variable_value order by variable_name desc separator ' ')), ''), 'off') as value
from information_schema.session_status
where variable_name in ('SSL_VERSION', 'SSL_CIPHER')

-- name: network.round-trip
select 1

-- name: network.transfer
select repeat('x', 4000000)

-- name: host.directory
select @@datadir

-- name: rights
-- what is not to be had for lack of a right, and the statement that grants it
select 'transactions and waits that the server counts' as lacks,
  concat('grant process on *.* to ''', replace(current_user(), '@', '''@'''), '''') as statement
from dual
where not exists (select 1 from information_schema.user_privileges where privilege_type = 'PROCESS'
  and grantee in (concat('''', replace(current_user(), '@', '''@'''), ''''), concat('''', current_role(), '''')))

-- name: rights.superuser
-- what the user may and no test needs: a mistake, or what others have planted, would have all of it
select concat(current_user(), ' may administer the server, which no test needs') as lacks,
  'the script of ''dbdyno check TARGET --role-sql'' makes a user that suffices' as statement
from dual
where exists (select 1 from information_schema.user_privileges where privilege_type in ('SUPER', 'CREATE USER')
  and grantee in (concat('''', replace(current_user(), '@', '''@'''), ''''), concat('''', current_role(), '''')))

-- name: noise
-- what this server does beside the tests; the first matters most
select found, advice
from (
  select 1 as place, 'INNODB_STATS_AUTO_RECALC' as name, 'ON' as value, 'statistics are gathered while tests run' as found,
    'set global innodb_stats_auto_recalc = off while you measure' as advice
  union all select 2, 'PERFORMANCE_SCHEMA', 'ON', 'performance_schema times every statement, also within routines',
    'start the server with performance_schema = off'
  union all select 3, 'QUERY_CACHE_TYPE', 'ON', 'the query cache answers some statements', 'set global query_cache_type = off'
  union all select 4, 'INNODB_ADAPTIVE_HASH_INDEX', 'ON', 'the adaptive hash index builds up while tests run',
    'set global innodb_adaptive_hash_index = off while you measure'
) as cause
join information_schema.system_variables as s on s.variable_name = cause.name
where s.global_value = cause.value
order by cause.place
