-- name: memoptimize-no
-- nothing: the table as it is

-- name: memoptimized-no
-- nothing: the table as it is

-- Client drive of the TP group.

-- name: TP-LOOKUP.lookup
select * from {{big}} where id = :id

-- name: TP-SELECT32.lookup
select * from {{big}} where id = :id

-- name: TP-UPDATE32.update
update {{big}} set status = status + 1, amount = amount + 1 where id = (:k - 1) * ({{big_rows}} / 32) + :offset

-- name: TP-HOT.update
update {{big}} set status = status + 1, amount = amount + 1 where id = 1 + (:hot - 1) * ({{big_rows}} / 64)

-- name: TP-REPORT.lookup
select * from {{big}} where key25 = :key

-- name: TP-LIGHT.lookup
select * from {{big}} where id = :id

-- name: TP-LIGHT.lock
select * from {{big}} where id = :id for update

-- name: TP-LIGHT.update
update {{big}} set status = status + 1, amount = amount + 1 where id = :id

-- name: TP-MEDIUM.lookup
select * from {{big}} where key25 = :key

-- name: TP-MEDIUM.lock
select * from {{big}} where key25 = :key order by id for update

-- name: TP-MEDIUM.update
update {{big}} set status = status + 1, amount = amount + 1 where key25 = :key

-- name: TP-HEAVY.lookup
select * from {{big}} where key125 = :key

-- name: TP-HEAVY.lock
select * from {{big}} where key125 = :key order by id for update

-- name: TP-HEAVY.update
update {{big}} set status = status + 1, amount = amount + 1 where key125 = :key

-- name: drop-queue
drop table if exists {{prefix}}tp_queue

-- name: put
insert into {{prefix}}tp_queue (note) values ('{{pad}}')

-- name: take
delete from {{prefix}}tp_queue where id = (select min(id) from {{prefix}}tp_queue)

-- name: fill-queue
insert into {{prefix}}tp_queue (note)
with recursive digits(n) as (select 0 union all select n + 1 from digits where n < 9)
select '{{pad}}' from digits a, digits b, digits c

-- name: look-held
select count(*) as found from {{prefix}}tp_queue

-- name: drop-upsert
drop table if exists {{prefix}}tp_upsert

-- name: create-upsert
create table {{prefix}}tp_upsert (id bigint not null primary key, n bigint not null, note varchar(200) not null)

-- name: fill-upsert
insert into {{prefix}}tp_upsert (id, n, note)
with recursive digits(n) as (select 0 union all select n + 1 from digits where n < 9)
select 1 + a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n, 0, '{{pad}}'
from digits a, digits b, digits c, digits d, digits e
where e.n < 2
order by 1

-- name: gather-upsert
analyze {{prefix}}tp_upsert

-- name: change
insert into {{prefix}}tp_upsert as t (id, n, note) values (:id, 1, '{{pad}}')
on conflict (id) do update set n = t.n + 1

-- name: add
insert into {{prefix}}tp_upsert as t (id, n, note) values (:seq, 1, '{{pad}}')
on conflict (id) do update set n = t.n + 1
