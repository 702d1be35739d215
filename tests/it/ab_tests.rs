//! `ab-test`: two sides from the command line, and its report in every form.

use dbdyno::model::{Reason, ReasonCode, RunRecord, Status, Test, TestResult, Verdict};
use dbdyno::report::ab_test::TrialsReport;
use dbdyno::report::compare::CompareReport;
use dbdyno::report::format::junit::Junit;
use dbdyno::report::{FORMATS, Format, Input, Language, Options, Report, RunTests};
use rustix::process::Signal;
use serde_json::Value;

use crate::fixture;
use crate::reports::{golden, rendered};
use crate::servers::Lease;
use crate::support::{Desk, Done, TINY, ended, finished, processes, signal, until};

const SHORT: &str = "--size 0.01 --jobs 1 --warmup 0 --duration 100ms";

/// Our own loop on ops of these lengths, in ns.
fn loops(desk: &Desk, a_ns: u32, b_ns: u32, more: &str) -> Done {
    let line = format!("ab-test null null {SHORT} {more}");
    let mut command = desk.command(&line);
    command.args(["--set-a", &format!("op=spin {a_ns}"), "--set-b", &format!("op=spin {b_ns}")]);
    finished(command, &line)
}

fn figure(document: &Value) -> &Value {
    let figures = document["figures"].as_array().unwrap();
    assert_eq!(figures.len(), 1, "{document:#}");
    &figures[0]
}

#[test]
fn a_side_that_does_more_is_worse_and_fails_what_asks_for_it() {
    let desk = Desk::new();
    let junit = desk.path("ab-test.xml");
    let line =
        format!("--quiet --format json --name spin --fail-below 5% --junit {}", junit.display());
    let done = loops(&desk, 1_000, 20_000, &line)
        .fails(1, &["--fail-below", "1 figure is worse than allowed", "OVERHEAD"]);
    let document = done.json();
    let found = figure(&document);
    assert_eq!((&found["outcome"], &found["jobs"]), (&"worse".into(), &1.into()), "{document:#}");
    let number = |name: &str| found[name].as_f64().unwrap();
    assert!(
        number("low") <= number("ratio")
            && number("ratio") <= number("high")
            && number("high") < 1.0,
        "{found}"
    );
    assert!(
        number("ratio") < 0.5 && document["fewest_blocks"].as_u64() <= found["blocks"].as_u64(),
        "{found}"
    );
    let xml = std::fs::read_to_string(junit).unwrap();
    assert!(xml.contains("failures=\"1\"") && xml.contains("spin-B against spin-A"), "{xml}");
    assert_stored(&desk, &document);
    let other_way =
        loops(&desk, 20_000, 1_000, "--quiet --format json --fail-below 5%").ok().json();
    assert_eq!(figure(&other_way)["outcome"], "better");
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}

/// Every trial is a test of an ordinary run, which other commands see.
fn assert_stored(desk: &Desk, document: &Value) {
    let trials = figure(document)["blocks"].as_u64().unwrap()
        + figure(document)["left_out"].as_u64().unwrap();
    let runs = desk.runs();
    let said: Vec<_> = runs
        .iter()
        .map(|run| (run["name"].as_str().unwrap(), run["tests"].as_u64().unwrap()))
        .collect();
    assert_eq!(said, [("spin-A", trials), ("spin-B", trials)]);
    let show = desk.run("results show spin-B --format json").ok().json();
    assert_shuffled(&desk.run("results show spin-A --format json").ok().json(), &show);
    assert_eq!(show["labels"]["side"], "B");
    assert_eq!(show["labels"]["set"], "op=spin 20000");
    let compared = desk.run("compare spin-A spin-B --format json").ok().json();
    assert_eq!(compared["kpms"][0]["workload"], "OVERHEAD");
    desk.run("report kpm spin-A").ok();
    // The report of the A/B test again, by either side or both.
    for runs in ["", "spin-B", "spin-B spin-A"] {
        assert_eq!(
            &desk.run(&format!("report ab-test {runs} --format json")).ok().json(),
            document,
            "{runs}"
        );
    }
    let title = "A/B test: A = spin-A (null, op=spin 1000), B = spin-B (null, op=spin 20000)";
    let page = desk.run("report ab-test spin-A --format markdown").ok().stdout;
    assert!(page.contains(title), "{page}");
    desk.run(&format!("run sqlite {TINY} --name other --quiet")).ok();
    desk.run("report ab-test").fails(2, &["is not a side of an A/B test"]);
    desk.run("report ab-test spin-A other")
        .fails(2, &["'other'", "is not the other side of that A/B test"]);
    desk.run("results delete spin-B").ok();
    desk.run("report ab-test spin-A").fails(2, &["has lost the other side"]);
}

