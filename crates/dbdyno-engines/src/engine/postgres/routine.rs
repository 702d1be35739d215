//! The database drive: calls a stored routine, one slice per call.

use std::io;

use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;

use super::error;
use super::reply::{column_names, split_row};
use super::wire::Wire;
use crate::engine::slices::{self, SliceResult};
use crate::engine::{EngineError, ErrorClass, JobSpec, Pacer};
use dbdyno_core::model::{BoundStatement, Routine};

/// Runs the routine's slices until the pacer gives no more.
pub(super) fn run(
    wire: &mut Wire,
    routine: &Routine,
    order: &JobSpec<'_>,
    pacer: &mut dyn Pacer,
) -> Result<(), EngineError> {
    let columns = prepare(wire, &routine.call)?;
    let progress = SliceResult::default();
    slices::run(
        order,
        &routine.call,
        pacer,
        RoutineSession { wire, call: &routine.call, columns, progress },
    )
}

/// A job's session with the call of its routine.
struct RoutineSession<'a> {
    wire: &'a mut Wire,
    call: &'a BoundStatement,
    /// Names of the columns of the row that the routine returns.
    columns: Vec<String>,
    /// Counts that the current call has reported so far.
    progress: SliceResult,
}

impl slices::Routines for RoutineSession<'_> {
    fn call(&mut self, values: &[i64]) -> Result<SliceResult, EngineError> {
        self.progress = SliceResult::default();
        let mut result = call(self.wire, self.call, &self.columns, values, &mut self.progress)?;
        // Samples are those since the last message.
        let last = std::mem::take(&mut result.samples_us);
        result.samples_us = std::mem::take(&mut self.progress.samples_us);
        result.samples_us.extend(last);
        Ok(result)
    }
    fn last_progress(&mut self) -> SliceResult {
        std::mem::take(&mut self.progress)
    }
}

/// The beginning of the messages by which a routine tells what it has committed; see
/// `catalog/harness/postgres.sql`.
const PROGRESS: &[u8] = b"dbdyno: ";

/// Takes the counts that a routine reports; other messages are ignored.
fn take_progress(body: &[u8], progress: &mut SliceResult) -> Result<(), EngineError> {
    let fields = body.split(|byte| *byte == 0).filter_map(|field| field.split_first());
    let mut texts = fields.filter(|(kind, _)| **kind == b'M').map(|(_, text)| text);
    let Some(words) = texts.next().and_then(|text| text.strip_prefix(PROGRESS)) else {
        return Ok(());
    };
    let earlier = std::mem::take(&mut progress.samples_us);
    for word in String::from_utf8_lossy(words).split(' ') {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        progress.set(name, value)?;
    }
    progress.samples_us.splice(0..0, earlier);
    Ok(())
}

/// Prepares the call, types left to the server; returns the names of the result columns.
fn prepare(wire: &mut Wire, call: &BoundStatement) -> Result<Vec<String>, EngineError> {
    let encoded = frontend::parse("call", &call.sql, [], &mut wire.output)
        .and_then(|()| frontend::describe(b'S', "call", &mut wire.output));
    encoded.map_err(|error| {
        EngineError::new(ErrorClass::Statement, format!("{}: {error}", call.name))
    })?;
    frontend::sync(&mut wire.output);
    wire.flush()?;
    let mut names = Vec::new();
    wire.until_ready(&call.sql, |tag, body| {
        if tag == b'T' {
            names = column_names(body).ok_or_else(|| error::unexpected_message(tag, "prepare"))?;
        }
        Ok(())
    })?;
    Ok(names)
}

