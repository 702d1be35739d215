//! Repetitions of one test: which of them count, the test that stands for them, and what they show
//! together.

use super::interval::{Interval, IntervalOrReason, Source, most_trusted, of_test};
use super::spread::{self, Window};
use super::tiers;
use crate::model::{Better, KpmValue, Sentence, Status, Test, TestResult};
use crate::stats::moderated::{self, Estimate, Repetitions, Resource};

/// A repetition of a test in one metric.
#[derive(Debug, Clone, Copy)]
pub struct Repeat<'a> {
    /// Value of the metric.
    pub value: f64,
    /// The test itself.
    pub test: &'a Test,
}

/// Repetitions in one metric.
pub type Repeats<'a> = Vec<Repeat<'a>>;

/// The tests with a value per number of jobs, ascending by jobs and by value. What a publication
/// only states is left out where its run table has a value, and a test of a worse verdict where a
/// number of jobs has one of a better verdict, unless those of the better verdict all measured 0.
pub fn by_jobs<'a>(
    tests: &[&'a Test],
    value: impl Fn(&'a Test) -> Option<f64>,
) -> Vec<Repeats<'a>> {
    let known = |&test: &&'a Test| {
        let value = value(test).filter(|value| value.is_finite())?;
        Some(Repeat { value, test })
    };
    let mut known: Repeats<'a> = tests.iter().filter_map(known).collect();
    let has_table = known.iter().any(|repeat| !repeat.test.is_statement());
    known.retain(|repeat| !(has_table && repeat.test.is_statement()));
    known.sort_by(|a, b| a.test.jobs().cmp(&b.test.jobs()).then(a.value.total_cmp(&b.value)));
    let repeats = known.chunk_by(|a, b| a.test.jobs() == b.test.jobs());
    repeats.map(trusted).collect()
}

/// The repetitions with the best verdict, of those at one number of jobs in ascending order. If all
/// of these measured 0, the sound ones that measured more are included: 0 has no logarithm, so that
/// the zeros are a doubt about the figure and not the figure.
fn trusted<'a>(repeats: &[Repeat<'a>]) -> Repeats<'a> {
    let best = most_trusted(repeats.to_vec(), |repeat| repeat.test.status());
    if best.iter().any(|repeat| repeat.value > 0.0) {
        return best;
    }
    let is_sound =
        |repeat: &&Repeat<'_>| repeat.value > 0.0 && repeat.test.status() < Status::Invalid;
    let more: Repeats<'a> = repeats.iter().filter(is_sound).copied().collect();
    [best, most_trusted(more, |repeat| repeat.test.status())].concat()
}

/// The repetitions that count, of `repeats` in ascending order: those above 0, for 0 has no
/// logarithm and so no place in the mean. If all measured 0, all count.
pub fn without_zeros<'r, 'a>(repeats: &'r [Repeat<'a>]) -> &'r [Repeat<'a>] {
    let zeros = repeats.partition_point(|repeat| repeat.value <= 0.0);
    if zeros < repeats.len() { &repeats[zeros..] } else { repeats }
}

/// Doubt about a figure if some of its repetitions measured 0; none if none did. `counted` is the
/// number of the other repetitions.
pub(super) fn zeros_doubt(zeros: usize, counted: usize) -> Option<Sentence> {
    let sentence = "{zeros} of {count} repetitions measured 0, which does not count: another run \
                    may give another result";
    let sentence = Sentence::new(sentence).with("zeros", zeros).with("count", zeros + counted);
    (zeros > 0).then_some(sentence)
}

/// The median one of repetitions in ascending order. Of two in the middle it is the worse one, so
/// that a figure and its reciprocal are those of the same test.
pub fn median<'a>(repeats: &[Repeat<'a>], better: Better) -> Repeat<'a> {
    match better {
        Better::Higher => repeats[(repeats.len() - 1) / 2],
        Better::Lower => repeats[repeats.len() / 2],
    }
}

