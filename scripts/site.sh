#!/usr/bin/env bash
# A sample of 'dbdyno site' in target/site: two short runs on every engine that this host has, and the published studies of
# data/reference. DBDYNO is the program (default: a release build).
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${DBDYNO:-}" ]; then
  cargo build --release
  DBDYNO=target/release/dbdyno
fi
home=target/site-home
rm -rf "$home" && mkdir -p "$home"
export DBDYNO_HOME="$PWD/$home"
"$DBDYNO" --quiet results import --csv data/reference/published-results.csv --platforms data/reference/platforms.csv
names=()
for engine in sqlite duckdb chdb postgres mariadb; do
  if ! "$DBDYNO" --quiet check "$engine" >"$home/check.txt" 2>&1; then
    echo "$engine is left out: $(tail -1 "$home/check.txt")"
    continue
  fi
  for turn in 1 2; do
    # A figure that is not accepted ends a run with 1; the site shows it with its verdict.
    "$DBDYNO" --quiet run "$engine" --suite quick --size 0.02 --jobs 1,2 --time-scale 0.3 --name "$engine-$turn" \
      >"$home/$engine-$turn.txt" 2>&1 || [ $? -eq 1 ]
    # What is published has letters, unless whoever publishes gives names.
    names+=(--name "$engine-$turn=$engine, run $turn of this host")
  done
done
"$DBDYNO" --quiet site target/site --title "A sample" "${names[@]}"
echo "open target/site/index.html"
