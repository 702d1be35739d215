//! The log of a private server on a file system in memory, for a while: its files move there
//! between a stop and a start, with links in their old places, and back again. Only of a database
//! that nobody keeps: a crash of the machine takes the log with it.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::marker::MEMORY_PARENT;
use super::process::run_to_end;
use super::server_dir::ServerDir;
use dbdyno_core::error::Result;
use dbdyno_core::model::Sentence;
use dbdyno_engines::host::{Account, free_bytes, is_in_memory};

/// Place for a log in memory: a file system that exists, with this much room.
///
/// # Errors
/// The reason for which there is none.
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

/// The log of a stopped server.
pub(super) struct Log<'a> {
    pub home: &'a ServerDir,
    /// Its files and directories, by their names in the data directory.
    pub files: &'a [&'a str],
    /// Owner of the directory.
    pub account: Option<&'a Account>,
}

impl Log<'_> {
    /// Moves it into memory, as the user who owns it.
    ///
    /// # Errors
    /// No such place, or no room there.
    pub(super) fn put(&self, room_bytes: u64) -> Result<()> {
        let said =
            |why: Sentence| dbdyno_core::error::Error::target(MEMORY_PARENT, why.to_string());
        memory_place(room_bytes).map_err(said)?;
        let (data, log_dir) = (self.home.data(), self.home.make_log_dir(self.account)?);
        self.move_by(PUT, &data, &log_dir)
    }

    /// Moves it back, if it is in memory, as the user who owns it.
    ///
    /// # Errors
    /// If there is no room for it.
    pub(super) fn fetch(&self) -> Result<()> {
        let Some(log_dir) = self.home.log_dir() else { return Ok(()) };
        self.move_by(FETCH, &log_dir, &self.home.data())?;
        self.home.remove_log_dir()
    }

    /// Moves its files by a script from one directory to another, as the user who owns both: a link
    /// that this user has put there leads to nothing that the user may not read or write anyway.
    fn move_by(&self, script: &str, from: &Path, to: &Path) -> Result<()> {
        let mut shell = Command::new("sh");
        let script = format!("from=$1 to=$2; shift 2; for name do {script}\ndone");
        shell.args(["-c", &script, "sh"]).args([from, to]).args(self.files);
        run_to_end(shell, self.home.directory(), self.account)
    }
}

/// Moves what is there of a name into a directory, and leaves a link to it.
const PUT: &str = r#"[ -e "$from/$name" ] || [ -h "$from/$name" ] || continue
    cp -a "$from/$name" "$to/$name" && rm -rf "$from/$name" &&
        ln -s "$to/$name" "$from/$name" || exit 1"#;

/// Copies what is there of a name to where a link to it is. A file that the server made anew in
/// its old place is the newer one.
const FETCH: &str = r#"[ -e "$from/$name" ] && [ -h "$to/$name" ] || continue
    rm "$to/$name" && cp -a "$from/$name" "$to/$name" || exit 1"#;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    use super::super::server_dir::State;
    use super::super::skipped;
    use super::*;
    use dbdyno_engines::host::is_root;

    /// A home whose data directory has a log of two files, one in a directory.
    fn home(parent: &Path) -> ServerDir {
        let home = ServerDir::claim(parent, "postgres").unwrap();
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
        let log = Log { home: &home, files: &["wal", "log0", "log1"], account: None };
        log.put(1).unwrap();
        let place = home.log_dir().unwrap();
        assert!(
            is_in_memory(&fs::File::open(&place).unwrap())
                && home.data().join("wal").is_symlink()
                && home.data().join("log0").is_symlink()
        );
        fs::write(home.data().join("wal/done/2"), "two").unwrap();
        assert_eq!(fs::read_to_string(place.join("wal/done/2")).unwrap(), "two");
        log.fetch().unwrap();
        let read = |name: &str| fs::read_to_string(home.data().join(name)).unwrap();
        assert_eq!([read("wal/done/1"), read("wal/done/2"), read("log0")], ["one", "two", "zero"]);
        assert!(!place.parent().unwrap().exists() && !home.data().join("wal").is_symlink());
        assert_eq!(home.log_dir(), None);
        log.fetch().unwrap();
        home.remove().unwrap();
    }

    /// As code with the server's account would, to get at files of root's, on the way there and
    /// back.
    #[test]
    fn a_link_in_the_log_leads_to_nothing_that_the_servers_account_may_not_read_or_write() {
        if !is_root() {
            return skipped("a log of another user's server", "DBDYNO_TEST_MUST_BE_ROOT");
        }
        let account = Account::unprivileged("nobody").unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let secret = dir.path().join("secret");
        fs::write(&secret, "of root").unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        let home = ServerDir::claim(dir.path(), "postgres").unwrap();
        home.mark(State::Running).unwrap();
        home.directories(Some(&account)).unwrap();
        let of_server = |path: &Path| lchown(path, Some(account.uid), Some(account.gid)).unwrap();
        let wal = home.data().join("wal");
        fs::create_dir(&wal).unwrap();
        symlink(&secret, wal.join("x")).unwrap();
        [wal.clone(), wal.join("x")].iter().for_each(|path| of_server(path));
        let log = Log { home: &home, files: &["wal"], account: Some(&account) };
        log.put(1).unwrap();
        let place = home.log_dir().unwrap();
        assert!(place.join("wal/x").is_symlink(), "the secret was not copied");
        // On the way back: what is to be written to is a link, too.
        fs::remove_file(&wal).unwrap();
        symlink(dir.path(), &wal).unwrap();
        fs::write(place.join("wal/secret"), "of mallory").unwrap();
        [wal.clone(), place.join("wal/secret")].iter().for_each(|path| of_server(path));
        log.fetch().unwrap();
        assert_eq!(fs::read_to_string(&secret).unwrap(), "of root");
        assert!(fs::symlink_metadata(&wal).unwrap().is_dir());
        home.remove().unwrap();
    }

    #[test]
    fn what_a_dead_run_left_in_memory_goes_with_its_home() {
        let dir = tempfile::tempdir().unwrap();
        let left = home(dir.path());
        Log { home: &left, files: &["wal"], account: None }.put(1).unwrap();
        let place = left.log_dir().unwrap();
        drop(left);
        let next = ServerDir::claim(dir.path(), "postgres").unwrap();
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
