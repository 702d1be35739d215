-- Scripts for psql ('dbdyno export-sql postgres'). How the client is called, how a statement is ended, the time of the
-- server, a job. __JOB__, __JOBS__, __WINDOW_US__, __WARMUP_US__, __STRIDE__, __SEED__ and __START__ are
-- filled in by run.sh.

-- name: client
psql -X -q -A -t -v ON_ERROR_STOP=1

-- name: connect
-- for the README: where the client gets its connection from
PGHOST, PGPORT, PGUSER, PGDATABASE and ~/.pgpass

-- name: loops
-- for the README: where the jobs loop
Jobs loop inside the database (`part-N.job.sql`).

-- name: statement
{{sql}};

-- name: head
-- first in every script; no word about what is not there to be dropped
set client_min_messages = warning;

-- name: schema
set client_min_messages = warning;
-- the comment tells that it may be dropped again: a schema that is there already is somebody else's
do $$
begin
  if to_regnamespace('dbdyno') is null then
    create schema dbdyno;
    comment on schema dbdyno is 'made by dbdyno';
  end if;
end
$$;

-- name: schema-drop
do $$
begin
  if obj_description(to_regnamespace('dbdyno'), 'pg_namespace') = 'made by dbdyno' then
    drop schema dbdyno;
  end if;
end
$$;

-- name: now
select extract(epoch from clock_timestamp());

-- name: count
select count(*) from {{table}};

-- name: job
-- plans are made and blocks are touched by a short call; then every job waits for the same moment
{{session}}
{{warm_call}};
select pg_sleep(greatest(0, __START__ - extract(epoch from clock_timestamp())));
-- the last line of the output is the result: ops rows commits sink seed elapsed_us {samples in us}
{{call}};

-- name: probe
{{session}}
{{probe_call}};
