//! The load path: one prepared insert in one transaction.

use rusqlite::{Connection, Statement};

use super::error::from_sqlite;
use crate::engine::{EngineError, ErrorClass, RowLoad};
use dbdyno_core::model::rows::Row;

/// Rows between two calls of `progress`.
const PROGRESS_ROWS: u64 = 10_000;

/// Loads in one transaction that is durable when this returns.
///
/// With a rollback journal the rows are written once: pages that the file did not have before need
/// no copy in the journal, and whatever goes wrong in between, other tables in the file are safe.
/// The file can only be switched to it while nobody else has it open; else the rows go through the
/// write-ahead log and are written twice.
pub(super) fn load_durably(
    connection: &Connection,
    load: &RowLoad<'_>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(), EngineError> {
    let run = |sql: &str| connection.execute_batch(sql).map_err(|error| from_sqlite(&error, sql));
    run("pragma synchronous = full; pragma cache_size = -262144")?;
    let before = journal_mode(connection, "pragma journal_mode")?;
    let alone =
        before != "wal" || journal_mode(connection, "pragma journal_mode = truncate").is_ok();
    let loaded = insert_rows(connection, load, progress);
    if before != "wal" {
        return loaded;
    }
    let restored = if alone { restore_wal(connection) } else { checkpoint(connection) };
    loaded.and(restored)
}

/// Asks for or sets the journal mode; the mode that holds.
fn journal_mode(connection: &Connection, sql: &str) -> Result<String, EngineError> {
    connection.query_row(sql, [], |row| row.get(0)).map_err(|error| from_sqlite(&error, sql))
}

fn restore_wal(connection: &Connection) -> Result<(), EngineError> {
    match journal_mode(connection, "pragma journal_mode = wal")?.as_str() {
        "wal" => Ok(()),
        other => Err(EngineError::new(
            ErrorClass::Busy,
            format!("the file stays in journal mode {other} after loading"),
        )),
    }
}

/// Empties the log. The rows are durable without it: a reader that keeps us from doing it is not a
/// failure of the load.
fn checkpoint(connection: &Connection) -> Result<(), EngineError> {
    let sql = "pragma wal_checkpoint(truncate)";
    match connection.query_row(sql, [], |_| Ok(())) {
        Err(error) if from_sqlite(&error, sql).class != ErrorClass::Busy => {
            Err(from_sqlite(&error, sql))
        }
        _ => Ok(()),
    }
}

/// Inserts the rows, and notes them, in one transaction of its own.
pub(super) fn insert_rows(
    connection: &Connection,
    load: &RowLoad<'_>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(), EngineError> {
    let failed = |error: rusqlite::Error| from_sqlite(&error, &format!("loading {}", load.table));
    connection.execute_batch("begin immediate").map_err(failed)?;
    let end = load.note.map_or_else(|| "commit".to_string(), |note| format!("{note}; commit"));
    let outcome = insert_all(connection, load, progress)
        .and_then(|()| connection.execute_batch(&end).map_err(failed));
    if outcome.is_err() && !connection.is_autocommit() {
        let _ = connection.execute_batch("rollback"); // the first error is the one to tell
    }
    outcome
}

fn insert_all(
    connection: &Connection,
    load: &RowLoad<'_>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(), EngineError> {
    let failed = |error: rusqlite::Error| from_sqlite(&error, &format!("loading {}", load.table));
    let sql =
        format!("insert into {} values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)", load.table);
    let mut insert = connection.prepare(&sql).map_err(failed)?;
    let mut text = String::with_capacity(200);
    for id in load.ids.clone() {
        insert_row(&mut insert, &load.rows.row(id), &mut text).map_err(failed)?;
        let sent = id + 1 - load.ids.start;
        if (sent.is_multiple_of(PROGRESS_ROWS) || id + 1 == load.ids.end) && !progress(sent) {
            return Err(EngineError::new(
                ErrorClass::Cancelled,
                format!("loading {} was cancelled", load.table),
            ));
        }
    }
    Ok(())
}

/// Binds the row in the order of the table's columns. `text` is scratch: SQLite copies what is
/// bound.
#[inline]
fn insert_row(insert: &mut Statement<'_>, row: &Row, text: &mut String) -> rusqlite::Result<()> {
    for (position, value) in
        [row.id, row.key25, row.key125, row.key320, row.region].into_iter().enumerate()
    {
        insert.raw_bind_parameter(position + 1, value)?;
    }
    row.booked_on_iso(text);
    insert.raw_bind_parameter(6, text.as_str())?;
    for (position, value) in [row.amount_cents, row.quantity, row.status].into_iter().enumerate() {
        insert.raw_bind_parameter(position + 7, value)?;
    }
    row.code(text);
    insert.raw_bind_parameter(10, text.as_str())?;
    row.filler(text);
    insert.raw_bind_parameter(11, text.as_str())?;
    insert.raw_execute().map(drop)
}
