//! Reports of the fixture run in every form, against files that people have read.

use std::fs;
use std::path::PathBuf;

use dbdyno::catalog::{Catalog, Form, Group};
use dbdyno::report::document::Code;
use dbdyno::report::{
    Color, Document, FORMATS, Format, Input, Language, Options, REPORTS, Report, RunTests,
    Statements, Subject, run_json,
};

use serde_json::json;

use crate::fixture;

/// Reports of runs of a kind of their own, which `studies` reads.
const STUDIES: [&str; 5] = ["layers", "interference", "sweep", "recall", "failover"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub fn input() -> Input {
    let of = |form, id, title| Group { form, ..Group::new(id, title) };
    let groups = vec![
        of(None, "CPU", "the database's own language"),
        of(Some(Form::Queries), "SRV", "server: cached SQL"),
        of(Some(Form::Transactions), "TP", "transactions"),
        of(Some(Form::Reads), "STO", "STO"),
    ];
    let runs = vec![RunTests { run: fixture::run(), tests: fixture::as_tests(fixture::tests()) }];
    Input { runs, groups, key_settings: dbdyno::engine::key_settings(), ..Input::default() }
}

pub fn rendered(format: &dyn Format, document: &Document, options: Options) -> String {
    format.render(document, options).unwrap().into_text().unwrap()
}

/// Compares with `tests/golden/<name>`; on a difference writes `<name>.got` beside it.
/// UPDATE_GOLDEN=1 rewrites.
pub fn golden(name: &str, actual: &str) -> Result<(), String> {
    let path = root().join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, actual).unwrap();
    }
    if fs::read_to_string(&path).is_ok_and(|expected| expected == actual) {
        return Ok(());
    }
    fs::write(path.with_file_name(format!("{name}.got")), actual).unwrap();
    Err(format!("tests/golden/{name} differs: see {name}.got"))
}

/// Input of a report on this subject.
fn input_for(subject: Subject) -> Input {
    match subject {
        Subject::Runs | Subject::AbTest => input(),
        Subject::Tests => one_test(),
        Subject::Catalog => small_catalog(),
    }
}

/// The conditional test, with a plan that holds its claims and its SQL.
pub fn one_test() -> Input {
    let (mut run, test) = (fixture::run(), fixture::tests().remove(3));
    run.plan = json!({"selections": [{
        "workload": test.workload, "hash": test.hash,
        "contract": [
            {"what": "physical_reads", "per": "logical_reads", "max": "0.02", "because": "not cached"},
        ],
        "crosscheck": [{"what": "commits", "equals": "commits", "because": "commits are missing"},
                       {"what": "index_scans", "equals": "ops", "because": "lookups are missing"}],
        "sql": [{"caption": "each op, prepared", "sql": "select *\nfrom small\nwhere id < $1"}],
    }]})
    .into();
    Input {
        runs: vec![RunTests { run, tests: vec![test.into()] }],
        command: "dbdyno report test 7:4".into(),
        ..input()
    }
}

/// A catalog of one workload and one suite.
fn small_catalog() -> Input {
    let catalog = Catalog::only_dir(&root().join("tests/fixtures/catalog")).unwrap();
    let statements = |engine: &str, sql| Statements {
        workload: "MINE-REGION".into(),
        engine: engine.into(),
        drive: "client".into(),
        sql,
    };
    let code = Code {
        caption: "each op".into(),
        text: "select count(*) from mine where region < 7".into(),
    };
    let statements = vec![
        statements("sqlite", Ok(vec![code])),
        statements("other", Err("it has no regions".into())),
    ];
    Input { catalog, statements, ..Input::default() }
}

/// Forms with lines that people read; not of the page, whose parts are reports of their own, nor of
/// reports whose own tests have the runs that they are about.
fn has_golden(report: &dyn Report, format: &dyn Format) -> bool {
    let has_tests_of_its_own = STUDIES.contains(&report.name())
        || report.own_command().is_some()
        || report.subject() == Subject::AbTest;
    !has_tests_of_its_own
        && report.format() == "text"
        && (format.is_text() || format.name() == "html")
}

/// A page without the parts that are the same in every page.
pub fn without_assets(page: &str) -> String {
    let report = root().join("crates/dbdyno-report");
    let assets = ["assets/report.js", "assets/report.css", "src/format/html/symbols.svg"];
    assets.iter().fold(page.to_string(), |page, name| {
        page.replace(&fs::read_to_string(report.join(name)).unwrap(), name)
    })
}

