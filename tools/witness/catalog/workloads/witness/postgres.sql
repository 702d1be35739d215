-- name: WITNESS-KEYS.count
update {{prefix}}witness_keys set n = n + 1 where id = :id
