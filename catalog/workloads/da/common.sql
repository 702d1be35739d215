-- name: DA-SCAN.scan
-- an expression, so that no index serves the filter
select count(*) as n, sum(id) as ids, sum(amount) as total from {{table}} where key25 + 0 <= {{table_key25}} / 2

-- name: DA-AGGREGATE.aggregate
select region, count(*) as n, sum(amount) as total, avg(amount) as mean, min(amount) as least, max(amount) as most
from {{big}} group by region

-- name: DA-SORT.sort
select * from {{big}} order by quantity, code

-- name: drop-indexes
drop index if exists {{prefix}}da_index

-- name: drop-indexes-of-jobs
-- nothing: jobs have none of their own, or they went with the other one

-- name: DA-INDEX.create
create index da_index on {{big}} (quantity)

-- name: copy-yes
-- nothing: the index is built on the big table itself

-- name: drop-copy-yes
-- nothing: the index is built on the big table itself

-- name: DA-JOIN-LOOP.join
-- (id - 1) / keys numbers the driving rows 0 to 319; each has a key of its own, far from the last one's
select count(*) as n, sum(b.amount) as total
  from {{table}} as a join {{table}} as b on
    b.key25 = 1 + (a.key320 + (a.id - 1) / {{table_key320}} * 7919 % 320 * ({{table_key25}} / 320)) % {{table_key25}}
 where a.key320 = :key

-- name: DA-JOIN-HASH.join
select count(*) as n, sum(b.amount) as total, max(s.code) as most
  from {{big}} as b join {{small}} as s on s.id = b.key320
