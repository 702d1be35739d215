//! Meanings of the units of figures.

use super::Input;

/// Units, spelled out, in the order of a legend.
pub const UNITS: &[(&str, &str)] = &[
    ("qps", "queries per second"),
    ("tps", "transactions per second"),
    ("rows/s", "rows per second"),
    ("ops/s", "ops per second"),
    ("calls/s", "calls of a function per second"),
    ("sorts/s", "sorts per second"),
    ("kops", "thousand ops per second"),
    ("Mops", "million operations per second"),
    ("dbps", "database blocks per second"),
    ("iops", "input and output operations per second"),
    ("MB/s", "million bytes per second"),
    ("GB/s", "thousand million bytes per second"),
    ("kBpt", "thousand bytes of log per transaction"),
    ("s", "seconds"),
    ("ms", "thousandths of a second"),
    ("us", "millionths of a second"),
    ("ns", "thousand-millionths of a second"),
];

/// Meaning of a unit; none of one that is not in the legend.
pub fn meaning(unit: &str) -> Option<&'static str> {
    UNITS.iter().find(|(known, _)| *known == unit).map(|(_, meaning)| *meaning)
}

/// Of columns that every table of tests has.
const OF_COLUMNS: [&str; 7] = ["dbps", "iops", "MB/s", "GB/s", "kBpt", "ms", "ns"];

/// The units of the metrics and columns of these runs with their meaning.
pub fn legend(input: &Input) -> Vec<(String, String)> {
    let has_tests = input.tests().next().is_some();
    let is_used = |unit: &str| {
        has_tests && OF_COLUMNS.contains(&unit)
            || input.tests().any(|(_, test)| {
                let second = test.second().map(|kpm| kpm.unit.as_str());
                [Some(test.kpm().unit.as_str()), second].contains(&Some(unit))
            })
    };
    let used = UNITS.iter().filter(|(unit, _)| is_used(unit));
    used.map(|(unit, meaning)| ((*unit).to_string(), input.language.phrase(meaning))).collect()
}
