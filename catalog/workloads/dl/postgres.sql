-- name: columns
-- those of the data set's tables, after the id
key25 int not null, key125 int not null, key320 int not null, region int not null,
  booked_on date not null, amount numeric(12, 2) not null, quantity int not null, status int not null,
  code varchar(32) not null, filler varchar(200) not null

-- name: row_values
-- the formulas of the data set, of the id i, its last nine digits n and the hashes h1 and h2
i, 1 + (i - 1) % {{small_key25}}, 1 + (i - 1) % {{small_key125}}, 1 + (i - 1) % {{small_key320}}, 1 + h1 % 8,
  date '2024-01-01' + (h2 % 731)::int, (1 + h1 / 8 % 1000000) * 0.01, 1 + h2 / 731 % 100, 0,
  (h1 + 3000000000)::text || (h2 + 3000000000)::text || (n + 100000000000)::text,
  '{{pad}}' || (n + 100000000000)::text

-- name: create-buffer-heap
create table {{prefix}}dl_buffer (
  id bigint primary key, {{columns}});
comment on table {{prefix}}dl_buffer is 'made by dbdyno'

-- name: create-buffer-heap-list
-- a partition per region; a primary key must have the partition key in it
create table {{prefix}}dl_buffer (
  id bigint not null, {{columns}},
  primary key (id, region)
) partition by list (region);
comment on table {{prefix}}dl_buffer is 'made by dbdyno';
do $$
begin
  for region in 1..8 loop
    execute format('create table {{prefix}}dl_buffer_%s partition of {{prefix}}dl_buffer for values in (%s)', region, region);
  end loop;
end
$$

-- name: create-direct-heap
-- the types of the data set's tables: rows come in binary form
create table {{prefix}}dl_direct (
  id bigint not null, {{columns}});
comment on table {{prefix}}dl_direct is 'made by dbdyno'

-- name: create-direct-heap-list
create table {{prefix}}dl_direct (
  id bigint not null, {{columns}}
) partition by list (region);
comment on table {{prefix}}dl_direct is 'made by dbdyno';
do $$
begin
  for region in 1..8 loop
    execute format('create table {{prefix}}dl_direct_%s partition of {{prefix}}dl_direct for values in (%s)', region, region);
  end loop;
end
$$

-- name: create-direct-range-list
-- as the data set's big table of this organisation: half-years, and in each a partition per region
create table {{prefix}}dl_direct (
  id bigint not null, {{columns}}
) partition by range (booked_on);
comment on table {{prefix}}dl_direct is 'made by dbdyno';
do $$
declare
  first_day date := '2024-01-01';
begin
  for half in 1..4 loop
    execute format('create table {{prefix}}dl_direct_%s partition of {{prefix}}dl_direct
        for values from (%L) to (%L) partition by list (region)',
      half, first_day + (half - 1) * interval '6 months', first_day + half * interval '6 months');
    for region in 1..8 loop
      execute format('create table {{prefix}}dl_direct_%s_%s partition of {{prefix}}dl_direct_%s for values in (%s)',
        half, region, half, region);
    end loop;
  end loop;
end
$$

-- name: create-direct-range-hash
-- half-years, and in each 8 partitions by the hash of the id
create table {{prefix}}dl_direct (
  id bigint not null, {{columns}}
) partition by range (booked_on);
comment on table {{prefix}}dl_direct is 'made by dbdyno';
do $$
declare
  first_day date := '2024-01-01';
