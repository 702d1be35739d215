-- SRV on SQLite: documents are text, words have a table of the extension FTS5.

-- name: create-json
create table {{prefix}}srv_json (id integer primary key, doc text not null)

-- name: index-json
create index srv_json_k on {{prefix}}srv_json (doc ->> '$.a.k')

-- name: find-path
select * from {{prefix}}srv_json where doc ->> '$.a.k' = :k

-- name: set-path
update {{prefix}}srv_json set doc = json_set(doc, '$.n', (doc ->> '$.n') + 1) where id = :k

-- name: create-text
create virtual table {{prefix}}srv_text using fts5 (body)

-- name: fill-text
insert into {{prefix}}srv_text (rowid, body)
with recursive ids(id) as (select 1 union all select id + 1 from ids where id < 20480)
select id, 'alpha' || (id % 32) || ' beta' || (id / 32 % 32) || ' the quick brown foxes jump over lazy dogs while databases count their rows and vacuum what nobody can see' from ids

-- name: index-text
-- nothing: the table is its index

-- name: gather-text
-- nothing: it has no statistics

-- name: find-words
select * from {{prefix}}srv_text where body match 'alpha' || ((:pair - 1) % 32) || ' AND beta' || ((:pair - 1) / 32)
