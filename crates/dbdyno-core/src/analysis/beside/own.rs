//! Measured figures in a comparison with publications: as every other report shows them, in the
//! unit of the pair.

use super::units::{self, Code, Metric, OwnRate, Rate};
use crate::analysis::best::{Best, Candidate, select_best};
use crate::analysis::compare::Kind;
use crate::analysis::figure::Figure;
use crate::analysis::interval::IntervalOrReason;
use crate::analysis::ramp;
use crate::model::params::THREADS;
use crate::model::{Better, Quantity, Status, Test, Workload};

/// Common quantity of a pair, and the workload that defines how much of it an op is.
#[derive(Clone, Copy)]
pub(super) struct Counted<'a> {
    pub quantity: Quantity,
    pub workload: &'a Workload,
}

/// Measured figure as every other report shows it, and the same in the unit of the pair.
#[derive(Clone)]
pub(super) struct Measured<'a> {
    pub figure: Figure<'a>,
    pub rate: Rate<'a>,
}

impl<'a> Counted<'a> {
    /// The figures of a ramp in the metric that the amount is printed in, converted.
    fn of_ramp(self, ramp: &[&'a Test]) -> Vec<Measured<'a>> {
        let seconds = ramp::seconds(ramp);
        let kpms = ramp::kpms(ramp).into_iter();
        kpms.filter_map(|kpm| self.convert_own(kpm, &seconds)).collect()
    }

    /// The KPM, or the other metric if the amount is printed in that. The amount is that of the
    /// test which stands for the figure, in proportion to it.
    fn convert_own(self, kpm: Figure<'a>, seconds: &[Figure<'a>]) -> Option<Measured<'a>> {
        let figure = match self.of_test(kpm.test)?.metric {
            Metric::Kpm => kpm,
            Metric::Second => *seconds.iter().find(|second| second.jobs == kpm.jobs)?,
        };
        let of_test = self.of_test(figure.test)?.rate;
        let per_s = match of_test.conversion.code {
            Code::AsPrinted => figure.value,
            _ => figure.pace().apply(of_test.per_s, Better::Higher),
        };
        Some(Measured { figure, rate: Rate { per_s, printed: figure.value, ..of_test } })
    }

    /// Amount of a measured test per second.
    fn of_test(self, test: &'a Test) -> Option<OwnRate<'a>> {
        units::yours(test.measured()?, self.quantity, self.workload)
    }
}

impl Candidate for Measured<'_> {
    fn value(&self) -> f64 {
        self.rate.per_s
    }

    fn jobs(&self) -> Option<u32> {
        self.figure.jobs
    }

    fn status(&self) -> Status {
        self.figure.status()
    }

    fn interval(&self) -> IntervalOrReason {
        self.figure.interval
    }
}

/// The figure at one job, or the best at any number of jobs, by the rule of every other report: an
/// invalid one only if all are. None if there are no figures.
pub(super) fn own_amount<'a>(
    tests: &[&'a Test],
    kind: Kind,
    counted: Counted<'a>,
) -> Option<Measured<'a>> {
    let ramps = ramp::groups(tests.iter().copied(), |test| *test);
    let figures = ramps.iter().flat_map(|ramp| counted.of_ramp(ramp));
    let is_of = |own: &Measured<'a>| kind == Kind::Throughput || width(own.figure.test) == 1;
    let known: Vec<Measured<'a>> = figures.filter(is_of).collect();
    let Best { figure: own, favour, passed_over } = select_best(known, Better::Higher)?;
    Some(Measured { figure: Figure { favour, passed_over, ..own.figure }, ..own })
}

/// Jobs times the processes that each of them asks for.
pub(super) fn width(test: &Test) -> u32 {
    let threads = test.params().get(THREADS).and_then(|threads| threads.parse::<u32>().ok());
    test.jobs().unwrap_or(1) * threads.unwrap_or(1)
}
