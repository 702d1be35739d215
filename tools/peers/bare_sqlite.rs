//! A bare loop over SQLite's C interface: prepare once, then bind, step, read every column, reset.

use std::ffi::c_int;
use std::hint::black_box;
use std::ptr;
use std::time::Instant;

use dbdyno::error::{Error, Result};
use dbdyno::stats::keys::KeyStream;
use rusqlite::{Connection, OpenFlags, ffi};

use crate::failed;
use crate::lab::{Lab, SEED};
use crate::pairs::Done;

/// Ops between two looks at the clock.
const BATCH: u64 = 10_000;

/// Loops for `seconds` over `sql` with one bind: lookups per second. With `one_transaction` all
/// reads share one. In a thread of its own as our jobs are, since the memory allocator favours the
/// main thread.
pub fn run(lab: &Lab, sql: &str, seconds: f64, one_transaction: bool) -> Result<Done> {
    let rows = lab.loaded.facts_for(&[]).get("small_rows").copied().unwrap_or_default() as u64;
    let connection = connect(lab)?;
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || lookups(&connection, sql, rows, seconds, one_transaction));
        thread.join().unwrap_or_else(|_| Err(failed("bare loop", "panicked")))
    })
}

fn lookups(
    connection: &Connection,
    sql: &str,
    rows: u64,
    seconds: f64,
    one_transaction: bool,
) -> Result<Done> {
    if one_transaction {
        connection.execute_batch("begin").map_err(|error| to_error(&error))?;
    }
    let mut statement = Bare::prepare(connection, sql)?;
    let mut keys = KeyStream::for_job(SEED, 1);
    let (start, mut ops) = (Instant::now(), 0);
    while start.elapsed().as_secs_f64() < seconds {
        for _ in 0..BATCH {
            statement.lookup(keys.key(rows) as i64)?;
        }
        ops += BATCH;
    }
    Ok(Done::new(ops as f64 / start.elapsed().as_secs_f64(), Some(ops as f64)))
}

/// A connection with the flags and the cache of our own.
fn connect(lab: &Lab) -> Result<Connection> {
    let file = lab.file.as_ref().ok_or_else(|| failed("bare loop", "needs a file"))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_PRIVATE_CACHE;
    let connection = Connection::open_with_flags(file, flags).map_err(|error| to_error(&error))?;
    let cache_mb: i64 = lab.settings.get("cache_mb").and_then(|mb| mb.parse().ok()).unwrap_or(16);
    connection
        .pragma_update(None, "cache_size", -1024 * cache_mb)
        .map_err(|error| to_error(&error))?;
    Ok(connection)
}

fn to_error(error: &rusqlite::Error) -> Error {
    failed("bare loop", error.to_string())
}

/// A prepared statement and what its columns hold, as a program that knows its table would.
struct Bare<'c> {
    raw: *mut ffi::sqlite3_stmt,
    is_integer: Vec<bool>,
    /// The statement must not outlive it.
    _connection: &'c Connection,
}

impl<'c> Bare<'c> {
    fn prepare(connection: &'c Connection, sql: &str) -> Result<Self> {
        let mut raw = ptr::null_mut();
        let length = c_int::try_from(sql.len())
            .map_err(|_| failed("bare loop", "the statement is too long"))?;
        // SAFETY: the handle is open as long as `connection`; the text is read within the call, up
        // to `length`.
        let code = unsafe {
            ffi::sqlite3_prepare_v2(
                connection.handle(),
                sql.as_ptr().cast(),
                length,
                &mut raw,
                ptr::null_mut(),
            )
        };
        let mut statement = Bare { raw, is_integer: Vec::new(), _connection: connection };
        expect(code, ffi::SQLITE_OK)?;
        statement.is_integer = statement.kinds()?;
        Ok(statement)
    }

    /// Looks at the first row.
    fn kinds(&mut self) -> Result<Vec<bool>> {
        // SAFETY: `raw` is a prepared statement of an open connection, used by this thread only.
        unsafe {
            expect(ffi::sqlite3_bind_int64(self.raw, 1, 1), ffi::SQLITE_OK)?;
            expect(ffi::sqlite3_step(self.raw), ffi::SQLITE_ROW)?;
            let columns = 0..ffi::sqlite3_column_count(self.raw);
            let kinds = columns
                .map(|column| ffi::sqlite3_column_type(self.raw, column) == ffi::SQLITE_INTEGER);
            let kinds = kinds.collect();
            expect(ffi::sqlite3_reset(self.raw), ffi::SQLITE_OK)?;
            Ok(kinds)
        }
    }

    #[inline]
    fn lookup(&mut self, key: i64) -> Result<()> {
        // SAFETY: as in `kinds`; the text of a column is not used after the next step.
        unsafe {
            ffi::sqlite3_bind_int64(self.raw, 1, key);
            while ffi::sqlite3_step(self.raw) == ffi::SQLITE_ROW {
                for (column, is_integer) in (0..).zip(&self.is_integer) {
                    if *is_integer {
                        black_box(ffi::sqlite3_column_int64(self.raw, column));
                    } else {
                        black_box(ffi::sqlite3_column_text(self.raw, column));
                        black_box(ffi::sqlite3_column_bytes(self.raw, column));
                    }
                }
            }
            expect(ffi::sqlite3_reset(self.raw), ffi::SQLITE_OK)
        }
    }
}

impl Drop for Bare<'_> {
    fn drop(&mut self) {
        // SAFETY: `raw` is a statement of a connection that is still open, or null, which is
        // allowed.
        unsafe {
            ffi::sqlite3_finalize(self.raw);
        }
    }
}

#[inline]
fn expect(code: c_int, expected: c_int) -> Result<()> {
    if code == expected {
        Ok(())
    } else {
        Err(failed("bare loop", format!("SQLite's result code is {code}")))
    }
}
