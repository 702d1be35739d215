//! Engines whose library is loaded at run time: where such a library is looked for, and what
//! fetches it.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::{EngineError, Version};

/// The shared library of an embedded engine that is not compiled in.
pub trait RuntimeLibrary: Sync {
    /// Package with its public binaries.
    fn package(&self) -> Package;
    /// Loads it, from `dir` or else from where it is found, and asks it for its version.
    ///
    /// # Errors
    /// There is none, it is damaged, or of a version that is not supported.
    fn version(&self, dir: Option<&Path>) -> Result<Version, EngineError>;
    /// Storage of `--server-bin`.
    fn choice(&self) -> &Choice;
}

/// A package of the npm registry that holds the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Package {
    /// Begin of its name; the platform follows: `linux-x64`.
    pub name: &'static str,
    /// Version of the library if the user names none.
    pub version: &'static str,
    /// Version of the package that holds it: `1.5.6-r.1`.
    pub revision: &'static str,
    /// End of the package's name on Linux, behind the platform: `-gnu`.
    pub on_linux: &'static str,
    /// SHA-256 of the archive of this revision for each platform, in lower-case hex.
    pub sha256: &'static [(&'static str, &'static str)],
    /// Name of the library's file without `lib` and ending.
    pub library: &'static str,
}

impl Package {
    /// SHA-256 of the archive for a platform.
    pub fn sha256_of(&self, platform: &str) -> Option<&'static str> {
        self.sha256.iter().find(|(name, _)| *name == platform).map(|(_, sha256)| *sha256)
    }

    /// Name of the package for a platform.
    pub fn name_on(&self, platform: &str) -> String {
        let ending = if platform.starts_with("linux-") { self.on_linux } else { "" };
        format!("{}{platform}{ending}", self.name)
    }

    /// Name of the library's file on this system.
    pub fn file(&self) -> String {
        format!("{}{}{}", std::env::consts::DLL_PREFIX, self.library, std::env::consts::DLL_SUFFIX)
    }
}

/// The directory that the user named; a process loads one library of an engine, hence one directory
/// for all of it.
#[derive(Debug, Default)]
pub struct Choice(Mutex<Option<PathBuf>>);

impl Choice {
    /// Nothing is named.
    pub const fn none() -> Self {
        Choice(Mutex::new(None))
    }

    /// Names the directory.
    pub fn set(&self, dir: &Path) {
        *self.0.lock() = Some(dir.to_path_buf());
    }

    /// The directory that was named.
    pub fn get(&self) -> Option<PathBuf> {
        self.0.lock().clone()
    }
}
