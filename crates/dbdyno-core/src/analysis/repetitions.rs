//! Agreement between the repetitions of a test: a figure that another run would contradict is not
//! valid.

use super::cpu_distance;
use super::ramp::same;
use super::repeats::{self, Repeat, by_jobs};
use crate::model::{Reason, ReasonCode, Sentence, Status, Test, Verdict};

/// Largest / smallest value of up to five repetitions that still support one another.
const WIDEST: f64 = 1.5;
/// Expected range of n = 5, 6, ... normal values in standard deviations: the constant d2 of control
/// charts (D. C. Montgomery, Introduction to Statistical Quality Control, appendix VI).
const RANGES: [f64; 6] = [2.326, 2.534, 2.704, 2.847, 2.970, 3.078];

/// A verdict that takes the place of a test's own.
#[derive(Debug, Clone, PartialEq)]
pub struct NewVerdict {
    /// Number of the test within the run.
    pub seq: u32,
    /// The verdict itself.
    pub verdict: Verdict,
}

/// The new verdicts of tests whose repetitions disagree: conditional, with the reason
/// `repetitions`, where the largest KPM is more than 1.5 times the smallest. The more repetitions
/// there are, the further apart lie the two: from six on that is allowed for, so that a test is not
/// the worse for having been repeated. Of the repetitions of a ramp at a number of jobs those of
/// the best verdict are compared, which are those that a figure is taken from. One that measured 0
/// is a doubt about the figure itself.
pub fn judge(tests: &[Test]) -> Vec<NewVerdict> {
    let mut ramps: Vec<Vec<&Test>> = Vec::new();
    for test in tests {
        match ramps.iter_mut().find(|ramp| same(ramp[0], test)) {
            Some(ramp) => ramp.push(test),
            None => ramps.push(vec![test]),
        }
    }
    let points = ramps.iter().flat_map(|ramp| by_jobs(ramp, Test::kpm_value));
    points.flat_map(|repeats| disagreement(repeats::without_zeros(&repeats))).collect()
}

/// Largest / smallest value of `count` repetitions that still support one another: that of the
/// noise with which five of them are expected to differ by [`WIDEST`].
fn widest(count: usize) -> f64 {
    let range = RANGES[count.saturating_sub(5).min(RANGES.len() - 1)];
    WIDEST.powf(range / RANGES[0])
}

/// New verdicts for repetitions that disagree; `repeats` is in ascending order of the values.
fn disagreement(repeats: &[Repeat<'_>]) -> Vec<NewVerdict> {
    let Some((lowest, highest)) = repeats.first().zip(repeats.last()) else { return Vec::new() };
    let factor = highest.value / lowest.value;
    if factor <= widest(repeats.len())
        || !factor.is_finite()
        || lowest.test.status() == Status::Invalid
    {
        return Vec::new();
    }
    let sentence = difference(repeats).with("count", repeats.len() as u64).with("factor", factor);
    let judged = |test: &Test| {
        let reason = Reason::new(Status::Conditional, ReasonCode::Repetitions, sentence.clone());
        let reasons = test.verdict().reasons.iter().cloned().chain([reason]);
        NewVerdict { seq: test.seq(), verdict: Verdict::from_reasons(reasons.collect()) }
    };
    repeats.iter().map(|repeat| judged(repeat.test)).collect()
}

/// Sentence about repetitions that differ, with the cause if it is known; it lacks their number and
/// by which factor they do.
fn difference(repeats: &[Repeat<'_>]) -> Sentence {
    match cpu_distance::within(repeats) {
        None => Sentence::new(
            "{count} repetitions differ by a factor of {factor}: another run may give another \
             result",
        ),
        Some(times) => Sentence::new(
            "{count} repetitions differ by a factor of {factor}, and those are slower after which \
             a cache line took longer from one CPU to another (up to x{times} of the shortest \
             time): another run may give another result",
        )
        .with("times", times),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture::{at, counters};
    use crate::model::TestResult;

    fn test(seq: u32, jobs: u32, value: f64) -> Test {
        TestResult { seq, ..at(jobs, value) }.into()
    }

    fn conditional(test: Test) -> Test {
        crate::analysis::published_checks::fixture::judged(test, Status::Conditional)
    }

    #[test]
    fn repetitions_that_differ_by_half_or_more_make_one_another_conditional() {
        let tests = [
            test(1, 1, 100.0),
            test(2, 2, 100.0),
            test(3, 1, 149.0),
            test(4, 2, 151.0),
            test(5, 2, 120.0),
        ];
        let judged = judge(&tests);
        let mut numbers: Vec<u32> = judged.iter().map(|new| new.seq).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [2, 4, 5], "at two jobs");
        let verdict = &judged[0].verdict;
        assert_eq!(verdict.status, Status::Conditional);
        let text = "3 repetitions differ by a factor of 1.51: another run may give another result";
        assert_eq!(verdict.reasons.last().map(|reason| reason.text.as_str()), Some(text));
    }

    #[test]
    fn the_cause_of_a_difference_is_told_where_it_is_known() {
        let values = [230.0, 228.0, 235.0, 151.0, 155.0];
        let trips_ns = [90.0, 95.0, 100.0, 350.0, 345.0];
        let tests = (1..).zip(values.iter().zip(trips_ns)).map(|(seq, (value, trip_ns))| {
            let trip_s = trip_ns / 1e9;
            let counters = counters(&[(cpu_distance::TRIPS, 1.0), (cpu_distance::TRIPS_S, trip_s)]);
            Test::from(TestResult { seq, counters, ..at(2, *value) })
        });
        let judged = judge(&tests.collect::<Vec<_>>());
        let text = judged[0].verdict.reasons.last().map(|reason| reason.text.to_string());
        let expected = "5 repetitions differ by a factor of 1.56, and those are slower after which \
                        a cache line took longer from one CPU to another (up to x3.89 of the \
                        shortest time): another run may give another result";
        assert_eq!(text.as_deref(), Some(expected));
    }

    #[test]
    fn more_repetitions_may_lie_further_apart() {
        let limits = [2, 5, 6, 8, 10, 50].map(|count| (widest(count) * 1000.0).round());
        assert_eq!(limits, [1500.0, 1500.0, 1555.0, 1643.0, 1710.0, 1710.0]);
        let eight = |highest: f64| {
            let values = [100.0, 105.0, 110.0, 115.0, 120.0, 125.0, 130.0, highest];
            judge(&(1..).zip(values).map(|(seq, value)| test(seq, 1, value)).collect::<Vec<_>>())
        };
        assert_eq!([eight(164.0).len(), eight(165.0).len()], [0, 8]);
    }

    #[test]
    fn what_no_figure_is_taken_from_contradicts_nothing() {
        let disturbed = conditional(test(3, 1, 500.0));
        assert_eq!(judge(&[test(1, 1, 100.0), test(2, 1, 101.0), disturbed]), []);
        let all = [conditional(test(1, 1, 100.0)), conditional(test(2, 1, 200.0))];
        let judged = judge(&all);
        let reasons: Vec<usize> = judged.iter().map(|new| new.verdict.reasons.len()).collect();
        assert_eq!(reasons, [2, 2]);
        assert_eq!(judge(&[test(1, 1, 100.0)]), [], "a single test");
        assert_eq!(judge(&[test(1, 1, 0.0), test(2, 1, 7.0)]), [], "nothing to divide by");
        let others = [test(1, 1, 0.0), test(2, 1, 7.0), test(3, 1, 14.0)];
        assert_eq!(judge(&others).iter().map(|new| new.seq).collect::<Vec<_>>(), [2, 3]);
    }
}
