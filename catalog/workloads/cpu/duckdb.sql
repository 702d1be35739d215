-- name: CPU-LOOP.loop
select count(*) filter (where n >= 0) as turns from range(1000000) turn(n)

-- name: CPU-RANDNUM.numbers
-- random() is uniform over 0 to 1: the mean of 1000 has a standard deviation of 0.009
with drawn(r) as materialized (select random() from range(1000))
select count(r) as numbers, cast(abs(avg(r) - 0.5) < 0.06 as integer) as mean_is_plausible from drawn

-- name: CPU-RANDSTR.strings
with drawn(s) as materialized (select md5(cast(random() as varchar)) from range(1000))
select count(s) as strings, sum(length(s)) as characters from drawn

-- name: CPU-INTEGER.passes
with recursive
  {{pass}},
  draw(x) as materialized (select s from pass),
  first(a) as materialized (
    select cast(ln(abs(x - 11) + 2) as bigint)
      * cast(power(cast(sqrt(abs(3 - x)) as bigint) + 1, 1.5) as bigint) // 1000 from draw),
  second(a, b) as materialized (
    select a, cast(ln(abs(a - 13) + 2) as bigint)
      * cast(power(cast(sqrt(abs(5 - a)) as bigint) + 1, 1.5) as bigint) // 1000 from first),
  third(a, b, c) as materialized (
    select a, b, cast(ln(abs(b - 17) + 2) as bigint)
      * cast(power(cast(sqrt(abs(7 - b)) as bigint) + 1, 1.5) as bigint) // 1000 from second)
select cast(sum(a + b - c * 2) as bigint) as total from third

-- name: CPU-NUMBER.passes
with recursive
  {{pass}},
  draw(x) as materialized (select cast(s as decimal(30,12)) from pass),
  first(a) as materialized (
    select cast(cast(ln(abs(x - 11) + 2) as decimal(18,12))
      * cast(power(cast(sqrt(abs(3 - x)) as decimal(18,12)) + 1, 1.5) as decimal(20,9)) / 1000 as decimal(30,12)) from draw),
  second(a, b) as materialized (
    select a, cast(cast(ln(abs(a - 13) + 2) as decimal(18,12))
      * cast(power(cast(sqrt(abs(5 - a)) as decimal(18,12)) + 1, 1.5) as decimal(20,9)) / 1000 as decimal(30,12)) from first),
  third(a, b, c) as materialized (
    select a, b, cast(cast(ln(abs(b - 17) + 2) as decimal(18,12))
      * cast(power(cast(sqrt(abs(7 - b)) as decimal(18,12)) + 1, 1.5) as decimal(20,9)) / 1000 as decimal(30,12)) from second)
select cast(sum(a + b - c * 0.5) as double) as total from third

-- name: CPU-FLOAT.passes
-- a constant of another type would turn the operation into one of 64 bits
with recursive
  {{pass}},
  draw(x) as materialized (select cast(s as float) from pass),
  first(a) as materialized (
    select cast(ln(abs(x - 11::float) + 2::float) as float)
      * cast(power(cast(sqrt(abs(3::float - x)) as float) + 1::float, 1.5) as float) / 1000::float from draw),
  second(a, b) as materialized (
    select a, cast(ln(abs(a - 13::float) + 2::float) as float)
      * cast(power(cast(sqrt(abs(5::float - a)) as float) + 1::float, 1.5) as float) / 1000::float from first),
  third(a, b, c) as materialized (
    select a, b, cast(ln(abs(b - 17::float) + 2::float) as float)
      * cast(power(cast(sqrt(abs(7::float - b)) as float) + 1::float, 1.5) as float) / 1000::float from second)
select sum(cast(a + b - c * 0.5::float as double)) as total from third

-- name: CPU-FIBONACCI.fib
-- a recursive query may name itself once: both calls of a function come from one join
with recursive call(k) as (
  select cast(:n as bigint)
  union all
  select k - d from call, (values (1), (2)) as step(d) where k >= 2)
select cast(sum(case when k < 2 then k else 0 end) as bigint) as result, count(*) as calls from call

-- name: drop-helper
-- nothing: the recursive query needs none

-- name: create-helper
-- nothing: the recursive query needs none

-- name: recursion
-- nothing: there is no limit to set

-- name: CPU-PRIMES.primes
-- a row per trial: the number m divided by d
with recursive
  trial(m, d) as (
    select m, cast(2 as bigint) from range(2, 10001) number(m)
    union all
    select m, d + 1 from trial where d * d <= m and m % d <> 0)
select count(case when d * d > m then 1 end) as primes, count(case when d * d <= m then 1 end) as divisions from trial

-- name: CPU-STRING.passes
with recursive
  {{pass}},
  draw(r) as materialized (select md5(cast(s as varchar)) from pass),
  cut(r, s1) as materialized (
    select r, upper(substr(r, 1, 8)) || substr(r, 9, 8) || upper(substr(r, 17, 8)) from draw),
  mark(r, s1, s2) as materialized (
    select r, s1, s1 || chr(cast(length(s1 || s1 || s1) % 128 as integer)) from cut),
  head(r, s1, s2, s3) as materialized (select r, s1, s2, upper(s2) || '-' || 'B7' from mark),
  body(r, s1, s2, s3, s4) as materialized (select r, s1, s2, s3, upper(s3 || 'C') from head),
  tail(r, s1, s2, s3, s4, s5) as materialized (select r, s1, s2, s3, s4, upper(s4 || 'D') from body)
select cast(sum(instr(r, '7')) as bigint) as position1, cast(sum(instr(s1, 'A')) as bigint) as position2,
  cast(sum(instr(s2, 'H')) as bigint) as position3, cast(sum(instr(s3, 'B7')) as bigint) as position4,
  cast(sum(instr(s4, 'C')) as bigint) as position5, cast(sum(instr(s5, 'D')) as bigint) as position6,
  cast(sum(length(s3)) as bigint) as length3, cast(sum(length(s5)) as bigint) as length5
from tail
