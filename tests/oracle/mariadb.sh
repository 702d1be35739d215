#!/bin/sh
# Writes the declarations and the body of a workload in Oracle's language so that MariaDB takes them in its mode ORACLE. Each rule is here, so
# that it can be seen what is checked and what is not: names of types, suffixes of literals, what MariaDB lacks of dates and numbers as text,
# our tables, which are in a database of their own; the rows of a job have twice its number there. How a commit is waited for is MariaDB's.
#
#   mariadb.sh FILE >WRITTEN
set -eu
perl -0pe '
    s/\/\*\+.*?\*\///g;
    s/where pool = p_job/where pool = 2 * p_job/g;
    s/\bpls_integer\b/bigint/g;
    s/\bbinary_double\b/double/g;
    s/\bnumber\b/decimal(38, 10)/g;
    s/\b(\d+(?:\.\d+)?)d\b/$1/g;
    s/\bto_number\(v_seed\)/v_seed/g;
    s/\bcommit write (immediate wait|batch nowait)\b/commit/g;
    s/to_date\((\x27[-\d]+\x27), \x27YYYY-MM-DD\x27\)/date $1/g;
    s/v_first_day \+ (mod\(v_h2, 731\))/date_add(v_first_day, interval $1 day)/g;
    s/to_char\(([^()]+)\)/cast(floor($1) as char)/g;
    s/\bdbdyno_(small|big|cpu_\w+|lgwr_\w+|dbwr_\w+|dl_\w+|tp_\w+)\b/dbdyno.$1/g;
' "$1"
