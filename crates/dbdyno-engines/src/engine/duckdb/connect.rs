//! An open database and its connections: settings, the same for every session of a run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::api::{Api, CHANGED_ROWS, Handle, RawResult};
use super::counts::{self, Counts, DATABASE, STORAGE, TRANSACTIONS, TYPES};
use super::error::{copy_message, from_duckdb, unusable_file};
use crate::engine::cancel::{HandleGuard, RunningHandles};
use crate::engine::embedded::copy_text;
use crate::engine::loading::c_text;
use crate::engine::{EngineError, ErrorClass};

/// The setting that belongs to the file: made with it, kept in it.
const BLOCK_SIZE: &str = "block_size";
/// Settings of DuckDB that a profile may give, beside `cache_mb` and `block_size`.
const KNOWN: [&str; 4] =
    ["checkpoint_threshold", "preserve_insertion_order", "threads", "max_temp_directory_size"];

/// Mode in which the file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    ReadWrite,
    ReadOnly,
    /// The file does not exist and shall not be made.
    Memory,
}

/// Checked settings.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    of_database: Vec<(String, String)>,
    /// Memory for everything, in 2^20 bytes; none = DuckDB's own choice.
    memory_mib: Option<u32>,
    /// Bytes of a block of a new file; none = DuckDB's own choice.
    block_bytes: Option<u32>,
}

/// Checks the settings of a profile. `cache_mb` (2^20 bytes) becomes DuckDB's `memory_limit`.
///
/// # Errors
/// An unknown setting, or a value that is not a plain word or number.
pub(super) fn check_settings(settings: &BTreeMap<String, String>) -> Result<Settings, EngineError> {
    let block_bytes = settings.get(BLOCK_SIZE).and_then(|value| value.parse().ok());
    let others = settings.iter().filter(|(name, _)| *name != BLOCK_SIZE || block_bytes.is_none());
    let checked = others.map(|(name, value)| {
        let plain = !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric());
        match name.as_str() {
            "cache_mb" if value.parse::<u32>().is_ok() => {
                Ok(("memory_limit".into(), format!("{value}MiB")))
            }
            name if plain && KNOWN.contains(&name) => Ok((name.into(), value.clone())),
            _ => Err(EngineError::new(
                ErrorClass::Statement,
                format!("setting {name} = '{value}' is not known"),
            )),
        }
    });
    let memory_mib = settings.get("cache_mb").and_then(|value| value.parse().ok());
    Ok(Settings { of_database: checked.collect::<Result<_, _>>()?, memory_mib, block_bytes })
}

/// An open database. The instance itself is in memory, our file is attached to it: so its log is
/// switched on before the file is opened, and counts all of its reads and writes.
pub(super) struct Instance {
    api: &'static Api,
    database: Handle,
    pub counts: Arc<Counts>,
    running: Arc<RunningHandles<Interrupt>>,
    /// Held by a transaction that changes the catalog: DuckDB refuses a second one instead of
    /// letting it wait.
    catalog_changes: Mutex<()>,
    /// Jobs at work that commit: as long as there is one, transactions are logged.
    committing: Mutex<u32>,
    memory_mib: Option<u32>,
}

// SAFETY: the library locks what connections of one database share; the handle is only closed when
// nobody has it.
unsafe impl Send for Instance {}
// SAFETY: as above.
unsafe impl Sync for Instance {}

impl Instance {
    /// Opens the database and attaches the file.
    ///
    /// # Errors
    /// A setting that DuckDB refuses; a file that cannot be used.
    pub(super) fn open(
        api: &'static Api,
        file: &Path,
        settings: &Settings,
        mode: Mode,
    ) -> Result<Arc<Self>, EngineError> {
        let counts = Arc::new(Counts::for_file(file));
        let database = open_in_memory(api, file, &settings.of_database)?;
        let (catalog_changes, committing) = (Mutex::new(()), Mutex::new(0));
        let (running, memory_mib) = (RunningHandles::new(), settings.memory_mib);
        let instance =
            Instance { api, database, counts, running, catalog_changes, committing, memory_mib };
        let instance = Arc::new(instance);
        // SAFETY: the database is open.
        if !unsafe { counts::register(api, database, &instance.counts) } {
            return Err(EngineError::new(ErrorClass::Other, "DuckDB refuses our log storage"));
        }
        let new_file = !file.exists();
        instance.attach(file, mode, settings.block_bytes.filter(|_| new_file))?;
        Ok(instance)
    }

