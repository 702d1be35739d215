#!/bin/sh
# deb.sh TREE: dbdyno_VERSION-1_ARCH.deb from what tree.sh made.
. "$(dirname "$0")/common.sh"
tree=$1
[ -n "$deb_arch" ] || die "no name of Debian's for $arch"
package=$work/deb
rm -rf "$package"
doc=$package/usr/share/doc/dbdyno
mkdir -p "$doc" "$package/usr/share/man/man1" "$package/DEBIAN"
install -Dm755 "$tree/dbdyno" "$package/usr/bin/dbdyno"
for page in "$tree"/man/*.1; do
    gzip -9n <"$page" >"$package/usr/share/man/man1/$(basename "$page").gz"
done
install -Dm644 "$tree/completions/dbdyno" "$package/usr/share/bash-completion/completions/dbdyno"
install -Dm644 "$tree/completions/_dbdyno" "$package/usr/share/zsh/vendor-completions/_dbdyno"
install -Dm644 "$tree/completions/dbdyno.fish" "$package/usr/share/fish/vendor_completions.d/dbdyno.fish"
install -m644 "$tree/doc/README.md" "$tree/doc/METHODOLOGY.md" "$tree/doc/BIAS.md" "$tree/doc/SECURITY.md" "$doc/"
gzip -9n <"$tree/doc/THIRD-PARTY.txt" >"$doc/THIRD-PARTY.txt.gz"
gzip -9n <"$tree/doc/CHANGELOG.md" >"$doc/changelog.gz"
{
    printf 'dbdyno (%s-1) stable; urgency=low\n\n  * Release %s; CHANGELOG.md tells what is new.\n\n' "$version" "$version"
    printf ' -- The dbdyno authors <dbdyno@packages.invalid>  %s\n' "$(date -u -R -d "@$SOURCE_DATE_EPOCH")"
} | gzip -9n >"$doc/changelog.Debian.gz"
{
    printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: dbdyno\n\n'
    printf 'Files: *\nCopyright: 2026 the dbdyno authors\nLicense: Apache-2.0 or Expat\n'
    printf 'Comment: THIRD-PARTY.txt.gz has the licences of the packages that the program contains.\n\n'
    printf 'License: Apache-2.0\n /usr/share/common-licenses/Apache-2.0 on Debian.\n\nLicense: Expat\n'
    sed 's/^$/./; s/^/ /' "$tree/doc/LICENSE-MIT"
} >"$doc/copyright"
# What is known of lintian and stays: the program is not of Debian's archive.
mkdir -p "$package/usr/share/lintian/overrides"
cat >"$package/usr/share/lintian/overrides/dbdyno" <<'O'
# A package of the project itself, which closes no bug of Debian's.
dbdyno: initial-upload-closes-no-bugs *
# German texts of reports are in the program.
dbdyno: spelling-error-in-binary *
# SQLite is part of the program: its options of the build decide what is measured.
dbdyno: embedded-library *
O
cat >"$package/DEBIAN/control" <<C
Package: dbdyno
Version: $version-1
Architecture: $deb_arch
Maintainer: The dbdyno authors <dbdyno@packages.invalid>
Section: database
Priority: optional
Installed-Size: $(du -sk --exclude=DEBIAN "$package" | cut -f1)
Depends: libc6 (>= $glibc)
Suggests: postgresql, mariadb-server
Description: dynamometer for database platforms
 Small, well-understood workloads run inside a database and from the client,
 from one job to saturation. They become key performance metrics of the whole
 platform, with a verdict beside every number and reports that compare
 platforms.
C
# Results are the user's: a purge takes the data that can be loaded again, and leaves what was measured.
cat >"$package/DEBIAN/postrm" <<'P'
#!/bin/sh
set -e
if [ "$1" = purge ] && [ -d /var/lib/dbdyno ]; then
    rm -rf /var/lib/dbdyno/data
    if ! rmdir /var/lib/dbdyno 2>/dev/null; then
        echo "dbdyno: results stay in /var/lib/dbdyno"
    fi
fi
P
chmod 755 "$package/DEBIAN/postrm"
(cd "$package" && find usr -type f | sort | xargs md5sum >DEBIAN/md5sums)
find "$package" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
file=$dist/dbdyno_$version-1_$deb_arch.deb
dpkg-deb --root-owner-group -Zxz --build "$package" "$file" >/dev/null
rm -r "$package"
say "package $(stat -c %s "$file") bytes"
