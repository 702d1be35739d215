//! Tests that belong together: the ramps of one workload, side by side over several runs.

use std::collections::HashMap;

use super::Input;
use crate::model::TestResult;

/// The tests of one workload with equal parameters, drive and unit; per run, in the order of the runs.
pub struct RampRow<'a> {
    /// Workload, with what tells it from the other rows of the group.
    pub label: String,
    /// As many as there are runs; empty where a run has no such test.
    pub runs: Vec<Vec<&'a TestResult>>,
}

/// The rows of a group, in order of appearance.
pub fn rows<'a>(input: &'a Input, group: &str) -> Vec<RampRow<'a>> {
    let mut rows: Vec<(&TestResult, Vec<Vec<&TestResult>>)> = Vec::new();
    let mut of_workload: HashMap<&str, Vec<usize>> = HashMap::new();
    for (number, data) in input.runs.iter().enumerate() {
        for test in data.tests.iter().filter(|test| test.group == group) {
            let candidates = of_workload.entry(&test.workload).or_default();
            let row = candidates.iter().copied().find(|&row| is_same(rows[row].0, test)).unwrap_or_else(|| {
                rows.push((test, vec![Vec::new(); input.runs.len()]));
                candidates.push(rows.len() - 1);
                rows.len() - 1
            });
            rows[row].1[number].push(test);
        }
    }
    let firsts: Vec<&TestResult> = rows.iter().map(|(first, _)| *first).collect();
    rows.into_iter().map(|(first, runs)| RampRow { label: label(first, &firsts), runs }).collect()
}

/// Defaults may differ between engines (an index-organised table here, a heap there): what was chosen decides.
fn is_same(a: &TestResult, b: &TestResult) -> bool {
    a.workload == b.workload && a.chosen == b.chosen && a.drive == b.drive && a.kpm.unit == b.kpm.unit
}

/// The workload; its code where it was asked for by one; the parameters chosen, and those and the drive in which it
/// differs from other rows of the same workload.
fn label(test: &TestResult, others: &[&TestResult]) -> String {
    let others: Vec<_> = others.iter().filter(|other| other.workload == test.workload).collect();
    let code = test.asked_as.iter().filter(|code| **code != test.workload).map(|code| format!(" ({code})"));
    let differs = |(name, value): &(&String, &String)| {
        test.chosen.contains_key(*name) || others.iter().any(|other| other.params.get(*name) != Some(*value))
    };
    let params = test.params.iter().filter(differs).map(|(name, value)| format!(" {name}={value}"));
    let drive = others.iter().any(|other| other.drive != test.drive).then(|| format!(" {}", test.drive.name()));
    [test.workload.clone()].into_iter().chain(code).chain(params).chain(drive).collect()
}
