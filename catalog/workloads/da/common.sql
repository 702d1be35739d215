-- name: DA-AGGREGATE.aggregate
select region, count(*) as n, sum(amount) as total, avg(amount) as mean, min(amount) as least, max(amount) as most
from {{big}} group by region

-- name: drop-indexes
drop index if exists {{prefix}}da_index

-- name: DA-INDEX.drop
drop index if exists {{prefix}}da_index

-- name: DA-INDEX.create
create index da_index on {{big}} (quantity)
