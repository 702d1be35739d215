//! Opening and creating the results file, and bringing an older one to the present schema.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior};
use rustix::fs::{Access, access};

use super::failure::{cannot_read, damaged_error, explain, place, unwritable};
use dbdyno_core::error::{Error, Result, quote};

/// Marks a SQLite file as ours: "dbdy" as a big-endian number.
pub const APPLICATION_ID: i32 = 0x6462_6479;

/// Version of `schema.sql`, kept in the file's `user_version`. Raise it with every change and add a
/// migration.
pub const SCHEMA_VERSION: i32 = 4;

/// SQLite's name of a database that is no file.
pub(super) const IN_MEMORY: &str = ":memory:";

pub(super) const SCHEMA: &str = include_str!("schema.sql");

/// Timeout of a reader or writer that waits for another writer.
const BUSY: Duration = Duration::from_secs(20);
/// Time between two tries of what SQLite does not wait for.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A step from one schema version to the next.
pub struct Migration {
    /// The version that it starts from.
    pub from: i32,
    /// Statements that lead to `from + 1`.
    pub sql: &'static str,
}

/// Every step from the oldest readable version to [`SCHEMA_VERSION`].
pub(super) const MIGRATIONS: &[Migration] = &[
    Migration { from: 1, sql: include_str!("migrations/1.sql") },
    Migration { from: 2, sql: include_str!("migrations/2.sql") },
    Migration { from: 3, sql: include_str!("migrations/3.sql") },
];

/// Opens the file at `path`; creates it, and its directory, if it does not exist.
///
/// # Errors
/// If the file cannot be written, is not ours, is damaged or was written by a newer dbdyno.
pub fn open(path: &Path) -> Result<Connection> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        let made =
            fs::DirBuilder::new().recursive(true).mode(mode_of_directory()).create(directory);
        made.map_err(|error| unwritable(path, &error.to_string()))?;
    }
    if path.is_dir() {
        return Err(unwritable(path, "it is a directory"));
    }
    make_private(path);
    let mut connection = Connection::open(path).map_err(|error| explain(path, &error))?;
    guard(&connection).map_err(|error| explain(path, &error))?;
    // Before anything is brought up to date in it.
    only_ours(&connection, path)?;
    prepare_schema(&mut connection, path)?;
    configure(&connection).map_err(|error| explain(path, &error))?;
    Ok(connection)
}

/// Rights of a directory that is made for a results file: nobody else lists it. That of root may be
/// passed through, because private databases may live in it, whose servers run as another account.
fn mode_of_directory() -> u32 {
    if rustix::process::geteuid().is_root() { 0o711 } else { 0o700 }
}

/// Makes a file that only its owner can read: texts of statements, names of hosts and command lines
/// stand in it. SQLite gives the files beside it the same mode. One that is there stays as it is,
/// which its owner may have opened to others; what cannot be made is for SQLite to tell.
fn make_private(path: &Path) {
    if path != Path::new(IN_MEMORY) {
        let _ = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    }
}

/// Opens a file that is there, to read it: one that may not be written stays as it is.
///
/// # Errors
/// If the file cannot be read, is not ours, is damaged or was written by a newer dbdyno; by an
/// older one, if it may not be brought up to date.
pub fn open_to_read(path: &Path) -> Result<Connection> {
    if may_write(path) {
        return open(path);
    }
    open_read_only(path)
}

/// Opens a file that is there, and writes nothing to it whoever may.
///
/// # Errors
/// As [`open_to_read`], also if it is of an older dbdyno.
pub fn open_read_only(path: &Path) -> Result<Connection> {
    let connection = read_only(path).map_err(|error| cannot_read(path, &error))?;
    guard(&connection).map_err(|error| explain(path, &error))?;
    // The first statement finds out whether the file and what lies beside it can be read.
    let version = pragma(&connection, "user_version").map_err(|error| cannot_read(path, &error))?;
    if !is_current(&connection, path)? {
        return Err(older_file(path, version));
    }
    only_ours(&connection, path).map(|()| connection)
}

