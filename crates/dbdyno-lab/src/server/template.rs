//! Files of new databases, kept to be copied: whoever starts many private servers, as the tests do,
//! need not have each database created anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use super::binaries::Binaries;
use super::process::{copy_files, run_interruptible};
use super::server_dir::{give, own_dir};
use super::{Place, unusable};
use dbdyno_core::error::Result;

/// Names the directory of the templates; without it every database is created.
const VARIABLE: &str = "DBDYNO_SERVER_TEMPLATES";

/// Place of the files of a new database, as one program creates them for one user.
pub(super) struct Template {
    dir: PathBuf,
    name: String,
}

impl Template {
    /// The template for these programs and this place; none unless the environment names a
    /// directory for templates.
    ///
    /// # Errors
    /// If others could change that directory.
    pub(super) fn from_environment(binaries: &Binaries, place: &Place) -> Result<Option<Template>> {
        let Some(dir) = std::env::var_os(VARIABLE).filter(|dir| !dir.is_empty()) else {
            return Ok(None);
        };
        let user = place.account.as_ref().map_or("us", |account| &account.name);
        let programs = binaries.dir.display().to_string().replace('/', "_");
        let name = format!("{}-{programs}-{user}", binaries.version);
        Ok(Some(Template { dir: own_dir(Path::new(&dir))?, name }))
    }

    /// Creates the database of `place`: copies the template, or runs `create` and keeps the result
    /// as the template.
    ///
    /// # Errors
    /// If a program fails, or the template cannot be written; interrupted.
    pub(super) fn create(
        &self,
        create: Command,
        place: &Place,
        interrupt: &AtomicBool,
    ) -> Result<()> {
        let path = self.path();
        if path.is_dir() {
            return copy_files(&path, &place.data, place, interrupt);
        }
        run_interruptible(create, &place.home, place.account.as_ref(), interrupt)?;
        self.keep(place, interrupt)
    }

    /// Keeps the files of a new database, unless somebody has done so meanwhile: a directory is
    /// renamed only to what is not there.
    fn keep(&self, place: &Place, interrupt: &AtomicBool) -> Result<()> {
        let unfinished = tempfile::Builder::new().prefix("unfinished-").tempdir_in(&self.dir);
        let unfinished = unfinished.map_err(|error| unusable(&self.dir, &error))?;
        place.account.as_ref().map_or(Ok(()), |account| give(unfinished.path(), account))?;
        copy_files(&place.data, unfinished.path(), place, interrupt)?;
        // What was renamed is not there any more to be removed.
        if fs::rename(unfinished.path(), self.path()).is_ok() {
            let _ = unfinished.keep();
        }
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.dir.join(&self.name)
    }
}
