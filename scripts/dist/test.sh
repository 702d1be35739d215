#!/bin/sh
# test.sh: each artefact of target/dist as a user would use it. `make dist-test`; PARTS="deb wheel" does some of it.
# Parts: sums archive deb lintian wheel oci package again aarch64. As root: clean root file systems are made and entered.
. "$(dirname "$0")/common.sh"
[ -s "$dist/SHA256SUMS" ] || die "target/dist is empty; run 'make dist' first"
[ "$(id -u)" = 0 ] || die "run it as root: root file systems are made and entered"
parts=${*:-sums archive deb lintian wheel oci package}
"$root/scripts/dist/dependencies.sh" roots lintian archive
test_dir=$(mktemp -d)
mounted=
cleanup() {
    for place in $mounted; do umount "$place" || true; done
    rm -rf "$test_dir"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# Debian's newest release, the oldest that is supported, and an older one, whose glibc is older still.
releases=${DIST_RELEASES:-"trixie bookworm bullseye"}

# root_of RELEASE: a clean root file system with PostgreSQL, made once; PostgreSQL is what the second run measures.
root_of() {
    cached=$work/roots/$1.tar
    if [ ! -s "$cached" ]; then
        mkdir -p "$work/roots"
        mmdebstrap --quiet --mode=root --format=tar --variant=minbase --include=postgresql "$1" "$cached.part"
        mv "$cached.part" "$cached"
    fi
    mkdir -p "$test_dir/$1"
    tar -C "$test_dir/$1" -xf "$cached"
    mount -t proc proc "$test_dir/$1/proc"
    mounted="$mounted $test_dir/$1/proc"
    mkdir -p "$test_dir/$1/dev/shm"
    mount -t tmpfs tmpfs "$test_dir/$1/dev/shm"
    mounted="$test_dir/$1/dev/shm $mounted"
    [ -c "$test_dir/$1/dev/null" ] || mknod -m 666 "$test_dir/$1/dev/null" c 1 3
    [ -c "$test_dir/$1/dev/urandom" ] || mknod -m 666 "$test_dir/$1/dev/urandom" c 1 9
}

# inside RELEASE COMMAND: a shell's command in the root, without a network but for its own loopback, over which the statistics
# collector of PostgreSQL before 15 gets what it counts.
inside() {
    release=$1
    shift
    # shellcheck disable=SC2016 # expanded within
    unshare --net sh -c 'ip link set lo up && exec chroot "$@"' sh "$test_dir/$release" \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C sh -ec "$*"
}

# files RELEASE: every path of the root that a package or a program could leave.
files() {
    (cd "$test_dir/$1" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./var/log -o -path './var/cache/*' \
        -o -path './var/lib/dpkg*' -o -path './run/*' \) -prune -o -print | sort)
}

# The program says of which commit it is and how it was built, wherever it was built.
check_version() {
    grep -q "^dbdyno $version (commit $(git log -1 --format=%h --abbrev=10)\\b.*, release build)$" "$1" ||
        die "'--version' does not name the commit: $(cat "$1")"
}

# A page that a run wrote is one of dbdyno's and has figures.
check_page() {
    grep -q '<title>' "$1" && grep -q 'SRV-' "$1" || die "$1 is not a page of a run"
}

test_sums() {
    (cd "$dist" && sha256sum --quiet -c SHA256SUMS)
    python3 -c 'import json,sys; assert len(json.load(open(sys.argv[1]))["components"]) > 100' \
        "$dist/dbdyno-$version-$arch.cdx.json"
}

test_archive() {
    for ending in zst gz; do
        mkdir "$test_dir/$ending"
        tar -C "$test_dir/$ending" -xf "$dist/dbdyno-$version-$arch-linux.tar.$ending"
    done
    diff -r "$test_dir/zst" "$test_dir/gz"
    unpacked=$test_dir/gz/dbdyno-$version-$arch-linux
    [ "$(find "$unpacked/man" -name '*.1' | wc -l)" -gt 25 ] || die "the archive lacks manual pages"
    bash -n "$unpacked/completions/dbdyno"
    for text in LICENSE-APACHE LICENSE-MIT THIRD-PARTY.txt CHANGELOG.md; do
        [ -s "$unpacked/doc/$text" ] || die "the archive lacks $text"
    done
    DBDYNO_HOME=$test_dir/home "$unpacked/dbdyno" run --time-scale 0.1 >"$test_dir/out" 2>&1 || die "$(tail -n 5 "$test_dir/out")"
    check_page "$test_dir"/home/run-1.html
}

test_deb() {
    for release in $releases; do
        root_of "$release"
        files "$release" >"$test_dir/before"
        cp "$dist"/dbdyno_"$version"-1_amd64.deb "$test_dir/$release/tmp/"
        inside "$release" "dpkg -i /tmp/dbdyno_*.deb >/dev/null"
        inside "$release" "dbdyno --version" >"$test_dir/version"
        check_version "$test_dir/version"
        inside "$release" "dbdyno run --time-scale 0.1 >/tmp/sqlite.out 2>&1" || die "$release: sqlite: exit $?"
        check_page "$test_dir/$release/var/lib/dbdyno/run-1.html"
        inside "$release" "dbdyno run postgres --time-scale 0.1 >/tmp/postgres.out 2>&1" || die "$release: postgres: exit $?"
        check_page "$test_dir/$release/var/lib/dbdyno/run-2.html"
        inside "$release" "dpkg -P dbdyno" >"$test_dir/purged"
        grep -q 'results stay in /var/lib/dbdyno' "$test_dir/purged" || die "$release: a purge took results or does not say that they stay"
        [ -s "$test_dir/$release/var/lib/dbdyno/results.db" ] || die "$release: a purge took the results"
        rm -rf "$test_dir/$release/var/lib/dbdyno"
        files "$release" >"$test_dir/after"
        diff "$test_dir/before" "$test_dir/after" >"$test_dir/left" || die "$release: left after the purge: $(cat "$test_dir/left")"
        say "package: installed, two runs, purged on Debian $(cat "$test_dir/$release/etc/debian_version")"
    done
}

