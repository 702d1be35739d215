//! Driver of a test and its cost: dbdyno's own process, or several load generators.

use super::Language;
use super::columns::RATE;
use super::document::{Cell, Declared, Digits, Table};
use dbdyno_core::model::{DriverFigures, Sentence, Test, WorkerResult};

/// A load generator: the coordinator, which has no clock of another machine, or a worker.
struct GeneratorRow<'a> {
    name: String,
    jobs: u32,
    ops: u64,
    driver: Option<&'a DriverFigures>,
    has_sessions: bool,
    worker: Option<&'a WorkerResult>,
}

/// Each load generator of a test, its coordinator first; no rows where that is not known.
pub fn of_test(language: Language, test: &Test) -> Table {
    let columns = generator_columns();
    let mut table = Table::declared(language, "load machines", &columns);
    let Some(result) = test.measured() else { return table };
    if let Some(driver) = &result.driver {
        let is_alone = result.workers.is_empty();
        let (jobs, ops) = if is_alone { (result.jobs, result.window.ops) } else { (0, 0) };
        let row = GeneratorRow {
            name: language.phrase(if is_alone { "this one" } else { "coordinator" }),
            jobs,
            ops,
            driver: Some(driver),
            has_sessions: is_alone,
            worker: None,
        };
        table.add_row(&columns, &row);
    }
    for worker in &result.workers {
        let row = GeneratorRow {
            name: worker.name.clone(),
            jobs: worker.jobs,
            ops: worker.ops,
            driver: worker.driver.as_ref(),
            has_sessions: true,
            worker: Some(worker),
        };
        table.add_row(&columns, &row);
    }
    table
}

fn generator_columns<'a>() -> [Declared<GeneratorRow<'a>>; 9] {
    [
        Declared::new("Load machine", "", 0, |row, _| Cell::text(&row.name)),
        Declared::new("Jobs", "", 0, |row, _| Cell::count(row.jobs)),
        Declared::new("Ops", "", 0, |row, _| Cell::Number {
            value: row.ops as f64,
            digits: Digits::Decimals(0),
            verdict: None,
        }),
        Declared::new("Ready after", "s", 0, |row, table| {
            known_cell(table, row.driver.map(|driver| driver.connect_s), "not measured")
        }),
        Declared::new("Memory", "kB/session", 0, |row, table| {
            if !row.has_sessions {
                return Cell::Empty;
            }
            let bytes = row.driver.and_then(|driver| driver.memory_bytes_per_session);
            let why = "fewer jobs than in a test before, or not known here";
            known_cell(table, bytes.map(|bytes| bytes / 1e3), why)
        }),
        Declared::new("CPU used", "% of one", 0, |row, table| {
            let used_pct = row.driver.map(|driver| 100.0 * driver.processors);
            known_cell(table, used_pct, "not measured")
        }),
        Declared::new("Late", "ms", 0, |row, _| ms_cell(row.worker.map(|worker| worker.late_s))),
        Declared::new("Clock offset", "ms", 0, |row, _| {
            ms_cell(row.worker.map(|worker| worker.clock_offset_s))
        }),
        Declared::new("Round trip", "ms", 0, |row, _| {
            ms_cell(row.worker.map(|worker| worker.round_trip_s))
        }),
    ]
}

fn known_cell(table: &mut Table, value: Option<f64>, why: &'static str) -> Cell {
    table.unjudged(value.ok_or_else(|| Sentence::new(why)))
}

/// A time of a worker in ms; empty for the coordinator.
fn ms_cell(time_s: Option<f64>) -> Cell {
    time_s.map_or(Cell::Empty, |time_s| Cell::Number {
        value: 1e3 * time_s,
        digits: RATE,
        verdict: None,
    })
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
