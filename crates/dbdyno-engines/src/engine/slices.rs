//! The database drive: calls a stored routine, one slice per call, on any engine that has routines.

use std::time::Instant;

use super::stalls::Stalls;
use super::{AfterError, EngineError, ErrorClass, JobSpec, Pacer, Slice, SliceReport};
use dbdyno_core::model::{BoundStatement, Counters, JobCode, Routine, Tally};
use dbdyno_core::stats::LatencyHistogram;
use dbdyno_core::stats::keys::{KeyStream, test_seed};

/// A slice has at most so many samples of one value; see `catalog/harness/`.
const MAX_SAMPLES: usize = 1 << 20;

/// A slice may seem longer than its call by so much, since two clocks differ: they are slewed by
/// 0.05 % at most (`adjtimex(2)`), and a slice takes no more than some minutes.
const CLOCKS_DIFFER_S: f64 = 0.05;

/// Result of one call of the routine; see `catalog/harness/<engine>.sql`.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct SliceResult {
    pub ops: u64,
    pub rows: u64,
    pub commits: u64,
    /// Sum over its ops.
    pub sink: f64,
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
            "sink" => self.sink = text.parse().unwrap_or(0.0),
            "seed" => self.seed = text.parse().map_err(|_| wrong())?,
            "longest_burst_us" => self.longest_burst_us = text.parse().map_err(|_| wrong())?,
            "elapsed_us" => self.elapsed_us = text.parse().map_err(|_| wrong())?,
            "samples_us" => self.samples_us = samples(text).ok_or_else(wrong)?,
            _ => {}
        }
        Ok(())
    }
}

/// The bind by which a routine is told how often, in us, it is to tell what it has committed. Where
/// a harness has none, an error costs the count of all that its call did.
const TELL_US: &str = "tell_us";
/// A routine tells at least so often, in s: an error costs no more than that.
const TELL_S: f64 = 0.05;
/// A message takes some 10 us of the server's time: it is not to be more than a hundredth.
const MIN_TELL_S: f64 = 0.001;
/// Calls of routines that do not tell are no shorter than this, in s: a call is a round trip, which
/// is not to be more than a hundredth.
const MIN_CALL_S: f64 = 0.02;
/// An error costs the count of half of what is at stake. A 32nd of the time between two errors is:
/// a 64th of the ops are then not counted.
const OF_THE_TIME_BETWEEN: f64 = 32.0;

