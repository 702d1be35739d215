-- name: fill
insert into {{prefix}}dbwr_thr (pool, slot, counter, pad)
with recursive
  pools(seq) as (select 3 union all select seq + 1 from pools where seq < 2 * {{jobs}} + 2),
  slots(seq) as (select 1 union all select seq + 1 from slots where seq < {{rows}})
select pools.seq, slots.seq, 0, repeat('p', 7800) from pools, slots order by slots.seq, pools.seq
