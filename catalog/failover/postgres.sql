-- The ledger of `failover`: a row is a commit of a client. It has no key, so that what is there twice can be seen.

-- name: drop
-- Only one that we made.
do $$
begin
  if obj_description(to_regclass('dbdyno.failover_ledger'), 'pg_class') = 'made by dbdyno' then
    drop table dbdyno.failover_ledger;
  end if;
end
$$

-- name: create
create table dbdyno.failover_ledger (writer int not null, seq bigint not null);
comment on table dbdyno.failover_ledger is 'made by dbdyno'

-- name: insert
insert into dbdyno.failover_ledger (writer, seq) values ({{writer}}, {{seq}})

-- name: read
select writer, seq, count(*) as copies from dbdyno.failover_ledger group by writer, seq

-- name: member
-- 1 if the node takes writes, or has what is written from one that lives.
select (not pg_is_in_recovery() or exists (select from pg_stat_wal_receiver where status = 'streaming'))::int

-- name: durability
-- Rows (name, value): what a commit waits for.
select name, setting from pg_settings
where name in ('synchronous_commit', 'synchronous_standby_names', 'fsync', 'wal_receiver_timeout') order by name

-- name: received
-- Bytes of log that the replica has on its disk: the one with the most is promoted.
select pg_wal_lsn_diff(coalesce(pg_last_wal_receive_lsn(), '0/0'), '0/0')

-- name: promote
select pg_promote()
