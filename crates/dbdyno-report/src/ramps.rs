//! Tests that belong together: the ramps of one workload, side by side over several runs; and what
//! distinguishes the curves of several runs: a color per platform, a style of line per variant of
//! it.

use std::collections::BTreeMap;

use super::Input;
use dbdyno_core::analysis::ramp;
use dbdyno_core::model::{RunRecord, Test};

/// The tests of one ramp; per run, in the order of the runs.
pub struct RampRow<'a> {
    /// Workload, with what distinguishes it from the other rows of the group.
    pub label: String,
    /// Tests of each run; empty where a run has no such test.
    pub runs: Vec<Vec<&'a Test>>,
}

/// A test with the number of its run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed<'a> {
    /// Number of the run among those of the input, from 0.
    pub run: usize,
    pub test: &'a Test,
}

/// The rows of a group, in order of appearance.
pub fn rows<'a>(input: &'a Input, group: &str) -> Vec<RampRow<'a>> {
    as_rows(input, &ramps(input, group))
}

/// Rows of a group whose figures are compared. Tests that runs measured with different drives share
/// a row if no run has both drives.
pub fn compared<'a>(input: &'a Input, group: &str) -> Vec<RampRow<'a>> {
    let mut merged: Vec<Vec<Placed<'a>>> = Vec::new();
    for ramp in ramps(input, group) {
        let is_apart =
            |row: &&mut Vec<Placed<'a>>| is_same_work(row, &ramp) && !have_common_run(row, &ramp);
        match merged.iter_mut().find(is_apart) {
            Some(row) => row.extend(ramp),
            None => merged.push(ramp),
        }
    }
    as_rows(input, &merged)
}

/// The ramps of a group over all runs, in order of appearance.
fn ramps<'a>(input: &'a Input, group: &str) -> Vec<Vec<Placed<'a>>> {
    ramp::groups(tests_of_group(input, group), |placed| placed.test)
}

/// The tests of a group in the order of the runs.
pub(super) fn tests_of_group<'a>(input: &'a Input, group: &str) -> Vec<Placed<'a>> {
    let mut placed = Vec::new();
    for (run, data) in input.runs.iter().enumerate() {
        let tests = data.tests.iter().filter(|test| test.group() == group);
        placed.extend(tests.map(|test| Placed { run, test }));
    }
    placed
}

fn is_same_work(a: &[Placed<'_>], b: &[Placed<'_>]) -> bool {
    ramp::same_but_drive(a[0].test, b[0].test)
}

fn have_common_run(a: &[Placed<'_>], b: &[Placed<'_>]) -> bool {
    a.iter().any(|one| b.iter().any(|other| one.run == other.run))
}

fn as_rows<'a>(input: &Input, ramps: &[Vec<Placed<'a>>]) -> Vec<RampRow<'a>> {
    let firsts: Vec<&Test> = ramps.iter().map(|ramp| ramp[0].test).collect();
    let row = |ramp: &Vec<Placed<'a>>| {
        let tests: Vec<&Test> = ramp.iter().map(|placed| placed.test).collect();
        let of = |run| {
            ramp.iter().filter(|placed| placed.run == run).map(|placed| placed.test).collect()
        };
        RampRow {
            label: ramp::label(&tests, &firsts),
            runs: (0..input.runs.len()).map(of).collect(),
        }
    };
    ramps.iter().map(row).collect()
}

/// Maximum number of variants that styles of line can distinguish; with more, each run is a
/// platform of its own.
const MAX_VARIANTS: usize = 4;

/// Numbers of a run's platform and variant, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub platform: usize,
    pub variant: usize,
}

/// The identity of each run: runs on the same system (its name and its processors, as
/// disclosed, and the label `host`, if it was given) are variants of one
/// platform.
pub fn identities(input: &Input) -> Vec<Identity> {
    let found = identify_systems(input.runs.iter().map(|data| system(&data.run)));
    if found.iter().all(|identity| identity.variant < MAX_VARIANTS) {
        return found;
    }
    (0..input.runs.len()).map(|platform| Identity { platform, variant: 0 }).collect()
}

/// System as text; a run whose system is unknown is one of its own.
pub(super) fn system(run: &RunRecord) -> String {
    let facts = ["system", "cpu_model"].map(|fact| run.disclosure.get("hardware", fact));
    let host = run.labels.get("host").map_or("", String::as_str);
    match facts {
        [None, None] => format!("run {}", run.id),
        [system, cpu] => {
            format!("{}|{}|{host}", system.unwrap_or_default(), cpu.unwrap_or_default())
        }
    }
}

fn identify_systems(systems: impl Iterator<Item = String>) -> Vec<Identity> {
    let mut seen: BTreeMap<String, Identity> = BTreeMap::new();
    let number = |system| {
        let next = Identity { platform: seen.len(), variant: 0 };
        let identity = seen.entry(system).and_modify(|known| known.variant += 1).or_insert(next);
        *identity
    };
    systems.map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_systems_share_a_platform() {
        let found = identify_systems(["a", "b", "a", "c", "a"].into_iter().map(String::from));
        let pairs: Vec<_> =
            found.iter().map(|identity| (identity.platform, identity.variant)).collect();
        assert_eq!(pairs, [(0, 0), (1, 0), (0, 1), (2, 0), (0, 2)]);
    }
}
