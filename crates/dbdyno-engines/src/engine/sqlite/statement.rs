//! A prepared statement on the library's C interface.
//!
//! The library's Rust wrapper asks for the number of columns and for the type of every value; at
//! half a microsecond per lookup that is a sixth of the op. An application knows what its columns
//! hold, so here the type is taken from the column's declaration once, and asked for per value only
//! where there is none (expressions).

use std::ffi::{c_char, c_int};
use std::hint::black_box;
use std::ptr;

use rusqlite::{Connection, ffi};

use crate::engine::client_loop::CountedRows;
use crate::engine::embedded::copy_text;

/// Way in which the values of a column are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer,
    Real,
    Text,
    /// Each value says what it is.
    Any,
}

/// A prepared statement of an open connection.
pub(super) struct PreparedStatement<'c> {
    raw: *mut ffi::sqlite3_stmt,
    /// One per result column; none if it returns no rows.
    columns: Vec<Kind>,
    binds: usize,
    connection: &'c Connection,
}

impl<'c> PreparedStatement<'c> {
    /// Prepares the one statement in `sql`.
    ///
    /// # Errors
    /// The library's error; there is more than the one statement, of which the library
    /// would run the first only.
    pub(super) fn new(connection: &'c Connection, sql: &str) -> rusqlite::Result<Self> {
        let (raw, rest) = first(connection, sql)?;
        let mut prepared = PreparedStatement { raw, columns: Vec::new(), binds: 0, connection };
        if !is_blank(rest) {
            return Err(rusqlite::Error::MultipleStatement);
        }
        // SAFETY: `raw` is a statement that was just prepared.
        unsafe {
            prepared.binds = usize::try_from(ffi::sqlite3_bind_parameter_count(raw)).unwrap_or(0);
            prepared.columns = (0..ffi::sqlite3_column_count(raw))
                .map(|column| declared_kind(raw, column))
                .collect();
        }
        Ok(prepared)
    }

    /// Runs it to its end, reads every column of every row. Returns the rows fetched, or the rows
    /// changed by a statement that returns none.
    ///
    /// # Errors
    /// A wrong number of values, or what the library says.
    #[inline]
    pub(super) fn run(&mut self, binds: &[i64]) -> rusqlite::Result<u64> {
        self.run_each(binds, |_| ())
    }

    /// As [`PreparedStatement::run`]; also the sum of the first column.
    ///
    /// # Errors
    /// As [`PreparedStatement::run`].
    pub(super) fn run_counting(&mut self, binds: &[i64]) -> rusqlite::Result<CountedRows> {
        let mut sum = 0;
        let rows = self.run_each(binds, |raw| {
            // SAFETY: the statement stands on a row; a column that is not there is 0.
            sum += unsafe { ffi::sqlite3_column_int64(raw, 0) };
        })?;
        Ok(CountedRows { rows, hits: u64::try_from(sum).unwrap_or(0) })
    }

    #[inline(always)]
    fn run_each(
        &mut self,
        binds: &[i64],
        mut each: impl FnMut(*mut ffi::sqlite3_stmt),
    ) -> rusqlite::Result<u64> {
        if binds.len() != self.binds {
            return Err(rusqlite::Error::InvalidParameterCount(binds.len(), self.binds));
        }
        let mut fetched = 0;
        // SAFETY: `raw` is a prepared statement of an open connection that only this thread uses;
        // parameters count from 1 and columns from 0, both within the numbers that the library
        // gave.
        let code = unsafe {
            for (position, bind) in (1..).zip(binds) {
                ffi::sqlite3_bind_int64(self.raw, position, *bind);
            }
            while ffi::sqlite3_step(self.raw) == ffi::SQLITE_ROW {
                for (column, kind) in (0..).zip(&self.columns) {
                    read(self.raw, column, *kind);
                }
                each(self.raw);
                fetched += 1;
            }
            // The outcome of the last step once more.
            ffi::sqlite3_reset(self.raw)
        };
        match code {
            ffi::SQLITE_OK if self.columns.is_empty() => Ok(self.connection.changes()),
            ffi::SQLITE_OK => Ok(fetched),
            code => Err(failure(self.connection, code)),
        }
    }

