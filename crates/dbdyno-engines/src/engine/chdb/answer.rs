//! Answers of the library and the parameters of what is asked.

use std::ffi::c_char;
use std::fmt::Write;

use super::api::{Api, Handle};
use super::error::{copy_message, from_clickhouse};
use crate::engine::EngineError;

/// Named whole numbers of a statement: `{p1:Int64}`. The texts that they are handed over as are
/// made in place, so that an op allocates nothing.
pub(super) struct Parameters {
    names: Vec<String>,
    values: Vec<String>,
    name_pointers: Vec<*const c_char>,
    name_lengths: Vec<usize>,
    value_pointers: Vec<*const c_char>,
    value_lengths: Vec<usize>,
}

// SAFETY: its pointers point to what it owns.
unsafe impl Send for Parameters {}

impl Parameters {
    pub(super) fn none() -> Self {
        Parameters::from_names(Vec::new())
    }

    /// Parameters `p1` to `pN`.
    pub(super) fn with_count(count: usize) -> Self {
        Parameters::from_names((1..=count).map(|number| format!("p{number}")).collect())
    }

    /// Parameters of these names, all of them 0.
    pub(super) fn from_names(names: Vec<String>) -> Self {
        let count = names.len();
        let mut parameters = Parameters {
            name_pointers: names.iter().map(|name| name.as_ptr().cast()).collect(),
            name_lengths: names.iter().map(String::len).collect(),
            names,
            values: (0..count).map(|_| String::with_capacity(MAX_DIGITS)).collect(),
            value_pointers: vec![std::ptr::null(); count],
            value_lengths: vec![0; count],
        };
        parameters.set(&vec![0; count]);
        parameters
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Gives each its value; there are as many.
    #[inline]
    pub(super) fn set(&mut self, values: &[i64]) {
        for (place, value) in values.iter().enumerate() {
            let text = &mut self.values[place];
            text.clear();
            let _ = write!(text, "{value}"); // a text takes everything
            self.value_pointers[place] = text.as_ptr().cast();
            self.value_lengths[place] = text.len();
        }
    }
}

/// Characters of the longest 64-bit integer.
const MAX_DIGITS: usize = 20;

/// A statement that is asked over a connection, and the format of its answer.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub connection: Handle,
    pub sql: &'a str,
    pub format: &'a str,
}

/// An answer that is freed when it is dropped.
pub(super) struct Answer {
    api: &'static Api,
    raw: Handle,
}

impl Answer {
    /// Runs a statement to its end.
    ///
    /// # Errors
    /// ClickHouse's error.
    pub(super) fn execute(
        api: &'static Api,
        question: Question<'_>,
        parameters: &mut Parameters,
    ) -> Result<Self, EngineError> {
        Answer::request(api, api.query_with_params_n, question, parameters)
    }

    /// Begins a query whose rows are fetched by [`Answer::fetch`].
    ///
    /// # Errors
    /// As [`Answer::execute`].
    #[inline]
    pub(super) fn stream(
        api: &'static Api,
        question: Question<'_>,
        parameters: &mut Parameters,
    ) -> Result<Self, EngineError> {
        Answer::request(api, api.stream_query_with_params_n, question, parameters)
    }

    #[inline]
    fn request(
        api: &'static Api,
        ask: Ask,
        question: Question<'_>,
        parameters: &mut Parameters,
    ) -> Result<Self, EngineError> {
        let Question { connection, sql, format } = question;
        // SAFETY: the connection is open; texts have their lengths and live through the call, which
        // copies them.
        let raw = unsafe {
            ask(
                connection,
                sql.as_ptr().cast(),
                sql.len(),
                format.as_ptr().cast(),
                format.len(),
                parameters.name_pointers.as_ptr(),
                parameters.name_lengths.as_ptr(),
                parameters.value_pointers.as_ptr(),
                parameters.value_lengths.as_ptr(),
                parameters.len(),
            )
        };
        Answer::from_raw(api, raw, sql)
    }

    /// The next part of a stream; it is empty at the end.
    ///
    /// # Errors
    /// The error that ended the query before its end.
    #[inline]
    pub(super) fn fetch(&self, connection: Handle, what: &str) -> Result<Self, EngineError> {
        // SAFETY: the stream is one of this connection.
        let raw = unsafe { (self.api.stream_fetch_result)(connection, self.raw) };
        Answer::from_raw(self.api, raw, what)
    }

    /// Takes what the library gave.
    ///
    /// # Errors
    /// The error that it holds.
    #[inline]
    pub(super) fn from_raw(
        api: &'static Api,
        raw: Handle,
        what: &str,
    ) -> Result<Self, EngineError> {
        if raw.is_null() {
            return Err(from_clickhouse("ClickHouse gives no answer", what));
        }
        let answer = Answer { api, raw };
        // SAFETY: the answer is one that the library gave; the text is copied.
        match unsafe { copy_message((api.result_error)(raw)) } {
            Some(error) => Err(from_clickhouse(&error, what)),
            None => Ok(answer),
        }
    }

    /// Its bytes, in the format that was asked for.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the library keeps so many bytes there as long as the answer lives.
        unsafe {
            let (start, length) =
                ((self.api.result_buffer)(self.raw), (self.api.result_length)(self.raw));
            if start.is_null() || length == 0 {
                return &[];
            }
            std::slice::from_raw_parts(start.cast(), length)
        }
    }

    /// Rows in it.
    #[inline]
    pub(super) fn rows(&self) -> u64 {
        // SAFETY: the answer is one that the library gave.
        unsafe { (self.api.result_rows_read)(self.raw) }
    }

    /// Rows that the statement wrote.
    pub(super) fn rows_written(&self) -> u64 {
        // SAFETY: as above.
        unsafe { (self.api.result_rows_written)(self.raw) }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        // SAFETY: it is destroyed once.
        unsafe { (self.api.destroy_query_result)(self.raw) };
    }
}

/// `chdb_query_with_params_n`, `chdb_stream_query_with_params_n`.
type Ask = unsafe extern "C" fn(
    Handle,
    *const c_char,
    usize,
    *const c_char,
    usize,
    *const *const c_char,
    *const usize,
    *const *const c_char,
    *const usize,
    usize,
) -> Handle;
