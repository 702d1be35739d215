//! One figure has one value, one verdict and one interval, whatever report shows it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;

use dbdyno::model::{Reason, ReasonCode, RunRecord, RunStatus, Status, TestResult, Verdict};
use dbdyno::monitor::baseline::MeasuredPlatform;
use dbdyno::monitor::rates::Rate;
use dbdyno::report::RunTests;
use dbdyno::report::ab_test::{AB_TEST, SIDE};
use dbdyno::store::Store;
use serde_json::{Value, json};

use crate::fixture::{self, RampPoint};
use crate::serve::Served;
use crate::support::Desk;

/// Reports whose tables hold figures of runs.
const REPORTS: [&str; 8] =
    ["kpm", "datasheet", "heatmap", "ramp", "scaling", "html", "workbook", "anonymized"];

/// A workload's repetitions at a number of jobs: rates in ops per second, and which of them were
/// disturbed.
struct Point {
    workload: &'static str,
    group: &'static str,
    jobs: u32,
    rates: [f64; 5],
    disturbed: &'static [usize],
}

/// Calm ones, a wild repetition, a disturbed one, a best that is disturbed in all repetitions, one
/// that is hardly known, and a best that is disturbed beside one that is hardly known.
const POINTS: [Point; 12] = [
    point("CPU-NUMBER", "CPU", 1, [100.0, 101.0, 99.0, 100.5, 99.5], &[]),
    point("CPU-NUMBER", "CPU", 2, [196.0, 199.0, 201.0, 200.0, 203.0], &[]),
    point("SRV-QUERY1", "SRV", 1, [5000.0, 5100.0, 4900.0, 5050.0, 2500.0], &[]),
    point("SRV-QUERY1", "SRV", 2, [9000.0, 9100.0, 8800.0, 9300.0, 9050.0], &[1, 3]),
    point("SRV-SCAN", "SRV", 1, [700.0, 710.0, 690.0, 705.0, 700.0], &[]),
    point("SRV-SCAN", "SRV", 2, [1400.0, 1300.0, 1350.0, 1380.0, 1420.0], &[0, 1, 2, 3, 4]),
    point("STO-RANDOM", "STO", 1, [60.0, 20.0, 180.0, 540.0, 90.0], &[]),
    point("STO-RANDOM", "STO", 2, [6000.0, 6100.0, 6050.0, 5900.0, 5950.0], &[]),
    point("TP-LIGHT", "TP", 1, [1400.0, 1410.0, 1420.0, 1390.0, 1405.0], &[0, 1]),
    point("TP-LIGHT", "TP", 2, [1395.0, 1400.0, 1410.0, 1415.0, 1380.0], &[]),
    point("TP-MEDIUM", "TP", 1, [900.0, 600.0, 1500.0, 400.0, 1900.0], &[]),
    point("TP-MEDIUM", "TP", 2, [3000.0, 3010.0, 2990.0, 3005.0, 2995.0], &[0, 1, 2, 3, 4]),
];

const fn point(
    workload: &'static str,
    group: &'static str,
    jobs: u32,
    rates: [f64; 5],
    disturbed: &'static [usize],
) -> Point {
    Point { workload, group, jobs, rates, disturbed }
}

fn tests(slower: f64) -> Vec<TestResult> {
    let mut found = Vec::new();
    for at in 0..5 {
        for point in &POINTS {
            let seq = found.len() as u32 + 1;
            let rate = slower * point.rates[at];
            let of_ramp = RampPoint::tps(point.workload, point.group, point.jobs, rate);
            let one = fixture::test(seq, &of_ramp);
            let mut test = TestResult { ci_fraction: None, ci_freedom: None, ..one };
            if point.disturbed.contains(&at) {
                let reason = Reason::new(Status::Conditional, ReasonCode::Steal, "stolen");
                test.verdict = Verdict::from_reasons(vec![reason]);
            }
            found.push(test);
        }
    }
    found
}

/// A results file with the runs `base` and `other`, which is a tenth slower: the sides of an A/B
/// test.
fn desk() -> Desk {
    static WRITTEN: OnceLock<Desk> = OnceLock::new();
    let written = WRITTEN.get_or_init(|| {
        let desk = Desk::new();
        add_run(&desk, "base", 1.0, &[(AB_TEST, "1"), (SIDE, "A")]);
        add_run(&desk, "other", 0.9, &[(AB_TEST, "1"), (SIDE, "B")]);
        desk
    });
    written.copy()
}

fn add_run(desk: &Desk, name: &str, slower: f64, labels: &[(&str, &str)]) {
    let mut run = RunRecord { name: Some(name.into()), ..fixture::run() };
    run.labels.extend(labels.iter().map(|(key, value)| (key.to_string(), value.to_string())));
    store_run(desk, &run, slower);
}

