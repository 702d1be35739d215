#!/bin/sh
# Runs one workload with plain scripts: JOBS clients side by side, each in a loop inside the database for SECONDS.
#
#   ./run.sh WORKLOAD [JOBS [SECONDS [WARMUP]]]       ./run.sh alone lists the workloads
#
# The connection is that of the client's own settings. CLIENT overrides how the client is called:
#   CLIENT="{{client}}"
set -eu
here=$(cd "$(dirname "$0")" && pwd)
CLIENT=${CLIENT:-"{{client}}"}
workload=${1:-} jobs=${2:-1} seconds=${3:-10} warmup=${4:-1}
job=1 stride=1 start=0 end=0
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

# One client session; its statements come from standard input. Unquoted: the options are words.
sql() { $CLIENT; }

# A script with this run's values.
fill() {
    sed -e "s/__JOBS__/$jobs/g" -e "s/__JOB__/$job/g" -e "s/__WINDOW_US__/$window_us/g" -e "s/__WARMUP_US__/$warmup_us/g" \
        -e "s/__END__/$end/g" -e "s/__STRIDE__/$stride/g" -e "s/__SEED__/$((job * 7919 + 42))/g" -e "s/__START__/$start/g" "$1"
}

# The last line that a session prints, as words: ops rows commits sink seed elapsed_us samples in us ... Nothing of a session
# that failed: its last line would be another statement's.
result() {
    fill "$1" | sql >"$scratch/output.$job" || return 1
    grep . "$scratch/output.$job" | tail -n 1 | tr '{},|\t' '     '
}

# The warm-up says how long an op takes: ops of 100 us or more are timed one by one, of shorter ones every hundredth.
in_a_loop() {
    result "$1.probe.sql" >"$scratch/probe.$job" || return 1
    stride=$(awk '{ print ($6 > 100 * $1 ? 1 : 100) }' "$scratch/probe.$job")
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

# The warm-up says how many calls take 20 ms: after so many the clock is looked at.
one_by_one() {
    common_start=$start start=0
    call_until "$1" "$(in_seconds 0 "$warmup")" 1 || return 1
    calls=$(called | awk '$6 > 0 { n = int(20000 * $1 / $6) } END { print (n < 1 ? 1 : n > 500 ? 500 : n) }')
    start=$common_start
    call_until "$1" "$(in_seconds "$start" "$seconds")" "$calls" || return 1
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

finish() {
    trap - EXIT
    fill teardown.sql | sql >/dev/null || true
    rm -rf "$scratch"
}
trap finish EXIT
fill setup.sql | sql >/dev/null
# All jobs begin together, when their warm-ups are over.
start=$(sql <"$here/now.sql" | awk -v wait="$warmup" -v jobs="$jobs" '{ printf "%.3f", $1 + wait + 0.5 + 0.05 * jobs }')
pids=
while [ "$job" -le "$jobs" ]; do
    run_job &
    pids="$pids $!"
    job=$((job + 1))
done
for pid in $pids; do
    wait "$pid" || { echo "$workload: a job failed" >&2; exit 1; }
done

cat "$scratch"/result.* | awk -v workload="$workload" -v jobs="$jobs" '
    { ops += $1; us += $6; if ($6 > 0) { rate += $1 / $6; rows += $2 / $6; commits += $3 / $6 } }
    END {
        printf "workload=%s jobs=%d ops=%d ops_per_s=%.4g rows_per_s=%.4g commits_per_s=%.4g mean_us=%.4g\n",
            workload, jobs, ops, rate * 1e6, rows * 1e6, commits * 1e6, (ops > 0 ? us / ops : 0)
    }' | tee "$scratch/summary"
# A percentile p needs 10 / (1 - p) samples.
cat "$scratch"/result.* | cut -s -d ' ' -f 7- | tr -s ' ' '\n' | grep . | sort -n | awk '
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