/// Each block has a trial of each side, and neither side is always the first.
#[track_caller]
fn assert_shuffled(a: &Value, b: &Value) {
    let begins = |run: &Value| -> Vec<String> {
        let tests = run["tests"].as_array().unwrap();
        tests.iter().map(|test| test["started_at"].as_str().unwrap().to_string()).collect()
    };
    let (a, b) = (begins(a), begins(b));
    let firsts: Vec<bool> = a.iter().zip(&b).map(|(a, b)| a < b).collect();
    assert!(firsts.contains(&true) && firsts.contains(&false), "{firsts:?}");
    let blocks = a.iter().zip(&b).collect::<Vec<_>>();
    assert!(
        blocks.windows(2).all(|two| two[0].0.max(two[0].1) < two[1].0.min(two[1].1)),
        "{blocks:?}"
    );
}

#[test]
fn equal_sides_are_equal_within_a_wide_margin_and_the_rest_is_undecided() {
    let desk = Desk::new();
    let done = loops(&desk, 1_000, 1_000, "--margin 90% --format json").ok();
    let document = done.json();
    assert_eq!(figure(&document)["outcome"], "equal", "{document:#}");
    assert!(done.stderr.contains("equal x"), "{}", done.stderr);
    let line = format!(
        "ab-test sqlite sqlite --workload SRV-QUERY1 --margin 90% {SHORT} --format json --quiet \
         --max-duration 0 --fail-below 0%"
    );
    // In a window of so few milliseconds a job may get no processor on a busy machine.
    let has_ops = |done: &Done| !done.stderr.contains("(1 little)");
    let mut none = desk.run(&line).ok();
    for _ in 0..10 {
        if has_ops(&none) {
            break;
        }
        none = desk.run(&line).ok();
    }
    let open = none.json();
    assert_eq!(
        (&figure(&open)["outcome"], &figure(&open)["low"]),
        (&"undecided".into(), &Value::Null)
    );
    assert_eq!(none.stderr, "--fail-below: 1 of 1 figures undecided; that fails nothing\n");
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}

#[test]
fn two_living_servers_are_compared_by_url() {
    let (desk, [a, b]) =
        (Desk::new(), ["postgres", "mariadb"].map(|engine| Lease::new(engine, None, &[])));
    let url = &b.url;
    let line = format!(
        "ab-test {} {url} --workload SRV-QUERY1 {SHORT} --max-duration 0 --name living",
        a.url
    );
    let document = desk.run(&format!("{line} --quiet --format json")).ok().json();
    let found = figure(&document);
    // A busy machine may spoil a trial, which is left out then.
    let blocks = found["blocks"].as_u64().unwrap() + found["left_out"].as_u64().unwrap();
    assert_eq!((&found["outcome"], blocks), (&"undecided".into(), 1), "{document:#}");
    let differs = document["disclosure_differences"].as_array().unwrap();
    let engine = differs.iter().find(|one| one["fact"] == "engine").unwrap();
    assert_eq!(
        (&engine["base"], &engine["other"]),
        (&"postgres".into(), &"mariadb".into()),
        "{engine}"
    );
    let runs = desk.runs();
    assert_eq!(
        runs.iter().map(|run| run["tests"].as_u64()).collect::<Vec<_>>(),
        [Some(1); 2],
        "{runs:#?}"
    );
    desk.run(&format!("ab-test {url} {url} --workload SRV-QUERY1"))
        .fails(2, &["the same database"]);
}

