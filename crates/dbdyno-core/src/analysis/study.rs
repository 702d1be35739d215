//! Common parts of studies in blocks: each block has every test once, in random order, and the
//! result is the median of a figure, or of its difference or ratio to another, block by block.
//! Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::reason_count::{ReasonCount, count};
use crate::model::{Reason, ReasonCode, Sentence, Status, Test, TestResult};
use crate::stats::summary::{median, median_interval};

/// Fewer blocks have no interval.
pub const MIN_BLOCKS: usize = 6;

/// A median with the ends of its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MedianInterval {
    /// The median.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl MedianInterval {
    /// The median of the blocks' values; none with too few.
    pub fn from_values(values: &[f64]) -> Option<MedianInterval> {
        let (low, high) = median_interval(values)?;
        Some(MedianInterval { value: median(values)?, low, high })
    }

    /// The verdict on a figure of tests with this one: without an interval it is conditional.
    pub fn verdict(known: Option<&MedianInterval>, of_tests: Status) -> Status {
        if known.is_some() { of_tests } else { of_tests.max(Status::Conditional) }
    }

    /// True if its interval lies on one side of `of`.
    pub fn is_apart(&self, of: f64) -> bool {
        self.low > of || self.high < of
    }
}

/// Values of one figure over the blocks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Blocks<'a> {
    /// Test of the member in each block; none in a block without one.
    tests: Vec<Option<&'a TestResult>>,
}

impl<'a> Blocks<'a> {
    /// The measured tests of a run that `is_of` takes, one for each block of the run: of several
    /// attempts the first of the best verdict. Where blocks are not known the n-th test is that of
    /// block n.
    pub fn from_tests(tests: &'a [Test], is_of: impl Fn(&TestResult) -> bool) -> Blocks<'a> {
        let measured = || tests.iter().filter_map(Test::measured);
        let mut own: Vec<&'a TestResult> = measured().filter(|test| is_of(test)).collect();
        own.sort_by_key(|test| test.seq);
        let numbers: Option<Vec<u32>> = own.iter().map(|test| test.block).collect();
        let Some(numbers) = numbers else {
            return Blocks { tests: own.into_iter().map(Some).collect() };
        };
        let mut best: BTreeMap<u32, &'a TestResult> = BTreeMap::new();
        for (block, test) in numbers.into_iter().zip(own) {
            let known = best.entry(block).or_insert(test);
            if test.verdict.status < known.verdict.status {
                *known = test;
            }
        }
        let all: BTreeSet<u32> = measured().filter_map(|test| test.block).collect();
        Blocks { tests: all.iter().map(|block| best.get(block).copied()).collect() }
    }

    /// The tests that there are.
    fn present(&self) -> impl Iterator<Item = &'a TestResult> {
        self.tests.iter().copied().flatten()
    }

    /// True if the figure was not measured.
    pub fn is_empty(&self) -> bool {
        self.present().next().is_none()
    }

    /// The value of each block; none where the test is invalid or has none.
    pub fn values(&self, value: impl Fn(&TestResult) -> Option<f64>) -> Vec<Option<f64>> {
        let used = |test: &&TestResult| test.verdict.status != Status::Invalid;
        self.tests.iter().map(|test| test.filter(used).and_then(&value)).collect()
    }

    /// The worst verdict of the tests whose values are used; invalid if there is none. The presence
    /// of a background workload does not count, because the study asks for it.
    pub fn status(&self) -> Status {
        let used = self.present().filter(|test| test.verdict.status != Status::Invalid);
        let status = |test: &TestResult| {
            against(test).map(|reason| reason.status).max().unwrap_or(Status::Valid)
        };
        used.map(status).max().unwrap_or(Status::Invalid)
    }

    /// Tests whose values are not used.
    pub fn left_out(&self) -> usize {
        self.present().filter(|test| test.verdict.status == Status::Invalid).count()
    }

    /// Reasons that lowered the verdicts, each with the number of tests.
    pub fn conditions(&self) -> Vec<ReasonCount> {
        let mut counted: Vec<ReasonCount> = Vec::new();
        for reason in self.present().flat_map(against) {
            count(&mut counted, reason.code.clone());
        }
        counted
    }

    /// Reason why the first of those is invalid.
    pub fn why_left_out(&self) -> Option<&'a Reason> {
        self.present()
            .filter(|test| test.verdict.status == Status::Invalid)
            .find_map(|test| test.verdict.reasons.first())
    }
}