/// A file may come from a stranger (SQLite manual, "Defense Against The Dark Arts"): what it
/// defines may call nothing that acts.
fn guard(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)
}

/// Refuses a file with anything but plain tables and indexes: a view or a column that is computed
/// would run what its author wrote whenever we read.
fn only_ours(connection: &Connection, path: &Path) -> Result<()> {
    let foreign: Option<String> = connection
        .query_row(FOREIGN, [], |row| row.get(0))
        .optional()
        .map_err(|error| explain(path, &error))?;
    foreign.map_or(Ok(()), |name| {
        let what = format!("holds {}, which dbdyno does not make", quote(name));
        Err(Error::usage(place(path), what).advise("give another file with --results"))
    })
}

/// Query for anything that is no plain table or index, or a table with computed columns.
const FOREIGN: &str = "select s.type || ' ' || s.name from sqlite_schema s \
    where s.type not in ('table', 'index') or s.type = 'table' and (s.sql like '%virtual%table%' \
      or exists (select 1 from pragma_table_xinfo(s.name) where hidden <> 0)) limit 1";

/// True if the file may be written, and files beside it, as writing takes.
fn may_write(path: &Path) -> bool {
    let directory = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    [path, directory].into_iter().all(|place| access(place, Access::WRITE_OK).is_ok())
}

/// A connection that writes nothing. Even a reader of a file in WAL mode wants to put files beside
/// it, unless it is told that nobody changes the file; whoever could has a log there.
fn read_only(path: &Path) -> rusqlite::Result<Connection> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let immutable = if Path::new(&log).exists() { "" } else { "&immutable=1" };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(format!("file:{}?mode=ro{immutable}", in_uri(path)), flags)
}

/// A path as part of a URI (SQLite manual, "URI Filenames").
fn in_uri(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

/// Readers never block the writer (WAL); a stored test survives a crash of the machine (synchronous
/// = full).
fn configure(connection: &Connection) -> rusqlite::Result<()> {
    let began = Instant::now();
    switch_to_wal(connection, || {
        std::thread::sleep(POLL_INTERVAL);
        began.elapsed() < BUSY
    })?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)
}

/// Switches to WAL, again and again while others have the file open: for this SQLite does not wait
/// as it does for a lock (SQLite manual, "Write-Ahead Logging": the change needs the file for
/// itself). `wait` returns false when there is no time left.
fn switch_to_wal(connection: &Connection, mut wait: impl FnMut() -> bool) -> rusqlite::Result<()> {
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && wait() => {}
            done => return done,
        }
    }
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

fn prepare_schema(connection: &mut Connection, path: &Path) -> Result<()> {
    let explain = |error: rusqlite::Error| explain(path, &error);
    if is_current(connection, path)? {
        return Ok(());
    }
    // Another process may create or migrate the file at the same moment: look again once we alone
    // may write.
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(explain)?;
    if !is_current(&transaction, path)? {
        match pragma(&transaction, "user_version").map_err(explain)? {
            0 => create(&transaction).map_err(explain)?,
            from => migrate(&transaction, MIGRATIONS, from, SCHEMA_VERSION)
                .map_err(|what| damaged_error(&place(path), &what))?,
        }
    }
    transaction.commit().map_err(explain)
}

/// True if the file has the present schema, false if it is empty or older.
fn is_current(connection: &Connection, path: &Path) -> Result<bool> {
    let read = |name| pragma(connection, name).map_err(|error| explain(path, &error));
    let (application, version) = (read("application_id")?, read("user_version")?);
    let empty = read("schema_version")? == 0;
    match (application, version) {
        (0, 0) if empty => Ok(false),
        (APPLICATION_ID, SCHEMA_VERSION) => Ok(true),
        (APPLICATION_ID, newer) if newer > SCHEMA_VERSION => Err(self::newer(&place(path), newer)),
        (APPLICATION_ID, older) if older > 0 => Ok(false),
        _ => Err(Error::usage(place(path), "is a SQLite file but not a dbdyno results file")
            .advise("give another file with --results")),
    }
}

