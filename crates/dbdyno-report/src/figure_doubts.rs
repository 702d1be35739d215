//! Doubts about figures of valid tests: an interval that is wide, or a better figure at another
//! number of jobs that is not valid. No test has such a reason, so that counts of tests by verdict
//! do not include them.

use std::collections::BTreeSet;

use super::Language;
use super::lowered::LoweringReason;
use dbdyno_core::analysis::figure::Figure;
use dbdyno_core::analysis::heatmap::METRICS;
use dbdyno_core::analysis::ramp;
use dbdyno_core::model::{Reason, Status, Test};

/// The figures of a run that are not valid although their tests are.
pub(super) struct FigureDoubts<'a> {
    /// Number of such figures.
    pub count: usize,
    /// Number of all figures: speed and throughput of each workload, which are one at the same
    /// number of jobs.
    pub all: usize,
    doubts: Vec<Doubt<'a>>,
}

/// A reason that lowers a figure, not its test.
struct Doubt<'a> {
    figure: Figure<'a>,
    reason: Reason,
}

impl<'a> FigureDoubts<'a> {
    /// Doubts about the figures of the tests of one run.
    pub fn new(tests: &'a [Test]) -> FigureDoubts<'a> {
        let mut found = FigureDoubts { count: 0, all: 0, doubts: Vec::new() };
        for ramp in ramp::groups(tests, |test| *test) {
            let [speed, best] = METRICS.each_ref().map(|metric| metric.figure(&ramp));
            let figures: Vec<Figure<'_>> = speed.into_iter().chain(best).collect();
            let doubtful: Vec<Figure<'_>> =
                figures.iter().filter(|figure| is_doubtful(figure)).copied().collect();
            found.all += places(&figures);
            found.count += places(&doubtful);
            for figure in doubtful {
                let doubt = |reason| Doubt { figure, reason };
                found.doubts.extend(figure.own_reasons().map(doubt));
            }
        }
        found
    }

    /// The reasons, each with the name of its figure.
    pub fn lowering_reasons(&self, language: Language) -> Vec<LoweringReason> {
        let lowered = |Doubt { figure, reason }: &Doubt<'_>| LoweringReason {
            subject: format!("{} ({})", figure.workload, language.jobs(figure.jobs)),
            reason: reason.clone(),
        };
        self.doubts.iter().map(lowered).collect()
    }
}

/// True of a figure that is not valid although its test is.
fn is_doubtful(figure: &Figure<'_>) -> bool {
    figure.test.status() == Status::Valid && figure.status() > Status::Valid
}

/// Number of different jobs of the figures of one workload: speed and throughput at the same number
/// of jobs are one.
fn places(figures: &[Figure<'_>]) -> usize {
    figures.iter().map(|figure| figure.jobs).collect::<BTreeSet<_>>().len()
}
