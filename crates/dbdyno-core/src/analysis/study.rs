//! Common parts of studies in blocks: each block has every test once, in random order, and the
//! result is the median of a figure, or of its difference or ratio to another, block by block.
//! Pure.

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
    /// Test of the member in each block.
    tests: Vec<&'a TestResult>,
}

impl<'a> Blocks<'a> {
    /// The measured tests that `is_of` takes, in order: the n-th is that of block n.
    pub fn from_tests(tests: &'a [Test], is_of: impl Fn(&TestResult) -> bool) -> Blocks<'a> {
        let mut tests: Vec<&TestResult> =
            tests.iter().filter_map(Test::measured).filter(|test| is_of(test)).collect();
        tests.sort_by_key(|test| test.seq);
        Blocks { tests }
    }

    /// True if the figure was not measured.
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// The value of each block; none where the test is invalid or has none.
    pub fn values(&self, value: impl Fn(&TestResult) -> Option<f64>) -> Vec<Option<f64>> {
        self.tests
            .iter()
            .map(|test| value(test).filter(|_| test.verdict.status != Status::Invalid))
            .collect()
    }

    /// The worst verdict of the tests whose values are used; invalid if there is none. The presence
    /// of a background workload does not count, because the study asks for it.
    pub fn status(&self) -> Status {
        let used = self.tests.iter().filter(|test| test.verdict.status != Status::Invalid);
        let status = |test: &TestResult| {
            against(test).map(|reason| reason.status).max().unwrap_or(Status::Valid)
        };
        used.map(|test| status(test)).max().unwrap_or(Status::Invalid)
    }

    /// Tests whose values are not used.
    pub fn left_out(&self) -> usize {
        self.tests.iter().filter(|test| test.verdict.status == Status::Invalid).count()
    }

    /// Reasons that lowered the verdicts, each with the number of tests.
    pub fn conditions(&self) -> Vec<ReasonCount> {
        let mut counted: Vec<ReasonCount> = Vec::new();
        for reason in self.tests.iter().flat_map(|test| against(test)) {
            count(&mut counted, reason.code.clone());
        }
        counted
    }

    /// Reason why the first of those is invalid.
    pub fn why_left_out(&self) -> Option<&'a Reason> {
        self.tests
            .iter()
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
