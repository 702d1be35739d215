//! A prepared statement that reads its result vector by vector, as an application of the C
//! interface would.

use std::hint::black_box;
use std::ptr;

use super::api::{CATALOG, Handle, RawResult, RawText, SELECT, types};
use super::connect::{Connection, QueryResult};
use super::error::{copy_message, from_duckdb};
use crate::engine::client_loop::CountedRows;
use crate::engine::loading::c_text;
use crate::engine::{EngineError, ErrorClass};

/// Way in which the values of a column are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Values of this many bytes.
    Fixed(usize),
    Text,
    /// Nested values: only their vector is touched.
    Other,
}

/// A prepared statement of an open connection.
pub(super) struct PreparedStatement<'c> {
    connection: &'c Connection,
    raw: Handle,
    binds: usize,
    /// One per result column; none of a statement that changes rows.
    columns: Option<Vec<Kind>>,
    changes_catalog: bool,
    name: String,
}

impl<'c> PreparedStatement<'c> {
    /// Prepares the one statement in `sql`; `name` is said in errors.
    ///
    /// # Errors
    /// The library's error.
    pub(super) fn new(
        connection: &'c Connection,
        sql: &str,
        name: &str,
    ) -> Result<Self, EngineError> {
        let (api, statement) = (connection.api(), c_text(sql)?);
        let mut prepared = PreparedStatement {
            connection,
            raw: ptr::null_mut(),
            binds: 0,
            columns: None,
            changes_catalog: false,
            name: name.to_string(),
        };
        // SAFETY: the connection is open; the handle is destroyed by the drop, also after an error.
        unsafe {
            if (api.prepare)(connection.raw, statement.as_ptr(), &mut prepared.raw) != 0 {
                let message = copy_message((api.prepare_error)(prepared.raw));
                return Err(from_duckdb(0, &message, name));
            }
            prepared.binds = (api.nparams)(prepared.raw) as usize;
            let statement_type = (api.prepared_statement_type)(prepared.raw);
            prepared.changes_catalog = CATALOG.contains(&statement_type);
            if statement_type == SELECT {
                let columns = 0..(api.prepared_statement_column_count)(prepared.raw);
                prepared.columns =
                    Some(columns.map(|column| kind_of(connection, prepared.raw, column)).collect());
            }
        }
        Ok(prepared)
    }

    /// True if it creates, alters or drops something.
    pub(super) fn changes_catalog(&self) -> bool {
        self.changes_catalog
    }

    /// Runs it to its end, reads every column of every row. Returns the rows fetched, or the rows
    /// changed by a statement that returns none.
    ///
    /// # Errors
    /// A wrong number of values, or what the library says.
    #[inline]
    pub(super) fn run(&mut self, binds: &[i64]) -> Result<u64, EngineError> {
        self.run_counting(binds).map(|counted| counted.rows)
    }

    /// As [`PreparedStatement::run`]; also the sum of the first column where that is `bigint`.
    ///
    /// # Errors
    /// As [`PreparedStatement::run`].
    #[inline]
    pub(super) fn run_counting(&mut self, binds: &[i64]) -> Result<CountedRows, EngineError> {
        let mut result = self.execute(binds)?;
        let Some(columns) = &self.columns else {
            return Ok(CountedRows { rows: result.rows_changed(), hits: 0 });
        };
        // SAFETY: the result is of this statement, whose columns have these kinds.
        let counted = unsafe { read_all(&result, columns) };
        // A stream reports its errors at the end.
        // SAFETY: the result is one that the library filled.
        let failed = unsafe { !(self.connection.api().result_error)(&mut result.raw).is_null() };
        if failed { Err(result.error(&self.name)) } else { Ok(counted) }
    }

    /// Runs it; a query gives its rows while they are made.
    #[inline]
    fn execute(&self, binds: &[i64]) -> Result<QueryResult<'c>, EngineError> {
        if binds.len() != self.binds {
            let what = format!("{}: {} values for {} binds", self.name, binds.len(), self.binds);
            return Err(EngineError::new(ErrorClass::Statement, what));
        }
        let api = self.connection.api();
        let mut result = QueryResult { connection: self.connection, raw: RawResult::EMPTY };
        // SAFETY: the statement is prepared; binds count from 1, within the number that the library
        // gave.
        let state = unsafe {
            for (position, bind) in (1..).zip(binds) {
                (api.bind_int64)(self.raw, position, *bind);
            }
            match self.columns {
                Some(_) => (api.execute_prepared_streaming)(self.raw, &mut result.raw),
                None => (api.execute_prepared)(self.raw, &mut result.raw),
            }
        };
        if state == 0 { Ok(result) } else { Err(result.error(&self.name)) }
    }

    /// Runs a query to its end; every row as text.
    ///
    /// # Errors
    /// As [`PreparedStatement::run`].
    pub(super) fn texts(&self, binds: &[i64]) -> Result<crate::engine::Rows, EngineError> {
        let api = self.connection.api();
        let mut result = QueryResult { connection: self.connection, raw: RawResult::EMPTY };
        // SAFETY: as in `execute`.
        let state = unsafe {
            for (position, bind) in (1..).zip(binds) {
                (api.bind_int64)(self.raw, position, *bind);
            }
            (api.execute_prepared)(self.raw, &mut result.raw)
        };
        if state == 0 { Ok(result.into_texts()) } else { Err(result.error(&self.name)) }
    }
}

