-- ClickHouse (chDB): counters are its own events (system.events), of all sessions of the process. What control sessions ask is
-- counted by our engine, and taken off.

-- name: version
select version() as version

-- name: counters.events
-- In units of the least size of a block (65,536 bytes), whatever the size of a block: of columns that statements went through,
-- and of files that were read because its cache did not have their blocks.
select sumIf(value, event = 'SelectedBytes') / getSetting('min_compress_block_size') as logical_reads,
       sumIf(value, event = 'ReadCompressedBytes') / getSetting('min_compress_block_size') as physical_reads,
       sumIf(value, event = 'SelectedRows') as rows_returned,
       sumIf(value, event = 'SelectQuery') - {control_queries:UInt64} as statements_run,
       sumIf(value, event = 'ExternalProcessingCompressedBytesTotal') as temp_bytes,
       sumIf(value, event in ('UserTimeMicroseconds', 'SystemTimeMicroseconds')) / 1e6 as worker_cpu_s
  from system.events

-- name: settings.engine
-- of the session that asks; jobs' sessions have the same, and one thread unless threads says more
select name, value from system.settings
 where name in ('max_bytes_before_external_sort', 'max_bytes_before_external_group_by', 'use_uncompressed_cache',
   'merge_tree_max_rows_to_use_cache', 'merge_tree_max_bytes_to_use_cache', 'use_query_condition_cache', 'use_query_cache',
   'join_algorithm', 'local_filesystem_read_method', 'max_compress_block_size', 'min_table_rows_to_use_projection_index',
   'fsync_metadata', 'min_compress_block_size')

-- name: settings.server
select name, value from system.server_settings
 where name in ('max_server_memory_usage', 'uncompressed_cache_size', 'uncompressed_cache_policy', 'mark_cache_size',
   'background_pool_size')

-- name: settings.tables
select name, value from system.merge_tree_settings
 where name in ('index_granularity', 'index_granularity_bytes', 'min_bytes_for_wide_part', 'fsync_after_insert')
union all
select distinct 'table_engine', engine from system.tables where database = 'dbdyno' and name in ('small', 'big')

-- name: settings.version
-- what the library is built from
select 'clickhouse_version' as name, version() as value
