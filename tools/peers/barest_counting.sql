-- The barest PL/pgSQL loop that also counts the rows it has read, as the generated routine does: no clock, no slices.
create or replace function dbdyno.peers_barest_counting(p_ops bigint, p_seed bigint) returns bigint
language plpgsql volatile as $$
declare
  v_seed bigint := p_seed;
  v_count bigint;
  v_rows bigint := 0;
begin
  for v_op in 1..p_ops loop
    v_seed := v_seed * 48271 % 2147483647;
    perform * from dbdyno.small where id = 1 + (v_seed * :rows >> 31);
    get diagnostics v_count = row_count;
    v_rows := v_rows + v_count;
  end loop;
  return v_rows;
end
$$
