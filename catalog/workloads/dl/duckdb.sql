-- name: columns
-- those of the data set's tables, after the id
key25 integer not null, key125 integer not null, key320 integer not null, region integer not null,
  booked_on date not null, amount numeric(12,2) not null, quantity integer not null, status integer not null,
  code varchar not null, filler varchar not null

-- name: row_values
-- the formulas of the data set, of the id i, its last nine digits n and the hashes h1 and h2
i, 1 + (i - 1) % {{small_key25}}, 1 + (i - 1) % {{small_key125}}, 1 + (i - 1) % {{small_key320}}, 1 + h1 % 8,
  date '2024-01-01' + cast(h2 % 731 as integer), cast(1 + h1 // 8 % 1000000 as numeric(12,2)) / 100,
  1 + h2 // 731 % 100, 0, (h1 + 3000000000) || (h2 + 3000000000) || (n + 100000000000),
  '{{pad}}' || (n + 100000000000)

-- name: create-buffer-columns
create table {{prefix}}dl_buffer (
  id bigint primary key, {{columns}})

-- name: create-direct-columns
-- as the data set's tables
create table {{prefix}}dl_direct (
  id bigint not null using compression uncompressed,
  key25 integer not null using compression uncompressed,
  key125 integer not null using compression uncompressed,
  key320 integer not null using compression uncompressed,
  region integer not null using compression uncompressed,
  booked_on date not null using compression uncompressed,
  amount numeric(12,2) not null using compression uncompressed,
  quantity integer not null using compression uncompressed,
  status integer not null using compression uncompressed,
  code varchar not null using compression uncompressed,
  filler varchar not null using compression uncompressed)

-- name: compress-yes
-- what DuckDB chooses by itself for each column of a row group
create or replace table {{prefix}}dl_direct (
  id bigint not null, {{columns}})

-- name: create-stream
create table {{prefix}}dl_stream (
  id bigint primary key, {{columns}})

-- name: DL-BUFFER.insert
insert into {{prefix}}dl_buffer
select cast(:seq as bigint), key25, key125, key320, region, booked_on, amount, quantity, status, code, filler from {{small}}
where id = 1 + cast(:seq as bigint) % {{small_rows}}

-- name: DL-STREAM.insert
-- the array :seq of a job (job * 10^12 + 1, 2, ...): ids job * 10^12 + (number - 1) * rpt + 1 and on
insert into {{prefix}}dl_stream
select {{row_values}}
from (select i, n, h1, (h1 * h1 + n) % 2147483647 as h2
      from (select i, n, (n * 1327217885 + 12345) % 2147483647 as h1
            from (select i, i % 1000000000 as n
                  from (select cast(:seq as bigint) // 1000000000000 * 1000000000000
                          + (cast(:seq as bigint) % 1000000000000 - 1) * {{rpt}} + 1 + r as i
                        from range({{rpt}}) slots(r)))))

-- name: gather-delete
-- nothing: it keeps its statistics by itself

-- name: create-copy-plain
-- as the data set's tables
create table {{prefix}}dl_copy (
  id bigint not null using compression uncompressed,
  key25 integer not null using compression uncompressed,
  key125 integer not null using compression uncompressed,
  key320 integer not null using compression uncompressed,
  region integer not null using compression uncompressed,
  booked_on date not null using compression uncompressed,
  amount numeric(12,2) not null using compression uncompressed,
  quantity integer not null using compression uncompressed,
  status integer not null using compression uncompressed,
  code varchar not null using compression uncompressed,
  filler varchar not null using compression uncompressed)

-- name: compress-copy-yes
-- what DuckDB chooses by itself for each column of a row group
create or replace table {{prefix}}dl_copy (
  id bigint not null, {{columns}})