/// A session that runs a routine: a closure that calls one slice, which gets the values of the
/// harness' binds in their order, or what can tell its session's own counters, too.
pub(super) trait Routines {
    /// Calls one slice.
    ///
    /// # Errors
    /// The engine's error with its class.
    fn call(&mut self, values: &[i64]) -> Result<SliceResult, EngineError>;
    /// The counts that a failed call had told before: done and committed. Nothing where routines do
    /// not tell.
    fn last_progress(&mut self) -> SliceResult {
        SliceResult::default()
    }
    /// Undoes what a failed call left open: a statement that waited for a lock in vain may end
    /// alone, and the transaction that it was in would be committed by the next one that begins.
    ///
    /// # Errors
    /// If the session cannot be used any more.
    fn undo(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
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
/// The error that ended the job early.
pub(super) fn run(
    order: &JobSpec<'_>,
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
    order: &JobSpec<'_>,
    harness_call: &BoundStatement,
    pacer: &mut dyn Pacer,
    session: &mut impl Routines,
) -> Result<(), EngineError> {
    let mut keys = KeyStream::for_job(order.seed, order.job);
    let (mut latency, mut stalls) = (LatencyHistogram::new(), Stalls::default());
    let tells = harness_call.binds.iter().any(|name| name == TELL_US);
    let mut errors = ErrorsSeen::new();
    let counts_hits = matches!(order.code, JobCode::Routine(Routine { hits: true, .. }));
    while let Some(slice) = pacer.next_slice() {
        let slice = if tells { slice } else { errors.shortened(slice) };
        let values = harness_call.binds.iter().map(|name| match name.as_str() {
            TELL_US => Ok(errors.report_interval_us()),
            name => bind_value(name, order, &slice, keys.state()),
        });
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let called_at = Instant::now();
        let returned = session.call(&values);
        let call_s = called_at.elapsed().as_secs_f64();
        match returned {
            Ok(result) => {
                let (result, clock_step_s) = believed(result, call_s);
                if clock_step_s > 0.0 {
                    pacer.clock_stepped(clock_step_s);
                }
                stalls.look_around(call_s - result.elapsed_us / 1e6);
                keys = KeyStream::from_state(result.seed);
                stalls.look(
                    slice.stride.saturating_sub(1).into(),
                    (result.longest_burst_us * 1000.0) as u64,
                );
                let tally = tally(&result, counts_hits, 0.0);
                report(&result, tally, &mut latency, &mut stalls, pacer);
            }
            Err(error) => {
                // What was told before is done; of what followed nobody knows how much was.
                let told = believed(session.last_progress(), call_s).0;
                let uncounted_s = (call_s - told.elapsed_us / 1e6).max(0.0);
                if told.ops > 0 {
                    pacer.went_on();
                }
                let after = pacer.op_failed(&error);
                let told = SliceResult { elapsed_us: call_s * 1e6, ..told };
                let tally = tally(&told, counts_hits, uncounted_s);
                report(&told, tally, &mut latency, &mut stalls, pacer);
                if error.class == ErrorClass::Lost || after == AfterError::Stop {
                    return Err(error);
                }
                session.undo()?;
                // The next call must not meet the keys of this one again, in the same order.
                let number = errors.one_more();
                keys = KeyStream::for_job(test_seed(order.seed, number), order.job);
            }
        }
    }
    Ok(())
}

/// The errors that a job has met, and what the next one may cost.
struct ErrorsSeen {
    number: u64,
    last_at: Instant,
    /// Time between the last two, in s; for ever before the first.
    between_s: f64,
}

impl ErrorsSeen {
    fn new() -> Self {
        ErrorsSeen { number: 0, last_at: Instant::now(), between_s: f64::INFINITY }
    }

    /// Counts an error; its number.
    fn one_more(&mut self) -> u64 {
        self.between_s = self.last_at.elapsed().as_secs_f64();
        self.last_at = Instant::now();
        self.number += 1;
        self.number
    }

    /// Seconds of a job's time that an error may cost now.
    fn stake_s(&self) -> f64 {
        self.between_s.max(self.last_at.elapsed().as_secs_f64()) / OF_THE_TIME_BETWEEN
    }

    /// The interval at which a routine is to tell.
    fn report_interval_us(&self) -> i64 {
        (self.stake_s().clamp(MIN_TELL_S, TELL_S) * 1e6) as i64
    }

    /// A slice of a routine that does not tell: short after errors.
    fn shortened(&self, slice: Slice) -> Slice {
        Slice { seconds: slice.seconds.min(self.stake_s().max(MIN_CALL_S)), ..slice }
    }
}

/// Result of a slice with plausible times, and the number of seconds by which the server's clock
/// was set meanwhile at least: no slice takes longer than the call that it is in, or less than no
/// time. One whose clock was set took as long as its call, and its times are nobody's.
fn believed(result: SliceResult, call_s: f64) -> (SliceResult, f64) {
    let elapsed_s = result.elapsed_us / 1e6;
    let step_s = if elapsed_s < 0.0 { -elapsed_s } else { elapsed_s - call_s };
    if elapsed_s >= 0.0 && step_s <= CLOCKS_DIFFER_S {
        return (result, 0.0);
    }
    let times = SliceResult {
        elapsed_us: call_s * 1e6,
        longest_burst_us: 0.0,
        samples_us: Vec::new(),
        ..result
    };
    (times, step_s)
}

/// The work of a slice, of whose call `uncounted_s` tell of no op.
fn tally(result: &SliceResult, counts_hits: bool, uncounted_s: f64) -> Tally {
    Tally {
        ops: result.ops,
        rows: result.rows,
        commits: result.commits,
        hits: if counts_hits { result.sink.round() as u64 } else { 0 },
        busy_s: result.elapsed_us / 1e6,
        uncounted_s,
        ..Tally::default()
    }
}

fn report(
    result: &SliceResult,
    tally: Tally,
    latency: &mut LatencyHistogram,
    stalls: &mut Stalls,
    pacer: &mut dyn Pacer,
) {
    latency.clear();
    for sample_us in &result.samples_us {
        latency.record_ns((sample_us * 1000.0).round().max(0.0) as u64);
    }
    let elapsed_s = result.elapsed_us / 1e6;
    let longest_ns = stalls.take(result.ops, elapsed_s);
    pacer.slice_done(&SliceReport { longest_ns, ..SliceReport::new(tally, elapsed_s, latency) });
}

/// The value of a bind of the harness' call.
fn bind_value(
    name: &str,
    order: &JobSpec<'_>,
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
        samples.resize(samples.len() + Some(count).filter(|count| *count <= MAX_SAMPLES)?, value);
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

    /// Gives what is listed, one entry for each call.
    struct Listed {
        returned: std::vec::IntoIter<Result<SliceResult, EngineError>>,
        values: Vec<i64>,
        before_error: SliceResult,
        undone: u64,
    }

    impl Routines for Listed {
        fn call(&mut self, values: &[i64]) -> Result<SliceResult, EngineError> {
            self.values.extend(values);
            self.returned.next().unwrap()
        }
        fn last_progress(&mut self) -> SliceResult {
            std::mem::take(&mut self.before_error)
        }
        fn undo(&mut self) -> Result<(), EngineError> {
            self.undone += 1;
            Ok(())
        }
    }

    /// Notes what it is told, for as many slices as there are left.
    #[derive(Debug, Default)]
    struct Notes {
        left: usize,
        elapsed_s: Vec<f64>,
        uncounted_s: Vec<f64>,
        ops: u64,
        rows: u64,
        samples: u64,
        failed: u64,
        steps_s: Vec<f64>,
    }

    impl Pacer for Notes {
        fn ready(&mut self) -> bool {
            true
        }
        fn next_slice(&mut self) -> Option<Slice> {
            self.left = self.left.checked_sub(1)?;
            Some(Slice { seconds: 1.0, max_ops: 1000, stride: 1 })
        }
        fn slice_done(&mut self, report: &SliceReport<'_>) {
            self.elapsed_s.push(report.elapsed_s);
            self.uncounted_s.push(report.tally.uncounted_s);
            self.ops += report.tally.ops;
            self.rows += report.tally.rows;
            self.samples += report.latency.len();
        }
        fn op_failed(&mut self, _: &EngineError) -> AfterError {
            self.failed += 1;
            AfterError::GoOn
        }
        fn clock_stepped(&mut self, step_s: f64) {
            self.steps_s.push(step_s);
        }
        fn session_counters(&mut self, _: Counters) {}
    }

    /// Report of a job whose calls return this, and the values of its binds.
    fn run_calls(
        returned: Vec<Result<SliceResult, EngineError>>,
        binds: &[&str],
        before_error: SliceResult,
    ) -> (Notes, Vec<i64>) {
        let mut notes = Notes { left: returned.len(), ..Notes::default() };
        let code = dbdyno_core::model::JobCode::Bulk { table: String::new(), batch: 1 };
        let (facts, table_rows) = (dbdyno_core::model::Facts::new(), 1);
        let order = JobSpec {
            job: 1,
            jobs: 1,
            code: &code,
            session: &[],
            seed: 42,
            facts: &facts,
            rows: dbdyno_core::model::rows::RowFunction { table_rows, seed: 1 },
            wire: dbdyno_core::model::Wire::default(),
            node: None,
        };
        let binds = binds.iter().map(|name| name.to_string()).collect();
        let call = BoundStatement { name: "W".into(), sql: String::new(), binds };
        let (returned, values) = (returned.into_iter(), Vec::new());
        let mut session = Listed { returned, values, before_error, undone: 0 };
        slices(&order, &call, &mut notes, &mut session).unwrap();
        assert_eq!(session.undone, notes.failed, "a failed call may leave a transaction open");
        (notes, session.values)
    }

    #[test]
    fn a_clock_that_was_set_is_told_and_its_times_are_not_believed() {
        let slice = |elapsed_us| {
            Ok(SliceResult {
                ops: 7,
                elapsed_us,
                samples_us: vec![elapsed_us],
                ..SliceResult::default()
            })
        };
        let (notes, _) =
            run_calls(vec![slice(-3e6), slice(3e6), slice(0.0)], &["seed"], SliceResult::default());
        assert_eq!((notes.ops, notes.samples), (21, 1), "the ops were done, by whatever clock");
        assert!(notes.elapsed_s.iter().all(|s| (0.0..1.0).contains(s)), "{:?}", notes.elapsed_s);
        assert_eq!(notes.steps_s[0], 3.0);
        assert!(notes.steps_s.len() == 2 && (2.0..=3.0).contains(&notes.steps_s[1]));
    }

    fn conflict() -> Result<SliceResult, EngineError> {
        Err(EngineError::new(ErrorClass::Serialization, "could not serialize access"))
    }

    #[test]
    fn what_a_call_told_before_its_error_is_done_and_the_rest_is_uncounted() {
        let before = SliceResult {
            ops: 40,
            rows: 80,
            samples_us: vec![2.0, 3.0],
            seed: 7,
            ..SliceResult::default()
        };
        let done = || Ok(SliceResult { ops: 5, seed: 9, ..SliceResult::default() });
        let (notes, values) = run_calls(vec![conflict(), done(), conflict()], &["seed"], before);
        assert_eq!((notes.ops, notes.rows, notes.samples, notes.failed), (45, 80, 2, 2));
        assert_eq!(notes.uncounted_s.len(), 3, "every call is told of, with its time");
        assert!(notes.uncounted_s[0] > 0.0 && notes.uncounted_s[2] > 0.0, "{notes:?}");
        assert_eq!(notes.uncounted_s[1], 0.0);
        assert!(
            ![values[0], 7].contains(&values[1]),
            "the keys of the call that failed: {values:?}"
        );
    }

    #[test]
    fn after_errors_routines_tell_more_often_or_are_called_for_less() {
        let done = || Ok(SliceResult { ops: 5, seed: 9, ..SliceResult::default() });
        let calls = || vec![done(), conflict(), done()];
        let (_, tells) = run_calls(calls(), &["slice_us", "tell_us"], SliceResult::default());
        assert_eq!(
            (&tells[..4], tells[4]),
            (&[1_000_000, 50_000, 1_000_000, 50_000][..], 1_000_000)
        );
        assert!(tells[5] < 50_000, "{tells:?}");
        let (_, silent) = run_calls(calls(), &["slice_us"], SliceResult::default());
        assert_eq!(silent[..2], [1_000_000; 2]);
        assert!(silent[2] < 1_000_000, "{silent:?}");
    }
}
