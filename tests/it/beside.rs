//! A run of ours beside the publications: every code of their suites that an engine can run has its
//! published figure beside it in one unit, or a stated reason; and what is other work says so.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use dbdyno::analysis;
use dbdyno::catalog::Catalog;
use dbdyno::engine::{self, ENGINES};
use dbdyno::model::{Plan, RunRecord, Selection, Tally, Test, TestResult, TestSpec};
use dbdyno::plan;
use dbdyno::report::{self, FORMATS, Input, Language, Options, REPORTS, RunTests};
use serde_json::Value;

use crate::reports::rendered;
use crate::{every_suite, fixture, publications};

/// Platforms of the five publications, as they are imported.
const PLATFORMS: [&str; 9] = [
    "dl580-bm",
    "dl580-esxi",
    "dl380-bm",
    "ibm-e870",
    "dl980-violin",
    "benchware-record-unnamed",
    "exadata-x2-2-half-rack",
    "exadata-x2-2-dbserver",
    "xeon-6234-ht",
];

/// Codes under which a review of the five publications found other work than the published one.
/// Codes only: the review itself is not part of the repository.
const OTHERWISE: [&str; 39] = [
    "DBL-11",
    "SRV-11",
    "SRV-21",
    "SRV-31",
    "SRV-QUERY25",
    "SRV-REPORT",
    "STO-41",
    "T111",
    "T121",
    "T122",
    "T131",
    "T132",
    "T133",
    "T134",
    "T141",
    "T151",
    "T211",
    "T311",
    "T312",
    "T313",
    "T321",
    "T322",
    "T331",
    "T332",
    "T426",
    "T512",
    "T616",
    "T626",
    "T711",
    "T712",
    "T713",
    "T714",
    "T715",
    "T716",
    "T721",
    "T816",
    "TP-HEAVY",
    "TP-MEDIUM",
    "TP-REPORT",
];

/// The publications, imported once for all tests.
static PUBLICATIONS: LazyLock<Vec<RunTests>> =
    LazyLock::new(|| publications::input(&PLATFORMS).runs);

/// A plan of a suite on an engine.
fn planned(catalog: &Catalog, engine: &str, suite: &str) -> Plan {
    let engine = ENGINES.iter().find(|known| known.name() == engine).unwrap();
    let request = plan::Request {
        suites: vec![suite.into()],
        size_gb: Some(1.0),
        ..plan::Request::new(engine.name(), engine.capabilities(), 2)
    };
    plan::build(catalog, &request).unwrap()
}

/// A test of a selection that did 1000 ops a second for each job.
fn test(selection: &Selection, size_gb: f64, jobs: u32, seq: u32) -> Test {
    let mut test =
        TestResult::unmeasured(&TestSpec::closed(selection, jobs, seq), "2026-01-01".into());
    test.facts = plan::facts(&selection.workload, &selection.params, size_gb);
    test.facts.extend([("small_mb", 4.9), ("big_mb", 300.0)].map(|(name, mb)| (name.into(), mb)));
    let work = selection.workload.work.eval(&test.facts).unwrap_or(1.0);
    let ops = 10_000 * u64::from(jobs);
    test.window = Tally { ops, rows: ops, busy_s: 10.0, ..Tally::default() };
    test.total = test.window.clone();
    (test.window_s, test.total_s) = (10.0, 10.0);
    (test.ops_per_s, test.rows_per_s) = (ops as f64 / 10.0, ops as f64 / 10.0);
    (test.units, test.units_per_s) = (work * ops as f64, work * ops as f64 / 10.0);
    for name in [&test.kpm].into_iter().chain(&test.second).filter_map(|kpm| kpm.value.counter()) {
        test.counters.0.insert(name.to_string(), 5.0 * ops as f64);
    }
    test.facts.insert("block_bytes".into(), 8192.0);
    analysis::fill(&mut test);
    test.into()
}

