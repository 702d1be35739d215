-- CPU on Oracle: PL/SQL, natively compiled. Each pass is counted as in postgres.sql: a stage is 2 +, 2 -, 1 *, 1 /, 2 abs, 1 sqrt,
-- 1 power, 1 ln; three stages, 1 random number and the last line (2 +, 1 -, 1 *) make 38. A literal with d is a BINARY_DOUBLE, with
-- f a BINARY_FLOAT: without, each operation would convert a NUMBER.

-- name: pass
pass(n, s) as (
    select 1, mod(:seed * 48271, 2147483647) from dual
    union all
    select n + 1, mod(s * 48271, 2147483647) from pass where n < 100)

-- name: thousand
-- rows to draw for; a cross join needs less memory than one long CONNECT BY
(select level as n from dual connect by level <= 1000)

-- name: CPU-LOOP.body
for v_turn in 1 .. 1000000 loop
  null;
end loop;
v_sink := 1000000;

-- name: CPU-LOOP.loop
select count(*) as turns from {{thousand}} a cross join {{thousand}} b

-- name: CPU-RANDNUM.declare
v_total number;

-- name: CPU-RANDNUM.body
v_total := 0;
for v_number in 1 .. 1000 loop
  v_total := v_total + dbms_random.value;
end loop;
-- the mean of 1000 numbers from 0 to 1 has a standard deviation of 0.009
v_sink := case when abs(v_total / 1000 - 0.5) < 0.1 then 1000 end;

-- name: CPU-RANDNUM.numbers
select count(r) as numbers, case when abs(avg(r) - 0.5) < 0.1 then 1 else 0 end as mean_is_plausible
from (select /*+ no_merge */ dbms_random.value as r from {{thousand}} t) drawn

-- name: CPU-RANDSTR.declare
v_string varchar2(32);

-- name: CPU-RANDSTR.body
for v_number in 1 .. 1000 loop
  v_string := dbms_random.string('x', 32);
end loop;
v_sink := length(v_string);

-- name: CPU-RANDSTR.strings
select count(s) as strings, sum(length(s)) as "characters"
from (select /*+ no_merge */ dbms_random.string('x', 32) as s from {{thousand}} t) drawn

-- name: CPU-INTEGER.declare
v_x pls_integer;
v_a pls_integer;
v_b pls_integer;
v_c pls_integer;
v_log pls_integer;
v_root pls_integer;
v_power pls_integer;
v_float binary_double;
v_total pls_integer;

-- name: CPU-INTEGER.body
-- An assignment to an integer rounds. PL/SQL has no division of integers: the quotient is a NUMBER, cut off.
v_total := 0;
for v_pass in 1 .. 100 loop
  {{advance}}
  v_x := v_seed;
  v_float := abs(v_x - 11) + 2;
  v_log := ln(v_float);
  v_float := abs(3 - v_x);
  v_root := sqrt(v_float);
  v_float := v_root + 1;
  v_power := power(v_float, 1.5d);
  v_a := floor(v_log * v_power / 1000);
  v_float := abs(v_a - 13) + 2;
  v_log := ln(v_float);
  v_float := abs(5 - v_a);
  v_root := sqrt(v_float);
  v_float := v_root + 1;
  v_power := power(v_float, 1.5d);
  v_b := floor(v_log * v_power / 1000);
  v_float := abs(v_b - 17) + 2;
  v_log := ln(v_float);
  v_float := abs(7 - v_b);
  v_root := sqrt(v_float);
  v_float := v_root + 1;
  v_power := power(v_float, 1.5d);
  v_c := floor(v_log * v_power / 1000);
  v_total := v_total + (v_a + v_b - v_c * 2);
end loop;
v_sink := v_total;

-- name: CPU-INTEGER.passes
with
  {{pass}},
  draw(x) as (select s from pass),
  one(a) as (
    select /*+ materialize */ floor(round(ln(to_binary_double(abs(x - 11) + 2)))
      * round(power(to_binary_double(round(sqrt(to_binary_double(abs(3 - x)))) + 1), 1.5d)) / 1000) from draw),
  two(a, b) as (
    select /*+ materialize */ a, floor(round(ln(to_binary_double(abs(a - 13) + 2)))
      * round(power(to_binary_double(round(sqrt(to_binary_double(abs(5 - a)))) + 1), 1.5d)) / 1000) from one),
  three(a, b, c) as (
    select /*+ materialize */ a, b, floor(round(ln(to_binary_double(abs(b - 17) + 2)))
      * round(power(to_binary_double(round(sqrt(to_binary_double(abs(7 - b)))) + 1), 1.5d)) / 1000) from two)
