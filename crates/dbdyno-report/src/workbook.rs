//! Everything about the runs for a spreadsheet: what the page has, and the raw seconds.

use super::columns::RATE;
use super::document::{Block, Cell, Declared, Digits, Section, Table};
use super::page::{self, Limits};
use super::{BaselinePlaces, Document, Input, Report, compare, datasheet, heatmap};
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

    fn baseline(&self) -> BaselinePlaces {
        BaselinePlaces { on_page: false, beside_published: true }
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

/// The section; none if no test has a series.
fn series(input: &Input) -> Option<Section> {
    let language = input.language;
    let columns = point_columns();
    let mut table = Table::declared(language, "series", &columns);
    let points = || {
        input
            .tests()
            .flat_map(|(run, test)| test.series().iter().map(move |point| (run, test, point)))
    };
    for (run, test, point) in points().take(MAX_ROWS) {
        table.add_row(&columns, &PointRow { run, test, point });
    }
    let left_out = points().count().saturating_sub(MAX_ROWS);
    if left_out > 0 {
        table.remarks.push(language.count("rows_left_out", left_out, &[]));
    }
    (!table.rows.is_empty())
        .then(|| Section::new(language, "Raw series", vec![Block::Table(table)]))
}

/// A second of a test.
struct PointRow<'a> {
    run: &'a RunRecord,
    test: &'a Test,
    point: &'a SeriesPoint,
}

impl PointRow<'_> {
    fn figure(&self, value: f64) -> Cell {
        Cell::Number { value, digits: RATE, verdict: Some(self.test.status()) }
    }

    fn rate(&self, count: f64) -> Cell {
        let interval_s = self.point.interval_s;
        if interval_s > 0.0 { self.figure(count / interval_s) } else { Cell::Empty }
    }

    fn percentile(&self, table: &mut Table, us: Option<f64>) -> Cell {
        match us {
            Some(us) => self.figure(us / 1e3),
            None => table.unknown("too few timed ops in this second"),
        }
    }
}

fn point_columns<'a>() -> [Declared<PointRow<'a>>; 11] {
    [
        Declared::new("Run", "", 3, |row, _| Cell::text(row.run.id.to_string())),
        Declared::new("Test", "", 1, |row, _| Cell::count(row.test.seq())),
        Declared::new("Workload", "", 0, |row, _| Cell::text(row.test.workload())),
        Declared::new("Jobs", "", 0, |row, _| Cell::count_if_known(row.test.jobs())),
        Declared::new("Time", "s", 0, |row, _| Cell::Number {
            value: row.point.t_s,
            digits: Digits::Decimals(3),
            verdict: None,
        }),
        Declared::new("In window", "", 2, |row, table| {
            Cell::text(table.language.phrase(if row.point.in_window { "yes" } else { "no" }))
        }),
        Declared::new("Ops", "ops/s", 0, |row, _| row.rate(row.point.ops)),
        Declared::new("Units", "units/s", 5, |row, _| row.rate(row.point.units)),
        Declared::new("p50", "ms", 4, |row, table| row.percentile(table, row.point.p50_us)),
        Declared::new("p99", "ms", 3, |row, table| row.percentile(table, row.point.p99_us)),
        Declared::new("Errors", "", 6, |row, _| Cell::Number {
            value: row.point.errors as f64,
            digits: Digits::Decimals(0),
            verdict: None,
        }),
    ]
}
