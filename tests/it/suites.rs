//! The published suites: their tests against the publications. `every_suite` runs them.

use std::collections::BTreeMap;

use dbdyno::catalog::SuiteEntry;
use dbdyno::model::rows::table_rows;
use dbdyno::model::{Expr, Ramp, Scale};
use serde_json::Value;

use crate::every_suite::PUBLISHED;
use crate::support::Desk;

fn tests(suite: &str) -> Vec<SuiteEntry> {
    let catalog = crate::support::catalog();
    catalog.suite_tests(catalog.suite(suite).unwrap()).unwrap()
}

/// Codes in their order, each once.
fn codes(tests: &[SuiteEntry]) -> Vec<&str> {
    let mut codes: Vec<&str> = tests.iter().filter_map(|test| test.code.as_deref()).collect();
    codes.dedup();
    codes
}

/// Published work per job by code, as the publications' own arithmetic gives it: (amount, unit).
fn work(tests: &[SuiteEntry]) -> BTreeMap<&str, (f64, &str)> {
    let of = |test: &'_ SuiteEntry| {
        Some((test.code.as_deref()?.to_string(), test.work.as_ref()?.amount))
    };
    let amounts: BTreeMap<String, f64> = tests.iter().rev().filter_map(of).collect();
    let unit =
        |test: &SuiteEntry| test.work.as_ref().map(|work| work.unit.clone()).unwrap_or_default();
    let named = tests.iter().filter(|test| test.work.is_some() && test.code.is_some());
    let units: BTreeMap<&str, String> =
        named.map(|test| (test.code.as_deref().unwrap(), unit(test))).collect();
    units.into_iter().map(|(code, unit)| (code, (amounts[code], &*unit.leak()))).collect()
}

#[test]
fn orabench_has_its_50_tests_in_8_classes_in_order() {
    let tests = tests("orabench");
    let per_class = ["T100", "T200", "T300", "T400", "T500", "T600", "T700", "T800"].map(|class| {
        let of_class: Vec<_> =
            tests.iter().filter(|test| test.class.as_deref() == Some(class)).cloned().collect();
        codes(&of_class).len() + of_class.iter().filter(|test| test.code.is_none()).count()
    });
    assert_eq!(per_class, [9, 1, 7, 8, 5, 12, 6, 2]);
    let mut sorted = codes(&tests);
    assert_eq!(sorted.len(), 43, "{sorted:?}");
    sorted.sort_unstable();
    assert_eq!(sorted, codes(&tests), "codes come in their order");
    let unnamed = tests
        .iter()
        .filter(|test| test.none.as_ref().is_some_and(|none| none.starts_with("not published")));
    assert_eq!(unnamed.count(), 11);
}

#[test]
fn the_quick_suite_is_what_it_says() {
    let catalog = crate::support::catalog();
    let suite = catalog.suite("quick").unwrap();
    let (mut groups, mut repeats) = (BTreeMap::new(), BTreeMap::new());
    for test in tests("quick") {
        let id = test.workload.as_deref().unwrap();
        let group = catalog.find(id).unwrap().entry.workload.group.clone();
        *groups.entry(group).or_insert(0) += 1;
        repeats.entry(test.repeat.or(suite.repeat)).or_insert_with(Vec::new).push(id.to_string());
    }
    assert!(suite.title.contains("one to four workloads of each group but CONN and VEC"));
    let absent = catalog.groups().iter().filter(|group| !groups.contains_key(&group.id));
    assert_eq!(absent.map(|group| group.id.as_str()).collect::<Vec<_>>(), ["VEC", "CONN"]);
    assert!(groups.values().all(|count| (1..=4).contains(count)), "{groups:?}");
    assert_eq!(repeats.keys().collect::<Vec<_>>(), [&Some(3), &Some(5), &Some(10)]);
    assert_eq!(repeats[&Some(5)], ["DBWR-EACH"]);
}

#[test]
fn the_work_per_job_is_that_of_the_publications() {
    let orabench = tests("orabench");
    let of = work(&orabench);
    for (code, amount) in
        [("T111", 1e9), ("T132", 20e6), ("T134", 200e6), ("T141", 30e6), ("T311", 125_000.0)]
    {
        assert_eq!(of[code].0, amount, "{code}");
    }
    for (code, amount) in
        [("T331", 16e6), ("T611", 65_536.0), ("T616", 4096.0), ("T621", 2_621_440.0)]
    {
        assert_eq!(of[code].0, amount, "{code}");
    }
    let benchware = tests("benchware");
    let of = work(&benchware);
    for (code, amount) in
        [("T141", 30e6), ("T132", 12.5e6), ("T611", 524_288.0), ("T621", 41_943_040.0)]
    {
        assert_eq!(of[code].0, amount, "{code}");
    }
    for (code, amount) in
        [("T721", 5_242_880.0), ("T331", 32e6), ("T616", 32_768.0), ("T311", 125_000.0)]
    {
        assert_eq!(of[code].0, amount, "{code}");
    }
}