/// Both sides at the same time: on SQLite in our process until they are equal, on PostgreSQL one
/// block on two servers.
#[test]
fn equal_sides_are_equal_in_a_duet_whose_rounds_follow_one_another() {
    let desk = Desk::new();
    let is_one = std::thread::available_parallelism().is_ok_and(|all| all.get() == 1);
    for (engine, end, outcome) in
        [("sqlite", "--margin 90%", "equal"), ("postgres", "--max-duration 0", "undecided")]
    {
        let line = format!(
            "ab-test {engine} {engine} --duet --workload SRV-QUERY1 {SHORT} --name {engine} {end}"
        );
        if is_one {
            desk.run(&line).fails(2, &["--duet", "only one CPU"]);
            continue;
        }
        let document = desk.run(&format!("{line} --quiet --format json")).ok().json();
        let found = figure(&document);
        assert_eq!(
            (&document["duet"], &found["outcome"]),
            (&true.into(), &outcome.into()),
            "{document:#}"
        );
        let blocks = found["blocks"].as_u64().unwrap() + found["left_out"].as_u64().unwrap();
        let tests = ["A", "B"].map(|side| {
            let run = desk.shown(&format!("{engine}-{side}"));
            run["tests"].as_array().unwrap().clone()
        });
        assert_eq!(
            tests.each_ref().map(|tests| tests.len() as u64),
            [2 * blocks; 2],
            "two trials of each in a block"
        );
        assert_rounds(&tests);
    }
    assert!(is_one || desk.run("report ab-test postgres-B").ok().stdout.contains("swapped"));
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
    assert_eq!(processes(&desk.data().display().to_string()), Vec::<String>::new());
}

/// No round begins before both trials of the one before have begun, and each trial says that it was
/// not alone.
#[track_caller]
fn assert_rounds([a, b]: &[Vec<Value>; 2]) {
    let begin = |test: &Value| test["started_at"].as_str().unwrap().to_string();
    let rounds: Vec<[String; 2]> = a.iter().zip(b).map(|(a, b)| [begin(a), begin(b)]).collect();
    assert!(rounds.windows(2).all(|two| two[0].iter().max() < two[1].iter().min()), "{rounds:?}");
    for test in a.iter().chain(b) {
        let reasons = test["verdict"]["reasons"].as_array().unwrap();
        assert!(reasons.iter().any(|reason| reason["code"] == "beside"), "{test:#}");
    }
}

#[test]
fn commits_that_are_not_waited_for_are_found_on_two_servers() {
    let desk = Desk::new();
    let [a, b] = ["1", "2"]
        .map(|flush| Lease::new("mariadb", None, &[("innodb_flush_log_at_trx_commit", flush)]));
    let line = format!("ab-test {} {} --workload LGWR-LAT {SHORT} --format json", a.url, b.url);
    let document = desk.run(&line).ok().json();
    let found = figure(&document);
    assert_eq!(
        (&found["outcome"], &found["better"]),
        (&"better".into(), &"lower".into()),
        "{document:#}"
    );
    let differs = document["disclosure_differences"].as_array().unwrap();
    let facts: Vec<_> = differs.iter().map(|one| one["fact"].as_str().unwrap()).collect();
    assert!(facts.contains(&"innodb_flush_log_at_trx_commit"), "{document:#}");
    assert!(
        found["conditions"].as_array().unwrap().iter().any(|one| one["code"] == "durability"),
        "{found}"
    );
}