/// The run `elsewhere`: of another processor.
fn add_run_of_another_platform(desk: &Desk) {
    let mut run = RunRecord { name: Some("elsewhere".into()), ..fixture::run() };
    run.disclosure.set("hardware", "cpu_model", "another processor");
    store_run(desk, &run, 0.8);
}

fn store_run(desk: &Desk, run: &RunRecord, slower: f64) {
    let mut store = Store::open(&desk.path("results.db")).unwrap();
    let id = store.begin_run(run).unwrap();
    tests(slower).iter().for_each(|test| store.save_test(id, test).unwrap());
}

/// Cost of the platform by its price list.
const COST: f64 = 1200.0;

/// The list as a file.
fn price_list(desk: &Desk) -> String {
    let path = desk.path("prices.toml");
    let list = format!(
        "cores = 2\ncurrency = \"EUR\"\ndate = \"2026-01-01\"\n[[product]]\nname = \
         \"Server\"\nprice = {COST}\nper = \"platform\"\n"
    );
    std::fs::write(&path, list).unwrap();
    path.display().to_string()
}

/// Statements of a report about a figure; absent where it has none.
#[derive(Debug, Clone, Default)]
struct Said {
    #[expect(dead_code, reason = "shown where two reports contradict each other")]
    by: String,
    value: Option<f64>,
    verdict: Option<String>,
    low: Option<f64>,
    high: Option<f64>,
    jobs: Option<f64>,
}

/// Statements of all reports, by figure: a workload at a number of jobs, or its best.
#[derive(Default)]
struct Sayings(BTreeMap<String, Vec<Said>>);

impl Sayings {
    fn add(&mut self, figure: String, said: Said) {
        self.0.entry(figure).or_default().push(said);
    }

    /// The figures of which two reports say different things.
    fn contradictions(&self) -> Vec<String> {
        let differs = |a: &Said, b: &Said| {
            let numbers = [(a.value, b.value), (a.low, b.low), (a.high, b.high), (a.jobs, b.jobs)];
            let is_other = |(a, b): (Option<f64>, Option<f64>)| {
                a.zip(b).is_some_and(|(a, b)| (a / b - 1.0).abs() > 1e-6)
            };
            let verdicts = a.verdict.as_ref().zip(b.verdict.as_ref());
            numbers.into_iter().any(is_other) || verdicts.is_some_and(|(a, b)| a != b)
        };
        let mut found = Vec::new();
        for (figure, said) in &self.0 {
            for (at, one) in said.iter().enumerate() {
                let other = said[..at].iter().find(|other| differs(one, other));
                found.extend(other.map(|other| format!("{figure}: {one:?} but {other:?}")));
            }
        }
        found
    }
}

