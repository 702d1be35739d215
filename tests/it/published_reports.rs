//! Reports of published runs: what the source does not print is unknown, not 0.

use dbdyno::report::compare::CompareReport;
use dbdyno::report::document::Block;
use dbdyno::report::picture::Picture;
use dbdyno::report::{FORMATS, Input, Options, REPORTS, Report, RunTests, run_json};
use serde_json::Value;

use crate::{fixture, heatmaps, reports};

/// The run of this platform of OraBench 2016.
fn platform(name: &str) -> Input {
    let mut input = heatmaps::input();
    input.runs.retain(|data| data.run.name.as_deref() == Some(name));
    input
}

fn datasheet(input: &Input) -> Value {
    let report = REPORTS.iter().find(|report| report.name() == "datasheet").unwrap();
    let json = FORMATS.iter().find(|format| format.name() == "json").unwrap();
    serde_json::from_str(&reports::rendered(*json, &report.build(input), Options::default()))
        .unwrap()
}

fn kpms(datasheet: &Value) -> &Value {
    let tables = datasheet["sections"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|section| section["tables"].as_array());
    tables.flatten().find(|table| table["name"] == "kpm").unwrap()
}

/// Cells of the column in the row of this code.
fn cell<'a>(table: &'a Value, code: &str, column: &str) -> &'a Value {
    let columns = table["columns"].as_array().unwrap();
    let at = columns.iter().position(|known| known["name"] == column).unwrap();
    let rows = table["rows"].as_array().unwrap();
    &rows.iter().find(|row| row[0].as_str().unwrap().contains(&format!("({code})"))).unwrap()[at]
}

#[test]
fn a_datasheet_makes_up_no_jobs_and_no_throughput() {
    let datasheet = datasheet(&platform("ibm-e870"));
    let table = kpms(&datasheet);
    let jobs: Vec<&Value> = table["rows"].as_array().unwrap().iter().map(|row| &row[6]).collect();
    assert!(!jobs.is_empty() && jobs.iter().all(|jobs| jobs.as_f64() != Some(0.0)), "{jobs:?}");
    let speed_only = ["Speed", "Throughput"].map(|column| cell(table, "T616", column));
    assert_eq!(speed_only, [&Value::from(10.0), &Value::Null], "the study prints a speed only");
    let notes = table["footnotes"].to_string();
    assert!(notes.contains("the source states a speed only"), "{notes}");
}

#[test]
fn a_datasheet_of_a_publication_says_what_is_known_of_how_it_was_made() {
    let text = FORMATS.iter().find(|format| format.name() == "text").unwrap();
    let report = REPORTS.iter().find(|report| report.name() == "datasheet").unwrap();
    let page = reports::rendered(*text, &report.build(&platform("ibm-e870")), Options::plain(100));
    assert!(
        !page.contains("not ended")
            && !page.contains("seed 0")
            && !page.contains("data set unknown"),
        "{page}"
    );
}

#[test]
fn a_rate_that_is_not_printed_is_null() {
    let data = &platform("ibm-e870").runs[0];
    let document = run_json::document(&data.run, &data.tests);
    let of_code = |test: &&Value| test["asked_as"] == "T151";
    let timed = document["tests"].as_array().unwrap().iter().find(of_code).unwrap();
    assert_eq!(
        (&timed["throughput"], &timed["per_job"], &timed["unit"]),
        (&Value::Null, &Value::Null, &"ops/s".into())
    );
}

#[test]
fn what_a_publication_does_not_print_is_said_so_and_nothing_else() {
    let text = FORMATS.iter().find(|format| format.name() == "text").unwrap();
    for name in ["datasheet", "kpm"] {
        let report = REPORTS.iter().find(|report| report.name() == name).unwrap();
        let page =
            reports::rendered(*text, &report.build(&platform("ibm-e870")), Options::plain(400));
        assert!(page.contains("the source does not print it"), "{page}");
        for ours in [
            "op was completed",
            "too few",
            "no test at one job",
            "not known here",
            "measured at one number",
        ] {
            assert!(!page.contains(ours), "{name} says '{ours}' of a publication:\n{page}");
        }
    }
}

#[test]
fn printed_figures_have_the_digits_of_the_source() {
    let report = REPORTS.iter().find(|report| report.name() == "published").unwrap();
    let text = FORMATS.iter().find(|format| format.name() == "text").unwrap();
    let input = platform("ibm-e870");
    let page = reports::rendered(*text, &report.build(&input), Options::plain(400));
    let values: Vec<f64> = input.runs[0]
        .tests
        .iter()
        .flat_map(|test| &test.published().unwrap().published.figures)
        .map(|figure| figure.value)
        .collect();
    let whole = values.iter().filter(|value| value.fract() == 0.0).count();
    assert!(whole > 20 && !page.contains(".0  "), "whole numbers are printed whole:\n{page}");
}

#[test]
fn a_test_without_an_op_says_so() {
    let mut test = fixture::tests().remove(0);
    (test.window.ops, test.kpm_value) = (0, None);
    let input = Input {
        runs: vec![RunTests { run: fixture::run(), tests: vec![test.into()] }],
        ..reports::input()
    };
    let report = REPORTS.iter().find(|report| report.name() == "kpm").unwrap();
    let text = FORMATS.iter().find(|format| format.name() == "text").unwrap();
    let page = reports::rendered(*text, &report.build(&input), Options::plain(200));
    assert!(page.contains("no op was completed in the window"), "{page}");
    assert!(!page.contains("the counter of the KPM"), "{page}");
}

#[test]
fn a_comparison_of_many_publications_answers_first_and_has_no_accidental_base() {
    let input = heatmaps::input();
    assert!(input.runs.len() > 2);
    let page = CompareReport.build(&input).page.unwrap();
    let said = page.head.answer_in_words();
    assert!(said.starts_with("Throughput") && said.contains("is ahead in"), "{said}");
    assert!(said.contains("geometric mean") && said.contains("Speed (one job)"), "{said}");
    assert!(page.head.shares.is_empty(), "what has no interval is not undecided, but printed");
    let titles: Vec<&str> = page.parts.iter().map(|part| part.title.as_str()).collect();
    let place = |title: &str| titles.iter().position(|known| *known == title).unwrap();
    let order = ["Share of the best", "Throughput", "What differs", "Each against the first"];
    let places = order.map(place);
    assert!(places.is_sorted(), "{titles:?}");
    let pairs = &page.parts[places[3]].folds;
    assert_eq!(pairs.len(), input.runs.len() - 1);
    assert!(pairs.iter().all(|fold| !fold.is_open));
    // One table for all: a fact is not told once for every pair.
    let [Picture::Blocks(blocks)] = page.parts[places[2]].pictures.as_slice() else { panic!() };
    let [Block::Table(table)] = blocks.as_slice() else { panic!("{blocks:?}") };
    assert_eq!(table.columns.len(), input.runs.len() + 3);
    let facts: Vec<_> = table.rows.iter().map(|row| (&row[0], &row[1])).collect();
    for (at, fact) in facts.iter().enumerate() {
        assert!(!facts[..at].contains(fact), "{fact:?} stands twice");
    }
}
