#!/bin/sh
# Runs one workload with plain scripts: JOBS clients side by side, each in a loop inside the database for SECONDS.
#
#   ./run.sh WORKLOAD [JOBS [SECONDS [WARMUP]]]       ./run.sh alone lists the workloads
#
# The connection is that of the client's own settings. CLIENT overrides how the client is called:
#   CLIENT="{{client}}"
#
# Beside what is printed, each test is added to a spool, SPOOL (default: results.spool beside this script), which
# 'dbdyno results import FILE' judges and keeps. Plain lines of words:
#   dbdyno-spool 1                        then pack, dbdyno, engine, size_gb, seed, server: which scripts, on what
#   setting NAME VALUE                    as the server discloses it
#   test NAME                             begins a test: workload, param NAME VALUE, hash (of its SQL), started (UTC), jobs,
#                                         window_s (as asked for), total_s (between the readings of the counters)
#   fact NAME VALUE                       of its tables
#   begin NAME VALUE, end NAME VALUE      counters before and after the jobs
#   warm JOB ops N rows N commits N elapsed_us N              what a job did outside the window
#   job JOB part N ops N rows N commits N elapsed_us N stride N [longest_us N]        and in it; every stride-th op was timed
#   us JOB 12 14:3 ...                    its samples in us; 14:3 is three of 14
#   done                                  the test is whole
set -eu
# Numbers have a point whatever the locale is; texts of the server stay what they are.
LC_ALL=C PGCLIENTENCODING=UTF8
export LC_ALL PGCLIENTENCODING
here=$(cd "$(dirname "$0")" && pwd)
CLIENT=${CLIENT:-"{{client}}"}
SPOOL=${SPOOL:-$here/results.spool}
workload=${1:-} jobs=${2:-1} seconds=${3:-10} warmup=${4:-1}
job=1 stride=1 start=0 end=0 seed=0 warm_seed=0 pids=
window_us=$(awk -v s="$seconds" 'BEGIN { printf "%d", s * 1e6 }')
warmup_us=$(awk -v s="$warmup" 'BEGIN { printf "%d", s * 1e6 }')
if [ -z "$workload" ] || [ ! -d "$here/workloads/$workload" ]; then
    echo "usage: $0 WORKLOAD [JOBS [SECONDS [WARMUP]]]; the workloads are:" >&2
    ls "$here/workloads" >&2
    exit 2
fi
cd "$here/workloads/$workload"
scratch=$(mktemp -d)
parts=$(ls part-*.sql | sed 's/\..*//' | sort -u | wc -l)
# Every part of a mixed workload gets the same number of jobs: with fewer its figure would be that of some parts only.
if [ $((jobs % parts)) -ne 0 ]; then
    jobs=$(( (jobs + parts - 1) / parts * parts ))
    echo "$workload: $jobs jobs, an equal number for each of its $parts parts" >&2
fi

# One client session; its statements come from standard input. Unquoted: the options are words. While it runs its process
# stands in a file, and none begins once the file "ended" is there: so an interrupt ends every client.
sql() {
    sh -c 'echo $$ >"$0/client.$1"; [ ! -e "$0/ended" ] || exit 1; shift; exec "$@"' "$scratch" "$job" $CLIENT ||
        { rm -f "$scratch/client.$job"; return 1; }
    rm -f "$scratch/client.$job"
}

# A script with this run's values.
fill() {
    sed -e "s/__JOBS__/$jobs/g" -e "s/__JOB__/$job/g" -e "s/__WINDOW_US__/$window_us/g" -e "s/__WARMUP_US__/$warmup_us/g" \
        -e "s/__END__/$end/g" -e "s/__STRIDE__/$stride/g" -e "s/__SEED__/$seed/g" -e "s/__WARM_SEED__/$warm_seed/g" -e "s/__START__/$start/g" "$1"
}

