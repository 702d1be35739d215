//! Key performance metrics of a test, computed from their definition in the catalog; counters as
//! rates per second of the window; how many processes really worked on an op, and how much data it
//! went through.

use super::scope::Scope;
use crate::model::{
    Expr, Facts, Kpm, KpmValue, Named, Quantity, SeriesPoint, Tally, TestResult, WindowInterval,
    Workload,
};
use crate::stats::mean_interval::{batch_means, mean_interval};

/// The value of `kpm` for a result, in the KPM's own unit; absent if its counter is unknown or
/// nothing was done.
pub fn evaluate(kpm: &Kpm, result: &TestResult) -> Option<f64> {
    Some(base_value(&kpm.value, result)? * kpm.scale)
}

/// Sets `kpm_value` and `second_value` of a result from its definitions; a rate that was not kept
/// up with has none.
pub fn fill(result: &mut TestResult) {
    if result.open.as_ref().is_some_and(|open| open.is_overloaded(result.window.ops)) {
        (result.kpm_value, result.second_value) = (None, None);
        return;
    }
    result.kpm_value = evaluate(&result.kpm, result);
    result.second_value = result.second.as_ref().and_then(|second| evaluate(second, result));
    let kpms = [Some(&result.kpm), result.second.as_ref()];
    let names = kpms.into_iter().flatten().filter_map(|kpm| kpm.value.counter());
    let known = names.filter_map(|name| Some((name.to_owned(), counter_interval(result, name)?)));
    result.counter_intervals = known.collect();
}

/// Mean service time of an op in seconds: the jobs' busy time / ops; absent without ops.
pub fn mean_service_s(tally: &Tally) -> Option<f64> {
    (tally.ops > 0).then(|| tally.busy_s / tally.ops as f64)
}

/// Value in base units: per second, or seconds.
fn base_value(value: &KpmValue, result: &TestResult) -> Option<f64> {
    let when_done = |rate: f64| (result.window.ops > 0).then_some(rate);
    let is_counted = matches!(value, KpmValue::Counter(_) | KpmValue::CounterBlocks(_));
    if is_counted && result.beside.is_some() {
        return None; // the counters are those of both
    }
    match value {
        KpmValue::Units => when_done(result.units_per_s),
        KpmValue::Ops => when_done(result.ops_per_s),
        KpmValue::Rows => when_done(result.rows_per_s),
        KpmValue::ServiceTime => mean_service_s(&result.window),
        KpmValue::Counter(name) => counter_per_s(result, name),
        KpmValue::CounterBlocks(name) => {
            Some(counter_per_s(result, name)? * result.facts.get("block_bytes")?)
        }
    }
}

/// Prefixes of counters that are exact at any moment: those of the operating system and of dbdyno's
/// own process.
const EXACT_PREFIXES: [&str; 3] = ["os_", "self_", "server_"];

/// The counter `name` per second of the window; absent if the counter is.
///
/// Operating system counters: their difference over the window / its length. Database counters:
/// some engines hand them over late (a session reports once a second at best, at the latest when it
/// ends), and a long op counts at its end, so that a difference over the window can be off by more
/// than a second's worth. They are exact for the whole test only. Hence the figure per op over the
/// whole test, times the ops per second of the window; for a test without ops, per second of the
/// whole test.
pub fn counter_per_s(result: &TestResult, name: &str) -> Option<f64> {
    if EXACT_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        return window_per_s(result, name);
    }
    let count = result.counters.get(name)?;
    match result.total.ops {
        0 => (result.total_s > 0.0).then(|| count / result.total_s),
        ops => Some(count / ops as f64 * result.ops_per_s),
    }
}

/// Number of seconds of a test that are combined where a counter comes late, so that the slice
/// which one second lacks is in the next; used if at least five such batches result.
const LATE_S: usize = 4;
const MIN_BATCHES: usize = 5;

/// Interval of a counter per second, from its own growth in the seconds of the window, because the
/// variation of ops per second does not show how much an op makes the database count. Absent if a
/// second has no reading, with too few of them, and if it does not include the figure of the whole
/// test, of which the window then shows too little.
fn counter_interval(result: &TestResult, name: &str) -> Option<WindowInterval> {
    let value = counter_per_s(result, name).filter(|_| result.beside.is_none())?;
    let inside = result.series.iter().filter(|point| point.in_window && point.interval_s > 0.5);
    let rate = |point: &SeriesPoint| Some(point.metrics.get(name)? / point.interval_s);
    let rates = inside.map(rate).collect::<Option<Vec<f64>>>()?;
    let together = (rates.len() / MIN_BATCHES).clamp(1, LATE_S);
    let interval = mean_interval(&batch_means(&rates, together))?;
    let holds = (interval.mean - value).abs() <= interval.half_width;
    let fraction = interval.fraction().filter(|_| holds)?;
    Some(WindowInterval { fraction, freedom: interval.freedom })
}

