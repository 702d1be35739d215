//! The directory of a private server: locked while its owner lives, and marked, so that nothing
//! else is ever deleted.
//!
//! It is ours also where another user runs the server: that user owns three directories within, for
//! the database, its socket and temporary files. What is done in those is done by programs that run
//! as that user ([`super::process::run_to_end`]), or by opening a file of that directory itself:
//! the user may have put a link, a pipe or anything else there. Above, nobody but root and we can
//! change anything, so that a path means the same whenever it is used.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, lchown};
use std::path::{Path, PathBuf};

use rustix::fs::{Gid, Mode, OFlags};

use super::lock::{FileLock, lock_file};
pub(super) use super::marker::State;
use super::marker::{
    FILE as MARKER_FILE, MEMORY_PARENT, Marker, belongs_to_us, create_outside, create_short_dir,
    is_still_ours,
};
use super::unusable;
use dbdyno_core::error::{Error, Result};
use dbdyno_engines::host::{Account, Stranger, is_root, stranger_above, stranger_at};

/// Of what we write for the server to read, as us or as one of its group: some of it nobody else
/// may know.
const PRIVATE: u32 = 0o600;
const GROUP_READS: u32 = 0o640;
/// Longest text that is read of what a server wrote.
const SMALL_BYTES: u64 = 4096;
const LOCK_FILE: &str = "dbdyno.lock";
/// A socket's path must fit into 108 bytes; the file name takes some of them.
const MAX_SOCKET_DIR_BYTES: usize = 80;
/// Runs servers if we are root and a server's usual user does not exist. Whoever else runs as this
/// user is superuser of the server by its socket, and owner of its files: that is said beforehand.
pub(super) const SHARED_USER: &str = "nobody";
/// Names another user than a server's usual one.
pub(super) const USER_VARIABLE: &str = "DBDYNO_SERVER_USER";

/// A claimed directory.
pub(super) struct ServerDir {
    directory: PathBuf,
    /// Engine of the server, or node of a cluster.
    name: String,
    /// Content of the marker file; none before the first `mark`. Nobody else writes it while we
    /// hold the lock.
    marker: RefCell<Option<Marker>>,
    /// Held as long as this value lives; released by the system when we die in any way.
    _lock: FileLock,
    /// False after `remove` or `release`.
    ours: Cell<bool>,
}

impl ServerDir {
    /// Directory of an engine's private server, or of a node of a cluster.
    pub(super) fn path(data_dir: &Path, name: &str) -> PathBuf {
        data_dir.join(format!("dbdyno-{name}"))
    }

