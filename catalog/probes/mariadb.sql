-- Counters and settings of MariaDB 10.6 and newer under the standard names of docs/counters.md. A column that is null is
-- a counter that cannot be had.

-- name: version
select version() as version

-- name: flush
-- nothing: the global status adds up the sessions at every reading
