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

/// A test and the number of its run.
type Placed<'a> = (usize, &'a TestResult);

/// The rows of a group, in order of appearance.
pub fn rows<'a>(input: &'a Input, group: &str) -> Vec<RampRow<'a>> {
    as_rows(input, &ramps(input, group))
}

/// The rows of a group whose figures are compared: what runs measured with different drives stands in one row where no
/// run has both.
pub fn compared<'a>(input: &'a Input, group: &str) -> Vec<RampRow<'a>> {
    let mut merged: Vec<Vec<Placed<'a>>> = Vec::new();
    for ramp in ramps(input, group) {
        let is_apart = |row: &&mut Vec<Placed<'a>>| is_same_work(row, &ramp) && !have_common_run(row, &ramp);
        match merged.iter_mut().find(is_apart) {
            Some(row) => row.extend(ramp),
            None => merged.push(ramp),
        }
    }
    as_rows(input, &merged)
}

/// The ramps of a group over all runs, in order of appearance.
fn ramps<'a>(input: &'a Input, group: &str) -> Vec<Vec<Placed<'a>>> {
    let of_run = |(run, data): (usize, &'a RunTests)| {
        let tests = data.tests.iter().filter(|test| test.group == group);
        tests.map(|test| (run, test)).collect::<Vec<_>>()
    };
    ramp::groups(input.runs.iter().enumerate().flat_map(of_run), |(_, test)| *test)
}

fn is_same_work(a: &[Placed<'_>], b: &[Placed<'_>]) -> bool {
    ramp::same_but_drive(a[0].1, b[0].1)
}

fn have_common_run(a: &[Placed<'_>], b: &[Placed<'_>]) -> bool {
    a.iter().any(|(run, _)| b.iter().any(|(other, _)| run == other))
}

fn as_rows<'a>(input: &Input, ramps: &[Vec<Placed<'a>>]) -> Vec<RampRow<'a>> {
    let firsts: Vec<&TestResult> = ramps.iter().map(|ramp| ramp[0].1).collect();
    let row = |ramp: &Vec<Placed<'a>>| {
        let tests: Vec<&TestResult> = ramp.iter().map(|(_, test)| *test).collect();
        let of = |run| ramp.iter().filter(|found| found.0 == run).map(|found| found.1).collect();
        RampRow { label: ramp::label(&tests, &firsts), runs: (0..input.runs.len()).map(of).collect() }
    };
    ramps.iter().map(row).collect()
}