select to_number(sum(a + b - c * 2)) as total from three

-- name: CPU-NUMBER.declare
v_x number;
v_a number;
v_b number;
v_c number;
v_total number := 0;

-- name: CPU-NUMBER.body
for v_pass in 1 .. 100 loop
  {{advance}}
  v_x := v_seed;
  v_a := ln(abs(v_x - 11) + 2) * power(sqrt(abs(3 - v_x)) + 1, 1.5) / 1000;
  v_b := ln(abs(v_a - 13) + 2) * power(sqrt(abs(5 - v_a)) + 1, 1.5) / 1000;
  v_c := ln(abs(v_b - 17) + 2) * power(sqrt(abs(7 - v_b)) + 1, 1.5) / 1000;
  v_total := v_total + (v_a + v_b - v_c * 0.5);
end loop;
v_sink := v_total;

-- name: CPU-NUMBER.passes
with
  {{pass}},
  draw(x) as (select s from pass),
  one(a) as (select /*+ materialize */ ln(abs(x - 11) + 2) * power(sqrt(abs(3 - x)) + 1, 1.5) / 1000 from draw),
  two(a, b) as (select /*+ materialize */ a, ln(abs(a - 13) + 2) * power(sqrt(abs(5 - a)) + 1, 1.5) / 1000 from one),
  three(a, b, c) as (select /*+ materialize */ a, b, ln(abs(b - 17) + 2) * power(sqrt(abs(7 - b)) + 1, 1.5) / 1000 from two)
select round(sum(a + b - c * 0.5), 6) as total from three

-- name: CPU-FLOAT.declare
v_x binary_float;
v_a binary_float;
v_b binary_float;
v_c binary_float;
v_total binary_double;

-- name: CPU-FLOAT.body
v_total := 0d;
for v_pass in 1 .. 100 loop
  {{advance}}
  v_x := v_seed;
  v_a := to_binary_float(ln(abs(v_x - 11f) + 2f)) * to_binary_float(power(to_binary_float(sqrt(abs(3f - v_x))) + 1f, 1.5f)) / 1000f;
  v_b := to_binary_float(ln(abs(v_a - 13f) + 2f)) * to_binary_float(power(to_binary_float(sqrt(abs(5f - v_a))) + 1f, 1.5f)) / 1000f;
  v_c := to_binary_float(ln(abs(v_b - 17f) + 2f)) * to_binary_float(power(to_binary_float(sqrt(abs(7f - v_b))) + 1f, 1.5f)) / 1000f;
  v_total := v_total + (v_a + v_b - v_c * 0.5f);
end loop;
v_sink := v_total;

-- name: CPU-FLOAT.passes
with
  {{pass}},
  draw(x) as (select to_binary_float(s) from pass),
  one(a) as (
    select /*+ materialize */ to_binary_float(ln(abs(x - 11f) + 2f))
      * to_binary_float(power(to_binary_float(sqrt(abs(3f - x))) + 1f, 1.5f)) / 1000f from draw),
  two(a, b) as (
    select /*+ materialize */ a, to_binary_float(ln(abs(a - 13f) + 2f))
      * to_binary_float(power(to_binary_float(sqrt(abs(5f - a))) + 1f, 1.5f)) / 1000f from one),
  three(a, b, c) as (
    select /*+ materialize */ a, b, to_binary_float(ln(abs(b - 17f) + 2f))
      * to_binary_float(power(to_binary_float(sqrt(abs(7f - b))) + 1f, 1.5f)) / 1000f from two)
select round(to_number(sum(to_binary_double(a + b - c * 0.5f))), 6) as total from three

-- name: CPU-DOUBLE.declare
v_x binary_double;
v_a binary_double;
v_b binary_double;
v_c binary_double;
v_total binary_double := 0;

-- name: CPU-DOUBLE.body
for v_pass in 1 .. 100 loop
  {{advance}}
  v_x := v_seed;
  v_a := ln(abs(v_x - 11d) + 2d) * power(sqrt(abs(3d - v_x)) + 1d, 1.5d) / 1000d;
  v_b := ln(abs(v_a - 13d) + 2d) * power(sqrt(abs(5d - v_a)) + 1d, 1.5d) / 1000d;
  v_c := ln(abs(v_b - 17d) + 2d) * power(sqrt(abs(7d - v_b)) + 1d, 1.5d) / 1000d;
  v_total := v_total + (v_a + v_b - v_c * 0.5d);
end loop;
v_sink := v_total;

