//! The database drive: calls a stored routine, one slice per call.

use std::io;

use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;

use super::error;
use super::wire::Wire;
use crate::engine::{AfterError, EngineError, ErrorClass, JobOrder, Pacer, Slice, SliceReport};
use crate::model::{BoundStatement, Routine, Tally};
use crate::stats::LatencyHistogram;
use crate::stats::keys::KeyStream;

/// What one call of the routine returned; see `catalog/harness/postgres.sql`.
#[derive(Debug, Default, Clone, PartialEq)]
struct SliceResult {
    ops: u64,
    rows: u64,
    commits: u64,
    /// State of the key generator after the slice.
    seed: u64,
    elapsed_us: f64,
    samples_us: Vec<f64>,
}

/// Runs the routine's slices until the pacer gives no more.
pub(super) fn run(
    wire: &mut Wire,
    routine: &Routine,
    order: &JobOrder<'_>,
    pacer: &mut dyn Pacer,
) -> Result<(), EngineError> {
    let columns = prepare(wire, &routine.call)?;
    let mut keys = KeyStream::for_job(order.seed, order.job);
    let mut latency = LatencyHistogram::new();
    if !pacer.ready() {
        return Ok(());
    }
    while let Some(slice) = pacer.next_slice() {
        match call(wire, &routine.call, &columns, order, &slice, keys.state()) {
            Ok(result) => {
                keys = KeyStream::from_state(result.seed);
                report(&result, &mut latency, pacer);
            }
            Err(error) if error.class != ErrorClass::Lost && pacer.op_failed(&error) == AfterError::GoOn => {
                // What the slice did is rolled back; the next one must not meet the same keys in the same order.
                keys.step();
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn report(result: &SliceResult, latency: &mut LatencyHistogram, pacer: &mut dyn Pacer) {
    latency.clear();
    for sample_us in &result.samples_us {
        latency.record_ns((sample_us * 1000.0).round().max(0.0) as u64);
    }
    let elapsed_s = result.elapsed_us / 1e6;
    let (ops, rows, commits) = (result.ops, result.rows, result.commits);
    let tally = Tally { ops, rows, commits, busy_s: elapsed_s, ..Tally::default() };
    pacer.slice_done(&SliceReport { tally, elapsed_s, latency });
}

/// Prepares the call, types left to the server; returns the names of the result columns.
fn prepare(wire: &mut Wire, call: &BoundStatement) -> Result<Vec<String>, EngineError> {
    let encoded = frontend::parse("call", &call.sql, [], &mut wire.output)
        .and_then(|()| frontend::describe(b'S', "call", &mut wire.output));
    encoded.map_err(|error| EngineError::new(ErrorClass::Statement, format!("{}: {error}", call.name)))?;
    frontend::sync(&mut wire.output);
    wire.flush()?;
    let (mut names, mut failure) = (Vec::new(), None);
    loop {
        let (tag, body) = wire.frame()?;
        match tag {
            b'T' => names = column_names(body).ok_or_else(|| error::unexpected(tag, "prepare"))?,
            b'E' => failure = Some(error::from_body(body, &call.sql)),
            b'Z' => break,
            _ => {}
        }
    }
    failure.map_or(Ok(names), Err)
}

/// Names in a `RowDescription` body: count, then per field a name with a zero byte and 18 bytes.
fn column_names(body: &[u8]) -> Option<Vec<String>> {
    let mut rest = body.get(2..)?;
    let mut names = Vec::new();
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == 0)?;
        names.push(String::from_utf8_lossy(&rest[..end]).into_owned());
        rest = rest.get(end + 1 + 18..)?;
    }
    Some(names)
}

/// Runs one slice.
fn call(
    wire: &mut Wire,
    call: &BoundStatement,
    columns: &[String],
    order: &JobOrder<'_>,
    slice: &Slice,
    seed: u64,
) -> Result<SliceResult, EngineError> {
    let values = call.binds.iter().map(|name| bind_value(name, order, slice, seed)).collect::<Result<Vec<_>, _>>()?;
    send_call(wire, &values)
        .map_err(|error| EngineError::new(ErrorClass::Statement, format!("{}: {error}", call.name)))?;
    wire.flush()?;
    let (mut result, mut failure) = (None, None);
    loop {
        let (tag, body) = wire.frame()?;
        match tag {
            b'D' => result = Some(read_result(body, columns)?),
            b'E' => failure = Some(error::from_body(body, &call.sql)),
            b'Z' => break,
            _ => {}
        }
        if failure.as_ref().is_some_and(|failure| failure.class == ErrorClass::Lost) {
            break;
        }
    }
    match failure {
        Some(failure) => Err(failure),
        None => {
            result.ok_or_else(|| EngineError::new(ErrorClass::Statement, format!("{}: returned no row", call.name)))
        }
    }
}

/// The value of a bind of the harness' call.
fn bind_value(name: &str, order: &JobOrder<'_>, slice: &Slice, seed: u64) -> Result<i64, EngineError> {
    let unsigned = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    Ok(match name {
        "job" => order.job.into(),
        "jobs" => order.jobs.into(),
        "slice_us" => (slice.seconds * 1e6).round() as i64,
        "max_ops" => unsigned(slice.max_ops),
        "stride" => slice.stride.into(),
        "seed" => unsigned(seed),
        other => return Err(EngineError::new(ErrorClass::Statement, format!("the harness has no bind '{other}'"))),
    })
}

/// Bind, execute, sync in one write; values as text, so that the routine's own parameter types hold.
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
    let values = values.ok_or_else(|| error::unexpected(b'D', "a slice"))?;
    let mut result = SliceResult::default();
    for (name, value) in columns.iter().zip(values) {
        let text = value.and_then(|value| std::str::from_utf8(value).ok()).unwrap_or_default();
        let wrong = || EngineError::new(ErrorClass::Statement, format!("the routine returned '{text}' as {name}"));
        match name.as_str() {
            "ops" => result.ops = text.parse().map_err(|_| wrong())?,
            "rows" => result.rows = text.parse().map_err(|_| wrong())?,
            "commits" => result.commits = text.parse().map_err(|_| wrong())?,
            "seed" => result.seed = text.parse().map_err(|_| wrong())?,
            "elapsed_us" => result.elapsed_us = text.parse().map_err(|_| wrong())?,
            "samples_us" => result.samples_us = float_array(text).ok_or_else(wrong)?,
            _ => {}
        }
    }
    Ok(result)
}

/// The columns of a `DataRow` body; none if it is not well formed.
fn split_row(body: &[u8]) -> Option<Vec<Option<&[u8]>>> {
    let mut rest = body.get(2..)?;
    let mut values = Vec::new();
    while let Some((length, tail)) = rest.split_first_chunk::<4>() {
        let length = usize::try_from(i32::from_be_bytes(*length)).ok();
        let value = match length {
            Some(length) => Some(tail.get(..length)?),
            None => None,
        };
        rest = &tail[length.unwrap_or(0)..];
        values.push(value);
    }
    Some(values)
}

/// `{1.5,NULL,2}` without the NULLs; an empty text (NULL) is an empty array.
fn float_array(text: &str) -> Option<Vec<f64>> {
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    let inner = if text.is_empty() { "" } else { inner? };
    inner.split(',').filter(|item| !item.is_empty() && *item != "NULL").map(|item| item.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_of_samples_is_read() {
        assert_eq!(float_array("{1.5,NULL,2}"), Some(vec![1.5, 2.0]));
        assert_eq!(float_array("{}"), Some(vec![]));
        assert_eq!(float_array("{1.5"), None);
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
}
