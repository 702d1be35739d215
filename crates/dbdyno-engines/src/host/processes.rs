//! Other processes of this machine.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// True if `path`, an absolute one, leads the process `pid` to the file or directory that `place`
/// describes: in a container, or below another root, it may lead to another or to none.
///
/// # Errors
/// Nothing is there for the process, or the process has ended (`NotFound`); we may not look at what
/// it sees (`PermissionDenied`).
pub fn sees(pid: u32, path: &Path, place: &Metadata) -> io::Result<bool> {
    let Ok(below_root) = path.strip_prefix("/") else { return Ok(false) };
    let root = Path::new("/proc").join(pid.to_string()).join("root");
    let seen = fs::metadata(root.join(below_root))?;
    Ok((seen.dev(), seen.ino()) == (place.dev(), place.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_see_a_directory_under_its_own_path_only() {
        let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let place = fs::metadata(one.path()).unwrap();
        let we_see = |path: &Path| sees(std::process::id(), path, &place);
        assert!(we_see(one.path()).unwrap());
        assert!(!we_see(other.path()).unwrap());
        assert!(!we_see(Path::new("relative")).unwrap());
        let missing = we_see(&one.path().join("none")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
