//! Skips of tests because something is missing here. They are reported to the person who runs the
//! tests, and is a failure where that thing can be had: nothing passes because it could not be
//! tried.

use std::fmt::Display;
use std::fs::File;
use std::io::Write;

/// Names the file that gets a line for each skip. `make test` shows them when all tests have ended.
const NOTES: &str = "DBDYNO_TEST_SKIPPED";

/// Notes that this test, or a part of it, is skipped for want of `thing`.
///
/// # Panics
/// The variable `DBDYNO_TEST_MUST_<thing>` is set, by which continuous integration (`.ci/run`) says
/// that the thing must be there.
#[track_caller]
pub fn skipped(thing: &str, why: impl Display) {
    let must = format!("DBDYNO_TEST_MUST_{thing}");
    let why = why.to_string().trim_end().to_owned();
    assert!(std::env::var_os(&must).is_none(), "{must} is set, but {why}");
    // The test harness names the thread of a test after it.
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("skipped: {test}: {why}\n");
    // Not by a macro, whose output the test harness would keep.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os(NOTES) {
        // One write for each line: tests end side by side.
        let mut notes = File::options().create(true).append(true).open(path).unwrap();
        notes.write_all(line.as_bytes()).unwrap();
    }
}

/// The process of the test below that skips something.
const SELF: &str = "skipped::a_skip_is_told_and_fails_where_the_thing_must_be_there";
const IS_CHILD: &str = "DBDYNO_TEST_SKIPS";

#[test]
fn a_skip_is_told_and_fails_where_the_thing_must_be_there() {
    if std::env::var_os(IS_CHILD).is_some() {
        return skipped("UNICORN", "there is no unicorn here");
    }
    let dir = crate::support::directory();
    let notes = dir.path().join("skipped");
    for (must, code) in [(None, Some(0)), (Some("1"), Some(101))] {
        let mut test = std::process::Command::new(std::env::current_exe().unwrap());
        // The harness names threads only when it starts some.
        test.args(["--exact", SELF, "--test-threads=2"]).env(IS_CHILD, "1").env(NOTES, &notes);
        test.envs(must.map(|must| ("DBDYNO_TEST_MUST_UNICORN", must)));
        let done = crate::support::finished(test, SELF);
        assert_eq!(done.code, code, "{done:#?}");
        let line = format!("skipped: {SELF}: there is no unicorn here\n");
        assert_eq!(done.stderr.contains(&line), must.is_none(), "{done:#?}");
        assert_eq!(std::fs::read_to_string(&notes).unwrap(), line, "noted once");
    }
}
