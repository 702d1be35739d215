//! The control session.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, InterruptHandle};

use super::error::from_sqlite;
use crate::engine::cancel::Entered;
use crate::engine::{EngineError, Rows, Session};

pub(super) struct SqliteSession {
    connection: Connection,
    _running: Entered<InterruptHandle>,
}

impl Session for SqliteSession {
    fn execute(&mut self, sql: &str) -> Result<u64, EngineError> {
        let before = self.connection.total_changes();
        // A statement may return rows (a pragma): they are read and dropped.
        self.read(sql, &[])?;
        Ok(self.connection.total_changes() - before)
    }
    fn query(&mut self, sql: &str, binds: &[i64]) -> Result<Rows, EngineError> {
        self.read(sql, binds)
    }
}

impl SqliteSession {
    pub(super) fn new(connection: Connection, running: Entered<InterruptHandle>) -> Self {
        SqliteSession { connection, _running: running }
    }

    fn read(&self, sql: &str, binds: &[i64]) -> Result<Rows, EngineError> {
        self.read_all(sql, binds).map_err(|error| from_sqlite(&error, sql))
    }

    fn read_all(&self, sql: &str, binds: &[i64]) -> rusqlite::Result<Rows> {
        let mut statement = self.connection.prepare(sql)?;
        let columns: Vec<_> = statement.column_names().map(String::from).collect();
        let mut found = statement.query(rusqlite::params_from_iter(binds))?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let values = (0..columns.len()).map(|column| row.get_ref(column).map(as_text));
            rows.push(values.collect::<Result<_, _>>()?);
        }
        Ok(Rows { columns, rows })
    }
}

fn as_text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}
