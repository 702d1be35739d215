-- Whose a schema of ours is. {{schema}} is its name, {{mark}} the comment that we give it.

-- name: trusted
-- Roles whose objects may run with the rights of our user: itself, superusers, and the owner of the database, who can set what
-- every session in it begins with; a superuser need trust no owner. Members of its roles are not among them: before version 15
-- any user may make another a member of his own role (manual: "GRANT").
select r.oid from pg_roles as r where r.rolsuper or r.rolname = current_user
union
select o.oid from pg_database as d, pg_roles as me, pg_roles as o
where d.datname = current_database() and me.rolname = current_user and not me.rolsuper
  and (o.oid = d.datdba or o.rolname = 'pg_database_owner')

-- name: schema
-- One row if the schema is there: our user, its owner, 1 if that is to be trusted, 1 if it has our comment, who else may create
-- in it.
with trusted as ({{trusted}})
select current_user, pg_get_userbyid(n.nspowner), (n.nspowner in (select oid from trusted))::int,
  (obj_description(n.oid, 'pg_namespace') is not distinct from '{{mark}}')::int,
  (select string_agg(distinct case a.grantee when 0 then 'public' else pg_get_userbyid(a.grantee) end, ', ')
     from aclexplode(n.nspacl) as a
    where a.privilege_type = 'CREATE' and a.grantee not in (select oid from trusted) and a.grantee <> n.nspowner)
from pg_namespace as n where n.nspname = '{{schema}}'

-- name: attached
-- A row for each thing by which a table of a trusted owner runs what somebody wrote, or by which others could make it do so:
-- tables of others are not used.
with trusted as ({{trusted}}), ours as (
  select c.oid, c.relname, c.relkind, c.relacl, c.relowner from pg_class as c
  where c.relnamespace = to_regnamespace('{{schema}}') and c.relowner in (select oid from trusted)
    and c.relkind in ('r', 'p')
)
select format('table %I.%I has the trigger %I', '{{schema}}', c.relname, t.tgname) as what
from ours as c join pg_trigger as t on t.tgrelid = c.oid where not t.tgisinternal
union all
select format('table %I.%I has the rule %I', '{{schema}}', c.relname, r.rulename)
from ours as c join pg_rewrite as r on r.ev_class = c.oid
union all
select format('table %I.%I has the policy %I', '{{schema}}', c.relname, p.polname)
from ours as c join pg_policy as p on p.polrelid = c.oid
union all
select format('%s may create triggers on table %I.%I', case a.grantee when 0 then 'everybody' else pg_get_userbyid(a.grantee) end,
    '{{schema}}', c.relname)
from ours as c, aclexplode(c.relacl) as a
where a.privilege_type = 'TRIGGER' and a.grantee not in (select oid from trusted) and a.grantee <> c.relowner

-- name: strange
-- A row for each thing of the schema that is no plain table of a trusted owner, nor belongs to one.
with trusted as ({{trusted}})
select format(case when c.relkind in ('r', 'i', 'S') then '%I.%I belongs to %I' else '%I.%I, of %I, is no table' end,
  '{{schema}}', c.relname, pg_get_userbyid(c.relowner)) as what
from pg_class as c
where c.relnamespace = to_regnamespace('{{schema}}')
  and (c.relkind not in ('r', 'i', 'S') or c.relowner not in (select oid from trusted))
union all
select format('%I.%I is a routine', '{{schema}}', p.proname) from pg_proc as p where p.pronamespace = to_regnamespace('{{schema}}')
