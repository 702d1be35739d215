-- The loop of the database drive. A workload's body is put at the place marked body, its declarations at declare; the
-- loop is put into a function, or into a procedure if ops commit. 'dbdyno show workload ID' prints the result.
--
-- Ops run in bursts: one timed op, then stride - 1 ops without a look at the clock, and so on. Within a burst the
-- loop costs a counted FOR and one step of the key generator per op. A burst is never longer than the rest of the
-- slice allows at the mean op time seen so far, so that slow ops keep the deadline whatever the stride is.
-- Where every op is timed the end of one is the start of the next. Where some are, the clock is read right before a
-- timed op too: the bookkeeping between bursts takes longer than a short op and would be taken for its time.
-- The longest burst is told, from the end of the one before: a stall seldom meets a timed op, and the bookkeeping takes time, too.
-- The array of samples grows by array_append onto itself, which PL/pgSQL does in place.
--
-- A call that an error ends returns nothing. A procedure therefore tells every p_tell_us what it has committed by then, as a
-- message of the level info, which goes to the client at once and to no log; samples are those since the message before. Nothing
-- is told while the transaction has a number: a rollback would undo what it wrote. A function has one transaction, which an
-- error undoes, and tells nothing (docs/decisions/0033-errors-within-a-slice.md).
--
-- Blocks draw-*: a key from the state of the key generator by the law that the parameters keys and place choose, as an
-- expression: what a body has where it says {{drawn_NAME}} of a bind that is keyed (docs/decisions/0038-skewed-keys.md).
--
-- What a body may use: p_job, p_jobs, v_seed (state of the key generator, already advanced for this op), v_rows,
-- v_commits, v_sink, and its own declarations. A workload may say by a block rows, an expression that is evaluated where
-- counts are told, which rows its ops have found: it is v_rows unless it says so.

-- name: draw-uniform
1 + (v_seed * {{keys}} >> 31)

-- name: draw-zipf
floor(power({{lowest}}::float8 + v_seed * {{step}}::float8, {{exponent}}::float8) + 0.5)::bigint

-- name: draw-hot
case when v_seed < {{below}} then 1 + v_seed * {{hot}} / {{below}}
  else 1 + {{hot}} + (v_seed - {{below}}) * {{rest}} / {{rest_states}} end

-- name: draw-scattered
1 + ({{rank}}) * {{factor}} % {{keys}}

-- name: loop
-- the block of both kinds of routine
declare
  v_seed bigint := p_seed;
  v_rows bigint := 0;
  v_commits bigint := 0;
  v_sink float8 := 0;
  v_ops bigint := 0;
  v_burst int := 1;
  v_timed boolean := true;
  v_begin timestamptz;
  v_previous timestamptz;
  v_before timestamptz;
  v_now timestamptz;
  v_elapsed_us float8 := 0;
  v_samples int := 0;
  v_samples_us float8[] := array[]::float8[];
  v_longest interval := '0';
  v_tell_at_us float8 := p_tell_us;
  {{declare}}
begin
  v_begin := clock_timestamp();
  v_now := v_begin;
  while v_burst > 0 loop
    v_previous := v_now;
    v_before := case when p_stride = 1 then v_now else clock_timestamp() end;
    for v_op in 1..v_burst loop
      v_seed := v_seed * 48271 % 2147483647;
      {{body}}
    end loop;
    v_now := clock_timestamp();
    v_ops := v_ops + v_burst;
    -- Negative if the clock was set back: then the slice ends, and nobody believes its times.
    v_elapsed_us := date_part('epoch', v_now - case when v_now < v_previous then v_previous else v_begin end) * 1e6;
    if p_stride > 1 then
      v_longest := greatest(v_longest, v_now - v_previous);
    end if;
    if v_timed and v_samples < 65536 then
      v_samples := v_samples + 1;
      v_samples_us := array_append(v_samples_us, date_part('epoch', v_now - v_before) * 1e6);
    end if;
    if v_elapsed_us >= v_tell_at_us and pg_current_xact_id_if_assigned() is null then
      raise info 'dbdyno: ops=% rows=% commits=% seed=% elapsed_us=% longest_burst_us=% samples_us=%', v_ops, {{rows}}, v_commits,
        v_seed, v_elapsed_us, date_part('epoch', v_longest) * 1e6, v_samples_us;
      v_samples_us := array[]::float8[];
      v_tell_at_us := v_elapsed_us + p_tell_us;
    end if;
    v_timed := p_stride = 1 or not v_timed;
    v_burst := case
      when v_elapsed_us >= p_slice_us or v_elapsed_us < 0 then 0
      when v_timed then least(1, p_max_ops - v_ops)
      else least(p_stride - 1, p_max_ops - v_ops,
                 1 + floor((p_slice_us - v_elapsed_us) * v_ops / greatest(v_elapsed_us, 1))::bigint)
    end;
  end loop;
  ops := v_ops;
  rows := {{rows}};
  commits := v_commits;
  sink := v_sink;
  seed := v_seed;
  elapsed_us := v_elapsed_us;
  longest_burst_us := date_part('epoch', v_longest) * 1e6;
  samples_us := v_samples_us;
end

-- name: function
create or replace function {{routine}}(p_job bigint, p_jobs bigint, p_slice_us bigint, p_max_ops bigint, p_stride bigint,
  p_seed bigint, p_tell_us bigint default null, out ops bigint, out rows bigint, out commits bigint, out sink float8, out seed bigint,
  out elapsed_us float8, out longest_burst_us float8, out samples_us float8[])
language plpgsql volatile parallel unsafe as $harness$
{{loop}}
$harness$;
comment on function {{routine}}(bigint, bigint, bigint, bigint, bigint, bigint, bigint) is 'made by dbdyno'

-- name: procedure
create or replace procedure {{routine}}(p_job bigint, p_jobs bigint, p_slice_us bigint, p_max_ops bigint, p_stride bigint,
  p_seed bigint, p_tell_us bigint, inout ops bigint, inout rows bigint, inout commits bigint, inout sink float8, inout seed bigint,
  inout elapsed_us float8, inout longest_burst_us float8, inout samples_us float8[])
language plpgsql as $harness$
{{loop}}
$harness$;
comment on procedure {{routine}} is 'made by dbdyno'

-- name: call-function
select ops, rows, commits, sink, seed, elapsed_us, longest_burst_us, samples_us
from {{routine}}(:job, :jobs, :slice_us, :max_ops, :stride, :seed)

-- name: call-procedure
call {{routine}}(:job, :jobs, :slice_us, :max_ops, :stride, :seed, :tell_us, null, null, null, null, null, null, null, null)

-- name: drop-function
drop function if exists {{routine}}(bigint, bigint, bigint, bigint, bigint, bigint, bigint)

-- name: drop-procedure
drop procedure if exists {{routine}}
