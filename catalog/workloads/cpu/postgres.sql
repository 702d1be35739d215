-- Each pass is counted below in the order: random, +, -, *, /, abs, sqrt, power, ln. A stage is 2 +, 2 -, 1 *, 1 /,
-- 2 abs, 1 sqrt, 1 power, 1 ln; three stages, 1 random number and the last line (2 +, 1 -, 1 *) make
-- 1 + 8 + 7 + 4 + 3 + 6 + 3 + 3 + 3 = 38.

-- name: CPU-RANDNUM.declare
v_total float8;

-- name: CPU-RANDNUM.body
v_total := 0;
for v_number in 1..1000 loop
  v_total := v_total + random();
end loop;
-- the mean of 1000 numbers from 0 to 1 has a standard deviation of 0.009
v_sink := case when abs(v_total / 1000 - 0.5) < 0.1 then 1000 end;

-- name: CPU-RANDNUM.numbers
-- "offset 0" keeps the numbers from being drawn where they are used
select count(r) as numbers, (abs(avg(r) - 0.5) < 0.1)::int as mean_is_plausible
from (select random() as r from generate_series(1, 1000) offset 0) as drawn

-- name: CPU-RANDSTR.declare
v_string varchar(32);

-- name: CPU-RANDSTR.body
for v_number in 1..1000 loop
  v_string := md5(random()::text);
end loop;
v_sink := length(v_string);

-- name: CPU-RANDSTR.strings
select count(s) as strings, sum(length(s)) as characters
from (select md5(random()::text) as s from generate_series(1, 1000) offset 0) as drawn

-- name: CPU-INTEGER.declare
v_x bigint; v_a bigint; v_b bigint; v_c bigint;
v_total bigint := 0;

-- name: CPU-INTEGER.body
v_total := 0;
for v_pass in 1..100 loop
  v_seed := v_seed * 48271 % 2147483647;
  v_x := v_seed;
  v_a := ln(abs(v_x - 11) + 2)::bigint * power(sqrt(abs(3 - v_x))::bigint + 1, float8 '1.5')::bigint / 1000;
  v_b := ln(abs(v_a - 13) + 2)::bigint * power(sqrt(abs(5 - v_a))::bigint + 1, float8 '1.5')::bigint / 1000;
  v_c := ln(abs(v_b - 17) + 2)::bigint * power(sqrt(abs(7 - v_b))::bigint + 1, float8 '1.5')::bigint / 1000;
  v_total := v_total + (v_a + v_b - v_c * 2);
end loop;
v_sink := v_total;

-- name: CPU-INTEGER.passes
with recursive
  {{pass}},
  draw(x) as materialized (select s from pass),
  first(a) as materialized (
    select ln(abs(x - 11) + 2)::bigint * power(sqrt(abs(3 - x))::bigint + 1, float8 '1.5')::bigint / 1000 from draw),
  second(a, b) as materialized (
    select a, ln(abs(a - 13) + 2)::bigint * power(sqrt(abs(5 - a))::bigint + 1, float8 '1.5')::bigint / 1000 from first),
  third(a, b, c) as materialized (
    select a, b, ln(abs(b - 17) + 2)::bigint * power(sqrt(abs(7 - b))::bigint + 1, float8 '1.5')::bigint / 1000 from second)
select sum(a + b - c * 2) as total from third

-- name: CPU-FLOAT.declare
v_x real; v_a real; v_b real; v_c real;
v_total float8 := 0;

-- name: CPU-FLOAT.body
-- a constant of another type would turn the operation into one of 64 bits
v_total := 0;
for v_pass in 1..100 loop
  v_seed := v_seed * 48271 % 2147483647;
  v_x := v_seed;
  v_a := ln(abs(v_x - real '11') + real '2')::real * power(sqrt(abs(real '3' - v_x))::real + real '1', 1.5)::real / real '1000';
  v_b := ln(abs(v_a - real '13') + real '2')::real * power(sqrt(abs(real '5' - v_a))::real + real '1', 1.5)::real / real '1000';
  v_c := ln(abs(v_b - real '17') + real '2')::real * power(sqrt(abs(real '7' - v_b))::real + real '1', 1.5)::real / real '1000';
  v_total := v_total + (v_a + v_b - v_c * real '0.5');
end loop;
v_sink := v_total;

-- name: CPU-FLOAT.passes
with recursive
  {{pass}},
  draw(x) as materialized (select cast(s as real) from pass),
  first(a) as materialized (
    select ln(abs(x - real '11') + real '2')::real * power(sqrt(abs(real '3' - x))::real + real '1', 1.5)::real
      / real '1000' from draw),
  second(a, b) as materialized (
    select a, ln(abs(a - real '13') + real '2')::real * power(sqrt(abs(real '5' - a))::real + real '1', 1.5)::real
      / real '1000' from first),
  third(a, b, c) as materialized (
    select a, b, ln(abs(b - real '17') + real '2')::real * power(sqrt(abs(real '7' - b))::real + real '1', 1.5)::real
      / real '1000' from second)
