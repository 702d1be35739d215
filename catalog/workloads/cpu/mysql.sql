-- As MariaDB's, with numbers from a recursion, for want of a sequence engine, and without md5, which MySQL 9.6 put into a component.

-- name: random_string
left(sha2(rand(), 256), 32)

-- name: string_of_seed
left(sha2(v_seed, 256), 32)

-- name: string_of_s
left(sha2(s, 256), 32)

-- name: CPU-LOOP.loop
with recursive turn(n) as (select 1 union all select n + 1 from turn where n < 1000000)
select sum(n > 0) as turns from turn

-- name: CPU-RANDNUM.numbers
with recursive turn(n) as (select 1 union all select n + 1 from turn where n < 1000)
select count(r) as numbers, abs(avg(r) - 0.5) < 0.1 as mean_is_plausible
from (select rand() as r from turn limit 1000) as drawn

-- name: CPU-RANDSTR.strings
with recursive turn(n) as (select 1 union all select n + 1 from turn where n < 1000)
select count(s) as strings, sum(length(s)) as characters
from (select {{random_string}} as s from turn limit 1000) as drawn

-- name: CPU-PRIMES.primes
-- a row per trial: the number m divided by d
with recursive
  number(m) as (select 2 union all select m + 1 from number where m < 10000),
  trial(m, d) as (
    select m, 2 from number
    union all
    select m, d + 1 from trial where d * d <= m and m % d <> 0)
select count(case when d * d > m then 1 end) as primes, count(case when d * d <= m then 1 end) as divisions from trial
