-- name: LGWR-THR.update
-- the letter changes with every update; 1000 characters from 500 zero bytes in hexadecimal
update {{prefix}}lgwr_thr
set counter = counter + 1, pad = replace(hex(zeroblob(500)), '0', char(97 + counter % 26)) where pool = :job
