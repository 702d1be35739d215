#!/bin/sh
# Installs what the tests need through the system's package manager, only what is missing:
# PostgreSQL's server binaries (initdb, postgres) and pgbench; Maven to fetch a second, newer PostgreSQL into the cache
# directory of dbdyno (tests/it/postgres_versions.rs); MariaDB's server binaries and its client; LibreOffice Calc, which reads our workbooks back;
# Chromium, which opens our pages.
set -eu

have_postgres() {
    for dir in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/local/pgsql/bin; do
        [ -x "$dir/initdb" ] && [ -x "$dir/pgbench" ] && return 0
    done
    command -v initdb >/dev/null 2>&1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

if ! have_postgres; then
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "test-dependencies: PostgreSQL's initdb not found; install the PostgreSQL server with your package manager" >&2
        exit 1
    fi
    # Only the binaries are wanted: keep the package from creating and starting a cluster of its own.
    as_root mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] ||
        echo "create_main_cluster = false" | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
    as_root apt-get update -q
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends postgresql
fi

have_mariadb() {
    for dir in /usr/sbin /usr/libexec /usr/bin /usr/local/mysql/bin; do
        [ -x "$dir/mariadbd" ] && command -v mariadb-install-db >/dev/null 2>&1 && return 0
    done
    return 1
}

if ! have_mariadb; then
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "test-dependencies: mariadbd and mariadb-install-db not found; install the MariaDB server with your package manager" >&2
        exit 1
    fi
    # The core packages hold the programs without a service that would be started.
    as_root apt-get update -q
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
        mariadb-server-core mariadb-client-core
fi

if ! command -v soffice >/dev/null 2>&1; then
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "test-dependencies: LibreOffice's soffice not found; install LibreOffice Calc with your package manager" >&2
        exit 1
    fi
    as_root apt-get update -q
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends libreoffice-calc
fi

if ! command -v chromium >/dev/null 2>&1; then
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "test-dependencies: chromium not found; install Chromium with your package manager" >&2
        exit 1
    fi
    as_root apt-get update -q
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium
fi

# The newest PostgreSQL and the last one whose counters lag behind (tests/it/support.rs), beside the distribution's: as
# 'dbdyno server fetch postgres' does it, with the user's own Maven.
fetch_servers() {
    cargo run --quiet -- server fetch postgres && cargo run --quiet -- server fetch postgres --version 14.18.0
}
if ! fetch_servers >/dev/null 2>&1; then
    if ! command -v mvn >/dev/null 2>&1 && command -v apt-get >/dev/null 2>&1; then
        as_root apt-get update -q
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends maven
    fi
    fetch_servers
fi
