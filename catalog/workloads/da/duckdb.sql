-- name: parallel
-- The threads that DuckDB shares out among all statements, without those of the sessions themselves.
set threads = 1 + coalesce(getvariable('dbdyno_jobs'), 1) * ({{threads}} - 1)

-- name: parallel-build
-- as above
set threads = 1 + coalesce(getvariable('dbdyno_jobs'), 1) * ({{threads}} - 1)

-- name: hashes
-- nothing: it joins equal values by hashes

-- name: DA-INDEX.look
select 1 as built from duckdb_indexes() where index_name = 'da_index'
