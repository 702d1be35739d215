-- DuckDB: counters are what its own log (FileSystem, Transaction, QueryLog) says, added up by our engine since the file was
-- attached and put into variables of the asking session (engine::duckdb::counts). Statements and transactions are those of
-- the jobs, transactions known only where jobs commit: their entries would cost a look-up a sixth of its time.

-- name: version
select ltrim(version(), 'v') as version

-- name: counters.files
-- all reads and writes of the file are of whole blocks, but for its headers of 4096 bytes
select getvariable('dbdyno_read_bytes') / block_size as physical_reads,
       getvariable('dbdyno_written_bytes') // block_size as blocks_written,
       getvariable('dbdyno_wal_bytes') as wal_bytes,
       getvariable('dbdyno_temp_bytes') as temp_bytes
  from pragma_database_size() where database_name = 'dbdyno'

-- name: counters.transactions
select getvariable('dbdyno_commits') as commits,
       getvariable('dbdyno_rollbacks') as rollbacks,
       getvariable('dbdyno_checkpoints') as checkpoints,
       getvariable('dbdyno_statements') as statements_run

-- name: counters.threads
-- of all threads that statements run in, DuckDB's and those of the jobs
select getvariable('dbdyno_cpu_s') as worker_cpu_s

-- name: counters.durability
-- a gauge: every commit to a file waits until its log is synced; DuckDB has no setting for it
select (count(*) > 0)::integer as durable from duckdb_databases() where database_name = 'dbdyno' and path is not null

-- name: pay.work
-- what is put off: the log is copied into the file
select 'checkpoint dbdyno' as statement

-- name: settings.engine
select name, value from duckdb_settings()
 where name in ('memory_limit', 'threads', 'checkpoint_threshold', 'max_temp_directory_size', 'preserve_insertion_order',
   'index_scan_max_count', 'index_scan_percentage', 'force_compression', 'external_threads', 'scheduler_process_partial',
   'allocator_background_threads', 'immediate_transaction_mode', 'enable_object_cache', 'prefetch_all_parquet_files')

-- name: settings.file
select 'block_size' as name, block_size::varchar as value from pragma_database_size() where database_name = 'dbdyno'
union all
select 'storage_version', tags['storage_version'] from duckdb_databases() where database_name = 'dbdyno'
