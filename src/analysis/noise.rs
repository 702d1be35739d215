//! What equal tests differ by on a platform, measured by a calibration, for runs that did not
//! measure it themselves.

use std::collections::BTreeMap;

use super::interval::{self, Interval, supports};
use super::ramp;
use super::spread::{self, Level, Spread};
use crate::model::{Disclosure, RunRecord, Test};
use crate::stats::summary::t95;

/// Label by which a run says that it is a calibration, and its value.
pub const LABEL: (&str, &str) = ("calibration", "yes");
/// Sections of the disclosure in which the runs of a platform agree, and single facts.
const SAME: [&str; 2] = ["hardware", "storage"];
/// Facts in them that change by themselves.
const CHANGING: [&str; 1] = ["free_mb"];
const SAME_FACTS: [(&str, &str); 2] = [("os", "kernel"), ("database", "version")];

/// The noise of a platform.
#[derive(Debug, Clone)]
pub struct Noise<'a> {
    run: &'a RunRecord,
    /// By the hash of the workload and the number of jobs.
    spreads: BTreeMap<(&'a str, Option<u32>), Spread>,
}

/// The facts of a section that do not change by themselves.
fn lasting<'d>(disclosure: &'d Disclosure, section: &str) -> Vec<(&'d String, &'d String)> {
    let facts = disclosure.0.get(section).into_iter().flatten();
    facts.filter(|(name, _)| !CHANGING.contains(&name.as_str())).collect()
}

/// The newest noise that was measured on the platform of a run; a calibration knows its own.
pub fn of_run<'n, 'a>(noises: &'n [Noise<'a>], run: &RunRecord) -> Option<&'n Noise<'a>> {
    noises.iter().rev().find(|noise| noise.is_of(run) && noise.run().id != run.id)
}

/// True if two runs were measured on the same platform, with data of the same size: what a
/// calibration must have found its noise on.
pub fn is_same_platform(one: &RunRecord, other: &RunRecord) -> bool {
    let [own, foreign] = [one, other].map(|run| &run.disclosure);
    SAME.iter().all(|section| lasting(own, section) == lasting(foreign, section))
        && SAME_FACTS
            .iter()
            .all(|(section, fact)| own.get(section, fact) == foreign.get(section, fact))
        && one.engine == other.engine
        && one.size_gb == other.size_gb
}

/// True if a run is a calibration.
pub fn is_calibration(run: &RunRecord) -> bool {
    run.labels.get(LABEL.0).is_some_and(|value| value == LABEL.1)
}

impl<'a> Noise<'a> {
    /// What a calibration found: of figures that are valid and were repeated often enough.
    pub fn of(run: &'a RunRecord, tests: &'a [Test]) -> Noise<'a> {
        let ramps = ramp::groups(tests.iter(), |test| *test);
        let points = ramps.iter().flat_map(|ramp| ramp::by_jobs(ramp, Test::kpm_value));
        let spread = |repeats: Vec<(f64, &'a Test)>| {
            let kpm = repeats[0].1.kpm();
            let test = ramp::median(&repeats, kpm.better).1;
            let found = spread::of(&interval::windows(&repeats, &kpm.value))?;
            (supports(test.status()) && found.next.is_some())
                .then(|| ((test.hash(), test.jobs()), found))
        };
        Noise { run, spreads: points.filter_map(spread).collect() }
    }

    /// The run that measured it.
    pub fn run(&self) -> &RunRecord {
        self.run
    }

    /// True if it was measured on the platform of this run, with data of the same size, and found
    /// something.
    pub fn is_of(&self, run: &RunRecord) -> bool {
        is_same_platform(self.run, run) && !self.spreads.is_empty()
    }

    /// Half width of the range in which an equal test is expected, as a fraction of its figure;
    /// none if it was not calibrated.
    pub fn floor(&self, test: &Test) -> Option<f64> {
        self.spreads.get(&(test.hash(), test.jobs()))?.next
    }

    /// The interval of a figure with what its tests, repetitions of one another, did not vary:
    /// starts and loads of which there was only one, and windows of which there was one.
    pub fn allowed(&self, known: Interval, tests: &[&Test]) -> Interval {
        let found = tests.first().and_then(|test| self.spreads.get(&(test.hash(), test.jobs())));
        let Some(found) = found else { return known };
        let several = |number: fn(&crate::model::TestResult) -> u32| {
            let mut numbers: Vec<u32> =
                tests.iter().filter_map(|test| Some(number(test.measured()?))).collect();
            numbers.dedup();
            numbers.len() > 1
        };
        let own =
            [true, tests.len() > 1, several(|test| test.server_start), several(|test| test.load)];
        let missing = Level::ALL.iter().zip(own).zip(found.parts).filter(|((_, own), _)| !own);
        let missing = missing.filter_map(|(_, part)| Some(part?.powi(2))).sum::<f64>().sqrt();
        widened(known, missing, found.groups as f64 - 1.0)
    }
}