test_lintian() {
    lintian --fail-on error,warning "$dist"/dbdyno_*.deb
}

test_wheel() {
    python3 -m venv "$test_dir/venv"
    find "$test_dir/venv" -type f ! -name '*.pyc' | sort >"$test_dir/before"
    "$test_dir/venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$dist"/dbdyno-*_x86_64.whl
    DBDYNO_HOME=$test_dir/wheel "$test_dir/venv/bin/dbdyno" run --time-scale 0.1 >"$test_dir/out" 2>&1 || die "$(tail -n 5 "$test_dir/out")"
    check_page "$test_dir/wheel/run-1.html"
    "$test_dir/venv/bin/pip" uninstall --quiet --yes dbdyno
    find "$test_dir/venv" -type f ! -name '*.pyc' | sort | diff "$test_dir/before" - || die "the wheel leaves files behind"
}

test_oci() {
    layout=$test_dir/layout
    mkdir "$layout"
    tar -C "$layout" -xf "$dist/dbdyno-$version-$arch-oci.tar"
    "$root/scripts/dist/dependencies.sh" oci
    umoci unpack --image "$layout:$version" "$test_dir/bundle"
    # No container service is needed: the entry point runs in the unpacked root with the image's user and environment.
    bundle=$test_dir/bundle/rootfs
    mount -t proc proc "$bundle/proc"
    mounted="$mounted $bundle/proc"
    mkdir -p "$bundle/dev/shm"
    mount -t tmpfs -o mode=1777 tmpfs "$bundle/dev/shm"
    mounted="$bundle/dev/shm $mounted"
    [ -c "$bundle/dev/null" ] || mknod -m 666 "$bundle/dev/null" c 1 3
    [ -c "$bundle/dev/urandom" ] || mknod -m 666 "$bundle/dev/urandom" c 1 9
    python3 scripts/dist/enter.py "$test_dir/bundle" run postgres --time-scale 0.1 >"$test_dir/out" 2>&1 ||
        die "image: $(tail -n 5 "$test_dir/out")"
    check_page "$bundle/var/lib/dbdyno/run-1.html"
}

test_package() {
    # What is packed, unpacked elsewhere, builds without the checkout: `cargo package` makes every crate, a local registry of
    # paths stands for the real one.
    cargo package --quiet --workspace --exclude dbdyno-tools --no-verify --allow-dirty --target-dir "$work/package"
    mkdir -p "$test_dir/packed"
    for crate in "$work"/package/package/*.crate; do tar -C "$test_dir/packed" -xzf "$crate"; done
    {
        printf '[patch.crates-io]\n'
        for name in core engines lab report stats; do
            printf 'dbdyno-%s = { path = "%s" }\n' "$name" "$test_dir/packed/dbdyno-$name-$version"
        done
    } >>"$test_dir/packed/dbdyno-$version/Cargo.toml"
    (cd "$test_dir/packed/dbdyno-$version" &&
        LIBSQLITE3_FLAGS="$(sed -n 's/^LIBSQLITE3_FLAGS = "\(.*\)"/\1/p' "$root/.cargo/config.toml")" \
            cargo install --quiet --path . --root "$test_dir/installed" --target-dir "$work/package-target")
    "$test_dir/installed/bin/dbdyno" --version >"$test_dir/version"
    check_version "$test_dir/version"
    DBDYNO_HOME=$test_dir/from-source "$test_dir/installed/bin/dbdyno" run --time-scale 0.1 >"$test_dir/out" 2>&1 ||
        die "$(tail -n 5 "$test_dir/out")"
    check_page "$test_dir/from-source/run-1.html"
}

test_again() {
    # The same commit, cloned and compiled in another folder: the same bytes.
    git clone -q "$root" "$test_dir/clone"
    (cd "$test_dir/clone" && ./scripts/dist/all.sh archive deb wheel >/dev/null)
    for file in "$test_dir"/clone/target/dist/dbdyno*; do
        cmp "$file" "$dist/$(basename "$file")"
    done
}

test_aarch64() {
    # The program for ARM starts, measures and writes on an emulated processor, of which no figure means anything.
    "$root/scripts/dist/dependencies.sh" aarch64
    mmdebstrap --quiet --mode=root --variant=extract --architectures=arm64 --include=libc6 bookworm "$test_dir/arm" >/dev/null
    tar -C "$test_dir" -xf "$dist/dbdyno-$version-aarch64-linux.tar.gz"
    for command in --version "run --time-scale 0.05"; do
        # shellcheck disable=SC2086 # words of a command
        DBDYNO_HOME=$test_dir/arm-home qemu-aarch64-static -L "$test_dir/arm" \
            "$test_dir/dbdyno-$version-aarch64-linux/dbdyno" $command >"$test_dir/out" 2>&1 || die "$(tail -n 5 "$test_dir/out")"
        [ "$command" != --version ] || check_version "$test_dir/out"
    done
    check_page "$test_dir/arm-home/run-1.html"
}

for part in $parts; do
    case $part in
    sums | archive | deb | lintian | wheel | oci | package | again | aarch64) ;;
    *) die "unknown part '$part'; parts: sums archive deb lintian wheel oci package again aarch64" ;;
    esac
    "test_$part"
    say "$part: ok"
done
