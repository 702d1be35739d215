//! A file that one process at a time holds locked; the system releases it when that process dies in
//! any way.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// A lock that is held until this value is dropped.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// The locked file, for what its owner notes in it.
    pub fn file(&self) -> &File {
        &self.0
    }
}

impl Drop for FileLock {
    /// Closing the file would not do: a child that another thread is just starting has a copy of it
    /// until its exec.
    fn drop(&mut self) {
        // Nobody is left to tell; the system releases the lock with the last copy at the latest.
        let _ = self.0.unlock();
    }
}

/// Locks the file that stands at `path` now, made if it is missing in a directory that
/// `make_directory` makes if it is missing. None if somebody else holds it.
///
/// # Errors
/// If the directory or the file cannot be made; if a link stands there.
pub fn lock_file(
    path: &Path,
    make_directory: impl Fn() -> io::Result<()>,
) -> io::Result<Option<FileLock>> {
    loop {
        make_directory()?;
        let file = match OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            // A link that somebody has put there leads to a file that is no lock.
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)
        {
            // The last owner has removed the directory in the meantime.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            opened => opened?,
        };
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
            Ok(()) => {}
        }
        // The last owner may have removed the file between opening and locking.
        let same = fs::metadata(path)
            .is_ok_and(|now| file.metadata().is_ok_and(|held| held.ino() == now.ino()));
        if same {
            return Ok(Some(FileLock(file)));
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
    fn a_child_that_is_being_started_does_not_hold_it_longer() {
        let dir = tempfile::tempdir().unwrap();
        let take = || lock_file(&dir.path().join("lock"), || Ok(())).unwrap();
        let held = take().unwrap();
        let _copy_of_a_child = held.0.try_clone().unwrap();
        drop(held);
        assert!(take().is_some());
    }

    #[test]
    fn a_link_is_no_lock_wherever_it_leads() {
        let dir = tempfile::tempdir().unwrap();
        let (path, victim) = (dir.path().join("lock"), dir.path().join("victim"));
        fs::write(&victim, "precious").unwrap();
        for leads_to in [victim.clone(), dir.path().join("none/at/all")] {
            std::os::unix::fs::symlink(&leads_to, &path).unwrap();
            assert!(lock_file(&path, || Ok(())).is_err(), "{}", leads_to.display());
            fs::remove_file(&path).unwrap();
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gone/lock");
        let made = lock_file(&path, || fs::create_dir(dir.path().join("gone/deeper")));
        assert_eq!(made.unwrap_err().kind(), ErrorKind::NotFound);
    }
}
