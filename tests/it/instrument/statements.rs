//! Statements rest on sound figures only: stored runs with one bad input each, through every
//! report, form, comparison, A/B test and check of an exit code.
//!
//! A bad figure may be shown with its mark. So each run is rendered twice, with a small and with a
//! large value of that figure: whatever differs without a mark is a statement that rests on it (a
//! best, a rank, a color, a gain, a mean, a law, a finding). What names it must give the reason.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use dbdyno::analysis::capacity::Need;
use dbdyno::analysis::price::PriceList;
use dbdyno::analysis::slo_search::{self, SettledRate};
use dbdyno::analysis::sweep::{Tier, sweep};
use dbdyno::model::{
    Arrivals, LatencySummary, OfferedLoad, OpenLoop, Reason, ReasonCode, RunRecord, RunStatus,
    Sentence, Status, SustainedRate, SustainedState, Test, TestResult, Verdict,
};
use dbdyno::report::ab_test::TrialsReport;
use dbdyno::report::capacity::CapacityReport;
use dbdyno::report::compare::CompareReport;
use dbdyno::report::document::Outcome;
use dbdyno::report::{
    Document, FORMATS, Format, Input, Options, REPORTS, Report, RunTests, Subject,
};
use dbdyno::serve::Site;
use dbdyno::store::Store;

use oxhttp::model::{Body, Request};

use crate::fixture;
use crate::reports::{input, rendered};
use crate::support::{Desk, finished};

/// Place of the best throughput of SRV-QUERY1, and of the only test of LGWR-LAT, a time.
const BEST_OF_RAMP: usize = 3;
const TIME: usize = 7;
/// The report whose head says what a run is worth.
const PAGE: &str = "html";
/// Values of a bad figure, as multiples of the good one.
const SMALL: f64 = 0.001;
const LARGE: f64 = 1_000.0;
/// Of a conditional figure both below the valid ones of its ramp: that a better one exists is said
/// of the valid best, which is a lower bound then.
const CONDITIONAL_SMALL: f64 = 0.001;
const CONDITIONAL_LARGE: f64 = 0.4;

/// The tests of the fixture, all of them valid, and with a rate that lasts.
fn good() -> Vec<TestResult> {
    static GOOD: OnceLock<Vec<TestResult>> = OnceLock::new();
    GOOD.get_or_init(make_good).clone()
}

fn make_good() -> Vec<TestResult> {
    let valid = |test: TestResult| TestResult {
        verdict: Verdict::from_reasons(Vec::new()),
        ci_fraction: Some(0.0123),
        first_error: None,
        lasting: Some(SustainedRate {
            state: SustainedState::Accounted,
            pay_back_s: Some(2.0),
            kpm_value: test.kpm_value.map(|value| 0.8 * value),
        }),
        ..test
    };
    fixture::tests().into_iter().map(valid).collect()
}

/// Bad figures of a test.
#[derive(Clone)]
struct Bad {
    at: usize,
    status: Status,
    code: ReasonCode,
}

impl Bad {
    fn new(at: usize, status: Status, code: ReasonCode) -> Bad {
        Bad { at, status, code }
    }

    fn sentence(&self) -> String {
        format!("spoilt by {}", self.code)
    }

    fn verdict(&self) -> Verdict {
        let reason = Reason::new(self.status, self.code.clone(), Sentence::quoted(self.sentence()));
        Verdict::from_reasons(vec![reason])
    }

    /// The tests with this one spoilt: its figures are `factor` times the good ones.
    fn tests(&self, factor: f64) -> Vec<Test> {
        let mut tests = good();
        let test = &mut tests[self.at];
        test.verdict = self.verdict();
        test.kpm_value = test.kpm_value.map(|value| value * factor);
        test.second_value = test.second_value.map(|value| value * factor);
        for rate in [&mut test.ops_per_s, &mut test.units_per_s, &mut test.rows_per_s] {
            *rate *= factor;
        }
        let LatencySummary { mean_us, p50_us, p90_us, p95_us, p99_us, p999_us, max_us, .. } =
            &mut test.latency;
        let times = [mean_us, p50_us, p90_us, p95_us, p99_us, p999_us, max_us];
        let lasting = test.lasting.as_mut().map(|lasting| &mut lasting.kpm_value);
        for value in times.into_iter().chain(lasting) {
            *value = value.map(|value| value * factor);
        }
        fixture::as_tests(tests)
    }

