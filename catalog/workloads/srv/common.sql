-- Client drive of the SRV group: one prepared statement per op, every row of the result is read.

-- name: SRV-QUERY1.lookup
select * from {{small}} where id = :id

-- name: SRV-QUERY25.lookup
select * from {{small}} where key25 = :key

-- name: SRV-QUERY320.lookup
select * from {{small}} where key320 = :key

-- name: SRV-REPORT.lookup
select * from {{small}} where key125 = :key

-- name: SRV-SCAN.scan
select * from {{small}} where quantity = -1

-- name: SRV-ROWS.scan
select * from {{small}}

-- name: SRV-UPDATE1.update
-- never to the same value: engines skip the log for that
update {{small}} set status = status + 1 where id = :id

-- name: drop-json
drop table if exists {{prefix}}srv_json

-- name: create-json
create table {{prefix}}srv_json (id bigint not null primary key, doc json not null)

-- name: fill-json
-- the path a.k has the key's own value, n counts
insert into {{prefix}}srv_json (id, doc)
with recursive digits(n) as (select 0 union all select n + 1 from digits where n < 9)
select id, '{"a": {"k": ' || id || ', "name": "name of ' || id || '"}, "n": 0, "tags": ["one", "two", "three"], "parts": ['
  || '{"text": "{{pad}}"}, {"text": "{{pad}}"}, {"text": "{{pad}}"}, {"text": "{{pad}}"}, {"text": "{{pad}}"}]}'
from (select 1 + a.n + 10 * b.n + 100 * c.n + 1000 * d.n as id from digits a, digits b, digits c, digits d where d.n < 4) as ids
order by 1

-- name: gather-json
analyze {{prefix}}srv_json

-- name: drop-text
drop table if exists {{prefix}}srv_text

-- name: gather-text
analyze {{prefix}}srv_text
