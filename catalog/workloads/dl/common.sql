-- name: drop-buffer
drop table if exists {{prefix}}dl_buffer

-- name: index-key25
create index dl_buffer_key25 on {{prefix}}dl_buffer (key25)

-- name: index-key125
create index dl_buffer_key125 on {{prefix}}dl_buffer (key125)

-- name: index-key320
create index dl_buffer_key320 on {{prefix}}dl_buffer (key320)

-- name: drop-direct
drop table if exists {{prefix}}dl_direct
