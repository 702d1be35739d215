//! An open database and its connections: settings, the same for every session of a run.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use rustix::fs::FlockOperation;

use super::answer::{Answer, Parameters, Question};
use super::api::{Api, Handle};
use super::signals::SavedHandlers;
use crate::engine::embedded::CHOOSE_WRITABLE;
use crate::engine::loading::c_text;
use crate::engine::{EngineError, ErrorClass};

/// Our tables' database.
const DATABASE: &str = "dbdyno";
/// File within the directory that ClickHouse locks as long as it has it open.
const LOCKED: &str = "status";
/// Settings of every session.
///
/// - The cache of uncompressed blocks is ClickHouse's own cache of data; by itself it takes none of
///   it, and nothing of large tables.
/// - A predicate that no row met is not remembered for the next time, which would be answered
///   without reading.
/// - A change of a table is over when the statement is.
/// - Names in a query are those of columns first, as in other databases.
const OF_SESSIONS: &str = "set use_uncompressed_cache = 1, \
    merge_tree_max_rows_to_use_cache = 1000000000000000, \
    merge_tree_max_bytes_to_use_cache = 1000000000000000, use_query_condition_cache = 0, \
    mutations_sync = 2, alter_sync = 2, prefer_column_name_to_alias = 1";

/// Checked settings of a profile.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    /// `--name=value` of the engine, of which there is one in a process.
    arguments: Vec<String>,
    /// Settings of each session: `name = value`.
    of_sessions: Vec<String>,
}

/// Checks the settings of a profile, all of them in 2^20 bytes.
///
/// # Errors
/// An unknown setting, or a value that is not a number.
pub(super) fn check_settings(settings: &BTreeMap<String, String>) -> Result<Settings, EngineError> {
    let mut checked = Settings::default();
    for (name, value) in settings {
        let bytes = value.parse::<u32>().map(|mib| u64::from(mib) << 20);
        let argument = |of: &str, bytes| format!("--{of}={bytes}");
        match (name.as_str(), bytes) {
            ("cache_mb", Ok(bytes)) => {
                checked.arguments.push(argument("uncompressed_cache_size", bytes));
            }
            ("memory_mb", Ok(bytes)) => {
                checked.arguments.push(argument("max_server_memory_usage", bytes));
            }
            ("sort_mb", Ok(bytes)) => checked.of_sessions.extend(
                ["max_bytes_before_external_sort", "max_bytes_before_external_group_by"]
                    .map(|of| format!("{of} = {bytes}")),
            ),
            _ => {
                let what = format!("setting {name} = '{value}' is not known");
                return Err(EngineError::new(ErrorClass::Statement, what));
            }
        }
    }
    Ok(checked)
}

/// The directory that this process has open, and how often: the library has one engine for all
/// connections, with one directory.
static OPEN: Mutex<Option<(Option<PathBuf>, u32)>> = Mutex::new(None);

/// An open database.
pub(super) struct Instance {
    api: &'static Api,
    /// None: in memory.
    directory: Option<PathBuf>,
    settings: Settings,
    /// Queries of control sessions, which are not those of jobs.
    pub control_queries: AtomicU64,
    /// Its own connection, by which the queries of others are cancelled.
    own: Mutex<Option<Raw>>,
}

impl Instance {
    /// Opens the directory, or a database in memory. It is made if it is not there.
    ///
    /// # Errors
    /// Another directory is open in this process, another process has it open, it cannot be used.
    pub(super) fn open(
        api: &'static Api,
        directory: Option<&Path>,
        settings: &Settings,
    ) -> Result<Arc<Self>, EngineError> {
        let mut open = OPEN.lock();
        let directory = directory.map(Path::to_path_buf);
        let times = match &*open {
            None => 0,
            Some((other, times)) if *other == directory => *times,
            Some((other, _)) => {
                let shown = other
                    .as_ref()
                    .map_or("one in memory".into(), |other| other.display().to_string());
                let what =
                    format!("ClickHouse's library has one database in a process, {shown} is open");
                return Err(EngineError::new(ErrorClass::Busy, what)
                    .advised("run them one after the other, each in a process of its own"));
            }
        };
        if let Some(directory) = directory.as_deref().filter(|_| times == 0) {
            usable(directory)?;
        }
        let raw = Raw::open(api, directory.as_deref(), settings)?;
        *open = Some((directory.clone(), times + 1));
        drop(open);
        let instance = Arc::new(Instance {
            api,
            directory,
            settings: settings.clone(),
            control_queries: AtomicU64::new(0),
            own: Mutex::new(Some(raw)),
        });
        instance.connect()?.execute(&format!("create database if not exists {DATABASE}"))?;
        Ok(instance)
    }

