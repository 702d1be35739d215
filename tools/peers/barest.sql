-- The barest PL/pgSQL loop of the same lookups: no clock, no slices, no counting.
create or replace function dbdyno.peers_barest(p_ops bigint, p_seed bigint) returns bigint
language plpgsql volatile as $$
declare
  v_seed bigint := p_seed;
begin
  for v_op in 1..p_ops loop
    v_seed := v_seed * 48271 % 2147483647;
    perform * from dbdyno.small where id = 1 + (v_seed * :rows >> 31);
  end loop;
  return v_seed;
end
$$