#[test]
fn the_load_tests_fill_the_tables_of_the_publication() {
    let tests = tests("orabench");
    let inserted = |code: &str| -> f64 {
        let of_code = tests.iter().filter(|test| test.code.as_deref() == Some(code));
        of_code
            .map(|test| test.work.as_ref().unwrap().amount * jobs(test).iter().sum::<f64>())
            .sum()
    };
    assert_eq!(inserted("T311"), table_rows("small", 512.0) as f64);
    assert_eq!(inserted("T331"), table_rows("big", 512.0) as f64);
}

fn jobs(test: &SuiteEntry) -> Vec<f64> {
    let Ramp::Fixed(jobs) = test.jobs.as_ref().unwrap().on(Scale { cores: 1, nodes: 1 }).unwrap()
    else {
        panic!("a list")
    };
    jobs.into_iter().map(f64::from).collect()
}

#[test]
fn a_code_means_the_same_in_a_suite_and_on_the_command_line() {
    let catalog = crate::support::catalog();
    for suite in PUBLISHED {
        for test in tests(suite) {
            let (Some(code), Some(text)) = (&test.code, &test.workload) else { continue };
            let Ok(asked) = catalog.find(code) else { continue };
            let name = dbdyno::catalog::parse_selection(text).unwrap().name;
            let run = catalog.find(&name).unwrap();
            assert_eq!(run.entry.workload.id, asked.entry.workload.id, "{suite} {code}");
        }
    }
}

#[test]
fn the_work_of_an_op_is_what_its_workload_says() {
    let catalog = crate::support::catalog();
    for (suite, test) in ["orabench", "benchware"]
        .into_iter()
        .flat_map(|id| tests(id).into_iter().map(move |t| (id, t)))
    {
        let (Some(text), Some(work)) = (&test.workload, &test.work) else { continue };
        if work.unit == "operations" {
            assert_eq!(work.per_op, Expr("units".into()), "{suite} {}", test.label());
            let name = dbdyno::catalog::parse_selection(text).unwrap().name;
            assert_eq!(
                catalog.find(&name).unwrap().entry.workload.kpm.unit,
                "Mops",
                "{suite} {}",
                test.label()
            );
        }
    }
}

#[test]
fn what_has_a_workload_in_the_catalog_is_not_listed_as_missing() {
    for suite in PUBLISHED {
        for test in tests(suite).iter().filter(|test| test.none.is_some()) {
            let reason = test.none.as_deref().unwrap();
            let known = ["not published", "the methodology", "no engine here"];
            assert!(
                known.iter().any(|known| reason.starts_with(known)),
                "{suite} {}: {reason}",
                test.label()
            );
        }
    }
}

#[test]
fn benchware_and_peakmarks_list_every_published_name_in_order() {
    let expected = [
        "T141", "T132", "T133", "T421", "T611", "T621", "T426", "T211", "T626", "T721", "T331",
        "T332", "T512", "T616", "T311", "T716", "SRV-11", "SRV-21", "SRV-31", "DBL-11", "STO-41",
    ];
    assert_eq!(codes(&tests("benchware")), expected);
    let expected = [
        "SRV-QUERY1",
        "SRV-QUERY25",
        "SRV-REPORT",
        "SRV-SCAN",
        "SRV-MIXED",
        "DL-BUFFER",
        "TP-REPORT",
        "TP-LOOKUP",
        "TP-LIGHT",
        "TP-MEDIUM",
        "TP-HEAVY",
        "TP-MIXED1",
        "TP-MIXED2",
    ];
    assert_eq!(codes(&tests("peakmarks")), expected);
}

#[test]
fn standard_has_every_workload_once() {
    let catalog = crate::support::catalog();
    let ids: Vec<_> = catalog.workloads().map(|workload| workload.id.clone()).collect();
    let run: Vec<_> = tests("standard").into_iter().filter_map(|test| test.workload).collect();
    assert_eq!(run, ids);
    let mut full: Vec<_> = tests("full").into_iter().filter_map(|test| test.workload).collect();
    full.dedup();
    assert_eq!(full, ids);
}

#[test]
fn a_suite_is_shown_with_what_its_tests_correspond_to() {
    let desk = Desk::new();
    let shown = desk.run("show suite orabench --size 512 --format json").ok().json();
    let test = |code: &str| -> Value {
        shown["tests"].as_array().unwrap().iter().find(|test| test["code"] == code).unwrap().clone()
    };
    assert_eq!(
        test("T132")["ops_per_job"],
        5263,
        "20,000,000 operations in ops of 100 passes of 38"
    );
    assert_eq!(test("T311")["ops_per_job"], 62_500);
    assert_eq!(
        test("T422")["none"].as_str().map(|none| none.starts_with("not published")),
        Some(true)
    );
    assert_eq!(test("T621")["engines"]["postgres"], "yes");
    let text = desk.run("show suite orabench").ok().stdout;
    assert!(text.contains("125000 rows = 62500 ops") && text.contains("not sqlite ["), "{text}");
    let listed = desk.run("list suites --format json").ok().json();
    let of = |id: &str| {
        listed["suites"].as_array().unwrap().iter().find(|suite| suite["id"] == id).unwrap().clone()
    };
    assert_eq!(of("orabench")["entries"][0]["corresponds_to"], "CPU-LOOP");
    desk.run("show suite orabensh").fails(2, &["did you mean orabench"]);
    desk.run("run --suite orabench --time-scale 0")
        .fails(2, &["--time-scale: 0.0 is not a valid factor"]);
}
