//! Places that only root and this user can have changed: directories to work in, files to run.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::account::{known_group, known_user, user_name};

const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
/// In such a directory only the owner of an entry can rename or remove it.
const STICKY: u32 = 0o1000;
/// The number that stands for users whom a user namespace does not know.
const UNKNOWN_USER: &str = "/proc/sys/kernel/overflowuid";

/// Somebody else can change a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stranger {
    /// The directory above it, or the place itself.
    pub at: PathBuf,
    /// Reason: `belongs to user ann`, `can be written to by everybody`.
    pub why: String,
}

impl fmt::Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.at.display(), self.why)
    }
}

/// Looks at a place by an absolute path without links, and at all directories above it, as sshd
/// does before it believes a file: each must belong to root or us, and nobody else may write to it,
/// but for sticky directories above (/tmp). Then nobody else can change what the path leads to.
///
/// # Errors
/// If something cannot be looked at.
pub fn stranger_at(path: &Path) -> io::Result<Option<Stranger>> {
    match looked_at(path, false)? {
        None => stranger_above(path),
        found => Ok(found),
    }
}

/// The same of the directories above alone.
///
/// # Errors
/// As there.
pub fn stranger_above(path: &Path) -> io::Result<Option<Stranger>> {
    for above in path.ancestors().skip(1) {
        if let Some(found) = looked_at(above, true)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn looked_at(at: &Path, is_above: bool) -> io::Result<Option<Stranger>> {
    let metadata = fs::symlink_metadata(at)?;
    if is_above && !metadata.is_dir() && !metadata.is_symlink() {
        return Ok(None); // a file leads nowhere: who works below it is told so
    }
    let (mode, is_sticky) = (metadata.mode(), is_above && metadata.mode() & STICKY != 0);
    let why = if !is_trusted(metadata.uid()) {
        Some(format!("belongs to user {}", known_user(metadata.uid())))
    } else if mode & OTHERS_WRITE != 0 && !is_sticky {
        Some("can be written to by everybody".into())
    } else if mode & GROUP_WRITES != 0 && !is_sticky && !is_private_group(&metadata) {
        Some(format!("can be written to by the group {}", known_group(metadata.gid())))
    } else {
        None
    };
    Ok(why.map(|why| Stranger { at: at.into(), why }))
}

/// True if the file that a path leads to, and every directory above it, can only have been made by
/// root or by us: such a file may be run.
pub fn may_be_run(path: &Path) -> bool {
    let looked = fs::canonicalize(path).and_then(|real| stranger_at(&real));
    looked.is_ok_and(|stranger| stranger.is_none())
}

/// True of a file that others may read: of root's its group may, as libpq has it.
pub fn others_read(path: &Path) -> bool {
    let Ok(metadata) = fs::metadata(path) else { return false };
    let open = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    metadata.mode() & open != 0
}

/// True of a link that only root, we or the owner of its directory can have made there, if others
/// can make some, as in /tmp. The same is asked of the directories on the way to it. It is what
/// Linux asks with `fs.protected_symlinks`, which is not everywhere set.
///
/// # Errors
/// If the path cannot be made absolute.
pub fn leads_where_others_want(path: &Path) -> io::Result<bool> {
    let absolute = std::path::absolute(path)?;
    Ok(absolute.ancestors().any(|at| {
        let (Ok(entry), Some(parent)) = (fs::symlink_metadata(at), at.parent()) else {
            return false;
        };
        let Ok(directory) = fs::metadata(parent) else { return false };
        let is_shared = directory.mode() & OTHERS_WRITE != 0;
        entry.is_symlink()
            && is_shared
            && !is_trusted(entry.uid())
            && entry.uid() != directory.uid()
    }))
}

/// True of a file that only somebody else than root, we and the owner of its directory can have
/// made, or a link to it, in a directory in which others can make some, as in /tmp: whoever made it
/// may read what is written to it. Linux asks the same with `fs.protected_regular`.
///
/// # Errors
/// As [`leads_where_others_want`].
pub fn made_by_others(path: &Path) -> io::Result<bool> {
    if leads_where_others_want(path)? {
        return Ok(true);
    }
    let absolute = std::path::absolute(path)?;
    let (Ok(file), Some(Ok(directory))) =
        (fs::metadata(&absolute), absolute.parent().map(fs::metadata))
    else {
        return Ok(false); // what is not there was made by nobody
    };
    let is_shared = directory.mode() & OTHERS_WRITE != 0;
    Ok(is_shared && !is_trusted(file.uid()) && file.uid() != directory.uid())
}

/// Root and we. Where a user namespace does not know root, whoever owns `/` is taken for root.
fn is_trusted(uid: u32) -> bool {
    let is_unknown_root = || {
        let unknown =
            fs::read_to_string(UNKNOWN_USER).ok().and_then(|text| text.trim().parse().ok());
        unknown == Some(uid) && fs::metadata("/").is_ok_and(|root| root.uid() == uid)
    };
    uid == 0 || uid == rustix::process::geteuid().as_raw() || is_unknown_root()
}

/// A group of one user has his name: who makes directories that it may write to shares them with
/// nobody.
fn is_private_group(metadata: &fs::Metadata) -> bool {
    metadata.gid() == 0
        || user_name(metadata.uid()).is_some_and(|name| known_group(metadata.gid()) == name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_others_may_change_is_told_and_a_sticky_directory_above_is_none_of_it() {
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        let place = dir.path().join("place");
        fs::create_dir(&place).unwrap();
        let told = |mode| {
            fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
            stranger_at(&place).unwrap().map(|stranger| (stranger.at == place, stranger.why))
        };
        assert_eq!(told(0o755), None);
        assert_eq!(told(0o757), Some((true, "can be written to by everybody".into())));
        assert_eq!(told(0o1777), Some((true, "can be written to by everybody".into())));
        fs::create_dir(place.join("within")).unwrap();
        assert_eq!(stranger_at(&place.join("within")).unwrap(), None, "sticky");
        told(0o755);
        let program = place.join("program");
        fs::write(&program, "").unwrap();
        assert!(may_be_run(&program) && !may_be_run(&place.join("none")));
        fs::set_permissions(&program, fs::Permissions::from_mode(0o766)).unwrap();
        assert!(!may_be_run(&program));
    }
}
