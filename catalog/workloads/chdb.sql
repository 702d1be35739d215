-- What several groups need on ClickHouse.

-- name: parallel
-- The threads that work on a statement; a job's session has one without it.
set max_threads = {{threads}}
