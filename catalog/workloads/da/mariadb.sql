-- name: parallel
-- nothing: one thread per statement

-- name: loops
set join_cache_level = 0

-- name: hashes
-- A hash of the rows in the join buffer, which must hold the small table: for what does not fit the big table is read once
-- more. 100 bytes a row (64 are used), at least 64 MB, and not 4 GB: the buffer counts in 32 bits. The optimizer must not make
-- it smaller after its estimate of the rows.
set optimizer_switch = 'optimize_join_buffer_size=off', join_cache_level = 4,
  join_buffer_size = least(greatest({{small_rows}} * 100, 67108864), 4294963200),
  join_buffer_space_limit = 2 * least(greatest({{small_rows}} * 100, 67108864), 4294963200)

-- name: DA-SCAN.declare
declare v_n, v_ids bigint;
declare v_total decimal(30,2);

-- name: DA-SCAN.body
select count(*), sum(id), sum(amount) into v_n, v_ids, v_total
  from {{table}} where key25 + 0 <= {{table_key25}} div 2;
set v_rows = v_rows + row_count();

-- name: DA-AGGREGATE.declare
declare v_count, v_n bigint;
declare v_total, v_mean, v_least, v_most decimal(30,6);

-- name: DA-AGGREGATE.body
-- a routine can take one row only: the groups are counted, and the greatest of each of their figures taken
select count(*), max(n), max(total), max(mean), max(least), max(most) into v_count, v_n, v_total, v_mean, v_least, v_most
  from (
    select region, count(*) as n, sum(amount) as total, avg(amount) as mean, min(amount) as least, max(amount) as most
      from {{big}} group by region
  ) as g;
set v_rows = v_rows + v_count;

-- name: drop-indexes
drop index if exists da_index on {{big}}

-- name: drop-indexes-of-jobs
-- what routines leave that are cancelled between building and dropping
begin not atomic
  declare v_name varchar(64);
  repeat
    select max(index_name) into v_name from information_schema.statistics
     where table_schema = trim(trailing '.' from '{{prefix}}') and table_name = substring_index('{{big}}', '.', -1)
       and index_name regexp '^da_index_[0-9]+$';
    if v_name is not null then
      execute immediate concat('drop index ', v_name, ' on {{big}}');
    end if;
    until v_name is null
  end repeat;
end

-- name: DA-INDEX.create
-- Definitions of tables are not part of a transaction: another job may have made the index since it was dropped.
create or replace index da_index on {{big}} (quantity)

-- name: DA-INDEX.look
select 1 as built from information_schema.statistics
 where table_schema = trim(trailing '.' from '{{prefix}}') and table_name = substring_index('{{big}}', '.', -1)
   and index_name = 'da_index'

-- name: DA-INDEX.declare
declare v_count bigint;

-- name: DA-INDEX.body
execute immediate concat('create index da_index_', p_job, ' on {{big}} (quantity)');
select count(*) into v_count from information_schema.statistics
 where table_schema = trim(trailing '.' from '{{prefix}}') and table_name = substring_index('{{big}}', '.', -1)
   and index_name = concat('da_index_', p_job);
execute immediate concat('drop index da_index_', p_job, ' on {{big}}');
set v_rows = v_rows + v_count;
set v_commits = v_commits + 1;

-- name: DA-JOIN-LOOP.join
-- "straight_join" fixes the order of the loops
select count(*) as n, sum(b.amount) as total
  from {{table}} as a straight_join {{table}} as b on
    b.key25 = 1 + (a.key320 + (a.id - 1) div {{table_key320}} * 7919 % 320 * ({{table_key25}} div 320)) % {{table_key25}}
 where a.key320 = :key

-- name: DA-JOIN-LOOP.declare
declare v_n bigint;
declare v_total decimal(30,2);

-- name: DA-JOIN-LOOP.body
select count(*), sum(b.amount) into v_n, v_total
  from {{table}} as a straight_join {{table}} as b on
    b.key25 = 1 + (a.key320 + (a.id - 1) div {{table_key320}} * 7919 % 320 * ({{table_key25}} div 320)) % {{table_key25}}
 where a.key320 = 1 + (v_seed * {{table_key320}} >> 31);
set v_rows = v_rows + row_count();

-- name: DA-JOIN-HASH.join
-- the small table goes into the join buffer; "use index ()" leaves no index to be used instead
select count(*) as n, sum(b.amount) as total, max(s.code) as most
  from {{small}} as s straight_join {{big}} as b use index () on b.key320 = s.id

-- name: DA-JOIN-HASH.declare
declare v_n bigint;
declare v_total decimal(30,2);
declare v_code varchar(32);

-- name: DA-JOIN-HASH.body
select count(*), sum(b.amount), max(s.code) into v_n, v_total, v_code
  from {{small}} as s straight_join {{big}} as b use index () on b.key320 = s.id;
set v_rows = v_rows + row_count();
