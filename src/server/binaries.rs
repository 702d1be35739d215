//! Finds the programs of an installed server.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    /// Their directory.
    pub dir: PathBuf,
    /// Full version: `15.18`.
    pub version: String,
    /// Part of the version that decides over the format of files: `15`.
    pub major: String,
}

impl Binaries {
    /// Path of one program.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

/// Directories that match `pattern`, in which one `*` stands for the name of one directory.
pub(super) fn expand(pattern: &str) -> Vec<PathBuf> {
    let Some((head, tail)) = pattern.split_once('*') else { return vec![pattern.into()] };
    let (parent, prefix) = head.rsplit_once('/').unwrap_or(("", head));
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let matching = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    matching.map(|entry| PathBuf::from(format!("{}{tail}", entry.path().display()))).collect()
}

/// What `program` prints on standard output, if it can be run.
pub(super) fn output_of(program: &Path, argument: &str) -> Option<String> {
    let output = Command::new(program).arg(argument).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_one_directory() {
        let dir = tempfile::tempdir().unwrap();
        for version in ["pgsql-15/bin", "pgsql-16/bin", "other/bin"] {
            std::fs::create_dir_all(dir.path().join(version)).unwrap();
        }
        let mut found = expand(&format!("{}/pgsql-*/bin", dir.path().display()));
        found.sort();
        assert_eq!(found, [dir.path().join("pgsql-15/bin"), dir.path().join("pgsql-16/bin")]);
    }
}