/// Runs one slice.
fn call(
    wire: &mut Wire,
    call: &BoundStatement,
    columns: &[String],
    values: &[i64],
    progress: &mut SliceResult,
) -> Result<SliceResult, EngineError> {
    send_call(wire, values).map_err(|error| {
        EngineError::new(ErrorClass::Statement, format!("{}: {error}", call.name))
    })?;
    wire.flush()?;
    let mut result = None;
    wire.until_ready(&call.sql, |tag, body| {
        match tag {
            b'D' => result = Some(read_result(body, columns)?),
            b'N' => take_progress(body, progress)?,
            _ => {}
        }
        Ok(())
    })?;
    result.ok_or_else(|| {
        EngineError::new(ErrorClass::Statement, format!("{}: returned no row", call.name))
    })
}

/// Bind, execute, sync in one write; values as text, so that the routine's own parameter types
/// hold.
fn send_call(wire: &mut Wire, values: &[i64]) -> io::Result<()> {
    let bound = frontend::bind(
        "",
        "call",
        [],
        values,
        |value, out| {
            out.extend_from_slice(value.to_string().as_bytes());
            Ok(IsNull::No)
        },
        [],
        &mut wire.output,
    );
    bound.map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    frontend::execute("", 0, &mut wire.output)?;
    frontend::sync(&mut wire.output);
    Ok(())
}

/// Reads the row of a call by column name.
fn read_result(body: &[u8], columns: &[String]) -> Result<SliceResult, EngineError> {
    let values = split_row(body).filter(|values| values.len() == columns.len());
    let values = values.ok_or_else(|| error::unexpected_message(b'D', "a slice"))?;
    let mut result = SliceResult::default();
    for (name, value) in columns.iter().zip(values) {
        let text = value.and_then(|value| std::str::from_utf8(value).ok()).unwrap_or_default();
        result.set(name, text)?;
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::super::wire::tests::{SHUT_DOWN, answering_server};
    use super::*;

    #[test]
    fn a_server_that_shuts_down_says_so_instead_of_an_answer() {
        let statement = BoundStatement { name: "W".into(), sql: "select 1".into(), binds: vec![] };
        let (mut wire, _server) = answering_server(&[(b'E', SHUT_DOWN)]);
        assert_eq!(prepare(&mut wire, &statement).unwrap_err().message, "terminating connection");
        let (mut wire, _server) = answering_server(&[(b'E', SHUT_DOWN)]);
        assert_eq!(
            call(&mut wire, &statement, &[], &[], &mut SliceResult::default()).unwrap_err().message,
            "terminating connection"
        );
    }

    #[test]
    fn a_row_is_read_by_column_name() {
        let mut body = vec![0, 2];
        for text in ["7", "1000000.5"] {
            body.extend_from_slice(&u32::try_from(text.len()).unwrap().to_be_bytes());
            body.extend_from_slice(text.as_bytes());
        }
        let result = read_result(&body, &["ops".into(), "elapsed_us".into()]).unwrap();
        assert_eq!((result.ops, result.elapsed_us), (7, 1_000_000.5));
        assert!(read_result(&body, &["ops".into()]).is_err());
    }

    #[test]
    fn what_a_routine_tells_is_the_sum_so_far_and_samples_follow_one_another() {
        let mut progress = SliceResult::default();
        let tell = |progress: &mut SliceResult, text: &str| {
            let body = format!("SINFO\0VINFO\0C00000\0Mdbdyno: {text}\0WPL/pgSQL\0\0");
            take_progress(body.as_bytes(), progress).unwrap();
        };
        tell(&mut progress, "ops=7 rows=9 commits=7 seed=11 elapsed_us=50000.5 samples_us={1.5,2}");
        tell(&mut progress, "ops=12 rows=14 commits=12 seed=13 elapsed_us=100000 samples_us={3}");
        assert_eq!(
            (progress.ops, progress.rows, progress.commits, progress.seed),
            (12, 14, 12, 13)
        );
        assert_eq!(
            (progress.elapsed_us, &progress.samples_us[..]),
            (100_000.0, &[1.5, 2.0, 3.0][..])
        );
        take_progress(b"SNOTICE\0Mops=99\0\0", &mut progress).unwrap();
        assert_eq!(progress.ops, 12, "others say something else");
    }
}