# The state of the key generator that stream $1 of this test begins with. Each test draws keys of its own, which no cache holds
# from the test before: as many as the spool has of the workload, so many lines of "states" are passed over. The streams follow
# one another at a fixed distance.
state_of() {
    tests=$(grep -c -x -F "test $workload" "$SPOOL" 2>/dev/null || true)
    state=$(awk -v tests="${tests:-0}" '{ state[NR] = $1 } END { print state[tests % NR + 1] }' states) stream=1
    while [ "$stream" -lt "$1" ]; do
        state=$((state * {{job_factor}} % 2147483647)) stream=$((stream + 1))
    done
    echo "$state"
}

# The last line that a session prints, as words: ops rows commits sink seed elapsed_us longest_us samples in us ... Nothing of a session
# that failed: its last line would be another statement's.
result() {
    fill "$1" | sql >"$scratch/output.$job" || return 1
    tr '{},|\t' '     ' <"$scratch/output.$job" | awk 'NF >= 6' >"$scratch/lines.$job"
    sed '$d' "$scratch/lines.$job" | warm_lines
    tail -n 1 "$scratch/lines.$job" | tr -s ' '
}

# Adds calls outside the window, as lines of words, to what the spool says of the job.
warm_lines() {
    awk -v job="$job" '{ printf "warm %d ops %d rows %d commits %d elapsed_us %.0f\n", job, $1, $2, $3, $6 }' \
        >>"$scratch/warm.$job"
}

# The warm-up says how long an op takes: ops of 100 us or more are timed one by one, of shorter ones every hundredth. The window
# goes on with the keys where the warm-up ends; the short call before it has a stream beyond those of the jobs.
in_a_loop() {
    seed=$(state_of "$job") warm_seed=$(state_of $((jobs + job)))
    result "$1.probe.sql" >"$scratch/probe.$job" || return 1
    warm_lines <"$scratch/probe.$job"
    stride=$(awk '{ print ($6 > 100 * $1 ? 1 : 100) }' "$scratch/probe.$job")
    echo "$stride" >"$scratch/stride.$job"
    seed=$(awk '{ print $5 }' "$scratch/probe.$job")
    result "$1.job.sql"
}

# Transactions that the server must be asked for one by one: calls in one session until the server's clock shows $2; after
# every $3 calls it is looked at. The session ends with the error that the time is over; any other end is a failure.
call_until() {
    end=$2
    burst=$(fill "$1.call.sql" | awk -v n="$3" '{ for (i = 0; i < n; i++) print }'; fill "$here/clock.sql")
    { fill "$1.calls.sql"; yes "$burst" || true; } 2>/dev/null | sql >"$scratch/calls.$job" 2>"$scratch/said.$job" || true
    tail -n 1 "$scratch/said.$job" | grep -q 'the time is over' || { cat "$scratch/said.$job" >&2; return 1; }
}

# What was done from the first time of the server to the last: ops rows commits sink seed elapsed_us.
called() {
    awk '$1 == "clock" { if (!first) first = $2; last = $2; ops = n; rows = r; commits = c; next }
        first { n++; r += $1; c += $2 }
        END { if (ops > 0) printf "%d %d %d 0 0 %.0f\n", ops, rows, commits, (last - first) * 1e6 }' "$scratch/calls.$job"
}

# The other calls: before the first time of the server, and after the last.
called_besides() {
    awk '$1 == "clock" { inside = 1; n = r = c = 0; next }
        $1 !~ /^[0-9]+$/ || NF < 2 { next }
        inside { n++; r += $1; c += $2; next }
        { ops++; rows += $1; commits += $2 }
        END { printf "%d %d %d 0 0 0\n", ops + n, rows + r, commits + c }' "$scratch/calls.$job" | warm_lines
}

