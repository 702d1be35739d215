#!/bin/sh
# with-server-templates.sh COMMAND...: runs the tests by this command. The files of a new database are created once for each
# server version and copied for all other private servers (crates/dbdyno-lab/src/server/template.rs). Ends as the command did.
set -u
dir=$(mktemp -d)
# The user who runs the servers gets to its files.
chmod 711 "$dir"
DBDYNO_SERVER_TEMPLATES=$dir "$@"
code=$?
rm -rf "$dir"
exit "$code"
