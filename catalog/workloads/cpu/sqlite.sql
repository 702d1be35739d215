-- name: CPU-STRING.passes
-- the functions' names differ from PostgreSQL's, the operations do not; see there for the count
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
