-- What several groups need on PostgreSQL.

-- name: parallel
-- So many processes for a scan, the session's own included, whatever the planner thinks of the table's size.
select set_config('max_parallel_workers_per_gather', ({{threads}} - 1)::text, false),
  set_config('parallel_setup_cost', '0', false), set_config('parallel_tuple_cost', '0', false),
  set_config('min_parallel_table_scan_size', '0', false)
