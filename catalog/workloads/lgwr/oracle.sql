-- LGWR on Oracle. COMMIT alone would not be waited for inside the routine; "commit write immediate wait" is. LGWR-PLAIN shows
-- the difference.

-- name: drop-table
begin
  execute immediate 'drop table {{prefix}}lgwr_lat purge';
exception
  when others then
    if sqlcode <> -942 then
      raise;
    end if;
end;
-- PL/SQL

-- name: create-table
-- pool: the job that owns the row; 0 = padding. Half of each block stays free.
create table {{prefix}}lgwr_lat (pool number(10) not null, counter number(19) not null, pad varchar2(1000)) pctfree 50 initrans 4

-- name: fill
-- After the rows of each job come 9 wide rows, more than a block of 8 kB, so that no two jobs share a block.
insert into {{prefix}}lgwr_lat (pool, counter, pad)
select case when r <= {{rows}} then j else 0 end, 0, case when r > {{rows}} then rpad('p', 1000, 'p') end
from (select level as j from dual connect by level <= greatest({{jobs}}, 64)) jobs
  cross join (select level as r from dual connect by level <= {{rows}} + 9) slots
order by j, r

-- name: index
create index {{prefix}}lgwr_lat_pool on {{prefix}}lgwr_lat (pool)

-- name: gather
begin
  dbms_stats.gather_table_stats(user, upper('{{prefix}}lgwr_lat'), cascade => true);
end;
-- PL/SQL

-- name: LGWR-LAT.update
update /*+ index(t (pool)) */ {{prefix}}lgwr_lat t set counter = counter + 1 where pool = :job

-- name: LGWR-LAT.body
update /*+ index(t (pool)) */ {{prefix}}lgwr_lat t set counter = counter + 1 where pool = p_job;
v_rows := v_rows + sql%rowcount;
commit write immediate wait;
v_commits := v_commits + 1;

-- name: LGWR-PLAIN.body
-- as programs in PL/SQL are written: the session waits once, when the call returns
update /*+ index(t (pool)) */ {{prefix}}lgwr_lat t set counter = counter + 1 where pool = p_job;
v_rows := v_rows + sql%rowcount;
commit;
v_commits := v_commits + 1;

-- name: LGWR-INSERT.drop-table
begin
  execute immediate 'drop table {{prefix}}lgwr_insert purge';
exception
  when others then
    if sqlcode <> -942 then
      raise;
    end if;
end;
-- PL/SQL

-- name: LGWR-INSERT.create-table
create table {{prefix}}lgwr_insert (id number(19) not null primary key, amount number(19) not null, note varchar2(200) not null)
initrans 4

-- name: LGWR-INSERT.declare
-- ids of a job are its own: job * 10^12 + 1, 2, ...; a slice goes on where the last one ended
v_id number;

-- name: LGWR-INSERT.body
if v_id is null then
  select coalesce(max(id), p_job * 1000000000000) into v_id from {{prefix}}lgwr_insert
  where id > p_job * 1000000000000 and id < (p_job + 1) * 1000000000000;
end if;
for v_row in 1 .. {{rows}} loop
  v_id := v_id + 1;
  insert into {{prefix}}lgwr_insert (id, amount, note) values (v_id, 0, '{{pad}}');
  v_rows := v_rows + sql%rowcount;
end loop;
commit write immediate wait;
v_commits := v_commits + 1;

-- name: LGWR-THR.drop-table
begin
  execute immediate 'drop table {{prefix}}lgwr_thr purge';
exception
  when others then
    if sqlcode <> -942 then
      raise;
    end if;
end;
-- PL/SQL

-- name: LGWR-THR.create-table
-- pool: the job that owns the row; 0 = padding
create table {{prefix}}lgwr_thr (pool number(10) not null, counter number(19) not null, pad varchar2(1000) not null)
pctfree 20 initrans 4

-- name: LGWR-THR.fill
-- After the rows of each job come 18 wide rows, more than a block, so that no two jobs share a block.
insert into {{prefix}}lgwr_thr (pool, counter, pad)
select case when r <= {{rows}} then j else 0 end, 0, rpad('p', 1000, 'p')
from (select level as j from dual connect by level <= greatest({{jobs}}, 8)) jobs
  cross join (select level as r from dual connect by level <= {{rows}} + 18) slots
order by j, r

-- name: LGWR-THR.index
create index {{prefix}}lgwr_thr_pool on {{prefix}}lgwr_thr (pool)

-- name: LGWR-THR.gather
begin
  dbms_stats.gather_table_stats(user, upper('{{prefix}}lgwr_thr'), cascade => true);
end;
-- PL/SQL

-- name: LGWR-THR.update
-- the letter changes with every update
update /*+ index(t (pool)) */ {{prefix}}lgwr_thr t
set counter = counter + 1, pad = rpad(chr(97 + mod(counter, 26)), 1000, chr(97 + mod(counter, 26))) where pool = :job

-- name: LGWR-THR.body
update /*+ index(t (pool)) */ {{prefix}}lgwr_thr t
set counter = counter + 1, pad = rpad(chr(97 + mod(counter, 26)), 1000, chr(97 + mod(counter, 26))) where pool = p_job;
v_rows := v_rows + sql%rowcount;
commit write immediate wait;
v_commits := v_commits + 1;
