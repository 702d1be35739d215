#!/bin/sh
# Runs jobs on several load machines over plain ssh: run.sh RESULTS TARGET HOST... -- options of 'dbdyno run'
# Each host has dbdyno in its PATH and the passwords of both databases in its ~/.pgpass.
set -eu
results=$1 target=$2
shift 2
hosts=''
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    hosts="$hosts $1"
    shift
done
[ $# -eq 0 ] || shift
[ -n "$hosts" ] || { echo "run.sh: name the hosts: run.sh RESULTS TARGET HOST... -- OPTIONS" >&2; exit 2; }

pids=''
end() {
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    wait
}
trap end EXIT
trap 'exit 130' INT TERM
count=0
for host in $hosts; do
    # -tt: the worker ends with the connection.
    ssh -tt -o BatchMode=yes "$host" dbdyno worker "'$results'" "'$target'" </dev/null >"worker-$host.log" 2>&1 &
    pids="$pids $!"
    count=$((count + 1))
done
dbdyno run "$target" --results "$results" --workers "$count" "$@"
