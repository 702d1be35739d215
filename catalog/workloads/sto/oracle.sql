-- STO on Oracle. A table that does not fit is read past the buffer cache or through it, as the server decides; both count as
-- physical reads.

-- name: STO-READ.scan
select /*+ full(t) no_result_cache */ * from {{big}} t where quantity = -1

-- name: STO-READ.declare
v_count pls_integer;

-- name: STO-READ.body
v_count := 0;
for v_row in (select /*+ full(t) no_result_cache */ * from {{big}} t where quantity = -1) loop
  v_count := v_count + 1;
end loop;
v_rows := v_rows + v_count;

-- name: STO-RANDOM.lookup
select /*+ hash(t) no_result_cache */ * from {{big}} t where id = :id

-- name: STO-RANDOM.update
update /*+ hash(t) */ {{big}} t set status = status + 1 where id = :id

-- name: STO-RANDOM.declare
v_id number;
v_row {{big}}%rowtype;

-- name: STO-RANDOM.body
if floor(to_number(v_seed) * 100 / 2147483648) < {{write_pct}} then
  v_seed := v_seed * c_multiplier;
  v_seed := v_seed - floor(v_seed / c_modulus) * c_modulus;
  v_id := {{drawn_id}};
  update /*+ hash(t) */ {{big}} t set status = status + 1 where id = v_id;
  v_rows := v_rows + sql%rowcount;
  commit write immediate wait;
  v_commits := v_commits + 1;
else
  v_seed := v_seed * c_multiplier;
  v_seed := v_seed - floor(v_seed / c_modulus) * c_modulus;
  v_id := {{drawn_id}};
  select /*+ hash(t) no_result_cache */ * into v_row from {{big}} t where id = v_id;
  v_rows := v_rows + sql%rowcount;
end if;

-- name: STO-SCATTER.scatter
select /*+ leading(p b) use_nl(b) index(b (key320)) no_parallel(b) no_result_cache */ b.*
from (select level - 1 as part from dual connect by level <= {{rows}} / 320) p
  join {{big}} b on b.key320 = 1 + mod(:key + p.part * floor({{big_key320}} / ({{rows}} / 320)), {{big_key320}})

-- name: STO-SCATTER.declare
v_key number;
v_count pls_integer;

-- name: STO-SCATTER.body
v_key := 1 + floor(to_number(v_seed) * {{big_key320}} / 2147483648);
v_count := 0;
for v_row in (
  select /*+ leading(p b) use_nl(b) index(b (key320)) no_parallel(b) no_result_cache */ b.*
  from (select level - 1 as part from dual connect by level <= {{rows}} / 320) p
    join {{big}} b on b.key320 = 1 + mod(v_key + p.part * floor({{big_key320}} / ({{rows}} / 320)), {{big_key320}})) loop
  v_count := v_count + 1;
end loop;
v_rows := v_rows + v_count;

-- name: STO-OFFLOAD.offload
select /*+ full(t) no_result_cache */ id, quantity, amount from {{big}} t where quantity = 7

-- name: STO-OFFLOAD.declare
v_count pls_integer;

-- name: STO-OFFLOAD.body
v_count := 0;
for v_row in (select /*+ full(t) no_result_cache */ id, quantity, amount from {{big}} t where quantity = 7) loop
  v_count := v_count + 1;
end loop;
v_rows := v_rows + v_count;

-- name: files
-- nothing: each op makes its own

-- name: no-files
-- also those of a test that was killed
begin
  for v_table in (select table_name from user_tables where regexp_like(table_name, '^' || upper('{{prefix}}sto_write_') || '[0-9]+$')) loop
    execute immediate 'drop table ' || v_table.table_name || ' purge';
  end loop;
end;
-- PL/SQL

-- name: STO-WRITE.declare
v_count number;

-- name: STO-WRITE.body
-- Four rows fill a block of 8 kB. A direct path insert writes its blocks itself, past the buffer cache, and they are on the device
-- when it ends; without log unless the database is in FORCE LOGGING.
execute immediate 'create table {{prefix}}sto_write_' || to_char(p_job)
  || ' (filler varchar2(1990)) pctfree 0 nologging';
execute immediate 'insert /*+ append */ into {{prefix}}sto_write_' || to_char(p_job)
  || ' select rpad(''x'', 1990, ''x'') from (select level as a from dual connect by level <= ceil({{file_mb}} * 1000000.0 / 2048 / 1000)) p'
  || ' cross join (select level as b from dual connect by level <= 1000) q'
  || ' where (a - 1) * 1000 + b <= floor({{file_mb}} * 1000000 / 2048)';
v_count := sql%rowcount;
commit write immediate wait;
execute immediate 'drop table {{prefix}}sto_write_' || to_char(p_job) || ' purge';
v_rows := v_rows + v_count;
-- the insert's, and that of the drop, which commits by itself
v_commits := v_commits + 2;

-- name: STO-ACTIVE.lookup
select /*+ hash(t) no_result_cache */ * from {{big}} t where id = :id

-- name: STO-ACTIVE.declare
v_id number;
v_row {{big}}%rowtype;

-- name: STO-ACTIVE.body
v_id := 1 + floor(to_number(v_seed) * {{active_rows}} / 2147483648);
select /*+ hash(t) no_result_cache */ * into v_row from {{big}} t where id = v_id;
v_rows := v_rows + sql%rowcount;

-- name: no-kept-files
-- also those of a test that was killed
begin
  for v_table in (select table_name from user_tables
      where regexp_like(table_name, '^' || upper('{{prefix}}sto_files_') || '[0-9]+_[0-9]+$')) loop
    execute immediate 'drop table ' || v_table.table_name || ' purge';
  end loop;
end;
-- PL/SQL

-- name: STO-FILES.declare
v_count number;
v_number number;
v_file varchar2(100);

-- name: STO-FILES.body
-- as STO-WRITE, but that the file stays; files of a job are numbered, and a slice goes on where the last one ended
v_file := '{{prefix}}sto_files_' || to_char(p_job) || '_';
if v_number is null then
  select coalesce(max(to_number(regexp_substr(table_name, '[0-9]+$'))), 0) into v_number from user_tables
  where regexp_like(table_name, '^' || upper(v_file) || '[0-9]+$');
end if;
v_number := v_number + 1;
if v_number > {{files}} then
  execute immediate 'drop table ' || v_file || to_char(v_number - {{files}}) || ' purge';
end if;
execute immediate 'create table ' || v_file || to_char(v_number) || ' (filler varchar2(1990)) pctfree 0 nologging';
execute immediate 'insert /*+ append */ into ' || v_file || to_char(v_number)
  || ' select rpad(''x'', 1990, ''x'') from (select level as a from dual connect by level <= ceil({{file_mb}} * 1000000.0 / 2048 / 1000)) p'
  || ' cross join (select level as b from dual connect by level <= 1000) q'
  || ' where (a - 1) * 1000 + b <= floor({{file_mb}} * 1000000 / 2048)';
v_count := sql%rowcount;
commit write immediate wait;
v_rows := v_rows + v_count;
v_commits := v_commits + 1;