    /// Creates or takes over the directory.
    ///
    /// # Errors
    /// In use by a living process, not ours, another user's, not writable, a marker that we do not
    /// understand: what it marks may be a database that somebody kept, and is left alone.
    pub(super) fn claim(data_dir: &Path, name: &str) -> Result<ServerDir> {
        let data_dir = own_dir(data_dir)?;
        let directory = ServerDir::path(&data_dir, name);
        private_dir(&directory)?;
        check_owner(&directory)?;
        refuse_strangers(&directory, stranger_at(&directory))?;
        check_ours(&directory)?;
        let lock = lock(&directory)?;
        let marker = RefCell::new(Marker::read(&directory)?);
        Ok(ServerDir { directory, name: name.into(), marker, _lock: lock, ours: Cell::new(true) })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }
    /// Directory of the database's files.
    pub(super) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }
    /// Text of the marker; none before the first `mark`.
    pub(super) fn state(&self) -> Option<State> {
        self.marker.borrow().as_ref().map(|marker| marker.state)
    }
    /// Directory of the socket if its path in the home would be too long.
    fn short_dir(&self) -> Option<PathBuf> {
        self.marker.borrow().as_ref()?.socket_dir.clone()
    }

    /// Writes the marker, whole or not at all.
    pub(super) fn mark(&self, state: State) -> Result<()> {
        self.note(|marker| marker.state = state)
    }

    /// Writes the marker after a change.
    fn note(&self, change: impl FnOnce(&mut Marker)) -> Result<()> {
        let known = self.marker.borrow().clone();
        let mut marker = Marker::of_us(&self.name, known);
        change(&mut marker);
        marker.write(&self.directory)?;
        self.marker.replace(Some(marker));
        Ok(())
    }

    /// Makes the directories of the server, for `account` to own if it runs as another user: for
    /// the database, the socket and temporary files.
    pub(super) fn directories(&self, account: Option<&Account>) -> Result<[PathBuf; 3]> {
        let directories = [self.data(), self.socket_dir(account)?, self.directory.join("tmp")];
        let_pass(&self.directory, account)?;
        for directory in &directories {
            private_dir(directory)?;
            account.map_or(Ok(()), |account| give(directory, account))?;
        }
        Ok(directories)
    }

    /// Directory of the socket: inside if its path is short enough, else in a new one under the
    /// temporary directory.
    fn socket_dir(&self, account: Option<&Account>) -> Result<PathBuf> {
        let inside = self.directory.join("socket");
        if inside.as_os_str().as_bytes().len() <= MAX_SOCKET_DIR_BYTES {
            return Ok(inside);
        }
        let known = self.short_dir().filter(|known| is_still_ours(known));
        let outer = known.map_or_else(create_short_dir, Ok)?;
        self.note(|marker| marker.socket_dir = Some(outer.clone()))?;
        let_pass(&outer, account)?;
        Ok(outer.join("socket"))
    }

    /// Makes a directory in memory, for `account` to own what is within; it goes with the home,
    /// also after a crash.
    pub(super) fn make_log_dir(&self, account: Option<&Account>) -> Result<PathBuf> {
        let outer = create_outside(MEMORY_PARENT)?;
        self.note(|marker| marker.log_dir = Some(outer.clone()))?;
        let_pass(&outer, account)?;
        let log_dir = outer.join("log");
        private_dir(&log_dir)?;
        account.map_or(Ok(()), |account| give(&log_dir, account))?;
        Ok(log_dir)
    }

    /// Directory in memory, if there is one.
    pub(super) fn log_dir(&self) -> Option<PathBuf> {
        Some(self.marker.borrow().as_ref()?.log_dir.as_ref()?.join("log"))
    }

    /// Removes the directory in memory with what is left in it.
    pub(super) fn remove_log_dir(&self) -> Result<()> {
        let outer = self.marker.borrow().as_ref().and_then(|marker| marker.log_dir.clone());
        let Some(outer) = outer else { return Ok(()) };
        fs::remove_dir_all(&outer).map_err(|error| unusable(&outer, &error))?;
        self.note(|marker| marker.log_dir = None)
    }

    /// Removes everything but the lock.
    pub(super) fn empty(&self) -> Result<()> {
        let elsewhere: Vec<PathBuf> =
            self.marker.borrow().iter().flat_map(Marker::directories_elsewhere).cloned().collect();
        for ours in elsewhere.iter().filter(|ours| is_still_ours(ours)) {
            let _ = fs::remove_dir_all(ours); // what stays is an empty directory
        }
        for entry in fs::read_dir(&self.directory)
            .map_err(|error| unusable(&self.directory, &error))?
            .flatten()
        {
            let path = entry.path();
            if entry.file_name() == LOCK_FILE {
                continue;
            }
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let removed =
                if is_directory { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
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

/// The user to run a server as if we are root: `preferred`, or whom the environment names; none if
/// we are not root.
///
/// # Errors
/// If we are root and there is no such user.
pub(super) fn account_for_server(preferred: &str) -> Result<Option<Account>> {
    if !is_root() {
        return Ok(None);
    }
    let named = std::env::var(USER_VARIABLE).ok().filter(|name| !name.is_empty());
    let usual = || Account::unprivileged(preferred).or_else(|| Account::unprivileged(SHARED_USER));
    let Some(account) = named.as_deref().map_or_else(usual, Account::unprivileged) else {
        let name = named.as_deref().unwrap_or(preferred);
        let what = format!("a database server cannot run as root, and there is no user {name}");
        return Err(Error::target("private server", what).advise(format!(
            "run dbdyno as an ordinary user, or make a user for the server ('useradd --system \
             {name}') or name one with {USER_VARIABLE}"
        )));
    };
    if !account.is_in_our_namespace() {
        let what = format!(
            "a database server cannot run as root, and user {} has no number in this user \
             namespace",
            account.name
        );
        return Err(Error::target("private server", what).advise(
            "run dbdyno as an ordinary user, or in a namespace of more users (unshare --map-auto)",
        ));
    }
    Ok(Some(account))
}

/// Checks that the user can get to `directory`: every directory above must let it pass. What does
/// not exist yet will be made by us, open to others.
pub(super) fn check_reach(account: &Account, directory: &Path) -> Result<()> {
    let Some(above) = account.barred_at(directory).map_err(|error| unusable(directory, &error))?
    else {
        return Ok(());
    };
    let what =
        format!("user {}, who runs the server, cannot enter {}", account.name, above.display());
    Err(Error::target(directory.display().to_string(), what)
        .advise("choose a place open to it, which only root can make: --data-dir /srv/dbdyno"))
}

/// Gives `path` to the user; of a link the link itself.
pub(super) fn give(path: &Path, account: &Account) -> Result<()> {
    lchown(path, Some(account.uid), Some(account.gid)).map_err(|error| unusable(path, &error))
}

/// Lets a server of another user's pass to the directories that are its own.
fn let_pass(directory: &Path, account: Option<&Account>) -> Result<()> {
    let Some(_) = account else { return Ok(()) };
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let passable = rustix::fs::open(directory, flags | OFlags::RDONLY, Mode::empty())
        .and_then(|opened| rustix::fs::fchmod(opened, Mode::from_raw_mode(0o711)));
    passable.map_err(|error| unusable(directory, &error.into()))
}

/// The directory of private servers with links resolved, made if it is missing. Nobody else can
/// change what its path leads to, so that every path within means the same for as long as we work.
pub(super) fn own_dir(data_dir: &Path) -> Result<PathBuf> {
    let there = data_dir.ancestors().find(|above| above.exists()).unwrap_or(data_dir);
    let real = |path: &Path| fs::canonicalize(path).map_err(|error| unusable(path, &error));
    // Before something is made in a directory of others.
    check_above(&real(there)?)?;
    let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(data_dir);
    made.map_err(|error| unusable(data_dir, &error))?;
    let data_dir = real(data_dir)?;
    check_above(&data_dir).map(|()| data_dir)
}

/// Refuses a directory that somebody else can change: there a link could stand for every file that
/// we write, as root.
fn check_above(directory: &Path) -> Result<()> {
    // What is made within may be in a sticky one.
    refuse_strangers(directory, stranger_above(&directory.join("within")))
}

fn refuse_strangers(directory: &Path, looked: io::Result<Option<Stranger>>) -> Result<()> {
    let Some(stranger) = looked.map_err(|error| unusable(directory, &error))? else {
        return Ok(());
    };
    let what = format!("{stranger}: what is kept here could be changed by others");
    Err(Error::target(directory.display().to_string(), what)
        .advise("choose a place that only root and you can change with --data-dir"))
}

/// Checks that nobody else can write to the directory: otherwise its marker proves neither what may
/// be removed nor which process is the server.
fn check_owner(directory: &Path) -> Result<()> {
    if belongs_to_us(directory).map_err(|error| unusable(directory, &error))? {
        return Ok(());
    }
    Err(Error::target(
        directory.display().to_string(),
        "the directory belongs to another user and is left alone",
    )
    .advise("run dbdyno as that user, or choose another --data-dir"))
}

/// A directory with content but without our files is somebody else's.
fn check_ours(directory: &Path) -> Result<()> {
    let mut entries = fs::read_dir(directory).map_err(|error| unusable(directory, &error))?;
    let has_ours = [MARKER_FILE, LOCK_FILE].iter().any(|name| directory.join(name).exists());
    if has_ours || entries.next().is_none() {
        return Ok(());
    }
    Err(Error::target(
        directory.display().to_string(),
        "the directory was not made by dbdyno and is left alone",
    )
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

/// Writes a file in a directory of ours for the server to read, as whose user `account` is the only
/// other one. It is a new file: what stood there, or where a link led, stays as it was.
pub(super) fn write_config(path: &Path, text: &str, account: Option<&Account>) -> Result<()> {
    let write = || -> io::Result<()> {
        let parent = path.parent().unwrap_or(Path::new("/"));
        // By O_EXCL, for us alone until it is whole.
        let mut file = tempfile::NamedTempFile::new_in(parent)?;
        file.write_all(text.as_bytes())?;
        let group = account.map(|account| Gid::from_raw(account.gid));
        rustix::fs::fchown(file.as_file(), None, group)?;
        let mode = if account.is_some() { GROUP_READS } else { PRIVATE };
        rustix::fs::fchmod(file.as_file(), Mode::from_raw_mode(mode))?;
        file.persist(path).map(drop).map_err(|error| error.error)
    };
    write().map_err(|error| unusable(path, &error))
}

/// The text of a small file that the server's account may have written, or replaced by a link or a
/// pipe; none if it is no such file.
pub(super) fn read_of_server(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let mut text = String::new();
    file.metadata().ok().filter(fs::Metadata::is_file)?;
    file.take(SMALL_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

fn lock(directory: &Path) -> Result<FileLock> {
    let path = directory.join(LOCK_FILE);
    let locked =
        lock_file(&path, || make_private(directory)).map_err(|error| unusable(&path, &error))?;
    locked.ok_or_else(|| in_use(directory))
}

fn in_use(directory: &Path) -> Error {
    // Its owner may be about to write it, and who that is does not change what to do.
    let marker = Marker::read(directory).ok().flatten();
    let owner = marker.map_or_else(|| "another".into(), |marker| marker.owner_pid.to_string());
    Error::target(directory.display().to_string(), format!("in use by dbdyno process {owner}"))
        .advise("wait until it ends, or choose another --data-dir")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_owner_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let first = ServerDir::claim(dir.path(), "postgres").unwrap();
        first.mark(State::Running).unwrap();
        let second = ServerDir::claim(dir.path(), "postgres").err().unwrap();
        assert!(
            second.what.contains(&format!("in use by dbdyno process {}", std::process::id())),
            "{second}"
        );
        drop(first);
        assert_eq!(ServerDir::claim(dir.path(), "postgres").unwrap().state(), Some(State::Running));
    }

    #[test]
    fn a_foreign_directory_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let home = ServerDir::path(dir.path(), "postgres");
        fs::create_dir(&home).unwrap();
        fs::write(home.join("precious"), "x").unwrap();
        assert!(
            ServerDir::claim(dir.path(), "postgres")
                .err()
                .unwrap()
                .what
                .contains("not made by dbdyno")
        );
        assert!(home.join("precious").exists());
    }

    #[test]
    fn what_was_marked_is_known_to_the_next_owner() {
        let dir = tempfile::tempdir().unwrap();
        let home = ServerDir::claim(dir.path(), "postgres").unwrap();
        assert_eq!(home.state(), None);
        home.mark(State::Kept).unwrap();
        assert_eq!(home.state(), Some(State::Kept));
        drop(home);
        let next = ServerDir::claim(dir.path(), "postgres").unwrap();
        assert_eq!(next.state(), Some(State::Kept));
        next.empty().unwrap();
        assert_eq!(next.state(), None);
    }

    #[test]
    fn a_long_path_gets_a_short_socket_directory() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("d".repeat(90));
        let home = ServerDir::claim(&deep, "postgres").unwrap();
        let [_, socket, _] = home.directories(None).unwrap();
        assert!(socket.as_os_str().len() <= MAX_SOCKET_DIR_BYTES && socket.is_dir());
        assert_eq!(home.directories(None).unwrap()[1], socket, "the next start uses it again");
        home.remove().unwrap();
        assert!(!socket.parent().unwrap().exists() && !ServerDir::path(&deep, "postgres").exists());
    }
}
