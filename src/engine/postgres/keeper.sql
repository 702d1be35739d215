-- What keeping results in PostgreSQL takes. {{schema}} is the name of our schema; nothing outside it is touched.

-- name: state
-- One row: the schema is there; it holds our mark; it holds anything; we may create it, and create in it.
select (n.oid is not null)::int, (to_regclass('{{schema}}.about') is not null)::int,
  exists (select from pg_catalog.pg_class c where c.relnamespace = n.oid)::int,
  has_database_privilege(current_database(), 'CREATE')::int,
  coalesce(has_schema_privilege(n.oid, 'USAGE'), false)::int
from (select 1) one left join pg_catalog.pg_namespace n on n.nspname = '{{schema}}'

-- name: mark
select application, version from {{schema}}.about

-- name: alone
-- Until the end of the transaction nobody else creates or changes the schema.
select pg_advisory_xact_lock(1684169849, 0)

-- name: create
create schema if not exists {{schema}}; comment on schema {{schema}} is 'results of dbdyno'

-- name: adopt
create table {{schema}}.about (application bigint not null, version bigint not null);
insert into {{schema}}.about (application, version) values ({{application}}, {{version}})

-- name: set-version
update {{schema}}.about set version = {{version}}

-- name: hold
-- The writer of a run holds this lock as long as its session lives.
select pg_advisory_lock(1684169849, ?1::int)

-- name: release
select pg_advisory_unlock(1684169849, ?1::int)

-- name: is-held
select count(*) from pg_catalog.pg_locks l join pg_catalog.pg_database d on d.oid = l.database
where l.locktype = 'advisory' and l.classid = 1684169849 and l.objid = ?1::bigint::oid and l.objsubid = 2 and l.granted
  and d.datname = current_database()

-- name: json-text
{{column}}::json #>> '{{path}}'

-- name: json-pairs
json_each_text({{column}}::json)

-- name: begin
begin

-- name: commit
commit

-- name: rollback
rollback
