//! Scaling of a workload over its ramp: best number of jobs, knee, the Universal Scalability Law
//! with intervals, and how much of the maximum each step uses, beside CPU busy.

use super::derive;
use super::interval::supports;
use super::ramp::{self, Figure};
use crate::model::{Better, Test};
use crate::stats::scaling::{self, Fit};

/// Distance of the throughput used above CPU busy, as a fraction, from which on CPU busy hides
/// saturation.
const HIDDEN_POINTS: f64 = 0.2;

/// The tests of one workload at several numbers of jobs.
#[derive(Debug, Clone)]
pub struct Ramp<'a> {
    /// Workload, with what distinguishes it from the other ramps.
    pub label: String,
    /// Tests of the ramp.
    pub tests: Vec<&'a Test>,
}

/// One step of a ramp.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step<'a> {
    /// Number of jobs.
    pub jobs: u32,
    /// Throughput at this number of jobs.
    pub figure: Figure<'a>,
    /// Throughput / best throughput, 0 to 1; above 1 if the verdict keeps this step from being the
    /// best.
    pub utilisation: f64,
    /// Throughput / (jobs x throughput of one job); absent without a figure at one job, or if that
    /// is 0.
    pub efficiency: Option<f64>,
    /// CPU use of the host, in percent; absent if it is not known.
    pub cpu_busy_pct: Option<f64>,
}

/// Scaling of one ramp.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling<'a> {
    /// Best valid throughput of the ramp.
    pub best: Figure<'a>,
    /// Figure at one job, to which efficiency refers.
    pub single: Option<Figure<'a>>,
    /// Ascending by jobs.
    pub steps: Vec<Step<'a>>,
    /// Fewest jobs that reach 95 % of the best throughput, with its verdict: more jobs mostly wait.
    pub enough_jobs: Option<u32>,
    /// Fitted to the valid figures of the KPM, so that its gamma is in the KPM's unit; absent with
    /// fewer than four numbers of jobs.
    pub fit: Option<Fit>,
}

/// Share of the best throughput that is enough.
const ENOUGH: f64 = 0.95;

/// The ramps of a run, in order of appearance, from two numbers of jobs on.
pub fn ramps(tests: &[Test]) -> Vec<Ramp<'_>> {
    let known = tests.iter().filter(|test| test.jobs().is_some() && !test.is_statement());
    let mut ramps = ramp::groups(known, |test| *test);
    ramps.retain(|tests| tests.iter().any(|test| test.jobs() != tests[0].jobs()));
    let firsts: Vec<&Test> = ramps.iter().map(|tests| tests[0]).collect();
    let label = |test: &Test| test.workload().to_string() + &ramp::distinction(test, &firsts);
    ramps.into_iter().map(|tests| Ramp { label: label(tests[0]), tests }).collect()
}

impl<'a> Ramp<'a> {
    /// Scaling of the ramp; absent if throughput is not a rate or unknown.
    pub fn scaling(&self) -> Option<Scaling<'a>> {
        let best = ramp::throughput(&self.tests)
            .filter(|best| best.better == Better::Higher && best.value > 0.0)?;
        let figures = ramp::curve(&self.tests);
        let single = figures.iter().find(|figure| figure.jobs == Some(1)).copied();
        let step = |figure: &Figure<'a>| {
            let jobs = figure.jobs?;
            Some(Step {
                jobs,
                figure: *figure,
                utilisation: figure.value / best.value,
                efficiency: single
                    .map(|single| figure.value / (single.value * f64::from(jobs)))
                    .filter(|efficiency| efficiency.is_finite()),
                cpu_busy_pct: derive(figure.test).get("cpu_busy_pct"),
            })
        };
        let steps: Vec<Step<'a>> = figures.iter().filter_map(step).collect();
        // As a step: as a best it is a lower bound where a better one is not valid.
        let of_best = steps.iter().find(|step| Some(step.jobs) == best.jobs);
        let of_best = of_best.map_or(best.status(), |step| step.figure.status());
        let is_enough =
            |step: &&Step<'_>| step.figure.status() == of_best && step.utilisation >= ENOUGH;
        let enough_jobs = steps.iter().find(is_enough).map(|step| step.jobs).or(best.jobs);
        Some(Scaling {
            best,
            single,
            steps,
            enough_jobs,
            fit: scaling::fit(&ramp::points(&figures)),
        })
    }
}