impl Drop for PreparedStatement<'_> {
    fn drop(&mut self) {
        // SAFETY: it is destroyed once, while its connection is open.
        unsafe { (self.connection.api().destroy_prepare)(&mut self.raw) };
    }
}

/// # Safety
/// `statement` is prepared and has this column.
unsafe fn kind_of(connection: &Connection, statement: Handle, column: u64) -> Kind {
    let api = connection.api();
    // SAFETY: the caller's; the type is destroyed once.
    unsafe {
        let mut logical = (api.prepared_statement_column_logical_type)(statement, column);
        let of_type = (api.get_type_id)(logical);
        let stored =
            if of_type == types::DECIMAL { (api.decimal_internal_type)(logical) } else { of_type };
        (api.destroy_logical_type)(&mut logical);
        kind_of_type(stored)
    }
}

fn kind_of_type(of_type: u32) -> Kind {
    match of_type {
        types::BOOLEAN | types::TINYINT | types::UTINYINT => Kind::Fixed(1),
        types::SMALLINT | types::USMALLINT => Kind::Fixed(2),
        types::INTEGER | types::UINTEGER | types::FLOAT | types::DATE => Kind::Fixed(4),
        types::BIGINT | types::UBIGINT | types::DOUBLE => Kind::Fixed(8),
        types::HUGEINT => Kind::Fixed(16),
        types::VARCHAR | types::BLOB => Kind::Text,
        _ => Kind::Other,
    }
}

/// Reads all rows, vector by vector, and counts them.
///
/// # Safety
/// The result's columns have these kinds.
#[inline]
unsafe fn read_all(result: &QueryResult<'_>, columns: &[Kind]) -> CountedRows {
    let api = result.connection.api();
    let mut counted = CountedRows::default();
    // SAFETY: a chunk is destroyed once, after its vectors were read; each has as many values as
    // the chunk has rows.
    unsafe {
        loop {
            let mut chunk = (api.fetch_chunk)(result.raw);
            if chunk.is_null() {
                return counted;
            }
            let size = (api.data_chunk_get_size)(chunk);
            for (column, kind) in (0..).zip(columns) {
                let vector = (api.data_chunk_get_vector)(chunk, column);
                read((api.vector_get_data)(vector).cast(), size as usize, *kind);
            }
            if columns.first() == Some(&Kind::Fixed(8)) {
                let first = (api.data_chunk_get_vector)(chunk, 0);
                each((api.vector_get_data)(first).cast(), size as usize, |value: i64| {
                    counted.hits = counted.hits.wrapping_add(value as u64);
                });
            }
            counted.rows += size;
            (api.destroy_data_chunk)(&mut chunk);
        }
    }
}

/// Reads every value of a vector.
///
/// # Safety
/// `data` has `size` values of this kind.
#[inline]
unsafe fn read(data: *const u8, size: usize, kind: Kind) {
    // SAFETY: the caller's.
    unsafe {
        match kind {
            Kind::Fixed(1) => each(data, size, |value: u8| _ = black_box(value)),
            Kind::Fixed(2) => each(data, size, |value: u16| _ = black_box(value)),
            Kind::Fixed(4) => each(data, size, |value: u32| _ = black_box(value)),
            Kind::Fixed(8) => each(data, size, |value: u64| _ = black_box(value)),
            Kind::Fixed(_) => each(data, size, |value: u128| _ = black_box(value)),
            Kind::Text => {
                each(data, size, |value: RawText| _ = black_box((value.length, value.pointer)))
            }
            Kind::Other => _ = black_box(data),
        }
    }
}

/// # Safety
/// `data` has `size` values of this type.
#[inline]
unsafe fn each<T: Copy>(data: *const u8, size: usize, look: impl FnMut(T)) {
    // SAFETY: the caller's; the library aligns its vectors.
    let values = unsafe { std::slice::from_raw_parts(data.cast::<T>(), size) };
    values.iter().copied().for_each(look);
}
