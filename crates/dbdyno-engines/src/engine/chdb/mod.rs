//! ClickHouse, embedded: a column store in a private directory, driven through the C interface of
//! chDB, a library that is loaded at run time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::library::RuntimeLibrary;
use super::{
    Access, ConnectTo, Database, Engine, EngineError, JobSpec, Pacer, RowLoad, Session, Version,
    embedded,
};
use dbdyno_core::model::{Capabilities, DataFiles, Placeholder};

mod answer;
mod api;
mod connect;
mod error;
mod job;
mod library;
mod load;
mod session;
mod signals;
mod statement;

use connect::Instance;
use library::LIBRARY;

/// Organisations that ClickHouse's MergeTree has not
/// (https://clickhouse.com/docs/engines/table-engines/mergetree-family/mergetree).
const SORTED_PARTS: &str =
    "ClickHouse keeps a table in parts, column by column, in the order of its key";
const NO_PARTITIONS: &str =
    "a partition of ClickHouse is a set of parts, not a table with indexes of its own";
const LACKING_ORGS: &[(&str, &str)] = &[
    ("heap", SORTED_PARTS),
    ("iot", SORTED_PARTS),
    ("hash", SORTED_PARTS),
    ("heap-list", NO_PARTITIONS),
    ("iot-list", NO_PARTITIONS),
    ("range-list", NO_PARTITIONS),
    ("range-hash", NO_PARTITIONS),
];

/// The engine.
pub struct Chdb;

impl Engine for Chdb {
    fn name(&self) -> &'static str {
        "chdb"
    }
    fn title(&self) -> &'static str {
        "ClickHouse as chDB, a column store in a private directory, in our own process; its \
         library is loaded at run time"
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            product: "ClickHouse (chDB)",
            placeholder: Placeholder::Braces,
            prefix: "dbdyno.",
            own_threads: true,
            loads_in_database: true,
            orgs: &["columns"],
            unsupported_orgs: LACKING_ORGS,
            data_files: DataFiles::OfParts,
            block_setting: Some("min_compress_block_size"),
            key_settings: &[
                "uncompressed_cache_size",
                "max_server_memory_usage",
                "max_bytes_before_external_sort",
                "table_engine",
            ],
            ..Capabilities::LEAST
        }
    }
    fn library(&self) -> Option<&'static dyn RuntimeLibrary> {
        Some(&LIBRARY)
    }
    fn open(&self, target: &ConnectTo, access: Access) -> Result<Box<dyn Database>, EngineError> {
        let directory = embedded::place_of(target, "directory")?;
        let settings = connect::checked(&target.settings)?;
        let loaded = LIBRARY.chosen()?;
        let opened = opened(&directory, access)?;
        let instance = Instance::open(&loaded.api, opened, &settings)?;
        Ok(Box::new(ChdbDatabase { instance, version: loaded.version.clone(), directory }))
    }
}

/// The place that is opened: the directory if it is there or may be made, else a database in
/// memory.
fn opened(directory: &Path, access: Access) -> Result<Option<&Path>, EngineError> {
    if access == Access::Provision || directory.exists() {
        return Ok(Some(directory));
    }
    embedded::check_creatable(directory).map(|()| None)
}

struct ChdbDatabase {
    instance: Arc<Instance>,
    version: Version,
    directory: PathBuf,
}

impl Database for ChdbDatabase {
    fn version(&self) -> Version {
        self.version.clone()
    }
    fn session(&self) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(session::ChdbSession(self.instance.connect()?)))
    }
    fn run_job(&self, order: &JobSpec<'_>, pacer: &mut dyn Pacer) -> Result<(), EngineError> {
        let connection = self.instance.connect()?;
        job::begin_session(&connection, order)?;
        super::client_loop::drive(order, pacer, |statements| {
            job::ChdbJob::prepare(&connection, statements)
        })
    }
    fn load_rows(
        &self,
        load: &RowLoad<'_>,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), EngineError> {
        load::load(&self.instance.connect()?, load, progress)
    }
    fn cancel(&self) {
        self.instance.cancel();
    }
    fn load_method(&self) -> &'static str {
        "generated"
    }
    fn storage_path(&self) -> Option<PathBuf> {
        Some(self.directory.clone())
    }
}
