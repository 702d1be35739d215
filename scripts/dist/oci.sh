#!/bin/sh
# oci.sh TREE: dbdyno-VERSION-ARCH-oci.tar, an image in OCI's layout with a PostgreSQL inside, built without a container
# service (mmdebstrap, umoci). For trying: a container's storage is not what a platform is bought for.
. "$(dirname "$0")/common.sh"
tree=$1
[ "$arch" = x86_64 ] || die "an image is built for x86_64 only"
[ "$(id -u)" = 0 ] || die "an image is built as root (mmdebstrap)"
img=$work/image
rm -rf "$img" "$work/oci"
mmdebstrap --quiet --mode=root --variant=minbase --include=postgresql,ca-certificates bookworm "$img"
install -Dm755 "$tree/dbdyno" "$img/usr/bin/dbdyno"
mkdir -p "$img/usr/share/doc/dbdyno"
cp "$tree"/doc/* "$img/usr/share/doc/dbdyno/"
install -d -o "$(chroot "$img" id -u postgres)" -g "$(chroot "$img" id -g postgres)" "$img/var/lib/dbdyno"
rm -rf "$img"/var/lib/apt/lists/* "$img"/var/cache/apt/*.bin "$img"/var/log/*.log
find "$img/usr/share/doc" -type f ! -name 'copyright*' ! -path '*/dbdyno/*' -delete
rm -rf "$img"/usr/share/man/* "$img"/usr/share/locale/*
umoci init --layout "$work/oci"
umoci new --image "$work/oci:$version"
umoci insert --image "$work/oci:$version" "$img" /
umoci config --image "$work/oci:$version" --config.user postgres --config.entrypoint /usr/bin/dbdyno \
    --config.env DBDYNO_HOME=/var/lib/dbdyno --config.env PATH=/usr/local/bin:/usr/bin:/bin \
    --config.workingdir /var/lib/dbdyno --architecture amd64 --os linux \
    --created "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)"
umoci gc --layout "$work/oci"
tar -C "$work/oci" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
    -cf "$dist/dbdyno-$version-$arch-oci.tar" .
rm -rf "$work/oci"
say "image $(stat -c %s "$dist/dbdyno-$version-$arch-oci.tar") bytes"
