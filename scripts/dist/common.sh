# Sourced by the scripts of this folder: where things are, and what makes two builds of one commit equal.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
# The artefacts, and what is made on the way to them.
dist=$root/target/dist
work=$dist/work
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
arch=${DIST_ARCH:-x86_64}
target=$arch-unknown-linux-gnu
# What Debian calls the processor.
case $arch in
x86_64) deb_arch=amd64 ;;
aarch64) deb_arch=arm64 ;;
*) deb_arch= ;;
esac
# The oldest glibc that zig's and Rust's own objects for the target can do with.
glibc=2.17
# The newest time that a file in an artefact has: that of the commit.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
export LC_ALL=C TZ=UTC
umask 022
mkdir -p "$dist" "$work"

say() { printf '%s\n' "dist: $*"; }
die() {
    printf '%s\n' "dist: $*" >&2
    exit 1
}
