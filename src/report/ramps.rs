//! Tests that belong together: the ramps of one workload, side by side over several runs.

use super::{Input, RunTests};
use crate::analysis::ramp;
use crate::model::TestResult;

/// The tests of one ramp; per run, in the order of the runs.
pub struct RampRow<'a> {
    /// Workload, with what tells it from the other rows of the group.
    pub label: String,
    /// As many as there are runs; empty where a run has no such test.
    pub runs: Vec<Vec<&'a TestResult>>,
}

/// The rows of a group, in order of appearance.
pub fn rows<'a>(input: &'a Input, group: &str) -> Vec<RampRow<'a>> {
    let of_run = |(run, data): (usize, &'a RunTests)| {
        let tests = data.tests.iter().filter(|test| test.group == group);
        tests.map(|test| (run, test)).collect::<Vec<_>>()
    };
    let ramps = ramp::groups(input.runs.iter().enumerate().flat_map(of_run), |(_, test)| *test);
    let firsts: Vec<&TestResult> = ramps.iter().map(|ramp| ramp[0].1).collect();
    let row = |ramp: &Vec<(usize, &'a TestResult)>| {
        let tests: Vec<&TestResult> = ramp.iter().map(|(_, test)| *test).collect();
        let of = |run| ramp.iter().filter(|found| found.0 == run).map(|found| found.1).collect();
        RampRow { label: ramp::label(&tests, &firsts), runs: (0..input.runs.len()).map(of).collect() }
    };
    ramps.iter().map(row).collect()
}
