#!/bin/sh
# tree.sh DIR: what every artefact holds besides the program, made by the program itself: manual pages, completions, notices.
. "$(dirname "$0")/common.sh"
out=$1
program=$work/$arch/dbdyno
# Pages are the same for all processors; a program for another one cannot be asked here.
runs=$program
"$program" --version >/dev/null 2>&1 || runs=$work/x86_64/dbdyno
[ -x "$runs" ] || die "the program of this processor is asked for pages and completions; run 'make dist' for it first"
"$runs" --version | grep -q "^dbdyno $version (commit [0-9a-f]\{10\} of .*, release build)$" ||
    die "'dbdyno --version' does not name version $version and a commit: $("$runs" --version)"

rm -rf "$out"
mkdir -p "$out/man" "$out/completions" "$out/doc"
"$runs" man --dir "$out/man"
"$runs" completions bash >"$out/completions/dbdyno"
"$runs" completions zsh >"$out/completions/_dbdyno"
"$runs" completions fish >"$out/completions/dbdyno.fish"
cp README.md METHODOLOGY.md BIAS.md CHANGELOG.md SECURITY.md LICENSE-APACHE LICENSE-MIT "$out/doc/"
python3 scripts/dist/notices.py "$target" "$out/doc/THIRD-PARTY.txt" "$dist/dbdyno-$version-$arch.cdx.json"
cp "$program" "$out/dbdyno"
chmod 755 "$out/dbdyno"
