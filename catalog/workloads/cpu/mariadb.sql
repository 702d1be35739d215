-- MariaDB's procedures. See the other server's file for the count of operations. Square root, power and logarithm exist for 64-bit
-- floats only: where the mix is on another type, their results are converted at once.
-- In the forms of one statement "limit" keeps a stage from being merged into the next one, which would repeat it wherever its
-- result is used; rows are numbered by the sequence engine where a recursion would exceed max_recursive_iterations.

-- name: random_string
-- 32 characters
md5(rand())

-- name: string_of_seed
md5(v_seed)

-- name: string_of_s
md5(s)

-- name: CPU-LOOP.declare
declare v_turn bigint;

-- name: CPU-LOOP.body
set v_turn = 0;
while v_turn < 1000000 do
  set v_turn = v_turn + 1;
end while;
set v_sink = v_turn;

-- name: CPU-LOOP.loop
-- a plain count would be answered without making a single row
select sum(seq > 0) as turns from seq_1_to_1000000

-- name: CPU-RANDNUM.declare
declare v_number int;
declare v_total double;

-- name: CPU-RANDNUM.body
set v_total = 0;
set v_number = 0;
while v_number < 1000 do
  set v_number = v_number + 1;
  set v_total = v_total + rand();
end while;
-- the mean of 1000 numbers from 0 to 1 has a standard deviation of 0.009
set v_sink = if(abs(v_total / 1000 - 0.5) < 0.1, 1000, null);

-- name: CPU-RANDNUM.numbers
select count(r) as numbers, abs(avg(r) - 0.5) < 0.1 as mean_is_plausible
from (select rand() as r from seq_1_to_1000 limit 1000) as drawn

-- name: CPU-RANDSTR.declare
declare v_number int;
declare v_string varchar(32);

-- name: CPU-RANDSTR.body
set v_number = 0;
while v_number < 1000 do
  set v_number = v_number + 1;
  set v_string = {{random_string}};
end while;
set v_sink = length(v_string);

-- name: CPU-RANDSTR.strings
select count(s) as strings, sum(length(s)) as characters
from (select {{random_string}} as s from seq_1_to_1000 limit 1000) as drawn

-- name: CPU-INTEGER.declare
declare v_pass int;
declare v_x, v_a, v_b, v_c bigint;
declare v_total bigint;

-- name: CPU-INTEGER.body
set v_total = 0;
set v_pass = 0;
while v_pass < 100 do
  set v_pass = v_pass + 1;
  set v_seed = v_seed * 48271 % 2147483647;
  set v_x = v_seed;
  set v_a = cast(ln(abs(v_x - 11) + 2) as signed)
    * cast(power(cast(sqrt(abs(3 - v_x)) as signed) + 1, 1.5) as signed) div 1000;
  set v_b = cast(ln(abs(v_a - 13) + 2) as signed)
    * cast(power(cast(sqrt(abs(5 - v_a)) as signed) + 1, 1.5) as signed) div 1000;
  set v_c = cast(ln(abs(v_b - 17) + 2) as signed)
    * cast(power(cast(sqrt(abs(7 - v_b)) as signed) + 1, 1.5) as signed) div 1000;
  set v_total = v_total + (v_a + v_b - v_c * 2);
end while;
set v_sink = v_total;

-- name: CPU-INTEGER.passes
with recursive pass(n, s) as (
  select 1, :seed * 48271 % 2147483647
  union all
  select n + 1, s * 48271 % 2147483647 from pass where n < 100)
select sum(a + b - c * 2) as total
from (
  select a, b, cast(ln(abs(b - 17) + 2) as signed)
      * cast(power(cast(sqrt(abs(7 - b)) as signed) + 1, 1.5) as signed) div 1000 as c
  from (
    select a, cast(ln(abs(a - 13) + 2) as signed)
      * cast(power(cast(sqrt(abs(5 - a)) as signed) + 1, 1.5) as signed) div 1000 as b
    from (
      select cast(ln(abs(x - 11) + 2) as signed)
      * cast(power(cast(sqrt(abs(3 - x)) as signed) + 1, 1.5) as signed) div 1000 as a
      from (select s as x from pass limit 100) as draw
      limit 100) as first
    limit 100) as second
  limit 100) as third

-- name: CPU-NUMBER.declare
declare v_pass int;
declare v_x, v_a, v_b, v_c decimal(30,12);
declare v_total decimal(40,12);

