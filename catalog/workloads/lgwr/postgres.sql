-- name: create-table
-- half of each block stays free, so that the new version of a row fits into its block
create table {{prefix}}lgwr_lat (pool int not null, counter bigint not null, pad varchar(1000))
with (fillfactor = 50);
comment on table {{prefix}}lgwr_lat is 'made by dbdyno'

-- name: LGWR-LAT.declare
v_count bigint;

-- name: LGWR-LAT.body
update {{prefix}}lgwr_lat set counter = counter + 1 where pool = p_job;
get diagnostics v_count = row_count;
commit;
v_rows := v_rows + v_count;
v_commits := v_commits + 1;

-- name: LGWR-INSERT.create-table
create table {{prefix}}lgwr_insert (id bigint primary key, amount bigint not null, note varchar(200) not null);
comment on table {{prefix}}lgwr_insert is 'made by dbdyno'

-- name: LGWR-INSERT.declare
-- ids of a job are its own: job * 10^12 + 1, 2, ...; a slice goes on where the last one ended
v_count bigint;
v_id bigint := coalesce((select max(id) from {{prefix}}lgwr_insert
  where id > p_job * 1000000000000 and id < (p_job + 1) * 1000000000000), p_job * 1000000000000);

-- name: LGWR-INSERT.body
for v_row in 1..{{rows}} loop
  v_id := v_id + 1;
  insert into {{prefix}}lgwr_insert (id, amount, note) values (v_id, 0, '{{pad}}');
  get diagnostics v_count = row_count;
  v_rows := v_rows + v_count;
end loop;
commit;
v_commits := v_commits + 1;

-- name: LGWR-THR.create-table
-- half of each block stays free, so that the new version of a row fits into its block
create table {{prefix}}lgwr_thr (pool int not null, counter bigint not null, pad varchar(1000) not null)
with (fillfactor = 50);
comment on table {{prefix}}lgwr_thr is 'made by dbdyno'

-- name: LGWR-THR.update
-- the letter changes with every update; the log would leave out what is equal at both ends of the old and new row
update {{prefix}}lgwr_thr set counter = counter + 1, pad = repeat(chr(97 + (counter % 26)::int), 1000) where pool = :job

-- name: LGWR-THR.declare
v_count bigint;

-- name: LGWR-THR.body
update {{prefix}}lgwr_thr set counter = counter + 1, pad = repeat(chr(97 + (counter % 26)::int), 1000)
where pool = p_job;
get diagnostics v_count = row_count;
commit;
v_rows := v_rows + v_count;
v_commits := v_commits + 1;
