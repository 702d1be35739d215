//! The KPM report: every test with the columns of its kind, a table per group and unit.

use super::columns::{Definition, Line, table};
use super::document::{Block, Document, Section};
use super::kpm_columns::{GENERAL, QUERIES, READS, TRANSACTIONS};
use super::{Input, Report, kpm_parts};
use crate::analysis::derive;
use crate::model::TestResult;

/// `report kpm`.
pub struct KpmReport;

/// How a group is shown, by the unit of its KPM.
struct Form {
    group: &'static str,
    /// Empty = every unit.
    unit: &'static str,
    kpm_name: &'static str,
    columns: &'static [Definition],
}

/// The first form that fits is taken; the last fits everything.
const FORMS: &[Form] = &[
    Form { group: "TP", unit: "tps", kpm_name: "Transactions", columns: TRANSACTIONS },
    Form { group: "SRV", unit: "qps", kpm_name: "Queries", columns: QUERIES },
    Form { group: "SRV", unit: "MB/s", kpm_name: "Scan rate", columns: QUERIES },
    Form { group: "SRV", unit: "dbps", kpm_name: "Log reads", columns: QUERIES },
    Form { group: "SRV", unit: "rows/s", kpm_name: "Rows", columns: QUERIES },
    Form { group: "SRV", unit: "", kpm_name: "KPM", columns: QUERIES },
    Form { group: "STO", unit: "", kpm_name: "KPM", columns: READS },
    Form { group: "DA", unit: "", kpm_name: "KPM", columns: READS },
    Form { group: "", unit: "", kpm_name: "KPM", columns: GENERAL },
];

fn form(test: &TestResult) -> &'static Form {
    let fits = |form: &&Form| {
        (form.group.is_empty() || form.group == test.group) && (form.unit.is_empty() || form.unit == test.kpm.unit)
    };
    FORMS.iter().find(fits).unwrap_or(&FORMS[FORMS.len() - 1])
}

impl Report for KpmReport {
    fn name(&self) -> &'static str {
        "kpm"
    }

    fn title(&self) -> &'static str {
        "every test with its key performance metric, service times, CPU, I/O and verdict"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        let sections = input.used_groups().into_iter().map(|(id, title)| section(input, id, title));
        Document { title: "KPM report".into(), sections: sections.collect(), ..Document::default() }
    }
}

fn section(input: &Input, group: &str, title: &str) -> Section {
    let mut units: Vec<&str> = Vec::new();
    for (_, test) in input.tests().filter(|(_, test)| test.group == group) {
        if !units.contains(&test.kpm.unit.as_str()) {
            units.push(&test.kpm.unit);
        }
    }
    let blocks = units.into_iter().flat_map(|unit| blocks(input, group, unit)).collect();
    Section { title: heading(group, title), blocks }
}

/// A group's title with its id.
pub fn heading(group: &str, title: &str) -> String {
    if title == group { group.into() } else { format!("{title} ({group})") }
}

/// The tests of a unit, and the parts of those that are mixed.
fn blocks(input: &Input, group: &str, unit: &str) -> Vec<Block> {
    let tests = input.tests().filter(|(_, test)| test.group == group && test.kpm.unit == unit);
    let lines: Vec<Line<'_>> = tests.map(|(run, test)| Line { run, test, derived: derive(test) }).collect();
    let form = lines.first().map_or(&FORMS[FORMS.len() - 1], |line| form(line.test));
    let tests = table(&format!("{group} [{unit}]"), form.columns, form.kpm_name, &lines);
    let parts = kpm_parts::table(&format!("{group} [{unit}] parts"), &lines);
    std::iter::once(tests).chain(parts).map(Block::Table).collect()
}
