-- Scripts for the mariadb client ('dbdyno export-sql mariadb'); see the other engines' files.

-- name: client
mariadb --batch --skip-column-names --unbuffered --default-character-set=utf8mb4

-- name: connect
-- for the README: where the client gets its connection from
~/.my.cnf, or the options in the variable CLIENT: CLIENT="mariadb --batch --skip-column-names --unbuffered --default-character-set=utf8mb4 -h HOST -u USER"

-- name: loops
-- for the README: where the jobs loop
Jobs loop inside the database (`part-N.job.sql`) unless their ops commit: a commit inside a procedure is not waited for in
MariaDB, so the client calls one transaction after the other (`part-N.calls.sql`). Their `mean_us` holds the way of a call to
the server and back, and a look at the server's clock about every 20 ms; there are no percentiles of them.

-- name: statement
-- routines have semicolons within
delimiter //
{{sql}}
//
delimiter ;

-- name: head
-- texts as sessions of dbdyno have them; rows that a recursion makes are not to be cut short, which would be no error
use dbdyno;
set names utf8mb4;
set max_recursive_iterations = 4294967295;

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

-- name: named
-- options by which the client prints a line of names before the values
-B --column-names

-- name: quiet
-- sessions of jobs
select count(*) from information_schema.processlist where db = 'dbdyno' and id <> connection_id();

-- name: facts
select '{{kind}}' as kind, facts.* from ({{sql}}) as facts

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

-- name: clock
-- in the midst of calls: the time of the server, behind a word that tells it from their results; an error ends the session
-- when the time is over
select 'clock', unix_timestamp(sysdate(6));
delimiter //
begin not atomic
  if unix_timestamp(sysdate(6)) >= __END__ then
    signal sqlstate '45000' set message_text = 'the time is over';
  end if;
end
//
delimiter ;

-- name: calls
-- a session for calls of one transaction each: plans are made by two calls; then every job waits for the same moment. What
-- is printed before the first line with the clock does not count.
{{session}}
{{call}}
{{call}}
select sleep(greatest(0, __START__ - unix_timestamp(sysdate(6))));
select 'clock', unix_timestamp(sysdate(6));

-- name: random-seed
floor(1 + rand() * 2147483645)
