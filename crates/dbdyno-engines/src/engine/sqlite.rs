//! SQLite, embedded: a private file, one connection with a private cache per job.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{
    Access, ConnectTo, Database, Engine, EngineError, JobSpec, Pacer, RowLoad, Session, Version,
    embedded,
};
use crate::engine::cancel::{HandleGuard, RunningHandles};
use dbdyno_core::model::Capabilities;

use rusqlite::{Connection, InterruptHandle};

mod connect;
mod error;
mod job;
mod load;
mod session;
mod statement;

use connect::{Mode, Settings};

/// Organizations that SQLite has not (https://www.sqlite.org/rowidtable.html,
/// https://www.sqlite.org/withoutrowid.html).
const NO_PARTITIONS: &str = "SQLite has no partitions";
const LACKING_ORGS: &[(&str, &str)] = &[
    (
        "heap",
        "SQLite keeps the rows of every table in a b-tree: by rowid (org=default) or by the \
         primary key (org=iot)",
    ),
    ("hash", "SQLite has no hash clusters"),
    ("heap-list", NO_PARTITIONS),
    ("iot-list", NO_PARTITIONS),
    ("range-list", NO_PARTITIONS),
    ("range-hash", NO_PARTITIONS),
];

/// The engine.
pub struct Sqlite;

impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }
    fn title(&self) -> &'static str {
        "SQLite in a private file, in our own process"
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            product: "SQLite",
            orgs: &["rowid", "iot"],
            unsupported_orgs: LACKING_ORGS,
            file_endings: &["-wal", "-shm", "-journal"],
            block_setting: Some("page_size"),
            session_cache_setting: Some("cache_mb"),
            key_settings: &["journal_mode", "synchronous", "cache_size", "page_size", "mmap_size"],
            ..Capabilities::LEAST
        }
    }
    fn open(&self, target: &ConnectTo, access: Access) -> Result<Box<dyn Database>, EngineError> {
        let file = embedded::place_of(target, "file")?;
        let settings = Settings::read(&target.settings)?;
        let mode = match access {
            Access::Provision => Mode::ReadWrite,
            Access::Inspect | Access::Watch | Access::Follow => inspect_mode(&file)?,
        };
        let database = SqliteDatabase { file, settings, mode, running: RunningHandles::new() };
        database.settings.create(&database.file, database.mode)?;
        Ok(Box::new(database))
    }
}

/// Mode for inspecting a file without creating anything: not at all if it is not there yet.
fn inspect_mode(file: &Path) -> Result<Mode, EngineError> {
    if file.exists() {
        return Ok(if wal_of(file).exists() { Mode::ReadOnly } else { Mode::Immutable });
    }
    embedded::check_creatable(file).map(|()| Mode::Memory)
}

fn wal_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

struct SqliteDatabase {
    file: PathBuf,
    settings: Settings,
    mode: Mode,
    running: Arc<RunningHandles<InterruptHandle>>,
}

impl SqliteDatabase {
    /// A connection, and what lets [`Database::cancel`] reach it.
    fn connect(&self) -> Result<(Connection, HandleGuard<InterruptHandle>), EngineError> {
        let connection = self.settings.connect(&self.file, self.mode)?;
        let entered = self.running.enter(connection.get_interrupt_handle());
        Ok((connection, entered))
    }
}

impl Database for SqliteDatabase {
    fn version(&self) -> Version {
        Version::parse(rusqlite::version())
    }
    fn session(&self) -> Result<Box<dyn Session>, EngineError> {
        let (connection, entered) = self.connect()?;
        Ok(Box::new(session::SqliteSession::new(connection, entered)))
    }
    fn run_job(&self, order: &JobSpec<'_>, pacer: &mut dyn Pacer) -> Result<(), EngineError> {
        let (connection, _running) = self.connect()?;
        for sql in order.session {
            connection.execute_batch(sql).map_err(|error| error::from_sqlite(&error, sql))?;
        }
        super::client_loop::drive(order, pacer, |statements| {
            job::SqliteJob::prepare(&connection, statements)
        })
    }
    fn load_rows(
        &self,
        load: &RowLoad<'_>,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), EngineError> {
        let (connection, _running) = self.connect()?;
        load::load_durably(&connection, load, progress)
    }
    fn cancel(&self) {
        self.running.each(InterruptHandle::interrupt);
    }
    fn load_method(&self) -> &'static str {
        "prepared-insert"
    }
    fn storage_path(&self) -> Option<PathBuf> {
        Some(self.file.clone())
    }
}
