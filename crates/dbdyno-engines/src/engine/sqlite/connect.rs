//! Connections: flags and settings, the same for every session of a run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Once;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, ffi};

use super::error::from_sqlite;
use crate::engine::embedded::not_creatable;
use crate::engine::{EngineError, ErrorClass};

/// Pause between two attempts to get another connection's lock; the system adds about as much.
const BUSY_PAUSE: Duration = Duration::from_micros(50);
/// Attempts before class `Busy`: about ten seconds.
const BUSY_ATTEMPTS: i32 = 100_000;
/// Settings that belong to the file: made when it is opened first, kept in it.
const OF_FILE: [&str; 2] = ["page_size", "journal_mode"];
/// Settings of every connection.
const OF_CONNECTION: [&str; 7] = [
    "synchronous",
    "wal_autocheckpoint",
    "temp_store",
    "mmap_size",
    "cache_spill",
    "locking_mode",
    "busy_timeout",
];

/// The entry of an extension that is linked in: it calls the library directly, so that it needs no
/// table of its functions.
type Entry = unsafe extern "C" fn(
    *mut ffi::sqlite3,
    *mut *mut std::ffi::c_char,
    *const std::ffi::c_void,
) -> std::ffi::c_int;

/// Gives a connection the functions of vectors (sqlite-vec).
fn add_vectors(connection: &Connection) -> Result<(), EngineError> {
    // SAFETY: the function is of the type of every extension's entry, which its binding leaves out;
    // the handle is open, and no message is asked for.
    let code = unsafe {
        let entry =
            std::mem::transmute::<unsafe extern "C" fn(), Entry>(sqlite_vec::sqlite3_vec_init);
        entry(connection.handle(), std::ptr::null_mut(), std::ptr::null())
    };
    if code == ffi::SQLITE_OK {
        return Ok(());
    }
    let failed = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
    Err(from_sqlite(&failed, "the functions of vectors"))
}

/// Mode in which the file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    ReadWrite,
    ReadOnly,
    /// Read only, without lock and shared-memory files: nobody writes meanwhile.
    Immutable,
    /// The file does not exist and shall not be made.
    Memory,
}

/// Checked settings as `pragma name = value`.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    of_file: Vec<(String, String)>,
    of_connection: Vec<(String, String)>,
}

impl Settings {
    /// Checks the settings of a profile. `cache_mb` (2^20 bytes) becomes SQLite's `cache_size`.
    ///
    /// # Errors
    /// An unknown setting, or a value that is not a plain word or number.
    pub(super) fn read(settings: &BTreeMap<String, String>) -> Result<Self, EngineError> {
        let mut read = Settings::default();
        for (name, value) in settings {
            let wrong = || {
                EngineError::new(
                    ErrorClass::Statement,
                    format!("setting {name} = '{value}' is not known"),
                )
            };
            if value.is_empty() || !value.chars().all(|c| c.is_ascii_alphanumeric()) {
                return Err(wrong());
            }
            let pair = (name.clone(), value.clone());
            match name.as_str() {
                "cache_mb" => {
                    let kib = value.parse::<u32>().map_err(|_| wrong())?.saturating_mul(1024);
                    read.of_connection.push(("cache_size".into(), format!("-{kib}")));
                }
                name if OF_FILE.contains(&name) => read.of_file.push(pair),
                name if OF_CONNECTION.contains(&name) => read.of_connection.push(pair),
                _ => return Err(wrong()),
            }
        }
        // The page size can only be chosen before the file is switched to write-ahead logging.
        read.of_file.sort_by_key(|(name, _)| name != "page_size");
        Ok(read)
    }

    /// Opens the file for the first time: proves that it can be used, and writes the settings that
    /// it keeps.
    pub(super) fn create(&self, file: &Path, mode: Mode) -> Result<(), EngineError> {
        if mode == Mode::ReadWrite
            && let Some(directory) = file.parent()
        {
            std::fs::create_dir_all(directory).map_err(|_| not_creatable(file))?;
        }
        let connection = self.connect(file, mode)?;
        has_mathematics(&compile_options(&connection)?)?;
        if mode == Mode::ReadWrite {
            set(&connection, &self.of_file)?;
        }
        let count = "select count(*) from sqlite_schema";
        connection
            .query_row(count, [], |row| row.get::<_, i64>(0))
            .map_err(|error| from_sqlite(&error, count))?;
        Ok(())
    }