    /// Multiples of the good figure that nothing may tell apart.
    fn factors(&self) -> [f64; 2] {
        match self.status {
            Status::Conditional => [CONDITIONAL_SMALL, CONDITIONAL_LARGE],
            _ => [SMALL, LARGE],
        }
    }
}

/// A run of the fixture by this name.
fn run(id: i64, name: &str) -> RunRecord {
    RunRecord { id, name: Some(name.into()), ..fixture::run() }
}

/// The spoilt run alone, or beside a good one that is a tenth slower.
fn spoilt(bad: &Bad, factor: f64, several: bool) -> Input {
    let mut runs = vec![RunTests { run: run(7, "spoilt"), tests: bad.tests(factor) }];
    if several {
        let slower = |test: TestResult| TestResult {
            kpm_value: test.kpm_value.map(|value| 0.9 * value),
            ..test
        };
        let tests = good().into_iter().map(slower).collect();
        runs.push(RunTests { run: run(8, "good"), tests: fixture::as_tests(tests) });
    }
    Input { runs, ..input() }
}

/// Lines that one text has and the other has not, without their spaces.
fn differences(a: &str, b: &str) -> Vec<String> {
    let lines = |text: &str| -> BTreeSet<String> {
        let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_rule = |line: &String| line.chars().all(|c| "-=| ".contains(c));
        text.lines().map(line).filter(|line| !is_rule(line)).collect()
    };
    let (a, b) = (lines(a), lines(b));
    a.symmetric_difference(&b).cloned().collect()
}

/// True if a line says that something of it is not to be trusted.
fn is_marked(line: &str) -> bool {
    const WORDS: [&str; 4] = ["invalid", "conditional", "not valid", "left out"];
    line.contains(['!', '?']) || WORDS.iter().any(|word| line.contains(word))
}

fn format(name: &str) -> &'static dyn Format {
    *FORMATS.iter().find(|format| format.name() == name).unwrap()
}

/// Statements of a report about a bad figure without a mark, in every form for programs and people;
/// and what the head of its page says.
fn unmarked_statements(report: &dyn Report, documents: [&Document; 2]) -> Vec<String> {
    let mut found = Vec::new();
    // The tables of the page are those of other reports.
    // Heads of columns break where figures are wide, so that the text for terminals is left out.
    let forms: &[&str] = if report.name() == PAGE { &[] } else { &["csv", "markdown"] };
    for name in forms {
        let [a, b] =
            documents.map(|document| rendered(format(name), document, Options::plain(400)));
        let lines = differences(&a, &b).into_iter().filter(|line| !is_marked(line));
        found.extend(lines.map(|line| format!("{} as {name}: {line}", report.name())));
    }
    let heads = documents.map(|document| {
        document.page.as_ref().map(|page| (page.head.answer.clone(), page.head.shares.clone()))
    });
    if heads[0] != heads[1] {
        found.push(format!("{}: head {:?}", report.name(), heads));
    }
    found
}

/// The reports of runs; those of a single test say its verdict first and nothing of others, and
/// that of `capacity` says nothing without a requirement.
fn reports() -> impl Iterator<Item = &'static dyn Report> {
    REPORTS
        .iter()
        .copied()
        .filter(|report| report.subject() == Subject::Runs)
        .filter(|report| report.format() == "text" || report.name() == PAGE)
        .filter(|report| report.own_command() != Some("capacity"))
}

