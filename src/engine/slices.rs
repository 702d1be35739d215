//! The database drive: calls a stored routine, one slice per call, on any engine that has routines.

use std::time::Instant;

use super::stalls::Stalls;
use super::{AfterError, EngineError, ErrorClass, JobOrder, Pacer, Slice, SliceReport};
use crate::model::{BoundStatement, Counters, Tally};
use crate::stats::LatencyHistogram;
use crate::stats::keys::KeyStream;

/// A slice has at most so many samples of one value; see `catalog/harness/`.
const MOST_SAMPLES: usize = 1 << 20;

/// What one call of the routine returned; see `catalog/harness/<engine>.sql`.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct SliceResult {
    pub ops: u64,
    pub rows: u64,
    pub commits: u64,
    /// State of the key generator after the slice.
    pub seed: u64,
    pub elapsed_us: f64,
    /// The longest of the bursts whose ops are not timed; 0 if every op is.
    pub longest_burst_us: f64,
    pub samples_us: Vec<f64>,
}

impl SliceResult {
    /// Takes a column of the routine's row by its name; other names mean nothing here.
    ///
    /// # Errors
    /// If the text is not what the column holds.
    pub(super) fn set(&mut self, name: &str, text: &str) -> Result<(), EngineError> {
        let wrong = || {
            EngineError::new(
                ErrorClass::Statement,
                format!("the routine returned '{text}' as {name}"),
            )
        };
        match name {
            "ops" => self.ops = text.parse().map_err(|_| wrong())?,
            "rows" => self.rows = text.parse().map_err(|_| wrong())?,
            "commits" => self.commits = text.parse().map_err(|_| wrong())?,
            "seed" => self.seed = text.parse().map_err(|_| wrong())?,
            "longest_burst_us" => self.longest_burst_us = text.parse().map_err(|_| wrong())?,
            "elapsed_us" => self.elapsed_us = text.parse().map_err(|_| wrong())?,
            "samples_us" => self.samples_us = samples(text).ok_or_else(wrong)?,
            _ => {}
        }
        Ok(())
    }
}

/// A session that runs a routine: a closure that calls one slice, which gets the values of the
/// harness' binds in their order, or what can tell its session's own counters, too.
pub(super) trait Routines {
    /// Calls one slice.
    ///
    /// # Errors
    /// The engine's error with its class.
    fn call(&mut self, values: &[i64]) -> Result<SliceResult, EngineError>;
    /// The session's own cumulative counters; empty if none are kept, or asked for.
    fn counters(&mut self) -> Counters {
        Counters::default()
    }
}

impl<F: FnMut(&[i64]) -> Result<SliceResult, EngineError>> Routines for F {
    fn call(&mut self, values: &[i64]) -> Result<SliceResult, EngineError> {
        self(values)
    }
}

/// Calls slices until the pacer gives no more, and tells what the session counted meanwhile.
///
/// # Errors
/// What ended the job early.
pub(super) fn run(
    order: &JobOrder<'_>,
    harness_call: &BoundStatement,
    pacer: &mut dyn Pacer,
    mut session: impl Routines,
) -> Result<(), EngineError> {
    if !pacer.ready() {
        return Ok(());
    }
    let before = session.counters();
    let outcome = slices(order, harness_call, pacer, &mut session);
    if !matches!(&outcome, Err(error) if error.class == ErrorClass::Lost) {
        pacer.session_counters(session.counters().since(&before));
    }
    outcome
}

fn slices(
    order: &JobOrder<'_>,
    harness_call: &BoundStatement,
    pacer: &mut dyn Pacer,
    session: &mut impl Routines,
) -> Result<(), EngineError> {
    let mut keys = KeyStream::for_job(order.seed, order.job);
    let (mut latency, mut stalls) = (LatencyHistogram::new(), Stalls::default());
    while let Some(slice) = pacer.next_slice() {
        let values =
            harness_call.binds.iter().map(|name| bind_value(name, order, &slice, keys.state()));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let called_at = Instant::now();
        match session.call(&values) {
            Ok(result) => {
                stalls.look_around(called_at.elapsed().as_secs_f64() - result.elapsed_us / 1e6);
                keys = KeyStream::from_state(result.seed);
                stalls.look(
                    slice.stride.saturating_sub(1).into(),
                    (result.longest_burst_us * 1000.0) as u64,
                );
                report(&result, &mut latency, &mut stalls, pacer);
            }
            Err(error)
                if error.class != ErrorClass::Lost
                    && pacer.op_failed(&error) == AfterError::GoOn =>
            {
                // What the slice did is rolled back; the next one must not meet the same keys in
                // the same order.
                keys.step();
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn report(
    result: &SliceResult,
    latency: &mut LatencyHistogram,
    stalls: &mut Stalls,
    pacer: &mut dyn Pacer,
) {
    latency.clear();
    for sample_us in &result.samples_us {
        latency.record_ns((sample_us * 1000.0).round().max(0.0) as u64);
    }
    let elapsed_s = result.elapsed_us / 1e6;
    let (ops, rows, commits) = (result.ops, result.rows, result.commits);
    let tally = Tally { ops, rows, commits, busy_s: elapsed_s, ..Tally::default() };
    let longest_ns = stalls.take(ops, elapsed_s);
    pacer.slice_done(&SliceReport { longest_ns, ..SliceReport::new(tally, elapsed_s, latency) });
}

/// The value of a bind of the harness' call.
fn bind_value(
    name: &str,
    order: &JobOrder<'_>,
    slice: &Slice,
    seed: u64,
) -> Result<i64, EngineError> {
    let unsigned = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    Ok(match name {
        "job" => order.job.into(),
        "jobs" => order.jobs.into(),
        "slice_us" => (slice.seconds * 1e6).round() as i64,
        "max_ops" => unsigned(slice.max_ops),
        "stride" => slice.stride.into(),
        "seed" => unsigned(seed),
        other => {
            return Err(EngineError::new(
                ErrorClass::Statement,
                format!("the harness has no bind '{other}'"),
            ));
        }
    })
}

/// `{1.5,NULL,2}`, or `1.5 2 ` without the NULLs, or `1.5:3 2` for three times 1.5.
fn samples(text: &str) -> Option<Vec<f64>> {
    let inner = text.strip_prefix('{').map_or(Some(text), |text| text.strip_suffix('}'))?;
    let items = inner.split([',', ' ']).filter(|item| !item.is_empty() && *item != "NULL");
    let mut samples = Vec::new();
    for item in items {
        let (value, count) = item.split_once(':').unwrap_or((item, "1"));
        let (value, count): (f64, usize) = (value.parse().ok()?, count.parse().ok()?);
        samples.resize(samples.len() + Some(count).filter(|count| *count <= MOST_SAMPLES)?, value);
    }
    Some(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_as_an_array_or_as_words() {
        assert_eq!(samples("{1.5,NULL,2}"), Some(vec![1.5, 2.0]));
        assert_eq!(samples("15 2 "), Some(vec![15.0, 2.0]));
        assert_eq!((samples("{}"), samples("")), (Some(vec![]), Some(vec![])));
        assert_eq!(samples("1.5:3 20:1"), Some(vec![1.5, 1.5, 1.5, 20.0]));
        assert_eq!((samples("{1.5"), samples("1:2:3"), samples("1:9999999")), (None, None, None));
    }
}
