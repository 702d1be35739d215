//! The parts of mixed tests: a line per part with its own figures, below the table of the tests.

use super::assignments::assignments;
use super::columns::{Line, RATE};
use super::document::{Cell, Column, Table};
use crate::model::{LatencySummary, PartFigures};

/// Name, unit, priority (see `Column`).
const COLUMNS: [(&str, &str, u8); 14] = [
    ("Run", "", 3),
    ("Test", "", 0),
    ("Mixed workload", "", 2),
    ("Part", "", 0),
    ("Parameters", "", 1),
    ("Jobs", "", 1),
    ("Ops", "ops/s", 0),
    ("Rows", "rows/s", 5),
    ("Service time mean", "ms", 0),
    ("p50", "ms", 4),
    ("p95", "ms", 6),
    ("p99", "ms", 3),
    ("max", "ms", 7),
    ("Verdict", "", 0),
];

/// The parts of those tests that have several; none if none has.
pub(super) fn table(name: &str, lines: &[Line<'_>]) -> Option<Table> {
    let mixed: Vec<_> = lines.iter().filter(|line| line.test.parts.len() > 1).collect();
    if mixed.is_empty() {
        return None;
    }
    let column = |&(name, unit, priority): &(&str, &str, u8)| Column::new(name, unit, priority);
    let mut table = Table { name: name.into(), columns: COLUMNS.iter().map(column).collect(), ..Table::default() };
    for line in mixed {
        for part in &line.test.parts {
            let row = row(line, part, &mut table);
            table.rows.push(row);
        }
    }
    Some(table)
}

fn row(line: &Line<'_>, part: &PartFigures, table: &mut Table) -> Vec<Cell> {
    let status = line.test.verdict.status;
    let mut row = vec![
        Cell::text(line.run.id.to_string()),
        Cell::count(line.test.seq),
        Cell::text(&line.test.workload),
        Cell::text(&part.workload),
        Cell::text(assignments(&part.chosen, ",")),
        Cell::count(part.jobs),
    ];
    row.extend(figures(part).map(|figure| table.figure(figure, RATE, status)));
    row.push(Cell::Verdict(status));
    row
}

/// In the order of the columns, from ops on.
fn figures(part: &PartFigures) -> [Result<f64, String>; 7] {
    let LatencySummary { mean_us, p50_us, p95_us, p99_us, max_us, .. } = part.latency;
    let ms = |us: Option<f64>, why: &str| us.map(|us| us / 1000.0).ok_or_else(|| why.to_string());
    let percentile = |us| ms(us, "too few timed ops for this percentile");
    [
        Ok(part.ops_per_s),
        rows_per_s(part),
        ms(mean_us, "no op was completed in the window"),
        percentile(p50_us),
        percentile(p95_us),
        percentile(p99_us),
        percentile(max_us),
    ]
}

/// Rows per op of the window at the rate of the ops.
fn rows_per_s(part: &PartFigures) -> Result<f64, String> {
    match part.tally.ops {
        0 => Err("no op was completed in the window".into()),
        ops => Ok(part.tally.rows as f64 / ops as f64 * part.ops_per_s),
    }
}
