-- The data set on MySQL: MariaDB's statements, but for these.

-- name: parts
select count(*) as parts, @@global.innodb_page_size as block_bytes
  from information_schema.partitions
 where table_schema = trim(trailing '.' from '{{prefix}}') and table_name = '{{name}}'

-- name: row-select
-- Rows {{lo}} to {{hi}}: the numbers come from a recursion.
with recursive numbers(seq) as (select {{lo}} union all select seq + 1 from numbers where seq < {{hi}})
select i, 1 + mod(i - 1, {{rows}} div 25), 1 + mod(i - 1, {{rows}} div 125), 1 + mod(i - 1, {{rows}} div 320),
       1 + mod(h1, 8), date '2024-01-01' + interval mod(h2, 731) day,
       (1 + mod(h1 div 8, 1000000)) / 100, 1 + mod(h2 div 731, 100), 0,
       concat(h1 + 3000000000, h2 + 3000000000, i + 100000000000), concat('{{pad}}', i + 100000000000)
  from (select i, h1, mod(h1 * h1 + i, 2147483647) as h2
          from (select seq as i, mod(seq * 1327217885 + 12345 + {{seed}}, 2147483647) as h1
                  from numbers) as first_hash) as hashes

-- name: schema.drop
-- Only a database that we created (it has our table), and that has nothing else in it.
set @dbdyno_ddl = (
  select if(count(*) = 1 and max(table_name) = 'state_made' and not exists (
        select 1 from information_schema.routines where routine_schema = trim(trailing '.' from '{{prefix}}')),
      'drop database dbdyno', 'do 0')
    from information_schema.tables where table_schema = trim(trailing '.' from '{{prefix}}'));
prepare dbdyno_ddl from @dbdyno_ddl;
execute dbdyno_ddl;
deallocate prepare dbdyno_ddl
