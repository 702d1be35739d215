//! The directory of a private server: locked while its owner lives, and marked, so that nothing else is ever deleted.
//!
//! It is ours also where another user runs the server: that user owns three directories within, for the database, its
//! socket and temporary files, and can write nothing that we trust afterwards.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::account::Account;
use super::lock::lock_file;
pub(super) use super::marker::State;
use super::marker::{FILE as MARKER_FILE, Marker};
use super::outside;
use crate::error::{Error, Result};

const LOCK_FILE: &str = "dbdyno.lock";
/// A socket's path must fit into 108 bytes; the file name takes some of them.
const MAX_SOCKET_DIR_BYTES: usize = 80;

/// A claimed directory.
pub(super) struct Home {
    directory: PathBuf,
    engine: &'static str,
    /// What the marker file says; none before the first `mark`. Nobody else writes it while we hold the lock.
    marker: RefCell<Option<Marker>>,
    /// Held as long as this value lives; released by the system when we die in any way.
    _lock: File,
    /// False after `remove` or `release`.
    ours: Cell<bool>,
}

impl Home {
    /// Where the private server of `engine` lives.
    pub(super) fn path(data_dir: &Path, engine: &str) -> PathBuf {
        data_dir.join(format!("dbdyno-{engine}"))
    }

    /// Creates or takes over the directory.
    ///
    /// # Errors
    /// In use by a living process, not ours, another user's, not writable, a marker that we do not understand: what it marks may be a
    /// database that somebody kept, and is left alone.
    pub(super) fn claim(data_dir: &Path, engine: &'static str) -> Result<Home> {
        fs::create_dir_all(data_dir).map_err(|error| unusable(data_dir, &error))?;
        let data_dir = fs::canonicalize(data_dir).map_err(|error| unusable(data_dir, &error))?;
        let directory = Home::path(&data_dir, engine);
        private_dir(&directory)?;
        check_owner(&directory)?;
        check_ours(&directory)?;
        let lock = lock(&directory)?;
        let marker = RefCell::new(Marker::read(&directory)?);
        Ok(Home { directory, engine, marker, _lock: lock, ours: Cell::new(true) })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }
    /// Directory of the database's files.
    pub(super) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }
    /// What the marker says; none before the first `mark`.
    pub(super) fn state(&self) -> Option<State> {
        self.marker.borrow().as_ref().map(|marker| marker.state)
    }
    pub(super) fn server_pid(&self) -> Option<u32> {
        self.marker.borrow().as_ref()?.server_pid
    }
    /// Directory of the socket if it is outside.
    fn outside(&self) -> Option<PathBuf> {
        self.marker.borrow().as_ref()?.socket_dir.clone()
    }

    /// Writes the marker, whole or not at all.
    pub(super) fn mark(&self, state: State, server_pid: Option<u32>) -> Result<()> {
        self.write(state, server_pid, self.outside())
    }

    fn write(&self, state: State, server_pid: Option<u32>, socket_dir: Option<PathBuf>) -> Result<()> {
        let marker = Marker::new(self.engine, state, server_pid, socket_dir);
        marker.write(&self.directory)?;
        self.marker.replace(Some(marker));
        Ok(())
    }

    /// Makes the directories of the server, for `account` to own if it runs as another user: for the database, the
    /// socket and temporary files.
    pub(super) fn rooms(&self, account: Option<&Account>) -> Result<[PathBuf; 3]> {
        let rooms = [self.data(), self.socket_dir(account)?, self.directory.join("tmp")];
        let_pass(&self.directory, account)?;
        for room in &rooms {
            private_dir(room)?;
            account.map_or(Ok(()), |account| account.own(room))?;
        }
        Ok(rooms)
    }

    /// Directory of the socket: inside if its path is short enough, else in a new one under the temporary directory.
    fn socket_dir(&self, account: Option<&Account>) -> Result<PathBuf> {
        let inside = self.directory.join("socket");
        if inside.as_os_str().as_bytes().len() <= MAX_SOCKET_DIR_BYTES {
            return Ok(inside);
        }
        let known = self.outside().filter(|known| outside::is_still_ours(known));
        let outer = known.map_or_else(outside::create, Ok)?;
        self.write(self.state().unwrap_or(State::Running), self.server_pid(), Some(outer.clone()))?;
        let_pass(&outer, account)?;
        Ok(outer.join("socket"))
    }

    /// Removes everything but the lock.
    pub(super) fn empty(&self) -> Result<()> {
        if let Some(outside) = self.outside().filter(|outside| outside::is_still_ours(outside)) {
            let _ = fs::remove_dir_all(outside); // what stays is an empty directory under /tmp
        }
        for entry in fs::read_dir(&self.directory).map_err(|error| unusable(&self.directory, &error))?.flatten() {
            let path = entry.path();
            if entry.file_name() == LOCK_FILE {
                continue;
            }
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let removed = if is_directory { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(|error| unusable(&path, &error))?;
        }
        self.marker.replace(None);
        Ok(())
    }

    /// Removes the directory; nothing happens the second time.
    pub(super) fn remove(&self) -> Result<()> {
        if !self.ours.replace(false) {
            return Ok(());
        }
        self.empty()?;
        fs::remove_dir_all(&self.directory).map_err(|error| unusable(&self.directory, &error))
    }

    /// Gives up: a new directory goes, a kept one stays.
    pub(super) fn abandon(&self) {
        if self.state() != Some(State::Kept) {
            // The first error is the one to report.
            let _ = self.remove();
        }
    }

    /// Leaves the directory as it is from now on.
    pub(super) fn release(&self) {
        self.ours.set(false);
    }
}

