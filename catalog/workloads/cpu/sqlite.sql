-- name: CPU-RANDNUM.numbers
-- a random number of SQLite is a signed 64-bit integer: the mean of 1000 has a standard deviation of 1.7e17
with recursive
  turn(n) as (select 1 union all select n + 1 from turn where n < 1000),
  drawn(r) as materialized (select random() from turn)
select count(r) as numbers, abs(avg(r)) < 1.8e18 as mean_is_plausible from drawn

-- name: CPU-RANDSTR.strings
with recursive
  turn(n) as (select 1 union all select n + 1 from turn where n < 1000),
  drawn(s) as materialized (select hex(randomblob(16)) from turn)
select count(s) as strings, sum(length(s)) as characters from drawn

-- name: CPU-INTEGER.passes
-- a cast to integer would cut off the decimals: "round" makes it the conversion that other databases do
with recursive
  pass(n, s) as (
    select 1, :seed * 48271 % 2147483647
    union all
    select n + 1, s * 48271 % 2147483647 from pass where n < 100),
  draw(x) as materialized (select s from pass),
  first(a) as materialized (
    select cast(round(ln(abs(x - 11) + 2)) as integer)
      * cast(round(power(cast(round(sqrt(abs(3 - x))) as integer) + 1, 1.5)) as integer) / 1000 from draw),
  second(a, b) as materialized (
    select a, cast(round(ln(abs(a - 13) + 2)) as integer)
      * cast(round(power(cast(round(sqrt(abs(5 - a))) as integer) + 1, 1.5)) as integer) / 1000 from first),
  third(a, b, c) as materialized (
    select a, b, cast(round(ln(abs(b - 17) + 2)) as integer)
      * cast(round(power(cast(round(sqrt(abs(7 - b))) as integer) + 1, 1.5)) as integer) / 1000 from second)
select sum(a + b - c * 2) as total from third

-- name: CPU-STRING.passes
-- the functions' names differ from a server's, the operations do not; see there for the count
with recursive
  pass(n) as (select min(:seed, 1) union all select n + 1 from pass where n < 100),
  draw(r) as materialized (select hex(randomblob(16)) from pass),
  cut(r, s1) as materialized (
    select r, upper(substr(r, 1, 8)) || substr(r, 9, 8) || upper(substr(r, 17, 8)) from draw),
  mark(r, s1, s2) as materialized (select r, s1, s1 || char(length(s1 || s1 || s1) % 128) from cut),
  head(r, s1, s2, s3) as materialized (select r, s1, s2, upper(s2) || '-' || 'B7' from mark),
  body(r, s1, s2, s3, s4) as materialized (select r, s1, s2, s3, upper(s3 || 'C') from head),
  tail(r, s1, s2, s3, s4, s5) as materialized (select r, s1, s2, s3, s4, upper(s4 || 'D') from body)
select sum(instr(r, '7')) as position1, sum(instr(s1, 'A')) as position2, sum(instr(s2, 'H')) as position3,
  sum(instr(s3, 'B7')) as position4, sum(instr(s4, 'C')) as position5, sum(instr(s5, 'D')) as position6,
  sum(length(s3)) as length3, sum(length(s5)) as length5
from tail
