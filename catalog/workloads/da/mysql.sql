-- name: loops
-- nothing: a join by an index is a loop

-- name: hashes
-- The hash of the small table must fit into the join buffer; what does not is put into files.
set join_buffer_size = least(greatest({{small_rows}} * 100, 67108864), 4294963200)

-- name: drop-indexes
-- MySQL has no "drop index if exists".
set @dbdyno_ddl = (
  select coalesce(max('drop index da_index on {{big}}'), 'do 0') from information_schema.statistics
   where table_schema = trim(trailing '.' from '{{prefix}}') and table_name = substring_index('{{big}}', '.', -1)
     and index_name = 'da_index');
prepare dbdyno_ddl from @dbdyno_ddl;
execute dbdyno_ddl;
deallocate prepare dbdyno_ddl

-- name: drop-indexes-of-jobs
-- by one statement, since only a routine of MySQL can loop
set session group_concat_max_len = 1000000;
set @dbdyno_ddl = (
  select coalesce(concat('alter table {{big}} ', group_concat(distinct concat('drop index ', index_name) separator ', ')), 'do 0')
    from information_schema.statistics
   where table_schema = trim(trailing '.' from '{{prefix}}') and table_name = substring_index('{{big}}', '.', -1)
     and index_name regexp '^da_index_[0-9]+$');
prepare dbdyno_ddl from @dbdyno_ddl;
execute dbdyno_ddl;
deallocate prepare dbdyno_ddl

-- name: DA-INDEX.body
set @dbdyno_ddl = concat('create index da_index_', p_job, ' on {{big}} (quantity)');
prepare dbdyno_ddl from @dbdyno_ddl;
execute dbdyno_ddl;
select count(*) into v_count from information_schema.statistics
 where table_schema = trim(trailing '.' from '{{prefix}}') and table_name = substring_index('{{big}}', '.', -1)
   and index_name = concat('da_index_', p_job);
set @dbdyno_ddl = concat('drop index da_index_', p_job, ' on {{big}}');
prepare dbdyno_ddl from @dbdyno_ddl;
execute dbdyno_ddl;
deallocate prepare dbdyno_ddl;
set v_rows = v_rows + v_count;
set v_commits = v_commits + 1;
