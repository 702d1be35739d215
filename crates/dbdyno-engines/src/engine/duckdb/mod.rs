//! DuckDB, embedded: a column store in a private file, driven through the C interface of a library
//! that is loaded at run time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::library::RuntimeLibrary;
use super::{
    Access, ConnectTo, Database, Engine, EngineError, JobSpec, Pacer, RowLoad, Session, Version,
    embedded,
};
use dbdyno_core::model::{Capabilities, Placeholder};

mod api;
mod connect;
mod counts;
mod error;
mod job;
mod library;
mod load;
mod session;
mod statement;

use connect::{Instance, Mode};
use library::LIBRARY;

/// Organizations that DuckDB has not (https://duckdb.org/docs/current/internals/storage,
/// https://duckdb.org/docs/current/sql/statements/create_table,
/// https://duckdb.org/docs/current/data/partitioning/partitioned_writes).
const ROW_GROUPS: &str =
    "DuckDB keeps every table in row groups, column by column, in the order of insertion";
const NO_PARTITIONS: &str = "DuckDB partitions files that it exports, not tables";
const LACKING_ORGS: &[(&str, &str)] = &[
    ("heap", ROW_GROUPS),
    ("iot", ROW_GROUPS),
    ("hash", ROW_GROUPS),
    ("heap-list", NO_PARTITIONS),
    ("iot-list", NO_PARTITIONS),
    ("range-list", NO_PARTITIONS),
    ("range-hash", NO_PARTITIONS),
];

/// The engine.
pub struct DuckDb;

impl Engine for DuckDb {
    fn name(&self) -> &'static str {
        "duckdb"
    }
    fn title(&self) -> &'static str {
        "DuckDB, a column store in a private file, in our own process; its library is loaded at \
         run time"
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            product: "DuckDB",
            placeholder: Placeholder::Dollar,
            // A name in full is bound faster: DuckDB binds names at each execution of a statement
            // with parameters.
            prefix: "dbdyno.main.",
            own_threads: true,
            orgs: &["columns"],
            unsupported_orgs: LACKING_ORGS,
            file_endings: &[".wal", ".wal.checkpoint", ".wal.recovery", ".tmp"],
            block_setting: Some("block_size"),
            key_settings: &[
                "memory_limit",
                "threads",
                "checkpoint_threshold",
                "block_size",
                "storage_version",
            ],
            ..Capabilities::LEAST
        }
    }
    fn library(&self) -> Option<&'static dyn RuntimeLibrary> {
        Some(&LIBRARY)
    }
    fn open(&self, target: &ConnectTo, access: Access) -> Result<Box<dyn Database>, EngineError> {
        let file = embedded::place_of(target, "file")?;
        let settings = connect::check_settings(&target.settings)?;
        let loaded = LIBRARY.chosen()?;
        let mode = mode(&file, access)?;
        let instance = Instance::open(&loaded.api, &file, &settings, mode)?;
        Ok(Box::new(DuckDatabase { instance, version: loaded.version.clone(), file }))
    }
}

/// Mode in which the file is opened; creates its directory if that is allowed.
fn mode(file: &Path, access: Access) -> Result<Mode, EngineError> {
    if access == Access::Provision {
        let created = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        created.map_err(|_| embedded::not_creatable(file))?;
        return Ok(Mode::ReadWrite);
    }
    if file.exists() {
        return Ok(Mode::ReadOnly);
    }
    embedded::check_creatable(file).map(|()| Mode::Memory)
}

struct DuckDatabase {
    instance: Arc<Instance>,
    version: Version,
    file: PathBuf,
}

impl Database for DuckDatabase {
    fn version(&self) -> Version {
        self.version.clone()
    }
    fn session(&self) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(session::DuckSession(self.instance.connect()?)))
    }
    fn run_job(&self, order: &JobSpec<'_>, pacer: &mut dyn Pacer) -> Result<(), EngineError> {
        let connection = self.instance.connect()?;
        job::begin_session(&connection, order)?;
        let _logged = self.instance.begin_job(&connection, job::commits(order.code))?;
        let _job = counts::JobOfThread::begin();
        super::client_loop::drive(order, pacer, |statements| {
            job::DuckJob::prepare(&connection, statements)
        })
    }
    fn load_rows(
        &self,
        load: &RowLoad<'_>,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), EngineError> {
        load::append(&self.instance.connect()?, load, progress)
    }
    fn cancel(&self) {
        self.instance.interrupt();
    }
    fn load_method(&self) -> &'static str {
        "appender"
    }
    fn storage_path(&self) -> Option<PathBuf> {
        Some(self.file.clone())
    }
}
