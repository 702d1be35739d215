//! The client drive: one write and as few reads as possible per execution; prepared statements
//! unless the simple protocol is asked for.
//!
//! Each statement has its Bind, Execute and Sync messages encoded once; an execution patches the
//! binds into them. Values go and come in binary form, as drivers for prepared statements do.
//! Nothing is pipelined: each statement is answered before the next is sent, as in an application
//! that waits for its results.

use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;

use bytes::BytesMut;

use super::reply::affected_rows;
use super::session::PgSession;
use super::{copy, error};
use crate::engine::client_loop::{ClientSession, CountedRows};
use crate::engine::remote::TextQuery;
use crate::engine::{EngineError, ErrorClass, RowLoad};
use dbdyno_core::model::{BoundStatement, Connects, Protocol};

/// Type number of `bigint`: the type of every bind.
const INT8_OID: u32 = 20;
/// Formats of values and results.
const TEXT: i16 = 0;
const BINARY: i16 = 1;
/// Bytes of a bind in a Bind message: length and value.
const BIND_BYTES: usize = 4 + 8;

/// A statement: its messages, ready to send but for the values.
struct Statement {
    sql: String,
    messages: Vec<u8>,
    values: Values,
}

/// Destination of the values of a statement.
enum Values {
    /// The first stands there in the messages, the others follow at every `BIND_BYTES`.
    Binary { first_value: usize, binds: usize },
    /// Into the text of a Query message, which is written anew.
    Text(TextQuery),
}

/// A job's session with its statements.
pub(super) struct JobSession {
    session: PgSession,
    statements: Vec<Statement>,
    begin: Statement,
    commit: Statement,
}

