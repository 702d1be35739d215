//! Reports of published runs by the command line: workbook, prices, language, and what is wrong in
//! them.

use std::fs;

use crate::publications;
use crate::support::WINDOW;

#[test]
fn published_runs_have_a_workbook_prices_and_a_summary() {
    let desk = publications::desk();
    let book = desk.path("book.xlsx");
    desk.run(&format!("report workbook dl580-bm dl380-bm --output {}", book.display())).ok();
    assert!(fs::read(&book).unwrap().starts_with(b"PK"), "a workbook is a zip file");

    let price = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/prices/exadata-x2-2-dbserver.toml");
    let costs = desk
        .run(&format!("report price exadata-x2-2-dbserver --price {price} --format json"))
        .ok()
        .json();
    let rows = costs["sections"][0]["tables"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.last().unwrap()[7], 552_000.0);

    let page = desk.path("german.html");
    desk.run(&format!(
        "report summary exadata-x2-2-dbserver --language de --output {}",
        page.display()
    ))
    .ok();
    assert!(std::fs::read_to_string(page).unwrap().contains("<html lang=\"de\">"));
    let summary = desk
        .run(&format!("report summary exadata-x2-2-dbserver --price {price} --language de"))
        .ok();
    let words = summary.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("braucht 6 Lizenzen und kostet 552.000 USD"), "{words}");
}

#[test]
fn a_report_that_would_not_show_the_baseline_refuses_it() {
    let desk = publications::desk();
    desk.run(&format!("run {WINDOW} --quiet --name mine")).ok();
    desk.run(&format!("run {WINDOW} --quiet --name other")).ok();
    let refused = |line: &str, words: &[&str]| {
        let done = desk.run(&format!("report {line}")).fails(2, &["--baseline"]);
        assert_eq!(done.stderr.lines().count(), 1, "{line}: {}", done.stderr);
        assert!(words.iter().all(|word| done.stderr.contains(word)), "{line}: {}", done.stderr);
    };
    for kind in ["kpm", "anonymized", "catalog", "ab-test", "test mine:1"] {
        refused(&format!("{kind} --baseline other"), &["no place for it", "html, datasheet"]);
    }
    refused("datasheet mine --baseline other", &["as text does not show it", "--format html"]);
    refused("datasheet mine --baseline dl380-bm", &["as text does not show it"]);
    refused("heatmap mine --baseline other --format html", &["as html does not show it"]);
    refused("html mine other --baseline other", &["of several runs does not show it"]);
    let shown = |line: &str| desk.run(&format!("report {line}")).ok().stdout;
    for kind in ["html", "datasheet"] {
        let page = shown(&format!("{kind} mine --baseline other --format html"));
        assert!(page.contains("Platform fingerprint"), "{kind}");
    }
    for line in ["html --format text", "heatmap", "summary", "datasheet --format html"] {
        let (kind, form) = line.split_once(' ').unwrap_or((line, ""));
        let text = shown(&format!("{kind} mine --baseline dl380-bm {form}"));
        assert!(text.contains("dl380-bm"), "{line}: {text}");
    }
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let desk = publications::desk();
    desk.run("report summary dl380-bm --language fr").fails(2, &["language", "choose en or de"]);
    desk.run("report price dl380-bm --price missing.toml")
        .fails(2, &["missing.toml", "docs/price.md"]);
    let price = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/prices/exadata-x2-2-dbserver.toml");
    desk.run(&format!("report price dl380-bm --price {price}"))
        .fails(2, &["'exadata-x2-2-dbserver' is not one of the runs"]);
    let wrong = desk.path("wrong.toml");
    fs::write(&wrong, "cores = 12\ncurrency = \"USD\"\ndate = \"2013\"\ncolour = 1\n").unwrap();
    let place = format!("{}:4", wrong.display());
    desk.run(&format!("report price dl380-bm --price {}", wrong.display()))
        .fails(2, &[&place, "colour"]);
}
