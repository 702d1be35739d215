//! A job's session: prepared statements on its own connection, and the library's counters about them.

use rusqlite::{Connection, Statement, StatementStatus};

use super::{error::from_sqlite, load::insert_rows, status};
use crate::engine::client_loop::ClientSession;
use crate::engine::{EngineError, RowLoad};
use crate::model::{BoundStatement, Counters};

pub(super) struct SqliteJob<'c> {
    connection: &'c Connection,
    /// With its number of columns; 0 = it returns no rows.
    statements: Vec<(Statement<'c>, usize)>,
    begin: Statement<'c>,
    begin_read: Statement<'c>,
    commit: Statement<'c>,
    folded: Counters,
}

impl<'c> SqliteJob<'c> {
    pub(super) fn prepare(connection: &'c Connection, statements: &[&BoundStatement]) -> Result<Self, EngineError> {
        let prepare = |sql: &str| connection.prepare(sql).map_err(|error| from_sqlite(&error, sql));
        let prepared = statements.iter().map(|statement| {
            let prepared = connection.prepare(&statement.sql).map_err(|error| from_sqlite(&error, &statement.name))?;
            let columns = prepared.column_count();
            Ok((prepared, columns))
        });
        Ok(SqliteJob {
            connection,
            statements: prepared.collect::<Result<_, EngineError>>()?,
            // Takes the right to write at once: a read that turns into a write cannot wait for another writer.
            begin: prepare("begin immediate")?,
            begin_read: prepare("begin")?,
            commit: prepare("commit")?,
            folded: Counters::default(),
        })
    }
}

/// Runs a prepared statement, reads every column of every row.
#[inline]
fn run(statement: &mut Statement<'_>, columns: usize, binds: &[i64]) -> rusqlite::Result<u64> {
    for (position, bind) in binds.iter().enumerate() {
        statement.raw_bind_parameter(position + 1, bind)?;
    }
    if columns == 0 {
        return statement.raw_execute().map(|changed| changed as u64);
    }
    let mut fetched = 0;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            std::hint::black_box(row.get_ref(column)?);
        }
        fetched += 1;
    }
    Ok(fetched)
}

impl ClientSession for SqliteJob<'_> {
    fn begin(&mut self) -> Result<(), EngineError> {
        self.begin.raw_execute().map(drop).map_err(|error| from_sqlite(&error, "begin immediate"))
    }
    fn begin_read(&mut self) -> Result<(), EngineError> {
        self.begin_read.raw_execute().map(drop).map_err(|error| from_sqlite(&error, "begin"))
    }
    fn commit(&mut self) -> Result<(), EngineError> {
        self.commit.raw_execute().map(drop).map_err(|error| from_sqlite(&error, "commit"))
    }
    fn rollback(&mut self) -> Result<(), EngineError> {
        if self.connection.is_autocommit() {
            return Ok(()); // some errors (disk full, out of memory) have rolled back already
        }
        self.connection.execute_batch("rollback").map_err(|error| from_sqlite(&error, "rollback"))
    }
    #[inline]
    fn run(&mut self, statement: usize, binds: &[i64]) -> Result<u64, EngineError> {
        let (prepared, columns) = &mut self.statements[statement];
        run(prepared, *columns, binds).map_err(|error| from_sqlite(&error, "statement of the op"))
    }
    fn load(&mut self, load: &RowLoad<'_>) -> Result<(), EngineError> {
        insert_rows(self.connection, load, &mut |_| true)
    }
    fn slice_ended(&mut self) {
        let sum = |status| self.statements.iter().map(|(one, _)| f64::from(one.reset_status(status) as u32)).sum();
        let mut counters = status::take(self.connection);
        counters.set("statements_run", sum(StatementStatus::Run));
        counters.set("full_scan_steps", sum(StatementStatus::FullscanStep));
        self.folded.add(&counters);
    }
    fn counters(&mut self) -> Counters {
        self.slice_ended();
        let mut counters = self.folded.clone();
        counters.set("rows_changed", self.connection.total_changes() as f64);
        counters
    }
}