#[test]
fn an_interrupt_keeps_what_was_measured_and_removes_both_servers() {
    let desk = Desk::new();
    let line = format!(
        "ab-test postgres postgres --workload SRV-QUERY1 --margin 0 {SHORT} --quiet --name stopped"
    );
    let ab_test = desk.spawn(&line);
    until("both sides were measured", || {
        let runs = desk.runs_so_far();
        runs.len() == 2 && runs.iter().all(|run| run["tests"].as_u64() > Some(1))
    });
    signal(ab_test.id(), Signal::INT);
    let done = ended(ab_test, &line).fails(130, &["interrupted", "is stored"]);
    assert!(done.stdout.contains("SRV-QUERY1"), "{}", done.stdout);
    assert!(desk.runs().iter().all(|run| run["status"] == "interrupted"), "{:#?}", desk.runs());
    // Each trial has a server that was started for it.
    let run = desk.shown("stopped-A");
    let tests = run["tests"].as_array().unwrap();
    let starts: Vec<_> = tests.iter().map(|test| test["server_start"].as_u64().unwrap()).collect();
    assert_eq!(starts, (1..=tests.len() as u64).collect::<Vec<_>>());
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
    assert_eq!(processes(&desk.data().display().to_string()), Vec::<String>::new());
}

#[test]
fn what_cannot_be_compared_is_one_line() {
    let desk = Desk::new();
    let refused = |line: &str, code: i32, words: &[&str]| drop(desk.run(line).fails(code, words));
    refused("ab-test sqlite", 2, &["<B>"]);
    refused("ab-test sqlite sqlite --set a", 2, &["--set", "name=value"]);
    refused(
        "ab-test postgres://h/d postgres://h/d --workload SRV-QUERY1",
        2,
        &["the same database"],
    );
    refused("ab-test postgres://h/d sqlite --set-a a=b", 2, &["--set", "'a'", "existing server"]);
    refused(
        "ab-test sqlite sqlite --jobs 1..auto --quiet --size 0.01",
        2,
        &["--jobs", "automatic"],
    );
    refused("ab-test sqlite sqlite --margin 100%", 2, &["--margin"]);
    refused("ab-test sqlite sqlite --workload NOPE", 2, &["NOPE"]);
    refused("ab-test postgres://h/d sqlite --duet", 2, &["--duet", "existing server"]);
    refused(
        "ab-test sqlite sqlite --duet --workload LGWR-LAT --size 0.01",
        2,
        &["--duet", "LGWR-LAT", "device"],
    );
    refused("ab-test duckdb duckdb --duet --workload CPU-LOOP", 2, &["--duet", "threads"]);
    refused("ab-test null null --workload SRV-QUERY1", 2, &["--workload", "no tables"]);
    refused("ab-test sqlite sqlite --set nonsense=1 --quiet --size 0.01", 3, &["nonsense"]);
    refused("ab-test sqlite sqlite --data-dir /nowhere/at/all", 3, &["/nowhere/at", "--data-dir"]);
    refused("ab-test sqlite sqlite --junit /nowhere/x.xml", 2, &["/nowhere"]);
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}

fn verdict_with(status: Status, code: ReasonCode) -> Verdict {
    Verdict::from_reasons(vec![Reason::new(status, code, "")])
}

/// Twelve blocks: one figure better, one equal, one open, one whose trials are left out, one with a
/// neighbor.
fn sides() -> [Vec<TestResult>; 2] {
    let kinds = fixture::tests();
    let kinds: Vec<&TestResult> = ["SRV-QUERY1", "TP-LIGHT"]
        .into_iter()
        .filter_map(|id| {
            kinds
                .iter()
                .find(|test| test.workload == id && test.jobs == 1)
                .or(kinds.iter().find(|test| test.workload == id))
        })
        .collect();
    let [mut a, mut b] = [Vec::new(), Vec::new()];
    for block in 0..12_u32 {
        let noise = 1.0 + 0.001 * f64::from(block * 7 % 12) - 0.006;
        let mut add = |kind: &TestResult, jobs: u32, base: f64, ratio: f64, verdict: &Verdict| {
            for (side, value) in [(&mut a, base), (&mut b, base * ratio * noise)] {
                let seq = side.len() as u32 + 1;
                let test = TestResult {
                    seq,
                    jobs,
                    kpm_value: Some(value),
                    verdict: verdict.clone(),
                    ..kind.clone()
                };
                side.push(test);
            }
        };
        let (valid, foreign) = (
            Verdict::from_reasons(Vec::new()),
            verdict_with(Status::Conditional, ReasonCode::ForeignLoad),
        );
        let neighbour = if block % 4 == 0 { &foreign } else { &valid };
        add(kinds[0], 1, 10_000.0, 1.2, &valid);
        add(kinds[0], 2, 20_000.0, 1.002, neighbour);
        add(kinds[0], 4, 30_000.0, if block % 2 == 0 { 1.2 } else { 0.85 }, &valid);
        add(
            kinds[kinds.len() - 1],
            8,
            900.0,
            1.0,
            &verdict_with(Status::Invalid, ReasonCode::Contract),
        );
    }
    [a, b]
}

