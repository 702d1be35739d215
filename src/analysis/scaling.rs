//! How a workload scales over its ramp: best number of jobs, knee, the Universal Scalability Law with intervals, and how
//! much of the maximum each step uses, beside CPU busy.

use super::derive;
use super::ramp::{self, RampFigure};
use crate::model::{Better, Status, TestResult};
use crate::stats::scaling::{self, Fit};

/// CPU busy that hides saturation: the throughput used is so many points above it.
const HIDDEN_POINTS: f64 = 0.2;

/// The tests of one workload at several numbers of jobs.
#[derive(Debug, Clone)]
pub struct Ramp<'a> {
    /// Workload, with what tells it from the other ramps.
    pub label: String,
    pub tests: Vec<&'a TestResult>,
}

/// One step of a ramp.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step<'a> {
    pub figure: RampFigure<'a>,
    /// Throughput / best throughput, 0 to 1.
    pub utilisation: f64,
    /// Throughput / (jobs x throughput of one job); absent without a test at one job.
    pub efficiency: Option<f64>,
    pub cpu_busy_pct: Option<f64>,
}

/// What a ramp says.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling<'a> {
    pub best: RampFigure<'a>,
    /// Ascending by jobs.
    pub steps: Vec<Step<'a>>,
    /// Fewest jobs that reach 95 % of the best throughput: more jobs mostly wait.
    pub enough_jobs: u32,
    /// Fitted to the KPM, so that its gamma is in the KPM's unit; absent with fewer than four numbers of jobs.
    pub fit: Option<Fit>,
}

/// So much of the best throughput is enough.
const ENOUGH: f64 = 0.95;

/// The ramps of a run, in order of appearance, from two numbers of jobs on.
pub fn ramps(tests: &[TestResult]) -> Vec<Ramp<'_>> {
    let known = tests.iter().filter(|test| test.jobs > 0 && !ramp::is_statement(test));
    let mut ramps = ramp::groups(known, |test| *test);
    ramps.retain(|tests| tests.iter().any(|test| test.jobs != tests[0].jobs));
    let firsts: Vec<&TestResult> = ramps.iter().map(|tests| tests[0]).collect();
    let label = |test: &TestResult| test.workload.clone() + &ramp::distinction(test, &firsts);
    ramps.into_iter().map(|tests| Ramp { label: label(tests[0]), tests }).collect()
}

impl<'a> Ramp<'a> {
    /// What it says; absent if throughput is no rate or unknown.
    pub fn scaling(&self) -> Option<Scaling<'a>> {
        let best =
            ramp::throughput(&self.tests).filter(|best| best.kpm.better == Better::Higher && best.value > 0.0)?;
        let figures = ramp::curve(&self.tests);
        let single = figures.iter().find(|figure| figure.jobs == 1).map(|figure| figure.value);
        let step = |figure: &RampFigure<'a>| Step {
            figure: *figure,
            utilisation: figure.value / best.value,
            efficiency: single.map(|single| figure.value / (single * f64::from(figure.jobs))),
            cpu_busy_pct: derive(figure.test).get("cpu_busy_pct"),
        };
        let sound = figures.iter().filter(|figure| figure.test.verdict.status < Status::Invalid);
        let points: Vec<(f64, f64)> = sound.map(|figure| (f64::from(figure.jobs), figure.value)).collect();
        let steps: Vec<Step<'a>> = figures.iter().map(step).collect();
        let enough = steps.iter().find(|step| step.utilisation >= ENOUGH).map_or(best.jobs, |step| step.figure.jobs);
        Some(Scaling { best, steps, enough_jobs: enough, fit: scaling::fit(&points) })
    }
}

/// A step at which CPU busy hides that most of the throughput is used up.
#[derive(Debug, Clone, PartialEq)]
pub struct Hidden {
    pub label: String,
    pub jobs: u32,
    pub cpu_busy_pct: f64,
    /// Throughput / best throughput.
    pub utilisation: f64,
}

/// Of every ramp the step where throughput is furthest above CPU busy, if that is 20 points or more; only where CPU busy
/// grows with the jobs to near 100 %, so that it seems to tell how full the platform is.
pub fn hidden_saturation(tests: &[TestResult]) -> Vec<Hidden> {
    const NEARLY_FULL_PCT: f64 = 90.0;
    let hidden = |ramp: Ramp<'_>| {
        let scaling = ramp.scaling()?;
        let busy = |step: &Step<'_>| step.cpu_busy_pct.unwrap_or(0.0);
        let fills = scaling.steps.iter().any(|step| busy(step) >= NEARLY_FULL_PCT);
        let known = scaling.steps.iter().filter(|step| step.cpu_busy_pct.is_some() && fills);
        let above = |step: &Step<'_>| step.utilisation - busy(step) / 100.0;
        let most = known.max_by(|a, b| above(a).total_cmp(&above(b)))?;
        (above(most) >= HIDDEN_POINTS).then(|| Hidden {
            label: ramp.label,
            jobs: most.figure.jobs,
            cpu_busy_pct: busy(most),
            utilisation: most.utilisation,
        })
    };
    ramps(tests).into_iter().filter_map(hidden).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::slips::fixture::test;
    use crate::model::PublishedKind;

    /// SRV-QUERY1 with hyperthreading, as published in the study peakmarks-hyperthreading-2020.
    fn hyperthreading() -> Vec<TestResult> {
        let points = [
            (1, 124_828.0, 3.0),
            (4, 464_251.0, 13.0),
            (8, 892_126.0, 25.0),
            (12, 1_302_515.0, 37.0),
            (16, 1_603_485.0, 50.0),
            (24, 1_659_727.0, 75.0),
            (32, 1_811_665.0, 99.0),
        ];
        let point = |&(jobs, qps, busy): &(u32, f64, f64)| {
            test("Q", PublishedKind::Point, jobs, &[("throughput_qps", qps), ("cpu_busy_pct", busy)])
        };
        points.iter().map(point).collect()
    }

    #[test]
    fn at_half_the_cpu_hyperthreading_gives_89_percent_of_the_throughput() {
        let tests = hyperthreading();
        let hidden = hidden_saturation(&tests);
        assert_eq!((hidden.len(), hidden[0].jobs, hidden[0].cpu_busy_pct), (1, 16, 50.0));
        assert!((hidden[0].utilisation - 0.8851).abs() < 1e-4, "{hidden:?}");
    }

    #[test]
    fn a_ramp_tells_best_jobs_enough_jobs_efficiency_and_law() {
        let tests = hyperthreading();
        let ramps = ramps(&tests);
        let scaling = ramps[0].scaling().unwrap();
        assert_eq!((scaling.best.jobs, scaling.enough_jobs, scaling.steps.len()), (32, 32, 7));
        assert!((scaling.steps[6].efficiency.unwrap() - 0.4535).abs() < 1e-3);
        let fit = scaling.fit.unwrap();
        assert!(fit.r_squared > Some(0.97) && fit.half_widths[0].is_some(), "{fit:?}");
    }

    #[test]
    fn one_number_of_jobs_is_no_ramp() {
        assert!(ramps(&hyperthreading()[..1]).is_empty());
    }
}
