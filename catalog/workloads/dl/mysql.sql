-- name: DL-STREAM.body
set v_last = @dbdyno_dl_stream;
if v_last is null then
  -- "select into" reads without locks; a query within "set" would lock the gap that the insert goes into
  select coalesce(max(id), p_job * 1000000000000) into v_last from {{prefix}}dl_stream
  where id > p_job * 1000000000000 and id < (p_job + 1) * 1000000000000;
end if;
insert into {{prefix}}dl_stream
with recursive numbers(seq) as (select 1 union all select seq + 1 from numbers where seq < {{rpt}})
select {{row_values}}
from (select i, n, h1, (h1 * h1 + n) % 2147483647 as h2
      from (select i, n, (n * 1327217885 + 12345) % 2147483647 as h1
            from (select v_last + seq as i, (v_last + seq) % 1000000000 as n from numbers) as one) as two) as three;
set v_rows = v_rows + row_count();
set @dbdyno_dl_stream = v_last + {{rpt}};
set v_commits = v_commits + 1;

-- name: DL-STREAM.insert
insert into {{prefix}}dl_stream
with recursive numbers(seq) as (select 1 union all select seq + 1 from numbers where seq < {{rpt}})
select {{row_values}}
from (select i, n, h1, (h1 * h1 + n) % 2147483647 as h2
      from (select i, n, (n * 1327217885 + 12345) % 2147483647 as h1
            from (select base + seq as i, (base + seq) % 1000000000 as n
                  from numbers,
                    (select :seq div 1000000000000 * 1000000000000 + (:seq % 1000000000000 - 1) * {{rpt}} as base) as array_of_job) as one) as two) as three
