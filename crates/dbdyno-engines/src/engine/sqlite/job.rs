//! A job's session: prepared statements on its own connection, and the library's counters about
//! them.

use std::ffi::c_int;

use rusqlite::{Connection, ffi};

use super::{error::from_sqlite, load::insert_rows, statement::PreparedStatement};
use crate::engine::client_loop::{ClientSession, CountedRows};
use crate::engine::{EngineError, RowLoad};
use dbdyno_core::model::{BoundStatement, Counters};

pub(super) struct SqliteJob<'c> {
    connection: &'c Connection,
    statements: Vec<PreparedStatement<'c>>,
    begin: PreparedStatement<'c>,
    begin_read: PreparedStatement<'c>,
    commit: PreparedStatement<'c>,
    /// Bytes of the log that a written page takes; none without a write-ahead log.
    frame_bytes: Option<f64>,
    folded: Counters,
}

impl<'c> SqliteJob<'c> {
    pub(super) fn prepare(
        connection: &'c Connection,
        statements: &[&BoundStatement],
    ) -> Result<Self, EngineError> {
        let prepare = |sql: &str, name: &str| {
            PreparedStatement::new(connection, sql).map_err(|error| from_sqlite(&error, name))
        };
        let prepared = statements.iter().map(|statement| prepare(&statement.sql, &statement.name));
        Ok(SqliteJob {
            connection,
            statements: prepared.collect::<Result<_, EngineError>>()?,
            // Takes the right to write at once: a read that turns into a write cannot wait for
            // another writer.
            begin: prepare("begin immediate", "begin immediate")?,
            begin_read: prepare("begin", "begin")?,
            commit: prepare("commit", "commit")?,
            frame_bytes: frame_bytes(connection)?,
            folded: Counters::default(),
        })
    }
}

impl ClientSession for SqliteJob<'_> {
    fn begin(&mut self) -> Result<(), EngineError> {
        self.begin.run(&[]).map(drop).map_err(|error| from_sqlite(&error, "begin immediate"))
    }
    fn begin_read(&mut self) -> Result<(), EngineError> {
        self.begin_read.run(&[]).map(drop).map_err(|error| from_sqlite(&error, "begin"))
    }
    fn commit(&mut self) -> Result<(), EngineError> {
        self.commit.run(&[]).map(drop).map_err(|error| from_sqlite(&error, "commit"))
    }
    fn rollback(&mut self) -> Result<(), EngineError> {
        if self.connection.is_autocommit() {
            return Ok(()); // some errors (disk full, out of memory) have rolled back already
        }
        self.connection.execute_batch("rollback").map_err(|error| from_sqlite(&error, "rollback"))
    }
    #[inline]
    fn run(&mut self, statement: usize, binds: &[i64]) -> Result<u64, EngineError> {
        self.statements[statement]
            .run(binds)
            .map_err(|error| from_sqlite(&error, "statement of the op"))
    }
    fn run_counting(
        &mut self,
        statement: usize,
        binds: &[i64],
    ) -> Result<CountedRows, EngineError> {
        self.statements[statement]
            .run_counting(binds)
            .map_err(|error| from_sqlite(&error, "statement of the op"))
    }
    fn load(&mut self, load: &RowLoad<'_>) -> Result<(), EngineError> {
        insert_rows(self.connection, load, &mut |_| true)
    }
    fn end_slice(&mut self) {
        let sum =
            |counter| self.statements.iter().map(|statement| statement.take_status(counter)).sum();
        let mut counters = take(self.connection);
        if let (Some(frame_bytes), Some(written)) =
            (self.frame_bytes, counters.get("blocks_written"))
        {
            counters.set("wal_bytes", frame_bytes * written);
        }
        counters.set("statements_run", sum(ffi::SQLITE_STMTSTATUS_RUN));
        counters.set("full_scan_steps", sum(ffi::SQLITE_STMTSTATUS_FULLSCAN_STEP));
        self.folded.add(&counters);
    }
    fn counters(&mut self) -> Counters {
        self.end_slice();
        let mut counters = self.folded.clone();
        counters.set("rows_changed", self.connection.total_changes() as f64);
        counters
    }
}

/// With a write-ahead log every page that a transaction changed goes there, behind a header
/// (SQLite's file format, 4.1).
fn frame_bytes(connection: &Connection) -> Result<Option<f64>, EngineError> {
    const HEADER_BYTES: f64 = 24.0;
    let sql = "select journal_mode, page_size from pragma_journal_mode, pragma_page_size";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, f64>(1)?));
    let (mode, page_bytes) =
        connection.query_row(sql, [], read).map_err(|error| from_sqlite(&error, sql))?;
    Ok((mode == "wal").then_some(page_bytes + HEADER_BYTES))
}

/// The library's counters of one connection (`sqlite3_db_status`) by their standard names, since
/// the last call: pages looked for in the page cache, pages read, pages written.
fn take(connection: &Connection) -> Counters {
    let mut counters = Counters::default();
    let hits = take_one(connection, ffi::SQLITE_DBSTATUS_CACHE_HIT);
    let misses = take_one(connection, ffi::SQLITE_DBSTATUS_CACHE_MISS);
    if let (Some(hits), Some(misses)) = (hits, misses) {
        counters.set("logical_reads", hits + misses);
        counters.set("physical_reads", misses);
    }
    if let Some(written) = take_one(connection, ffi::SQLITE_DBSTATUS_CACHE_WRITE) {
        counters.set("blocks_written", written);
    }
    counters
}

/// Reads one counter and sets it back to 0, since it has 31 bits only.
fn take_one(connection: &Connection, counter: c_int) -> Option<f64> {
    let (mut current, mut highest) = (0, 0);
    // SAFETY: the handle lives as long as `connection`, both pointers are valid ints, nothing keeps
    // them.
    let code = unsafe {
        ffi::sqlite3_db_status(connection.handle(), counter, &mut current, &mut highest, 1)
    };
    (code == ffi::SQLITE_OK).then_some(f64::from(current))
}
