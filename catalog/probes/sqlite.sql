-- SQLite: what a session can tell. The counters are those of the job's own connections, which the engine reads from the
-- library itself (sqlite3_db_status, sqlite3_stmt_status); there is no server that could count for all.

-- name: version
select sqlite_version() as version

-- name: counters.durability
-- a gauge: 1 if a commit waits until the log is on durable storage. With a write-ahead log that takes synchronous =
-- full (2); "normal" syncs at checkpoints only.
select synchronous >= 2 and journal_mode not in ('off', 'memory') as durable
from pragma_synchronous, pragma_journal_mode

-- name: counters.build
-- a gauge: 1 if the library was built with memory management, which puts one lock around the page caches of all connections
select exists(select 1 from pragma_compile_options where compile_options = 'ENABLE_MEMORY_MANAGEMENT') as cache_lock

-- name: pay.work
-- what is put off: the log is copied into the file
select 'pragma wal_checkpoint(truncate)' as statement

-- name: settings.pragmas
-- of the session that asks; jobs' sessions are opened with the same settings
select 'journal_mode' as name, journal_mode as value from pragma_journal_mode
union all select 'synchronous', synchronous from pragma_synchronous
union all select 'cache_size', cache_size from pragma_cache_size
union all select 'page_size', page_size from pragma_page_size
union all select 'locking_mode', locking_mode from pragma_locking_mode
union all select 'temp_store', temp_store from pragma_temp_store
union all select 'auto_vacuum', auto_vacuum from pragma_auto_vacuum
union all select 'busy_timeout', timeout from pragma_busy_timeout
union all select 'cache_spill', cache_spill from pragma_cache_spill
union all select 'encoding', encoding from pragma_encoding

-- name: settings.build
-- what the library was compiled with
select 'compile_options' as name, group_concat(compile_options, ' ') as value from pragma_compile_options