# The warm-up says how many calls take 20 ms: after so many the clock is looked at.
one_by_one() {
    common_start=$start start=0
    call_until "$1" "$(in_seconds 0 "$warmup")" 1 || return 1
    called_besides
    called | warm_lines
    calls=$(called | awk '$6 > 0 { n = int(20000 * $1 / $6) } END { print (n < 1 ? 1 : n > 500 ? 500 : n) }')
    start=$common_start
    call_until "$1" "$(in_seconds "$start" "$seconds")" "$calls" || return 1
    called_besides
    called
}

# $2 seconds from now on by the server's clock, or from $1 on if that is later.
in_seconds() { sql <"$here/now.sql" | awk -v from="$1" -v s="$2" '{ printf "%.6f", (from > $1 ? from : $1) + s }'; }

# The jobs of a mixed workload are dealt to its parts.
run_job() {
    part=part-$(( (job - 1) % parts + 1 ))
    if [ -e "$part.calls.sql" ]; then
        one_by_one "$part" >"$scratch/result.$job" || return 1
    else
        in_a_loop "$part" >"$scratch/result.$job" || return 1
    fi
    [ -s "$scratch/result.$job" ]
}

# Of the files NAME.VERSION.sql the newest that is not above the server's version.
fitting() {
    for file in "$here/$1".*.sql; do
        version=${file#"$here/$1."}
        echo "${version%.sql}"
    done | awk -v server="$server" '
        function number(text, part) { split(text, part, /[^0-9]+/); return part[1] * 1000 + part[2] }
        number($1) <= number(server) && (best == "" || number($1) > number(best)) { best = $1 }
        END { print best }'
}

# Numbers that a script asks for, as lines "$1 NAME VALUE": every statement prints a line of names and a line of values.
numbers() {
    $CLIENT {{named}} <"$2" 2>/dev/null | awk -F '[|\t]' -v what="$1" '
        NR % 2 { for (i = 1; i <= NF; i++) name[i] = $i; next }
        { prefix = (name[1] == "kind" ? $1 "_" : "")
          for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+([.][0-9]+)?(e[+-]?[0-9]+)?$/) print what, prefix name[i], $i }' || true
}

# Counters at a moment at which no session of a job is there any more.
counters() {
    tries=50
    while [ "$(sql <"$here/quiet.sql" | grep -v '^$' | tail -n 1)" != 0 ] && [ "$tries" -gt 0 ]; do
        tries=$((tries - 1))
        sleep 0.1
    done
    numbers "$1" "$here/counters.$(fitting counters).sql" >"$scratch/$1.counters"
}

# The test as the head of this file describes it.
spool() {
    cat spool.head
    printf 'started %s\njobs %d\nwindow_s %s\n' "$started" "$jobs" "$seconds"
    sql <"$here/now.sql" | awk -v begun="$begun" '{ printf "total_s %.3f\n", $1 - begun }'
    numbers fact facts.sql
    cat "$scratch/begin.counters"
    job=1
    while [ "$job" -le "$jobs" ]; do
        stride=0
        [ ! -e "$scratch/stride.$job" ] || stride=$(cat "$scratch/stride.$job")
        [ ! -e "$scratch/warm.$job" ] || cat "$scratch/warm.$job"
        awk -v job="$job" -v part="$(( (job - 1) % parts + 1 ))" -v stride="$stride" '{
            printf "job %d part %d ops %d rows %d commits %d elapsed_us %.0f stride %d", job, part, $1, $2, $3, $6, stride
            if ($7 > 0) printf " longest_us %.0f", $7
            printf "\n"
            for (i = 8; i <= NF; i++) times[sprintf("%.0f", $i)]++
            for (us in times) { if (n++ % 1000 == 0) printf "%sus %d", (n > 1 ? "\n" : ""), job; printf " %s:%d", us, times[us] }
            if (n) printf "\n"
        }' "$scratch/result.$job"
        job=$((job + 1))
    done
    cat "$scratch/end.counters"
    echo "done"
}

# What the spool begins with.
spool_head() {
    cat "$here/spool.head"
    echo "server $server"
    sql <"$here/settings.$(fitting settings).sql" | awk -F '[|\t]' 'NF > 1 { print "setting", $1, substr($0, length($1) + 2) }'
}

