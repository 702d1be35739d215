-- The mixes as one statement: `pass` draws one random number per pass, each stage is computed once (materialized: a
-- merged subquery would repeat it wherever its result is used).

-- name: CPU-DOUBLE.passes
-- a stage: 1 ln, 2 abs, 2 -, 2 +, 1 *, 1 power, 1 sqrt, 1 /; three of them, 1 random, and 2 +, 1 -, 1 * at the end
-- (one + is that of the sum)
with recursive
  {{pass}},
  draw(x) as materialized (select cast(s as double precision) from pass),
  first(a) as materialized (
    select ln(abs(x - 11) + 2) * power(sqrt(abs(3 - x)) + 1, 1.5) / 1000 from draw),
  second(a, b) as materialized (
    select a, ln(abs(a - 13) + 2) * power(sqrt(abs(5 - a)) + 1, 1.5) / 1000 from first),
  third(a, b, c) as materialized (
    select a, b, ln(abs(b - 17) + 2) * power(sqrt(abs(7 - b)) + 1, 1.5) / 1000 from second)
select sum(a + b - c * 0.5) as total from third

-- name: CPU-FIBONACCI.fib
-- the tree of calls: fib(n) calls fib(n - 1) and fib(n - 2) unless n < 2
with recursive call(k) as (
  select cast(:n as bigint)
  union all
  select k - 1 from call where k >= 2
  union all
  select k - 2 from call where k >= 2)
select sum(case when k < 2 then k else 0 end) as result, count(*) as calls from call

-- name: CPU-LOOP.loop
with recursive turn(n) as (select 1 union all select n + 1 from turn where n < 1000000)
select count(*) as turns from turn

-- name: CPU-PRIMES.primes
-- a row per trial: the number m divided by d
with recursive
  number(m) as (select 2 union all select m + 1 from number where m < 10000),
  trial(m, d) as (
    select m, 2 from number
    union all
    select m, d + 1 from trial where d * d <= m and m % d <> 0)
select count(case when d * d > m then 1 end) as primes, count(case when d * d <= m then 1 end) as divisions from trial

-- name: pass
pass(n, s) as (
    select 1, cast(:seed as bigint) * 48271 % 2147483647
    union all
    select n + 1, s * 48271 % 2147483647 from pass where n < 100)
