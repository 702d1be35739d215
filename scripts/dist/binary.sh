#!/bin/sh
# binary.sh: the program for distribution, target/dist/work/ARCH/dbdyno: linked against an old glibc by zig, stripped, without a
# path of this machine in it. DIST_ARCH=aarch64 builds for ARM, where rustup has the target's standard library.
. "$(dirname "$0")/common.sh"

venv=$work/venv
if [ ! -x "$venv/bin/cargo-zigbuild" ]; then
    python3 -m venv "$venv" || die "python3 -m venv failed; install python3-venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check cargo-zigbuild==0.24.0 ziglang==0.15.2
fi
if ! rustc --print target-libdir --target "$target" 2>/dev/null | xargs -I{} test -d {}; then
    rustup target add "$target" || die "no standard library for $target; 'rustup target add $target' must bring it"
fi

cargo_home=${CARGO_HOME:-$HOME/.cargo}
sysroot=$(rustc --print sysroot)
# Paths of this machine stand in panic messages and in debug lines; two machines shall build the same bytes.
RUSTFLAGS="--remap-path-prefix=$cargo_home/registry/src=/registry --remap-path-prefix=$root=/dbdyno"
RUSTFLAGS="$RUSTFLAGS --remap-path-prefix=$sysroot=/rust"
export RUSTFLAGS
maps="-ffile-prefix-map=$cargo_home/registry/src=/registry -ffile-prefix-map=$root=/dbdyno"
export CFLAGS="$maps" CXXFLAGS="$maps"
# The code generator's units are numbered by how many there are: the same number everywhere.
export CARGO_PROFILE_RELEASE_STRIP=symbols CARGO_INCREMENTAL=0
unset RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER
PATH=$venv/bin:$PATH cargo zigbuild --release --locked --target "$target.$glibc" \
    --target-dir "$work/target" --bin dbdyno

mkdir -p "$work/$arch"
cp "$work/target/$target/release/dbdyno" "$work/$arch/dbdyno"
newest=$(objdump -T "$work/$arch/dbdyno" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
[ "$newest" = "GLIBC_$glibc" ] || die "the program wants $newest, not GLIBC_$glibc"
for needed in $(objdump -p "$work/$arch/dbdyno" | awk '$1 == "NEEDED" { print $2 }'); do
    case $needed in
    libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | librt.so.1 | ld-linux*) ;;
    *) die "the program needs $needed, which is not part of libc" ;;
    esac
done
if grep -q -a -F -e "$cargo_home" -e "$root" "$work/$arch/dbdyno"; then
    die "a path of this machine is in the program"
fi
say "program $(stat -c %s "$work/$arch/dbdyno") bytes, $newest"
