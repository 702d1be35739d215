#!/bin/sh
# Installs what `make oracle` needs, only what is missing: ANTLR's grammar of PL/SQL as a parser for Node, and druid's parser, into the cache
# directory of dbdyno with the user's own npm and Maven; ora2pg, orafce and plpgsql_check through the system's package manager. What npm
# fetches has the integrity that plsql-parser/package-lock.json holds, and none of its scripts is run; druid has the SHA-256 below.
set -eu

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

install() {
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "oracle-dependencies: $1 not found; install it with your package manager" >&2
        exit 1
    fi
    as_root apt-get update -q
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
}

command -v npm >/dev/null 2>&1 || install npm
cache=${XDG_CACHE_HOME:-$([ "$(id -u)" = 0 ] && echo /var/cache || echo "$HOME/.cache")}/dbdyno
parser=$cache/plsql-parser
if [ ! -d "$parser/node_modules/antlr4" ]; then
    mkdir -p "$parser"
    cp "$(dirname "$0")"/plsql-parser/package.json "$(dirname "$0")"/plsql-parser/package-lock.json "$parser"
    (cd "$parser" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
fi
command -v mvn >/dev/null 2>&1 || install maven
if [ ! -e "$cache/druid/druid-1.2.28.jar" ]; then
    unpacked=$(mktemp -d)
    mvn -q -B --strict-checksums org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
        -Dartifact=com.alibaba:druid:1.2.28 -DoutputDirectory="$unpacked"
    "$(dirname "$0")/check-sha256.sh" "$unpacked/druid-1.2.28.jar" \
        c4cec3792390a2bbe6020d59be52160fd38d15de0f00dc52702eb91128c695a5
    mkdir -p "$cache/druid"
    mv "$unpacked/druid-1.2.28.jar" "$cache/druid"
    rm -r "$unpacked"
fi
command -v ora2pg >/dev/null 2>&1 || install ora2pg
for dir in /usr/share/postgresql/*/extension; do
    version=$(basename "$(dirname "$dir")")
    [ -e "$dir/orafce.control" ] && [ -e "$dir/plpgsql_check.control" ] \
        || install "postgresql-$version-orafce" "postgresql-$version-plpgsql-check"
done
