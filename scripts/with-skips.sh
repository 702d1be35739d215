#!/bin/sh
# with-skips.sh COMMAND...: runs the tests by this command, then lists what they did not do because something is missing here
# (tests/it/skipped.rs). Ends as the command did.
set -u
DBDYNO_TEST_SKIPPED=$(mktemp)
export DBDYNO_TEST_SKIPPED
"$@"
code=$?
if [ -s "$DBDYNO_TEST_SKIPPED" ]; then
    echo "what is missing here, and which tests were skipped for it:"
    sort -u "$DBDYNO_TEST_SKIPPED"
else
    echo "no test was skipped for want of something"
fi
rm -f "$DBDYNO_TEST_SKIPPED"
exit "$code"
