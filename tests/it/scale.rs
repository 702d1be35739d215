//! A results file with ten thousand tests: everything is counted right, and what needs no seconds
//! reads none.

use std::path::{Path, PathBuf};

use dbdyno::model::{RunRecord, Test};
use dbdyno::report::ab_test::{AB_TEST, SIDE};
use dbdyno::report::{REPORTS, Report, Subject};
use dbdyno::serve::stored::{self, Chosen};
use dbdyno::store::{Reads, Store};

use crate::fixture::{self, RUNS, TESTS, fill};
use crate::servers::Lease;
use crate::support::Desk;

#[test]
fn ten_thousand_tests_are_listed_and_reported_with_the_right_counts() {
    let desk = Desk::new();
    fill(&desk.path("results.db"), RUNS, false);
    let runs = desk.runs();
    assert_eq!(runs.len(), RUNS as usize);
    assert_eq!(
        runs.iter().map(|run| run["tests"].as_u64().unwrap()).sum::<u64>(),
        u64::from(RUNS * TESTS)
    );
    let kpm = desk.run("report kpm last --format json").ok().json();
    let sections = kpm["sections"].as_array().unwrap();
    let tables = sections.iter().flat_map(|section| section["tables"].as_array().unwrap());
    let lines = tables.filter(|table| {
        !["part", "spread"].iter().any(|name| table["name"].as_str().unwrap().contains(name))
    });
    // Repetitions have one line, which says how many they are.
    let times = |table: &serde_json::Value| -> f64 {
        let at = table["columns"]
            .as_array()
            .unwrap()
            .iter()
            .position(|column| column["name"] == "Times");
        table["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| at.map_or(1.0, |at| row[at].as_f64().unwrap()))
            .sum()
    };
    assert_eq!(lines.map(times).sum::<f64>(), f64::from(TESTS));
    let compared = desk.run("compare r1 r50 --format json").ok().json();
    let kpms = compared["kpms"].as_array().unwrap();
    let said = |row: &serde_json::Value| if row["low"].is_null() { "undecided" } else { "~" };
    assert!(
        !kpms.is_empty()
            && kpms.iter().all(|row| row["ratio"] == 1.0 && row["difference"] == said(row)),
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

/// Both sides of an A/B test, a calibration of their platform, so many of another, and the run that
/// reports are of.
fn crowd(place: &Path, others: u32) {
    let labelled = |labels: &[(&str, &str)], cpu: &str| {
        let labels =
            labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let mut run = RunRecord { labels, ..fixture::run() };
        run.disclosure.set("hardware", "cpu_model", cpu);
        run
    };
    let [a, b] = ["A", "B"].map(|side| labelled(&[(AB_TEST, "2026-03-02"), (SIDE, side)], "ours"));
    let calibration = |cpu| labelled(&[("calibration", "yes")], cpu);
    let others = (0..others).map(|_| calibration("theirs"));
    let runs: Vec<RunRecord> = [a, b, calibration("ours")]
        .into_iter()
        .chain(others)
        .chain([labelled(&[], "ours")])
        .collect();
    let runs: Vec<_> =
        (1..).zip(&runs).map(|(uid, run): (u32, _)| (format!("{uid:032x}"), run)).collect();
    let mut tests = fixture::as_tests(fixture::tests());
    tests.truncate(3);
    let mut store = Store::open(place).unwrap();
    store
        .add_runs("crowd", runs.iter().map(|(uid, run)| (uid.as_str(), *run, tests.as_slice())))
        .unwrap();
}

/// Amount of data that each report, by its name, reads of the last run and its A/B test.
fn reads(place: &Path) -> Vec<(String, Reads)> {
    let catalog = crate::support::catalog();
    let of_report = |name: &str, test: Option<u32>, seconds: bool| {
        let store = Store::open_to_read(place).unwrap();
        let chosen = [Chosen { run: "last".into(), test }];
        let input = stored::input(&store, &catalog, &chosen, seconds, String::new()).unwrap();
        assert_eq!(
            input.calibrations.iter().map(|data| data.run.id).collect::<Vec<_>>(),
            [3],
            "{name}"
        );
        (name.to_string(), store.reads())
    };
    let is_of_runs =
        |report: &&&dyn Report| matches!(report.subject(), Subject::Runs | Subject::Tests);
    let of_reports = REPORTS.iter().filter(is_of_runs).map(|report| {
        let test = (report.subject() == Subject::Tests).then_some(1);
        of_report(report.name(), test, report.needs_seconds())
    });
    let store = Store::open_to_read(place).unwrap();
    let sides = stored::sides(&store, &store.run("2").unwrap()).unwrap();
    assert_eq!(sides.iter().map(|side| side.run.id).collect::<Vec<_>>(), [1, 2]);
    of_reports.chain([("ab-test".to_string(), store.reads())]).collect()
}

#[test]
fn what_a_report_reads_does_not_grow_with_the_runs_beside_it() {
    const MORE: u32 = 40;
    let (desk, few_of, many_of) =
        (Desk::new(), Lease::new("postgres", None, &[]), Lease::new("postgres", None, &[]));
    let file = ["few.db", "many.db"].map(|name| desk.path(name));
    let server = [&few_of, &many_of].map(|lease| PathBuf::from(&lease.url));
    for [few, many] in [file, server] {
        crowd(&few, 1);
        crowd(&many, 1 + MORE);
        for ((report, few), (_, many)) in reads(&few).into_iter().zip(reads(&many)) {
            assert_eq!(few.queries, many.queries, "{report}");
            // Of each calibration its number and its platform: none of its tests.
            assert!(many.rows <= few.rows + u64::from(2 * MORE), "{report}: {few:?} {many:?}");
        }
    }
}
