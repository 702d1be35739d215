//! Driver of a test and its cost: our own process, or several load generators.

use super::Language;
use super::columns::RATE;
use super::document::{Cell, Column, Digits, Table};
use dbdyno_core::model::{DriverFigures, Sentence, Test, WorkerResult};

const HEADS: [(&str, &str); 9] = [
    ("Load machine", ""),
    ("Jobs", ""),
    ("Ops", ""),
    ("Ready after", "s"),
    ("Memory", "kB/session"),
    ("CPU used", "% of one"),
    ("Late", "ms"),
    ("Clock offset", "ms"),
    ("Round trip", "ms"),
];

/// Each load generator of a test, its coordinator first; no rows where that is not known.
pub fn of_test(language: Language, test: &Test) -> Table {
    let mut table =
        Table::new(language, "load machines", HEADS.map(|(head, unit)| Column::new(head, unit, 0)));
    let Some(result) = test.measured() else { return table };
    if let Some(driver) = &result.driver {
        let is_alone = result.workers.is_empty();
        let name = language.phrase(if is_alone { "this one" } else { "coordinator" });
        let (jobs, ops) = if is_alone { (result.jobs, result.window.ops) } else { (0, 0) };
        let first = [Cell::text(name), Cell::count(jobs), whole(ops)];
        let clock = [Cell::Empty, Cell::Empty, Cell::Empty];
        let taken = taken(&mut table, Some(driver), is_alone);
        table.rows.push(first.into_iter().chain(taken).chain(clock).collect());
    }
    for worker in &result.workers {
        let first = [Cell::text(&worker.name), Cell::count(worker.jobs), whole(worker.ops)];
        let taken = taken(&mut table, worker.driver.as_ref(), true);
        table.rows.push(first.into_iter().chain(taken).chain(clock(worker)).collect());
    }
    table
}

fn whole(value: u64) -> Cell {
    Cell::Number { value: value as f64, digits: Digits::Decimals(0), verdict: None }
}

fn plain(value: f64) -> Cell {
    Cell::Number { value, digits: RATE, verdict: None }
}

/// Resources used on a machine.
fn taken(table: &mut Table, driver: Option<&DriverFigures>, has_sessions: bool) -> [Cell; 3] {
    let bytes = driver.and_then(|driver| driver.memory_bytes_per_session);
    let mut known = |value: Option<f64>, why: &'static str| {
        table.unjudged(value.ok_or_else(|| Sentence::new(why)))
    };
    [
        known(driver.map(|driver| driver.connect_s), "not measured"),
        match has_sessions {
            true => known(
                bytes.map(|bytes| bytes / 1e3),
                "fewer jobs than in a test before, or not known here",
            ),
            false => Cell::Empty,
        },
        known(driver.map(|driver| 100.0 * driver.processors), "not measured"),
    ]
}

fn clock(worker: &WorkerResult) -> [Cell; 3] {
    [worker.late_s, worker.clock_offset_s, worker.round_trip_s].map(|s| plain(1e3 * s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::fixture;
    use dbdyno_core::model::TestResult;

    #[test]
    fn who_drives_alone_has_all_jobs_and_who_conducts_has_none() {
        let bytes = Some(250_000.0);
        let driver =
            DriverFigures { connect_s: 1.5, memory_bytes_per_session: bytes, processors: 0.04 };
        let alone = TestResult { driver: Some(driver), ..fixture::result() };
        let figures = |test: &TestResult| {
            let row = |row: &Vec<Cell>| {
                row.iter()
                    .map(|cell| if let Cell::Number { value, .. } = cell { *value } else { -1.0 })
                    .collect()
            };
            let table = of_test(Language::English, &Test::from(test.clone()));
            table.rows.iter().map(row).collect::<Vec<Vec<f64>>>()
        };
        assert_eq!(figures(&alone), [[-1.0, 2.0, 100_000.0, 1.5, 250.0, 4.0, -1.0, -1.0, -1.0]]);
        let worker = WorkerResult {
            name: "w".into(),
            jobs: 2,
            clock_offset_s: -3.0,
            round_trip_s: 0.001,
            late_s: 0.002,
            driver: Some(driver),
            ops: 7,
            buckets: Vec::new(),
            ops_by_second: Vec::new(),
            p99_us_by_second: Vec::new(),
        };
        let shared = TestResult { workers: vec![worker], ..alone };
        let [conductor, worker] = &figures(&shared)[..] else { panic!("two rows") };
        assert_eq!(conductor[..6], [-1.0, 0.0, 0.0, 1.5, -1.0, 4.0]);
        assert_eq!(worker[..], [-1.0, 2.0, 7.0, 1.5, 250.0, 4.0, 2.0, -3000.0, 1.0]);
        assert!(figures(&fixture::result()).is_empty());
    }
}