-- name: CPU-NUMBER.body
set v_total = 0;
set v_pass = 0;
while v_pass < 100 do
  set v_pass = v_pass + 1;
  set v_seed = v_seed * 48271 % 2147483647;
  set v_x = v_seed;
  set v_a = cast(ln(abs(v_x - 11) + 2) as decimal(30,12))
    * cast(power(cast(sqrt(abs(3 - v_x)) as decimal(30,12)) + 1, 1.5) as decimal(30,12)) / 1000;
  set v_b = cast(ln(abs(v_a - 13) + 2) as decimal(30,12))
    * cast(power(cast(sqrt(abs(5 - v_a)) as decimal(30,12)) + 1, 1.5) as decimal(30,12)) / 1000;
  set v_c = cast(ln(abs(v_b - 17) + 2) as decimal(30,12))
    * cast(power(cast(sqrt(abs(7 - v_b)) as decimal(30,12)) + 1, 1.5) as decimal(30,12)) / 1000;
  set v_total = v_total + (v_a + v_b - v_c * 0.5);
end while;
set v_sink = v_total;

-- name: CPU-NUMBER.passes
with recursive pass(n, s) as (
  select 1, :seed * 48271 % 2147483647
  union all
  select n + 1, s * 48271 % 2147483647 from pass where n < 100)
select sum(a + b - c * 0.5) as total
from (
  select a, b, cast(ln(abs(b - 17) + 2) as decimal(30,12))
      * cast(power(cast(sqrt(abs(7 - b)) as decimal(30,12)) + 1, 1.5) as decimal(30,12)) / 1000 as c
  from (
    select a, cast(ln(abs(a - 13) + 2) as decimal(30,12))
      * cast(power(cast(sqrt(abs(5 - a)) as decimal(30,12)) + 1, 1.5) as decimal(30,12)) / 1000 as b
    from (
      select cast(ln(abs(x - 11) + 2) as decimal(30,12))
      * cast(power(cast(sqrt(abs(3 - x)) as decimal(30,12)) + 1, 1.5) as decimal(30,12)) / 1000 as a
      from (select cast(s as decimal(30,12)) as x from pass limit 100) as draw
      limit 100) as first
    limit 100) as second
  limit 100) as third

-- name: CPU-FLOAT.declare
declare v_pass int;
declare v_x, v_a, v_b, v_c float;
declare v_total double;

-- name: CPU-FLOAT.body
-- every operation is done in 64 bits; what is stored in a variable is rounded to 32
set v_total = 0;
set v_pass = 0;
while v_pass < 100 do
  set v_pass = v_pass + 1;
  set v_seed = v_seed * 48271 % 2147483647;
  set v_x = v_seed;
  set v_a = ln(abs(v_x - 11) + 2) * power(sqrt(abs(3 - v_x)) + 1, 1.5) / 1000;
  set v_b = ln(abs(v_a - 13) + 2) * power(sqrt(abs(5 - v_a)) + 1, 1.5) / 1000;
  set v_c = ln(abs(v_b - 17) + 2) * power(sqrt(abs(7 - v_b)) + 1, 1.5) / 1000;
  set v_total = v_total + (v_a + v_b - v_c * 0.5);
end while;
set v_sink = v_total;

-- name: CPU-FLOAT.passes
with recursive pass(n, s) as (
  select 1, :seed * 48271 % 2147483647
  union all
  select n + 1, s * 48271 % 2147483647 from pass where n < 100)
select sum(a + b - c * 0.5) as total
from (
  select a, b, cast(ln(abs(b - 17) + 2) * power(sqrt(abs(7 - b)) + 1, 1.5) / 1000 as float) as c
  from (
    select a, cast(ln(abs(a - 13) + 2) * power(sqrt(abs(5 - a)) + 1, 1.5) / 1000 as float) as b
    from (
      select cast(ln(abs(x - 11) + 2) * power(sqrt(abs(3 - x)) + 1, 1.5) / 1000 as float) as a
      from (select cast(s as float) as x from pass limit 100) as draw
      limit 100) as first
    limit 100) as second
  limit 100) as third

-- name: CPU-DOUBLE.declare
declare v_pass int;
declare v_x, v_a, v_b, v_c double;
declare v_total double;

-- name: CPU-DOUBLE.body
set v_total = 0;
set v_pass = 0;
while v_pass < 100 do
  set v_pass = v_pass + 1;
  set v_seed = v_seed * 48271 % 2147483647;
  set v_x = v_seed;
  set v_a = ln(abs(v_x - 11) + 2) * power(sqrt(abs(3 - v_x)) + 1, 1.5) / 1000;
  set v_b = ln(abs(v_a - 13) + 2) * power(sqrt(abs(5 - v_a)) + 1, 1.5) / 1000;
  set v_c = ln(abs(v_b - 17) + 2) * power(sqrt(abs(7 - v_b)) + 1, 1.5) / 1000;
  set v_total = v_total + (v_a + v_b - v_c * 0.5);
end while;
set v_sink = v_total;

