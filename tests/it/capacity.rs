//! `capacity`: its report in every form, and the command with its exit codes and mistakes.

use dbdyno::analysis::capacity::Need;
use dbdyno::analysis::price::PriceList;
use dbdyno::model::{RunRecord, Test, TestResult};
use dbdyno::report::capacity::CapacityReport;
use dbdyno::report::{FORMATS, Input, Language, Options, Report, RunTests};
use dbdyno::store::Store;
use serde_json::json;

use crate::fixture;
use crate::languages::mistakes_of;
use crate::publications;
use crate::reports::{golden, input, rendered, without_assets};
use crate::support::{Desk, Done, finished};

const LIGHT: &str = "TP-LIGHT 900 tps update_pct=20 p99<5ms";
const QUERY: &str = "SRV-QUERY1 70000 qps";

/// The run of the fixture beside one with a third of its figures and a quarter of its cores; prices
/// of both.
fn two_platforms() -> Input {
    let third = |mut test: TestResult| {
        test.kpm_value = test.kpm_value.map(|value| value / 3.0);
        test
    };
    let mut other = RunTests { run: fixture::run(), tests: fixture::as_tests(slower(third)) };
    (other.run.id, other.run.name) = (8, Some("other".into()));
    other.run.disclosure.set("hardware", "cores", "1");
    let text = std::fs::read_to_string("examples/prices/exadata-x2-2-dbserver.toml").unwrap();
    let price = |name: &str, cores| PriceList {
        platform: Some(name.into()),
        cores,
        ..PriceList::parse(&text).unwrap()
    };
    let mut input = input();
    input.runs.push(other);
    let needs = [LIGHT, QUERY].map(|need| Need::parse(need).unwrap()).to_vec();
    Input { needs, prices: vec![price("nightly", 12.0), price("other", 3.0)], ..input }
}

fn slower(change: impl Fn(TestResult) -> TestResult) -> Vec<TestResult> {
    fixture::tests().into_iter().map(change).collect()
}

