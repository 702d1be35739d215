-- name: fill
-- as MariaDB's
insert into {{prefix}}lgwr_lat (pool, slot, counter, pad)
with recursive
  jobs(seq) as (select 1 union all select seq + 1 from jobs where seq < greatest({{jobs}}, 64)),
  slots(seq) as (select 1 union all select seq + 1 from slots where seq < {{rows}} + 18)
select case when slots.seq <= {{rows}} then 2 * jobs.seq else 2 * jobs.seq + 1 end, slots.seq, 0,
  case when slots.seq <= {{rows}} then '' else repeat('p', 1000) end
from jobs, slots

-- name: LGWR-THR.fill
insert into {{prefix}}lgwr_thr (pool, slot, counter, pad)
with recursive
  jobs(seq) as (select 1 union all select seq + 1 from jobs where seq < greatest({{jobs}}, 8)),
  slots(seq) as (select 1 union all select seq + 1 from slots where seq < {{rows}} + 18)
select case when slots.seq <= {{rows}} then 2 * jobs.seq else 2 * jobs.seq + 1 end, slots.seq, 0, repeat('p', 1000)
from jobs, slots
