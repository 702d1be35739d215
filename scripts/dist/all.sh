#!/bin/sh
# all.sh [PART...]: every artefact into target/dist, with SHA256SUMS; or some of archive deb wheel oci. `make dist`. Those of another
# processor (DIST_ARCH) stay.
. "$(dirname "$0")/common.sh"
[ -z "$(git status --porcelain --untracked-files=no)" ] || die "the checkout has changes that are not committed"
if [ $# -eq 0 ]; then
    set -- archive deb wheel
    # Its root file system is one that this processor runs.
    [ "$arch" != x86_64 ] || set -- "$@" oci
fi
"$root/scripts/dist/dependencies.sh" "$@"
rm -f "$dist"/dbdyno*"$arch"* "$dist"/dbdyno_*_"$deb_arch".deb "$dist/SHA256SUMS"
"$root/scripts/dist/binary.sh"
"$root/scripts/dist/tree.sh" "$work/tree-$arch"
for part in "$@"; do
    case $part in
    archive | deb | oci) "$root/scripts/dist/$part.sh" "$work/tree-$arch" ;;
    wheel) python3 scripts/dist/wheel.py "$work/tree-$arch" "$version" "$arch" "$glibc" "$dist" ;;
    *) die "unknown part '$part'; parts: archive deb wheel oci" ;;
    esac
done
(cd "$dist" && sha256sum dbdyno* >SHA256SUMS)
say "in target/dist:"
cat "$dist/SHA256SUMS"
