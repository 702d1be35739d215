#!/bin/sh
# check-sha256.sh FILE SHA256: fails unless the file has this content.
set -eu
found=$(if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1"; else shasum -a 256 "$1"; fi)
if [ "${found%% *}" != "$2" ]; then
    echo "check-sha256: $1 has the SHA-256 ${found%% *} instead of $2: it was changed on its way" >&2
    exit 1
fi
