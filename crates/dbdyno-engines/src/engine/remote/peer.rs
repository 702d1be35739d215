//! The user who answers at a Unix socket: a password goes only to one for whom the place vouches.
//!
//! A directory that everybody may write to, as /tmp, lets any user of the host listen under the
//! name of a server that is not started.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{Host, Stream};
use crate::engine::{EngineError, ErrorClass};
use crate::host::{user_id, user_name};
use dbdyno_core::error::quote;

/// Mode of what everybody may write to.
const OTHERS_WRITE: u32 = 0o002;

/// Refuses a Unix socket at which somebody else listens than whom it must be: the user of the name
/// `required`, else root, us, or the owner of a directory that nobody else can have made. What is
/// reached over a network is for TLS to tell.
///
/// # Errors
/// Somebody else listens, or the system does not tell who.
pub(in crate::engine) fn check_peer(
    host: &Host,
    stream: &Stream,
    required: Option<&str>,
) -> Result<(), EngineError> {
    let Host::Socket(path) = host else { return Ok(()) };
    let peer = stream.peer_uid();
    if let Some(name) = required {
        let is_it = peer.is_some() && peer == user_id(name);
        return is_it.then_some(()).ok_or_else(|| {
            denied_error(path, peer, &format!("not {}, as requirepeer asks", quote(name)))
        });
    }
    let us = rustix::process::geteuid().as_raw();
    let is_trusted = |uid| uid == 0 || uid == us || is_place_of(path, uid, us);
    if peer.is_some_and(is_trusted) {
        return Ok(());
    }
    Err(denied_error(path, peer, "and any user of this host could: no password is sent")
        .advised("name the user who runs the server: requirepeer=USER in the URL"))
}

fn denied_error(path: &Path, peer: Option<u32>, why: &str) -> EngineError {
    let who =
        peer.map_or_else(|| "an unknown user".into(), |uid| format!("user {}", describe_user(uid)));
    EngineError::new(ErrorClass::Denied, format!("{who} listens at {}, {why}", path.display()))
}

fn describe_user(uid: u32) -> String {
    user_name(uid).unwrap_or_else(|| uid.to_string())
}

/// True if only the user of this id, root or we can have put something at a path: every directory
/// above belongs to one of us, and none lets everybody write.
fn is_place_of(path: &Path, uid: u32, us: u32) -> bool {
    let Ok(real) = path.parent().map_or(Ok("/".into()), fs::canonicalize) else { return false };
    real.ancestors().all(|directory| {
        fs::symlink_metadata(directory).is_ok_and(|metadata| {
            [0, us, uid].contains(&metadata.uid()) && metadata.mode() & OTHERS_WRITE == 0
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_everybody_may_write_to_vouches_for_nobody() {
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        let owner = fs::metadata(dir.path()).unwrap().uid();
        assert!(!is_place_of(&dir.path().join("socket"), owner + 1, owner), "/tmp is above");
        assert!(is_place_of(Path::new("/etc/socket"), owner + 1, owner));
        assert!(!is_place_of(Path::new("/nowhere/socket"), owner, owner));
    }
}