/// A step at which CPU busy hides that most of the throughput is used up.
#[derive(Debug, Clone, PartialEq)]
pub struct Hidden {
    /// Workload of the ramp, with what distinguishes it from the other ramps.
    pub label: String,
    /// Number of jobs of the step.
    pub jobs: u32,
    /// CPU use of the host at the step, in percent.
    pub cpu_busy_pct: f64,
    /// Throughput / best throughput.
    pub utilisation: f64,
}

/// Steps at which the use of CPUs hides saturation, at most one per ramp: the step where throughput
/// is furthest above CPU busy, if the distance is 20 points or more. Only ramps count on which CPU
/// busy grows with the jobs to near 100 %, so that it seems to show how full the platform is; only
/// valid steps count.
pub fn hidden_saturation(tests: &[Test]) -> Vec<Hidden> {
    const NEARLY_FULL_PCT: f64 = 90.0;
    let hidden = |ramp: Ramp<'_>| {
        let scaling = ramp.scaling().filter(|scaling| supports(scaling.best.status()))?;
        let accepted = || scaling.steps.iter().filter(|step| supports(step.figure.status()));
        let busy = |step: &Step<'_>| step.cpu_busy_pct.unwrap_or(0.0);
        let fills = accepted().any(|step| busy(step) >= NEARLY_FULL_PCT);
        let known = accepted().filter(|step| step.cpu_busy_pct.is_some() && fills);
        let above = |step: &Step<'_>| step.utilisation - busy(step) / 100.0;
        let most = known.max_by(|a, b| above(a).total_cmp(&above(b)))?;
        (above(most) >= HIDDEN_POINTS).then(|| Hidden {
            label: ramp.label,
            jobs: most.jobs,
            cpu_busy_pct: busy(most),
            utilisation: most.utilisation,
        })
    };
    ramps(tests).into_iter().filter_map(hidden).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::published_checks::fixture::{judged, test};
    use crate::model::{PublishedKind, Status};

    /// SRV-QUERY1 with hyperthreading, as published in the study peakmarks-hyperthreading-2020.
    fn hyperthreading() -> Vec<Test> {
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
            test(
                "Q",
                PublishedKind::Point,
                jobs,
                &[("throughput_qps", qps), ("cpu_busy_pct", busy)],
            )
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
        assert_eq!(
            (scaling.best.jobs, scaling.enough_jobs, scaling.steps.len()),
            (Some(32), Some(32), 7)
        );
        assert!((scaling.steps[6].efficiency.unwrap() - 0.4535).abs() < 1e-3);
        // The least squares have no contention: a peak within the ramp.
        let fit = scaling.fit.unwrap();
        assert!(
            fit.law.alpha == 0.0 && fit.half_widths[0].is_some() && fit.half_widths[1].is_none(),
            "{fit:?}"
        );
        assert!(
            fit.law.peak_jobs().is_some_and(|peak| peak.round() == 28.0) && !fit.peak_is_forecast,
            "{fit:?}"
        );
        assert!(fit.r_squared > Some(0.991) && fit.ranges.is_some(), "{fit:?}");
    }

    #[test]
    fn what_is_not_valid_hides_nothing_and_fits_no_law() {
        let mut tests = hyperthreading();
        tests[6] = judged(tests[6].clone(), Status::Conditional);
        let ramps = ramps(&tests);
        let scaling = ramps[0].scaling().unwrap();
        assert_eq!(
            (scaling.best.jobs, scaling.enough_jobs, scaling.steps.len()),
            (Some(24), Some(16), 7)
        );
        assert_eq!(scaling.fit, stats_fit(&scaling.steps[..6]));
        // CPU busy reaches no 90 % in a valid step.
        assert!(hidden_saturation(&tests).is_empty());
        let tests: Vec<_> =
            tests.into_iter().map(|test| judged(test, Status::Conditional)).collect();
        assert!(hidden_saturation(&tests).is_empty());
        assert_eq!(super::ramps(&tests)[0].scaling().unwrap().fit, None);
    }

    fn stats_fit(steps: &[Step<'_>]) -> Option<Fit> {
        scaling::fit(
            &steps.iter().map(|step| (f64::from(step.jobs), step.figure.value)).collect::<Vec<_>>(),
        )
    }

    #[test]
    fn one_number_of_jobs_is_no_ramp() {
        assert!(ramps(&hyperthreading()[..1]).is_empty());
    }
}
