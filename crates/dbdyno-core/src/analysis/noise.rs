//! Spread of repetitions on a platform, measured by a calibration, for runs that did not measure it
//! themselves.

use std::collections::BTreeMap;

use super::interval::supports;
use super::ramp;
use super::repeats::{self, Repeats};
use super::spread::{self, Spread};
use crate::model::{Disclosure, RunRecord, Test};

/// Label by which a run says that it is a calibration, and its value.
pub const LABEL: (&str, &str) = ("calibration", "yes");
/// Sections of the disclosure in which the runs of a platform agree, and single facts.
const SAME: [&str; 2] = ["hardware", "storage"];
/// Facts in these sections that change without anybody changing them.
const CHANGING: [&str; 1] = ["free_mb"];
const SAME_FACTS: [(&str, &str); 3] =
    [("os", "kernel"), ("database", "version"), ("database", "quota_cpus")];

/// The noise of a platform.
#[derive(Debug, Clone)]
pub struct Noise<'a> {
    run: &'a RunRecord,
    /// Spread by the hash of the workload and the number of jobs.
    spreads: BTreeMap<(&'a str, Option<u32>), Spread>,
}

/// Facts of a section that stay as they are unless somebody changes them.
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
    /// Results of a calibration: of figures that are valid and were repeated often enough.
    pub fn from_calibration(run: &'a RunRecord, tests: &'a [Test]) -> Noise<'a> {
        let ramps = ramp::groups(tests.iter(), |test| *test);
        let points = ramps.iter().flat_map(|ramp| repeats::by_jobs(ramp, Test::kpm_value));
        let spread = |repeats: Repeats<'a>| {
            let counted = repeats::without_zeros(&repeats);
            let kpm = counted[0].test.kpm();
            let test = repeats::median(counted, kpm.better).test;
            let found = spread::estimate(&repeats::windows(counted, &kpm.value))?;
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
    fn noise_is_that_of_a_platform_and_a_size() {
        let (record, tests) = (run("noise"), calibration());
        let noise = Noise::from_calibration(&record, &tests);
        let mut other = run("other");
        other.disclosure.set("storage", "free_mb", "1");
        assert!(noise.is_of(&other), "a disk fills");
        other.disclosure.set("hardware", "cpu_model", "another");
        assert!(!noise.is_of(&other));
        let other = RunRecord { size_gb: Some(2.0), ..run("other") };
        assert!(!noise.is_of(&other));
        let one = tests[..2].to_vec();
        assert!(
            !Noise::from_calibration(&record, &one).is_of(&record),
            "two windows are not a calibration"
        );
    }

    #[test]
    fn a_label_makes_a_calibration() {
        let mut record = run("noise");
        assert!(!is_calibration(&record));
        record.labels.insert(LABEL.0.into(), LABEL.1.into());
        assert!(is_calibration(&record));
    }
}