#[test]
fn the_answer_in_every_form_is_as_it_was_read() {
    let mut differences = Vec::new();
    for format in FORMATS.iter().filter(|format| format.is_text() || format.name() == "html") {
        let language = match format.is_for_programs() {
            true => Language::Programs,
            false => Language::English,
        };
        let document = CapacityReport.build(&Input { language, ..two_platforms() });
        let text = without_assets(&rendered(*format, &document, Options::plain(120)));
        differences.extend(golden(&format!("capacity.{}", format.name()), &text).err());
    }
    let german = CapacityReport.build(&Input { language: Language::German, ..two_platforms() });
    let markdown = FORMATS.iter().find(|format| format.name() == "markdown").unwrap();
    let text = rendered(*markdown, &german, Options::default());
    assert_eq!(mistakes_of(&text, &two_platforms()), Vec::<String>::new(), "{text}");
    differences.extend(golden("capacity.de", &text).err());
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

#[test]
fn sentences_have_the_digits_that_the_table_has() {
    let mut input = Input { language: Language::English, ..two_platforms() };
    for price in &mut input.prices {
        (price.cores, price.core_factor) = (1.5, 1.0);
        price.products.truncate(1);
        price.products[0].price = 0.175;
    }
    let text_format = FORMATS.iter().find(|format| format.name() == "text").unwrap();
    let text = rendered(*text_format, &CapacityReport.build(&input), Options::plain(120));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "The smallest that fits: nightly, with 1.50 cores. The cheapest that fits: nightly, \
                for 0.35 USD with licenses.";
    assert!(words.contains(said), "{words}");
}

#[test]
fn of_published_platforms_the_smallest_that_fits_is_found_as_printed() {
    let mut input = publications::input(&["dl380-bm", "ibm-e870"]);
    let is_heap = |test: &Test| test.params().get("org").is_some_and(|org| org == "heap");
    let is_rate = |test: &&Test| {
        test.workload() == "SRV-QUERY1" && test.kpm_value().is_some() && is_heap(test)
    };
    let unit = input.runs[0].tests.iter().find(is_rate).unwrap().kpm().unit.clone();
    let most = |data: &RunTests| {
        let valid = data
            .tests
            .iter()
            .filter(is_rate)
            .filter(|test| test.status() == dbdyno::model::Status::Valid);
        valid.filter(|test| test.kpm().unit == unit).filter_map(Test::kpm_value).fold(0.0, f64::max)
    };
    let rates: Vec<f64> = input.runs.iter().map(most).collect();
    assert!(rates.iter().all(|rate| *rate > 0.0) && rates[0] != rates[1], "{rates:?}");
    let ask = |rate: f64, input: &mut Input| {
        input.needs = vec![Need::parse(&format!("SRV-QUERY1 {rate} {unit} org=heap")).unwrap()];
        CapacityReport.build(input).data.unwrap()
    };
    let both = ask(rates[0].min(rates[1]), &mut input);
    assert_eq!(both["platforms"][0]["outcome"], "fits", "{both:#}");
    assert_eq!(
        (&both["platforms"][1]["outcome"], &both["platforms"][0]["used"]["low"]),
        (&"fits".into(), &json!(null))
    );
    assert!(both["platforms"][0]["needs"][0]["drive"] == "database");
    input.needs[0].params.clear();
    let several =
        CapacityReport.build(&input).data.unwrap()["platforms"][0]["needs"][0]["why"].take();
    assert!(several.as_str().unwrap().contains("several parameters"), "{several}");
    let more = ask(rates[0].max(rates[1]), &mut input);
    let fitting = usize::from(rates[1] > rates[0]);
    assert_eq!(more["platforms"][fitting]["outcome"], "fits", "{more:#}");
    assert_ne!(more["platforms"][1 - fitting]["outcome"], "fits");
}

/// A results file with the run `a`.
fn desk() -> Desk {
    let desk = Desk::new();
    let mut store = Store::open(&desk.path("results.db")).unwrap();
    let id = store.begin_run(&RunRecord { name: Some("a".into()), ..fixture::run() }).unwrap();
    fixture::tests().iter().for_each(|test| store.save_test(id, test).unwrap());
    desk
}

fn capacity(desk: &Desk, needs: &[&str], line: &str) -> Done {
    let mut command = desk.command(&format!("capacity a {line}"));
    for need in needs {
        command.args(["--requirement", need]);
    }
    finished(command, "capacity")
}

#[test]
fn the_exit_code_tells_whether_it_fits() {
    let desk = desk();
    let done = capacity(&desk, &[LIGHT, QUERY], "--format json").ok().json();
    assert_eq!(
        (&done["platforms"][0]["outcome"], &done["smallest"]),
        (&"fits".into(), &json!(["a"]))
    );
    assert_eq!(done["platforms"][0]["needs"][0]["jobs"], 2, "{done:#}");
    let alias = capacity(&desk, &["T611 70000 qps"], "--format json").ok().json();
    assert_eq!(alias["needs"][0]["workload"], "SRV-QUERY1");
    // SRV-QUERY1 reached more, but only conditionally.
    let open = capacity(&desk, &["SRV-QUERY1 160500 qps"], "");
    let open = open.fails(1, &["--requirement", "a: fits 1.003 times by a conditional figure"]);
    let words = open.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let settled = "measure again to settle it: 'dbdyno run postgres --workload SRV-QUERY1 --jobs \
                   4 --repeat 5 --retry-disturbed'.";
    assert!(words.contains(settled) && words.contains("161,002 qps"), "{words}");
    let told = capacity(&desk, &["SRV-QUERY1 160500 qps"], "--format json").stdout;
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let platform = &told["platforms"][0];
    assert_eq!(platform["outcome"], "not-covered", "a doubt is no yes: {told:#}");
    assert!(platform["doubtful_times"].as_f64().unwrap() > 1.0, "{told:#}");
    assert_eq!(platform["doubtful_times"], platform["needs"][0]["doubtful_times"]);
    let file = desk.path("needs.toml");
    let text = "[[need]]\nworkload = \"TP-LIGHT\"\nrate = 100\nunit = \"tps\"\nparams = { \
                update_pct = 50 }\n";
    std::fs::write(&file, text).unwrap();
    capacity(&desk, &[], &format!("--requirements {}", file.display())).ok();
    std::fs::write(&file, text.replace("tps", "qps")).unwrap();
    capacity(&desk, &[], &format!("--requirements {}", file.display())).fails(1, &["not covered"]);
    std::fs::write(&file, text.replace("rate", "rat")).unwrap();
    capacity(&desk, &[], &format!("--requirements {}", file.display()))
        .fails(2, &["needs.toml:3", "rat"]);
}

#[test]
fn a_bad_need_is_one_line() {
    let desk = desk();
    for (need, words) in [
        ("", &["--requirement", "is not a need", "write WORKLOAD RATE UNIT"][..]),
        ("TP-LIGHT many tps", &["'many' is not a rate"]),
        ("TP-LIGTH 9 tps", &["--requirement", "TP-LIGTH", "did you mean TP-LIGHT"]),
        (
            "TP-LIGHT 9 tps updte_pct=4",
            &["TP-LIGHT has no parameter 'updte_pct'", "did you mean update_pct?"],
        ),
        ("TP-LIGHT 9 tps p98<5ms", &["not a valid SLO"]),
        ("\u{1b}[2J 9 tps", &["unknown workload"]),
    ] {
        let done = capacity(&desk, &[need], "").fails(2, words);
        assert_eq!((done.stdout.as_str(), done.stderr.lines().count()), ("", 1), "{}", done.stderr);
    }
    capacity(&desk, &[], "").fails(2, &["--requirement"]);
    capacity(&desk, &[], "--requirements /no/such.toml")
        .fails(2, &["/no/such.toml", "cannot be read"]);
    capacity(&desk, &[LIGHT], "nobody").fails(2, &["nobody"]);
    desk.run("capacity").fails(2, &["RUN"]);
}
