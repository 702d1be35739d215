-- DBWR on Oracle.

-- name: drop-table
begin
  execute immediate 'drop table {{prefix}}dbwr_thr purge';
exception
  when others then
    if sqlcode <> -942 then
      raise;
    end if;
end;
-- PL/SQL

-- name: create-table
-- pool: 2 * job + 1 or 2, the two sets of a job. pctfree 90 keeps a second row out of a block of 2 to 32 kB.
create table {{prefix}}dbwr_thr (pool number(10) not null, counter number(19) not null, pad varchar2(3000) not null)
pctfree 90 initrans 4 cache

-- name: fill
insert into {{prefix}}dbwr_thr (pool, counter, pad)
select p, 0, rpad('p', 3000, 'p')
from (select level + 2 as p from dual connect by level <= 2 * {{jobs}}) pools
  cross join (select level as r from dual connect by level <= {{rows}}) slots
order by p, r

-- name: index
create index {{prefix}}dbwr_thr_pool on {{prefix}}dbwr_thr (pool)

-- name: gather
begin
  dbms_stats.gather_table_stats(user, upper('{{prefix}}dbwr_thr'), cascade => true);
end;
-- PL/SQL

-- name: DBWR-THR.update
update /*+ index(t (pool)) */ {{prefix}}dbwr_thr t set counter = counter + 1 where pool = 2 * :job + :set

-- name: DBWR-THR.declare
v_pool number;

-- name: DBWR-THR.body
v_pool := 2 * p_job + 1 + floor(to_number(v_seed) * 2 / 2147483648);
update /*+ index(t (pool)) */ {{prefix}}dbwr_thr t set counter = counter + 1 where pool = v_pool;
v_rows := v_rows + sql%rowcount;
commit write immediate wait;
v_commits := v_commits + 1;

-- name: DBWR-EACH.drop-table
begin
  execute immediate 'drop table {{prefix}}dbwr_each purge';
exception
  when others then
    if sqlcode <> -942 then
      raise;
    end if;
end;
-- PL/SQL

-- name: DBWR-EACH.create-table
-- pctfree 90 keeps a second row out of a block of 2 to 32 kB
create table {{prefix}}dbwr_each (pool number(10) not null, counter number(19) not null, pad varchar2(3000) not null)
pctfree 90 initrans 4 cache

-- name: DBWR-EACH.fill
insert into {{prefix}}dbwr_each (pool, counter, pad)
select p, 0, rpad('p', 3000, 'p')
from (select level as p from dual connect by level <= {{jobs}}) pools
  cross join (select level as r from dual connect by level <= {{rows}}) slots
order by p, r

-- name: DBWR-EACH.index
create index {{prefix}}dbwr_each_pool on {{prefix}}dbwr_each (pool)

-- name: DBWR-EACH.gather
begin
  dbms_stats.gather_table_stats(user, upper('{{prefix}}dbwr_each'), cascade => true);
end;
-- PL/SQL

-- name: DBWR-EACH.write-out
-- all that was changed on this instance; takes the right ALTER SYSTEM
alter system checkpoint local

-- name: DBWR-EACH.update
update /*+ index(t (pool)) */ {{prefix}}dbwr_each t set counter = counter + 1 where pool = :job

-- name: DBWR-EACH.body
update /*+ index(t (pool)) */ {{prefix}}dbwr_each t set counter = counter + 1 where pool = p_job;
v_rows := v_rows + sql%rowcount;
commit write immediate wait;
v_commits := v_commits + 1;
execute immediate 'alter system checkpoint local';
