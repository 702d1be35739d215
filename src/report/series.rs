//! The raw seconds of every test as a table: for spreadsheets, which draw and compute themselves.

use super::Input;
use super::columns::RATE;
use super::document::{Block, Cell, Column, Digits, Section, Table};
use crate::model::{RunRecord, SeriesPoint, TestResult};

/// Rows of the table; the rest is in the results file ('runs export'). A workbook of this size opens in seconds.
const MOST_ROWS: usize = 20_000;

/// Name, unit, priority (see `Column`).
const COLUMNS: &[(&str, &str, u8)] = &[
    ("Run", "", 3),
    ("Test", "", 1),
    ("Workload", "", 0),
    ("Jobs", "", 0),
    ("Time", "s", 0),
    ("In window", "", 2),
    ("Ops", "ops/s", 0),
    ("Units", "units/s", 5),
    ("p50", "ms", 4),
    ("p99", "ms", 3),
    ("Errors", "", 6),
];

/// The section; none if no test has a series.
pub fn section(input: &Input) -> Option<Section> {
    let column = |&(name, unit, priority): &(&str, &str, u8)| Column::new(name, unit, priority);
    let mut table = Table { name: "series".into(), columns: COLUMNS.iter().map(column).collect(), ..Table::default() };
    let points = || input.tests().flat_map(|(run, test)| test.series.iter().map(move |point| (run, test, point)));
    for (run, test, point) in points().take(MOST_ROWS) {
        let row = row(&mut table, run, test, point);
        table.rows.push(row);
    }
    let left_out = points().count().saturating_sub(MOST_ROWS);
    if left_out > 0 {
        table.remarks.push(format!("{left_out} further rows are left out; 'dbdyno runs export' has them"));
    }
    (!table.rows.is_empty()).then(|| Section { title: "Raw series".into(), blocks: vec![Block::Table(table)] })
}

fn row(table: &mut Table, run: &RunRecord, test: &TestResult, point: &SeriesPoint) -> Vec<Cell> {
    let number = |value: f64, digits| Cell::Number { value, digits, verdict: None };
    let judged = |value: f64| Cell::Number { value, digits: RATE, verdict: Some(test.verdict.status) };
    let mut percentile = |us: Option<f64>| match us {
        Some(us) => judged(us / 1e3),
        None => table.unknown("too few timed ops in this second"),
    };
    let (p50, p99) = (percentile(point.p50_us), percentile(point.p99_us));
    let rate = |count: f64| if point.interval_s > 0.0 { judged(count / point.interval_s) } else { Cell::Empty };
    vec![
        Cell::text(run.id.to_string()),
        Cell::count(test.seq),
        Cell::text(&test.workload),
        Cell::count(test.jobs),
        number(point.t_s, Digits::Decimals(3)),
        Cell::text(if point.in_window { "yes" } else { "no" }),
        rate(point.ops),
        rate(point.units),
        p50,
        p99,
        number(point.errors as f64, Digits::Decimals(0)),
    ]
}
