-- Scripts for the mariadb client ('dbdyno export-sql mariadb'); see postgres.sql.

-- name: client
mariadb --batch --skip-column-names --unbuffered

-- name: connect
-- for the README: where the client gets its connection from
~/.my.cnf, or the options in the variable CLIENT: CLIENT="mariadb --batch --skip-column-names --unbuffered -h HOST -u USER"

-- name: statement
-- routines have semicolons within
delimiter //
{{sql}}
//
delimiter ;

-- name: head
use dbdyno;

-- name: schema
create schema if not exists dbdyno comment 'made by dbdyno';

-- name: schema-drop
-- what is not ours would go with it, so the schema stays if anything is left in it
set @left = (select count(*) from information_schema.tables where table_schema = 'dbdyno')
  + (select count(*) from information_schema.routines where routine_schema = 'dbdyno');
set @ours = (select count(*) from information_schema.schemata
              where schema_name = 'dbdyno' and schema_comment = 'made by dbdyno');
prepare last_one from if(@left = 0 and @ours = 1, 'drop schema dbdyno', 'do 0');
execute last_one;

-- name: now
select unix_timestamp(sysdate(6));

-- name: count
select count(*) from {{table}};

-- name: job
{{session}}
{{warm_call}};
select sleep(greatest(0, __START__ - unix_timestamp(sysdate(6))));
-- the last line of the output is the result: ops rows commits sink seed elapsed_us samples in us
{{call}};

-- name: probe
{{session}}
{{probe_call}};

-- name: random-seed
floor(1 + rand() * 2147483645)
