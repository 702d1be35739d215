//! A results file with ten thousand tests: everything is counted right, and what needs no seconds reads none.

use dbdyno::model::Test;
use dbdyno::store::Store;

use crate::fixture::{self, RUNS, TESTS, fill};
use crate::support::Desk;

#[test]
fn ten_thousand_tests_are_listed_and_reported_with_the_right_counts() {
    let desk = Desk::new();
    fill(&desk.path("results.db"), RUNS, false);
    let runs = desk.runs();
    assert_eq!(runs.len(), RUNS as usize);
    assert_eq!(runs.iter().map(|run| run["tests"].as_u64().unwrap()).sum::<u64>(), u64::from(RUNS * TESTS));
    let kpm = desk.run("report kpm last --format json").ok().json();
    let sections = kpm["sections"].as_array().unwrap();
    let tables = sections.iter().flat_map(|section| section["tables"].as_array().unwrap());
    let lines =
        tables.filter(|table| !["part", "spread"].iter().any(|name| table["name"].as_str().unwrap().contains(name)));
    // Repetitions have one line, which says how many they are.
    let times = |table: &serde_json::Value| -> f64 {
        let at = table["columns"].as_array().unwrap().iter().position(|column| column["name"] == "Times");
        table["rows"].as_array().unwrap().iter().map(|row| at.map_or(1.0, |at| row[at].as_f64().unwrap())).sum()
    };
    assert_eq!(lines.map(times).sum::<f64>(), f64::from(TESTS));
    let compared = desk.run("compare r1 r50 --format json").ok().json();
    let kpms = compared["kpms"].as_array().unwrap();
    let said = |row: &serde_json::Value| if row["low"].is_null() { "undecided" } else { "~" };
    assert!(
        !kpms.is_empty() && kpms.iter().all(|row| row["ratio"] == 1.0 && row["difference"] == said(row)),
        "{kpms:?}"
    );
}

#[test]
fn figures_are_the_tests_without_their_seconds() {
    let desk = Desk::new();
    let mut store = Store::open(&desk.path("results.db")).unwrap();
    let id = store.begin_run(&fixture::run()).unwrap();
    fixture::tests().iter().for_each(|test| store.save_test(id, test).unwrap());
    let tests = store.tests(id).unwrap();
    assert!(tests.iter().all(|test| !test.series().is_empty()));
    let tests: Vec<_> = tests.iter().map(Test::without_seconds).collect();
    assert_eq!(store.figures(id).unwrap(), tests);
}
