#!/bin/sh
# A MySQL server for our tests, which Debian's stable releases do not have: the one of Debian's sid, with the libraries that it needs
# beside it, into the cache directory of dbdyno, only if it is not there. Nothing is installed: apt resolves and checks the packages in
# a root of its own, dpkg-deb unpacks them, and the server runs by that root's own loader. Without a network, or elsewhere than on
# Debian, nothing happens: the tests print that they are skipped for want of a MySQL server.
set -eu

cache=${XDG_CACHE_HOME:-$([ "$(id -u)" = 0 ] && echo /var/cache || echo "$HOME/.cache")}/dbdyno
place=$cache/mysql-server
[ -x "$place/bin/mysqld" ] && exit 0
no_server() {
    echo "mysql-server: $1: the tests of MySQL will not run" >&2
    exit 0
}
keys=/usr/share/keyrings/debian-archive-keyring.gpg
{ command -v apt-get && command -v dpkg-deb && [ -r "$keys" ]; } >/dev/null 2>&1 || no_server "no apt with Debian's keys here"
mkdir -p "$cache"
root=$(mktemp -d "$cache/mysql-server.part-XXXXXX")
trap 'rm -rf "$root"' EXIT

mkdir -p "$root/apt/lists/partial" "$root/apt/cache/archives/partial" "$root/apt/parts" "$root/bin"
: >"$root/apt/status"
echo "deb [signed-by=$keys] http://deb.debian.org/debian sid main" >"$root/apt/sources.list"
cat >"$root/apt/apt.conf" <<EOF
Dir::State "$root/apt"; Dir::State::status "$root/apt/status"; Dir::Cache "$root/apt/cache";
Dir::Etc::sourcelist "$root/apt/sources.list"; Dir::Etc::sourceparts "$root/apt/parts"; Dir::Etc::preferencesparts "$root/apt/parts";
Dir::Etc::preferences "/dev/null"; APT::Install-Recommends "false"; Acquire::Languages "none"; APT::Sandbox::User "";
Debug::NoLocking "true"; Acquire::http::Timeout "20"; Acquire::Retries "1";
EOF
export APT_CONFIG="$root/apt/apt.conf"
apt-get update -q >/dev/null 2>&1 || no_server "Debian's sid cannot be reached"
apt-get install -q -y --download-only mysql-server-core >/dev/null 2>&1 || no_server "its packages cannot be fetched"
for package in "$root"/apt/cache/archives/*.deb; do
    case $package in
    */perl* | */libperl*) ;; # of its maintainers' scripts
    *) dpkg-deb --extract "$package" "$root" ;;
    esac
done
loader=$(cd "$root" && find usr -name 'ld-linux*.so.*' -o -name 'ld64.so.*' | head -n 1)
libraries=$(dirname "$(find "$root/usr/lib" -name 'libc.so.6' | head -n 1)")
[ -n "$loader" ] || no_server "its loader is not where it was"
cat >"$root/bin/mysqld" <<EOF
#!/bin/sh
root=\$(dirname "\$(dirname "\$0")")
exec "\$root/$loader" --argv0 "\$root/usr/sbin/mysqld" --library-path "\$root/${libraries#"$root/"}" "\$root/usr/sbin/mysqld" --no-defaults \\
    --basedir="\$root/usr" --lc-messages-dir="\$root/usr/share/mysql" --character-sets-dir="\$root/usr/share/mysql/charsets" \\
    --plugin-dir="\$root/usr/lib/mysql/plugin" "\$@"
EOF
chmod 755 "$root" "$root/bin" "$root/bin/mysqld"
rm -rf "$root/apt" "$root/usr/share/doc" "$root/usr/share/man" "$root/usr/share/locale"
"$root/bin/mysqld" --version || no_server "it does not run here"
mv -T "$root" "$place" 2>/dev/null || true # another one may have been faster
trap - EXIT
rm -rf "$root"