    /// A session with the settings of the profile.
    ///
    /// # Errors
    /// If the database cannot be used any more; a setting that ClickHouse refuses.
    pub(super) fn connect(self: &Arc<Self>) -> Result<Connection, EngineError> {
        let raw = Raw::open(self.api, self.directory.as_deref(), &self.settings)?;
        let connection = Connection { instance: Arc::clone(self), raw };
        connection.execute(OF_SESSIONS)?;
        for setting in &self.settings.of_sessions {
            connection.execute(&format!("set {setting}"))?;
        }
        Ok(connection)
    }

    /// Cancels what runs in any connection.
    pub(super) fn cancel(&self) {
        let own = self.own.lock();
        if let Some(raw) = &*own {
            // What cannot be cancelled ends by itself, or is asked again.
            let sql = "kill query where query_id <> queryID() async";
            let question = Question { connection: raw.handle(), sql, format: "Null" };
            drop(Answer::execute(self.api, question, &mut Parameters::none()));
        }
    }

    pub(super) fn count_control_query(&self) {
        self.control_queries.fetch_add(1, Relaxed);
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let mut open = OPEN.lock();
        // With the last connection the engine ends; only then may another directory be opened.
        self.own.get_mut().take();
        *open = open.take().filter(|(_, times)| *times > 1).map(|(of, times)| (of, times - 1));
    }
}

/// Looks whether the directory can be opened: the library says why it cannot on standard error
/// only.
fn usable(directory: &Path) -> Result<(), EngineError> {
    let shown = directory.display();
    let refused = |error: std::io::Error| {
        EngineError::new(ErrorClass::Privilege, format!("{shown} cannot be used ({error})"))
            .advised(CHOOSE_WRITABLE)
    };
    if directory.exists() && !directory.is_dir() {
        let what = format!("{shown} is not a directory of ClickHouse");
        return Err(EngineError::new(ErrorClass::Other, what)
            .advised("remove it, or choose another --data-dir"));
    }
    std::fs::create_dir_all(directory).map_err(refused)?;
    let Ok(status) = std::fs::File::open(directory.join(LOCKED)) else { return Ok(()) };
    rustix::fs::flock(&status, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
        EngineError::new(ErrorClass::Busy, format!("{shown} is open in another process"))
            .advised("wait for it, or choose another --data-dir")
    })
}

/// A connection of the library.
struct Raw {
    api: &'static Api,
    /// Points to the handle.
    place: *mut Handle,
}

// SAFETY: the library locks what its connections share; a connection is used by one thread at a
// time.
unsafe impl Send for Raw {}

impl Raw {
    fn open(
        api: &'static Api,
        directory: Option<&Path>,
        settings: &Settings,
    ) -> Result<Self, EngineError> {
        let path = directory.map(|directory| format!("--path={}", directory.display()));
        let arguments = [Some("clickhouse".to_string()), path].into_iter().flatten();
        let arguments = arguments.chain(settings.arguments.iter().cloned()).map(c_text);
        let arguments = arguments.collect::<Result<Vec<CString>, EngineError>>()?;
        let mut pointers: Vec<*mut c_char> =
            arguments.iter().map(|argument| argument.as_ptr().cast_mut()).collect();
        let _kept = SavedHandlers::now();
        // SAFETY: every text ends in 0 and lives through the call, which copies them.
        let place = unsafe {
            (api.set_signal_handlers_enabled)(0);
            (api.connect)(pointers.len() as c_int, pointers.as_mut_ptr())
        };
        // SAFETY: what it points to was written by the library.
        if place.is_null() || unsafe { (*place).is_null() } {
            let shown =
                directory.map_or("in memory".into(), |directory| directory.display().to_string());
            let what = format!("ClickHouse gives no connection ({shown})");
            return Err(EngineError::new(ErrorClass::Other, what)
                .advised("remove the directory if it is damaged, or choose another --data-dir"));
        }
        Ok(Raw { api, place })
    }

    fn handle(&self) -> Handle {
        // SAFETY: the connection is open.
        unsafe { *self.place }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: it is closed once.
        unsafe { (self.api.close_conn)(self.place) };
    }
}

/// A session, used by one thread at a time.
pub(super) struct Connection {
    // Dropped first: the instance's own connection is the last one that is closed.
    raw: Raw,
    pub instance: Arc<Instance>,
}

impl Connection {
    pub(super) fn api(&self) -> &'static Api {
        self.instance.api
    }

    pub(super) fn handle(&self) -> Handle {
        self.raw.handle()
    }

    /// Runs a statement; the rows that it wrote.
    ///
    /// # Errors
    /// ClickHouse's error.
    pub(super) fn execute(&self, sql: &str) -> Result<u64, EngineError> {
        self.ask(sql, "Null", &mut Parameters::none()).map(|answer| answer.rows_written())
    }

    /// Runs a statement; its whole answer in this format.
    ///
    /// # Errors
    /// As [`Connection::execute`].
    pub(super) fn ask(
        &self,
        sql: &str,
        format: &str,
        parameters: &mut Parameters,
    ) -> Result<Answer, EngineError> {
        let question = Question { connection: self.handle(), sql, format };
        Answer::execute(self.api(), question, parameters)
    }
}
