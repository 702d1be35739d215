-- The database drive of Oracle: a workload's body is put at the place marked body, its declarations at declare.
-- 'dbdyno show workload ID' prints the result. Written against the documentation of 19c; checked by grammars and, translated,
-- on PostgreSQL ('make oracle'), but never run on a server of Oracle by us.
--
-- Ops run in bursts, as in the other engines' harness: one timed op, then stride - 1 ops without a look at the clock. A burst
-- is never longer than the rest of the slice allows at the mean op time seen so far. The longest burst is told, from the end
-- of the one before. What is Oracle's own:
-- * COMMIT alone is not waited for inside PL/SQL: LGWR is told, and the session waits once, when the call returns. Only
--   "commit write immediate wait" waits for the log (docs/decisions/0019-oracle.md).
-- * The key generator multiplies up to 1.04e14, which PLS_INTEGER (32 bits) cannot hold. BINARY_DOUBLE holds whole numbers up to
--   2^53 exactly, and natively compiled code computes with it in the processor.
-- * A key is made of it as NUMBER. A product with the number of rows may pass 2^53; and a column (NUMBER) that is compared with a
--   BINARY_DOUBLE is converted, row by row, so that no index on it is used.
-- * SYSTIMESTAMP has microseconds; DBMS_UTILITY.GET_TIME ticks in hundredths of a second. An interval's fields are all read: its
--   seconds begin anew every minute.
-- * The thin driver fetches no collections: samples are counted in buckets, exact below 1000 us, of three digits above, and
--   returned as the text "us:count us:count ". Bucket b below 1000 is b us, above it the digits 100 to 999 of each power
--   of ten follow one another. A slice of a minute has no more than 2,900 different buckets: the text fits.
-- * The optimizer (level 2) must not find that a body has no effect: its results go into v_sink, which is returned.
-- * Privileges are the caller's (authid current_user): a role's count in a routine only so.
--
-- Blocks draw-*: a key from the state of the key generator by the law that the parameters keys and place choose, as an
-- expression: what a body has where it says {{drawn_NAME}} of a bind that is keyed (docs/decisions/0038-skewed-keys.md). Powers are
-- of BINARY_DOUBLE, as those of other engines: NUMBER would take far longer.
--
-- What a body may use: p_job, p_jobs, v_seed (BINARY_DOUBLE, state of the key generator, already advanced for this op), c_multiplier,
-- c_modulus, v_rows, v_commits, v_sink, and its own declarations. Keys: 1 + floor(to_number(v_seed) * N / 2147483648).
--
-- Every text in PL/SQL ends in a comment: the catalogue cuts a semicolon off at the end of a block, which PL/SQL must have.

-- name: draw-uniform
1 + floor(to_number(v_seed) * {{keys}} / 2147483648)

-- name: draw-zipf
to_number(floor(power({{lowest}}d + v_seed * {{step}}d, {{exponent}}d) + 0.5d))

-- name: draw-hot
case when v_seed < {{below}} then 1 + floor(to_number(v_seed) * {{hot}} / {{below}})
  else 1 + {{hot}} + floor((to_number(v_seed) - {{below}}) * {{rest}} / {{rest_states}}) end

-- name: draw-scattered
1 + mod({{rank}} * {{factor}}, {{keys}})

-- name: loop
-- what both kinds of routine have after their name
(
  p_job in number, p_jobs in number, p_slice_us in number, p_max_ops in number, p_stride in number, p_seed in number,
  p_ops out number, p_rows out number, p_commits out number, p_sink out number, p_next_seed out number,
  p_elapsed_us out number, p_longest_burst_us out number, p_samples out varchar2)
authid current_user
as
  type t_counts is table of pls_integer index by pls_integer;
  c_multiplier constant binary_double := 48271;
  c_modulus constant binary_double := 2147483647;
  v_seed binary_double := p_seed;
  v_rows number := 0;
  v_commits number := 0;
  v_sink binary_double := 0;
  v_ops number := 0;
  v_burst pls_integer := 1;
  v_is_timed boolean := true;
  v_begin timestamp(6) with time zone;
  v_gone interval day to second;
  v_previous_us number;
  v_before_us number;
  v_elapsed_us number := 0;
  v_longest_us number := 0;
  v_samples pls_integer := 0;
  v_counts t_counts;
  v_us number;
  v_bucket pls_integer;
  v_text varchar2(32767) := '';
  {{declare}}
