//! Directories in the cache into which packages are unpacked: locked while they are in use, so that
//! the next fetch knows what one that was ended in any way has left.

use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempDir;

use super::binaries::is_version;
use super::lock::{FileLock, lock_file};
use super::unusable;
use dbdyno_core::error::Result;
use dbdyno_engines::engine;

/// Between the name of what is unpacked, `postgres-18.0.0`, and what makes the directory's name
/// its own.
const MARK: &str = ".part-";
const LOCK_FILE: &str = "dbdyno.lock";

/// A directory in which a package is unpacked. It goes with what is left in it at the end, which
/// is of no use.
pub(super) struct Partial {
    directory: TempDir,
    /// Held as long as the directory is there; released by the system when we die in any way.
    _lock: FileLock,
}

impl Partial {
    /// Makes one for what will have this name in the cache.
    ///
    /// # Errors
    /// The cache cannot be written to.
    pub(super) fn create(cache: &Path, name: &str) -> Result<Partial> {
        loop {
            let made = Partial::try_create(cache, name).map_err(|error| unusable(cache, &error))?;
            if let Some(partial) = made {
                return Ok(partial);
            }
        }
    }

    /// None if another process takes the new directory for one that was left: it does so before we
    /// hold the lock.
    fn try_create(cache: &Path, name: &str) -> io::Result<Option<Partial>> {
        let prefix = format!("{name}{MARK}");
        let directory = tempfile::Builder::new().prefix(&prefix).tempdir_in(cache)?;
        let path = directory.path();
        let lock = lock_file(&path.join(LOCK_FILE), || fs::create_dir_all(path))?;
        Ok(lock.map(|lock| Partial { directory, _lock: lock }))
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes the directories that fetches left which were ended before. One that cannot be removed
/// stays for the next fetch: this one does not need it.
pub(super) fn remove_leftovers(cache: &Path) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory && is_partial(&entry.file_name().to_string_lossy()) {
            let _ = remove_unused(&entry.path());
        }
    }
}

/// Removes a directory unless somebody holds its lock.
fn remove_unused(directory: &Path) -> io::Result<()> {
    // It may have gone in the meantime, and is not made again.
    let still_there = || fs::metadata(directory).map(drop);
    match lock_file(&directory.join(LOCK_FILE), still_there)? {
        Some(_lock) => fs::remove_dir_all(directory),
        None => Ok(()),
    }
}

/// True of the name of a [`Partial`].
fn is_partial(name: &str) -> bool {
    let of_package = |name: &str| {
        name.rsplit_once('-')
            .is_some_and(|(engine, version)| engine::find(engine).is_some() && is_version(version))
    };
    name.split_once(MARK).is_some_and(|(name, own)| of_package(name) && !own.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_fetch_left_that_was_ended_goes_and_nothing_else() {
        let cache = tempfile::tempdir().unwrap();
        let used = Partial::create(cache.path(), "postgres-18.0.0").unwrap();
        let mut stays: Vec<String> =
            ["postgres-18.0.0", "postgres-18.0.part", "notes-1.part-a", "postgres-x.part-a"]
                .map(String::from)
                .into();
        for name in stays.iter().map(String::as_str).chain(["postgres-18.0.0.part-a"]) {
            fs::create_dir_all(cache.path().join(name).join("server")).unwrap();
        }
        fs::write(cache.path().join("postgres-17.0.0.part-a"), "a file").unwrap();
        stays.push("postgres-17.0.0.part-a".into());
        stays.push(used.path().file_name().unwrap().to_string_lossy().into_owned());
        stays.sort();
        remove_leftovers(cache.path());
        let names = |cache: &Path| {
            let entries = fs::read_dir(cache).unwrap().flatten();
            let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        };
        assert_eq!(names(cache.path()), stays);
        // One that was in use, of a process that died: its lock is free, its directory there.
        let Partial { directory, _lock: lock } = used;
        drop(lock);
        let left = directory.keep();
        remove_leftovers(cache.path());
        assert!(!left.exists());
    }
}