finish() {
    # A second signal does not end the end.
    trap '' HUP INT TERM
    trap - EXIT
    fill teardown.sql | $CLIENT >/dev/null || true
    rm -rf "$scratch"
}
# Sends signal $1 to the clients that run.
signal_clients() {
    for file in "$scratch"/client.*; do
        [ ! -s "$file" ] || kill -s "$1" "$(cat "$file" 2>/dev/null)" 2>/dev/null || true
    done
}
# A job that is told to end begins nothing more. At an interrupt most clients also cancel their call in the server, on which the
# teardown would wait; one that does not end within 2 s is ended.
interrupted() {
    : >"$scratch/ended"
    [ -z "$pids" ] || kill $pids 2>/dev/null || true
    signal_clients INT
    tries=20
    while [ "$tries" -gt 0 ] && ls "$scratch"/client.* >/dev/null 2>&1; do
        tries=$((tries - 1))
        sleep 0.1
    done
    signal_clients TERM
    exit "$1"
}
trap finish EXIT
# Not every shell runs the trap of EXIT when a signal ends it.
trap 'interrupted 129' HUP
trap 'interrupted 130' INT
trap 'interrupted 143' TERM
server=$(sql <"$here/version.0.sql" | grep . | head -n 1)
fill setup.sql | sql >/dev/null
started=$(date -u +%Y-%m-%dT%H:%M:%SZ)
begun=$(sql <"$here/now.sql")
counters begin
# All jobs begin together, when their warm-ups are over.
start=$(sql <"$here/now.sql" | awk -v wait="$warmup" -v jobs="$jobs" '{ printf "%.3f", $1 + wait + 0.5 + 0.05 * jobs }')
while [ "$job" -le "$jobs" ]; do
    run_job &
    pids="$pids $!"
    job=$((job + 1))
done
for pid in $pids; do
    wait "$pid" || { echo "$workload: a job failed" >&2; interrupted 1; }
done
pids=
job=0
counters end
[ -s "$SPOOL" ] || spool_head >"$scratch/spool"
spool >>"$scratch/spool"
{ cat "$scratch/spool" >>"$SPOOL"; } 2>/dev/null || echo "$SPOOL cannot be written: nothing to import" >&2

cat "$scratch"/result.* | awk -v workload="$workload" -v jobs="$jobs" '
    { ops += $1; us += $6; if ($6 > 0) { rate += $1 / $6; rows += $2 / $6; commits += $3 / $6 } }
    END {
        printf "workload=%s jobs=%d ops=%d ops_per_s=%.4g rows_per_s=%.4g commits_per_s=%.4g mean_us=%.4g\n",
            workload, jobs, ops, rate * 1e6, rows * 1e6, commits * 1e6, (ops > 0 ? us / ops : 0)
    }' | tee "$scratch/summary"
# A percentile p needs 10 / (1 - p) samples.
cat "$scratch"/result.* | cut -s -d ' ' -f 8- | tr -s ' ' '\n' | grep . | sort -n | awk '
    { us[NR] = $1 }
    function at(p) { return NR >= 10 / (1 - p) ? sprintf("%.4g", us[int(NR * p) + (int(NR * p) < NR * p)]) : "-" }
    END { if (NR > 0) printf "samples=%d p50_us=%s p95_us=%s p99_us=%s max_us=%.4g\n", NR, at(0.5), at(0.95), at(0.99), us[NR] }'
# The metric of the workload, where it follows from these figures: what it is counted from, factor, unit.
if [ -e kpm ]; then
    read -r source factor unit <kpm
    awk -v source="$source" -v factor="$factor" -v unit="$unit" '{
        for (at = 1; at <= NF; at++) { split($at, pair, "="); value[pair[1]] = pair[2] }
        printf "kpm=%.4g unit=%s\n", value[source] * factor, unit
    }' "$scratch/summary"
fi
