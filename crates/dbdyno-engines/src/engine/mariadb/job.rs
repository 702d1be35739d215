//! The client drive, and the database drive: a stored procedure, one slice per call.
//!
//! On the client drive, prepared statements unless the text protocol is asked for, one write and as
//! few reads as possible per execution.
//!
//! Each statement has its packet encoded once; an execution patches the values into it. Values go
//! and come in binary form, as drivers do for prepared statements. Nothing is pipelined: each
//! statement is answered before the next is sent, as in an application that waits for its results.

use super::error;
use super::load;
use super::reply::{self, Head};
use super::session::MariaSession;
use super::wire::{Wire, header};
use crate::engine::client_loop::{ClientSession, Counted, Transaction};
use crate::engine::remote::TextQuery;
use crate::engine::slices::{self, SliceResult};
use crate::engine::{EngineError, JobSpec, Pacer, RowLoad, Session};
use dbdyno_core::model::{BoundStatement, Connects, Counters, Protocol, Routine};

const COM_STMT_EXECUTE: u8 = 0x17;
/// Type of every value: `bigint`.
const LONGLONG: [u8; 2] = [8, 0];
const VALUE_BYTES: usize = 8;
/// Bytes of the columns rows, commits, seed in a binary row: marker, NULL bits of four columns,
/// three numbers.
const TRANSACTION_ROW: usize = 2;

/// A statement: its packet, ready to send but for the values.
struct Statement {
    sql: String,
    packet: Vec<u8>,
    binds: usize,
    /// Of the text protocol, whose packet is written anew.
    text: Option<TextQuery>,
    /// The packet holds the types of the values; the server remembers them from the first execution
    /// on.
    typed: bool,
    id: u32,
}

/// A job's session with its statements prepared.
pub(super) struct JobSession {
    session: MariaSession,
    statements: Vec<Statement>,
}

impl JobSession {
    /// Makes `statements` ready in a form of the protocol.
    ///
    /// # Errors
    /// A statement that the server does not accept.
    pub(super) fn prepare(
        mut session: MariaSession,
        statements: &[&BoundStatement],
        protocol: Protocol,
    ) -> Result<Self, EngineError> {
        let wire = &mut session.wire;
        let prepared = statements.iter().map(|statement| match protocol {
            Protocol::Simple => simple(&statement.sql, statement.binds.len()),
            Protocol::Prepared | Protocol::PreparedText => {
                prepare(wire, &statement.sql, statement.binds.len())
            }
        });
        Ok(JobSession { statements: prepared.collect::<Result<_, _>>()?, session })
    }
}

impl ClientSession for JobSession {
    fn begin(&mut self) -> Result<(), EngineError> {
        reply::run(&mut self.session.wire, "begin").map(|_| ())
    }
    fn begin_read(&mut self) -> Result<(), EngineError> {
        reply::run(&mut self.session.wire, "start transaction read only").map(|_| ())
    }
    fn commit(&mut self) -> Result<(), EngineError> {
        reply::run(&mut self.session.wire, "commit").map(|_| ())
    }
    fn rollback(&mut self) -> Result<(), EngineError> {
        reply::run(&mut self.session.wire, "rollback").map(|_| ())
    }
    #[inline]
    fn run(&mut self, statement: usize, binds: &[i64]) -> Result<u64, EngineError> {
        let mut bytes = 0;
        let rows = execute(&mut self.session.wire, &mut self.statements[statement], binds, |row| {
            bytes += row.len()
        });
        // The rows were read, as an application would read them.
        std::hint::black_box(bytes);
        rows
    }
    fn run_counting(&mut self, statement: usize, binds: &[i64]) -> Result<Counted, EngineError> {
        let (mut hits, statement) = (0, &mut self.statements[statement]);
        let is_text = statement.text.is_some();
        let rows = execute(&mut self.session.wire, statement, binds, |row| {
            hits += first_number(row, is_text).unwrap_or(0);
        })?;
        Ok(Counted { rows, hits })
    }
    fn transaction(&mut self, statement: usize, binds: &[i64]) -> Result<Transaction, EngineError> {
        let (mut done, statement) = (None, &mut self.statements[statement]);
        execute(&mut self.session.wire, statement, binds, |row| done = transaction_row(row))?;
        done.ok_or_else(|| {
            error::statement(format!(
                "no row with rows, commits and seed came from: {}",
                statement.sql
            ))
        })
    }
    fn counters(&mut self) -> Counters {
        self.session.counters()
    }
    fn load(&mut self, rows: &RowLoad<'_>) -> Result<(), EngineError> {
        load::load(&mut self.session, rows, &mut |_| true)
    }
    fn opened(&self) -> Connects {
        self.session.opened
    }
    fn login(&self) -> Option<String> {
        Some(self.session.wire.stream().login(&self.session.login))
    }
}

