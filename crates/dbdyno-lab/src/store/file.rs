//! Results in a SQLite file.

use std::path::PathBuf;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, ToSql, params_from_iter};

use super::backend::{Answer, Role, Row, StoreBackend, Trouble};
use super::{failure, process};
use dbdyno_core::error::Error;
use dbdyno_engines::engine::results_backend::SqlValue;

/// An open file.
pub(super) struct File {
    pub connection: Connection,
    pub path: PathBuf,
}

/// A value of the store as SQLite binds it.
struct Bound<'a>(&'a SqlValue);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            SqlValue::Null => ValueRef::Null,
            SqlValue::Integer(value) => ValueRef::Integer(*value),
            SqlValue::Real(value) => ValueRef::Real(*value),
            SqlValue::Text(value) => ValueRef::Text(value.as_bytes()),
        }))
    }
}

impl File {
    fn in_words(&self, error: rusqlite::Error) -> Trouble {
        match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => Trouble::Unfit(error.to_string()),
            _ => Trouble::Said(failure::explain(&self.path, &error)),
        }
    }

    fn rows_of(&self, sql: &str, binds: &[Row]) -> rusqlite::Result<Vec<Row>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let columns = statement.column_count();
        let mut all = Vec::new();
        for row in binds {
            let mut found = statement.query(params_from_iter(row.iter().map(Bound)))?;
            while let Some(row) = found.next()? {
                all.push(
                    (0..columns)
                        .map(|at| row.get_ref(at).and_then(datum))
                        .collect::<rusqlite::Result<Row>>()?,
                );
            }
        }
        Ok(all)
    }

    fn execute(&self, sql: &str) -> Answer<()> {
        self.connection.execute_batch(sql).map_err(|error| self.in_words(error))
    }
}

fn datum(value: ValueRef<'_>) -> rusqlite::Result<SqlValue> {
    Ok(match value {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(value) => SqlValue::Integer(value),
        ValueRef::Real(value) => SqlValue::Real(value),
        ValueRef::Text(_) => SqlValue::Text(value.as_str()?.to_string()),
        // We write none; what else somebody wrote is not ours.
        ValueRef::Blob(bytes) => SqlValue::Text(String::from_utf8_lossy(bytes).into_owned()),
    })
}

impl StoreBackend for File {
    fn run(&self, sql: &str, binds: &[Row]) -> Answer<Vec<Row>> {
        self.rows_of(sql, binds).map_err(|error| self.in_words(error))
    }
    fn begin(&self) -> Answer<()> {
        self.execute("BEGIN IMMEDIATE")
    }
    fn commit(&self) -> Answer<()> {
        self.execute("COMMIT")
    }
    fn roll_back(&self) {
        let _ = self.execute("ROLLBACK"); // a disk that is full has rolled back already
    }
    fn json_text(&self, column: &str, path: &[&str]) -> Answer<String> {
        Ok(format!("json_extract({column}, '$.{}')", path.join(".")))
    }
    fn json_pairs(&self, column: &str) -> Answer<String> {
        Ok(format!("json_each({column})"))
    }
    fn hold(&self, _: i64) -> Answer<()> {
        Ok(())
    }
    fn release(&self, _: i64) -> Answer<()> {
        Ok(())
    }
    fn is_held(&self, _: i64, process: Option<&str>) -> Answer<bool> {
        Ok(process.is_some_and(process::is_alive))
    }
    fn grant(&self, _: Role, _: &str) -> Answer<Vec<String>> {
        let error = Error::usage(failure::place(&self.path), "a file has no users");
        Err(Trouble::Said(
            error.advise("set who may read it by its mode and that of its directory"),
        ))
    }
    fn place(&self) -> String {
        failure::place(&self.path)
    }
}
