//! A statement of a job: read part by part in ClickHouse's own binary format, as an application of
//! the C interface would. There are no prepared statements; parameters are handed over beside the
//! text.

use std::hint::black_box;

use super::answer::{Answer, Parameters, Question};
use super::connect::Connection;
use crate::engine::{EngineError, ErrorClass};

/// ClickHouse's binary format, column by column.
const BINARY: &str = "Native";

/// A statement of an open connection.
pub(super) struct Statement<'c> {
    connection: &'c Connection,
    sql: String,
    name: String,
    parameters: Parameters,
    is_query: bool,
}

impl<'c> Statement<'c> {
    /// Checks the statement, which is understood anew at each execution; `name` is said in errors.
    ///
    /// # Errors
    /// ClickHouse's error.
    pub(super) fn new(
        connection: &'c Connection,
        sql: &str,
        name: &str,
    ) -> Result<Self, EngineError> {
        let (mut parameters, is_query) = (parameters_of(sql), is_query(sql));
        // Of a query also whether its tables and columns are there.
        let explain = if is_query { "explain plan" } else { "explain ast" };
        connection.ask(&format!("{explain} {sql}"), "Null", &mut parameters)?;
        let (sql, name) = (sql.to_string(), name.to_string());
        Ok(Statement { connection, sql, name, parameters, is_query })
    }

    /// Runs it to its end, reads every column of every row. Returns the rows fetched, or the rows
    /// written by a statement that returns none.
    ///
    /// # Errors
    /// A wrong number of values, or what ClickHouse says.
    #[inline]
    pub(super) fn run(&mut self, binds: &[i64]) -> Result<u64, EngineError> {
        if binds.len() != self.parameters.len() {
            let (given, wanted) = (binds.len(), self.parameters.len());
            let what = format!("{}: {given} values for {wanted} binds", self.name);
            return Err(EngineError::new(ErrorClass::Statement, what));
        }
        self.parameters.set(binds);
        let (api, connection) = (self.connection.api(), self.connection.handle());
        let question = Question { connection, sql: &self.sql, format: BINARY };
        if !self.is_query {
            let done = Answer::execute(api, question, &mut self.parameters)?;
            return Ok(done.rows_written());
        }
        let stream = Answer::stream(api, question, &mut self.parameters)?;
        let mut rows = 0;
        loop {
            let part = stream.fetch(connection, &self.name)?;
            let bytes = part.bytes();
            if bytes.is_empty() {
                return Ok(rows);
            }
            read(bytes);
            rows += part.rows();
        }
    }
}

/// Reads every byte.
#[inline]
fn read(bytes: &[u8]) {
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(0_u64, |sum, word| sum.wrapping_add(u64::from_ne_bytes(*word)));
    black_box((sum, rest.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte))));
}

/// True for a statement that returns rows.
pub(super) fn is_query(sql: &str) -> bool {
    let code =
        sql.lines().map(str::trim_start).find(|line| !line.is_empty() && !line.starts_with("--"));
    let word = code.unwrap_or_default().split(|c: char| !c.is_ascii_alphabetic()).next();
    word.is_some_and(|word| ["select", "with"].iter().any(|query| word.eq_ignore_ascii_case(query)))
}

/// The parameters `{p1:Int64}`, `{p2:Int64}` ... of a statement.
pub(super) fn parameters_of(sql: &str) -> Parameters {
    let is_in = |number: &usize| sql.contains(&format!("{{p{number}:"));
    Parameters::with_count((1..).take_while(is_in).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_told_by_its_first_word_and_its_parameters_are_counted() {
        assert!(is_query("-- a remark\n  SELECT 1") && is_query("with x as (select 1) select 2"));
        assert!(!is_query("insert into t select 1") && !is_query("selct 1") && !is_query(""));
        assert_eq!(parameters_of("select {p2:Int64}, {p1:Int64}, {p2:Int64}").len(), 2);
        assert_eq!(parameters_of("select 1").len(), 0);
    }
}
