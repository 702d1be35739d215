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

-- name: drop-stream
drop table if exists {{prefix}}dl_stream

-- name: index-device
create index dl_stream_device on {{prefix}}dl_stream (key320)

-- name: relax-0
-- nothing: commits wait as the server is set
