-- What several groups need on DuckDB.

-- name: parallel
-- The threads that DuckDB shares out among all statements, without those of the sessions themselves.
set threads = 1 + coalesce(getvariable('dbdyno_jobs'), 1) * ({{threads}} - 1)
