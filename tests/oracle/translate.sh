#!/bin/sh
# Translates PL/SQL (a file of 'create or replace procedure|function ... /') into PL/pgSQL: ora2pg does it, and before and after it what
# ora2pg leaves as it is. Each rule is here, so that it can be seen what is checked and what is not.
#
#   translate.sh FILE procedure|function >TRANSLATED
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/conf" <<END
PG_VERSION 15
PLSQL_PGSQL 1
PG_INTEGER_TYPE 0
DEFAULT_NUMERIC numeric
DATA_TYPE NUMBER:numeric,BINARY_DOUBLE:double precision,BINARY_FLOAT:real,PLS_INTEGER:integer
END
# Before: whose privileges count; the hint of an insert, which makes ora2pg take its SELECT for one alone; how a commit is waited for (PostgreSQL waits); the suffixes of literals, whose types the target infers;
# generated numbers; physical attributes in dynamic SQL; the request of a checkpoint, which changes no row; the hexadecimal random string, for which PostgreSQL has no format.
perl -0pe '
    s/\bauthid current_user\b//g;
    s/insert \/\*\+ append \*\/ into/insert into/g;
    s/\bcommit write (immediate wait|batch nowait)\b/commit/g;
    s/\b(\d+(?:\.\d+)?)[df]\b/$1/g;
    s/\(select level( - 1)? as (\w+) from dual connect by level <= ((?:[^()]|\((?:[^()]|\([^()]*\))*\))+)\)/(select $2::numeric$1 as $2 from generate_series(1, ($3)::integer) as $2)/g;
    s/to_char\(power\(to_number\(v_seed\), 4\), .fm0x+.\)/md5(to_char(v_seed))/g;
    s/\bdbms_random\.value\b/dbms_random.value()/g;
    s/ pctfree 0 nologging//g;
    s/ purge\b//g;
    s/execute immediate .alter system checkpoint local.;/null;/g;
    s/then . nologging. else . logging. end/then \x27 \x27 else \x27 \x27 end/g;
' "$1" >"$scratch/in.sql"
ora2pg -q -c "$scratch/conf" -t "$2" -i "$scratch/in.sql" -b "$scratch" -o out.sql >/dev/null 2>"$scratch/said" || { cat "$scratch/said" >&2; exit 1; }
# After: the clock, which otherwise stands still in a transaction; associative arrays, which PL/pgSQL has as plain ones; our tables, which
# are those of the schema in PostgreSQL; what ora2pg adds for psql.
perl -0pe '
    s/\bCURRENT_TIMESTAMP\b/clock_timestamp()/g;
    s/^\s*type t_\w+ is table of integer index by integer;\n//mg;
    s/\b(v_counts|v_list|v_from|v_to) t_(counts|integers);/$1 integer[];/g;
    s/\bv_counts\.exists\((\w+)\)/(v_counts[$1] is not null)/g;
    s/\bv_counts\.first\b/array_lower(v_counts, 1)/g;
    s/\bv_counts\.last\b/array_upper(v_counts, 1)/g;
    s/\b(v_counts|v_list|v_from|v_to)\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)/$1\[$2\]/g;
    s/\bdbdyno_(small|big|lgwr_\w+|dbwr_\w+|dl_\w+|tp_\w+)\b/dbdyno.$1/g;
    s/\bvarchar2\b/varchar/g;
    s/\bv_(key|id|pool) numeric;/v_$1 bigint;/g;
    s/(to_date\([^()]*\)) \+ (mod\(h2, 731\))/($1 + $2 * interval \x271 day\x27)/g;
    s/sum\(booked_on - to_date\(.1970-01-01., .YYYY-MM-DD.\)\)/sum(booked_on::date - date \x271970-01-01\x27)/g;
    s/^(-- |SET |\\set ).*\n//mg;
' "$scratch/out.sql"
