-- Our database: {{database}} is its name.

-- name: privileges
-- Privileges that hold for the whole server or for our database, of the user and of the role that is on.
select p.privilege_type
from (
  select grantee, privilege_type from information_schema.user_privileges
  union all
  select grantee, privilege_type from information_schema.schema_privileges where '{{database}}' like table_schema
) as p
where p.grantee in (concat('''', replace(current_user(), '@', '''@'''), ''''), concat('''', current_role(), ''''))

-- name: exists
select count(*) from information_schema.schemata where schema_name = '{{database}}'

-- name: create
-- The comment tells `clean` that the database is ours to drop.
create database if not exists {{database}} character set utf8mb4 collate utf8mb4_bin comment 'made by dbdyno'

-- name: try-routine
-- Named as our routines are, so that it is cleaned like them.
create or replace procedure {{database}}.w_try() do 0

-- name: drop-tried
-- Another dbdyno that starts now has tried, too.
drop procedure if exists {{database}}.w_try

-- name: user
select current_user()
