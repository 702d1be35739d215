//! Everything about the runs for a spreadsheet: what the page has, and the raw seconds.

use super::columns::RATE;
use super::document::{Block, Cell, Column, Digits, Section, Table};
use super::page::{self, Limits};
use super::{Document, Input, Report, compare, datasheet, heatmap};
use dbdyno_core::model::{RunRecord, SeriesPoint, Test};

/// A spreadsheet holds more lines than a page can; of the raw seconds, [`series`] takes its share.
const LIMITS: Limits = Limits { lines: 5_000, distributions: 300, seconds: 20_000 };

/// `report workbook`.
pub struct FullWorkbook;

impl Report for FullWorkbook {
    fn name(&self) -> &'static str {
        "workbook"
    }

    fn title(&self) -> &'static str {
        "a workbook with everything: what the page has, prices, the raw seconds of every test"
    }

    fn format(&self) -> &'static str {
        "xlsx"
    }

    fn build(&self, input: &Input) -> Document {
        let mut document = page::document(input, &LIMITS);
        let figures = match input.runs.as_slice() {
            [data] => {
                document.sections.extend(heatmap::sections(input));
                datasheet::kpms(input, data)
            }
            _ => side_by_side(input, &mut document),
        };
        document.key_figures = (!figures.rows.is_empty()).then_some(figures);
        document.sections.extend(series(input));
        document
    }
}

/// The figures of several runs for the first sheet, with the answer of their comparison: of two
/// each pair with its ratio, of more each workload in one row.
fn side_by_side(input: &Input, document: &mut Document) -> Table {
    let comparisons = compare::comparisons(input);
    let compared = page::compared(input, &comparisons, &[]);
    if let Some((page, compared)) = document.page.as_mut().zip(compared) {
        page.head.answer = compared.head.answer;
        page.head.shares = compared.head.shares;
    }
    match comparisons.as_slice() {
        [only] => compare::rows(only, input.language, false),
        _ => heatmap::table(input),
    }
}

/// Rows of the table; the rest is in the results file ('results export'). A workbook of this size
/// opens in seconds.
const MAX_ROWS: usize = 20_000;

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
fn series(input: &Input) -> Option<Section> {
    let column = |&(name, unit, priority): &(&str, &str, u8)| Column::new(name, unit, priority);
    let language = input.language;
    let mut table = Table::new(language, "series", COLUMNS.iter().map(column));
    let points = || {
        input
            .tests()
            .flat_map(|(run, test)| test.series().iter().map(move |point| (run, test, point)))
    };
    for (run, test, point) in points().take(MAX_ROWS) {
        let row = row(&mut table, run, test, point);
        table.rows.push(row);
    }
    let left_out = points().count().saturating_sub(MAX_ROWS);
    if left_out > 0 {
        table.remarks.push(language.count("rows_left_out", left_out, &[]));
    }
    (!table.rows.is_empty())
        .then(|| Section::new(language, "Raw series", vec![Block::Table(table)]))
}

fn row(table: &mut Table, run: &RunRecord, test: &Test, point: &SeriesPoint) -> Vec<Cell> {
    let number = |value: f64, digits| Cell::Number { value, digits, verdict: None };
    let judged = |value: f64| Cell::Number { value, digits: RATE, verdict: Some(test.status()) };
    let mut percentile = |us: Option<f64>| match us {
        Some(us) => judged(us / 1e3),
        None => table.unknown("too few timed ops in this second"),
    };
    let (p50, p99) = (percentile(point.p50_us), percentile(point.p99_us));
    let rate = |count: f64| {
        if point.interval_s > 0.0 { judged(count / point.interval_s) } else { Cell::Empty }
    };
    vec![
        Cell::text(run.id.to_string()),
        Cell::count(test.seq()),
        Cell::text(test.workload()),
        Cell::count_if_known(test.jobs()),
        number(point.t_s, Digits::Decimals(3)),
        Cell::text(table.language.phrase(if point.in_window { "yes" } else { "no" })),
        rate(point.ops),
        rate(point.units),
        p50,
        p99,
        number(point.errors as f64, Digits::Decimals(0)),
    ]
}
