//! Variance components of repeated tests: a section of the KPM report, and of the datasheet if
//! there is more to tell.

use super::document::{Block, Cell, Column, Digits, Table};
use super::{Language, RunTests};
use dbdyno_core::analysis::ramp;
use dbdyno_core::analysis::repeats::{self, Repeats};
use dbdyno_core::analysis::spread::{self, Level, Spread};
use dbdyno_core::model::Test;

const ABOUT: &str = "Variance components of repetitions: each column is a standard deviation as a \
                     share of the figure, without what the columns before it explain. Another \
                     repetition falls within the last column in 19 of 20 cases.";
const NOT_REPEATED: &str = "not repeated";
const ALIKE: &str = "the seconds of the window are too few or resemble one another";
const INDICATIVE: &str = "indicative: fewer than three repetitions";
const TWO_DIGITS: Digits = Digits::Significant(2);

/// True if the parts say more than the interval beside each figure: the server was started or the
/// data were loaded anew.
pub(super) fn is_informative(data: &RunTests) -> bool {
    data.tests.iter().filter_map(Test::measured).any(|test| test.server_start > 1 || test.load > 1)
}

/// A line per test that was repeated; none if none was.
pub(super) fn blocks(language: Language, data: &RunTests) -> Option<Vec<Block>> {
    let ramps = ramp::groups(data.tests.iter(), |test| *test);
    let firsts: Vec<&Test> = ramps.iter().map(|tests| tests[0]).collect();
    let mut table = Table::new(language, "spread", columns());
    for tests in &ramps {
        for (test, times, found) in spreads(tests) {
            let row = row(&mut table, &ramp::label(tests, &firsts), test, times, &found);
            table.rows.push(row);
        }
    }
    (!table.rows.is_empty())
        .then(|| vec![Block::Paragraph(language.phrase(ABOUT)), Block::Table(table)])
}

fn columns() -> Vec<Column> {
    let levels = Level::ALL.map(|level| Column::new(level.name(), "%", 2));
    let first = [("Workload", 0), ("Jobs", 0), ("Times", 3)]
        .map(|(name, priority)| Column::new(name, "", priority));
    let last = [("largest part", "", 1), ("a further test +-", "%", 0), ("Verdict", "", 2)]
        .map(|(name, unit, priority)| Column::new(name, unit, priority));
    first.into_iter().chain(levels).chain(last).collect()
}

/// The measured tests of a ramp that were repeated, one for each number of jobs, with how often.
fn spreads<'a>(tests: &[&'a Test]) -> Vec<(&'a Test, usize, Spread)> {
    let spread = |repeats: Repeats<'a>| {
        let counted = repeats::without_zeros(&repeats);
        let kpm = counted[0].test.kpm();
        let windows = repeats::windows(counted, &kpm.value);
        let test = repeats::median(counted, kpm.better).test;
        Some((test, windows.len(), spread::estimate(&windows)?))
    };
    repeats::by_jobs(tests, Test::kpm_value).into_iter().filter_map(spread).collect()
}

fn row(table: &mut Table, label: &str, test: &Test, times: usize, found: &Spread) -> Vec<Cell> {
    let mut row = vec![
        Cell::text(label),
        Cell::count(test.jobs().unwrap_or_default()),
        Cell::count(times as u32),
    ];
    let why = |level| if level == Level::Within { ALIKE } else { NOT_REPEATED };
    for (level, part) in Level::ALL.into_iter().zip(found.parts) {
        row.push(percent(table, part, why(level)));
    }
    let largest = found.largest().map_or("", Level::name);
    row.push(Cell::text(table.language.phrase(largest)));
    let next = found.next.map(|half| 100.0 * half).ok_or_else(|| INDICATIVE.into());
    row.push(table.figure(next, TWO_DIGITS, test.status()));
    row.push(Cell::Verdict(test.status()));
    row
}

/// A share as per cent, or why it is not known.
fn percent(table: &mut Table, share: Option<f64>, why: &'static str) -> Cell {
    match share {
        Some(share) => Cell::Number { value: 100.0 * share, digits: TWO_DIGITS, verdict: None },
        None => table.unknown(why),
    }
}