#[test]
fn every_report_in_every_form_is_as_it_was_read() {
    let mut differences = Vec::new();
    for report in REPORTS {
        let formats: Vec<&dyn Format> =
            FORMATS.iter().copied().filter(|format| has_golden(*report, *format)).collect();
        if formats.is_empty() {
            continue;
        }
        let built = |language| report.build(&Input { language, ..input_for(report.subject()) });
        let (for_people, for_programs) = (built(Language::English), built(Language::Programs));
        for format in formats {
            let document = if format.is_for_programs() { &for_programs } else { &for_people };
            let name = format!("{}.{}", report.name(), format.name());
            let text = without_assets(&rendered(format, document, Options::plain(120)));
            differences.extend(golden(&name, &text).err());
            if format.name() == "text" {
                let narrow = rendered(format, document, Options::plain(80));
                differences.extend(golden(&format!("{}.80.text", report.name()), &narrow).err());
            }
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

#[test]
fn text_keeps_to_its_width() {
    let text = FORMATS.iter().find(|format| format.name() == "text").unwrap();
    for report in REPORTS {
        let document = report.build(&input_for(report.subject()));
        for width in [80, 100, 120, 200] {
            let text = rendered(*text, &document, Options::plain(width));
            let too_long = text.lines().find(|line| line.chars().count() > width);
            assert_eq!(too_long, None, "{} at {width}", report.name());
        }
    }
}

#[test]
fn color_changes_nothing_but_color() {
    let text = FORMATS.iter().find(|format| format.name() == "text").unwrap();
    let document = REPORTS[0].build(&input());
    let plain = rendered(*text, &document, Options::plain(100));
    let mut colored =
        rendered(*text, &document, Options { color: Color::Indexed, ..Options::plain(100) });
    assert_ne!(plain, colored);
    for code in ["\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[33m"] {
        colored = colored.replace(code, "");
    }
    assert_eq!(plain, colored);
}

#[test]
fn a_run_without_tests_or_without_runs_has_a_report() {
    let bare =
        Input { runs: vec![RunTests { run: fixture::run(), tests: vec![] }], ..Input::default() };
    for input in [bare, Input::default()] {
        for report in REPORTS {
            let document = report.build(&input);
            for format in FORMATS.iter().filter(|format| format.is_text()) {
                assert!(!rendered(*format, &document, Options::default()).contains("NaN"));
            }
        }
    }
}

#[test]
fn rows_have_as_many_cells_as_the_table_has_columns() {
    for report in REPORTS {
        let json = FORMATS.iter().find(|format| format.name() == "json").unwrap();
        let built = report.build(&input_for(report.subject()));
        let document = rendered(*json, &built, Options::default());
        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        if STUDIES.contains(&report.name()) {
            assert!(document["studies"].is_array(), "{document:#}");
        }
        if let Some(data) = built.data {
            assert_eq!(document, data, "{} has a structure of its own", report.name());
            continue;
        }
        let tables = document["sections"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|section| section["tables"].as_array().unwrap());
        for table in tables {
            let columns = table["columns"].as_array().unwrap().len();
            let rows = table["rows"].as_array().unwrap();
            assert!(
                !rows.is_empty() && rows.iter().all(|row| row.as_array().unwrap().len() == columns)
            );
        }
    }
}

#[test]
fn the_document_of_a_run_is_valid_against_its_schema() {
    let schema = fs::read_to_string(root().join("docs/schema/run.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    let document = run_json::document(&fixture::run(), &fixture::as_tests(fixture::tests()));
    let errors: Vec<String> =
        validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut wrong = document.clone();
    wrong["tests"][0]["throughput"] = "fast".into();
    assert!(!validator.is_valid(&wrong));
    let mut further = document.clone();
    further["tests"][0]["surprise"] = 1.into();
    assert!(!validator.is_valid(&further));
}

#[test]
fn the_document_of_a_run_gives_the_figures() {
    let document = run_json::document(&fixture::run(), &fixture::as_tests(fixture::tests()));
    let test = &document["tests"][2];
    assert_eq!(
        (&document["run_id"], &test["workload"], &test["unit"]),
        (&7.into(), &"SRV-QUERY1".into(), &"qps".into())
    );
    assert_eq!(test["throughput"], 158_230.5);
    assert_eq!(test["per_job"], 79_115.25);
    let time = &document["tests"][7];
    assert_eq!(
        (&time["unit"], &time["throughput"], &time["kpm"]["unit"]),
        (&"tps".into(), &1950.0.into(), &"ms".into())
    );
    assert_eq!(document["tests"][8]["errors"], 113);
    assert_eq!(document["tests"][8]["verdict"]["reasons"][0]["code"], "errors");
    assert_eq!(document["tests"][8]["metrics"]["log_sync_ms"], serde_json::Value::Null);
    assert!(document["tests"][8]["unknown"]["log_sync_ms"].as_str().is_some());
}