/// A run of a suite beside every platform of the publications.
fn beside(engine: &str, suite: &str) -> (BTreeSet<(String, String)>, Value) {
    let catalog = crate::support::catalog();
    let plan = planned(&catalog, engine, suite);
    let tests = plan
        .selections
        .iter()
        .flat_map(|selection| [1, 4].map(|jobs| test(selection, plan.size_gb, jobs, jobs)));
    let run = RunRecord {
        engine: Some(engine.into()),
        suite: suite.into(),
        name: Some("mine".into()),
        size_gb: Some(1.0),
        ..fixture::run()
    };
    let runs = [RunTests { run, tests: tests.collect() }];
    let runs = runs.into_iter().chain(PUBLICATIONS.iter().cloned()).collect();
    let input = Input { runs, catalog, orgs: engine::orgs(), ..Input::default() };
    let asked = plan.selections.iter().map(|selection| {
        let id = selection.workload.id.clone();
        (selection.asked_as.clone().unwrap_or_else(|| id.clone()), id)
    });
    (asked.collect(), serde_json::to_value(report::beside::all(&input)).unwrap())
}

/// Codes of a list of all comparisons.
fn codes<'a>(found: &'a Value, list: &str) -> BTreeSet<&'a str> {
    let all = found.as_array().unwrap().iter().flat_map(|one| one[list].as_array().unwrap());
    all.flat_map(|entry| [&entry["code"], &entry["workload"]]).filter_map(Value::as_str).collect()
}

#[test]
fn every_code_of_the_published_suites_has_its_figure_beside_it_or_a_reason() {
    for engine in ["postgres", "mariadb"] {
        for suite in every_suite::PUBLISHED {
            let (asked, found) = beside(engine, suite);
            let (paired, told) = (codes(&found, "pairs"), codes(&found, "unpaired"));
            let is_known = |(code, id): &&(String, String)| {
                paired.contains(code.as_str())
                    || told.contains(code.as_str())
                    || told.contains(id.as_str())
            };
            let silent: Vec<_> = asked.iter().filter(|of| !is_known(of)).collect();
            assert!(silent.is_empty(), "{suite} on {engine}: nothing is said of {silent:?}");
            for pair in
                found.as_array().unwrap().iter().flat_map(|one| one["pairs"].as_array().unwrap())
            {
                let ratio = pair["ratio"].as_f64().unwrap();
                let [theirs, yours] =
                    ["theirs", "yours"].map(|of| pair[of]["value"].as_f64().unwrap());
                assert!((yours / theirs / ratio - 1.0).abs() < 1e-9 && ratio > 0.0, "{pair}");
                assert_ne!(pair["verdict"], "valid", "{pair}");
                assert!(
                    pair["semantics"].as_array().is_some_and(|notes| !notes.is_empty()),
                    "{pair}"
                );
            }
        }
    }
}

#[test]
fn all_codes_of_orabench_that_postgres_can_run_and_a_publication_prints_are_paired() {
    let (asked, found) = beside("postgres", "orabench");
    let asked: BTreeSet<&str> = asked.iter().map(|(code, _)| code.as_str()).collect();
    assert_eq!(asked.len(), 26, "{asked:?}");
    let paired = codes(&found, "pairs");
    let without: Vec<&&str> = asked.iter().filter(|code| !paired.contains(**code)).collect();
    // No publication prints a figure of it.
    assert_eq!(without, [&"T816"]);
}