/// A table of a report: its rows by the names of its columns.
fn rows(table: &Value) -> Vec<BTreeMap<String, Value>> {
    let columns: Vec<String> = table["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["name"].as_str().unwrap().to_string())
        .collect();
    let row = |row: &Value| {
        let cells = row.as_array().unwrap().iter().cloned();
        // Of columns with one name the first.
        columns.iter().cloned().zip(cells).rev().collect()
    };
    table["rows"].as_array().unwrap().iter().map(row).collect()
}

fn tables(document: &Value) -> Vec<Value> {
    let sections = document["sections"].as_array().unwrap();
    sections.iter().flat_map(|one| one["tables"].as_array().unwrap().clone()).collect()
}

/// Without the parameters and codes that some reports add.
fn workload(label: &str) -> &str {
    label.split(' ').next().unwrap_or_default()
}

fn listen(report: &str, document: &Value, sayings: &mut Sayings) {
    for table in tables(document) {
        let name = table["name"].as_str().unwrap();
        listen_to_rows(&format!("{report} {name}"), name, rows(&table), sayings);
    }
}

/// Adds what the rows of a table, by the names of its columns, say about figures.
fn listen_to_rows(by: &str, name: &str, rows: Vec<BTreeMap<String, Value>>, sayings: &mut Sayings) {
    for row in rows {
        let number = |column: &str| row.get(column).and_then(Value::as_f64);
        let text = |column: &str| row.get(column).and_then(Value::as_str).map(String::from);
        let Some(label) = text("Workload").or_else(|| text("Series")) else { continue };
        let at = |jobs: Option<f64>| jobs.map(|jobs| format!("{} at {jobs}", workload(&label)));
        let best = format!("best {}", workload(&label));
        let said = |value: Option<f64>| Said {
            by: by.into(),
            value,
            verdict: text("Verdict"),
            low: number("low"),
            high: number("high"),
            jobs: None,
        };
        let total = row.keys().find(|column| {
            column.ends_with(" total") && !column.contains("reads") && !column.contains("Phys")
        });
        let total = total.and_then(|column| number(column));
        if let (Some(figure), Some(value)) = (at(number("Jobs")), total) {
            sayings.add(figure, said(Some(value)));
        } else if row.contains_key("Scaling") {
            let all = Said { verdict: None, jobs: number("Jobs"), ..said(number("Throughput")) };
            sayings.add(best, all);
        } else if let Some(cost) = number("Cost per unit") {
            sayings.add(best.clone(), said(number("Throughput")));
            sayings.add(best, said(Some(COST / cost)));
        } else if row.contains_key("Best jobs") {
            sayings.add(best, Said { jobs: number("Best jobs"), ..said(number("Best")) });
        } else if row.contains_key("base jobs") && name == "throughput" {
            let of_run = Said {
                verdict: text("base verdict"),
                low: number("base low"),
                high: number("base high"),
                jobs: number("base jobs"),
                ..said(number("base"))
            };
            sayings.add(best, of_run);
        } else if let (Some(figure), Some(value)) = (at(number("Jobs")), number("Throughput")) {
            let is_drawn = row.contains_key("Series") && label == "measured";
            let label = if is_drawn { name.rsplit(' ').next().unwrap_or_default() } else { "" };
            let figure = match is_drawn {
                true => format!("{label} at {}", number("Jobs").unwrap_or_default()),
                false => figure,
            };
            sayings.add(figure, said(Some(value)));
        }
    }
}

/// Adds what the JSON of a run says about its figures.
fn listen_to_run(run: &Value, sayings: &mut Sayings) {
    for figure in run["figures"].as_array().unwrap() {
        let name = figure["workload"].as_str().unwrap();
        let said = Said {
            by: "run".into(),
            value: figure["value"].as_f64(),
            verdict: figure["verdict"]["status"].as_str().map(String::from),
            low: figure["low"].as_f64(),
            high: figure["high"].as_f64(),
            jobs: None,
        };
        match figure["kind"].as_str().unwrap() {
            "at-jobs" => {
                sayings.add(format!("{name} at {}", figure["jobs"].as_f64().unwrap()), said)
            }
            "throughput" => {
                let jobs = figure["jobs"].as_f64();
                sayings.add(format!("best {name}"), Said { jobs, ..said });
            }
            _ => {}
        }
    }
}

#[test]
fn no_figure_has_two_values_verdicts_intervals_or_bests() {
    let desk = desk();
    let mut sayings = Sayings::default();
    for report in REPORTS {
        let document = desk.run(&format!("report {report} base --format json")).ok().json();
        listen(report, &document, &mut sayings);
    }
    let prices = price_list(&desk);
    let priced = desk.run(&format!("report price base --price {prices} --format json")).ok().json();
    listen("price", &priced, &mut sayings);
    let sides = desk.run("report ab-test base --format json").ok().json();
    for row in sides["figures"].as_array().unwrap() {
        let name = row["subject"]["workload"].as_str().unwrap();
        let said = Said {
            by: "ab-test".into(),
            value: row["base"].as_f64(),
            verdict: row["base_verdict"].as_str().map(String::from),
            ..Said::default()
        };
        sayings.add(format!("{name} at {}", row["jobs"].as_f64().unwrap()), said);
    }
    let run = desk.run("results show base --format json").ok().json();
    listen_to_run(&run, &mut sayings);
    // Of one platform at common numbers of jobs; of two at the best of each.
    add_run_of_another_platform(&desk);
    let of_platforms = desk.run("compare base elsewhere --format json").ok().json();
    let compared = desk.run("compare base other --format json").ok().json();
    let value_of = |row: &Value| Said {
        by: "compare".into(),
        value: row["base"].as_f64(),
        verdict: row["base_verdict"].as_str().map(String::from),
        ..Said::default()
    };
    for row in compared["equal_jobs"].as_array().unwrap() {
        let name = row["workload"].as_str().unwrap();
        sayings.add(format!("{name} at {}", row["jobs"].as_f64().unwrap()), value_of(row));
    }
    let pairs = [&compared, &of_platforms];
    for row in pairs.iter().flat_map(|pair| pair["kpms"].as_array().unwrap()) {
        if row["kind"] == "throughput" {
            let name = row["workload"].as_str().unwrap();
            let said = Said { jobs: row["base_jobs"].as_f64(), ..value_of(row) };
            sayings.add(format!("best {name}"), said);
        }
    }
    let counts: BTreeMap<&str, usize> =
        sayings.0.iter().map(|(figure, said)| (figure.as_str(), said.len())).collect();
    assert_eq!(
        counts.len(),
        18,
        "six workloads at two numbers of jobs and their bests: {counts:?}"
    );
    assert!(counts.values().all(|count| *count >= 7), "{counts:?}");
    assert_eq!(sayings.contradictions(), Vec::<String>::new());
}

/// A figure in a card of a page: workload, value in three digits, verdict.
#[derive(Debug, PartialEq)]
struct Card {
    workload: String,
    value: f64,
    verdict: String,
}

/// The text of the first element that is opened so, without the tags in it.
fn text_of(part: &str, opening: &str, end: &str) -> Option<String> {
    let (_, rest) = part.split_once(opening)?;
    let inner = rest.split_once(end)?.0;
    let mut pieces = inner.split('<');
    let first = pieces.next().unwrap_or_default().to_string();
    let texts = pieces.filter_map(|piece| Some(piece.split_once('>')?.1));
    Some(texts.fold(first, |text, more| text + more))
}

/// `1.69 M` as a number.
fn number_shown(text: &str) -> f64 {
    let (number, suffix) = text.split_once('\u{202f}').unwrap_or((text, ""));
    let scale = match suffix.trim() {
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => 1.0,
    };
    scale * number.trim().replace(',', "").parse::<f64>().unwrap()
}

/// The figures of the cards of a page: the headline of each, and the lines below it.
fn cards(page: &str) -> Vec<Card> {
    let mut found = Vec::new();
    for part in page.split("<article class=\"card\">").skip(1) {
        let part = part.split_once("</article>").map_or(part, |(card, _)| card);
        let big = text_of(part, "<p class=\"big\">", " <span>").unwrap();
        found.push(Card {
            workload: text_of(part, "<p class=\"what\"><strong>", "</strong>").unwrap(),
            value: number_shown(&big),
            verdict: text_of(part, "<span class=\"verdict ", "</span>")
                .and_then(|text| Some(text.rsplit_once('>')?.1.to_string()))
                .unwrap(),
        });
        for line in part.split("<li>").skip(1) {
            found.push(Card {
                workload: text_of(line, "<span class=\"label\">", "</span>").unwrap(),
                value: number_shown(&text_of(line, "<span class=\"value\">", " <span").unwrap()),
                verdict: text_of(line, "aria-label=\"", "\"").unwrap(),
            });
        }
    }
    found
}

#[test]
fn cards_of_pages_have_the_figure_and_the_verdict_that_the_run_tells() {
    let desk = desk();
    let run = desk.run("results show base --format json").ok().json();
    let is_best = |figure: &&Value| figure["kind"] == "throughput";
    let bests: Vec<&Value> = run["figures"].as_array().unwrap().iter().filter(is_best).collect();
    let served = Served::start(&desk, "", None);
    let file = |report: &str| {
        let path = desk.path(&format!("{report}.html"));
        desk.run(&format!("report {report} base --output {}", path.display())).ok();
        std::fs::read_to_string(path).unwrap()
    };
    let pages =
        [("html", file("html")), ("summary", file("summary")), ("serve", served.page("/run/1"))];
    let mut told = Vec::new();
    for (name, page) in &pages {
        let cards = cards(page);
        told.push(cards.len());
        for card in &cards {
            // The tiles of the summary have names for deciders in place of workloads.
            let is_named = |best: &Value| {
                card.workload.is_empty() || best["workload"] == workload(&card.workload)
            };
            let is_told = |best: &&Value| {
                is_named(best)
                    && best["verdict"]["status"] == card.verdict.as_str()
                    && (card.value / best["value"].as_f64().unwrap() - 1.0).abs() < 6e-3
            };
            assert!(bests.iter().any(is_told), "{name}: {card:?} in {bests:#?}");
        }
    }
    assert_eq!(told[0], POINTS.len() / 2, "every workload has a card or a line in one");
    assert_eq!(told[2], told[0]);
    assert!(told[1] > 0, "{told:?}");
}

/// The texts of the cells of a row of a page.
fn cells(row: &str) -> Vec<String> {
    let cell = |part: &str| {
        let text = part.split_once('>').map_or("", |(_, rest)| rest);
        text.split('<').next().unwrap_or_default().to_string()
    };
    row.split("<td").skip(1).map(cell).collect()
}

/// The tables of a page that hold figures: the texts of the cells of each row by their heads.
fn html_rows(page: &str) -> Vec<BTreeMap<String, String>> {
    let mut found = Vec::new();
    for table in page.split("<table class=\"sortable").skip(1) {
        let table = table.split("</table>").next().unwrap();
        let (head, body) = table.split_once("</thead>").unwrap();
        let name = |part: &str| {
            let text = part.split_once('>').map_or("", |(_, rest)| rest);
            text.split('<').next().unwrap_or_default().trim().to_string()
        };
        let names: Vec<String> = head.split("<th ").skip(1).map(name).collect();
        for row in body.split("<tr>").skip(1) {
            // Of columns with one name the first.
            found.push(names.iter().cloned().zip(cells(row)).rev().collect());
        }
    }
    found
}

/// The value of a figure as it is printed, and the verdict by its mark.
fn read_mark(shown: &str) -> (f64, &'static str) {
    let verdict = match shown.chars().last() {
        Some('?') => "conditional",
        Some('!') => "invalid",
        _ => "valid",
    };
    (shown.replace([',', '?', '!', '*'], "").parse().unwrap(), verdict)
}

#[test]
fn tables_of_a_page_have_the_figure_and_the_verdict_that_the_run_tells() {
    let desk = desk();
    let run = desk.run("results show base --format json").ok().json();
    let figures = run["figures"].as_array().unwrap();
    let path = desk.path("page.html");
    desk.run(&format!("report html base --output {}", path.display())).ok();
    let page = std::fs::read_to_string(path).unwrap();
    let mut told = 0;
    for row in html_rows(&page) {
        let names = ["Workload", "Throughput", "Jobs"];
        let [Some(label), Some(shown), Some(jobs)] =
            names.map(|name| row.get(name).filter(|text| !text.is_empty()))
        else {
            continue;
        };
        // The verdict of a row is the worst of its figures; the mark is the figure's own.
        let (shown, verdict) = read_mark(shown);
        let is_told = |figure: &&Value| {
            figure["workload"] == workload(label)
                && figure["jobs"].as_f64() == jobs.parse::<f64>().ok()
                && figure["verdict"]["status"] == verdict
                && (shown / figure["value"].as_f64().unwrap() - 1.0).abs() < 1e-3
        };
        assert!(figures.iter().any(|figure| is_told(&figure)), "{row:?} in {figures:#?}");
        told += 1;
    }
    assert!(told >= POINTS.len() / 2, "{told}");
}

#[test]
fn capacity_answers_by_the_bests_that_the_run_tells() {
    let desk = desk();
    let run = desk.run("results show base --format json").ok().json();
    let figures = run["figures"].as_array().unwrap();
    let (mut valid, mut doubtful) = (0, 0);
    for best in figures.iter().filter(|figure| figure["kind"] == "throughput") {
        let name = best["workload"].as_str().unwrap();
        let mut command = desk.command("capacity base --format json");
        command.args(["--requirement", &format!("{name} 1 tps")]);
        let done = crate::support::finished(command, "capacity");
        let told: Value = serde_json::from_str(&done.stdout).unwrap();
        let need = &told["platforms"][0]["needs"][0];
        let known = |key: &str| need["most"][key].as_f64();
        if !need["most_verdict"].is_null() {
            assert_eq!(need["most_verdict"], best["verdict"]["status"], "{name}: {need:#}");
        }
        if best["verdict"]["status"] == "valid" {
            assert_eq!(known("value"), best["value"].as_f64(), "{name}: {need:#} but {best:#}");
            assert_eq!(need["most_jobs"], best["jobs"], "{name}");
            for end in ["low", "high"] {
                let (one, other) = (known(end).unwrap(), best[end].as_f64().unwrap());
                assert!((one / other - 1.0).abs() < 1e-9, "{name}: {need:#} but {best:#}");
            }
            valid += 1;
        } else if let Some(times) = need["doubtful_times"].as_f64() {
            // Of 1 tps it fits as many times as it has tps.
            assert!((times / best["value"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{need:#}");
            assert_eq!(need["doubtful_jobs"], best["jobs"], "{name}");
            doubtful += 1;
        }
    }
    assert!(valid > 0 && valid + doubtful <= POINTS.len() / 2, "{valid} {doubtful}");
}

#[test]
fn an_ab_test_has_the_figures_and_the_verdicts_that_its_runs_tell() {
    let desk = desk();
    let figures = ["base", "other"].map(|name| {
        let run = desk.run(&format!("results show {name} --format json")).ok().json();
        run["figures"].as_array().unwrap().clone()
    });
    let path = desk.path("sides.html");
    desk.run(&format!("report ab-test base --output {}", path.display())).ok();
    let page = std::fs::read_to_string(path).unwrap();
    let mut told = 0;
    for row in html_rows(&page) {
        let [Some(label), Some(jobs)] = ["Workload", "Jobs"].map(|name| row.get(name)) else {
            continue;
        };
        for (side, figures) in ["A", "B"].iter().zip(&figures) {
            let (shown, verdict) = read_mark(&row[*side]);
            let is_told = |figure: &&Value| {
                figure["kind"] == "at-jobs"
                    && figure["workload"] == workload(label)
                    && figure["jobs"].as_f64() == jobs.parse::<f64>().ok()
                    && figure["verdict"]["status"] == verdict
                    && (shown / figure["value"].as_f64().unwrap() - 1.0).abs() < 1e-3
            };
            assert!(figures.iter().any(|figure| is_told(&figure)), "{side}: {row:?} {figures:#?}");
            told += 1;
        }
    }
    assert_eq!(told, 2 * POINTS.len());
}

#[test]
fn a_monitor_measures_against_the_figure_that_the_run_tells() {
    let desk = desk();
    let run = desk.run("results show base --format json").ok().json();
    let store = Store::open(&desk.path("results.db")).unwrap();
    let record = store.run("base").unwrap();
    let tests = store.tests(record.id).unwrap();
    let data = RunTests::new(record, tests);
    let (now, peak) = (1.0, 1.0);
    let mut rates = [Rate { id: "commits", title: "", unit: "tps", now, peak, against: None }];
    MeasuredPlatform::from_tests(&data.tests, None).cover(&mut rates, None);
    let covered = rates[0].against.as_ref().unwrap();
    // An op of these tests commits once. The seconds of other points tell nothing of a counter, so
    // that what is far off is judged by its own repetitions alone.
    let is_told = |figure: &&Value| {
        figure["kind"] == "at-jobs"
            && figure["workload"] == covered.workload.as_str()
            && figure["jobs"] == covered.jobs
            && figure["verdict"]["status"] == covered.status.to_string()
            && (covered.measured / figure["value"].as_f64().unwrap() - 1.0).abs() < 5e-3
    };
    let figures = run["figures"].as_array().unwrap();
    assert!(figures.iter().any(|figure| is_told(&figure)), "{covered:?} in {figures:#?}");
}

/// A sheet of a workbook: the texts of the cells of its rows by number of the row, in the order of
/// the columns, each with the letters of its column.
type Sheet = BTreeMap<u32, Vec<(String, String)>>;

/// The sheets of a workbook as they stand in the file, without what a spreadsheet makes of them.
fn sheets(path: &Path) -> Vec<Sheet> {
    let mut book = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    let count = book
        .file_names()
        .filter(|name| name.as_ref().is_ok_and(|name| name.starts_with("xl/worksheets/sheet")));
    let count = count.count();
    let mut part = |name: &str| std::io::read_to_string(book.by_name(name).unwrap()).unwrap();
    let texts = part("xl/sharedStrings.xml");
    let texts: Vec<String> = texts
        .split("<si>")
        .skip(1)
        .map(|one| text_of(one, "<t", "</t>").unwrap().trim_start_matches('>').to_string())
        .collect();
    let cell = |cell: &str| {
        let value = text_of(cell, "<v>", "</v>")?;
        let place = cell.split('"').nth(1)?.trim_end_matches(|c: char| c.is_ascii_digit());
        Some((
            place.to_string(),
            match cell.contains("t=\"s\"") {
                true => texts[value.parse::<usize>().unwrap()].clone(),
                false => value,
            },
        ))
    };
    let mut sheet = |number: usize| -> Sheet {
        let sheet = part(&format!("xl/worksheets/sheet{number}.xml"));
        let row = |row: &str| {
            let number = row.split('"').nth(1).unwrap().parse().unwrap();
            (number, row.split("<c ").skip(1).filter_map(cell).collect::<Vec<_>>())
        };
        sheet.split("<row ").skip(1).map(row).collect()
    };
    (1..=count).map(&mut sheet).collect()
}

/// The tables of a sheet whose rows are about workloads: their rows by the names of the columns.
fn tables_of_sheet(sheet: &Sheet) -> Vec<Vec<BTreeMap<String, Value>>> {
    let mut found: Vec<Vec<BTreeMap<String, Value>>> = Vec::new();
    let mut head: Option<(u32, BTreeMap<&str, &str>)> = None;
    for (number, cells) in sheet {
        let is_head = cells.len() > 3 && cells.iter().any(|(_, text)| text == "Workload");
        if is_head {
            let name = |text: &str| text.split(" [").next().unwrap_or_default().len();
            let names = cells.iter().map(|(at, text)| (at.as_str(), &text[..name(text)]));
            head = Some((*number, names.collect()));
            found.push(Vec::new());
            continue;
        }
        let Some((last, names)) = head.as_mut().filter(|(last, _)| *last + 1 == *number) else {
            continue;
        };
        // Notes below a table are one text each.
        if cells.len() < 3 {
            head = None;
            continue;
        }
        *last = *number;
        let mut row = BTreeMap::new();
        for (at, text) in cells {
            let Some(name) = names.get(at.as_str()) else { continue };
            let value = text.parse::<f64>().map_or_else(|_| json!(text), |number| json!(number));
            // Of columns with one name the first.
            row.entry(name.to_string()).or_insert(value);
        }
        found.last_mut().unwrap().push(row);
    }
    found
}

/// A workbook of these runs, and its sheets.
fn workbook(desk: &Desk, runs: &str) -> Vec<Sheet> {
    let path = desk.path("book.xlsx");
    desk.run(&format!("report workbook {runs} --output {}", path.display())).ok();
    sheets(&path)
}

#[test]
fn every_sheet_of_the_workbook_has_the_figures_that_the_run_tells() {
    let desk = desk();
    let mut sayings = Sayings::default();
    for (number, sheet) in workbook(&desk, "base").iter().enumerate() {
        for table in tables_of_sheet(sheet) {
            listen_to_rows(&format!("sheet {}", number + 1), "", table, &mut sayings);
        }
    }
    let run = desk.run("results show base --format json").ok().json();
    listen_to_run(&run, &mut sayings);
    let counts: BTreeMap<&str, usize> =
        sayings.0.iter().map(|(figure, said)| (figure.as_str(), said.len())).collect();
    assert_eq!(counts.len(), 18, "each figure stands in a sheet: {counts:?}");
    assert!(counts.values().all(|count| *count >= 2), "{counts:?}");
    assert_eq!(sayings.contradictions(), Vec::<String>::new());
}

#[test]
fn the_first_sheet_of_the_workbook_has_the_answer_and_the_figures() {
    let desk = desk();
    let run = desk.run("results show base --format json").ok().json();
    let book = workbook(&desk, "base");
    let tables = tables_of_sheet(&book[0]);
    let bests = run["figures"].as_array().unwrap().iter();
    for best in bests.filter(|figure| figure["kind"] == "throughput") {
        let row = row_of(&tables[0], best["workload"].as_str().unwrap(), None);
        let value = best["value"].as_f64().unwrap();
        assert!((row["Throughput"].as_f64().unwrap() / value - 1.0).abs() < 1e-9, "{row:?} {best}");
        // The verdict of a row is the worst of its figures.
        let verdicts = ["valid", "conditional", "invalid"];
        let place = |word: &Value| verdicts.iter().position(|verdict| *word == *verdict).unwrap();
        assert!(place(&row["Verdict"]) >= place(&best["verdict"]["status"]), "{row:?} {best:#}");
    }
}

/// The row of a workload, of speed or throughput if there is one for each.
fn row_of<'a>(
    table: &'a [BTreeMap<String, Value>],
    name: &str,
    kind: Option<&str>,
) -> &'a BTreeMap<String, Value> {
    let is_own = |row: &&BTreeMap<String, Value>| {
        row["Workload"].as_str().is_some_and(|label| workload(label) == name)
            && kind.is_none_or(|kind| row["Kind"] == kind)
    };
    table.iter().find(is_own).unwrap_or_else(|| panic!("no {name} in {table:#?}"))
}

#[test]
fn the_first_sheet_of_several_runs_has_the_answer_and_the_figures_side_by_side() {
    let desk = desk();
    add_run(&desk, "third", 0.5, &[]);
    let bests = ["base", "other", "third"].map(|name| {
        let run = desk.run(&format!("results show {name} --format json")).ok().json();
        let figures = run["figures"].as_array().unwrap().iter();
        figures.filter(|figure| figure["kind"] == "throughput").cloned().collect::<Vec<_>>()
    });
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let page = |runs: &str| {
        let path = desk.path("compared.html");
        desk.run(&format!("compare {runs} --output {}", path.display())).ok();
        let page = std::fs::read_to_string(path).unwrap();
        let untagged = page.split('<').filter_map(|part| Some(part.split_once('>')?.1));
        words(&untagged.collect::<String>())
    };
    for (runs, names) in [
        ("base other", vec!["Base", "Other"]),
        ("base other third", vec!["base", "other", "third"]),
    ] {
        let book = workbook(&desk, runs);
        let tables = tables_of_sheet(&book[0]);
        for (column, bests) in names.iter().zip(&bests) {
            for best in bests {
                let name = best["workload"].as_str().unwrap();
                let row = row_of(&tables[0], name, Some("throughput"));
                let value = best["value"].as_f64().unwrap();
                let shown = row[*column].as_f64().unwrap();
                assert!((shown / value - 1.0).abs() < 1e-9, "{column}: {row:?} but {best:#}");
            }
        }
        // The answer stands below the title: the lines up to the counts of verdicts.
        let lines = book[0].values().skip(1).map(|cells| cells[0].1.as_str());
        let lines: Vec<&str> = lines.take_while(|line| !line.contains(" valid, ")).collect();
        let answer = words(&lines.join(" "));
        assert!(answer.len() > 20 && page(runs).contains(&answer), "{runs}: {answer}");
    }
}

#[test]
fn a_history_has_the_figure_and_the_interval_that_the_run_tells() {
    let desk = desk();
    let run = desk.run("results show base --format json").ok().json();
    let served = Served::start(&desk, "", None);
    let mut told = 0;
    for figure in run["figures"].as_array().unwrap() {
        let Some(low) = figure["low"].as_f64().filter(|_| figure["kind"] == "at-jobs") else {
            continue;
        };
        let (name, jobs) = (figure["workload"].as_str().unwrap(), &figure["jobs"]);
        let page = served.page(&format!("/history?workload={name}&jobs={jobs}"));
        let row = page
            .split("<tr>")
            .map(cells)
            .find(|cells| cells.get(1).is_some_and(|run| run.contains("(base)")));
        let row = row.unwrap_or_else(|| panic!("no row of the run in {page}"));
        let shown: Vec<f64> = row[3..6]
            .iter()
            .map(|text| text.replace([',', '?', '!'], "").parse().unwrap())
            .collect();
        let known = [figure["value"].as_f64().unwrap(), low, figure["high"].as_f64().unwrap()];
        for (shown, known) in shown.iter().zip(known) {
            assert!((shown / known - 1.0).abs() < 1e-3, "{name} at {jobs}: {row:?}, {known}");
        }
        told += 1;
    }
    assert_eq!(told, 12, "{run:#}");
}

/// Codes of reasons that lower a figure, and no test of it.
const OF_FIGURES: [&str; 2] = ["wide", "passed-over"];

#[test]
fn what_lowers_figures_of_valid_tests_stands_on_every_head_and_in_the_summary() {
    let desk = desk();
    let run = desk.run("results show base --format json").ok().json();
    let figures = run["figures"].as_array().unwrap();
    let is_main =
        |figure: &&Value| ["speed", "throughput"].contains(&figure["kind"].as_str().unwrap());
    let is_lowered = |figure: &&Value| {
        let reasons = figure["verdict"]["reasons"].as_array().unwrap();
        figure["verdict"]["status"] == "conditional"
            && reasons.iter().all(|reason| OF_FIGURES.contains(&reason["code"].as_str().unwrap()))
    };
    let names = |figures: &mut dyn Iterator<Item = &Value>| -> BTreeSet<String> {
        figures.map(|figure| format!("{} {}", figure["workload"], figure["jobs"])).collect()
    };
    let all = names(&mut figures.iter().filter(is_main));
    let lowered = names(&mut figures.iter().filter(is_main).filter(is_lowered));
    assert!(lowered.len() > 1, "{figures:#?}");
    let said =
        format!("Not valid although their tests are: {} of {} figures", lowered.len(), all.len());
    let page = |report: &str| {
        let path = desk.path(&format!("{report}.html"));
        desk.run(&format!("report {report} base --output {}", path.display())).ok();
        std::fs::read_to_string(path).unwrap().replace("<strong>", "").replace("</strong>", "")
    };
    for report in ["html", "kpm", "ramp", "summary"] {
        let page = page(report);
        assert!(page.contains(&said), "{report}: {said}: {page}");
        // The sheet for deciders has the answer only.
        let tells_why = page.contains("a lower bound: the better figure");
        assert!(tells_why || report == "summary", "{report}: {page}");
    }
}

#[test]
fn a_run_that_was_interrupted_says_so_wherever_it_is_shown() {
    let desk = desk();
    let mut store = Store::open(&desk.path("results.db")).unwrap();
    let cut =
        RunRecord { name: Some("cut".into()), status: RunStatus::Interrupted, ..fixture::run() };
    let id = store.begin_run(&cut).unwrap();
    tests(1.0).iter().for_each(|test| store.save_test(id, test).unwrap());
    let said = format!("interrupted after {} tests", tests(1.0).len());
    for line in ["report html cut", "report kpm cut", "report summary cut", "report html base cut"]
    {
        let path = desk.path("cut.html");
        desk.run(&format!("{line} --output {}", path.display())).ok();
        let page = std::fs::read_to_string(path).unwrap();
        assert!(page.contains(&said), "{line}: {page}");
    }
}