/// The counter's difference over the window / seconds of the window.
pub fn window_per_s(result: &TestResult, name: &str) -> Option<f64> {
    let count = result.window_counters.get(name)?;
    (result.window_s > 0.0).then(|| count / result.window_s)
}

/// Fact with the processes that worked on one op, on average.
pub const THREADS_USED: &str = "threads_used";

/// Evaluates the workload's definition of the real number of threads (`seq_scans / ops`) and keeps
/// it as a fact of the result; where the engine counts the processor time of its threads instead,
/// how many processors were at work for each job. Without a definition, or where a counter is
/// missing, nothing is known.
pub(super) fn keep_threads(result: &mut TestResult, definition: Option<&Expr>) {
    let Some(definition) = definition else { return };
    let at_work = result
        .counters
        .get("worker_cpu_s")
        .map(|cpu_s| cpu_s / (result.total_s * f64::from(result.jobs)));
    let used = Scope::new(result).over_counters(definition).or(at_work);
    if let Some(used) = used.filter(|used| used.is_finite()) {
        result.facts.insert(THREADS_USED.into(), used);
    }
}

/// Fact with the million bytes of tables that one op goes through.
pub const OP_MB: &str = "op_mb";

/// Keeps as a fact how many MB an op goes through, where the workload says so (`per_op.mb`).
pub(super) fn keep_volume(result: &mut TestResult, workload: &Workload) {
    let amount = workload.per_op.get(&Quantity::Mb).and_then(|per_op| amount(result, per_op));
    result.facts.extend(amount.map(|mb| (OP_MB.to_string(), mb)));
}

/// The amount of a quantity in one op of a test, as the catalog defines it.
pub(super) fn amount(test: &TestResult, per_op: &Expr) -> Option<f64> {
    per_op.eval(&facts_of_op(test)).ok().filter(|amount| amount.is_finite() && *amount > 0.0)
}

/// Numeric parameters, the facts of the data, and the units of one op.
fn facts_of_op(test: &TestResult) -> Facts {
    let number = |(name, text): (&String, &String)| Some((name.clone(), text.parse().ok()?));
    let mut facts: Facts = test.params.iter().filter_map(number).collect();
    facts.extend(test.facts.clone());
    facts.insert("jobs".into(), f64::from(test.jobs));
    if test.window.ops > 0 {
        facts.insert(Quantity::WORK.into(), test.units / test.window.ops as f64);
    }
    facts
}

/// Fact: rows that an op is to find.
pub(super) const NEAR: &str = "near";

/// The share of the true neighbors that a test's ops found in the window.
pub fn recall(result: &TestResult) -> Option<f64> {
    found_share(result.window.hits, result.window.ops, *result.facts.get(NEAR)?)
        .filter(|_| result.total.hits > 0)
}

