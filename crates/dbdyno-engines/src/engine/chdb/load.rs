//! The load paths: rows that the engine makes itself by one statement, and rows that are sent in
//! its binary format. Either becomes one part of the table, as a whole or not at all.

use super::answer::Answer;
use super::api::{Api, Handle};
use super::connect::Connection;
use super::error::{copy_message, from_clickhouse};
use crate::engine::{EngineError, ErrorClass, RowLoad};
use dbdyno_core::model::rows::Row;

/// Rows between two calls of `progress`.
const PROGRESS_ROWS: u64 = 10_000;

/// Loads the rows, then notes them.
///
/// # Errors
/// ClickHouse's; cancelled.
pub(super) fn load(
    connection: &Connection,
    load: &RowLoad<'_>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(), EngineError> {
    match load.in_database {
        Some(sql) => {
            let rows = load.ids.end - load.ids.start;
            let goes_on = progress(0);
            if goes_on {
                connection.execute(sql)?;
            }
            if !goes_on || !progress(rows) {
                return Err(cancelled_error(load.table));
            }
        }
        None => send(connection, load, progress)?,
    }
    load.note.map_or(Ok(()), |note| connection.execute(note).map(drop))
}

/// Sends the rows.
///
/// # Errors
/// As [`load`].
pub(super) fn send(
    connection: &Connection,
    load: &RowLoad<'_>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(), EngineError> {
    let stream = Stream::new(connection, load.table)?;
    let (mut bytes, mut text) = (Vec::new(), String::with_capacity(200));
    let mut next = load.ids.start;
    while next < load.ids.end {
        let end = load.ids.end.min(next + PROGRESS_ROWS);
        bytes.clear();
        (next..end).for_each(|id| encode(&load.rows.row(id), &mut bytes, &mut text));
        stream.append(&bytes)?;
        next = end;
        if !progress(next - load.ids.start) {
            return Err(cancelled_error(load.table));
        }
    }
    stream.done()
}

fn cancelled_error(table: &str) -> EngineError {
    EngineError::new(ErrorClass::Cancelled, format!("loading {table} was cancelled"))
}

/// A row in the format RowBinary: integers of 64 and 32 bits, a date as days in 16 bits, a decimal
/// of 12 digits in 64 bits, texts behind their length.
fn encode(row: &Row, bytes: &mut Vec<u8>, text: &mut String) {
    let narrow = |value: i64| (value as i32).to_le_bytes();
    bytes.extend(row.id.to_le_bytes());
    for key in [row.key25, row.key125, row.key320, row.region] {
        bytes.extend(narrow(key));
    }
    bytes.extend((row.booked_on_days as u16).to_le_bytes());
    bytes.extend(row.amount_cents.to_le_bytes());
    bytes.extend(narrow(row.quantity));
    bytes.extend(narrow(row.status));
    row.code(text);
    encode_text(text, bytes);
    row.filler(text);
    encode_text(text, bytes);
}

/// The length in groups of seven bits, the lowest first, then the bytes.
fn encode_text(text: &str, bytes: &mut Vec<u8>) {
    let mut length = text.len();
    while length >= 0x80 {
        bytes.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend(text.as_bytes());
}

/// An insert that takes rows while they come. Dropped before its end it leaves nothing.
struct Stream<'c> {
    api: &'static Api,
    raw: Handle,
    table: &'c str,
}

impl<'c> Stream<'c> {
    fn new(connection: &'c Connection, table: &'c str) -> Result<Self, EngineError> {
        let (api, sql, format) = (connection.api(), format!("insert into {table}"), "RowBinary");
        // SAFETY: the connection is open; texts have their lengths, the library copies them.
        let raw = unsafe {
            (api.stream_insert_n)(
                connection.handle(),
                sql.as_ptr().cast(),
                sql.len(),
                format.as_ptr().cast(),
                format.len(),
            )
        };
        let stream = Stream { api, raw, table };
        stream.error().map_or(Ok(stream), Err)
    }

    fn append(&self, bytes: &[u8]) -> Result<(), EngineError> {
        // SAFETY: the stream is open; the library copies the bytes.
        let state =
            unsafe { (self.api.stream_append)(self.raw, bytes.as_ptr().cast(), bytes.len()) };
        if state == 0 {
            return Ok(());
        }
        Err(self.error().unwrap_or_else(|| from_clickhouse("the insert has ended", self.table)))
    }

    /// Makes the rows part of the table.
    fn done(self) -> Result<(), EngineError> {
        // SAFETY: the stream is open.
        let raw = unsafe { (self.api.stream_done)(self.raw) };
        Answer::from_raw(self.api, raw, self.table).map(drop)
    }

    fn error(&self) -> Option<EngineError> {
        if self.raw.is_null() {
            return Some(from_clickhouse("ClickHouse takes no rows", self.table));
        }
        // SAFETY: the stream is one that the library made; the text is copied.
        let message = unsafe { copy_message((self.api.stream_insert_error)(self.raw)) };
        message.map(|message| from_clickhouse(&message, self.table))
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: it is destroyed once, which cancels what was not finished.
            unsafe { (self.api.destroy_insert_stream)(self.raw) };
        }
    }
}