/// The value of repetitions in ascending order, and the test that stands for them: the median one.
pub fn value<'a>(repeats: &[Repeat<'a>], better: Better, computed: &KpmValue) -> Repeat<'a> {
    let median = median(repeats, better);
    let estimate = estimate_of(repeats, median.test, computed).filter(|_| repeats.len() > 1);
    let value = estimate.map_or(median.value, |estimate| estimate.location.at.exp());
    Repeat { value, ..median }
}

/// The value of this test among the repetitions.
pub fn value_of_test(repeats: &[Repeat<'_>], test: &Test) -> f64 {
    let own = repeats.iter().find(|repeat| std::ptr::eq(repeat.test, test));
    own.map_or(f64::NAN, |repeat| repeat.value)
}

/// Estimate from the repetitions: that of their run, else their own. None of publications, and of
/// values without a logarithm.
pub fn estimate_of(repeats: &[Repeat<'_>], test: &Test, computed: &KpmValue) -> Option<Estimate> {
    let result = test.measured()?;
    let metrics = [Some(&result.kpm), result.second.as_ref()];
    let known = metrics.iter().zip(&result.estimates);
    let known = known.filter(|(kpm, _)| kpm.is_some_and(|kpm| kpm.value == *computed));
    let known = known.filter_map(|(_, estimate)| *estimate).next();
    let is_all = |known: &Estimate| known.location.repetitions == repeats.len();
    if known.as_ref().is_some_and(is_all) {
        return known;
    }
    let point = Repetitions {
        logs: logs(repeats)?,
        within: window_variance(repeats, computed),
        resource: resource_of(test),
    };
    moderated::estimates(&[point]).into_iter().next()
}

/// Bytes of a block: ops that read as many from a device wait for it.
const BLOCK_BYTES: f64 = 4096.0;

/// Resource that the figures of a test depend on most: a device, if its ops commit, or if each
/// reads a block from it; memory, if each reads a block of cached data.
pub fn resource_of(test: &Test) -> Resource {
    let Some(result) = test.measured() else { return Resource::default() };
    let read_bytes = tiers::device_read_bytes(&result.window_counters).unwrap_or(0.0);
    let reads_device = read_bytes >= BLOCK_BYTES * result.window.ops.max(1) as f64;
    if result.window.commits > 0 || reads_device {
        Resource::Device
    } else if reads_data(result) {
        Resource::Memory
    } else {
        Resource::Processor
    }
}

/// Blocks that a database reads, for each job and once more, while a test's sessions begin and its
/// probes read: 700 to 1,200 in all were seen, of which no op is the reason.
const STRAY_BLOCKS: f64 = 1000.0;

/// True if each op of a test reads a block, by the database's count; where it counts none, if ops
/// find rows.
fn reads_data(result: &TestResult) -> bool {
    let stray = STRAY_BLOCKS * f64::from(result.jobs + 1);
    match result.counters.get("logical_reads") {
        Some(blocks) => blocks - stray >= result.total.ops.max(1) as f64,
        None => result.window.rows > 0,
    }
}

/// The natural logarithms of measured repetitions; none if one has no logarithm.
pub(super) fn logs(repeats: &[Repeat<'_>]) -> Option<Vec<f64>> {
    let log = |repeat: &Repeat<'_>| {
        repeat.test.measured()?;
        Some(repeat.value.ln()).filter(|log| log.is_finite())
    };
    repeats.iter().map(log).collect()
}

/// Squared standard error of a single test, computed from the seconds of its window.
pub(super) fn window_variance(repeats: &[Repeat<'_>], computed: &KpmValue) -> Option<f64> {
    let [single] = repeats else { return None };
    of_test(single.test, computed).ok().map(|interval| interval.error.powi(2))
}

/// Interval of the value of repetitions, which `test` stands for.
///
/// With two or more repetitions (or starts or loads, if those were repeated) it comes from their
/// spread, moderated by that of the run's other points. The seconds of one of them do not show how
/// windows differ. Only a single repetition has the interval of its seconds.
pub fn interval_of(repeats: &[Repeat<'_>], test: &Test, value: &KpmValue) -> IntervalOrReason {
    repeated(repeats, test, value).map_or_else(|| of_test(test, value), Ok)
}

fn repeated(repeats: &[Repeat<'_>], test: &Test, value: &KpmValue) -> Option<Interval> {
    let windows = windows(repeats, value);
    let is_one_start = windows
        .iter()
        .all(|window| (window.load, window.start) == (windows[0].load, windows[0].start));
    if windows.len() > 1 && is_one_start {
        let estimate = estimate_of(repeats, test, value);
        if let Some(interval) = estimate.as_ref().and_then(Interval::of_estimate) {
            return Some(interval);
        }
    }
    let found = spread::estimate(&windows)?;
    Some(Interval {
        error: found.error,
        freedom: found.groups as f64 - 1.0,
        further: found.next,
        fresh: found.next,
        source: Source::Repetitions(repeats.len()),
    })
}

/// The windows of measured repetitions.
pub fn windows(repeats: &[Repeat<'_>], value: &KpmValue) -> Vec<Window> {
    let window = |repeat: &Repeat<'_>| {
        let within = of_test(repeat.test, value).ok().map(|interval| interval.error);
        let test = repeat.test.measured()?;
        Some(Window { load: test.load, start: test.server_start, value: repeat.value, within })
    };
    repeats.iter().filter_map(window).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture::{at, counters, result};
    use crate::analysis::interval::Unknown;
    use crate::model::{Counters, Reason, ReasonCode, Tally, Verdict};

    fn with(ci_fraction: Option<f64>, window_s: f64) -> Test {
        TestResult { ci_fraction, window_s, ..at(1, 100.0) }.into()
    }

    fn repeats<'a>(values: &[f64], test: &'a Test) -> Repeats<'a> {
        values.iter().map(|&value| Repeat { value, test }).collect()
    }

    #[test]
    fn three_repetitions_tell_where_a_further_one_falls_whatever_their_seconds_say() {
        // The logarithms' s = 0.020003, t(0.975, 2) = 4.302653: a further one lies within 4.302653
        // s sqrt(1 + 1/3), a fresh run within t sqrt(2 (s^2/3 + 0.015^2 + 0.01^2)). All of it is
        // 1.52 times as wide: no other point shows whether one of the three is an outlier.
        let test = with(Some(0.5), 10.0);
        let found =
            interval_of(&repeats(&[98.0, 100.0, 102.0], &test), &test, &KpmValue::Ops).unwrap();
        assert!((found.further.unwrap() - 1.52 * 0.099_38).abs() < 2e-4, "{found:?}");
        assert_eq!((found.source, found.freedom), (Source::Repetitions(3), 2.0));
        assert!((found.error - 1.52 * 0.020_003 / 3f64.sqrt()).abs() < 1e-5, "{found:?}");
        assert!((found.half_width() - 4.302_653 * found.error).abs() < 1e-8);
        assert!(found.fresh.unwrap() > found.half_width(), "{found:?}");
        assert!(found.ends(100.0)[0] > 0.0, "{found:?}");
    }

    #[test]
    fn two_repetitions_tell_little_but_never_the_seconds_of_one_of_them() {
        let (long, ops) = (with(Some(0.02), 10.0), KpmValue::Ops);
        let single = interval_of(&repeats(&[100.0], &long), &long, &ops).unwrap();
        assert_eq!(single, Interval::of_seconds(0.02, 4.0));
        assert!((single.half_width() - 0.02).abs() < 1e-12);
        // t(0.975, 1) = 12.7062, the logarithms' s = 0.020203 / sqrt(2).
        let two = interval_of(&repeats(&[98.0, 100.0], &long), &long, &ops).unwrap();
        assert!((two.half_width() - 12.7062 * 0.020_203 / 2.0).abs() < 1e-4, "{two:?}");
        assert_eq!(two.freedom, 1.0);
        let short = with(None, 2.0);
        assert_eq!(
            interval_of(&repeats(&[100.0], &short), &short, &ops),
            Err(Unknown::ShortWindow)
        );
        assert_eq!(of_test(&with(None, 10.0), &ops), Err(Unknown::Alike));
    }

    #[test]
    fn a_publication_has_none_however_often_it_prints_a_figure() {
        let printed = crate::analysis::published_checks::fixture::test(
            "T1",
            crate::model::PublishedKind::Point,
            1,
            &[("rows_per_s", 1.0)],
        );
        assert_eq!(
            interval_of(&repeats(&[98.0, 100.0, 102.0], &printed), &printed, &KpmValue::Rows),
            Err(Unknown::Published)
        );
    }

    #[test]
    fn a_valid_0_is_a_doubt_beside_conditional_repetitions_that_measured_more() {
        use Status::{Conditional, Invalid, Valid};
        let test = |value: f64, status: Status| {
            let reason = Reason::new(status, ReasonCode::Steal, "stolen");
            let verdict = Verdict::from_reasons(vec![reason]);
            Test::from(TestResult { verdict, ..at(1, value) })
        };
        let values = |tests: &[Test]| -> Vec<Vec<f64>> {
            let tests: Vec<&Test> = tests.iter().collect();
            let found = by_jobs(&tests, Test::kpm_value);
            found.iter().map(|of| of.iter().map(|repeat| repeat.value).collect()).collect()
        };
        let tests = [
            test(90.0, Conditional),
            test(0.0, Valid),
            test(100.0, Conditional),
            test(80.0, Invalid),
            test(0.0, Conditional),
        ];
        assert_eq!(values(&tests), [[0.0, 90.0, 100.0]]);
        assert_eq!(values(&tests[1..2]), [[0.0]]);
        // Invalid ones say nothing, and a valid one that measured more counts alone.
        assert_eq!(values(&[test(0.0, Valid), test(80.0, Invalid)]), [[0.0]]);
        assert_eq!(values(&[test(70.0, Valid), test(80.0, Conditional)]), [[70.0]]);
    }

    #[test]
    fn a_test_depends_on_memory_if_its_ops_read_blocks_or_find_rows() {
        let of_blocks = |blocks_per_op: f64| {
            let stray = STRAY_BLOCKS * f64::from(result().jobs + 1);
            let blocks = blocks_per_op * result().total.ops as f64 + stray;
            let counters = counters(&[("logical_reads", blocks)]);
            Test::from(TestResult { counters, ..result() })
        };
        assert_eq!(resource_of(&of_blocks(1.0)), Resource::Memory);
        assert_eq!(resource_of(&of_blocks(0.9)), Resource::Processor);
        let of_rows = |rows: u64| {
            let (window, counters) = (Tally { rows, ..result().window }, Counters::default());
            resource_of(&Test::from(TestResult { window, counters, ..result() }))
        };
        assert_eq!([of_rows(0), of_rows(1)], [Resource::Processor, Resource::Memory]);
    }

    #[test]
    fn a_test_depends_on_a_device_if_its_ops_commit_or_read_blocks_from_it() {
        let of_reads = |bytes_per_op: f64| {
            let ops = result().window.ops as f64;
            let window_counters = counters(&[("server_read_bytes", bytes_per_op * ops)]);
            Test::from(TestResult { window_counters, ..result() })
        };
        let window = Tally { commits: 1, ..result().window };
        let commits = Test::from(TestResult { window, ..result() });
        assert_eq!(resource_of(&Test::from(result())), Resource::Memory);
        assert_eq!(resource_of(&of_reads(4000.0)), Resource::Memory);
        assert_eq!(resource_of(&of_reads(4096.0)), Resource::Device);
        assert_eq!(resource_of(&commits), Resource::Device);
    }
}