    fn attach(
        self: &Arc<Self>,
        file: &Path,
        mode: Mode,
        block_bytes: Option<u32>,
    ) -> Result<(), EngineError> {
        let connection = self.bare_connection()?;
        let storage = STORAGE.to_string_lossy();
        connection.execute(&format!(
            "set logging_mode = 'enable_selected'; set enabled_log_types = '{TYPES}';
             set logging_level = 'TRACE'; set logging_storage = '{storage}';
             set enable_logging = true"
        ))?;
        let path = file.display().to_string();
        let quoted = path.replace('\'', "''");
        let attach = match mode {
            Mode::ReadWrite => {
                let block_size =
                    block_bytes.map_or(String::new(), |bytes| format!(" ({BLOCK_SIZE} {bytes})"));
                format!("attach '{quoted}' as {DATABASE}{block_size}")
            }
            Mode::ReadOnly => format!("attach '{quoted}' as {DATABASE} (read_only)"),
            Mode::Memory => format!("attach ':memory:' as {DATABASE}"),
        };
        connection.execute(&attach).map(drop).map_err(|error| unusable_file(&error.message, &path))
    }

    fn bare_connection(self: &Arc<Self>) -> Result<Connection, EngineError> {
        let mut raw = ptr::null_mut();
        // SAFETY: the database is open; the handle is closed by the connection's drop.
        if unsafe { (self.api.connect)(self.database, &mut raw) } != 0 {
            return Err(EngineError::new(ErrorClass::Lost, "DuckDB gives no connection"));
        }
        let entered = self.running.enter(Interrupt { api: self.api, raw });
        Ok(Connection { instance: Arc::clone(self), raw, entered: Some(entered) })
    }

    /// A connection whose tables are those of the file.
    ///
    /// # Errors
    /// If the database cannot be used any more.
    pub(super) fn connect(self: &Arc<Self>) -> Result<Connection, EngineError> {
        let connection = self.bare_connection()?;
        connection.execute(&format!("use {DATABASE}"))?;
        Ok(connection)
    }

    /// A job begins on this connection: from the first one that commits until one begins when none
    /// of these is at work, transactions are logged. Holds until the guard is dropped.
    ///
    /// # Errors
    /// If the log cannot be set.
    pub(super) fn begin_job(
        &self,
        connection: &Connection,
        commits: bool,
    ) -> Result<CommitGuard<'_>, EngineError> {
        let mut committing = self.committing.lock();
        if *committing == 0 {
            let types = if commits { format!("{TYPES},{TRANSACTIONS}") } else { TYPES.to_string() };
            connection.execute(&format!("set enabled_log_types = '{types}'"))?;
            self.counts.log_transactions(commits);
        }
        *committing += u32::from(commits);
        Ok(CommitGuard { all: &self.committing, commits })
    }

    /// Interrupts what runs in any connection.
    pub(super) fn interrupt(&self) {
        // SAFETY: a handle is in the list only as long as its connection is open.
        self.running.each(|interrupt| unsafe { (interrupt.api.interrupt)(interrupt.raw) });
    }
}

/// A job at work.
pub(super) struct CommitGuard<'i> {
    all: &'i Mutex<u32>,
    commits: bool,
}

impl Drop for CommitGuard<'_> {
    fn drop(&mut self) {
        *self.all.lock() -= u32::from(self.commits);
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: every connection keeps the instance, so none is open; it is closed once.
        unsafe { (self.api.close)(&mut self.database) };
    }
}

