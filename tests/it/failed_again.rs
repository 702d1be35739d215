//! `scripts/failed-again-alone.sh`: a test that fails beside others has a second try, alone.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::directory;

/// A command that ends as the harness does with these failures, then, run once more, with this
/// code.
fn tests(dir: &Path, failed: &[&str], second: i32) -> Output {
    let (list, again) = (dir.join("list"), dir.join("again"));
    let names: String = failed.iter().map(|name| format!("    {name}\n")).collect();
    std::fs::write(&list, format!("failures:\n\n---- x::y stdout ----\n\nfailures:\n{names}\n"))
        .unwrap();
    let command = dir.join("command");
    let script = format!(
        "#!/bin/sh\nif [ $# -gt 0 ]; then echo \"$RUST_TEST_THREADS $*\" >'{again}'; exit \
         {second}; fi\ncat '{list}'\n[ -z '{names}' ] || exit 101\n",
        again = again.display(),
        list = list.display(),
    );
    std::fs::write(&command, script).unwrap();
    std::fs::set_permissions(&command, std::fs::Permissions::from_mode(0o755)).unwrap();
    Command::new("scripts/failed-again-alone.sh").arg(&command).output().unwrap()
}

#[test]
fn what_fails_beside_others_is_run_once_more_alone_and_named() {
    let dir = directory();
    let done = tests(dir.path(), &["limits::one", "crash::two"], 0);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let again = std::fs::read_to_string(dir.path().join("again")).unwrap();
    assert_eq!(again, "1 -- --exact limits::one crash::two\n");
    let told = String::from_utf8(done.stdout).unwrap();
    assert!(told.ends_with("passed alone:\ncrash::two\nlimits::one\n"), "{told}");
}

#[test]
fn what_fails_again_or_in_numbers_fails() {
    let dir = directory();
    assert_eq!(tests(dir.path(), &["limits::one"], 101).status.code(), Some(101));
    let again = dir.path().join("again");
    std::fs::remove_file(&again).unwrap();
    let many: Vec<String> = (0..13).map(|at| format!("limits::t{at}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(tests(dir.path(), &many, 0).status.code(), Some(101));
    assert!(!again.exists(), "so many are not run again");
    assert_eq!(tests(dir.path(), &[], 0).status.code(), Some(0));
}
