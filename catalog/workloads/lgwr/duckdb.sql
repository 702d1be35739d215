-- name: LGWR-THR.update
-- the letter changes with every update
update {{prefix}}lgwr_thr
set counter = counter + 1, pad = repeat(chr(cast(97 + counter % 26 as integer)), 1000) where pool = :job