-- name: CPU-DOUBLE.passes
with recursive pass(n, s) as (
  select 1, :seed * 48271 % 2147483647
  union all
  select n + 1, s * 48271 % 2147483647 from pass where n < 100)
select sum(a + b - c * 0.5) as total
from (
  select a, b, ln(abs(b - 17) + 2) * power(sqrt(abs(7 - b)) + 1, 1.5) / 1000 as c
  from (
    select a, ln(abs(a - 13) + 2) * power(sqrt(abs(5 - a)) + 1, 1.5) / 1000 as b
    from (
      select ln(abs(x - 11) + 2) * power(sqrt(abs(3 - x)) + 1, 1.5) / 1000 as a
      from (select cast(s as double) as x from pass limit 100) as draw
      limit 100) as first
    limit 100) as second
  limit 100) as third

-- name: CPU-STRING.declare
declare v_pass int;
declare v_r, v_s1, v_s2, v_s3, v_s4, v_s5 varchar(32);
declare v_p1, v_p2, v_p3, v_p4, v_p5, v_p6, v_l3, v_l5 int;
declare v_total bigint;

-- name: CPU-STRING.body
-- each concat joins two, so that there are nine of them
set v_total = 0;
set v_pass = 0;
while v_pass < 100 do
  set v_pass = v_pass + 1;
  set v_seed = v_seed * 48271 % 2147483647;
  set v_r = {{string_of_seed}};
  set v_s1 = concat(concat(upper(substr(v_r, 1, 8)), substr(v_r, 9, 8)), upper(substr(v_r, 17, 8)));
  set v_s2 = concat(v_s1, char(mod(length(concat(concat(v_s1, v_s1), v_s1)), 128) using utf8mb4));
  set v_s3 = concat(concat(upper(v_s2), '-'), 'B7');
  set v_s4 = upper(concat(v_s3, 'C'));
  set v_s5 = upper(concat(v_s4, 'D'));
  set v_p1 = instr(v_r, '7');
  set v_p2 = instr(v_s1, 'A');
  set v_p3 = instr(v_s2, 'H');
  set v_p4 = instr(v_s3, 'B7');
  set v_p5 = instr(v_s4, 'C');
  set v_p6 = instr(v_s5, 'D');
  set v_l3 = length(v_s3);
  set v_l5 = length(v_s5);
  set v_total = v_total + v_p3 + v_l3 + v_l5;
end while;
set v_sink = v_total;

-- name: CPU-STRING.passes
with recursive pass(n, s) as (
  select 1, :seed * 48271 % 2147483647
  union all
  select n + 1, s * 48271 % 2147483647 from pass where n < 100)
select sum(instr(r, '7')) as position1, sum(instr(s1, 'A')) as position2, sum(instr(s2, 'H')) as position3,
  sum(instr(s3, 'B7')) as position4, sum(instr(s4, 'C')) as position5, sum(instr(s5, 'D')) as position6,
  sum(length(s3)) as length3, sum(length(s5)) as length5
from (
  select r, s1, s2, s3, s4, upper(concat(s4, 'D')) as s5
  from (
    select r, s1, s2, s3, upper(concat(s3, 'C')) as s4
    from (
      select r, s1, s2, concat(concat(upper(s2), '-'), 'B7') as s3
      from (
        select r, s1, concat(s1, char(mod(length(concat(concat(s1, s1), s1)), 128) using utf8mb4)) as s2
        from (
          select r, concat(concat(upper(substr(r, 1, 8)), substr(r, 9, 8)), upper(substr(r, 17, 8))) as s1
          from (select {{string_of_s}} as r from pass limit 100) as draw
          limit 100) as cut
        limit 100) as mark
      limit 100) as head
    limit 100) as body
  limit 100) as tail

-- name: drop-helper
drop procedure if exists {{prefix}}cpu_fibonacci

-- name: create-helper
-- a procedure, since functions of MariaDB must not be recursive
create procedure {{prefix}}cpu_fibonacci(in n int, out result int) comment 'made by dbdyno'
begin
  declare v_one, v_two int;
  if n < 2 then
    set result = n;
  else
    call {{prefix}}cpu_fibonacci(n - 1, v_one);
    call {{prefix}}cpu_fibonacci(n - 2, v_two);
    set result = v_one + v_two;
  end if;
end

-- name: recursion
-- by default procedures must not be recursive either; the depth is n
set max_sp_recursion_depth = 100

-- name: CPU-FIBONACCI.declare
declare v_result int;

-- name: CPU-FIBONACCI.body
call {{prefix}}cpu_fibonacci({{n}}, v_result);
set v_sink = v_result;
set v_rows = v_rows + 1;

-- name: CPU-FIBONACCI.fib
-- the tree of calls, as common.sql has it: what returns a result must be a function
with recursive callee(k) as (
  select cast(:n as signed)
  union all
  select k - 1 from callee where k >= 2
  union all
  select k - 2 from callee where k >= 2)