/// Results that a newer program wrote.
pub(super) fn newer(place: &str, version: i32) -> Error {
    let what = format!(
        "was written by a newer dbdyno (schema {version}, this one knows {SCHEMA_VERSION})"
    );
    Error::usage(place, what).advise("update dbdyno or name others with --results")
}

/// Results in a database that an older program wrote and that are only read.
pub(super) fn older(place: &str, version: i32) -> Error {
    let what = format!(
        "was written by an older dbdyno (schema {version}, this one's is {SCHEMA_VERSION}) and is \
         only read here"
    );
    Error::usage(place, what).advise("bring it up to date: 'dbdyno results list --results URL'")
}

/// A version that no program of ours wrote.
pub(super) fn no_way_up(place: &str, version: i32) -> Error {
    Error::usage(place, format!("no way to bring schema {version} up to date"))
        .advise("name others with --results")
}

fn older_file(path: &Path, version: i32) -> Error {
    let why = if may_write(path) {
        "and is only read here"
    } else {
        "and may not be written to bring it up to date"
    };
    let what = format!(
        "was written by an older dbdyno (schema {version}, this one's is {SCHEMA_VERSION}) {why}"
    );
    let advice = match may_write(path) {
        true => "bring it up to date: 'dbdyno results list --results FILE'",
        false => "copy it to where you may write, and name the copy with --results",
    };
    Error::usage(place(path), what).advise(advice)
}

fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(SCHEMA)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", SCHEMA_VERSION)
}

/// Runs the steps that lead from version `from` to `to`; the caller's transaction makes it all or
/// nothing.
fn migrate(
    connection: &Connection,
    steps: &[Migration],
    from: i32,
    to: i32,
) -> std::result::Result<(), String> {
    for version in from..to {
        let step = steps.iter().find(|step| step.from == version);
        let step = step.ok_or_else(|| format!("no way to bring schema {version} up to date"))?;
        connection.execute_batch(step.sql).map_err(|error| format!("schema {version}: {error}"))?;
    }
    connection.pragma_update(None, "user_version", to).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_run_in_order_and_a_gap_is_an_error() {
        let steps = [
            Migration { from: 2, sql: "ALTER TABLE t ADD COLUMN c INTEGER" },
            Migration { from: 1, sql: "CREATE TABLE t (a INTEGER, b INTEGER)" },
        ];
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, &steps, 1, 3).unwrap();
        connection.execute("INSERT INTO t (a, b, c) VALUES (1, 2, 3)", []).unwrap();
        assert_eq!(pragma(&connection, "user_version"), Ok(3));
        assert!(migrate(&connection, &steps, 3, 4).unwrap_err().contains("schema 3"));
    }

    #[test]
    fn every_older_version_has_a_way_up() {
        let known: Vec<i32> = MIGRATIONS.iter().map(|step| step.from).collect();
        assert_eq!(known, (1..SCHEMA_VERSION).collect::<Vec<_>>());
    }

    /// A file between its schema and its journal mode, with a reader at work.
    fn read_while_it_is_made(path: &Path) -> [Connection; 2] {
        let [reader, writer] = [(); 2].map(|()| Connection::open(path).unwrap());
        writer.busy_timeout(Duration::ZERO).unwrap();
        writer.execute_batch("create table run (id integer)").unwrap();
        reader.execute_batch("begin; select * from run").unwrap();
        [reader, writer]
    }

    #[test]
    fn a_reader_of_a_new_file_delays_its_writer_and_does_not_fail_it() {
        let dir = tempfile::tempdir().unwrap();
        let [reader, writer] = read_while_it_is_made(&dir.path().join("results.db"));
        let mut waits = 0;
        let wait = || {
            waits += 1;
            reader.execute_batch("commit").unwrap();
            true
        };
        switch_to_wal(&writer, wait).unwrap();
        assert_eq!(waits, 1, "nothing was waited for");
        let mode: String =
            writer.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");

        let [_reader, writer] = read_while_it_is_made(&dir.path().join("other.db"));
        assert!(switch_to_wal(&writer, || false).is_err(), "time is over");
    }
}
