//! Files: the user's own with settings and passwords, and the directory of a server on this host.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use crate::host::{home_dir, others_read};

/// Path of a file in the home directory of the user, see [`home_dir`].
pub(in crate::engine) fn in_home(name: &str) -> PathBuf {
    home_dir().join(name)
}

/// The text of a file that may hold passwords; none if the file does not exist.
///
/// # Errors
/// The reason for which a file that is there is not used: others may read it, or it cannot be read.
pub(in crate::engine) fn private_text(path: &Path) -> Result<Option<SecretString>, String> {
    let Ok(metadata) = fs::metadata(path) else { return Ok(None) };
    if !metadata.is_file() || metadata.mode() & 0o077 != 0 {
        return Err(format!(
            "{} is not used since others may read it: chmod 600 it",
            path.display()
        ));
    }
    fs::read_to_string(path)
        .map(|text| Some(text.into()))
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

/// Checks that nobody else may read a private key: as libpq asks, one of root's may be readable by
/// its group. A file that is not there is for its reader to tell.
///
/// # Errors
/// The reason for which it is not used.
pub(in crate::engine) fn check_private_key(path: &Path) -> Result<(), String> {
    if others_read(path) {
        return Err(format!("the private key {} may be read by others", path.display()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn a_file_that_others_may_read_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("passwords");
        assert!(matches!(private_text(&path), Ok(None)));
        fs::write(&path, "s3cret").unwrap();
        let allow = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        allow(0o600);
        assert_eq!(private_text(&path).unwrap().unwrap().expose_secret(), "s3cret");
        assert_eq!(check_private_key(&path), Ok(()));
        assert_eq!(check_private_key(&dir.path().join("none")), Ok(()));
        allow(0o644);
        assert!(check_private_key(&path).unwrap_err().contains("others"));
        for mode in [0o640, 0o604] {
            allow(mode);
            let trouble = private_text(&path).unwrap_err();
            assert!(trouble.contains("chmod 600") && !trouble.contains("s3cret"), "{trouble}");
        }
    }
}