    /// One of the statement's counters since the last call (`SQLITE_STMTSTATUS_*`), which begins
    /// anew.
    pub(super) fn take_status(&self, counter: c_int) -> f64 {
        // SAFETY: `raw` is a prepared statement. The counter has 32 bits without sign.
        let count = unsafe { ffi::sqlite3_stmt_status(self.raw, counter, 1) };
        f64::from(count as u32)
    }
}

/// Prepares the first statement of a text; gives what follows it, too.
fn first<'s>(
    connection: &Connection,
    sql: &'s str,
) -> rusqlite::Result<(*mut ffi::sqlite3_stmt, &'s str)> {
    let length = c_int::try_from(sql.len()).map_err(|_| failure(connection, ffi::SQLITE_TOOBIG))?;
    let text = sql.as_ptr().cast::<c_char>();
    let (mut raw, mut tail) = (ptr::null_mut(), ptr::null());
    // SAFETY: the handle is open as long as `connection`; the text is read within the call, up to
    // `length`.
    let code =
        unsafe { ffi::sqlite3_prepare_v2(connection.handle(), text, length, &mut raw, &mut tail) };
    if code != ffi::SQLITE_OK || raw.is_null() {
        return Err(failure(connection, code));
    }
    // The library ends a statement after its semicolon, a character of one byte.
    let rest = sql.get((tail.addr() - text.addr()).min(sql.len())..).unwrap_or_default();
    Ok((raw, rest))
}

/// True if a text has more than one statement, which is to be known before any of it runs.
pub(super) fn has_more(connection: &Connection, sql: &str) -> bool {
    let Ok((raw, rest)) = first(connection, sql) else { return false };
    // SAFETY: `raw` was just prepared, and nobody else has it.
    unsafe {
        ffi::sqlite3_finalize(raw);
    }
    !is_blank(rest)
}

/// True of text without a statement: white space, comments and semicolons.
fn is_blank(text: &str) -> bool {
    let text = text.trim_start_matches(|one: char| one.is_ascii_whitespace() || one == ';');
    let rest = match (text.strip_prefix("--"), text.strip_prefix("/*")) {
        (Some(comment), _) => comment.split_once('\n').map(|(_, rest)| rest),
        // One that is not ended goes on to the end of the text.
        (_, Some(comment)) => comment.split_once("*/").map(|(_, rest)| rest),
        _ => return text.is_empty(),
    };
    rest.is_none_or(is_blank)
}

impl Drop for PreparedStatement<'_> {
    fn drop(&mut self) {
        // SAFETY: `raw` is finalized once, while its connection is still open.
        unsafe {
            ffi::sqlite3_finalize(self.raw);
        }
    }
}

/// The kind of a column by its declared type (rules of https://sqlite.org/datatype3.html, 3.1).
///
/// # Safety
/// `raw` must be a prepared statement.
unsafe fn declared_kind(raw: *mut ffi::sqlite3_stmt, column: c_int) -> Kind {
    // SAFETY: the text lives until the statement changes and is copied before.
    let text = unsafe { copy_text(ffi::sqlite3_column_decltype(raw, column)) };
    text.map_or(Kind::Any, |text| kind_of(&text.to_ascii_lowercase()))
}

fn kind_of(declared: &str) -> Kind {
    let has = |words: &[&str]| words.iter().any(|word| declared.contains(word));
    if has(&["int"]) {
        Kind::Integer
    } else if has(&["char", "clob", "text"]) {
        Kind::Text
    } else if has(&["real", "floa", "doub"]) {
        Kind::Real
    } else {
        Kind::Any
    }
}

