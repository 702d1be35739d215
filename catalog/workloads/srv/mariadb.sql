-- Database drive of the SRV group on MariaDB. A routine can only fetch rows into variables: one row as it is; of many rows
-- the greatest value of each column, so that every column of every row is read, and their number as the executor counts
-- them. "+ 0" keeps the optimizer from looking the greatest value of a key up in the index. A cursor over the rows is a third
-- slower (it copies them into a temporary table first).

-- name: declare
declare v_id, v_key25, v_key125, v_key320, v_region, v_quantity, v_status, v_count bigint;
declare v_booked_on date;
declare v_amount decimal(12,2);
declare v_code varchar(32);
declare v_filler varchar(200);

-- name: all_columns
select count(*), max(id + 0), max(key25 + 0), max(key125 + 0), max(key320 + 0), max(region),
    max(booked_on), max(amount), max(quantity), max(status), max(code), max(filler)
  into v_count, v_id, v_key25, v_key125, v_key320, v_region,
    v_booked_on, v_amount, v_quantity, v_status, v_code, v_filler

-- name: SRV-QUERY1.declare
declare v_id, v_key25, v_key125, v_key320, v_region, v_quantity, v_status bigint;
declare v_booked_on date;
declare v_amount decimal(12,2);
declare v_code varchar(32);
declare v_filler varchar(200);

-- name: SRV-QUERY1.body
select id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler, v_rows + 1
  into v_id, v_key25, v_key125, v_key320, v_region, v_booked_on, v_amount, v_quantity, v_status, v_code, v_filler, v_rows
  from {{small}} where id = {{drawn_id}};

-- name: SRV-QUERY25.body
{{all_columns}}
  from {{small}} where key25 = 1 + (v_seed * {{small_key25}} >> 31);
set v_rows = v_rows + v_count;

-- name: SRV-QUERY320.body
{{all_columns}}
  from {{small}} where key320 = 1 + (v_seed * {{small_key320}} >> 31);
set v_rows = v_rows + v_count;

-- name: SRV-REPORT.body
{{all_columns}}
  from {{small}} where key125 = 1 + (v_seed * {{small_key125}} >> 31);
set v_rows = v_rows + v_count;

-- name: SRV-SCAN.body
{{all_columns}}
  from {{small}} where quantity = -1;
set v_rows = v_rows + v_count;

-- name: SRV-ROWS.body
{{all_columns}}
  from {{small}};
set v_rows = v_rows + v_count;

-- name: SRV-UPDATE1.declare
-- nothing: no row is fetched

-- name: SRV-UPDATE1.body
update {{small}} set status = status + 1 where id = {{drawn_id}};
set v_rows = v_rows + row_count();
set v_commits = v_commits + 1;

-- name: create-json
-- a virtual column holds the value of the path, for its index
create table {{prefix}}srv_json (id bigint not null primary key, doc json not null,
  k bigint generated always as (json_value(doc, '$.a.k')) virtual)
engine = innodb comment = 'made by dbdyno'

-- name: fill-json
insert into {{prefix}}srv_json (id, doc)
with recursive digits(n) as (select 0 union all select n + 1 from digits where n < 9)
select id, concat('{"a": {"k": ', id, ', "name": "name of ', id, '"}, "n": 0, "tags": ["one", "two", "three"], "parts": [',
  '{"text": "{{pad}}"}, {"text": "{{pad}}"}, {"text": "{{pad}}"}, {"text": "{{pad}}"}, {"text": "{{pad}}"}]}')
from (select 1 + a.n + 10 * b.n + 100 * c.n + 1000 * d.n as id from digits a, digits b, digits c, digits d where d.n < 4) as ids

-- name: index-json
create index srv_json_k on {{prefix}}srv_json (k)

-- name: gather-json
analyze table {{prefix}}srv_json

-- name: find-path
select id, doc from {{prefix}}srv_json where k = :k

-- name: set-path
update {{prefix}}srv_json set doc = json_set(doc, '$.n', json_value(doc, '$.n') + 1) where id = :k

-- name: SRV-JSON.declare
declare v_id, v_key bigint;
declare v_doc text;

-- name: SRV-JSON.body
if v_seed * 100 >> 31 < {{update_pct}} then
  set v_seed = v_seed * 48271 % 2147483647;
  set v_key = 1 + (v_seed * 4000 >> 31);
  update {{prefix}}srv_json set doc = json_set(doc, '$.n', json_value(doc, '$.n') + 1) where id = v_key;
  set v_rows = v_rows + row_count();
  set v_commits = v_commits + 1;
else
  set v_seed = v_seed * 48271 % 2147483647;
  set v_key = 1 + (v_seed * 4000 >> 31);
  select id, doc into v_id, v_doc from {{prefix}}srv_json where k = v_key;
  set v_rows = v_rows + row_count();
end if;

-- name: create-text
create table {{prefix}}srv_text (id bigint not null primary key, body text not null)
engine = innodb comment = 'made by dbdyno'

-- name: fill-text
insert into {{prefix}}srv_text (id, body)
with recursive digits(n) as (select 0 union all select n + 1 from digits where n < 9)
select id, concat('alpha', id % 32, ' beta', id div 32 % 32, ' the quick brown foxes jump over lazy dogs while databases count their rows and vacuum what nobody can see')
from (select 1 + a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n as id
      from digits a, digits b, digits c, digits d, digits e where e.n < 3) as ids
where id <= 20480
order by id

-- name: index-text
create fulltext index srv_text_body on {{prefix}}srv_text (body)

-- name: gather-text
analyze table {{prefix}}srv_text

-- name: find-words
select * from {{prefix}}srv_text
where match (body) against (concat('+alpha', (:pair - 1) % 32, ' +beta', (:pair - 1) div 32) in boolean mode)

-- name: SRV-TEXT.declare
declare v_id, v_count bigint;
declare v_body text;
declare v_words varchar(40);

-- name: SRV-TEXT.body
set v_words = concat('+alpha', (v_seed * 1024 >> 31) % 32, ' +beta', (v_seed * 1024 >> 31) div 32);
select count(*), max(id + 0), max(body) into v_count, v_id, v_body from {{prefix}}srv_text
where match (body) against (v_words in boolean mode);
set v_rows = v_rows + v_count;