#[test]
fn no_statement_of_any_report_changes_with_the_value_of_a_bad_figure() {
    use ReasonCode::{Burst, Contract, Errors, Steal};
    let mut found = Vec::new();
    // Each status, code, place and number of runs together with each of the others, not all of all.
    for (number, (status, code)) in [
        (Status::Invalid, Errors),
        (Status::Invalid, Contract),
        (Status::Conditional, Steal),
        (Status::Conditional, Burst),
    ]
    .into_iter()
    .enumerate()
    {
        for (at, several) in [(BEST_OF_RAMP, false), (TIME, true)] {
            let several = several != (number % 2 == 1);
            let bad = Bad::new(at, status, code.clone());
            let inputs = bad.factors().map(|factor| spoilt(&bad, factor, several));
            for report in reports() {
                let documents = inputs.each_ref().map(|input| report.build(input));
                let said = unmarked_statements(report, [&documents[0], &documents[1]]);
                found.extend(said.into_iter().map(|line| format!("{code} of {at}: {line}")));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_reason_is_named_and_keeps_its_figure_out_of_the_statements() {
    let kpm = REPORTS.iter().find(|report| report.name() == "kpm").unwrap();
    let mut found = Vec::new();
    // Of each code an invalid figure in one report, a conditional one in the other, by turns.
    for (number, code) in ReasonCode::ALL.iter().enumerate() {
        let by_turns = match number % 2 {
            0 => [Status::Invalid, Status::Conditional],
            _ => [Status::Conditional, Status::Invalid],
        };
        let spoilt_by = |status| Bad::new(BEST_OF_RAMP, status, code.clone());
        for (name, status) in ["summary", "heatmap"].into_iter().zip(by_turns) {
            let bad = spoilt_by(status);
            let inputs = bad.factors().map(|factor| spoilt(&bad, factor, true));
            let report = reports().find(|report| report.name() == name).unwrap();
            let documents = inputs.each_ref().map(|input| report.build(input));
            found.extend(unmarked_statements(report, [&documents[0], &documents[1]]));
        }
        let bad = spoilt_by(by_turns[0]);
        let document = kpm.build(&spoilt(&bad, 1.0, false));
        let text = rendered(format("text"), &document, Options::plain(400));
        assert!(text.contains(&bad.sentence()), "{code} is not named:\n{text}");
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Meanings of the colors of a page's elements, in the order of the page: that a figure is good,
/// bad, or the best.
fn colours(page: &str) -> Vec<&str> {
    let classes = page.split("class=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let is_heat = |word: &str| {
        word.strip_prefix('h').is_some_and(|rest| !rest.is_empty() && rest.parse::<u8>().is_ok())
    };
    let says = |word: &&str| ["better", "worse", "same", "best"].contains(word) || is_heat(word);
    classes.flat_map(str::split_whitespace).filter(says).collect()
}

#[test]
fn no_colour_of_a_page_changes_with_the_value_of_a_bad_figure() {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for bad in [
        Bad::new(BEST_OF_RAMP, Status::Invalid, ReasonCode::Contract),
        Bad::new(TIME, Status::Invalid, ReasonCode::Errors),
        Bad::new(BEST_OF_RAMP, Status::Conditional, ReasonCode::Steal),
        Bad::new(TIME, Status::Conditional, ReasonCode::Burst),
    ] {
        let wanted = [PAGE, "heatmap", "compare", "summary"];
        for several in [false, true] {
            let inputs = bad.factors().map(|factor| spoilt(&bad, factor, several));
            for report in reports().filter(|report| wanted.contains(&report.name())) {
                let pages = inputs.each_ref().map(|input| {
                    rendered(format("html"), &report.build(input), Options::default())
                });
                let [a, b] = pages.each_ref().map(|page| colours(page));
                seen.extend(a.iter().map(|word| word.to_string()));
                if a != b {
                    found.push(format!("{} of {}, several: {several}", report.name(), bad.code));
                }
            }
        }
    }
    assert!(["better", "best"].iter().all(|word| seen.contains(*word)), "{seen:?}");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A results file with the spoilt run, as run 1, and a good one.
fn store_spoilt(desk: &Desk, bad: &Bad, factor: f64) {
    let mut store = Store::open(&desk.path("results.db")).unwrap();
    for run in spoilt(bad, factor, true).runs {
        let id = store.begin_run(&run.run).unwrap();
        run.tests
            .iter()
            .filter_map(Test::measured)
            .for_each(|test| store.save_test(id, test).unwrap());
        store.finish_run(id, RunStatus::Finished).unwrap();
    }
}

/// The site tells of a change of a history only from sound figures, and its tables color none.
#[test]
fn no_page_of_the_site_says_more_of_a_bad_figure_than_its_mark() {
    let bad = Bad::new(BEST_OF_RAMP, Status::Invalid, ReasonCode::Contract);
    let pages = [SMALL, LARGE].map(|factor| {
        let desk = Desk::new();
        store_spoilt(&desk, &bad, factor);
        let catalog = crate::support::catalog();
        let place = desk.path("results.db");
        let site = Site::new(place.as_path(), catalog, Default::default(), None).unwrap();
        ["/", "/run/1", "/run/2", "/compare?run=1&run=2", "/history?workload=SRV-QUERY1&jobs=4"]
            .map(|path| {
                let request = Request::builder().uri(format!("http://127.0.0.1{path}"));
                let mut answer = site.answer(&request.body(Body::empty()).unwrap());
                assert_eq!(answer.status(), 200, "{path}");
                (path, std::mem::take(answer.body_mut()).to_string().unwrap())
            })
    });
    for ((path, a), (_, b)) in pages[0].iter().zip(&pages[1]) {
        assert_eq!(colours(a), colours(b), "{path}");
    }
    let list = pages.each_ref().map(|pages| pages[0].1.replace(|c: char| c.is_ascii_digit(), ""));
    assert_eq!(list[0], list[1], "the list of runs");
}

#[test]
fn no_bad_figure_makes_a_platform_fit() {
    for factor in [SMALL, LARGE] {
        let desk = Desk::new();
        let bad = Bad::new(BEST_OF_RAMP, Status::Invalid, ReasonCode::Contract);
        store_spoilt(&desk, &bad, factor);
        let mut command = desk.command("capacity spoilt");
        // A hundred times what its good figures are.
        command.args(["--requirement", "SRV-QUERY1 7000000 qps"]);
        let done = finished(command, "capacity");
        assert_eq!(done.code, Some(1), "{factor}: {done:#?}");
    }
}

#[test]
fn a_test_without_a_figure_is_never_a_zero() {
    let mut tests = good();
    let test = &mut tests[BEST_OF_RAMP];
    test.verdict = Bad::new(BEST_OF_RAMP, Status::Invalid, ReasonCode::Failed).verdict();
    (test.kpm_value, test.second_value, test.ci_fraction) = (None, None, None);
    (test.ops_per_s, test.units_per_s, test.window.ops, test.units) = (0.0, 0.0, 0, 0.0);
    test.latency = LatencySummary::default();
    let runs = vec![
        RunTests { run: run(7, "failed"), tests: fixture::as_tests(tests) },
        RunTests { run: run(8, "good"), tests: fixture::as_tests(good()) },
    ];
    let input = Input { runs, ..input() };
    for report in reports() {
        let text = rendered(format("text"), &report.build(&input), Options::plain(400));
        for line in text.lines().filter(|line| line.contains("SRV-QUERY1")) {
            let mut words = line.split_whitespace();
            let is_zero =
                words.any(|word| ["0", "0.0", "0.00", "x0.000", "0?", "0!"].contains(&word));
            let is_rate = line.contains("qps") && !line.contains("undecided");
            assert!(!(is_zero && is_rate) || is_marked(line), "{}: {line}", report.name());
        }
        assert!(!text.contains("NaN") && !text.contains("inf "), "{}: {text}", report.name());
    }
}

#[test]
fn comparisons_have_no_finding_from_a_bad_figure_and_fail_if_it_became_bad() {
    for at in [BEST_OF_RAMP, TIME] {
        let bad = Bad::new(at, Status::Invalid, ReasonCode::Contract);
        // Jobs 4 of the ramp is its best: as the only test of the workload it has no replacement.
        let only = |tests: Vec<Test>| -> Vec<Test> {
            let workload = tests[at].workload().to_string();
            let is_kept =
                |test: &Test| test.workload() != workload || test.jobs() == tests[at].jobs();
            tests.iter().filter(|test| is_kept(test)).cloned().collect()
        };
        let compared = |factor: f64, becomes_bad: bool| {
            let good = RunTests { run: run(7, "base"), tests: only(fixture::as_tests(good())) };
            let bad = RunTests { run: run(8, "other"), tests: only(bad.tests(factor)) };
            let runs = if becomes_bad { vec![good, bad] } else { vec![bad, good] };
            CompareReport.build(&Input { runs, fail_below: 0.05, ..input() })
        };
        for becomes_bad in [false, true] {
            let documents = bad.factors().map(|factor| compared(factor, becomes_bad));
            let data = documents.each_ref().map(|document| document.data.clone().unwrap());
            assert_eq!(data[0]["findings"], data[1]["findings"]);
            assert_eq!(data[0]["groups"], data[1]["groups"]);
            let failed = documents.each_ref().map(failed_cases);
            assert_eq!(failed[0], failed[1], "the value of a bad figure decides no exit code");
            assert_eq!(!failed[0].is_empty(), becomes_bad, "{failed:?}");
        }
    }
}

/// The cases by which `--fail-below` exits with 1.
fn failed_cases(document: &Document) -> Vec<String> {
    let cases = document.checks.iter().flat_map(|checks| &checks.cases);
    let failed = cases.filter(|(_, outcome)| matches!(outcome, Outcome::Failed(..)));
    failed.map(|(name, _)| name.clone()).collect()
}

/// An A/B test of so many blocks whose side B does half as much again; the trials of a side that
/// `is_bad` takes are spoilt.
fn ab_test(blocks: usize, bad: &Bad, is_bad: impl Fn(usize, usize) -> bool) -> Document {
    let kind = good().remove(1);
    let side = |side: usize, name: &str| {
        let trial = |block: usize| {
            let noise = 1.0 + 0.001 * (block * 7 % 12) as f64;
            let value = [100.0, 150.0][side] * noise;
            let verdict = match is_bad(side, block) {
                true => bad.verdict(),
                false => Verdict::from_reasons(Vec::new()),
            };
            let seq = block as u32 + 1;
            TestResult { seq, kpm_value: Some(value), verdict, ..kind.clone() }
        };
        let tests = (0..blocks).map(trial).collect();
        RunTests { run: run(7 + side as i64, name), tests: fixture::as_tests(tests) }
    };
    let runs = vec![side(0, "A"), side(1, "B")];
    let catalog = crate::support::catalog();
    TrialsReport.build(&Input { runs, fail_below: 0.05, catalog, ..Input::default() })
}

#[test]
fn an_ab_test_says_nothing_of_the_survivors_of_a_side_that_is_invalid() {
    for (status, code) in [
        (Status::Invalid, ReasonCode::Errors),
        (Status::Invalid, ReasonCode::Contract),
        (Status::Invalid, ReasonCode::Failed),
        // A few failed ops in a thousand: the survivors are those without.
        (Status::Conditional, ReasonCode::Errors),
    ] {
        let bad = Bad::new(1, status, code.clone());
        let figure = |document: &Document| document.data.as_ref().unwrap()["figures"][0].clone();
        let good = ab_test(24, &bad, |_, _| false);
        assert_eq!(
            (&figure(&good)["outcome"], &figure(&good)["verdict"]),
            (&"better".into(), &"valid".into())
        );
        for share in [1, 2, 4] {
            let of = |bad_side: usize| {
                ab_test(24, &bad, |side, block| side == bad_side && block.is_multiple_of(share))
            };
            for (side, document) in [(0, of(0)), (1, of(1))] {
                let figure = figure(&document);
                let said = (&figure["outcome"], figure["verdict"] == "valid");
                assert!(!said.1, "{code} in one of {share} blocks: {figure:#}");
                assert!(share > 2 || said.0 == "undecided", "{code}: {figure:#}");
                let fails = !failed_cases(&document).is_empty();
                assert!(fails == (side == 1) || share > 2, "{code} of side {side}: {figure:#}");
                let text = rendered(format("text"), &document, Options::plain(200));
                assert!(text.contains(&label(&code)), "{code} is not named:\n{text}");
            }
        }
        let both = ab_test(24, &bad, |_, _| true);
        assert_eq!(figure(&both)["verdict"], "invalid");
    }
}

#[test]
fn an_ab_test_whose_side_b_is_invalid_fails_what_asks_for_it() {
    let line = "ab-test sqlite sqlite --workload SRV-QUERY1 --jobs 1 --size 0.05 --duration 300ms \
                --warmup 200ms --set-b cache_mb=1 --fail-below 5% --max-duration 5s --quiet";
    let done = Desk::new().run(&format!("{line} --format json"));
    let done = done.fails(1, &["--fail-below", "became invalid", "SRV-QUERY1", "contract"]);
    assert_eq!(done.json()["figures"][0]["verdict"], "invalid");
}

/// A trial, of this kind of test, of a search for the highest rate with p99 below 5 ms.
fn trial(kind: &TestResult, per_s: f64, p99_us: f64, verdict: Verdict) -> Test {
    let slo = "p99<5ms".parse().ok();
    let offer = OfferedLoad { per_s, arrivals: Arrivals::Poisson, slo };
    let mut result = kind.clone();
    offer.add_to(&mut result.params);
    let response = LatencySummary { p99_us: Some(p99_us), ..LatencySummary::default() };
    let due = result.window.ops as f64;
    TestResult {
        open: Some(OpenLoop { offer, due, response, phases: Vec::new() }),
        verdict,
        ..result
    }
    .into()
}

/// Label of a reason's code.
fn label(code: &ReasonCode) -> String {
    dbdyno::report::Language::English.code(code)
}

#[test]
fn no_invalid_trial_keeps_a_rate() {
    let kind = good().remove(1);
    for code in ReasonCode::ALL {
        let bad = Bad::new(1, Status::Invalid, code.clone());
        let tests = |p99_us: f64| -> Vec<Test> {
            let low = (0..5).map(|_| trial(&kind, 400.0, 1e3, Verdict::from_reasons(Vec::new())));
            let high = (0..5).map(|_| trial(&kind, 500.0, p99_us, bad.verdict()));
            low.chain(high).collect()
        };
        let answers = [1e3, 9e3].map(|p99_us| {
            let tests = tests(p99_us);
            let answer = &slo_search::answers(&tests)[0];
            (answer.met, answer.missed.map(|rate| rate.per_s), answer.unknown)
        });
        let sound = SettledRate { per_s: 400.0, trials: 5 };
        assert_eq!(answers[0].0, Some(sound), "{code}: only the sound rate is kept");
        assert_eq!(answers[0], answers[1], "{code}: an invalid p99 decides nothing");
        let runs = vec![RunTests { run: run(7, "search"), tests: tests(1e3) }];
        let datasheet = REPORTS.iter().find(|report| report.name() == "datasheet").unwrap();
        let text = rendered(
            format("text"),
            &datasheet.build(&Input { runs, ..input() }),
            Options::plain(400),
        );
        let sheds = matches!(code, ReasonCode::Errors | ReasonCode::Overload);
        assert!(
            sheds || text.contains(&format!("5 trials are no evidence: 5 {}", label(code))),
            "{text}"
        );
    }
}

/// A run whose platform costs this much by its price list, and perhaps used an option without a
/// price.
fn platform(id: i64, name: &str, price: f64, uses_option: bool) -> (RunTests, PriceList) {
    let mut run = run(id, name);
    if uses_option {
        run.disclosure.set("database", "licensed_options", "Partitioning");
    }
    let list = format!(
        "platform = \"{name}\"\ncores = 1\ncurrency = \"USD\"\ndate = \"2026-01-01\"\n\
         [[product]]\nname = \"Server\"\nprice = {price}\nper = \"platform\"\n"
    );
    (RunTests { run, tests: fixture::as_tests(good()) }, PriceList::parse(&list).unwrap())
}

fn platforms(all: &[(&str, f64, bool)]) -> Input {
    let of = |(at, (name, price, uses)): (usize, &(&str, f64, bool))| {
        platform(7 + at as i64, name, *price, *uses)
    };
    let (runs, prices) = all.iter().enumerate().map(of).unzip();
    let needs = vec![Need::parse("SRV-QUERY1 70000 qps").unwrap()];
    Input { runs, prices, needs, ..input() }
}

#[test]
fn an_option_without_a_price_makes_no_platform_the_cheapest() {
    let asked = |all: &[(&str, f64, bool)]| {
        let document = CapacityReport.build(&platforms(all));
        let text = rendered(format("text"), &document, Options::plain(400));
        (document.data.unwrap()["cheapest"].clone(), text)
    };
    let (cheapest, text) = asked(&[("a", 100.0, true), ("b", 120.0, false)]);
    assert_eq!(cheapest, serde_json::json!([]), "{text}");
    assert!(!text.contains("cheapest that fits: a") && text.contains("Partitioning"), "{text}");
    let (cheapest, text) = asked(&[("a", 130.0, true), ("b", 120.0, false)]);
    assert_eq!(cheapest, serde_json::json!(["b"]), "the bound decides: {text}");
    let (cheapest, text) = asked(&[("a", 100.0, false), ("b", 120.0, false)]);
    assert_eq!(cheapest, serde_json::json!(["a"]), "{text}");
    let (_, text) = asked(&[("a", 100.0, true), ("b", 90.0, false)]);
    assert!(text.contains("at least 100") && text.contains("cheapest that fits: b"), "{text}");
}

#[test]
fn a_cost_without_the_price_of_an_option_is_a_lower_bound_in_every_form() {
    let input = platforms(&[("a", 100.0, true), ("b", 120.0, false)]);
    let with_figures = ["price", "summary", "capacity"];
    for report in REPORTS.iter().filter(|report| with_figures.contains(&report.name())) {
        let text = rendered(format("markdown"), &report.build(&input), Options::default());
        assert!(text.contains("at least 100"), "{}: {text}", report.name());
        let sums =
            text.lines().filter(|line| line.starts_with("| a |") && line.contains("| all |"));
        assert!(sums.into_iter().all(|line| line.contains("at least 100")), "{text}");
        assert!(!text.contains("costs 100 USD"), "{text}");
    }
    let compared = CompareReport.build(&input).data.unwrap();
    let rows = compared["kpms"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["per_price"].is_null()), "a ratio of a lower bound");
    assert!(compared["not_compared"].to_string().contains("Partitioning"), "{compared:#}");
}

/// Six blocks of a sweep in which nothing misses the database's cache, and the processor's ends.
#[test]
fn a_sweep_reaches_no_device_that_served_nothing() {
    let (kind, mut tests) = (good().remove(1), Vec::<Test>::new());
    for _ in 0..6 {
        for step in 0..=12 {
            let mb = 2f64.powf(f64::from(step) / 2.0);
            let mut test = kind.clone();
            test.seq = tests.len() as u32 + 1;
            test.params.insert("active_rows".into(), (mb * 1_000.0).round().to_string());
            test.chosen = test.params.clone();
            test.facts = [("big_mb", 64.0), ("big_rows", 64_000.0), ("block_bytes", 8_192.0)]
                .map(|(name, value)| (name.to_string(), value))
                .into();
            let reads = 2e-5 * test.total.ops as f64;
            test.counters = fixture::counters(&[
                ("physical_reads", reads),
                ("server_read_bytes", reads * 8_192.0),
            ]);
            let mean_us = Some(3.0 + 2.0 * (1.0 - 3.0 / mb).max(0.0));
            test.latency = LatencySummary { mean_us, ..LatencySummary::default() };
            tests.push(test.into());
        }
    }
    let curve = sweep(&tests).remove(0);
    assert_eq!(curve.plateaus.len(), 2, "{:#?}", curve.plateaus);
    assert!(!curve.reaches(Tier::Device) && !curve.reaches(Tier::SystemCache));
    let report = REPORTS.iter().find(|report| report.name() == "sweep").unwrap();
    let runs = vec![RunTests { run: run(7, "sweep"), tests }];
    let document = report.build(&Input { runs, ..input() });
    let text = rendered(format("text"), &document, Options::plain(200));
    assert!(text.contains("The device was not reached"), "{text}");
}
