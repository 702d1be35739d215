#!/bin/sh
# failed-again-alone.sh COMMAND...: runs all tests by this command of cargo's harness. What fails beside others on a busy
# machine is run once more, alone; a test that then passes is named and does not fail the whole, one that fails again does.
# Where many fail nothing is run again: then it is not the machine.
set -u
most=12
seen=$(mktemp)
failed=$(mktemp)
trap 'rm -f "$seen" "$failed"' EXIT

# The exit code of the command, although its output goes through a pipe.
exec 4>&1
code=$({ { "$@" 3>&-; echo $? >&3; } | tee "$seen" >&4; } 3>&1)
[ "$code" != 0 ] || exit 0

# The harness lists the names at its end, behind the last line "failures:".
awk '/^failures:$/ { names = ""; next } /^    [A-Za-z0-9_:]+$/ { names = names $1 "\n" } END { printf "%s", names }' \
    "$seen" >"$failed"
count=$(wc -l <"$failed")
if [ "$count" -eq 0 ] || [ "$count" -gt "$most" ]; then
    exit "$code"
fi
echo "$count failed beside others; they run once more, alone:"
# shellcheck disable=SC2046 # names of tests have no spaces
RUST_TEST_THREADS=1 "$@" -- --exact $(cat "$failed") || exit "$code"
echo "failed beside others, passed alone:"
sort "$failed"
