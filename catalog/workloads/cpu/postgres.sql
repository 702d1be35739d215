-- Each pass is counted below in the order: random, +, -, *, /, abs, sqrt, power, ln. A stage is 2 +, 2 -, 1 *, 1 /,
-- 2 abs, 1 sqrt, 1 power, 1 ln; three stages, 1 random number and the last line (2 +, 1 -, 1 *) make
-- 1 + 8 + 7 + 4 + 3 + 6 + 3 + 3 + 3 = 38.

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
  pass(n, s) as (
    select 1, cast(:seed as bigint) * 48271 % 2147483647
    union all
    select n + 1, s * 48271 % 2147483647 from pass where n < 100),
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
  pass(n, s) as (
    select 1, cast(:seed as bigint) * 48271 % 2147483647
    union all
    select n + 1, s * 48271 % 2147483647 from pass where n < 100),
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
$$

-- name: CPU-FIBONACCI.body
v_sink := {{prefix}}cpu_fibonacci({{n}});
v_rows := v_rows + 1;

-- name: CPU-FIBONACCI.fib
select {{prefix}}cpu_fibonacci(cast(:n as int)) as result

-- name: CPU-LOOP.body
for v_turn in 1..1000000 loop
end loop;
v_sink := 1000000;
