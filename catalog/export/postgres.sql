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
-- first in every script; no word about what is not there to be dropped. By the name the sessions of jobs are known. What a role or
-- database limits for its users does not cut a job short. The others are the settings of dbdyno's own sessions: a job is one process,
-- unless a workload asks for more threads.
set client_min_messages = warning;
set statement_timeout = 0;
set application_name = 'dbdyno_job';
set jit = off;
set max_parallel_workers_per_gather = 0;
set max_parallel_maintenance_workers = 0;
set plan_cache_mode = force_generic_plan;
set default_transaction_isolation = 'read committed';

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

-- name: named
-- options by which the client prints a line of names before the values
-P tuples_only=off -P footer=off

-- name: quiet
-- sessions of jobs, which leave their counts when they end; before 15 a collector takes them up to a second later
select case when current_setting('server_version_num')::int < 150000 then pg_sleep(1) end;
select count(*) from pg_stat_activity where application_name = 'dbdyno_job' and pid <> pg_backend_pid();

-- name: facts
select '{{kind}}' as kind, facts.* from ({{sql}}) as facts

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