/// Prepares `sql` with `binds` parameters.
fn prepare(wire: &mut Wire, sql: &str, binds: usize) -> Result<Statement, EngineError> {
    let id = reply::prepare(wire, sql, binds)?;
    Ok(Statement {
        sql: sql.to_owned(),
        packet: packet(id, binds, true),
        binds,
        text: None,
        typed: true,
        id,
    })
}

/// A statement of the text protocol.
fn simple(sql: &str, binds: usize) -> Result<Statement, EngineError> {
    let text = Some(TextQuery::new(sql, binds)?);
    Ok(Statement { sql: sql.to_owned(), packet: Vec::new(), binds, text, typed: false, id: 0 })
}

/// Encodes the packet of an execution with zeros as values.
fn packet(id: u32, binds: usize, typed: bool) -> Vec<u8> {
    let mut out = vec![0; 4];
    out.push(COM_STMT_EXECUTE);
    out.extend_from_slice(&id.to_le_bytes());
    out.push(0); // no cursor: all rows come at once
    out.extend_from_slice(&1_u32.to_le_bytes());
    if binds > 0 {
        out.resize(out.len() + binds.div_ceil(8), 0); // no value is NULL
        out.push(typed.into());
        for _ in 0..if typed { binds } else { 0 } {
            out.extend_from_slice(&LONGLONG);
        }
        out.resize(out.len() + binds * VALUE_BYTES, 0);
    }
    let head = header(out.len() - 4, 0);
    out[..4].copy_from_slice(&head);
    out
}

impl Statement {
    /// Writes the values to the end of the packet, or the statement with its values.
    #[inline]
    fn patch(&mut self, binds: &[i64]) -> Result<(), EngineError> {
        if let Some(text) = &self.text {
            self.packet.clear();
            self.packet.extend_from_slice(&[0, 0, 0, 0, reply::COM_QUERY]);
            text.write(binds, &mut self.packet)?;
            let head = header(self.packet.len() - 4, 0);
            self.packet[..4].copy_from_slice(&head);
            return Ok(());
        }
        if binds.len() != self.binds {
            let message =
                format!("{} values for {} binds in: {}", binds.len(), self.binds, self.sql);
            return Err(error::statement(message));
        }
        let first = self.packet.len() - binds.len() * VALUE_BYTES;
        for (place, bind) in self.packet[first..].chunks_exact_mut(VALUE_BYTES).zip(binds) {
            place.copy_from_slice(&bind.to_le_bytes());
        }
        Ok(())
    }
}

/// Runs a statement; rows fetched, or rows changed by a statement that returns none.
#[inline]
fn execute(
    wire: &mut Wire,
    statement: &mut Statement,
    binds: &[i64],
    mut row: impl FnMut(&[u8]),
) -> Result<u64, EngineError> {
    statement.patch(binds)?;
    wire.send_command(&statement.packet)?;
    let (mut fetched, mut affected, mut has_rows) = (0, 0_u64, false);
    loop {
        let more = match reply::head(wire, &statement.sql)? {
            Head::Done { affected: count, more } => {
                affected = affected.saturating_add(count);
                more
            }
            Head::Columns { count, described } => {
                has_rows = true;
                reply::skip(wire, if described { count } else { 0 })?;
                reply::rows(wire, &statement.sql, |payload| {
                    fetched += 1;
                    row(payload);
                })?
            }
        };
        if !more {
            break;
        }
    }
    if statement.typed {
        statement.packet = packet(statement.id, statement.binds, false);
        statement.typed = false;
    }
    Ok(if has_rows { fetched } else { affected })
}

/// The first of up to six columns of a row, a `bigint`: behind marker and NULL bits in a binary
/// row, digits in one of texts.
fn first_number(mut row: &[u8], is_text: bool) -> Option<u64> {
    if is_text {
        let length = usize::try_from(reply::lenenc(&mut row)?).ok()?;
        return std::str::from_utf8(row.get(..length)?).ok()?.parse().ok();
    }
    let is_null = row.get(1)? & 0b100 != 0;
    let bytes = row.get(2..)?.first_chunk::<VALUE_BYTES>()?;
    if is_null { None } else { u64::try_from(i64::from_le_bytes(*bytes)).ok() }
}