begin
  v_begin := systimestamp;
  while v_burst > 0 loop
    v_previous_us := v_elapsed_us;
    v_before_us := v_elapsed_us;
    if p_stride > 1 and v_is_timed then
      v_gone := systimestamp - v_begin;
      v_before_us := ((extract(day from v_gone) * 24 + extract(hour from v_gone)) * 60 + extract(minute from v_gone)) * 60000000
        + extract(second from v_gone) * 1000000;
    end if;
    for v_op in 1 .. v_burst loop
      v_seed := v_seed * c_multiplier;
      v_seed := v_seed - floor(v_seed / c_modulus) * c_modulus;
      {{body}}
    end loop;
    v_gone := systimestamp - v_begin;
    v_elapsed_us := ((extract(day from v_gone) * 24 + extract(hour from v_gone)) * 60 + extract(minute from v_gone)) * 60000000
      + extract(second from v_gone) * 1000000;
    v_ops := v_ops + v_burst;
    if p_stride > 1 then
      v_longest_us := greatest(v_longest_us, v_elapsed_us - v_previous_us);
    end if;
    if v_is_timed and v_samples < 65536 then
      v_samples := v_samples + 1;
      v_us := floor(v_elapsed_us - v_before_us);
      v_bucket := 0;
      while v_us > 999 loop
        v_us := floor(v_us / 10);
        v_bucket := v_bucket + 900;
      end loop;
      v_bucket := v_bucket + v_us;
      if v_counts.exists(v_bucket) then
        v_counts(v_bucket) := v_counts(v_bucket) + 1;
      else
        v_counts(v_bucket) := 1;
      end if;
    end if;
    v_is_timed := p_stride = 1 or not v_is_timed;
    v_burst := case
      when v_elapsed_us >= p_slice_us or v_elapsed_us < v_previous_us then 0
      when v_is_timed then least(1, p_max_ops - v_ops)
      else least(p_stride - 1, p_max_ops - v_ops,
                 1 + floor((p_slice_us - v_elapsed_us) * v_ops / greatest(v_elapsed_us, 1)))
    end;
  end loop;
  for v_at in v_counts.first .. v_counts.last loop
    if v_counts.exists(v_at) then
      v_us := v_at;
      v_bucket := 1;
      while v_us > 999 loop
        v_us := v_us - 900;
        v_bucket := v_bucket * 10;
      end loop;
      v_us := v_us * v_bucket;
      v_text := v_text || to_char(v_us) || ':' || to_char(v_counts(v_at)) || ' ';
    end if;
  end loop;
  p_ops := v_ops;
  p_rows := v_rows;
  p_commits := v_commits;
  p_sink := v_sink;
  p_next_seed := v_seed;
  -- Negative if the clock was set back.
  p_elapsed_us := case when v_elapsed_us < v_previous_us then v_elapsed_us - v_previous_us else v_elapsed_us end;
  p_longest_burst_us := v_longest_us;
  p_samples := v_text;
end

-- name: function
create or replace procedure {{routine}}{{loop}};
-- PL/SQL

-- name: procedure
create or replace procedure {{routine}}{{loop}};
-- PL/SQL

-- name: call
-- what begins with out_ comes back
begin
  {{routine}}(:job, :jobs, :slice_us, :max_ops, :stride, :seed, :out_ops, :out_rows, :out_commits, :out_sink, :out_seed,
    :out_elapsed_us, :out_longest_burst_us, :out_samples_us);
end;
-- PL/SQL

-- name: drop
-- a routine that is not there (ORA-04043) is dropped
begin
  execute immediate 'drop procedure {{routine}}';
exception
  when others then
    if sqlcode <> -4043 then
      raise;
    end if;
end;
-- PL/SQL
