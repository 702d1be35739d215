//! The control session.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, InterruptHandle, Statement};

use super::error::from_sqlite;
use super::statement::has_more;
use crate::engine::cancel::HandleGuard;
use crate::engine::{EngineError, Rows, Session};

pub(super) struct SqliteSession {
    connection: Connection,
    _running: HandleGuard<InterruptHandle>,
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
    pub(super) fn new(connection: Connection, running: HandleGuard<InterruptHandle>) -> Self {
        SqliteSession { connection, _running: running }
    }

    fn read(&self, sql: &str, binds: &[i64]) -> Result<Rows, EngineError> {
        self.read_all(sql, binds).map_err(|error| from_sqlite(&error, sql))
    }

    fn read_all(&self, sql: &str, binds: &[i64]) -> rusqlite::Result<Rows> {
        let mut statement = prepare(&self.connection, sql)?;
        let mut found = statement.query(rusqlite::params_from_iter(binds))?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let columns = row.as_ref().column_count();
            let values = (0..columns).map(|column| row.get_ref(column).map(as_text));
            rows.push(values.collect::<Result<_, _>>()?);
        }
        drop(found);
        // Only the first step notices that another session has changed the table.
        let columns = statement.column_names().map(String::from).collect();
        Ok(Rows { columns, rows })
    }
}

/// The one statement of a text.
fn prepare<'c>(connection: &'c Connection, sql: &str) -> rusqlite::Result<Statement<'c>> {
    // Of several statements the second is prepared before the first has run, and may lack what that
    // makes.
    let several = |error| if has_more(connection, sql) { Error::MultipleStatement } else { error };
    connection.prepare(sql).map_err(several)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_several_statements_is_refused_for_that_whatever_the_second_lacks() {
        let connection = Connection::open_in_memory().unwrap();
        for second in ["insert into t values (1)", "create table u (a integer)", "nonsense"] {
            let sql = format!("create table t (a integer); {second}");
            let error = from_sqlite(&prepare(&connection, &sql).err().unwrap(), &sql);
            assert!(error.message.starts_with("more than one statement"), "{}", error.message);
        }
    }
}
