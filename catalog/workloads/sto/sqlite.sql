-- name: parallel
-- nothing: one thread per statement

-- name: STO-SCATTER.scatter
with recursive parts(part) as (select 0 union all select part + 1 from parts where part + 1 < {{rows}} / 320)
select b.* from parts cross join {{big}} as b
 where b.key320 = 1 + (:key + part * ({{big_key320}} / ({{rows}} / 320))) % {{big_key320}}

-- name: files
create table sto_write (id integer primary key, filler text not null)

-- name: STO-WRITE.empty
delete from sto_write

-- name: STO-WRITE.fill
-- Two rows fill a page of 4 kB.
insert into sto_write (id, filler)
with recursive ids(i) as (select 1 union all select i + 1 from ids where i < {{file_mb}} * 1000000 / 2048)
select i, printf('%.2020c', 'x') from ids

-- name: no-files
drop table if exists sto_write
