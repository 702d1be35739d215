-- name: create-buffer
create table {{prefix}}dl_buffer (
  id integer primary key, key25 int not null, key125 int not null, key320 int not null, region int not null,
  booked_on text not null, amount numeric not null, quantity int not null, status int not null,
  code varchar(32) not null, filler text not null)

-- name: create-direct
create table {{prefix}}dl_direct (
  id integer not null, key25 int not null, key125 int not null, key320 int not null, region int not null,
  booked_on text not null, amount numeric not null, quantity int not null, status int not null,
  code varchar(32) not null, filler text not null)

-- name: DL-BUFFER.insert
insert into {{prefix}}dl_buffer
select i, 1 + (i - 1) % {{small_key25}}, 1 + (i - 1) % {{small_key125}}, 1 + (i - 1) % {{small_key320}}, 1 + h1 % 8,
  date('2024-01-01', (h2 % 731) || ' days'), 1 + h1 / 8 % 1000000, 1 + h2 / 731 % 100, 0,
  (h1 + 3000000000) || (h2 + 3000000000) || (n + 100000000000), 'dbdyno pads its rows with these letters and one number so that a row has about three hundred bytes on every engine and the row function stays cheap abcdefghijklmnopqrst' || (n + 100000000000)
from (select i, n, h1, (h1 * h1 + n) % 2147483647 as h2
      from (select i, n, (n * 1327217885 + 12345) % 2147483647 as h1
            from (select :seq as i, :seq % 1000000000 as n)))
