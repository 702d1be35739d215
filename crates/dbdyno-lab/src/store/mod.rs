//! The results: runs, tests, series, snapshots in one file, or in a database that a team shares;
//! written test by test, read by reports.
//!
//! `schema.sql` explains every column. `columns.rs` maps model types to rows by the
//! declarations in `tables.rs`; the text form for moving runs between files is in `transfer.rs`.

mod backend;
mod browse;
mod bundle;
mod columns;
mod failure;
#[cfg(test)]
pub(crate) mod fake_backend;
mod file;
mod open;
mod process;
mod read;
mod server;
mod tables;
mod transfer;
mod write;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use backend::{StoreBackend, Trouble};
use file::File;
use rusqlite::Connection;
use secrecy::SecretString;
use server::{Opening, Server};

pub use backend::Role;
pub use browse::{MeasuredPoint, RunEntry};
pub use bundle::{Bundle, open_bundle};
pub use open::{APPLICATION_ID, SCHEMA_VERSION};
pub use read::{Reads, RunSummary};
pub use transfer::{Counts, FORMAT_VERSION};
pub use write::now;

use dbdyno_core::error::{Error, Kind, Result};
use dbdyno_engines::engine::results_backend::{ResultsBackend, is_url};

/// Open results. Any number of processes may have them open; writers take turns.
pub struct Store {
    base: Box<dyn StoreBackend>,
    reads: Cell<Reads>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Store").field(&self.base.place()).finish()
    }
}

/// The URL, if results are not in a file.
pub fn url_of(results: &Path) -> Option<&str> {
    results.to_str().filter(|text| is_url(text))
}

/// Place of the results: a file or a URL, with the password that the user typed for it.
#[derive(Debug, Clone)]
pub struct Place {
    /// Path of the file; a URL stands in it as given.
    pub path: PathBuf,
    /// Password that the user typed; none where another source has it.
    pub password: Option<SecretString>,
}

impl<P: AsRef<Path> + ?Sized> From<&P> for Place {
    fn from(path: &P) -> Self {
        Place { path: path.as_ref().to_owned(), password: None }
    }
}

impl Store {
    /// Opens the results in a file or, if `place` is a URL, in a database; creates the file and its
    /// directory, or the schema, if there is none.
    ///
    /// # Errors
    /// One line if they cannot be written, are not ours, are damaged or were written by a newer
    /// dbdyno.
    pub fn open(place: impl Into<Place>) -> Result<Store> {
        Store::at(&place.into(), Opening::Create, open::open)
    }

    /// True if there are results at a place; nothing is created.
    ///
    /// # Errors
    /// If that cannot be found out, or they are not ours.
    pub fn is_there(place: impl Into<Place>) -> Result<bool> {
        let Place { path, password } = place.into();
        match url_of(&path) {
            Some(url) => Server::is_there(url, password.as_ref()),
            None => Ok(path.exists()),
        }
    }

    /// Results that go with the process.
    ///
    /// # Errors
    /// If the library fails.
    pub fn in_memory() -> Result<Store> {
        Store::open(Path::new(":memory:"))
    }

    /// Opens a results file that must exist, to change it.
    ///
    /// # Errors
    /// As [`Store::open`], and if the file does not exist.
    pub fn open_existing(place: impl Into<Place>) -> Result<Store> {
        Store::at(&place.into(), Opening::Update, |path| {
            must_exist(path).and_then(|()| open::open(path))
        })
    }

    /// Opens a results file that must exist, to read it: it need not be writable.
    ///
    /// # Errors
    /// If the file does not exist, it cannot be read, is not ours or damaged, or was written by a
    /// newer dbdyno; by an older one, if it may not be brought up to date.
    pub fn open_to_read(place: impl Into<Place>) -> Result<Store> {
        Store::at(&place.into(), Opening::Update, |path| {
            must_exist(path).and_then(|()| open::open_to_read(path))
        })
    }

    /// Opens a results file that must exist, and writes nothing to it.
    ///
    /// # Errors
    /// As [`Store::open_to_read`]; one of an older dbdyno is not brought up to date.
    pub fn open_read_only(place: impl Into<Place>) -> Result<Store> {
        Store::at(&place.into(), Opening::Read, |path| {
            must_exist(path).and_then(|()| open::open_read_only(path))
        })
    }

    fn at(
        place: &Place,
        opening: Opening,
        open: impl FnOnce(&Path) -> Result<Connection>,
    ) -> Result<Store> {
        let base: Box<dyn StoreBackend> = match url_of(&place.path) {
            Some(url) => Box::new(Server::open(url, place.password.as_ref(), opening)?),
            None => Box::new(File { connection: open(&place.path)?, path: place.path.clone() }),
        };
        Ok(Store { base, reads: Cell::default() })
    }

    /// Lets a user of the database do what a role needs; gives the statements that did it.
    ///
    /// # Errors
    /// The results are in a file; the user is not known, or not ours to give rights to.
    pub fn grant(&self, role: Role, user: &str) -> Result<Vec<String>> {
        self.base.grant(role, user).map_err(|trouble| self.explain(trouble))
    }

    /// The file or the URL, as errors name it.
    pub fn place(&self) -> String {
        self.base.place()
    }

    /// From now on nobody waits long for a results database that is silent once this flag is set:
    /// it is set by whoever wants the end of all work. The first flag counts.
    pub fn heed(&self, interrupt: Arc<AtomicBool>) {
        self.base.heed(interrupt);
    }

    /// In words for the user, and told apart from errors of the target.
    fn explain(&self, trouble: Trouble) -> Error {
        match trouble.at(&self.base.place()) {
            error if error.kind == Kind::Target => Error { kind: Kind::Results, ..error },
            error => error,
        }
    }

    /// A row that does not hold what the schema says.
    fn damaged_error(&self, what: String) -> Error {
        failure::damaged_error(&self.base.place(), &what)
    }
}

/// A session of our own in the database of results, whose schema is created if it is missing.
///
/// # Errors
/// The results are in a file; otherwise as [`Store::open`].
pub fn open_backend(place: &Place) -> Result<Box<dyn ResultsBackend>> {
    let Some(url) = url_of(&place.path) else {
        let what = "results in a file are seen by one machine only";
        let advice = "keep them in a database: --results postgres://user@host/database";
        return Err(Error::usage(failure::place(&place.path), what).advise(advice));
    };
    Server::open(url, place.password.as_ref(), Opening::Create).map(Server::into_backend)
}

/// A results file and the files that the library may put beside it.
pub fn files_of(results: &Path) -> [PathBuf; 4] {
    ["", "-wal", "-shm", "-journal"].map(|ending| {
        let mut name = results.as_os_str().to_owned();
        name.push(ending);
        name.into()
    })
}

fn must_exist(path: &Path) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    let advice = "measure something with 'dbdyno run', or give another file with --results";
    Err(Error::usage(failure::place(path), "the results file does not exist").advise(advice))
}
