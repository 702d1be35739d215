-- The data set: statements that every engine understands. {{table}} is the name with prefix, {{name}} without.

-- name: count
select count(*) as row_count from {{table}}

-- name: quick
-- Cheap sign that the rows are still those that were loaded: first and last id.
select min(id) as first_id, max(id) as last_id from {{table}}

-- name: parts
-- Partitions of the table: what a look-up that does not name the partition goes through.
select 1 as parts

-- name: insert-select
-- The other load path: rows {{lo}} to {{hi}} made by the database itself.
insert into {{table}} (id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler)
{{row_select}}

-- name: drop
drop table if exists {{table}}

-- name: state.create
create table if not exists {{prefix}}state (
  table_name varchar(64) not null primary key,
  row_count bigint not null,
  seed bigint not null,
  revision integer not null,
  data_set_id varchar(64) not null,
  checksum varchar(1000) not null,
  table_bytes bigint not null,
  index_bytes bigint not null,
  loaded_at varchar(40) not null
)

-- name: state.read
select row_count, data_set_id, checksum, table_bytes, index_bytes
  from {{prefix}}state where table_name = '{{name}}'

-- name: state.forget
delete from {{prefix}}state where table_name = '{{name}}'

-- name: state.remember
insert into {{prefix}}state
  (table_name, row_count, seed, revision, data_set_id, checksum, table_bytes, index_bytes, loaded_at)
values ('{{name}}', {{rows}}, {{seed}}, {{revision}}, '{{data_set_id}}', '{{checksum}}',
  {{table_bytes}}, {{index_bytes}}, '{{loaded_at}}')

-- name: chunks.create
-- What is in of a table that is being loaded (see dataset::chunks).
create table if not exists {{prefix}}state_chunks (
  table_name varchar(64) not null,
  first_id bigint not null,
  last_id bigint not null,
  data_set_id varchar(64) not null,
  primary key (table_name, first_id)
)

-- name: chunks.read
select first_id, last_id
  from {{prefix}}state_chunks where table_name = '{{name}}' and data_set_id = '{{data_set_id}}' order by first_id

-- name: chunks.clear
-- nothing: a chunk and its note are one transaction

-- name: chunks.note
insert into {{prefix}}state_chunks (table_name, first_id, last_id, data_set_id)
values ('{{name}}', {{lo}}, {{hi}}, '{{data_set_id}}')

-- name: chunks.forget
delete from {{prefix}}state_chunks where table_name = '{{name}}'

-- name: index.key25
create index {{name}}_key25 on {{table}} (key25)

-- name: index.key125
create index {{name}}_key125 on {{table}} (key125)

-- name: index.key320
create index {{name}}_key320 on {{table}} (key320)

-- name: files
-- nothing: this engine does not tell which files a table has