select sum(case when k < 2 then k else 0 end) as result, count(*) as calls from callee

-- name: CPU-PRIMES.declare
declare v_number, v_divisor, v_primes, v_divisions int;

-- name: CPU-PRIMES.body
set v_primes = 0;
set v_divisions = 0;
set v_number = 2;
while v_number <= 10000 do
  set v_divisor = 2;
  while v_divisor * v_divisor <= v_number and v_number % v_divisor <> 0 do
    set v_divisor = v_divisor + 1;
  end while;
  if v_divisor * v_divisor > v_number then
    set v_primes = v_primes + 1;
    set v_divisions = v_divisions + v_divisor - 2;
  else
    set v_divisions = v_divisions + v_divisor - 1;
  end if;
  set v_number = v_number + 1;
end while;
set v_sink = v_primes + v_divisions;
set v_rows = v_rows + 1;

-- name: CPU-PRIMES.primes
-- a row per trial: the number m divided by d
with recursive trial(m, d) as (
  select seq, cast(2 as signed) from seq_2_to_10000
  union all
  select m, d + 1 from trial where d * d <= m and m % d <> 0)
select count(case when d * d > m then 1 end) as primes, count(case when d * d <= m then 1 end) as divisions from trial

-- name: drop-quicksort
drop function if exists {{prefix}}cpu_quicksort

-- name: create-quicksort
-- The array is a string with eight hexadecimal digits for each number: such strings compare as the numbers do.
-- Returns the neighbours that are in order (9999), plus the last five digits of the sum of all numbers.
create function {{prefix}}cpu_quicksort(p_seed bigint) returns bigint no sql comment 'made by dbdyno'
begin
  declare v_seed bigint default p_seed;
  declare v_list mediumblob default '';
  declare v_chunk varbinary(8000) default '';
  -- the stretches still to sort, from and to, as a stack of ten digits each in front of the others
  declare v_stack varbinary(4000) default '0000110000';
  declare v_low, v_high, v_i, v_j int;
  declare v_pivot, v_left, v_right varbinary(8);
  declare v_index int default 0;
  declare v_ordered, v_sum bigint default 0;
  while v_index < 10000 do
    set v_index = v_index + 1;
    set v_seed = v_seed * 48271 % 2147483647;
    set v_chunk = concat(v_chunk, lpad(hex(v_seed), 8, '0'));
    if v_index % 100 = 0 then
      set v_list = concat(v_list, v_chunk);
      set v_chunk = '';
    end if;
  end while;
  while v_stack <> '' do
    set v_low = substr(v_stack, 1, 5);
    set v_high = substr(v_stack, 6, 5);
    set v_stack = substr(v_stack, 11);
    set v_i = v_low;
    set v_j = v_high;
    set v_pivot = substr(v_list, (v_low + v_high) div 2 * 8 - 7, 8);
    while v_i <= v_j do
      set v_left = substr(v_list, v_i * 8 - 7, 8);
      while v_left < v_pivot do
        set v_i = v_i + 1;
        set v_left = substr(v_list, v_i * 8 - 7, 8);
      end while;
      set v_right = substr(v_list, v_j * 8 - 7, 8);
      while v_right > v_pivot do
        set v_j = v_j - 1;
        set v_right = substr(v_list, v_j * 8 - 7, 8);
      end while;
      if v_i <= v_j then
        if v_i < v_j then
          set v_list = insert(insert(v_list, v_i * 8 - 7, 8, v_right), v_j * 8 - 7, 8, v_left);
        end if;
        set v_i = v_i + 1;
        set v_j = v_j - 1;
      end if;
    end while;
    if v_low < v_j then
      set v_stack = concat(lpad(v_low, 5, '0'), lpad(v_j, 5, '0'), v_stack);
    end if;
    if v_i < v_high then
      set v_stack = concat(lpad(v_i, 5, '0'), lpad(v_high, 5, '0'), v_stack);
    end if;
  end while;
  set v_left = substr(v_list, 1, 8);
  set v_sum = conv(v_left, 16, 10);
  set v_index = 1;
  while v_index < 10000 do
    set v_index = v_index + 1;
    set v_right = substr(v_list, v_index * 8 - 7, 8);
    set v_ordered = v_ordered + (v_left <= v_right);
    set v_sum = v_sum + conv(v_right, 16, 10);
    set v_left = v_right;
  end while;
  return v_ordered + v_sum % 100000;
end

-- name: CPU-QUICKSORT.body
set v_sink = {{prefix}}cpu_quicksort(v_seed);
set v_rows = v_rows + 1;

-- name: CPU-QUICKSORT.sort
select {{prefix}}cpu_quicksort(:seed) as result
