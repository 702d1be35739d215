#!/bin/sh
# dependencies.sh PART...: installs what building or testing these artefacts needs, only what is missing, by Debian's apt.
. "$(dirname "$0")/common.sh"
need() {
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
missing=
need objdump binutils
need python3 python3
python3 -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
for part in "$@"; do
    case $part in
    archive) need zstd zstd ;;
    deb) need dpkg-deb dpkg ;;
    wheel) ;;
    oci)
        need mmdebstrap mmdebstrap
        need umoci umoci
        ;;
    roots) need mmdebstrap mmdebstrap ;;
    lintian) need lintian lintian ;;
    aarch64)
        need mmdebstrap mmdebstrap
        need qemu-aarch64-static qemu-user-static
        ;;
    esac
done
[ -n "$missing" ] || exit 0
command -v apt-get >/dev/null 2>&1 || die "install with your package manager:$missing"
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}
as_root apt-get update -q
# shellcheck disable=SC2086 # one word a package
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