#[test]
fn units_of_the_publications_meet_those_of_ours() {
    let (_, found) = beside("postgres", "orabench");
    let of = |run: &str, code: &str, kind: &str| {
        let one = found.as_array().unwrap().iter().find(|one| one["published_run"] == run).unwrap();
        let is_of = |pair: &&Value| pair["code"] == code && pair["kind"] == kind;
        one["pairs"]
            .as_array()
            .unwrap()
            .iter()
            .find(is_of)
            .unwrap_or_else(|| panic!("{code} {one:#}"))
    };
    let is = |pair: &Value, unit: &str, theirs: f64, yours: f64| {
        let seen = [&pair["theirs"], &pair["yours"]].map(|of| of["value"].as_f64().unwrap());
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
        assert!(
            pair["unit"] == unit && close(seen[0], theirs) && close(seen[1], yours),
            "{pair:#}"
        );
    };
    is(of("dl380-bm", "T611", "speed"), "rows/s", 2520.0, 1000.0);
    is(of("dl380-bm", "T151", "speed"), "calls/s", 204_668_309.0 / 22.0, 204_668_309_000.0);
    is(of("dl980-violin", "T512", "throughput"), "rows/s", 1.024e9 / 226.0, 4e9);
    is(of("dl980-violin", "T616", "speed"), "rows/s", 2731.0, 32_000.0);
    // Their best commits every 10 rows, and so does ours there.
    assert_eq!(of("dl380-bm", "T311", "throughput")["params"]["rpt"], "10");
    assert_eq!(of("dl380-bm", "T311", "speed")["bound"], "at-most");
}

#[test]
fn what_is_other_work_than_published_says_so() {
    let catalog = crate::support::catalog();
    let silent: Vec<&str> = OTHERWISE
        .into_iter()
        .filter(|code| catalog.find(code).unwrap().entry.workload.differs([*code]).is_none())
        .collect();
    assert!(silent.is_empty(), "no word of how these differ: {silent:?}");
    let (_, found) = beside("postgres", "orabench");
    let all = found.as_array().unwrap().iter().flat_map(|one| one["pairs"].as_array().unwrap());
    let mut seen = 0;
    for pair in all.filter(|pair| OTHERWISE.contains(&pair["code"].as_str().unwrap())) {
        let notes = pair["semantics"].as_array().unwrap();
        assert!(notes.iter().any(|note| note["code"] == "differs"), "{pair:#}");
        seen += 1;
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn a_run_that_has_nothing_in_common_with_a_publication_says_so_in_one_line() {
    let run =
        RunRecord { engine: Some("postgres".into()), name: Some("mine".into()), ..fixture::run() };
    let own = RunTests { run, tests: Vec::new() };
    for language in [Language::English, Language::German] {
        let reference = publications::input(&["dl380-bm"]).runs.pop();
        let input = Input { runs: vec![own.clone()], reference, language, ..Input::default() };
        let summary = REPORTS.iter().find(|report| report.name() == "summary").unwrap();
        let text = FORMATS.iter().find(|format| format.name() == "text").unwrap();
        let page = rendered(*text, &summary.build(&input), Options::plain(200));
        let said = match language {
            Language::German => "Keine Zahl von mine hat eine Entsprechung in dl380-bm.",
            _ => "No figure of mine has a counterpart in dl380-bm.",
        };
        assert!(page.contains(said), "{page}");
    }
}

#[test]
fn reports_of_runs_of_both_kinds_pair_their_figures() {
    let desk = publications::desk();
    desk.run("run sqlite --workload T612 --jobs 1 --ops 50 --size 0.01 --name mine --quiet").ok();
    // Whatever others do on the machine meanwhile: so short a window may be invalid.
    let connection = rusqlite::Connection::open(desk.path("results.db")).unwrap();
    let calm = "update test set verdict = 'valid', reasons = '[]' where run_id = (select max(id) \
                from run)";
    assert_eq!(connection.execute(calm, []).unwrap(), 1);
    drop(connection);
    for kind in ["heatmap", "summary", "html", "compare"] {
        let line = match kind {
            "compare" => "compare mine dl380-bm".to_string(),
            kind => format!("report {kind} mine dl380-bm --format markdown"),
        };
        let page = desk.run(&line).ok().stdout;
        assert!(page.contains("Figures paired: 2") && page.contains("T612"), "{line}: {page}");
    }
}
