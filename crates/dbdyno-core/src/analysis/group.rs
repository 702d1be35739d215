//! Groups of tests that form one ramp, and their names.

use std::collections::HashMap;

use crate::model::Test;

/// True if both are points of one ramp: the same work, driven alike, in the same unit. The code
/// under which a suite asks for it is only another name. Defaults may differ between engines (an
/// index-organised table here, a heap there): what was chosen decides.
pub fn same(a: &Test, b: &Test) -> bool {
    same_but_drive(a, b) && a.drive() == b.drive()
}

/// True as for [`same`], but the drives may differ.
pub fn same_but_drive(a: &Test, b: &Test) -> bool {
    a.workload() == b.workload() && a.chosen() == b.chosen() && a.kpm().unit == b.kpm().unit
}

/// True if a test of another run repeats this one: the same statements, driven alike, at the same
/// number of jobs.
pub fn is_repeated(a: &Test, b: &Test) -> bool {
    a.workload() == b.workload()
        && a.chosen() == b.chosen()
        && a.drive() == b.drive()
        && a.hash() == b.hash()
        && a.jobs() == b.jobs()
}

/// True as for [`same`], but these parameters may differ.
pub fn same_without(a: &Test, b: &Test, without: &[&str]) -> bool {
    let chosen = |test: &Test| -> Vec<(String, String)> {
        let others = test.chosen().iter().filter(|(name, _)| !without.contains(&name.as_str()));
        others.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    a.workload() == b.workload()
        && a.drive() == b.drive()
        && a.kpm().unit == b.kpm().unit
        && chosen(a) == chosen(b)
}

/// The ramps among `tests`, in order of appearance; `of` gives the test of an item.
pub fn groups<'a, T>(
    tests: impl IntoIterator<Item = T>,
    of: impl Fn(&T) -> &'a Test,
) -> Vec<Vec<T>> {
    let mut ramps: Vec<Vec<T>> = Vec::new();
    let mut of_workload: HashMap<&str, Vec<usize>> = HashMap::new();
    for item in tests {
        let test = of(&item);
        let candidates = of_workload.entry(test.workload()).or_default();
        match candidates.iter().copied().find(|&ramp| same(of(&ramps[ramp][0]), test)) {
            Some(ramp) => ramps[ramp].push(item),
            None => {
                candidates.push(ramps.len());
                ramps.push(vec![item]);
            }
        }
    }
    ramps
}

/// Label: the workload, the codes under which suites asked for it, and what distinguishes it from
/// `others`.
pub fn label(tests: &[&Test], others: &[&Test]) -> String {
    let test = tests[0];
    let mut codes: Vec<&str> = Vec::new();
    for code in tests.iter().filter_map(|test| test.asked_as()) {
        if code != test.workload() && !codes.contains(&code) {
            codes.push(code);
        }
    }
    let codes = if codes.is_empty() { String::new() } else { format!(" ({})", codes.join(", ")) };
    format!("{}{codes}{}", test.workload(), distinction(test, others))
}

/// The chosen parameters, and the parameters and the drive in which a test differs from `others`
/// (one of each other ramp) of the same workload.
pub fn distinction(test: &Test, others: &[&Test]) -> String {
    let others: Vec<_> =
        others.iter().filter(|other| other.workload() == test.workload()).collect();
    let differs = |(name, value): &(&String, &String)| {
        test.chosen().contains_key(*name)
            || others.iter().any(|other| other.params().get(*name) != Some(*value))
    };
    let params =
        test.params().iter().filter(differs).map(|(name, value)| format!(" {name}={value}"));
    let drive = others
        .iter()
        .any(|other| other.drive() != test.drive())
        .then(|| format!(" {}", test.drive().name()));
    params.chain(drive).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::analysis::fixture::at;
    use crate::model::{Drive, TestResult};

    #[test]
    fn tests_of_two_suites_are_one_ramp_and_those_of_two_drives_are_two() {
        let asked = |jobs, code: Option<&str>, drive| TestResult {
            asked_as: code.map(String::from),
            drive,
            ..at(jobs, 1.0)
        };
        let tests = [
            asked(1, None, Drive::Client),
            asked(2, Some("T611"), Drive::Client),
            asked(2, Some("B7"), Drive::Client),
            asked(1, None, Drive::Database),
            TestResult {
                chosen: BTreeMap::from([("org".into(), "iot".into())]),
                ..asked(4, None, Drive::Client)
            },
        ]
        .map(Test::from);
        let ramps = groups(&tests, |test| *test);
        assert_eq!(ramps.iter().map(Vec::len).collect::<Vec<_>>(), [3, 1, 1]);
        let firsts: Vec<&Test> = ramps.iter().map(|ramp| ramp[0]).collect();
        let labels: Vec<_> = ramps.iter().map(|ramp| label(ramp, &firsts)).collect();
        let workload = tests[0].workload();
        assert_eq!(labels[0], format!("{workload} (T611, B7) client"));
        assert_eq!(labels[1], format!("{workload} database"));
        assert_eq!(label(&[&tests[0]], &[&tests[0]]), workload);
    }
}