/// Share of the rows to find that `ops` ops found.
pub(super) fn found_share(hits: u64, ops: u64, near: f64) -> Option<f64> {
    let wanted = ops as f64 * near;
    (wanted > 0.0).then(|| hits as f64 / wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::{Better, Tally};

    fn value(value: KpmValue, result: &TestResult) -> Option<f64> {
        evaluate(&fixture::kpm(value, "x", Better::Higher), result)
    }

    #[test]
    fn every_kind_of_kpm() {
        let mut result = fixture::result();
        (result.units_per_s, result.rows_per_s) = (380_000.0, 250_000.0);
        result.counters = fixture::counters(&[("blocks_written", 240_000.0)]);
        assert_eq!(value(KpmValue::Units, &result), Some(380_000.0));
        assert_eq!(value(KpmValue::Ops, &result), Some(10_000.0));
        assert_eq!(value(KpmValue::Rows, &result), Some(250_000.0));
        assert_eq!(value(KpmValue::ServiceTime, &result), Some(20.0 / 100_000.0));
        assert_eq!(value(KpmValue::Counter("blocks_written".into()), &result), Some(20_000.0));
        assert_eq!(value(KpmValue::Counter("unknown".into()), &result), None);
        assert_eq!(value(KpmValue::CounterBlocks("blocks_written".into()), &result), None);
        result.facts.insert("block_bytes".into(), 8192.0);
        assert_eq!(
            value(KpmValue::CounterBlocks("blocks_written".into()), &result),
            Some(163_840_000.0)
        );
    }

    #[test]
    fn fill_applies_the_scale_and_leaves_unknown_absent() {
        let mut result = fixture::result();
        result.kpm =
            Kpm { scale: 1000.0, ..fixture::kpm(KpmValue::ServiceTime, "ms", Better::Lower) };
        result.second =
            Some(fixture::kpm(KpmValue::Counter("wal_bytes".into()), "B/s", Better::Higher));
        result.second_value = Some(1.0);
        fill(&mut result);
        assert!((result.kpm_value.unwrap() - 0.2).abs() < 1e-12);
        assert_eq!(result.second_value, None);
    }

    #[test]
    fn without_ops_there_is_no_rate() {
        let result = TestResult { window: Tally::default(), ..fixture::result() };
        assert_eq!(value(KpmValue::Ops, &result), None);
        assert_eq!(value(KpmValue::ServiceTime, &result), None);
    }

    #[test]
    fn a_database_counter_is_taken_per_op_of_the_whole_test() {
        let mut result = fixture::result();
        result.counters = fixture::counters(&[("logical_reads", 360_000.0)]);
        // A late counter: the window saw too little of it. 360000 / 120000 ops = 3 per op, x 10000
        // ops/s.
        result.window_counters = fixture::counters(&[("logical_reads", 7.0)]);
        assert_eq!(counter_per_s(&result, "logical_reads"), Some(30_000.0));
        result.total = Tally::default();
        assert_eq!(counter_per_s(&result, "logical_reads"), Some(30_000.0));
        assert_eq!(counter_per_s(&result, "physical_reads"), None);
    }

    #[test]
    fn a_counter_has_the_interval_of_its_own_seconds() {
        let mut result = fixture::result();
        result.kpm = fixture::kpm(KpmValue::Counter("blocks".into()), "dbps", Better::Higher);
        let known = |result: &mut TestResult, growth: &[f64]| {
            result.counters = fixture::counters(&[("blocks", 12.0 * growth[0])]);
            for (point, growth) in result.series.iter_mut().zip(growth.iter().cycle()) {
                point.metrics = fixture::counters(&[("blocks", *growth)]).into();
            }
            fill(result);
            result.counter_intervals.get("blocks").copied()
        };
        // Ten seconds of ops that hardly vary, and of blocks that do.
        let steady = known(&mut result, &[100.0, 90.0, 110.0, 95.0, 105.0]).unwrap();
        assert!(steady.fraction > 0.03 && steady.freedom < 4.0, "{steady:?}");
        // Written in one second of ten; and a test that counted twice of what its window shows.
        assert_eq!(known(&mut result, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 900.0]), None);
        assert_eq!(known(&mut result, &[100.0, 50.0, 50.0, 51.0, 49.0, 50.0, 50.0]), None);
        known(&mut result, &[100.0]).unwrap();
        result.series[5].metrics = Default::default();
        fill(&mut result);
        assert_eq!(result.counter_intervals.get("blocks"), None, "a second without a reading");
    }

    #[test]
    fn an_operating_system_counter_is_taken_over_the_window() {
        let mut result = fixture::result();
        result.counters = fixture::counters(&[("os_disk_reads", 9_999.0)]);
        assert_eq!(counter_per_s(&result, "os_disk_reads"), None);
        result.window_counters = fixture::counters(&[("os_disk_reads", 500.0)]);
        assert_eq!(counter_per_s(&result, "os_disk_reads"), Some(50.0));
    }

    #[test]
    fn every_process_counts_its_scan() {
        let mut result = fixture::result();
        let definition = Expr("seq_scans / ops".into());
        keep_threads(&mut result, Some(&definition));
        assert_eq!(result.facts.get(THREADS_USED), None);
        // 120000 ops of two processes each.
        result.counters = fixture::counters(&[("seq_scans", 240_000.0)]);
        keep_threads(&mut result, Some(&definition));
        assert_eq!(result.facts.get(THREADS_USED), Some(&2.0));
    }

    #[test]
    fn the_data_of_an_op_is_what_the_catalog_says() {
        let mut result = fixture::result();
        result.facts.insert("small_mb".into(), 12.0);
        let kpm = fixture::kpm(KpmValue::Ops, "ops", Better::Higher);
        let silent = Workload::bare("W", "w", kpm);
        keep_volume(&mut result, &silent);
        assert_eq!(result.facts.get(OP_MB), None);
        let per_op = [(Quantity::Mb, Expr("small_mb / 2".into()))].into();
        keep_volume(&mut result, &Workload { per_op, ..silent });
        assert_eq!(result.facts.get(OP_MB), Some(&6.0));
    }

    #[test]
    fn threads_of_one_process_are_known_by_their_processor_time() {
        let mut result = fixture::result();
        // 12 s of two jobs.
        result.counters = fixture::counters(&[("worker_cpu_s", 36.0)]);
        keep_threads(&mut result, Some(&Expr("seq_scans / ops".into())));
        assert_eq!(result.facts.get(THREADS_USED), Some(&1.5));
    }
}
