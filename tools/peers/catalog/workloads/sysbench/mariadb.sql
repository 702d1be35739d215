-- name: SYSBENCH-POINT.lookup
select c from sbtest.sbtest1 where id = :id

-- name: SYSBENCH-POINT.declare
declare v_c char(120);

-- name: SYSBENCH-POINT.body
select c, v_rows + 1 into v_c, v_rows from sbtest.sbtest1 where id = 1 + (v_seed * {{small_rows}} >> 31);
