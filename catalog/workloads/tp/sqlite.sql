-- SQLite has no row locks: begin has already taken the right to write, the rows are only read.

-- name: TP-LIGHT.lock
select * from {{big}} where id = :id

-- name: TP-MEDIUM.lock
select * from {{big}} where key25 = :key

-- name: TP-HEAVY.lock
select * from {{big}} where key125 = :key

-- name: create-queue
create table {{prefix}}tp_queue (id integer primary key autoincrement, note text not null)

-- name: begin-held
begin
