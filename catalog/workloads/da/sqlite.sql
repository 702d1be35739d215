-- name: parallel
-- nothing: one thread per statement

-- name: DA-INDEX.look
select 1 as built from sqlite_schema where type = 'index' and name = 'da_index'

-- name: DA-JOIN-LOOP.join
-- "cross join" fixes the order of the loops
select count(*) as n, sum(b.amount) as total
  from {{table}} as a cross join {{table}} as b
 where a.key320 = :key
   and b.key25 = 1 + (a.key320 + (a.id - 1) / {{table_key320}} * 7919 % 320 * ({{table_key25}} / 320)) % {{table_key25}}

-- name: DA-JOIN-HASH.join
-- A materialized table has no index of its own: SQLite makes one for the statement.
with s as materialized (select id, code from {{small}})
select count(*) as n, sum(b.amount) as total, max(s.code) as most
  from {{big}} as b not indexed cross join s on s.id = b.key320
