//! Free space on a file system.

use std::path::Path;

/// Bytes that an ordinary user may still write on the file system of `path` (or of the nearest directory above it
/// that exists); none if that cannot be found out.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let existing = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let figures = rustix::fs::statvfs(existing).ok()?;
    figures.f_bavail.checked_mul(figures.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_does_not_exist_yet_has_the_space_of_its_parent() {
        let dir = tempfile::tempdir().unwrap();
        let free = free_bytes(&dir.path().join("a/b")).unwrap();
        assert!(free > 0);
    }
}
