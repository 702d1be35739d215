-- name: drop-buffer
drop table if exists {{prefix}}dl_buffer

-- name: index-key25
create index dl_buffer_key25 on {{prefix}}dl_buffer (key25)

-- name: index-key125
create index dl_buffer_key125 on {{prefix}}dl_buffer (key125)

-- name: index-key320
create index dl_buffer_key320 on {{prefix}}dl_buffer (key320)

-- name: drop-direct
drop table if exists {{prefix}}dl_direct

-- name: drop-stream
drop table if exists {{prefix}}dl_stream

-- name: index-device
create index dl_stream_device on {{prefix}}dl_stream (key320)

-- name: relax-0
-- nothing: commits wait as the server is set

-- name: drop-delete
drop table if exists {{prefix}}dl_delete

-- name: drop-new
drop table if exists {{prefix}}dl_delete_new

-- name: create-delete
create table {{prefix}}dl_delete (id bigint not null primary key, slot bigint not null, note varchar(200) not null)

-- name: create-new
create table {{prefix}}dl_delete_new (slot bigint not null primary key, note varchar(200) not null)

-- name: fill-delete
-- 20,000 rows for each job, their ids from job * 10^12 + 1 on
insert into {{prefix}}dl_delete (id, slot, note)
with recursive
  jobs(j) as (select 1 union all select j + 1 from jobs where j < {{jobs}}),
  digits(n) as (select 0 union all select n + 1 from digits where n < 9)
select j * 1000000000000 + 1 + a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n,
  1 + (a.n + 10 * b.n + 100 * c.n + 1000 * d.n) % {{rpt}}, '{{pad}}'
from jobs, digits a, digits b, digits c, digits d, digits e
where e.n < 2
order by 1

-- name: fill-new
-- what every transaction puts in
insert into {{prefix}}dl_delete_new (slot, note)
with recursive digits(n) as (select 0 union all select n + 1 from digits where n < 9)
select 1 + a.n + 10 * b.n + 100 * c.n, '{{pad}}' from digits a, digits b, digits c
where a.n + 10 * b.n + 100 * c.n < {{rpt}}
order by 1

-- name: index-delete
create index dl_delete_slot on {{prefix}}dl_delete (slot)

-- name: gather-delete
analyze {{prefix}}dl_delete

-- name: first
-- the id before the first of the range
cast(:job as bigint) * 1000000000000
  + (case '{{old}}' when 'random' then cast(:range as bigint) else cast(:seq as bigint) % 1000000000000 end - 1) * {{rpt}}

-- name: purge
delete from {{prefix}}dl_delete where id between {{first}} + 1 and {{first}} + {{rpt}}

-- name: refill
insert into {{prefix}}dl_delete (id, slot, note)
select {{first}} + case '{{old}}' when 'random' then 0 else 20000 end + slot, slot, note from {{prefix}}dl_delete_new

-- name: drop-copy
drop table if exists {{prefix}}dl_copy

-- name: compress-copy-no
-- nothing: rows as they are

-- name: compress-copy-yes
-- nothing: the table is created so

-- name: DL-COPY.copy
insert into {{prefix}}dl_copy
select id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler from {{small}}
