//! A file that one process at a time holds locked; the system releases it when that process dies in any way.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

/// Locks the file that stands at `path` now, made if it is missing in a directory that `make_directory` makes if it is
/// missing. None if somebody else holds it.
///
/// # Errors
/// If the directory or the file cannot be made.
pub fn lock_file(path: &Path, make_directory: impl Fn() -> io::Result<()>) -> io::Result<Option<File>> {
    loop {
        make_directory()?;
        let file = match OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path) {
            // The last owner has removed the directory in the meantime.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            opened => opened?,
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            locked => locked?,
        }
        // The last owner may have removed the file between opening and locking.
        let same = fs::metadata(path).is_ok_and(|now| file.metadata().is_ok_and(|held| held.ino() == now.ino()));
        if same {
            return Ok(Some(file));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_once_and_free_again_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/lock");
        let take = || lock_file(&path, || fs::create_dir_all(dir.path().join("deep"))).unwrap();
        let held = take().unwrap();
        assert!(take().is_none());
        drop(held);
        assert!(take().is_some());
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gone/lock");
        let made = lock_file(&path, || fs::create_dir(dir.path().join("gone/deeper")));
        assert_eq!(made.unwrap_err().kind(), ErrorKind::NotFound);
    }
}
