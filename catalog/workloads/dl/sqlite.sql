-- name: columns
-- those of the data set's tables, after the id
key25 int not null, key125 int not null, key320 int not null, region int not null,
  booked_on text not null, amount numeric not null, quantity int not null, status int not null,
  code varchar(32) not null, filler text not null

-- name: row_values
-- the formulas of the data set, of the id i, its last nine digits n and the hashes h1 and h2
i, 1 + (i - 1) % {{small_key25}}, 1 + (i - 1) % {{small_key125}}, 1 + (i - 1) % {{small_key320}}, 1 + h1 % 8,
  date('2024-01-01', (h2 % 731) || ' days'), 1 + h1 / 8 % 1000000, 1 + h2 / 731 % 100, 0,
  (h1 + 3000000000) || (h2 + 3000000000) || (n + 100000000000), '{{pad}}' || (n + 100000000000)

-- name: create-buffer-rowid
create table {{prefix}}dl_buffer (
  id integer primary key, {{columns}})

-- name: create-buffer-iot
create table {{prefix}}dl_buffer (
  id integer primary key, {{columns}}) without rowid

-- name: create-direct-rowid
create table {{prefix}}dl_direct (
  id integer not null, {{columns}})

-- name: create-direct-iot
create table {{prefix}}dl_direct (
  id integer primary key, {{columns}}) without rowid

-- name: create-stream
create table {{prefix}}dl_stream (
  id integer primary key, {{columns}})

-- name: relax-1
-- commits go to the log unsynced; checkpoints still sync, so that the file cannot break
pragma synchronous = normal

-- name: DL-BUFFER.insert
insert into {{prefix}}dl_buffer
select :seq, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler from {{small}}
where id = 1 + :seq % {{small_rows}}

-- name: DL-STREAM.insert
-- the array :seq of a job (job * 10^12 + 1, 2, ...): ids job * 10^12 + (number - 1) * rpt + 1 and on
insert into {{prefix}}dl_stream
with recursive
  ids(i, r) as (
    select :seq / 1000000000000 * 1000000000000 + (:seq % 1000000000000 - 1) * {{rpt}} + 1, 1
    union all
    select i + 1, r + 1 from ids where r < {{rpt}}),
  first_hash(i, n, h1) as materialized (select i, i % 1000000000, (i % 1000000000 * 1327217885 + 12345) % 2147483647 from ids),
  hashes(i, n, h1, h2) as materialized (select i, n, h1, (h1 * h1 + n) % 2147483647 from first_hash)
select {{row_values}}
from hashes

-- name: create-copy-plain
create table {{prefix}}dl_copy (
  id integer not null, {{columns}})
