-- SRV on MySQL, where it is not as on MariaDB: an index on an expression, and JSON in binary form.

-- name: create-json
create table {{prefix}}srv_json (id bigint not null primary key, doc json not null) engine = innodb comment = 'made by dbdyno'

-- name: index-json
create index srv_json_k on {{prefix}}srv_json ((cast(doc ->> '$.a.k' as signed)))

-- name: find-path
select * from {{prefix}}srv_json where cast(doc ->> '$.a.k' as signed) = :k

-- name: set-path
update {{prefix}}srv_json set doc = json_set(doc, '$.n', cast(doc ->> '$.n' as signed) + 1) where id = :k

-- name: SRV-JSON.declare
declare v_id, v_key bigint;
declare v_doc json;

-- name: SRV-JSON.body
if v_seed * 100 >> 31 < {{update_pct}} then
  set v_seed = v_seed * 48271 % 2147483647;
  set v_key = 1 + (v_seed * 4000 >> 31);
  update {{prefix}}srv_json set doc = json_set(doc, '$.n', cast(doc ->> '$.n' as signed) + 1) where id = v_key;
  set v_rows = v_rows + row_count();
  set v_commits = v_commits + 1;
else
  set v_seed = v_seed * 48271 % 2147483647;
  set v_key = 1 + (v_seed * 4000 >> 31);
  select id, doc into v_id, v_doc from {{prefix}}srv_json where cast(doc ->> '$.a.k' as signed) = v_key;
  set v_rows = v_rows + row_count();
end if;
