-- What the translated routines find in PostgreSQL beside orafce: functions whose argument types PostgreSQL does not convert by itself,
-- and the view of a catalogue.
create schema if not exists oracle_sql;
create function oracle_sql.to_binary_float(double precision) returns real language sql immutable as 'select $1::real';
create function oracle_sql.floor(integer) returns numeric language sql immutable as 'select $1::numeric';
create function oracle_sql.floor(bigint) returns numeric language sql immutable as 'select $1::numeric';
create function oracle_sql.chr(bigint) returns text language sql immutable as 'select chr($1::integer)';
create view oracle_sql.user_indexes as
select upper(indexname) as index_name, upper(tablename) as table_name, 'VALID' as status from pg_indexes where schemaname = 'dbdyno'