select sum(cast(a + b - c * real '0.5' as float8)) as total from third

-- name: CPU-DOUBLE.declare
v_x float8; v_a float8; v_b float8; v_c float8;
v_total float8 := 0;

-- name: CPU-DOUBLE.body
for v_pass in 1..100 loop
  v_seed := v_seed * 48271 % 2147483647;
  v_x := v_seed;
  v_a := ln(abs(v_x - 11) + 2) * power(sqrt(abs(3 - v_x)) + 1, 1.5) / 1000;
  v_b := ln(abs(v_a - 13) + 2) * power(sqrt(abs(5 - v_a)) + 1, 1.5) / 1000;
  v_c := ln(abs(v_b - 17) + 2) * power(sqrt(abs(7 - v_b)) + 1, 1.5) / 1000;
  v_total := v_total + (v_a + v_b - v_c * 0.5);
end loop;
v_sink := v_total;

-- name: CPU-NUMBER.declare
v_x numeric; v_a numeric; v_b numeric; v_c numeric;
v_total numeric := 0;

-- name: CPU-NUMBER.body
for v_pass in 1..100 loop
  v_seed := v_seed * 48271 % 2147483647;
  v_x := v_seed;
  v_a := ln(abs(v_x - 11) + 2) * power(sqrt(abs(3 - v_x)) + 1, 1.5) / 1000;
  v_b := ln(abs(v_a - 13) + 2) * power(sqrt(abs(5 - v_a)) + 1, 1.5) / 1000;
  v_c := ln(abs(v_b - 17) + 2) * power(sqrt(abs(7 - v_b)) + 1, 1.5) / 1000;
  v_total := v_total + (v_a + v_b - v_c * 0.5);
end loop;
v_sink := v_total;

-- name: CPU-NUMBER.passes
with recursive
  {{pass}},
  draw(x) as materialized (select cast(s as numeric) from pass),
  first(a) as materialized (
    select ln(abs(x - 11) + 2) * power(sqrt(abs(3 - x)) + 1, 1.5) / 1000 from draw),
  second(a, b) as materialized (
    select a, ln(abs(a - 13) + 2) * power(sqrt(abs(5 - a)) + 1, 1.5) / 1000 from first),
  third(a, b, c) as materialized (
    select a, b, ln(abs(b - 17) + 2) * power(sqrt(abs(7 - b)) + 1, 1.5) / 1000 from second)
select cast(sum(a + b - c * 0.5) as double precision) as total from third

-- name: CPU-STRING.declare
v_r varchar(32); v_s1 varchar(32); v_s2 varchar(32); v_s3 varchar(32); v_s4 varchar(32); v_s5 varchar(32);
v_p1 int; v_p2 int; v_p3 int; v_p4 int; v_p5 int; v_p6 int; v_l3 int; v_l5 int;
v_total bigint := 0;

-- name: CPU-STRING.body
-- 1 random string; s1: 3 substring, 2 ||, 2 upper; s2: 3 ||, 1 chr, 1 mod, 1 length; s3: 1 upper, 2 ||; s4 and s5: 1 upper,
-- 1 || each; 6 position; 2 length: together 1 + 6 + 9 + 3 + 3 + 1 + 5 + 1 = 29
for v_pass in 1..100 loop
  v_seed := v_seed * 48271 % 2147483647;
  v_r := md5(v_seed::text);
  v_s1 := upper(substr(v_r, 1, 8)) || substr(v_r, 9, 8) || upper(substr(v_r, 17, 8));
  v_s2 := v_s1 || chr(mod(length(v_s1 || v_s1 || v_s1), 128));
  v_s3 := upper(v_s2) || '-' || 'B7';
  v_s4 := upper(v_s3 || 'C');
  v_s5 := upper(v_s4 || 'D');
  v_p1 := strpos(v_r, '7');
  v_p2 := strpos(v_s1, 'A');
  v_p3 := strpos(v_s2, 'H');
  v_p4 := strpos(v_s3, 'B7');
  v_p5 := strpos(v_s4, 'C');
  v_p6 := strpos(v_s5, 'D');
  v_l3 := length(v_s3);
  v_l5 := length(v_s5);
  v_total := v_total + v_p3 + v_l3 + v_l5;
end loop;
v_sink := v_total;

-- name: CPU-STRING.passes
with recursive
  {{pass}},
  draw(r) as materialized (select md5(s::text) from pass),
  cut(r, s1) as materialized (
    select r, upper(substr(r, 1, 8)) || substr(r, 9, 8) || upper(substr(r, 17, 8)) from draw),
  mark(r, s1, s2) as materialized (select r, s1, s1 || chr(mod(length(s1 || s1 || s1), 128)) from cut),
  head(r, s1, s2, s3) as materialized (select r, s1, s2, upper(s2) || '-' || 'B7' from mark),
  body(r, s1, s2, s3, s4) as materialized (select r, s1, s2, s3, upper(s3 || 'C') from head),
  tail(r, s1, s2, s3, s4, s5) as materialized (select r, s1, s2, s3, s4, upper(s4 || 'D') from body)
