-- name: role
-- A user for dbdyno, with what every test needs and no more: to be run by an administrator. Nobody can log in as it before it
-- has a password: alter user {{user}} identified by '...' account unlock
create user {{user}} account lock;
grant select, insert, update, delete, create, drop, index, alter, create routine, alter routine, execute, lock tables
  on dbdyno.* to {{user}};
-- Optional: what the server counts, and what sessions wait for; and, for STO-WRITE, to write a table to disk.
grant process, reload on *.* to {{user}};
