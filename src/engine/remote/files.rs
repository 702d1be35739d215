//! The user's own files with settings and passwords.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file in the user's home directory.
pub(in crate::engine) fn in_home(name: &str) -> Option<PathBuf> {
    std::env::var_os("HOME").map(|home| PathBuf::from(home).join(name))
}

/// The text of a file that may hold passwords; none if there is no such file.
///
/// # Errors
/// Why a file that is there is not used: others may read it, or it cannot be read.
pub(in crate::engine) fn private_text(path: &Path) -> Result<Option<String>, String> {
    let Ok(metadata) = fs::metadata(path) else { return Ok(None) };
    if !metadata.is_file() || metadata.mode() & 0o077 != 0 {
        return Err(format!("{} is not used since others may read it: chmod 600 it", path.display()));
    }
    fs::read_to_string(path).map(Some).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_that_others_may_read_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("passwords");
        assert_eq!(private_text(&path), Ok(None));
        fs::write(&path, "s3cret").unwrap();
        let allow = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        allow(0o600);
        assert_eq!(private_text(&path), Ok(Some("s3cret".into())));
        for mode in [0o640, 0o604] {
            allow(mode);
            let trouble = private_text(&path).unwrap_err();
            assert!(trouble.contains("chmod 600") && !trouble.contains("s3cret"), "{trouble}");
        }
    }
}