-- name: CPU-DOUBLE.passes
with
  {{pass}},
  draw(x) as (select to_binary_double(s) from pass),
  one(a) as (select /*+ materialize */ ln(abs(x - 11d) + 2d) * power(sqrt(abs(3d - x)) + 1d, 1.5d) / 1000d from draw),
  two(a, b) as (select /*+ materialize */ a, ln(abs(a - 13d) + 2d) * power(sqrt(abs(5d - a)) + 1d, 1.5d) / 1000d from one),
  three(a, b, c) as (
    select /*+ materialize */ a, b, ln(abs(b - 17d) + 2d) * power(sqrt(abs(7d - b)) + 1d, 1.5d) / 1000d from two)
select round(to_number(sum(a + b - c * 0.5d)), 6) as total from three

-- name: CPU-STRING.declare
v_r varchar2(32);
v_s1 varchar2(32);
v_s2 varchar2(32);
v_s3 varchar2(32);
v_s4 varchar2(32);
v_s5 varchar2(32);
v_p1 pls_integer;
v_p2 pls_integer;
v_p3 pls_integer;
v_p4 pls_integer;
v_p5 pls_integer;
v_p6 pls_integer;
v_l3 pls_integer;
v_l5 pls_integer;
v_total pls_integer := 0;

-- name: CPU-STRING.body
-- The operations are counted in postgres.sql. PL/SQL has no md5 that everybody may call: the random string is the fourth power of
-- the generator's state, less than 16^31, as 32 hexadecimal digits.
for v_pass in 1 .. 100 loop
  {{advance}}
  v_r := to_char(power(to_number(v_seed), 4), 'fm0xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx');
  v_s1 := upper(substr(v_r, 1, 8)) || substr(v_r, 9, 8) || upper(substr(v_r, 17, 8));
  v_s2 := v_s1 || chr(mod(length(v_s1 || v_s1 || v_s1), 128));
  v_s3 := upper(v_s2) || '-' || 'B7';
  v_s4 := upper(v_s3 || 'C');
  v_s5 := upper(v_s4 || 'D');
  v_p1 := instr(v_r, '7');
  v_p2 := instr(v_s1, 'A');
  v_p3 := instr(v_s2, 'H');
  v_p4 := instr(v_s3, 'B7');
  v_p5 := instr(v_s4, 'C');
  v_p6 := instr(v_s5, 'D');
  v_l3 := length(v_s3);
  v_l5 := length(v_s5);
  v_total := v_total + v_p3 + v_l3 + v_l5;
end loop;
v_sink := v_total;

-- name: CPU-STRING.passes
with
  {{pass}},
  draw(r) as (select /*+ materialize */ to_char(s * s * s * s, 'fm0xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx') from pass),
  cut(r, s1) as (
    select /*+ materialize */ r, upper(substr(r, 1, 8)) || substr(r, 9, 8) || upper(substr(r, 17, 8)) from draw),
  marked(r, s1, s2) as (select /*+ materialize */ r, s1, s1 || chr(mod(length(s1 || s1 || s1), 128)) from cut),
  headed(r, s1, s2, s3) as (select /*+ materialize */ r, s1, s2, upper(s2) || '-' || 'B7' from marked),
  filled(r, s1, s2, s3, s4) as (select /*+ materialize */ r, s1, s2, s3, upper(s3 || 'C') from headed),
  tailed(r, s1, s2, s3, s4, s5) as (select /*+ materialize */ r, s1, s2, s3, s4, upper(s4 || 'D') from filled)
select sum(instr(r, '7')) as position1, sum(instr(s1, 'A')) as position2, sum(instr(s2, 'H')) as position3,
  sum(instr(s3, 'B7')) as position4, sum(instr(s4, 'C')) as position5, sum(instr(s5, 'D')) as position6,
  sum(length(s3)) as length3, sum(length(s5)) as length5
from tailed

-- name: drop-helper
begin
  execute immediate 'drop function {{prefix}}cpu_fibonacci';
exception
  when others then
    if sqlcode <> -4043 then
      raise;
    end if;
end;
-- PL/SQL

-- name: create-helper
create or replace function {{prefix}}cpu_fibonacci(n in pls_integer) return pls_integer
as
begin
  if n < 2 then
    return n;
  end if;
  return {{prefix}}cpu_fibonacci(n - 1) + {{prefix}}cpu_fibonacci(n - 2);
end;
-- PL/SQL

-- name: CPU-FIBONACCI.body
v_sink := {{prefix}}cpu_fibonacci({{n}});
v_rows := v_rows + 1;