/// The row of a procedure of one transaction: rows, commits, seed as bigint, then what else (block
/// `transaction` of the harness).
fn transaction_row(row: &[u8]) -> Option<Transaction> {
    let number = |at: usize| {
        let bytes = row.get(TRANSACTION_ROW + at * VALUE_BYTES..)?.first_chunk::<VALUE_BYTES>()?;
        u64::try_from(i64::from_le_bytes(*bytes)).ok()
    };
    // The first three NULL bits stand at bits 2, 3 and 4.
    let null = row.get(1)? & 0b1_1100 != 0;
    if null {
        None
    } else {
        Some(Transaction { rows: number(0)?, commits: number(1)?, seed: number(2)? })
    }
}

/// Runs the routine's slices until the pacer gives no more.
pub(super) fn run_routine(
    session: &mut MariaSession,
    routine: &Routine,
    order: &JobSpec<'_>,
    pacer: &mut dyn Pacer,
) -> Result<(), EngineError> {
    slices::run(order, &routine.call, pacer, RoutineSession { session, call: &routine.call })
}

/// A job's session with the call of its routine.
struct RoutineSession<'a> {
    session: &'a mut MariaSession,
    call: &'a BoundStatement,
}

impl slices::Routines for RoutineSession<'_> {
    fn call(&mut self, values: &[i64]) -> Result<SliceResult, EngineError> {
        call(self.session, self.call, values)
    }
    fn undo(&mut self) -> Result<(), EngineError> {
        reply::run(&mut self.session.wire, "rollback").map(|_| ())
    }
    fn counters(&mut self) -> Counters {
        self.session.counters()
    }
}

/// Runs one slice.
fn call(
    session: &mut MariaSession,
    call: &BoundStatement,
    values: &[i64],
) -> Result<SliceResult, EngineError> {
    let rows = session.query(&call.sql, values)?;
    let Some(row) = rows.rows.first() else {
        return Err(error::statement(format!("{}: returned no row", call.name)));
    };
    let mut result = SliceResult::default();
    for (name, value) in rows.columns.iter().zip(row) {
        result.set(name, value.as_deref().unwrap_or_default())?;
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_at_the_end_of_the_packet() {
        let mut statement = Statement {
            sql: String::new(),
            packet: packet(7, 2, true),
            binds: 2,
            text: None,
            typed: true,
            id: 7,
        };
        statement.patch(&[-5, 1 << 40]).unwrap();
        let mut expected = vec![0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 8, 0, 8, 0];
        expected.extend_from_slice(&(-5_i64).to_le_bytes());
        expected.extend_from_slice(&(1_i64 << 40).to_le_bytes());
        assert_eq!(&statement.packet[4..], expected);
        assert_eq!(statement.packet[..4], [u8::try_from(expected.len()).unwrap(), 0, 0, 0]);
        assert!(statement.patch(&[1]).is_err());
    }

    #[test]
    fn a_statement_of_the_text_protocol_is_written_anew_for_each_execution() {
        let mut statement = simple("select ?", 1).unwrap();
        for value in [12_345_i64, 7] {
            statement.patch(&[value]).unwrap();
            let text = format!("\x03select {value}");
            assert_eq!(statement.packet[4..], *text.as_bytes());
            assert_eq!(usize::from(statement.packet[0]), text.len());
        }
    }

    #[test]
    fn the_first_column_is_read_in_either_form() {
        let mut row = vec![0, 0];
        row.extend_from_slice(&258_i64.to_le_bytes());
        assert_eq!(first_number(&row, false), Some(258));
        assert_eq!(first_number(&row[..9], false), None);
        row[1] = 0b100;
        assert_eq!(first_number(&row, false), None);
        assert_eq!(first_number(b"\x02258", true), Some(25));
        assert_eq!(first_number(b"\x04258", true), None);
    }

    #[test]
    fn the_row_of_a_transaction_is_read() {
        let mut row = vec![0, 0];
        for number in [25_i64, 1, 77] {
            row.extend_from_slice(&number.to_le_bytes());
        }
        let done = transaction_row(&row).unwrap();
        assert_eq!((done.rows, done.commits, done.seed), (25, 1, 77));
        row[1] = 0b1000;
        assert!(transaction_row(&row).is_none());
    }
}
