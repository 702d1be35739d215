//! The published suites: from end to end on PostgreSQL, as plans on other engines.

use std::collections::BTreeSet;

use dbdyno::model::Drive;
use dbdyno::plan;
use serde_json::Value;

use crate::every_workload::request;
use crate::publications;
use crate::support::{Desk, assert_run_schema, catalog};

pub const PUBLISHED: [&str; 3] = ["orabench", "benchware", "peakmarks"];

/// One run of the published suites at one job, as short as their rules allow: every test that was
/// planned ran without failure, and the tests of a publication show their codes.
fn run_all() -> Desk {
    let desk = Desk::new();
    let suites = PUBLISHED.map(|suite| format!(" --suite {suite}")).concat();
    let line = format!(
        "run postgres{suites} --size 0.02 --time-scale 0.00002 --jobs 1 --quiet --format json"
    );
    let document: Value = desk.run(&line).ok().json();
    assert_run_schema(&document);
    let run = document["tests"].as_array().unwrap();
    assert!(run.len() >= 60, "{} tests", run.len());
    for test in run {
        let reasons = test["verdict"]["reasons"].to_string();
        assert!(
            !reasons.contains("\"failed\""),
            "{} {}: {reasons}",
            test["asked_as"],
            test["workload"]
        );
    }
    let coded: BTreeSet<&str> = run.iter().filter_map(|test| test["asked_as"].as_str()).collect();
    for code in CODES {
        assert!(coded.contains(code), "no {code} in {coded:?}");
    }
    desk
}

const CODES: [&str; 8] = ["T111", "T331", "T426", "T716", "T816", "SRV-31", "STO-41", "TP-MIXED2"];

#[test]
fn the_published_suites_run_on_postgres() {
    let desk = run_all();
    desk.run(&publications::import()).ok();
    let document = desk.run("compare 1 dl380-bm --format json").ok().json();
    let beside = &document["beside"][0];
    let entries = |list: &str| beside[list].as_array().unwrap().clone();
    let has = |code: &str| entries("pairs").iter().any(|pair| pair["code"] == code);
    // A short test on a busy machine may have no figure that counts, and is then told so.
    let has_no_figure = |code: &str| {
        entries("unpaired").iter().any(|one| one["code"] == code && one["reason"] == "no-figure")
    };
    for code in ["T111", "T134", "T311", "T331", "T611", "T621"] {
        assert!(has(code) || has_no_figure(code), "nothing of {code}: {beside:#}");
    }
    assert!(!entries("pairs").is_empty(), "{beside:#}");
}

/// Suites have so many tests on an engine, among them those of these codes. Their workloads run on
/// it in [`crate::every_workload`].
fn assert_planned(engine: &str, suites: &[&str], tests: usize, codes: &[&str]) {
    let request = plan::Request {
        suites: suites.iter().copied().map(String::from).collect(),
        workloads: Vec::new(),
        drive: None,
        warmup_s: None,
        duration_s: None,
        ..request(engine, Drive::Client, String::new())
    };
    let plan = plan::build(&catalog(), &request).unwrap();
    assert!(plan.selections.len() >= tests, "{engine}: {} tests", plan.selections.len());
    let coded: BTreeSet<&str> =
        plan.selections.iter().filter_map(|selection| selection.asked_as.as_deref()).collect();
    for code in codes {
        assert!(coded.contains(code), "{engine}: no {code} in {coded:?}");
    }
}

#[test]
fn the_published_suites_are_planned_on_sqlite() {
    assert_planned("sqlite", &PUBLISHED, 60, &CODES);
}

#[test]
fn a_published_suite_is_planned_on_mariadb() {
    assert_planned("mariadb", &PUBLISHED[2..], 30, &["SRV-QUERY1", "DL-BUFFER", "TP-LIGHT"]);
}
