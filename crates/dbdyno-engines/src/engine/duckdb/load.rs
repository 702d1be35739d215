//! The load path: the appender, which takes rows as vectors, in one transaction.

use std::ffi::c_char;
use std::ptr;

use super::api::{Api, Handle, types};
use super::connect::Connection;
use super::error::{copy_message, from_duckdb};
use crate::engine::loading::c_text;
use crate::engine::{EngineError, ErrorClass, RowLoad};
use dbdyno_core::model::rows::Row;

/// Columns of a row: eleven, two of them text.
const COLUMNS: usize = 11;

/// Appends the rows, and notes them, in one transaction that is durable when this returns.
///
/// # Errors
/// The library's; the transaction is rolled back.
pub(super) fn append(
    connection: &Connection,
    load: &RowLoad<'_>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(), EngineError> {
    connection.execute("begin transaction")?;
    let loaded = append_all(connection, load, progress);
    let noted =
        loaded.and_then(|()| load.note.map_or(Ok(()), |note| connection.execute(note).map(drop)));
    let outcome = noted.and_then(|()| connection.execute("commit").map(drop));
    if outcome.is_err() {
        let _ = connection.execute("rollback"); // the first error is the one to tell
    }
    outcome
}

fn append_all(
    connection: &Connection,
    load: &RowLoad<'_>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(), EngineError> {
    let mut appender = Appender::new(connection, load.table)?;
    let mut chunk = Chunk::new(connection.api(), &appender)?;
    let (mut next, mut reported) = (load.ids.start, load.ids.start);
    while next < load.ids.end {
        let end = load.ids.end.min(next + chunk.room);
        chunk.fill(load, next..end);
        appender.append(&chunk)?;
        next = end;
        if next - reported >= PROGRESS_ROWS || next == load.ids.end {
            reported = next;
            if !progress(next - load.ids.start) {
                appender.forget();
                return Err(EngineError::new(
                    ErrorClass::Cancelled,
                    format!("loading {} was cancelled", load.table),
                ));
            }
        }
    }
    appender.close()
}

/// Rows between two calls of `progress`.
const PROGRESS_ROWS: u64 = 10_000;

/// An appender of a table.
struct Appender<'c> {
    api: &'static Api,
    raw: Handle,
    table: &'c str,
}

impl<'c> Appender<'c> {
    fn new(connection: &'c Connection, table: &'c str) -> Result<Self, EngineError> {
        // The interface takes the parts of a name; the connection's own database and schema are the
        // ones meant.
        let (api, name) = (connection.api(), c_text(table.rsplit('.').next().unwrap_or(table))?);
        let mut appender = Appender { api, raw: ptr::null_mut(), table };
        // SAFETY: the connection is open; the handle is destroyed by the drop, also after an error.
        let state = unsafe {
            (api.appender_create)(connection.raw, ptr::null(), name.as_ptr(), &mut appender.raw)
        };
        if state == 0 { Ok(appender) } else { Err(appender.error()) }
    }

    fn append(&mut self, chunk: &Chunk) -> Result<(), EngineError> {
        // SAFETY: both handles are open.
        let state = unsafe { (self.api.append_data_chunk)(self.raw, chunk.raw) };
        if state == 0 { Ok(()) } else { Err(self.error()) }
    }

    /// Hands everything over to the transaction.
    fn close(&mut self) -> Result<(), EngineError> {
        // SAFETY: the handle is open.
        let state = unsafe { (self.api.appender_close)(self.raw) };
        if state == 0 { Ok(()) } else { Err(self.error()) }
    }

    /// Drops the rows that are not yet handed over.
    fn forget(&mut self) {
        // SAFETY: the handle is open.
        unsafe { (self.api.appender_clear)(self.raw) };
    }

    #[cold]
    fn error(&mut self) -> EngineError {
        self.forget();
        // SAFETY: the handle is one that the library made; the text is copied.
        let message = unsafe { copy_message((self.api.appender_error)(self.raw)) };
        // An appender has no error types: its messages begin with them.
        let kind = if message.starts_with("Out of Memory") { 33 } else { 0 };
        from_duckdb(kind, &message, &format!("loading {}", self.table))
    }
}