-- name: CPU-FIBONACCI.fib
select {{prefix}}cpu_fibonacci(:n) as result from dual

-- name: drop-primes
begin
  execute immediate 'drop function {{prefix}}cpu_primes';
exception
  when others then
    if sqlcode <> -4043 then
      raise;
    end if;
end;
-- PL/SQL

-- name: create-primes
-- returns primes * 1000000 + divisions
create or replace function {{prefix}}cpu_primes(p_upto in pls_integer) return number
as
  v_primes pls_integer := 0;
  v_divisions pls_integer := 0;
  v_divisor pls_integer;
begin
  for v_number in 2 .. p_upto loop
    v_divisor := 2;
    loop
      if v_divisor * v_divisor > v_number then
        v_primes := v_primes + 1;
        v_divisions := v_divisions + v_divisor - 2;
        exit;
      end if;
      if mod(v_number, v_divisor) = 0 then
        v_divisions := v_divisions + v_divisor - 1;
        exit;
      end if;
      v_divisor := v_divisor + 1;
    end loop;
  end loop;
  return v_primes * 1000000 + v_divisions;
end;
-- PL/SQL

-- name: CPU-PRIMES.declare
v_both number;

-- name: CPU-PRIMES.body
v_both := {{prefix}}cpu_primes(10000);
v_sink := floor(v_both / 1000000) + mod(v_both, 1000000);
v_rows := v_rows + 1;

-- name: CPU-PRIMES.primes
select floor(r / 1000000) as primes, mod(r, 1000000) as divisions
from (select /*+ no_merge */ {{prefix}}cpu_primes(10000) as r from dual) found

-- name: drop-quicksort
begin
  execute immediate 'drop function {{prefix}}cpu_quicksort';
exception
  when others then
    if sqlcode <> -4043 then
      raise;
    end if;
end;
-- PL/SQL

-- name: create-quicksort
-- returns the neighbours that are in order (9999), plus the last five digits of the sum of all numbers
create or replace function {{prefix}}cpu_quicksort(p_seed in number) return number
as
  type t_integers is table of pls_integer index by pls_integer;
  c_multiplier constant binary_double := 48271;
  c_modulus constant binary_double := 2147483647;
  v_seed binary_double := p_seed;
  v_list t_integers;
  -- the stretches still to sort: arrays as a stack
  v_from t_integers;
  v_to t_integers;
  v_depth pls_integer := 1;
  v_low pls_integer;
  v_high pls_integer;
  v_i pls_integer;
  v_j pls_integer;
  v_pivot pls_integer;
  v_swap pls_integer;
  v_ordered pls_integer := 0;
  v_sum number := 0;
begin
  v_from(1) := 1;
  v_to(1) := 10000;
  for v_index in 1 .. 10000 loop
    {{advance}}
    v_list(v_index) := v_seed;
  end loop;
  while v_depth > 0 loop
    v_low := v_from(v_depth);
    v_high := v_to(v_depth);
    v_depth := v_depth - 1;
    v_i := v_low;
    v_j := v_high;
    v_pivot := v_list(floor((v_low + v_high) / 2));
    while v_i <= v_j loop
      while v_list(v_i) < v_pivot loop
        v_i := v_i + 1;
      end loop;
      while v_list(v_j) > v_pivot loop
        v_j := v_j - 1;
      end loop;
      if v_i <= v_j then
        v_swap := v_list(v_i);
        v_list(v_i) := v_list(v_j);
        v_list(v_j) := v_swap;
        v_i := v_i + 1;
        v_j := v_j - 1;
      end if;
    end loop;
    if v_low < v_j then
      v_depth := v_depth + 1;
      v_from(v_depth) := v_low;
      v_to(v_depth) := v_j;
    end if;
    if v_i < v_high then
      v_depth := v_depth + 1;
      v_from(v_depth) := v_i;
      v_to(v_depth) := v_high;
    end if;
  end loop;
  for v_index in 1 .. 9999 loop
    if v_list(v_index) <= v_list(v_index + 1) then
      v_ordered := v_ordered + 1;
    end if;
    v_sum := v_sum + v_list(v_index);
  end loop;
  return v_ordered + mod(v_sum + v_list(10000), 100000);
end;
-- PL/SQL

-- name: CPU-QUICKSORT.body
v_sink := {{prefix}}cpu_quicksort(to_number(v_seed));
v_rows := v_rows + 1;

-- name: CPU-QUICKSORT.sort
select {{prefix}}cpu_quicksort(:seed) as result from dual