select sum(strpos(r, '7')) as position1, sum(strpos(s1, 'A')) as position2, sum(strpos(s2, 'H')) as position3,
  sum(strpos(s3, 'B7')) as position4, sum(strpos(s4, 'C')) as position5, sum(strpos(s5, 'D')) as position6,
  sum(length(s3)) as length3, sum(length(s5)) as length5
from tail

-- name: drop-helper
drop function if exists {{prefix}}cpu_fibonacci(int)

-- name: create-helper
create function {{prefix}}cpu_fibonacci(n int) returns int language plpgsql as $$
begin
  if n < 2 then
    return n;
  end if;
  return {{prefix}}cpu_fibonacci(n - 1) + {{prefix}}cpu_fibonacci(n - 2);
end
$$;
comment on function {{prefix}}cpu_fibonacci(int) is 'made by dbdyno'

-- name: CPU-FIBONACCI.body
v_sink := {{prefix}}cpu_fibonacci({{n}});
v_rows := v_rows + 1;

-- name: CPU-FIBONACCI.fib
select {{prefix}}cpu_fibonacci(cast(:n as int)) as result

-- name: CPU-LOOP.body
for v_turn in 1..1000000 loop
end loop;
v_sink := 1000000;

-- name: drop-primes
drop function if exists {{prefix}}cpu_primes(int)

-- name: create-primes
create function {{prefix}}cpu_primes(p_upto int, out primes int, out divisions bigint) language plpgsql as $$
declare
  v_divisor int;
begin
  primes := 0;
  divisions := 0;
  for v_number in 2..p_upto loop
    v_divisor := 2;
    loop
      if v_divisor * v_divisor > v_number then
        primes := primes + 1;
        divisions := divisions + v_divisor - 2;
        exit;
      end if;
      if v_number % v_divisor = 0 then
        divisions := divisions + v_divisor - 1;
        exit;
      end if;
      v_divisor := v_divisor + 1;
    end loop;
  end loop;
end
$$;
comment on function {{prefix}}cpu_primes(int) is 'made by dbdyno'

-- name: CPU-PRIMES.declare
v_primes int;
v_divisions bigint;

-- name: CPU-PRIMES.body
select primes, divisions into v_primes, v_divisions from {{prefix}}cpu_primes(10000);
v_sink := v_primes + v_divisions;
v_rows := v_rows + 1;

-- name: CPU-PRIMES.primes
select primes, divisions from {{prefix}}cpu_primes(10000)

-- name: drop-quicksort
drop function if exists {{prefix}}cpu_quicksort(bigint)

-- name: create-quicksort
-- returns the neighbours that are in order (9999), plus the last five digits of the sum of all numbers
create function {{prefix}}cpu_quicksort(p_seed bigint) returns bigint language plpgsql as $$
declare
  v_seed bigint := p_seed;
  v_list bigint[] := array_fill(0::bigint, array[10000]);
  -- the stretches still to sort: an array as a stack
  v_from int[] := array[1];
  v_to int[] := array[10000];
  v_depth int := 1;
  v_low int; v_high int; v_i int; v_j int;
  v_pivot bigint; v_swap bigint;
  v_ordered bigint := 0;
  v_sum bigint := 0;
begin
  for v_index in 1..10000 loop
    v_seed := v_seed * 48271 % 2147483647;
    v_list[v_index] := v_seed;
  end loop;
  while v_depth > 0 loop
    v_low := v_from[v_depth];
    v_high := v_to[v_depth];
    v_depth := v_depth - 1;
    v_i := v_low;
    v_j := v_high;
    v_pivot := v_list[(v_low + v_high) / 2];
    while v_i <= v_j loop
      while v_list[v_i] < v_pivot loop
        v_i := v_i + 1;
      end loop;
      while v_list[v_j] > v_pivot loop
        v_j := v_j - 1;
      end loop;
      if v_i <= v_j then
        v_swap := v_list[v_i];
        v_list[v_i] := v_list[v_j];
        v_list[v_j] := v_swap;
        v_i := v_i + 1;
        v_j := v_j - 1;
      end if;
    end loop;
    if v_low < v_j then
      v_depth := v_depth + 1;
      v_from[v_depth] := v_low;
      v_to[v_depth] := v_j;
    end if;
    if v_i < v_high then
      v_depth := v_depth + 1;
      v_from[v_depth] := v_i;
      v_to[v_depth] := v_high;
    end if;
  end loop;
  for v_index in 1..9999 loop
    if v_list[v_index] <= v_list[v_index + 1] then
      v_ordered := v_ordered + 1;
    end if;
    v_sum := v_sum + v_list[v_index];
  end loop;
  return v_ordered + (v_sum + v_list[10000]) % 100000;
end
$$;
comment on function {{prefix}}cpu_quicksort(bigint) is 'made by dbdyno'

-- name: CPU-QUICKSORT.body
v_sink := {{prefix}}cpu_quicksort(v_seed);
v_rows := v_rows + 1;

-- name: CPU-QUICKSORT.sort
select {{prefix}}cpu_quicksort(:seed) as result
