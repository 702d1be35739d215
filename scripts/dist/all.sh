#!/bin/sh
# all.sh [PART...]: every artefact into target/dist, with SHA256SUMS; or some of archive deb wheel oci. `make dist`.
. "$(dirname "$0")/common.sh"
[ -z "$(git status --porcelain --untracked-files=no)" ] || die "the checkout has changes that are not committed"
[ $# -gt 0 ] || set -- archive deb wheel oci
"$root/scripts/dist/dependencies.sh" "$@"
rm -f "$dist"/dbdyno* "$dist/SHA256SUMS"
"$root/scripts/dist/binary.sh"
"$root/scripts/dist/tree.sh" "$work/tree"
for part in "$@"; do
    case $part in
    archive | deb | oci) "$root/scripts/dist/$part.sh" "$work/tree" ;;
    wheel) python3 scripts/dist/wheel.py "$work/tree" "$version" "$arch" "$glibc" "$dist" ;;
    *) die "unknown part '$part'; parts: archive deb wheel oci" ;;
    esac
done
(cd "$dist" && sha256sum dbdyno* >SHA256SUMS)
say "in target/dist:"
cat "$dist/SHA256SUMS"
