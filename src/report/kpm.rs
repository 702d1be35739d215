//! The KPM report: every test with the columns of its kind, a table per group and unit.

use super::columns::{Line, table};
use super::document::{Block, Document, Section};
use super::kpm_columns::{self, GENERAL, QUERIES, READS, TRANSACTIONS};
use super::{Input, Report, kpm_parts};
use crate::analysis::derive;
use crate::catalog::Form;

/// `report kpm`.
pub struct KpmReport;

/// The columns of a form.
fn columns(form: Form) -> kpm_columns::Columns {
    match form {
        Form::Transactions => TRANSACTIONS,
        Form::Queries => QUERIES,
        Form::Reads => READS,
        Form::General => GENERAL,
    }
}

/// What the KPM of a form is called by its unit; all others are just `KPM`.
const NAMES: &[(Form, &str, &str)] = &[
    (Form::Transactions, "tps", "Transactions"),
    (Form::Queries, "qps", "Queries"),
    (Form::Queries, "MB/s", "Scan rate"),
    (Form::Queries, "dbps", "Log reads"),
    (Form::Queries, "rows/s", "Rows"),
];

fn kpm_name(form: Form, unit: &str) -> &'static str {
    NAMES.iter().find(|name| (name.0, name.1) == (form, unit)).map_or("KPM", |name| name.2)
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
    let form = input.form(group, unit);
    let tests = table(&format!("{group} [{unit}]"), &columns(form).concat(), kpm_name(form, unit), &lines);
    let parts = kpm_parts::table(&format!("{group} [{unit}] parts"), &lines);
    std::iter::once(tests).chain(parts).map(Block::Table).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::compare::fixture::run;
    use crate::analysis::fixture;
    use crate::catalog::Group;
    use crate::model::{Better, KpmValue, TestResult};
    use crate::report::RunTests;

    /// Names of the columns of a test in this unit, of an own group of this form.
    fn columns(form: Option<Form>, unit: &str) -> Vec<String> {
        let kpm = fixture::kpm(KpmValue::Ops, unit, Better::Higher);
        let tests = vec![TestResult { group: "MINE".into(), kpm, ..fixture::result() }];
        let groups = vec![Group { form, ..Group::new("MINE", "mine") }];
        let input = Input { runs: vec![RunTests { run: run("a"), tests }], groups, ..Input::default() };
        match &KpmReport.build(&input).sections[0].blocks[0] {
            Block::Table(table) => table.columns.iter().map(|column| column.name.clone()).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_own_group_has_the_columns_of_its_form_or_of_its_unit() {
        let has = |form, unit, name: &str| columns(form, unit).contains(&name.to_string());
        for (form, unit) in [(None, "tps"), (Some(Form::Transactions), "rows/s")] {
            assert!(has(form, unit, "Upd [%]") && has(form, unit, "REDO data"), "{form:?} {unit}");
        }
        assert!(has(None, "tps", "Transactions total") && has(None, "qps", "Log reads per op"));
        assert!(has(Some(Form::Reads), "tps", "From device") && !has(None, "iops", "From device"));
    }
}
