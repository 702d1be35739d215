//! The control session: any statement, results as text.

use std::sync::Arc;
use std::time::Duration;

use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::{DataRowBody, Message, RowDescriptionBody};
use postgres_protocol::message::frontend;

use super::cancel::CancelKey;
use super::connect::Connection;
use super::error;
use super::wire::Wire;
use crate::engine::running::{Entered, Running};
use crate::engine::{EngineError, ErrorClass, Rows, Session};

/// Longest wait at the end of a session for the backend to end.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// A session; ends properly when dropped.
pub(super) struct PgSession {
    pub wire: Wire,
    _running: Entered<CancelKey>,
}

impl PgSession {
    /// A session that can be cancelled through `running`.
    pub(super) fn new(connection: Connection, running: &Arc<Running<CancelKey>>) -> Self {
        PgSession { wire: connection.wire, _running: running.enter(connection.cancel_key) }
    }

    /// Sends `sql` with binds as text, types left to the server, for the unnamed statement.
    fn send_extended(&mut self, sql: &str, binds: &[i64]) -> Result<(), EngineError> {
        let output = &mut self.wire.output;
        let encoded = frontend::parse("", sql, [], output).and_then(|()| {
            let bound = frontend::bind(
                "",
                "",
                [],
                binds,
                |bind, out| {
                    out.extend_from_slice(bind.to_string().as_bytes());
                    Ok(IsNull::No)
                },
                [],
                output,
            );
            bound.map_err(|_| std::io::Error::from(std::io::ErrorKind::InvalidInput))?;
            frontend::describe(b'P', "", output)?;
            frontend::execute("", 0, output)
        });
        self.finish_encoding(encoded, sql)?;
        frontend::sync(&mut self.wire.output);
        self.wire.flush()
    }

    fn send_simple(&mut self, sql: &str) -> Result<(), EngineError> {
        let encoded = frontend::query(sql, &mut self.wire.output);
        self.finish_encoding(encoded, sql)?;
        self.wire.flush()
    }

    fn finish_encoding(&mut self, encoded: std::io::Result<()>, sql: &str) -> Result<(), EngineError> {
        encoded.map_err(|_| {
            self.wire.output.clear();
            EngineError::new(ErrorClass::Statement, format!("this statement cannot be sent: {sql}"))
        })
    }

    /// Reads everything up to `ReadyForQuery`: rows as text, and rows affected.
    fn receive(&mut self, sql: &str) -> Result<(Rows, u64), EngineError> {
        let (mut rows, mut affected, mut failure) = (Rows::default(), 0, None);
        loop {
            match self.wire.message()? {
                Message::RowDescription(body) => rows = Rows { columns: column_names(&body)?, rows: Vec::new() },
                Message::DataRow(body) => rows.rows.push(texts(&body)?),
                Message::CommandComplete(body) => affected += affected_rows(body.tag().unwrap_or_default().as_bytes()),
                Message::ErrorResponse(body) => failure = Some(error::from_response(&body, sql)),
                Message::CopyInResponse(_) => self.refuse_copy()?,
                Message::ReadyForQuery(_) => break,
                _ => {}
            }
            if failure.as_ref().is_some_and(|failure| failure.class == ErrorClass::Lost) {
                break;
            }
        }
        failure.map_or(Ok((rows, affected)), Err)
    }

    /// A COPY FROM STDIN as a statement has no data to copy.
    fn refuse_copy(&mut self) -> Result<(), EngineError> {
        let encoded = frontend::copy_fail("no data follows", &mut self.wire.output);
        self.finish_encoding(encoded, "copy")?;
        self.wire.flush()
    }
}

impl Session for PgSession {
    fn execute(&mut self, sql: &str) -> Result<u64, EngineError> {
        self.send_simple(sql)?;
        self.receive(sql).map(|(_, affected)| affected)
    }

    fn query(&mut self, sql: &str, binds: &[i64]) -> Result<Rows, EngineError> {
        if binds.is_empty() {
            self.send_simple(sql)?;
        } else {
            self.send_extended(sql, binds)?;
        }
        self.receive(sql).map(|(rows, _)| rows)
    }
}

impl Drop for PgSession {
    fn drop(&mut self) {
        self.wire.terminate(END_TIMEOUT);
    }
}

/// The row count at the end of a command tag: `INSERT 0 25`, `SELECT 1`; 0 if there is none.
#[inline]
pub(super) fn affected_rows(tag: &[u8]) -> u64 {
    let digits = tag.iter().rev().skip_while(|byte| **byte == 0).take_while(|byte| byte.is_ascii_digit());
    digits.fold((0, 1), |(sum, unit), digit| (sum + u64::from(digit - b'0') * unit, unit * 10)).0
}

fn column_names(body: &RowDescriptionBody) -> Result<Vec<String>, EngineError> {
    body.fields().map(|field| Ok(field.name().to_owned())).collect().map_err(|error| error::from_io(&error))
}

fn texts(body: &DataRowBody) -> Result<Vec<Option<String>>, EngineError> {
    let text = |range: std::ops::Range<usize>| String::from_utf8_lossy(&body.buffer()[range]).into_owned();
    body.ranges().map(|range| Ok(range.map(text))).collect().map_err(|error| error::from_io(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_tag_gives_the_rows_affected() {
        for (tag, rows) in [("INSERT 0 25", 25), ("UPDATE 130", 130), ("SELECT 1\0", 1), ("CREATE TABLE", 0), ("", 0)] {
            assert_eq!(affected_rows(tag.as_bytes()), rows, "{tag}");
        }
    }
}