fn open_in_memory(
    api: &Api,
    file: &Path,
    settings: &[(String, String)],
) -> Result<Handle, EngineError> {
    let mut temporary: PathBuf = file.into();
    temporary.as_mut_os_string().push(".tmp");
    let temporary = temporary.display().to_string();
    // Nothing is fetched or loaded behind our back.
    let ours = [
        ("autoinstall_known_extensions", "false"),
        ("autoload_known_extensions", "false"),
        ("temp_directory", temporary.as_str()),
    ];
    let given = settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let (mut config, mut database, mut message) =
        (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: every text ends in 0 and lives through its call; config and message are freed once.
    unsafe {
        (api.create_config)(&mut config);
        for (name, value) in ours.into_iter().chain(given) {
            let (name, value) = (c_text(name)?, c_text(value)?);
            if (api.set_config)(config, name.as_ptr(), value.as_ptr()) != 0 {
                (api.destroy_config)(&mut config);
                let what = format!(
                    "DuckDB refuses the setting {} = {}",
                    name.to_string_lossy(),
                    value.to_string_lossy()
                );
                return Err(EngineError::new(ErrorClass::Statement, what));
            }
        }
        let state = (api.open_ext)(c":memory:".as_ptr(), &mut database, config, &mut message);
        (api.destroy_config)(&mut config);
        if state == 0 {
            return Ok(database);
        }
        let why = copy_message(message);
        (api.free)(message.cast());
        Err(from_duckdb(0, &why, "opening the database"))
    }
}

/// Handle that interrupts a connection.
pub(super) struct Interrupt {
    api: &'static Api,
    raw: Handle,
}

// SAFETY: interrupting is what another thread may do to a connection at any time.
unsafe impl Send for Interrupt {}

/// A connection, used by one thread at a time.
pub(super) struct Connection {
    instance: Arc<Instance>,
    pub raw: Handle,
    entered: Option<HandleGuard<Interrupt>>,
}

// SAFETY: the library locks a connection at each call.
unsafe impl Send for Connection {}

impl Connection {
    pub(super) fn api(&self) -> &'static Api {
        self.instance.api
    }

    /// The profile's memory limit.
    pub(super) fn memory_mib(&self) -> Option<u32> {
        self.instance.memory_mib
    }

    pub(super) fn counts(&self) -> &Counts {
        &self.instance.counts
    }

    /// Waits until no other transaction of ours changes the catalog.
    pub(super) fn wait_for_catalog(&self) -> MutexGuard<'_, ()> {
        self.instance.catalog_changes.lock()
    }

    /// Runs statements; the rows that the last one changed.
    ///
    /// # Errors
    /// The library's, of the first statement that fails.
    pub(super) fn execute(&self, sql: &str) -> Result<u64, EngineError> {
        let mut result = self.query(sql)?;
        Ok(result.rows_changed())
    }

    /// Runs statements; the result of the last one.
    ///
    /// # Errors
    /// As [`Connection::execute`].
    pub(super) fn query(&self, sql: &str) -> Result<QueryResult<'_>, EngineError> {
        let statement = c_text(sql)?;
        let mut result = QueryResult { connection: self, raw: RawResult::EMPTY };
        // SAFETY: the connection is open; the result is destroyed by its drop, also after an error.
        match unsafe { (self.api().query)(self.raw, statement.as_ptr(), &mut result.raw) } {
            0 => Ok(result),
            _ => Err(result.error(sql)),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.entered.take(); // nobody may interrupt it from here on
        // SAFETY: it is closed once; statements and results borrow the connection.
        unsafe { (self.api().disconnect)(&mut self.raw) };
    }
}

/// A result that is read and freed.
pub(super) struct QueryResult<'c> {
    pub connection: &'c Connection,
    pub raw: RawResult,
}

impl QueryResult<'_> {
    /// The error that it holds.
    #[cold]
    pub(super) fn error(&mut self, what: &str) -> EngineError {
        let api = self.connection.api();
        // SAFETY: the result is one that the library filled; the text is copied.
        unsafe {
            let message = copy_message((api.result_error)(&mut self.raw));
            from_duckdb((api.result_error_type)(&mut self.raw), &message, what)
        }
    }

    pub(super) fn rows_changed(&mut self) -> u64 {
        let api = self.connection.api();
        // SAFETY: the result is one that the library filled.
        unsafe {
            let changed = (api.result_return_type)(self.raw) == CHANGED_ROWS;
            if changed { (api.rows_changed)(&mut self.raw) } else { 0 }
        }
    }

    /// Names of the columns, and every row as text.
    pub(super) fn into_texts(mut self) -> crate::engine::Rows {
        let api = self.connection.api();
        // SAFETY: columns and rows are within the numbers that the library gives; every text is
        // copied and freed.
        unsafe {
            let columns = (api.column_count)(&mut self.raw);
            let name = |column, raw: &mut RawResult| copy_message((api.column_name)(raw, column));
            let names = (0..columns).map(|column| name(column, &mut self.raw)).collect();
            let mut rows = Vec::new();
            for row in 0..(api.row_count)(&mut self.raw) {
                rows.push((0..columns).map(|column| self.value(column, row)).collect());
            }
            crate::engine::Rows { columns: names, rows }
        }
    }

    /// # Safety
    /// The result has this column and row.
    unsafe fn value(&mut self, column: u64, row: u64) -> Option<String> {
        let api = self.connection.api();
        // SAFETY: the caller's; the text is copied and freed once.
        unsafe {
            let value = (api.value_varchar)(&mut self.raw, column, row);
            let copied = copy_text(value);
            (api.free)(value.cast());
            copied
        }
    }
}

impl Drop for QueryResult<'_> {
    fn drop(&mut self) {
        // SAFETY: it is destroyed once; an empty one is nothing to destroy.
        unsafe { (self.connection.api().destroy_result)(&mut self.raw) };
    }
}
