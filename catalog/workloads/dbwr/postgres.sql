-- name: create-table
-- fillfactor 10 keeps a second row out of a block; there is room for the new version of the one in it.
-- Stored as it is: the pad must be neither compressed nor moved out.
create table {{prefix}}dbwr_thr (pool int not null, counter bigint not null, pad varchar(3000) not null)
with (fillfactor = 10, toast_tuple_target = 8160)

-- name: DBWR-THR.declare
v_count bigint;

-- name: DBWR-THR.body
update {{prefix}}dbwr_thr set counter = counter + 1 where pool = 2 * p_job + 1 + (v_seed * 2 >> 31);
get diagnostics v_count = row_count;
commit;
v_rows := v_rows + v_count;
v_commits := v_commits + 1;
