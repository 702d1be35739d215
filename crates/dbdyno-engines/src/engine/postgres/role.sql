-- name: role
-- A role for dbdyno in database {{database}}, with what every test needs and no more: to be run by an administrator, in that
-- database. It can log in once it has a password ("\password {{role}}" of psql).
create role {{role}} login;
grant connect on database {{database}} to {{role}};
-- The schema is there already, so that the role need not create one; the comment says that dbdyno may have it.
create schema dbdyno authorization {{role}};
comment on schema dbdyno is 'made by dbdyno';
-- Optional: what the server's own processes wait for, and its counters. It can read statistics and settings, no data.
grant pg_monitor to {{role}};
-- Optional, from version 15 on: checkpoints after tests that leave work behind.
do $$
begin
  if to_regrole('pg_checkpoint') is not null then
    grant pg_checkpoint to {{role}};
  end if;
end
$$;