/// Reasons that lowered the verdict of a test, except its background workload.
fn against(test: &TestResult) -> impl Iterator<Item = &Reason> {
    let is_asked_for =
        |reason: &&Reason| reason.code == ReasonCode::Beside && reason.status != Status::Invalid;
    test.verdict
        .reasons
        .iter()
        .filter(move |reason| reason.status > Status::Valid && !is_asked_for(reason))
}

/// Reason for a figure that is missing because of too few blocks.
pub fn too_few(blocks: usize) -> Sentence {
    let sentence = Sentence::new("{blocks} of the {needed} blocks that are needed can be used");
    sentence.with("blocks", blocks as u64).with("needed", MIN_BLOCKS as u64)
}

/// The values that are known.
pub fn known(values: &[Option<f64>]) -> Vec<f64> {
    values.iter().copied().flatten().collect()
}

/// Result of `with` for both values of each block that has both.
pub fn paired(a: &[Option<f64>], b: &[Option<f64>], with: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    a.iter().zip(b).filter_map(|(a, b)| Some(with((*a)?, (*b)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::Verdict;

    fn judged(seq: u32, value: f64, status: Status) -> Test {
        let reason = Reason::new(status, ReasonCode::Steal, "");
        TestResult { seq, verdict: Verdict::from_reasons(vec![reason]), ..fixture::at(1, value) }
            .into()
    }

    #[test]
    fn invalid_tests_leave_a_gap_that_keeps_blocks_together() {
        use Status::{Conditional, Invalid, Valid};
        let tests =
            [judged(3, 30.0, Valid), judged(1, 10.0, Conditional), judged(2, 20.0, Invalid)];
        let blocks = Blocks::from_tests(&tests, |_| true);
        let values = blocks.values(|test| test.kpm_value);
        assert_eq!(values, [Some(10.0), None, Some(30.0)]);
        assert_eq!(
            (blocks.status(), blocks.left_out(), blocks.is_empty()),
            (Conditional, 1, false)
        );
        assert_eq!(blocks.conditions(), [ReasonCount { code: ReasonCode::Steal, trials: 2 }]);
        let others = [Some(1.0), Some(2.0), None];
        assert_eq!(paired(&values, &others, |a, b| a - b), [9.0]);
        assert_eq!(Blocks::from_tests(&tests, |_| false).status(), Invalid);
    }

    /// A test in a block, of a way that its number of jobs tells from others.
    fn in_block(block: u32, seq: u32, jobs: u32, value: f64, status: Status) -> Test {
        let reason = Reason::new(status, ReasonCode::Steal, "");
        let verdict = Verdict::from_reasons(vec![reason]);
        TestResult { seq, block: Some(block), verdict, ..fixture::at(jobs, value) }.into()
    }

    #[test]
    fn a_further_attempt_or_a_missing_test_shifts_no_block() {
        use Status::{Conditional, Valid};
        let tests = [
            in_block(1, 1, 1, 10.0, Valid),
            in_block(1, 2, 2, 11.0, Valid),
            // Disturbed, and measured again.
            in_block(2, 3, 1, 99.0, Conditional),
            in_block(2, 4, 1, 20.0, Valid),
            in_block(2, 5, 2, 22.0, Valid),
            // The ramp had ended before the first way's turn.
            in_block(3, 6, 2, 33.0, Valid),
            in_block(4, 7, 1, 40.0, Valid),
            in_block(4, 8, 2, 44.0, Valid),
        ];
        let way = |jobs: u32| Blocks::from_tests(&tests, |test| test.jobs == jobs);
        let values = |jobs: u32| way(jobs).values(|test| test.kpm_value);
        assert_eq!(values(1), [Some(10.0), Some(20.0), None, Some(40.0)]);
        assert_eq!(paired(&values(1), &values(2), |a, b| b - a), [1.0, 2.0, 4.0]);
        assert_eq!((way(1).status(), way(1).conditions().len()), (Valid, 0));
        assert!(way(3).is_empty() && !way(1).is_empty());
    }

    #[test]
    fn a_median_is_known_from_six_blocks_on() {
        assert_eq!(MedianInterval::from_values(&[1.0; 5]), None);
        assert_eq!(MedianInterval::verdict(None, Status::Valid), Status::Conditional);
        assert_eq!(MedianInterval::verdict(None, Status::Invalid), Status::Invalid);
        let known = MedianInterval::from_values(&[4.0, 1.0, 3.0, 2.0, 6.0, 5.0]).unwrap();
        assert_eq!(known, MedianInterval { value: 3.5, low: 1.0, high: 6.0 });
        assert!(known.is_apart(0.5) && known.is_apart(7.0) && !known.is_apart(2.0));
    }
}
