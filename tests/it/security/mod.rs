//! Attacks of the threat model (`docs/security.md`), carried out: each succeeds on a dbdyno without
//! the defence that it names.

mod fake;
mod fetching;
mod foreign_bytes;
mod host;
mod passwords;
mod publishing;
pub mod rights;
mod search_path;
mod slow_clients;
mod strangers;
mod team;

use std::path::Path;
use std::process::Command;

/// The user that attacks in tests which root carries out.
pub const MALLORY: &str = "nobody";

/// True if we are root; else what is tested is said to be skipped, which continuous integration
/// does not let pass.
pub fn is_root(what: &str) -> bool {
    can(rustix::process::geteuid().is_root(), "BE_ROOT", what)
}

/// True if something can be tried here; where continuous integration says that it must be, it is.
fn can(is_possible: bool, thing: &str, what: &str) -> bool {
    if !is_possible {
        crate::skipped::skipped(thing, what);
    }
    is_possible
}

/// Does something as another user, in a thread of its own, which alone changes.
pub fn as_user<T: Send>(uid: u32, work: impl FnOnce() -> T + Send) -> T {
    let changed = || {
        let uid = rustix::process::Uid::from_raw(uid);
        rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
        work()
    };
    std::thread::scope(|scope| scope.spawn(changed).join().unwrap())
}

pub fn uid_of(name: &str) -> u32 {
    dbdyno::host::user_id(name).unwrap()
}

/// Asserts that another user can read no file below a directory of ours, whose name he may know
/// though he cannot list the directory: neither the configuration of a server, which may hold a
/// secret, nor its data. Our mark and our programs tell nothing.
pub fn assert_closed_to_others(directory: &Path) {
    if !is_root("another user who reads the files of a server") {
        return;
    }
    let mut find = Command::new("find");
    find.arg(directory).args(["-type", "f", "!", "-name", "dbdyno.json", "!", "-path", "*/bin/*"]);
    let found = find.output().unwrap();
    let files = String::from_utf8(found.stdout).unwrap();
    assert!(files.contains("data/"), "there is something to read: {files}");
    let mut stranger = Command::new("setpriv");
    stranger.args(["--reuid", "games", "--regid", "games", "--clear-groups", "sh", "-c"]);
    stranger.arg("for file; do test -r \"$file\" && echo \"$file\"; done; true").arg("sh");
    let theirs = stranger.args(files.lines()).output().unwrap();
    assert!(theirs.status.success(), "{theirs:?}");
    assert_eq!(String::from_utf8(theirs.stdout).unwrap(), "", "another user can read it");
}
