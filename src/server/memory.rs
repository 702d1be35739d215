//! The log of a private server on a file system in memory, for a while: its files move there
//! between a stop and a start, with links in their old places, and back again. Only of a database
//! that nobody keeps: a crash of the machine takes the log with it.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::home::{Home, give};
use super::marker::MEMORY_PARENT;
use super::unusable;
use crate::error::Result;
use crate::host::{Account, free_bytes, is_in_memory};
use crate::model::Sentence;

/// Where a log may lie in memory: a file system that is really there, with so much room.
///
/// # Errors
/// Why there is none.
pub fn memory_place(room_bytes: u64) -> std::result::Result<&'static Path, Sentence> {
    let place = Path::new(MEMORY_PARENT);
    let said = |text: &'static str| Sentence::new(text).with("place", MEMORY_PARENT);
    if !fs::File::open(place).is_ok_and(|place| is_in_memory(&place)) {
        return Err(said("{place} is not a file system in memory"));
    }
    match free_bytes(place) {
        Some(free) if free >= room_bytes => Ok(place),
        _ => Err(said("{place} has no room for {room=} MB").with("room", room_bytes as f64 / 1e6)),
    }
}

/// Moves the log of a stopped server into memory.
///
/// # Errors
/// No such place, or no room there.
pub(super) fn put(
    home: &Home,
    files: &[&str],
    room_bytes: u64,
    account: Option<&Account>,
) -> Result<()> {
    let said = |why: Sentence| crate::error::Error::target(MEMORY_PARENT, why.to_string());
    memory_place(room_bytes).map_err(said)?;
    let (data, log_dir) = (home.data(), home.make_log_dir(account)?);
    for name in files.iter().filter(|name| data.join(name).exists()) {
        let (from, to) = (data.join(name), log_dir.join(name));
        let moved = copy(&from, &to, account)
            .and_then(|()| remove(&from))
            .and_then(|()| symlink(&to, &from));
        moved.map_err(|error| unusable(&from, &error))?;
        account.map_or(Ok(()), |account| give(&from, account))?;
    }
    Ok(())
}

/// Moves the log of a stopped server back, if it is in memory.
///
/// # Errors
/// If there is no room for it.
pub(super) fn fetch(home: &Home, account: Option<&Account>) -> Result<()> {
    let Some(log_dir) = home.log_dir() else { return Ok(()) };
    let data = home.data();
    for entry in fs::read_dir(&log_dir).map_err(|error| unusable(&log_dir, &error))?.flatten() {
        let to = data.join(entry.file_name());
        // A file that the server made anew in its old place is the newer one.
        if !to.is_symlink() {
            continue;
        }
        let moved = fs::remove_file(&to).and_then(|()| copy(&entry.path(), &to, account));
        moved.map_err(|error| unusable(&to, &error))?;
    }
    home.remove_log_dir()
}

/// Copies a file, or a directory with all within, with its mode, for `account` to own.
fn copy(from: &Path, to: &Path, account: Option<&Account>) -> io::Result<()> {
    let metadata = fs::metadata(from)?;
    if metadata.is_dir() {
        fs::create_dir(to)?;
        fs::set_permissions(to, metadata.permissions())?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()), account)?;
        }
    } else {
        fs::copy(from, to)?;
    }
    account.map_or(Ok(()), |account| {
        std::os::unix::fs::lchown(to, Some(account.uid), Some(account.gid))
    })
}

fn remove(path: &Path) -> io::Result<()> {
    if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

#[cfg(test)]
mod tests {
    use super::super::home::State;
    use super::*;

    /// A home whose data directory has a log of two files, one in a directory.
    fn home(parent: &Path) -> Home {
        let home = Home::claim(parent, "postgres").unwrap();
        home.mark(State::Running).unwrap();
        fs::create_dir_all(home.data().join("wal/done")).unwrap();
        fs::write(home.data().join("wal/done/1"), "one").unwrap();
        fs::write(home.data().join("log0"), "zero").unwrap();
        home
    }

    #[test]
    fn a_log_moves_into_memory_and_back_as_it_is_then() {
        let dir = tempfile::tempdir().unwrap();
        let home = home(dir.path());
        put(&home, &["wal", "log0", "log1"], 1, None).unwrap();
        let place = home.log_dir().unwrap();
        assert!(
            is_in_memory(&fs::File::open(&place).unwrap())
                && home.data().join("wal").is_symlink()
                && home.data().join("log0").is_symlink()
        );
        fs::write(home.data().join("wal/done/2"), "two").unwrap();
        assert_eq!(fs::read_to_string(place.join("wal/done/2")).unwrap(), "two");
        fetch(&home, None).unwrap();
        let read = |name: &str| fs::read_to_string(home.data().join(name)).unwrap();
        assert_eq!([read("wal/done/1"), read("wal/done/2"), read("log0")], ["one", "two", "zero"]);
        assert!(!place.parent().unwrap().exists() && !home.data().join("wal").is_symlink());
        assert_eq!(home.log_dir(), None);
        fetch(&home, None).unwrap();
        home.remove().unwrap();
    }

    #[test]
    fn what_a_dead_run_left_in_memory_goes_with_its_home() {
        let dir = tempfile::tempdir().unwrap();
        let left = home(dir.path());
        put(&left, &["wal"], 1, None).unwrap();
        let place = left.log_dir().unwrap();
        drop(left);
        let next = Home::claim(dir.path(), "postgres").unwrap();
        assert_eq!(next.log_dir(), Some(place.clone()));
        next.empty().unwrap();
        assert!(!place.parent().unwrap().exists());
        assert!(
            memory_place(u64::MAX)
                .unwrap_err()
                .to_string()
                .starts_with("/dev/shm has no room for ")
        );
    }
}