/// The interval with a further standard error that is known with so many degrees of freedom
/// (Satterthwaite).
fn widened(known: Interval, missing: f64, freedom: f64) -> Interval {
    if missing == 0.0 {
        return known;
    }
    let error = known.error.hypot(missing);
    let both = error.powi(4) / (known.error.powi(4) / known.freedom + missing.powi(4) / freedom);
    let more = t95(freedom).map_or(missing, |factor| factor * missing);
    let further = known.further.map(|further| further.hypot(more));
    Interval { error, freedom: both, further, source: known.source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::compare::fixture::run;
    use crate::analysis::fixture::at;
    use crate::model::TestResult;

    /// Three loads of two windows: means 90, 100 and 110, windows alike.
    fn calibration() -> Vec<Test> {
        let windows = [90.0, 100.0, 110.0].into_iter().zip(1..).flat_map(|(value, load)| {
            [(); 2].map(|()| TestResult { load, server_start: load, ..at(1, value) }.into())
        });
        windows.collect()
    }

    #[test]
    fn a_run_on_one_load_gets_the_noise_of_loads() {
        let (record, tests) = (run("noise"), calibration());
        let noise = Noise::of(&record, &tests);
        let single: Test = at(1, 100.0).into();
        let known = Interval { further: Some(0.02), ..Interval::of_seconds(0.02, 4.0) };
        let allowed = noise.allowed(known, &[&single]);
        // Loads add 10 %, known from three of them: t(0.975, 2) = 4.302653.
        assert!(
            (allowed.further.unwrap() - 0.02f64.hypot(4.302_653 * 0.1)).abs() < 1e-6,
            "{allowed:?}"
        );
        assert!(
            (allowed.error - known.error.hypot(0.1)).abs() < 1e-12 && allowed.freedom < 2.1,
            "{allowed:?}"
        );
        let fresh: Vec<&Test> = tests.iter().collect();
        assert_eq!(noise.allowed(known, &fresh), known, "it has measured them itself");
        let other = at(2, 100.0).into();
        assert_eq!(noise.allowed(known, &[&other]), known, "not calibrated");
    }

    #[test]
    fn noise_is_that_of_a_platform_and_a_size() {
        let (record, tests) = (run("noise"), calibration());
        let noise = Noise::of(&record, &tests);
        let mut other = run("other");
        other.disclosure.set("storage", "free_mb", "1");
        assert!(noise.is_of(&other), "a disk fills");
        other.disclosure.set("hardware", "cpu_model", "another");
        assert!(!noise.is_of(&other));
        let other = RunRecord { size_gb: Some(2.0), ..run("other") };
        assert!(!noise.is_of(&other));
        let one = tests[..2].to_vec();
        assert!(!Noise::of(&record, &one).is_of(&record), "two windows are not a calibration");
    }

    #[test]
    fn a_label_makes_a_calibration() {
        let mut record = run("noise");
        assert!(!is_calibration(&record));
        record.labels.insert(LABEL.0.into(), LABEL.1.into());
        assert!(is_calibration(&record));
    }
}