impl JobSession {
    /// Makes `statements` ready in a form of the protocol, and those of a transaction.
    ///
    /// # Errors
    /// A statement that the server does not accept.
    pub(super) fn prepare(
        mut session: PgSession,
        statements: &[&BoundStatement],
        protocol: Protocol,
    ) -> Result<Self, EngineError> {
        let mut ready = |name: &str, sql: &str, binds: usize| match protocol {
            Protocol::Prepared => prepare(&mut session, name, sql, binds, BINARY),
            Protocol::PreparedText => prepare(&mut session, name, sql, binds, TEXT),
            Protocol::Simple => simple(sql, binds),
        };
        let (begin, commit) = (ready("begin", "begin", 0)?, ready("commit", "commit", 0)?);
        let numbered = statements.iter().enumerate();
        let statements = numbered
            .map(|(number, statement)| {
                ready(&format!("s{number}"), &statement.sql, statement.binds.len())
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(JobSession { session, statements, begin, commit })
    }
}

impl ClientSession for JobSession {
    fn begin(&mut self) -> Result<(), EngineError> {
        execute(&mut self.session, &mut self.begin, &[]).map(|_| ())
    }
    fn commit(&mut self) -> Result<(), EngineError> {
        execute(&mut self.session, &mut self.commit, &[]).map(|_| ())
    }
    fn rollback(&mut self) -> Result<(), EngineError> {
        // Without a transaction this is a notice, not an error.
        crate::engine::Session::execute(&mut self.session, "rollback").map(|_| ())
    }
    #[inline]
    fn run(&mut self, statement: usize, binds: &[i64]) -> Result<u64, EngineError> {
        execute(&mut self.session, &mut self.statements[statement], binds)
    }
    fn run_counting(
        &mut self,
        statement: usize,
        binds: &[i64],
    ) -> Result<CountedRows, EngineError> {
        let mut hits = 0;
        let count = |body: &[u8]| hits += first_number(body).unwrap_or(0);
        let rows = execute_each(&mut self.session, &mut self.statements[statement], binds, count)?;
        Ok(CountedRows { rows, hits })
    }
    fn load(&mut self, load: &RowLoad<'_>) -> Result<(), EngineError> {
        copy::load(&mut self.session.wire, load, &mut |_| true)
    }
    fn connects(&self) -> Connects {
        self.session.opened
    }
    fn login(&self) -> Option<String> {
        Some(self.session.wire.stream().login(&self.session.login))
    }
}

/// Prepares `sql` under `name` with `binds` parameters of type bigint, results in the format
/// `results`.
fn prepare(
    session: &mut PgSession,
    name: &str,
    sql: &str,
    binds: usize,
    results: i16,
) -> Result<Statement, EngineError> {
    let wire = &mut session.wire;
    frontend::parse(name, sql, vec![INT8_OID; binds], &mut wire.output)
        .map_err(|_| unsendable(sql))?;
    frontend::sync(&mut wire.output);
    wire.flush()?;
    wire.until_ready(sql, |_, _| Ok(()))?;
    messages(name, sql, binds, results)
}

/// Transactions in which a session runs what it prepared: a pooler may lend another session of the
/// server to each.
const RUNS: usize = 20;

/// True if a pooler keeps what sessions prepare: both prepare a statement of the same name, of
/// which that of the first alone gives a row, and the first runs its own.
///
/// # Errors
/// A session is lost.
pub(super) fn is_kept(one: &mut PgSession, other: &mut PgSession) -> Result<bool, EngineError> {
    const NAME: &str = "dbdyno_via";
    let lost = |error: EngineError| match error.class {
        ErrorClass::Lost => Err(error),
        _ => Ok(false),
    };
    let first = prepare(one, NAME, "select 1", 0, BINARY);
    let second =
        prepare(other, NAME, "select 1 where false", 0, BINARY).map(|_| true).or_else(lost)?;
    let run = match first {
        Ok(mut statement) => {
            let mut run = |is_own, _| Ok(is_own && execute(one, &mut statement, &[])? == 1);
            (0..RUNS).try_fold(true, &mut run).or_else(lost)?
        }
        Err(error) => lost(error)?,
    };
    for session in [one, other] {
        // Where sessions are lent it may be gone, or not be known.
        let forgotten = crate::engine::Session::execute(session, &format!("deallocate {NAME}"));
        forgotten.map(|_| true).or_else(lost)?;
    }
    Ok(second && run)
}

/// Encodes the messages of an execution with zeros as values.
fn messages(name: &str, sql: &str, binds: usize, results: i16) -> Result<Statement, EngineError> {
    let mut out = BytesMut::new();
    let zero = |_, out: &mut BytesMut| {
        out.extend_from_slice(&[0; 8]);
        Ok(IsNull::No)
    };
    frontend::bind("", name, [BINARY], 0..binds, zero, [results], &mut out)
        .map_err(|_| unsendable(sql))?;
    // The values end before the list of result formats: a count and one format.
    let first_value = out.len() - 4 - binds * BIND_BYTES + 4;
    frontend::execute("", 0, &mut out).map_err(|_| unsendable(sql))?;
    frontend::sync(&mut out);
    let values = Values::Binary { first_value, binds };
    Ok(Statement { sql: sql.to_owned(), messages: out.to_vec(), values })
}

/// A statement of the simple protocol.
fn simple(sql: &str, binds: usize) -> Result<Statement, EngineError> {
    let values = Values::Text(TextQuery::new(sql, binds)?);
    Ok(Statement { sql: sql.to_owned(), messages: Vec::new(), values })
}

fn unsendable(sql: &str) -> EngineError {
    EngineError::new(ErrorClass::Statement, format!("this statement cannot be sent: {sql}"))
}

impl Statement {
    /// Writes the values into the messages.
    #[inline]
    fn patch(&mut self, given: &[i64]) -> Result<(), EngineError> {
        match &self.values {
            Values::Binary { first_value, binds } if given.len() == *binds => {
                for (number, bind) in given.iter().enumerate() {
                    let at = first_value + number * BIND_BYTES;
                    self.messages[at..at + 8].copy_from_slice(&bind.to_be_bytes());
                }
                Ok(())
            }
            Values::Binary { binds, .. } => {
                let message = format!("{} values for {binds} binds in: {}", given.len(), self.sql);
                Err(EngineError::new(ErrorClass::Statement, message))
            }
            Values::Text(text) => {
                // Tag and length, the text, a zero byte (PostgreSQL manual, "Message Formats",
                // Query).
                self.messages.clear();
                self.messages.extend_from_slice(b"Q\0\0\0\0");
                text.write(given, &mut self.messages)?;
                self.messages.push(0);
                let length =
                    u32::try_from(self.messages.len() - 1).map_err(|_| unsendable(&self.sql))?;
                self.messages[1..5].copy_from_slice(&length.to_be_bytes());
                Ok(())
            }
        }
    }
}

/// Runs a statement; rows fetched, or rows changed by a statement that returns none. The hot loop:
/// it reads the answer itself, with no call per message.
#[inline]
fn execute(
    session: &mut PgSession,
    statement: &mut Statement,
    binds: &[i64],
) -> Result<u64, EngineError> {
    execute_each(session, statement, binds, |_| ())
}

/// Executes like [`execute`]; `each` is called with every row.
#[inline]
fn execute_each(
    session: &mut PgSession,
    statement: &mut Statement,
    binds: &[i64],
    mut each: impl FnMut(&[u8]),
) -> Result<u64, EngineError> {
    statement.patch(binds)?;
    let wire = &mut session.wire;
    wire.send(&statement.messages)?;
    let (mut rows, mut seen, mut failure) = (0, 0u64, None);
    loop {
        let frame = match wire.frame() {
            Ok(frame) => frame,
            Err(lost) => return Err(failure.map_or(lost, error::as_lost)),
        };
        match frame {
            (b'D', body) => {
                seen = seen.wrapping_add(walk(body));
                each(body);
            }
            (b'C', tag) => rows = affected_rows(tag),
            (b'E', body) => failure = Some(error::from_body(body, &statement.sql)),
            (b'Z', _) => break,
            _ => {}
        }
        if failure.as_ref().is_some_and(|failure| failure.class == ErrorClass::Lost) {
            break;
        }
    }
    // The values were read, as an application would read them.
    std::hint::black_box(seen);
    failure.map_or(Ok(rows), Err)
}

/// The first column of a `DataRow`, a `bigint`: of eight bytes in binary form, else digits.
fn first_number(body: &[u8]) -> Option<u64> {
    let (length, values) = body.get(2..)?.split_first_chunk::<4>()?;
    let value = values.get(..usize::try_from(i32::from_be_bytes(*length)).ok()?)?;
    match value.first_chunk::<8>() {
        Some(binary) => u64::try_from(i64::from_be_bytes(*binary)).ok(),
        None => std::str::from_utf8(value).ok()?.parse().ok(),
    }
}

/// Visits every column of a `DataRow`; returns the bytes of its values.
#[inline]
fn walk(body: &[u8]) -> u64 {
    let (mut rest, mut bytes) = (body.get(2..).unwrap_or_default(), 0);
    while let Some((length, tail)) = rest.split_first_chunk::<4>() {
        // A NULL has the length -1.
        let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0);
        bytes += length as u64;
        rest = tail.get(length..).unwrap_or_default();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binds_stand_where_a_fresh_encoding_puts_them() {
        let mut statement = messages("s1", "select $1, $2", 2, BINARY).unwrap();
        statement.patch(&[-5, 1 << 40]).unwrap();
        let mut expected = BytesMut::new();
        let value = |value: i64, out: &mut BytesMut| {
            out.extend_from_slice(&value.to_be_bytes());
            Ok(IsNull::No)
        };
        frontend::bind("", "s1", [BINARY], [-5, 1 << 40], value, [BINARY], &mut expected)
            .ok()
            .unwrap();
        frontend::execute("", 0, &mut expected).unwrap();
        frontend::sync(&mut expected);
        assert_eq!(statement.messages, expected.to_vec());
        assert_eq!(statement.patch(&[1]).unwrap_err().class, ErrorClass::Statement);
    }

    #[test]
    fn a_query_of_the_simple_protocol_is_written_anew_for_each_execution() {
        let mut statement = simple("select $1", 1).unwrap();
        for value in [12_345, 7] {
            statement.patch(&[value]).unwrap();
            let mut expected = BytesMut::new();
            frontend::query(&format!("select {value}"), &mut expected).unwrap();
            assert_eq!(statement.messages, expected.to_vec());
        }
    }

    #[test]
    fn the_first_column_is_read_in_either_form() {
        let binary = [0, 1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 1, 2];
        assert_eq!(first_number(&binary), Some(258));
        assert_eq!(first_number(&[0, 2, 0, 0, 0, 1, b'1', 0, 0, 0, 0]), Some(1));
        assert_eq!(first_number(&[0, 1, 255, 255, 255, 255]), None);
        assert_eq!(first_number(&binary[..9]), None);
    }

    #[test]
    fn every_column_of_a_row_is_visited() {
        let row = [0, 3, 0, 0, 0, 2, 9, 9, 255, 255, 255, 255, 0, 0, 0, 1, 7];
        assert_eq!(walk(&row), 3);
    }
}