pub fn input() -> Input {
    let run = |id: i64, side: &str, set: &str| {
        let labels =
            fixture::map([("campaign", "2026-03-02T20:15:00Z"), ("side", side), ("set", set)]);
        let plan = serde_json::json!({ "margin": 0.03 }).into();
        RunRecord { id, name: Some(format!("cache-{side}")), labels, plan, ..fixture::run() }
    };
    let mut runs = [run(7, "A", "shared_buffers=64MB"), run(8, "B", "shared_buffers=512MB")];
    runs[1].disclosure.set("settings", "shared_buffers", "512MB");
    let tests = sides().map(|tests| tests.into_iter().map(Test::from).collect());
    let runs = runs.into_iter().zip(tests).map(|(run, tests)| RunTests { run, tests });
    Input {
        runs: runs.collect(),
        fail_below: 0.05,
        catalog: crate::support::catalog(),
        ..Input::default()
    }
}

fn format(name: &str) -> &'static dyn Format {
    *FORMATS.iter().find(|format| format.name() == name).unwrap()
}

#[test]
fn the_report_of_an_ab_test_is_as_people_have_read_it() {
    let document = TrialsReport.build(&input());
    let mut found = vec![golden("ab-test.xml", &rendered(&Junit, &document, Options::default()))];
    for (name, ending) in [("text", "txt"), ("json", "json"), ("csv", "csv")] {
        let language = match format(name).is_for_programs() {
            true => Language::Programs,
            false => Language::English,
        };
        let document = TrialsReport.build(&Input { language, ..input() });
        let text = rendered(format(name), &document, Options::plain(120));
        found.push(golden(&format!("ab-test.{ending}"), &text));
    }
    let german = TrialsReport.build(&Input { language: Language::German, ..input() });
    found.push(golden("ab-test.de", &rendered(format("markdown"), &german, Options::default())));
    let wrong: Vec<String> = found.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_comparison_of_both_sides_does_not_contradict_their_ab_test() {
    let input = input();
    let decided = TrialsReport.build(&input).data.unwrap();
    let compared = CompareReport.build(&input).data.unwrap();
    let kpms = compared["kpms"].as_array().unwrap();
    let mut judged = 0;
    for figure in decided["figures"].as_array().unwrap() {
        let of = |row: &&Value| {
            row["workload"] == figure["subject"]["workload"] && row["other_jobs"] == figure["jobs"]
        };
        for row in kpms.iter().filter(of) {
            judged += 1;
            let outcome = figure["outcome"].as_str().unwrap();
            let opposite = match outcome {
                "better" => vec!["worse"],
                "worse" => vec!["better"],
                "equal" => vec!["better", "worse"],
                _ => Vec::new(),
            };
            let said = row["difference"].as_str().unwrap();
            let stands = row["stands"] == true;
            assert!(!(stands && opposite.contains(&said)), "{outcome} and {row:#}");
            // A figure that the A/B test finds unusable has no ratio there.
            let Some(a) = figure["ratio"].as_f64() else { continue };
            let b = row["ratio"].as_f64().unwrap();
            assert!((a / b).ln().abs() < 0.05, "{a} and {b} are one ratio: {row:#}");
        }
    }
    assert!(judged > 0, "{decided:#}");
}

#[test]
fn the_page_of_an_ab_test_holds_its_figures() {
    let page = rendered(format("html"), &TrialsReport.build(&input()), Options::default());
    assert!(page.contains("SRV-QUERY1") && page.contains("equal within 3"), "{page}");
}
