#!/bin/sh
# Makes docs/pictures/page.png: the head of a real page, of a run of the quick suite on this
# machine. Needs Chromium and Python 3 (Pillow comes from PyPI). Run it on a quiet machine.
#   DBDYNO=target/release/dbdyno scripts/readme-picture.sh
set -eu
cd "$(dirname "$0")/.."
dbdyno=${DBDYNO:-target/release/dbdyno}
picture=docs/pictures/page.png
max_bytes=200000

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export DBDYNO_HOME="$work"

"$dbdyno" run sqlite --name demo --quiet >/dev/null
"$dbdyno" report html demo --output "$work/page.html"
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,1320 \
    --screenshot="$work/page.png" "file://$work/page.html" 2>/dev/null

# 64 colors are enough for a page, and a quarter of the size.
python3 -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet 'pillow==13.0.0'
"$work/tools/bin/python" - "$work/page.png" "$picture" <<'PYTHON'
import sys
from PIL import Image

Image.open(sys.argv[1]).convert("RGB").quantize(64).save(sys.argv[2], optimize=True)
PYTHON

bytes=$(wc -c <"$picture")
if [ "$bytes" -ge "$max_bytes" ]; then
    echo "$picture has $bytes bytes; the limit is $max_bytes" >&2
    exit 1
fi
echo "$picture: $bytes bytes"
