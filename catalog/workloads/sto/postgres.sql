-- name: STO-READ.declare
v_count bigint;

-- name: STO-READ.body
perform * from {{big}} where quantity = -1;
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;

-- name: STO-RANDOM.declare
v_count bigint;
v_id bigint;

-- name: STO-RANDOM.body
v_id := 1 + (v_seed * {{big_rows}} >> 31);
v_seed := v_seed * 48271 % 2147483647;
if v_seed * 100 >> 31 < {{write_pct}} then
  update {{big}} set status = status + 1 where id = v_id;
  get diagnostics v_count = row_count;
  commit;
  v_commits := v_commits + 1;
else
  perform * from {{big}} where id = v_id;
  get diagnostics v_count = row_count;
end if;
v_rows := v_rows + v_count;
