-- The ledger of `failover`: a row is a commit of a client. Its own number says nothing of the commit, so that what is there
-- twice can be seen; Galera wants every table to have a key.

-- name: drop
-- Only one that we made.
begin not atomic
  if exists (select 1 from information_schema.tables where table_schema = 'dbdyno' and table_name = 'failover_ledger'
      and table_comment = 'made by dbdyno') then
    drop table dbdyno.failover_ledger;
  end if;
end

-- name: create
create table dbdyno.failover_ledger (
  id bigint not null auto_increment primary key, writer int not null, seq bigint not null
) engine = innodb comment = 'made by dbdyno'

-- name: insert
insert into dbdyno.failover_ledger (writer, seq) values ({{writer}}, {{seq}})

-- name: read
select writer, seq, count(*) as copies from dbdyno.failover_ledger group by writer, seq

-- name: member
-- 1 if the node belongs to the part of the cluster that takes writes.
select variable_value = 'ON' from information_schema.global_status where variable_name = 'wsrep_ready'

-- name: durability
-- Rows (name, value): what a commit waits for, and after how long a silent node is expelled.
select lower(variable_name), variable_value from information_schema.global_variables
where variable_name in ('WSREP_SYNC_WAIT', 'INNODB_FLUSH_LOG_AT_TRX_COMMIT', 'WSREP_SLAVE_THREADS')
union all
select 'evs.suspect_timeout', regexp_substr(@@global.wsrep_provider_options, '(?<=evs.suspect_timeout = )[^;]+')
union all
select 'evs.inactive_timeout', regexp_substr(@@global.wsrep_provider_options, '(?<=evs.inactive_timeout = )[^;]+')
