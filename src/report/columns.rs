//! Columns as declared data: name, unit and where a line's value comes from; a table is made from a list of them.

use super::about::About;
use super::document::{Cell, Column, Digits, Table};
use crate::analysis::Derived;
use crate::model::{RunRecord, TestResult};

/// What a row of a table of tests is made from.
pub struct Line<'a> {
    pub run: &'a RunRecord,
    pub test: &'a TestResult,
    pub derived: Derived,
}

/// Where a column's value comes from.
#[derive(Clone, Copy)]
pub enum Source {
    /// A text, a count or a mark that is always known.
    Plain(fn(&Line<'_>) -> Cell),
    /// A measured figure, or why it is unknown.
    Figure(fn(&Line<'_>) -> Result<f64, String>, Digits),
    /// The figure of this id in `analysis::derive`.
    Derived(&'static str, Digits),
    /// The workload's KPM; the column has the KPM's unit.
    Kpm,
    /// The KPM divided by the jobs.
    KpmPerJob,
    /// The number of jobs.
    Jobs,
}

/// A declared column.
#[derive(Clone, Copy)]
pub struct Definition {
    pub name: &'static str,
    /// Empty for text and counts; ignored for the KPM.
    pub unit: &'static str,
    /// See `Column::priority`.
    pub priority: u8,
    pub source: Source,
}

/// Digits of a rate or a time.
pub const RATE: Digits = Digits::Significant(4);

/// The table `name` with a row per line. All lines must have the same KPM unit.
pub fn table(name: &str, definitions: &[Definition], kpm_name: &str, lines: &[Line<'_>]) -> Table {
    let unit = lines.first().map_or("", |line| line.test.kpm.unit.as_str());
    let columns = definitions.iter().map(|definition| head(definition, kpm_name, unit)).collect();
    let mut table = Table { name: name.into(), columns, ..Table::default() };
    for line in lines {
        let row = definitions.iter().map(|definition| cell(definition, line, &mut table)).collect();
        table.rows.push(row);
    }
    table.explain_all(lines.iter().map(|line| (About { run: line.run, test: line.test }, &line.test.verdict)));
    table
}

/// Why the number of jobs of a published test is unknown.
pub const UNKNOWN_JOBS: &str = "the source does not print the number of jobs";

/// `1 job`, `2 jobs`; a publication may not print it.
pub fn jobs(jobs: u32) -> String {
    match jobs {
        0 => "an unprinted number of jobs".into(),
        1 => "1 job".into(),
        jobs => format!("{jobs} jobs"),
    }
}

fn head(definition: &Definition, kpm_name: &str, kpm_unit: &str) -> Column {
    let (name, unit) = match definition.source {
        Source::Kpm => (format!("{kpm_name} {}", definition.name), kpm_unit),
        Source::KpmPerJob => (definition.name.into(), kpm_unit),
        _ => (definition.name.into(), definition.unit),
    };
    Column::new(name.trim(), unit, definition.priority)
}

fn cell(definition: &Definition, line: &Line<'_>, table: &mut Table) -> Cell {
    let verdict = line.test.verdict.status;
    match definition.source {
        Source::Plain(get) => get(line),
        Source::Jobs => line.test.known_jobs().map_or_else(|| table.unknown(UNKNOWN_JOBS), Cell::count),
        _ if line.test.window_s <= 0.0 && line.test.published.is_none() => {
            table.unknown("the test failed before anything was measured")
        }
        Source::Figure(get, digits) => table.figure(get(line), digits, verdict),
        Source::Derived(id, digits) => table.figure(derived(line, id), digits, verdict),
        Source::Kpm => table.figure(kpm(line), RATE, verdict),
        Source::KpmPerJob if line.test.known_jobs().is_none() => table.unknown(UNKNOWN_JOBS),
        Source::KpmPerJob => table.figure(kpm(line).map(|value| value / f64::from(line.test.jobs)), RATE, verdict),
    }
}

fn derived(line: &Line<'_>, id: &str) -> Result<f64, String> {
    let figure = line.derived.figure(id).ok_or_else(|| format!("there is no figure {id}"))?;
    figure.value.clone()
}

fn kpm(line: &Line<'_>) -> Result<f64, String> {
    let why = match &line.test.published {
        Some(_) => "the source does not print the KPM",
        None if line.test.window.ops == 0 => "no op was completed in the window",
        None => "the counter of the KPM is not known here",
    };
    line.test.kpm_value.ok_or_else(|| why.into())
}