    /// A connection with a private cache that is used by one thread at a time, hence without its
    /// own mutex.
    pub(super) fn connect(&self, file: &Path, mode: Mode) -> Result<Connection, EngineError> {
        without_memory_statistics();
        let private = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_PRIVATE_CACHE;
        let read_only = private | OpenFlags::SQLITE_OPEN_READ_ONLY;
        let opened = match mode {
            Mode::Memory => Connection::open_in_memory(),
            Mode::ReadOnly => Connection::open_with_flags(file, read_only),
            Mode::Immutable => {
                Connection::open_with_flags(immutable(file), read_only | OpenFlags::SQLITE_OPEN_URI)
            }
            Mode::ReadWrite => Connection::open_with_flags(
                file,
                private | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            ),
        };
        let place = file.display().to_string();
        let mut connection = opened.map_err(|error| from_sqlite(&error, &place))?;
        connection
            .busy_handler(Some(wait_for_lock))
            .map_err(|error| from_sqlite(&error, &place))?;
        set(&connection, &self.of_connection)?;
        add_vectors(&connection)?;
        Ok(connection)
    }
}

/// Compile options of the library, by SQLite's names.
fn compile_options(connection: &Connection) -> Result<Vec<String>, EngineError> {
    let sql = "select compile_options from pragma_compile_options";
    let read = || -> rusqlite::Result<Vec<String>> {
        connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
    };
    read().map_err(|error| from_sqlite(&error, sql))
}

/// Refuses a library without sqrt, ln and pow, which workloads call: cargo takes our options of its
/// build (`.cargo/config.toml`) only where it is started inside the checkout.
fn has_mathematics(compile_options: &[String]) -> Result<(), EngineError> {
    if compile_options.iter().any(|option| option == "ENABLE_MATH_FUNCTIONS") {
        return Ok(());
    }
    Err(EngineError::new(
        ErrorClass::Other,
        "this dbdyno was built with a SQLite that lacks sqrt, ln and pow; build it inside its \
         checkout, or with LIBSQLITE3_FLAGS=-DSQLITE_ENABLE_MATH_FUNCTIONS in the environment",
    ))
}

/// Waits for another connection's lock. The library's own way, pauses that grow to 100 ms, starves
/// a job: the others take the lock again within microseconds, and the job asks ten times a second.
fn wait_for_lock(attempts: i32) -> bool {
    std::thread::sleep(BUSY_PAUSE);
    attempts < BUSY_ATTEMPTS
}

/// The file as a URI that promises that nobody changes it.
fn immutable(file: &Path) -> String {
    let path =
        file.display().to_string().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    format!("file:{path}?immutable=1")
}

fn set(connection: &Connection, settings: &[(String, String)]) -> Result<(), EngineError> {
    for (name, value) in settings {
        let pragma = format!("pragma {name} = {value}");
        connection.execute_batch(&pragma).map_err(|error| from_sqlite(&error, &pragma))?;
    }
    Ok(())
}

/// Turns the library's global memory statistics off: every allocation would take one mutex that all
/// jobs share. Only works before the library's first use in the process, so call it early; later it
/// changes nothing.
pub(super) fn without_memory_statistics() {
    static ONCE: Once = Once::new();
    // SAFETY: sqlite3_config with this option takes one int and is refused (SQLITE_MISUSE) once the
    // library runs. `Once` keeps two of our threads from calling it together.
    ONCE.call_once(|| unsafe {
        ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_without_mathematics_is_refused_with_the_way_out() {
        let named = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let plain = named(&["COMPILER=gcc-12.2.0", "THREADSAFE=1"]);
        let error = has_mathematics(&plain).unwrap_err().to_string();
        assert!(error.contains("LIBSQLITE3_FLAGS=-DSQLITE_ENABLE_MATH_FUNCTIONS"), "{error}");
        has_mathematics(&named(&["THREADSAFE=1", "ENABLE_MATH_FUNCTIONS"])).unwrap();
        has_mathematics(&compile_options(&Connection::open_in_memory().unwrap()).unwrap()).unwrap();
    }
}
