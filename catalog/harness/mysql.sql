-- The database drive of MySQL: the loop of MariaDB's harness, in which a body may commit. Unlike MariaDB's server MySQL's waits for
-- every commit within a routine before it goes on (measured: 500 commits of one call are 500 syncs of the log), so that a
-- workload whose ops commit has its loop inside the database, too. MySQL replaces no routine: it is dropped and made anew, by one text.

-- name: function
drop procedure if exists {{routine}};
create procedure {{routine}}(p_job bigint, p_jobs bigint, p_slice_us bigint, p_max_ops bigint,
  p_stride bigint, p_seed bigint)
  sql security invoker comment 'made by dbdyno'
{{loop}}

-- name: procedure
drop procedure if exists {{routine}};
create procedure {{routine}}(p_job bigint, p_jobs bigint, p_slice_us bigint, p_max_ops bigint,
  p_stride bigint, p_seed bigint)
  sql security invoker comment 'made by dbdyno'
{{loop}}

-- name: call
call {{routine}}(:job, :jobs, :slice_us, :max_ops, :stride, :seed)
