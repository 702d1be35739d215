-- name: parts
-- the numbers from 0 to 31
(values row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7), row(8), row(9), row(10), row(11), row(12), row(13), row(14), row(15),
        row(16), row(17), row(18), row(19), row(20), row(21), row(22), row(23), row(24), row(25), row(26), row(27), row(28), row(29), row(30), row(31)) as part(seq)

-- name: STO-SCATTER.scatter
select b.*
  from {{parts}} straight_join {{big}} as b
    on b.key320 = 1 + (:key + part.seq * ({{big_key320}} div ({{rows}} div 320))) % {{big_key320}}
 where part.seq < {{rows}} div 320

-- name: STO-SCATTER.body
set v_key = 1 + (v_seed * {{big_key320}} >> 31);
select count(*), max(b.id + 0), max(b.key25 + 0), max(b.key125 + 0), max(b.key320 + 0), max(b.region),
    max(b.booked_on), max(b.amount), max(b.quantity), max(b.status), max(b.code), max(b.filler)
  into v_count, v_id, v_key25, v_key125, v_key320, v_region,
    v_booked_on, v_amount, v_quantity, v_status, v_code, v_filler
  from {{parts}} straight_join {{big}} as b
    on b.key320 = 1 + (v_key + part.seq * ({{big_key320}} div ({{rows}} div 320))) % {{big_key320}}
 where part.seq < {{rows}} div 320;
set v_rows = v_rows + v_count;