/// Reads one value as an application would.
///
/// # Safety
/// `raw` must stand on a row that has this column.
#[inline]
unsafe fn read(raw: *mut ffi::sqlite3_stmt, column: c_int, kind: Kind) {
    // SAFETY: the caller's; what the library returns is looked at before the next step.
    unsafe {
        match kind {
            Kind::Integer => drop(black_box(ffi::sqlite3_column_int64(raw, column))),
            Kind::Real => drop(black_box(ffi::sqlite3_column_double(raw, column))),
            Kind::Text => {
                black_box(ffi::sqlite3_column_text(raw, column));
                black_box(ffi::sqlite3_column_bytes(raw, column));
            }
            Kind::Any => read(raw, column, kind_of_value(ffi::sqlite3_column_type(raw, column))),
        }
    }
}

fn kind_of_value(type_code: c_int) -> Kind {
    match type_code {
        ffi::SQLITE_INTEGER | ffi::SQLITE_NULL => Kind::Integer,
        ffi::SQLITE_FLOAT => Kind::Real,
        _ => Kind::Text,
    }
}

#[cold]
fn failure(connection: &Connection, code: c_int) -> rusqlite::Error {
    // SAFETY: the handle is open; the message is copied before the next call of the library.
    let message = unsafe { copy_text(ffi::sqlite3_errmsg(connection.handle())) };
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("create table t (a bigint, b varchar(9), c double precision, d)")
            .unwrap();
        connection
    }

    #[test]
    fn declared_types_follow_the_rules_of_affinity() {
        let connection = connection();
        let query = PreparedStatement::new(&connection, "select a, b, c, d, a + 1 from t").unwrap();
        assert_eq!(query.columns, [Kind::Integer, Kind::Text, Kind::Real, Kind::Any, Kind::Any]);
    }

    #[test]
    fn a_second_statement_is_refused_and_comments_are_none() {
        let connection = connection();
        let refused = |sql: &str| PreparedStatement::new(&connection, sql).err().unwrap();
        for second in ["update t set b = 2", "this is not even SQL", "-- no\n/* no */ ; select 1"] {
            let sql = format!("update t set a = 1; {second}");
            assert!(matches!(refused(&sql), rusqlite::Error::MultipleStatement), "{sql}");
            assert!(has_more(&connection, &sql));
        }
        for rest in
            ["", ";", " ; ; ", "; -- select 1", "; /* select 1 */\n", ";/* not ended; select 1"]
        {
            let sql = format!("-- first\nupdate t set a = 'ü;'{rest}");
            assert!(
                PreparedStatement::new(&connection, &sql).is_ok() && !has_more(&connection, &sql),
                "{sql}"
            );
        }
    }

    #[test]
    fn changed_and_fetched_rows_are_counted() {
        let connection = connection();
        let mut insert = PreparedStatement::new(
            &connection,
            "insert into t values (?1, 'x', 1.5, x'00'), (?2, null, 2, 3)",
        )
        .unwrap();
        assert_eq!(insert.run(&[1, 2]).unwrap(), 2);
        let mut query =
            PreparedStatement::new(&connection, "select *, a + 1 from t where a >= ?1").unwrap();
        assert_eq!(
            (query.run(&[1]).unwrap(), query.run(&[2]).unwrap(), query.run(&[3]).unwrap()),
            (2, 1, 0)
        );
        assert_eq!(query.take_status(ffi::SQLITE_STMTSTATUS_RUN), 3.0);
        assert_eq!(query.take_status(ffi::SQLITE_STMTSTATUS_RUN), 0.0);
    }

    #[test]
    fn errors_keep_their_code_and_leave_the_statement_usable() {
        let connection = connection();
        assert!(PreparedStatement::new(&connection, "select nothing from nowhere").is_err());
        connection.execute_batch("create unique index t_a on t (a)").unwrap();
        let mut insert =
            PreparedStatement::new(&connection, "insert into t (a) values (?1)").unwrap();
        insert.run(&[1]).unwrap();
        let error = insert.run(&[1]).unwrap_err();
        assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::ConstraintViolation));
        assert_eq!(insert.run(&[2]).unwrap(), 1);
        assert!(insert.run(&[]).is_err());
    }
}
