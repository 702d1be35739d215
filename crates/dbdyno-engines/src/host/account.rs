//! Users of this machine, whatever knows them: the system's own resolver is asked.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use uzers::os::unix::UserExt;

use super::variable;

/// Modes of a directory that let its owner, its group, everybody pass.
const OWNER_PASSES: u32 = 0o100;
const GROUP_PASSES: u32 = 0o010;
const OTHERS_PASS: u32 = 0o001;

/// True if we run as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The user's home: `$HOME`, else the one that the system has for the user, else `/`, where no
/// ordinary user can make anything.
pub fn home_dir() -> PathBuf {
    home_of(variable("HOME"), rustix::process::geteuid().as_raw())
}

/// The home of the user of this number, for whom the environment names `named`.
fn home_of(named: Option<OsString>, uid: u32) -> PathBuf {
    let known = || Some(uzers::get_user_by_uid(uid)?.home_dir().to_path_buf());
    named.map(PathBuf::from).or_else(known).unwrap_or_else(|| "/".into())
}

/// Number of the user of this name.
pub fn user_id(name: &str) -> Option<u32> {
    uzers::get_user_by_name(name).map(|user| user.uid())
}

/// Name of the user of this number.
pub fn user_name(uid: u32) -> Option<String> {
    uzers::get_user_by_uid(uid).map(|user| user.name().to_string_lossy().into_owned())
}

/// Name of a user, or the number of one without a name.
pub(super) fn known_user(uid: u32) -> String {
    user_name(uid).unwrap_or_else(|| uid.to_string())
}

/// Name of a group, or the number of one without a name.
pub(super) fn known_group(gid: u32) -> String {
    let group = uzers::get_group_by_gid(gid);
    group.map_or_else(|| gid.to_string(), |group| group.name().to_string_lossy().into_owned())
}

/// A user to switch to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Login name.
    pub name: String,
    /// Numeric user id.
    pub uid: u32,
    /// Numeric id of the user's primary group.
    pub gid: u32,
}

impl Account {
    /// The user of this name; none if there is none or it is root.
    pub fn unprivileged(name: &str) -> Option<Account> {
        let user = uzers::get_user_by_name(name).filter(|user| user.uid() != 0)?;
        Some(Account { name: name.into(), uid: user.uid(), gid: user.primary_group_id() })
    }

    /// False if we are in a user namespace that has no number for the user or the group, so that
    /// nothing can be given to them (user_namespaces(7)).
    pub fn is_in_our_namespace(&self) -> bool {
        has_number("/proc/self/uid_map", self.uid) && has_number("/proc/self/gid_map", self.gid)
    }

    /// The first directory above `path` that the user cannot pass; what does not exist yet is
    /// passed.
    ///
    /// # Errors
    /// If a directory cannot be looked at.
    pub fn barred_at<'a>(&self, path: &'a Path) -> io::Result<Option<&'a Path>> {
        for above in path.ancestors().skip(1).skip_while(|above| !above.exists()) {
            let metadata = fs::metadata(above)?;
            if !self.passes(metadata.uid(), metadata.gid(), metadata.mode()) {
                return Ok(Some(above));
            }
        }
        Ok(None)
    }

    /// True if the user may pass a directory of this owner, group and mode; the first that matches
    /// decides.
    fn passes(&self, uid: u32, gid: u32, mode: u32) -> bool {
        let needed = match (uid == self.uid, gid == self.gid) {
            (true, _) => OWNER_PASSES,
            (false, true) => GROUP_PASSES,
            (false, false) => OTHERS_PASS,
        };
        mode & needed != 0
    }
}

/// True if the map in this file has the number; a system without the file has no namespaces of
/// users.
fn has_number(file: &str, id: u32) -> bool {
    fs::read_to_string(file).map_or(true, |text| maps(&text, id))
}

/// True if a map of a user namespace has this number: each line is the first number inside, the
/// first outside, and how many there are.
fn maps(map: &str, id: u32) -> bool {
    map.lines().any(|line| {
        let words = line.split_whitespace();
        let numbers: Vec<u32> = words.map_while(|word| word.parse().ok()).collect();
        match numbers[..] {
            [inside, _, count] => id.checked_sub(inside).is_some_and(|at| at < count),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_namespace_has_the_numbers_of_its_map() {
        let whole = "         0          0 4294967295\n";
        let some = "0 1000 1\n100 100000 65436\n";
        assert!(maps(whole, 0) && maps(whole, 65534));
        assert!(maps(some, 0) && maps(some, 100) && maps(some, 65535));
        assert!(!maps(some, 1) && !maps(some, 99) && !maps(some, 65536) && !maps("", 0));
    }

    #[test]
    fn a_home_that_the_environment_does_not_name_is_the_one_of_the_users_entry() {
        assert_eq!(home_of(Some("/elsewhere".into()), 0), Path::new("/elsewhere"));
        let root = uzers::get_user_by_uid(0).unwrap();
        assert_eq!(home_of(None, 0), root.home_dir());
        assert_eq!(home_of(None, u32::MAX - 1), Path::new("/"), "a user without an entry");
    }

    #[test]
    fn finds_an_unprivileged_user_only() {
        let nobody = Account::unprivileged("nobody").unwrap();
        assert!(nobody.uid != 0 && nobody.name == "nobody");
        assert_eq!(
            [Account::unprivileged("root"), Account::unprivileged("no-user-of-dbdyno")],
            [None, None]
        );
    }

    #[test]
    fn owner_then_group_then_others_decide_who_passes() {
        let account = Account { name: "server".into(), uid: 105, gid: 110 };
        assert!(account.passes(0, 0, 0o755) && !account.passes(0, 0, 0o750));
        assert!(account.passes(0, 110, 0o750) && !account.passes(105, 0, 0o055));
    }

    #[test]
    fn a_closed_directory_above_bars_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let stranger = Account { name: "stranger".into(), uid: u32::MAX - 1, gid: u32::MAX - 1 };
        let within = dir.path().join("not/there/yet");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(stranger.barred_at(&within).unwrap(), Some(dir.path()));
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).unwrap();
        assert_ne!(stranger.barred_at(&within).unwrap(), Some(dir.path()));
    }
}
