//! The results file: runs, tests, series, snapshots in one file; written test by test, read by reports.
//!
//! `schema.sql` explains every column. `columns.rs` maps model types to rows by the
//! declarations in `tables.rs`; the text form for moving runs between files is in `transfer.rs`.

mod browse;
mod columns;
mod failure;
mod open;
mod process;
mod read;
mod tables;
mod transfer;
mod write;

use std::path::{Path, PathBuf};

use rusqlite::Connection;

pub use browse::{Listed, Measured};
pub use open::{APPLICATION_ID, SCHEMA_VERSION};
pub use read::RunSummary;
pub use transfer::{Counts, FORMAT_VERSION};
pub use write::now;

use crate::error::{Error, Result};

/// An open results file. Any number of processes may have it open; writers take turns.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the results file; creates it, and its directory, if there is none.
    ///
    /// # Errors
    /// One line if the file cannot be written, is not ours, is damaged or was written by a newer dbdyno.
    pub fn open(path: &Path) -> Result<Store> {
        Ok(Store { connection: open::open(path)?, path: path.to_owned() })
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
    pub fn open_existing(path: &Path) -> Result<Store> {
        must_exist(path).and_then(|()| Store::open(path))
    }

    /// Opens a results file that must exist, to read it: it need not be writable.
    ///
    /// # Errors
    /// If the file does not exist, it cannot be read, is not ours or damaged, or was written by a newer dbdyno; by an older
    /// one, if it may not be brought up to date.
    pub fn open_to_read(path: &Path) -> Result<Store> {
        must_exist(path)?;
        Ok(Store { connection: open::open_to_read(path)?, path: path.to_owned() })
    }

    /// Opens a results file that must exist, and writes nothing to it.
    ///
    /// # Errors
    /// As [`Store::open_to_read`]; one of an older dbdyno is not brought up to date.
    pub fn open_read_only(path: &Path) -> Result<Store> {
        must_exist(path)?;
        Ok(Store { connection: open::open_read_only(path)?, path: path.to_owned() })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the library's error into words.
    fn explain(&self, error: rusqlite::Error) -> Error {
        failure::explain(&self.path, &error)
    }

    /// A row that does not hold what the schema says.
    fn damaged(&self, what: String) -> Error {
        failure::damaged(&self.path, &what)
    }
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
