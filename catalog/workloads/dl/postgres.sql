-- name: create-buffer
create table {{prefix}}dl_buffer (
  id bigint primary key, key25 int not null, key125 int not null, key320 int not null, region int not null,
  booked_on date not null, amount numeric(12, 2) not null, quantity int not null, status int not null,
  code varchar(32) not null, filler varchar(200) not null)

-- name: create-direct
-- the types of the data set's tables: rows come in binary form
create table {{prefix}}dl_direct (
  id bigint not null, key25 int not null, key125 int not null, key320 int not null, region int not null,
  booked_on date not null, amount numeric(12, 2) not null, quantity int not null, status int not null,
  code varchar(32) not null, filler varchar(200) not null)

-- name: DL-BUFFER.declare
-- ids of a job are its own: job * 10^12 + 1, 2, ...; a slice goes on where the last one ended
v_count bigint;
v_h1 bigint;
v_h2 bigint;
v_id bigint := coalesce((select max(id) from {{prefix}}dl_buffer
  where id > p_job * 1000000000000 and id < (p_job + 1) * 1000000000000), p_job * 1000000000000);

-- name: DL-BUFFER.body
-- the formulas of the data set; the hash sees the last nine digits of the id so that it stays within 63 bits
for v_row in 1..{{rpt}} loop
  v_id := v_id + 1;
  v_h1 := ((v_id % 1000000000) * 1327217885 + 12345) % 2147483647;
  v_h2 := (v_h1 * v_h1 + v_id % 1000000000) % 2147483647;
  insert into {{prefix}}dl_buffer values (v_id, 1 + (v_id - 1) % {{small_key25}}, 1 + (v_id - 1) % {{small_key125}},
    1 + (v_id - 1) % {{small_key320}}, 1 + v_h1 % 8, date '2024-01-01' + (v_h2 % 731)::int,
    (1 + v_h1 / 8 % 1000000) * 0.01, 1 + v_h2 / 731 % 100, 0,
    (v_h1 + 3000000000)::text || (v_h2 + 3000000000)::text || (v_id % 1000000000 + 100000000000)::text,
    'dbdyno pads its rows with these letters and one number so that a row has about three hundred bytes on every engine and the row function stays cheap abcdefghijklmnopqrst' || (v_id % 1000000000 + 100000000000)::text);
  get diagnostics v_count = row_count;
  v_rows := v_rows + v_count;
end loop;
commit;
v_commits := v_commits + 1;

-- name: DL-BUFFER.insert
insert into {{prefix}}dl_buffer
select i, 1 + (i - 1) % {{small_key25}}, 1 + (i - 1) % {{small_key125}}, 1 + (i - 1) % {{small_key320}}, 1 + h1 % 8,
  date '2024-01-01' + (h2 % 731)::int, (1 + h1 / 8 % 1000000) * 0.01, 1 + h2 / 731 % 100, 0,
  (h1 + 3000000000)::text || (h2 + 3000000000)::text || (n + 100000000000)::text,
  'dbdyno pads its rows with these letters and one number so that a row has about three hundred bytes on every engine and the row function stays cheap abcdefghijklmnopqrst' || (n + 100000000000)::text
from (select i, n, h1, (h1 * h1 + n) % 2147483647 as h2
      from (select i, n, (n * 1327217885 + 12345) % 2147483647 as h1
            from (select cast(:seq as bigint) as i, cast(:seq as bigint) % 1000000000 as n) one) two) three
