#!/bin/sh
# archive.sh TREE: dbdyno-VERSION-ARCH-linux.tar.zst and .tar.gz from what tree.sh made.
. "$(dirname "$0")/common.sh"
name=dbdyno-$version-$arch-linux
rm -rf "$work/$name"
mkdir "$work/$name"
cp -R "$1/." "$work/$name"
tar=$work/$name.tar
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --format=posix \
    --pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime -cf "$tar" "$name"
zstd -q -19 -T1 -f "$tar" -o "$dist/$name.tar.zst"
gzip -9n <"$tar" >"$dist/$name.tar.gz"
rm -r "$work/$name" "$tar"
say "archive $(stat -c %s "$dist/$name.tar.zst") bytes (.zst), $(stat -c %s "$dist/$name.tar.gz") bytes (.gz)"
