-- name: DA-SORT.parallel
-- Beside the cache each sort has memory of its own, as on a server: the least that DuckDB sorts rows of this width in. What does not
-- fit goes to temporary files.
{{parallel}};
set memory_limit = coalesce((getvariable('dbdyno_memory_mib') + 64 * getvariable('dbdyno_jobs')) || 'MiB',
  current_setting('memory_limit'))

-- name: parallel-build
-- as `parallel`
set threads = 1 + coalesce(getvariable('dbdyno_jobs'), 1) * ({{threads}} - 1)

-- name: hashes
-- nothing: it joins equal values by hashes

-- name: DA-INDEX.look
select 1 as built from duckdb_indexes() where index_name = 'da_index'
