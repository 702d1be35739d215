//! The user that runs a private server: database servers refuse to run as root.

use std::fs;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::Path;

use super::home::unusable;
use crate::error::{Error, Result};

/// Used when the server's usual user does not exist.
const FALLBACK: &str = "nobody";
/// Modes of a directory that let its owner, its group, everybody pass.
const OWNER_PASSES: u32 = 0o100;
const GROUP_PASSES: u32 = 0o010;
const OTHERS_PASS: u32 = 0o001;

/// A user to switch to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
}

impl Account {
    /// The user to run a server as: `preferred` if we are root and it exists; none if we are not root.
    ///
    /// # Errors
    /// If we are root and no unprivileged user is known.
    pub(super) fn for_server(preferred: &str) -> Result<Option<Account>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let account = find(&users, preferred).or_else(|| find(&users, FALLBACK));
        account.map(Some).ok_or_else(|| {
            Error::target("private server", "a database server cannot run as root and no other user is known")
                .advise("run dbdyno as an ordinary user")
        })
    }

    /// Gives `path` to the user; of a link the link itself.
    pub(super) fn own(&self, path: &Path) -> Result<()> {
        lchown(path, Some(self.uid), Some(self.gid)).map_err(|error| unusable(path, &error))
    }

    /// Checks that the user can get to `directory`: every directory above must let it pass.
    pub(super) fn check_reach(&self, directory: &Path) -> Result<()> {
        // What does not exist yet will be made by us, open to others.
        for above in directory.ancestors().skip(1).skip_while(|above| !above.exists()) {
            let metadata = fs::metadata(above).map_err(|error| unusable(above, &error))?;
            if !self.passes(metadata.uid(), metadata.gid(), metadata.mode()) {
                let what = format!("user {}, who runs the server, cannot enter {}", self.name, above.display());
                return Err(Error::target(directory.display().to_string(), what)
                    .advise("choose a place open to it, e.g. --data-dir /var/tmp/dbdyno"));
            }
        }
        Ok(())
    }

    /// Whether the user passes a directory of this owner, group and mode; the first that matches decides.
    fn passes(&self, uid: u32, gid: u32, mode: u32) -> bool {
        let needed = match (uid == self.uid, gid == self.gid) {
            (true, _) => OWNER_PASSES,
            (false, true) => GROUP_PASSES,
            (false, false) => OTHERS_PASS,
        };
        mode & needed != 0
    }
}

/// Finds a user in the text of /etc/passwd: `name:x:uid:gid:...`.
fn find(users: &str, name: &str) -> Option<Account> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let found = fields.next().filter(|field| *field == name)?;
        let uid = fields.nth(1)?.parse().ok().filter(|uid| *uid != 0)?;
        Some(Account { name: found.into(), uid, gid: fields.next()?.parse().ok()? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_an_unprivileged_user_only() {
        let users = "root:x:0:0:root:/root:/bin/sh\npostgres:x:105:110:x:/var/lib/postgresql:/bin/bash\n";
        let account = find(users, "postgres").unwrap();
        assert_eq!((account.uid, account.gid), (105, 110));
        assert_eq!(find(users, "root"), None);
        assert_eq!(find(users, "post"), None);
    }

    #[test]
    fn owner_then_group_then_others_decide_who_passes() {
        let account = Account { name: "postgres".into(), uid: 105, gid: 110 };
        assert!(account.passes(0, 0, 0o755) && !account.passes(0, 0, 0o750));
        assert!(account.passes(0, 110, 0o750) && !account.passes(105, 0, 0o055));
    }
}