impl Drop for Appender<'_> {
    fn drop(&mut self) {
        // SAFETY: it is destroyed once. What it still held was handed over or forgotten before.
        unsafe { (self.api.appender_destroy)(&mut self.raw) };
    }
}

/// Rows on their way, as vectors in the types of the table's columns.
struct Chunk {
    api: &'static Api,
    raw: Handle,
    stored: [u32; COLUMNS],
    /// Most rows.
    room: u64,
}

impl Chunk {
    fn new(api: &'static Api, appender: &Appender<'_>) -> Result<Self, EngineError> {
        // SAFETY: the appender is open; each type is destroyed once, the chunk keeps what it needs.
        unsafe {
            let columns = (api.appender_column_count)(appender.raw);
            if columns != COLUMNS as u64 {
                let what = format!("{} has {columns} columns, rows have {COLUMNS}", appender.table);
                return Err(EngineError::new(ErrorClass::Statement, what));
            }
            let mut logical: [Handle; COLUMNS] = std::array::from_fn(|column| {
                (api.appender_column_type)(appender.raw, column as u64)
            });
            let stored = logical.map(|logical| match (api.get_type_id)(logical) {
                types::DECIMAL => (api.decimal_internal_type)(logical),
                other => other,
            });
            let raw = (api.create_data_chunk)(logical.as_mut_ptr(), COLUMNS as u64);
            logical.iter_mut().for_each(|logical| (api.destroy_logical_type)(logical));
            Ok(Chunk { api, raw, stored, room: (api.vector_size)() })
        }
    }

    /// Holds these rows from now on.
    fn fill(&mut self, load: &RowLoad<'_>, ids: std::ops::Range<u64>) {
        let (api, mut scratch) = (self.api, String::with_capacity(200));
        // SAFETY: the vectors belong to the chunk; there are at most `room` rows, which each of
        // them has space for.
        unsafe {
            (api.data_chunk_reset)(self.raw);
            let vectors: [Handle; COLUMNS] =
                std::array::from_fn(|column| (api.data_chunk_get_vector)(self.raw, column as u64));
            let data = vectors.map(|vector| (api.vector_get_data)(vector).cast::<u8>());
            let rows = ids.end - ids.start;
            for (at, id) in ids.enumerate() {
                let row = load.rows.row(id);
                for (column, value) in numbers(&row) {
                    put(data[column], at, self.stored[column], value);
                }
                row.code(&mut scratch);
                self.put_text(vectors[9], at, &scratch);
                row.filler(&mut scratch);
                self.put_text(vectors[10], at, &scratch);
            }
            (api.data_chunk_set_size)(self.raw, rows);
        }
    }

    /// # Safety
    /// The vector is one of texts and has a place `at`.
    unsafe fn put_text(&self, vector: Handle, at: usize, text: &str) {
        let (bytes, length) = (text.as_ptr().cast::<c_char>(), text.len() as u64);
        // SAFETY: the caller's; the library copies the text.
        unsafe { (self.api.vector_assign_string_element_len)(vector, at as u64, bytes, length) };
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: it is destroyed once.
        unsafe { (self.api.destroy_data_chunk)(&mut self.raw) };
    }
}

/// The numbers of a row with their columns; decimals in hundredths, dates in days, as DuckDB stores
/// them.
#[inline]
fn numbers(row: &Row) -> [(usize, i64); COLUMNS - 2] {
    let values = [
        row.id,
        row.key25,
        row.key125,
        row.key320,
        row.region,
        row.booked_on_days,
        row.amount_cents,
        row.quantity,
        row.status,
    ];
    let mut column = 0..;
    values.map(|value| (column.next().unwrap_or_default(), value))
}

/// Writes a number in the type that the column stores.
///
/// # Safety
/// `data` is a vector of this type with a place `at`.
#[inline]
unsafe fn put(data: *mut u8, at: usize, stored: u32, value: i64) {
    // SAFETY: the caller's.
    unsafe {
        match stored {
            types::INTEGER | types::DATE => *data.cast::<i32>().add(at) = value as i32,
            types::SMALLINT => *data.cast::<i16>().add(at) = value as i16,
            _ => *data.cast::<i64>().add(at) = value,
        }
    }
}
