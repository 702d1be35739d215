//! The directory of a private server: locked while its owner lives, and marked, so that nothing else is ever deleted.

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

const LOCK_FILE: &str = "dbdyno.lock";
const MARKER_FILE: &str = "dbdyno.json";
const MARKER_FORMAT: u32 = 1;
/// A socket's path must fit into 108 bytes; the file name takes some of them.
const MAX_SOCKET_DIR_BYTES: usize = 80;

/// What the owner wants of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// In use, or left over from a dead run.
    Running,
    /// Left on purpose (`--keep`).
    Kept,
}

/// The marker file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Marker {
    format: u32,
    engine: String,
    state: State,
    owner_pid: u32,
    server_pid: Option<u32>,
    /// Directory of the socket if it is outside: removed with the rest.
    socket_dir: Option<PathBuf>,
}

/// A claimed directory.
pub(super) struct Home {
    directory: PathBuf,
    engine: &'static str,
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
    /// In use by a living process, not ours, not writable.
    pub(super) fn claim(data_dir: &Path, engine: &'static str) -> Result<Home> {
        fs::create_dir_all(data_dir).map_err(|error| unusable(data_dir, &error))?;
        let data_dir = fs::canonicalize(data_dir).map_err(|error| unusable(data_dir, &error))?;
        let directory = Home::path(&data_dir, engine);
        match fs::DirBuilder::new().mode(0o700).create(&directory) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(unusable(&directory, &error)),
            _ => check_ours(&directory)?,
        }
        let lock = lock(&directory)?;
        Ok(Home { directory, engine, _lock: lock, ours: Cell::new(true) })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }
    /// What the marker says; none before the first `mark`.
    pub(super) fn state(&self) -> Option<State> {
        read_marker(&self.directory).map(|marker| marker.state)
    }
    pub(super) fn server_pid(&self) -> Option<u32> {
        read_marker(&self.directory)?.server_pid
    }

    /// Writes the marker, whole or not at all.
    pub(super) fn mark(&self, state: State, server_pid: Option<u32>) -> Result<()> {
        let socket_dir = read_marker(&self.directory).and_then(|marker| marker.socket_dir);
        self.write(state, server_pid, socket_dir)
    }

    fn write(&self, state: State, server_pid: Option<u32>, socket_dir: Option<PathBuf>) -> Result<()> {
        let (format, engine, owner_pid) = (MARKER_FORMAT, self.engine.to_owned(), std::process::id());
        let marker = Marker { format, engine, state, owner_pid, server_pid, socket_dir };
        let text = serde_json::to_string_pretty(&marker)
            .map_err(|error| Error::target(self.directory.display().to_string(), error.to_string()))?;
        let temporary = self.directory.join("dbdyno.json.new");
        let written = File::create(&temporary)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&temporary, self.directory.join(MARKER_FILE)));
        written.map_err(|error| unusable(&self.directory, &error))
    }

    /// A directory for the server's socket: inside if its path is short enough, else a new one under the
    /// temporary directory.
    pub(super) fn socket_dir(&self) -> Result<PathBuf> {
        let inside = self.directory.join("socket");
        let marker = read_marker(&self.directory);
        let (path, outside) = match marker.as_ref().and_then(|marker| marker.socket_dir.clone()) {
            Some(known) => (known, true),
            None if inside.as_os_str().as_bytes().len() <= MAX_SOCKET_DIR_BYTES => (inside, false),
            None => (outside_dir()?, true),
        };
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(unusable(&path, &error)),
            _ => {}
        }
        if outside {
            let (state, pid) = marker.map_or((State::Running, None), |marker| (marker.state, marker.server_pid));
            self.write(state, pid, Some(path.clone()))?;
        }
        Ok(path)
    }

    /// A directory for the server's temporary files.
    pub(super) fn temporary_dir(&self) -> Result<PathBuf> {
        let path = self.directory.join("tmp");
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(unusable(&path, &error)),
            _ => Ok(path),
        }
    }

    /// Removes everything but lock and marker.
    pub(super) fn empty(&self) -> Result<()> {
        if let Some(outside) = read_marker(&self.directory).and_then(|marker| marker.socket_dir) {
            let _ = fs::remove_dir_all(outside); // of a dead run; may be gone already
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

/// A private directory with a short path and a name that nobody can guess in time.
fn outside_dir() -> Result<PathBuf> {
    let mut random = [0; 8];
    let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut random));
    read.map_err(|error| unusable(Path::new("/dev/urandom"), &error))?;
    let path = Path::new("/tmp").join(format!("dbdyno-{:016x}", u64::from_ne_bytes(random)));
    // Must be new: a directory that another user prepared is not private.
    let made = fs::DirBuilder::new().mode(0o700).create(&path);
    made.map_err(|error| unusable(&path, &error)).map(|()| path)
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

/// Takes the lock, on the file that stands in the directory now.
fn lock(directory: &Path) -> Result<File> {
    let path = directory.join(LOCK_FILE);
    loop {
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = file.map_err(|error| unusable(&path, &error))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(in_use(directory));
        }
        // The last owner may have removed the directory between opening and locking.
        let same = fs::metadata(&path).is_ok_and(|now| file.metadata().is_ok_and(|held| held.ino() == now.ino()));
        if same {
            return Ok(file);
        }
        fs::create_dir_all(directory).map_err(|error| unusable(directory, &error))?;
    }
}

fn in_use(directory: &Path) -> Error {
    let owner = read_marker(directory).map_or_else(|| "another".into(), |marker| marker.owner_pid.to_string());
    Error::target(directory.display().to_string(), format!("in use by dbdyno process {owner}"))
        .advise("wait for its end, or choose another --data-dir")
}

fn read_marker(directory: &Path) -> Option<Marker> {
    serde_json::from_slice(&fs::read(directory.join(MARKER_FILE)).ok()?).ok()
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
    fn a_long_path_gets_a_short_socket_directory() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("d".repeat(90));
        let home = Home::claim(&deep, "postgres").unwrap();
        let socket = home.socket_dir().unwrap();
        assert!(socket.as_os_str().len() <= MAX_SOCKET_DIR_BYTES && socket.is_dir());
        home.remove().unwrap();
        assert!(!socket.exists() && !Home::path(&deep, "postgres").exists());
    }
}