begin
  for half in 1..4 loop
    execute format('create table {{prefix}}dl_direct_%s partition of {{prefix}}dl_direct
        for values from (%L) to (%L) partition by hash (id)',
      half, first_day + (half - 1) * interval '6 months', first_day + half * interval '6 months');
    for part in 1..8 loop
      execute format('create table {{prefix}}dl_direct_%s_%s partition of {{prefix}}dl_direct_%s
          for values with (modulus 8, remainder %s)', half, part, half, part - 1);
    end loop;
  end loop;
end
$$

-- name: create-stream
create table {{prefix}}dl_stream (
  id bigint primary key, {{columns}});
comment on table {{prefix}}dl_stream is 'made by dbdyno'

-- name: relax-1
set synchronous_commit = off

-- name: DL-BUFFER.declare
-- ids of a job are its own: job * 10^12 + 1, 2, ...; a slice goes on where the last one ended
v_count bigint;
v_id bigint := coalesce((select max(id) from {{prefix}}dl_buffer
  where id > p_job * 1000000000000 and id < (p_job + 1) * 1000000000000), p_job * 1000000000000);

-- name: DL-BUFFER.body
-- the rows of the small table in their order, after the last one the first again
for v_row in 1..{{rpt}} loop
  v_id := v_id + 1;
  insert into {{prefix}}dl_buffer
  select v_id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler from {{small}}
  where id = 1 + v_id % {{small_rows}};
  get diagnostics v_count = row_count;
  v_rows := v_rows + v_count;
end loop;
commit;
v_commits := v_commits + 1;

-- name: DL-BUFFER.insert
insert into {{prefix}}dl_buffer
select cast(:seq as bigint), key25, key125, key320, region, booked_on, amount, quantity, status, code, filler from {{small}}
where id = 1 + cast(:seq as bigint) % {{small_rows}}

-- name: DL-STREAM.declare
-- arrays of a job have numbers of their own; a slice goes on where the last one ended
v_count bigint;
v_last bigint := coalesce((select max(id) from {{prefix}}dl_stream
  where id > p_job * 1000000000000 and id < (p_job + 1) * 1000000000000), p_job * 1000000000000);

-- name: DL-STREAM.body
insert into {{prefix}}dl_stream
select {{row_values}}
from (select i, n, h1, (h1 * h1 + n) % 2147483647 as h2
      from (select i, n, (n * 1327217885 + 12345) % 2147483647 as h1
            from (select v_last + r as i, (v_last + r) % 1000000000 as n
                  from generate_series(1, {{rpt}}) as r) one) two) three;
get diagnostics v_count = row_count;
v_last := v_last + {{rpt}};
commit;
v_rows := v_rows + v_count;
v_commits := v_commits + 1;

-- name: DL-STREAM.insert
-- the array :seq of a job (job * 10^12 + 1, 2, ...): ids job * 10^12 + (number - 1) * rpt + 1 and on
insert into {{prefix}}dl_stream
select {{row_values}}
from (select i, n, h1, (h1 * h1 + n) % 2147483647 as h2
      from (select i, n, (n * 1327217885 + 12345) % 2147483647 as h1
            from (select base + r as i, (base + r) % 1000000000 as n
                  from generate_series(1, {{rpt}}) as r,
                    (select cast(:seq as bigint) / 1000000000000 * 1000000000000
                      + (cast(:seq as bigint) % 1000000000000 - 1) * {{rpt}} as base) array_of_job) one) two) three

-- name: create-delete
create table {{prefix}}dl_delete (id bigint not null primary key, slot bigint not null, note varchar(200) not null);
comment on table {{prefix}}dl_delete is 'made by dbdyno'

-- name: create-new
create table {{prefix}}dl_delete_new (slot bigint not null primary key, note varchar(200) not null);
comment on table {{prefix}}dl_delete_new is 'made by dbdyno'

-- name: fill-delete
insert into {{prefix}}dl_delete (id, slot, note)
select j * 1000000000000 + r, 1 + (r - 1) % {{rpt}}, '{{pad}}'
from generate_series(1, {{jobs}}) as j, generate_series(1, 20000) as r
order by 1

-- name: DL-DELETE.declare
-- the id before the first of the range; a slice goes on where the last one ended
v_count bigint;
v_first bigint := coalesce((select min(id) from {{prefix}}dl_delete
  where id > p_job * 1000000000000 and id < (p_job + 1) * 1000000000000), 1) - 1;

-- name: DL-DELETE.body
if '{{old}}' = 'random' then
  v_first := p_job * 1000000000000 + (v_seed * (20000 / {{rpt}}) >> 31) * {{rpt}};
end if;
delete from {{prefix}}dl_delete where id between v_first + 1 and v_first + {{rpt}};
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;
insert into {{prefix}}dl_delete (id, slot, note)
select v_first + case '{{old}}' when 'random' then 0 else 20000 end + slot, slot, note from {{prefix}}dl_delete_new;
get diagnostics v_count = row_count;
v_rows := v_rows + v_count;
commit;
v_first := v_first + {{rpt}};
v_commits := v_commits + 1;

-- name: create-copy-plain
create table {{prefix}}dl_copy (
  id bigint not null, {{columns}});
comment on table {{prefix}}dl_copy is 'made by dbdyno'

-- name: create-copy-parts
-- as the data set's big table of this organisation: half-years, and in each a partition per region
create table {{prefix}}dl_copy (
  id bigint not null, {{columns}}
) partition by range (booked_on);
comment on table {{prefix}}dl_copy is 'made by dbdyno';
do $$
declare
  first_day date := '2024-01-01';
begin
  for half in 1..4 loop
    execute format('create table {{prefix}}dl_copy_%s partition of {{prefix}}dl_copy
        for values from (%L) to (%L) partition by list (region)',
      half, first_day + (half - 1) * interval '6 months', first_day + half * interval '6 months');
    for region in 1..8 loop
      execute format('create table {{prefix}}dl_copy_%s_%s partition of {{prefix}}dl_copy_%s for values in (%s)',
        half, region, half, region);
    end loop;
  end loop;
end
$$

-- name: DL-COPY.declare
v_count bigint;

-- name: DL-COPY.body
insert into {{prefix}}dl_copy
select id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler from {{small}};
get diagnostics v_count = row_count;
commit;
v_rows := v_rows + v_count;
v_commits := v_commits + 1;
