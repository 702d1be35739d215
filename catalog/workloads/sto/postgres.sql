-- name: declare
v_count bigint;

-- name: STO-READ.body
perform * from {{big}} where quantity = -1;
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: STO-RANDOM.declare
v_count bigint;
v_id bigint;

-- name: STO-RANDOM.body
if v_seed * 100 >> 31 < {{write_pct}} then
  v_seed := v_seed * 48271 % 2147483647;
  v_id := {{drawn_id}};
  update {{big}} set status = status + 1 where id = v_id;
  get diagnostics v_count = row_count;
  commit;
  v_commits := v_commits + 1;
else
  v_seed := v_seed * 48271 % 2147483647;
  v_id := {{drawn_id}};
  perform * from {{big}} where id = v_id;
  get diagnostics v_count = row_count;
end if;
v_rows := v_rows + v_count;

-- name: STO-SCATTER.scatter
select b.* from generate_series(0, {{rows}} / 320 - 1) as part
  cross join lateral (
    select * from {{big}}
     where key320 = 1 + (:key + part * ({{big_key320}} / ({{rows}} / 320))) % {{big_key320}} offset 0
  ) as b

-- name: STO-SCATTER.declare
v_count bigint;
v_key bigint;

-- name: STO-SCATTER.body
v_key := 1 + (v_seed * {{big_key320}} >> 31);
perform b.* from generate_series(0, {{rows}} / 320 - 1) as part
  cross join lateral (
    select * from {{big}}
     where key320 = 1 + (v_key + part * ({{big_key320}} / ({{rows}} / 320))) % {{big_key320}} offset 0
  ) as b;
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: STO-OFFLOAD.body
perform id, quantity, amount from {{big}} where quantity = 7;
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: no-files
-- also those of a test that was killed
do $$
declare
  v_name text;
begin
  for v_name in select oid::regclass::text from pg_class
    where relnamespace = to_regnamespace(rtrim('{{prefix}}', '.')) and relkind = 'r' and relname ~ '^sto_write_[0-9]+$'
      and pg_get_userbyid(relowner) = current_user and obj_description(oid, 'pg_class') = 'made by dbdyno'
  loop
    execute 'drop table ' || v_name;
  end loop;
end
$$

-- name: STO-WRITE.body
-- Four rows fill a block of 8 kB. CREATE TABLE AS writes through a ring of buffers of its own: an eighth of shared_buffers, at
-- most 16 MB. The table grows by blocks of zeros, which are overwritten as the ring comes round; the checkpoint syncs the file.
-- An ordinary checkpoint leaves the buffers of an unlogged table in the cache, so that what the ring holds last reaches the
-- device as zeros: blocks of the same number and size. A checkpoint takes a superuser, or from version 15 on a member of
-- pg_checkpoint: without, the contract sees it.
execute 'create unlogged table {{prefix}}sto_write_' || p_job || ' as select repeat(''x'', 1990) as filler '
  'from generate_series(1, ' || floor({{file_mb}} * 1000000.0 / 2048) || ')';
get diagnostics v_count = row_count;
execute 'comment on table {{prefix}}sto_write_' || p_job || ' is ''made by dbdyno''';
commit;
begin
  checkpoint;
exception when insufficient_privilege then
  null;
end;
execute 'drop table {{prefix}}sto_write_' || p_job;
commit;
v_rows := v_rows + v_count;
v_commits := v_commits + 2;

-- name: STO-ACTIVE.declare
v_count bigint;

-- name: STO-ACTIVE.body
perform * from {{big}} where id = 1 + (v_seed * {{active_rows}} >> 31);
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: no-kept-files
-- also those of a test that was killed
do $$
declare
  v_name text;
begin
  for v_name in select oid::regclass::text from pg_class
    where relnamespace = to_regnamespace(rtrim('{{prefix}}', '.')) and relkind = 'r' and relname ~ '^sto_files_[0-9]+_[0-9]+$'
      and pg_get_userbyid(relowner) = current_user and obj_description(oid, 'pg_class') = 'made by dbdyno'
  loop
    execute 'drop table ' || v_name;
  end loop;
end
$$

-- name: STO-FILES.declare
-- files of a job are numbered; a slice goes on where the last one ended
v_count bigint;
v_file text := '{{prefix}}sto_files_' || p_job || '_';
v_number int := coalesce((select max(substring(relname from '[0-9]+$')::int) from pg_class
  where relnamespace = to_regnamespace(rtrim('{{prefix}}', '.')) and relkind = 'r'
    and relname ~ ('^sto_files_' || p_job || '_[0-9]+$')), 0);

-- name: STO-FILES.body
-- as STO-WRITE, but that the file stays
v_number := v_number + 1;
if v_number > {{files}} then
  execute 'drop table if exists ' || v_file || v_number - {{files}};
end if;
execute 'create unlogged table ' || v_file || v_number || ' as select repeat(''x'', 1990) as filler '
  'from generate_series(1, ' || floor({{file_mb}} * 1000000.0 / 2048) || ')';
get diagnostics v_count = row_count;
execute 'comment on table ' || v_file || v_number || ' is ''made by dbdyno''';
commit;
begin
  checkpoint;
exception when insufficient_privilege then
  null;
end;
commit;
v_rows := v_rows + v_count;
v_commits := v_commits + 2;
