-- Our schema: {{schema}} is its name.

-- name: privileges
-- One row: user, database, schema exists, may create in database, may use and create in schema.
select current_user, current_database(), n.oid is not null,
  has_database_privilege(current_database(), 'CREATE'),
  has_schema_privilege(n.oid, 'USAGE') and has_schema_privilege(n.oid, 'CREATE')
from (select 1) one left join pg_catalog.pg_namespace n on n.nspname = '{{schema}}'

-- name: create
-- The comment tells `clean` that the schema is ours to drop.
create schema if not exists {{schema}}; comment on schema {{schema}} is 'made by dbdyno'
