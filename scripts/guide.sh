#!/bin/sh
# Builds docs/guide as a site that can be searched without a network: target/guide/index.html.
# The generator (MkDocs with the theme Material) is installed from PyPI into target/guide-tools.
set -eu
cd "$(dirname "$0")/.."
tools=target/guide-tools
pages=target/guide-pages

if [ ! -x "$tools/bin/mkdocs" ]; then
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet 'mkdocs==1.6.1' 'mkdocs-material==9.8.2'
fi

# The documents that the guide links to come along, at the same places.
rm -rf "$pages"
mkdir -p "$pages/data/reference"
cp -r docs "$pages/docs"
cp ARCHITECTURE.md BIAS.md CHANGELOG.md CONTRIBUTING.md METHODOLOGY.md SECURITY.md "$pages"
cp data/reference/README.md "$pages/data/reference"
# The start page of a site is the guide's first page, its links seen from the root.
sed 's#](\([a-z][a-z-]*\.md\)#](docs/guide/\1#g; s#](\.\./#](docs/#g' docs/guide/README.md \
    >"$pages/index.md"
rm "$pages/docs/guide/README.md"

NO_MKDOCS_2_WARNING=1 "$tools/bin/mkdocs" build --quiet --config-file docs/guide/mkdocs.yml
echo "the guide is target/guide/index.html"
