-- The database drive of MariaDB: a workload's body is put at the place marked body, its declarations at declare.
-- 'dbdyno show workload ID' prints the result.
--
-- A workload whose ops do not commit gets the block "function": a procedure with the loop in it, one call per slice, which
-- ends with one row of results (a function of MariaDB can return one value only). Ops run in bursts: one timed op, then
-- stride - 1 ops without a look at the clock (the longest burst is told, from the end of the one before: a stall between two counts), and so on; as in the other engines' harness. Two things are MariaDB's own:
-- now(6) stands still within a routine, sysdate(6) does not; and samples are collected in a short binary string, because
-- every longer value is copied (and text checked) several times at every assignment: that cost 50 us per sample.
--
-- A workload whose ops commit gets the block "transaction": a procedure of ONE op, called once per op by our client loop.
-- A COMMIT inside a routine is not waited for in MariaDB: the server goes on with the next statement and only holds back the
-- answer to the client until the log is on durable storage. A loop of commits inside a routine would therefore measure no
-- durable commits at all. One CALL per transaction is answered when its commit is durable.
--
-- Blocks draw-*: a key from the state of the key generator by the law that the parameters keys and place choose, as an
-- expression: what a body has where it says {{drawn_NAME}} of a bind that is keyed (docs/decisions/0038-skewed-keys.md).
--
-- What a body may use: p_job, p_jobs, v_seed (state of the key generator, already advanced for this op; it may be advanced
-- further with set v_seed = v_seed * 48271 % 2147483647), v_rows, v_commits, v_sink, and its own declarations: in MariaDB's
-- order, variables, then cursors, then handlers. Keys: 1 + (v_seed * N >> 31). Assignments need "set". Of the variables, rows
-- and commits are what the executor did: row_count() after "select ... into", insert, update and delete; or, in the shortest
-- ops, "select ..., v_rows + 1 into ..., v_rows": it counts where a row is found, and spares a statement of 0.3 us.
--
-- A body that commits does so at most once per op, as the last thing that changes data. Autocommit is on: a single
-- statement commits by itself; several begin with "start transaction" and end with "commit". Both count it with
-- set v_commits = v_commits + 1. A body of a committing workload may leave commits out (a read of a mixed workload).

-- name: draw-uniform
1 + (v_seed * {{keys}} >> 31)

-- name: draw-zipf
cast(floor(power({{lowest}} + v_seed * {{step}}, {{exponent}}) + 0.5) as signed)

-- name: draw-hot
case when v_seed < {{below}} then 1 + v_seed * {{hot}} div {{below}}
  else 1 + {{hot}} + (v_seed - {{below}}) * {{rest}} div {{rest_states}} end

-- name: draw-scattered
1 + ({{rank}}) * {{factor}} % {{keys}}

-- name: loop
-- of every procedure of many ops
begin
  declare v_seed bigint default p_seed;
  declare v_rows bigint default 0;
  declare v_commits bigint default 0;
  declare v_sink double default 0;
  declare v_ops bigint default 0;
  declare v_op bigint default 0;
  declare v_burst bigint default 1;
  declare v_timed bool default true;
  declare v_begin, v_previous, v_before, v_now datetime(6);
  declare v_elapsed_us bigint default 0;
  declare v_samples int default 0;
  declare v_chunk varbinary(1000) default '';
  declare v_samples_us longblob default '';
  declare v_longest_us bigint default 0;
  {{declare}}
  set v_begin = sysdate(6);
  set v_now = v_begin;
  while v_burst > 0 do
    set v_previous = v_now;
    set v_before = if(p_stride = 1, v_now, sysdate(6));
    set v_op = v_burst;
    repeat
      set v_op = v_op - 1;
      set v_seed = v_seed * 48271 % 2147483647;
      {{body}}
      until v_op = 0
    end repeat;
    set v_now = sysdate(6);
    set v_ops = v_ops + v_burst;
    -- Negative if the clock was set back: then the slice ends, and nobody believes its times.
    set v_elapsed_us = timestampdiff(microsecond, if(v_now < v_previous, v_previous, v_begin), v_now);
    if p_stride > 1 then
      set v_longest_us = greatest(v_longest_us, timestampdiff(microsecond, v_previous, v_now));
    end if;
    if v_timed and v_samples < 65536 then
      set v_samples = v_samples + 1;
      set v_chunk = concat(v_chunk, timestampdiff(microsecond, v_before, v_now), ' ');
      if length(v_chunk) > 900 then
        set v_samples_us = concat(v_samples_us, v_chunk);
        set v_chunk = '';
      end if;
    end if;
    set v_timed = p_stride = 1 or not v_timed;
    set v_burst = case
      when v_elapsed_us >= p_slice_us or v_elapsed_us < 0 then 0
      when v_timed then least(1, p_max_ops - v_ops)
      else least(p_stride - 1, p_max_ops - v_ops,
                 1 + (p_slice_us - v_elapsed_us) * v_ops div greatest(v_elapsed_us, 1))
    end;
  end while;
  select v_ops as ops, v_rows as `rows`, v_commits as commits, v_sink as sink, v_seed as seed,
    v_elapsed_us as elapsed_us, v_longest_us as longest_burst_us, concat(v_samples_us, v_chunk) as samples_us;
end

-- name: function
create or replace procedure {{routine}}(p_job bigint, p_jobs bigint, p_slice_us bigint, p_max_ops bigint,
  p_stride bigint, p_seed bigint)
  sql security invoker comment 'made by dbdyno'
{{loop}}

-- name: transaction
create or replace procedure {{routine}}(p_job bigint, p_jobs bigint, p_seed bigint)
  sql security invoker comment 'made by dbdyno'
begin
  declare v_seed bigint default p_seed;
  declare v_rows bigint default 0;
  declare v_commits bigint default 0;
  declare v_sink double default 0;
  {{declare}}
  {{body}}
  select v_rows as `rows`, v_commits as commits, v_seed as seed, v_sink as sink;
end

-- name: call-function
call {{routine}}(:job, :jobs, :slice_us, :max_ops, :stride, :seed)

-- name: call-transaction
call {{routine}}(:job, :jobs, :seed)

-- name: drop
drop procedure if exists {{routine}}
