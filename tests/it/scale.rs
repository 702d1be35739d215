//! A results file with ten thousand tests: everything is counted right, and what needs no seconds reads none.

use std::path::Path;

use dbdyno::model::{RunRecord, TestResult};
use dbdyno::store::Store;

use crate::fixture;
use crate::support::Desk;

const RUNS: u32 = 50;
const TESTS: u32 = 200;

/// Fills a results file; `seconds`: with the series and snapshots of a test of ten seconds.
fn fill(path: &Path, seconds: bool) {
    let template = fixture::tests();
    let tests: Vec<TestResult> = (0..TESTS)
        .map(|at| {
            let mut test = template[at as usize % template.len()].clone();
            (test.seq, test.jobs) = (at + 1, 1 << (at / 12 % 6));
            if !seconds {
                test.series.truncate(1);
                test.snapshots.clear();
            }
            test
        })
        .collect();
    let runs: Vec<(String, RunRecord)> = (1..=RUNS)
        .map(|at| (format!("{at:032x}"), RunRecord { name: Some(format!("r{at}")), ..fixture::run() }))
        .collect();
    let mut store = Store::open(path).unwrap();
    store.add_runs("scale", runs.iter().map(|(uid, run)| (uid.as_str(), run, tests.as_slice()))).unwrap();
}

#[test]
fn ten_thousand_tests_are_listed_and_reported_with_the_right_counts() {
    let desk = Desk::new();
    fill(&desk.path("results.db"), false);
    let runs = desk.runs();
    assert_eq!(runs.len(), RUNS as usize);
    assert_eq!(runs.iter().map(|run| run["tests"].as_u64().unwrap()).sum::<u64>(), u64::from(RUNS * TESTS));
    let kpm = desk.run("report kpm last --format json").ok().json();
    let sections = kpm["sections"].as_array().unwrap();
    let tables = sections.iter().flat_map(|section| section["tables"].as_array().unwrap());
    let lines = tables.filter(|table| !table["name"].as_str().unwrap().contains("part"));
    let rows: usize = lines.map(|table| table["rows"].as_array().unwrap().len()).sum();
    assert_eq!(rows, TESTS as usize);
    let compared = desk.run("compare r1 r50 --format json").ok().json();
    let kpms = compared["kpms"].as_array().unwrap();
    assert!(!kpms.is_empty() && kpms.iter().all(|row| row["difference"] == "~" && row["ratio"] == 1.0), "{kpms:?}");
}

#[test]
fn figures_are_the_tests_without_their_seconds() {
    let desk = Desk::new();
    let mut store = Store::open(&desk.path("results.db")).unwrap();
    let id = store.begin_run(&fixture::run()).unwrap();
    fixture::tests().iter().for_each(|test| store.save_test(id, test).unwrap());
    let mut tests = store.tests(id).unwrap();
    for test in &mut tests {
        assert!(!test.series.is_empty());
        test.series.clear();
        test.snapshots.clear();
    }
    assert_eq!(store.figures(id).unwrap(), tests);
}

/// Writes a full-sized file for measuring by hand: DBDYNO_SCALE_FILE=/tmp/scale.db cargo test --test it -- --ignored scale
#[test]
#[ignore = "a file for measuring by hand"]
fn a_file_to_measure_with() {
    let path = std::env::var_os("DBDYNO_SCALE_FILE").expect("DBDYNO_SCALE_FILE names the file to write");
    fill(Path::new(&path), true);
}
