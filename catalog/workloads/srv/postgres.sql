-- Database drive of the SRV group. PERFORM runs the query to its end and copies every row found, all columns, out of
-- the buffer into the memory of the session; ROW_COUNT is the executor's own count of them. A lookup by a unique key
-- finds one row or none: SRV-QUERY1 counts those that found none, which costs less than adding up ones.

-- name: declare
v_count bigint;

-- name: SRV-QUERY1.declare
v_missing bigint := 0;

-- name: SRV-QUERY1.body
perform * from {{small}} where id = {{drawn_id}};
if not found then
  v_missing := v_missing + 1;
end if;

-- name: SRV-QUERY1.rows
v_ops - v_missing

-- name: SRV-QUERY25.body
perform * from {{small}} where key25 = 1 + (v_seed * {{small_key25}} >> 31);
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: SRV-QUERY320.body
perform * from {{small}} where key320 = 1 + (v_seed * {{small_key320}} >> 31);
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: SRV-REPORT.body
perform * from {{small}} where key125 = 1 + (v_seed * {{small_key125}} >> 31);
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: SRV-SCAN.body
perform * from {{small}} where quantity = -1;
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: SRV-ROWS.declare
v_row record;

-- name: SRV-ROWS.body
-- a cursor, which keeps no copy of the whole table
for v_row in select * from {{small}} loop
  v_rows := v_rows + 1;
end loop;

-- name: SRV-UPDATE1.body
update {{small}} set status = status + 1 where id = {{drawn_id}};
get diagnostics v_count = row_count;
commit;
v_rows := v_rows + v_count;
v_commits := v_commits + 1;

-- name: create-json
create table {{prefix}}srv_json (id bigint not null primary key, doc jsonb not null);
comment on table {{prefix}}srv_json is 'made by dbdyno'

-- name: fill-json
insert into {{prefix}}srv_json (id, doc)
select id, jsonb_build_object('a', jsonb_build_object('k', id, 'name', 'name of ' || id), 'n', 0,
    'tags', jsonb_build_array('one', 'two', 'three'),
    'parts', (select jsonb_agg(jsonb_build_object('text', '{{pad}}')) from generate_series(1, 5)))
from generate_series(1::bigint, 4000) as id

-- name: index-json
create index srv_json_doc on {{prefix}}srv_json using gin (doc jsonb_path_ops)

-- name: find-path
select * from {{prefix}}srv_json where doc @> jsonb_build_object('a', jsonb_build_object('k', cast(:k as bigint)))

-- name: set-path
update {{prefix}}srv_json set doc = jsonb_set(doc, array['n'], to_jsonb((doc ->> 'n')::bigint + 1)) where id = :k

-- name: SRV-JSON.declare
v_count bigint;
v_key bigint;

-- name: SRV-JSON.body
if v_seed * 100 >> 31 < {{update_pct}} then
  v_seed := v_seed * 48271 % 2147483647;
  v_key := 1 + (v_seed * 4000 >> 31);
  update {{prefix}}srv_json set doc = jsonb_set(doc, array['n'], to_jsonb((doc ->> 'n')::bigint + 1)) where id = v_key;
  get diagnostics v_count = row_count;
  commit;
  v_commits := v_commits + 1;
else
  v_seed := v_seed * 48271 % 2147483647;
  v_key := 1 + (v_seed * 4000 >> 31);
  perform * from {{prefix}}srv_json where doc @> jsonb_build_object('a', jsonb_build_object('k', v_key));
  get diagnostics v_count = row_count;
end if;
v_rows := v_rows + v_count;

-- name: create-text
create table {{prefix}}srv_text (id bigint not null primary key, body text not null,
  words tsvector generated always as (to_tsvector('simple', body)) stored);
comment on table {{prefix}}srv_text is 'made by dbdyno'

-- name: fill-text
insert into {{prefix}}srv_text (id, body)
select id, 'alpha' || id % 32 || ' beta' || id / 32 % 32 || ' the quick brown foxes jump over lazy dogs while databases count their rows and vacuum what nobody can see' from generate_series(1, 20480) as id

-- name: index-text
create index srv_text_words on {{prefix}}srv_text using gin (words)

-- name: find-words
select * from {{prefix}}srv_text
where words @@ ('alpha' || (cast(:pair as bigint) - 1) % 32 || ' & beta' || (cast(:pair as bigint) - 1) / 32)::tsquery

-- name: SRV-TEXT.body
perform * from {{prefix}}srv_text
where words @@ ('alpha' || (v_seed * 1024 >> 31) % 32 || ' & beta' || (v_seed * 1024 >> 31) / 32)::tsquery;
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;