/// Lets a server of another user's pass to the directories that are its own.
fn let_pass(directory: &Path, account: Option<&Account>) -> Result<()> {
    let Some(_) = account else { return Ok(()) };
    let passable = fs::Permissions::from_mode(0o711);
    fs::set_permissions(directory, passable).map_err(|error| unusable(directory, &error))
}

/// True if this user made `path`, and what it leads to if it is a link.
pub(super) fn belongs_to_us(path: &Path) -> io::Result<bool> {
    let us = rustix::process::geteuid().as_raw();
    Ok(fs::symlink_metadata(path)?.uid() == us && fs::metadata(path)?.uid() == us)
}

/// What another user can write says nothing: neither what may be removed nor which process is the server.
fn check_owner(directory: &Path) -> Result<()> {
    if belongs_to_us(directory).map_err(|error| unusable(directory, &error))? {
        return Ok(());
    }
    Err(Error::target(directory.display().to_string(), "the directory belongs to another user and is left alone")
        .advise("run dbdyno as that user, or choose another --data-dir"))
}

/// A directory with content but without our files is somebody else's.
fn check_ours(directory: &Path) -> Result<()> {
    let mut entries = fs::read_dir(directory).map_err(|error| unusable(directory, &error))?;
    let has_ours = [MARKER_FILE, LOCK_FILE].iter().any(|name| directory.join(name).exists());
    if has_ours || entries.next().is_none() {
        return Ok(());
    }
    Err(Error::target(directory.display().to_string(), "the directory was not made by dbdyno and is left alone")
        .advise("choose another --data-dir"))
}

/// A directory that only its owner may enter, unless it is there already.
fn private_dir(path: &Path) -> Result<()> {
    make_private(path).map_err(|error| unusable(path, &error))
}

fn make_private(path: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Writes a file for the server, whose user may be another one, to read.
pub(super) fn write_config(path: &Path, text: &str) -> Result<()> {
    let readable = fs::Permissions::from_mode(0o644);
    let written = fs::write(path, text).and_then(|()| fs::set_permissions(path, readable));
    written.map_err(|error| unusable(path, &error))
}

fn lock(directory: &Path) -> Result<File> {
    let path = directory.join(LOCK_FILE);
    let locked = lock_file(&path, || make_private(directory)).map_err(|error| unusable(&path, &error))?;
    locked.ok_or_else(|| in_use(directory))
}

fn in_use(directory: &Path) -> Error {
    // Its owner may be about to write it, and who that is does not change what to do.
    let marker = Marker::read(directory).ok().flatten();
    let owner = marker.map_or_else(|| "another".into(), |marker| marker.owner_pid.to_string());
    Error::target(directory.display().to_string(), format!("in use by dbdyno process {owner}"))
        .advise("wait for its end, or choose another --data-dir")
}

pub(super) fn unusable(path: &Path, error: &std::io::Error) -> Error {
    Error::target(path.display().to_string(), format!("cannot be used ({error})"))
        .advise("choose another place with --data-dir")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_owner_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let first = Home::claim(dir.path(), "postgres").unwrap();
        first.mark(State::Running, None).unwrap();
        let second = Home::claim(dir.path(), "postgres").err().unwrap();
        assert!(second.what.contains(&format!("in use by dbdyno process {}", std::process::id())), "{second}");
        drop(first);
        assert_eq!(Home::claim(dir.path(), "postgres").unwrap().state(), Some(State::Running));
    }

    #[test]
    fn a_foreign_directory_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::path(dir.path(), "postgres");
        fs::create_dir(&home).unwrap();
        fs::write(home.join("precious"), "x").unwrap();
        assert!(Home::claim(dir.path(), "postgres").err().unwrap().what.contains("not made by dbdyno"));
        assert!(home.join("precious").exists());
    }

    #[test]
    fn what_was_marked_is_known_to_the_next_owner() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::claim(dir.path(), "postgres").unwrap();
        assert_eq!((home.state(), home.server_pid()), (None, None));
        home.mark(State::Kept, Some(7)).unwrap();
        assert_eq!((home.state(), home.server_pid()), (Some(State::Kept), Some(7)));
        drop(home);
        let next = Home::claim(dir.path(), "postgres").unwrap();
        assert_eq!((next.state(), next.server_pid()), (Some(State::Kept), Some(7)));
        next.empty().unwrap();
        assert_eq!(next.state(), None);
    }

    #[test]
    fn a_long_path_gets_a_short_socket_directory() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("d".repeat(90));
        let home = Home::claim(&deep, "postgres").unwrap();
        let [_, socket, _] = home.rooms(None).unwrap();
        assert!(socket.as_os_str().len() <= MAX_SOCKET_DIR_BYTES && socket.is_dir());
        assert_eq!(home.rooms(None).unwrap()[1], socket, "the next start uses it again");
        home.remove().unwrap();
        assert!(!socket.parent().unwrap().exists() && !Home::path(&deep, "postgres").exists());
    }
}
