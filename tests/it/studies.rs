//! Studies of blocks: `layers` from the command line on every kind of target, and their reports in
//! every form.

use std::collections::{BTreeMap, BTreeSet};

use dbdyno::model::{
    BackgroundResult, Drive, LatencySummary, PartResult, Reason, ReasonCode, Status, TestResult,
    Verdict,
};
use dbdyno::report::document::Block;
use dbdyno::report::{FORMATS, Format, Input, Language, Options, REPORTS, Report, RunTests};
use serde_json::{Value, json};

use crate::reports::{golden, rendered};
use crate::servers::Lease;
use crate::storage::{FEW_FREE_PAGES, small_caches};
use crate::support::{
    Desk, Done, PRIVATE, assert_run_schema, column, ended, processes, session, signal, until,
};
use crate::{fixture, publications};

/// Short blocks on small tables.
const SHORT: &str = "--size 0.01 --warmup 0 --duration 100ms --quiet";

/// With a warm-up, in which what runs beside a test has begun.
const WARMED: &str = "--size 0.01 --warmup 200ms --duration 200ms --quiet";

/// The tests of the last run by drive and parameters, and how many there are of each.
fn count_tests(desk: &Desk) -> BTreeMap<String, usize> {
    let run = desk.shown("last");
    let mut counted = BTreeMap::new();
    for test in run["tests"].as_array().unwrap() {
        let params = test["params"].as_object().unwrap();
        let of = |name: &str| params.get(name).and_then(Value::as_str).unwrap_or("-").to_string();
        *counted
            .entry(format!(
                "{} {} {}",
                test["drive"].as_str().unwrap(),
                of("transport"),
                of("protocol")
            ))
            .or_default() += 1;
    }
    counted
}

fn layers(document: &Value) -> &Vec<Value> {
    let studies = document["studies"].as_array().unwrap();
    assert_eq!(studies.len(), 1, "{document:#}");
    studies[0]["layers"].as_array().unwrap()
}

/// Every row has a figure within its interval, or says why it has none.
#[track_caller]
fn assert_complete(rows: &[Value]) {
    for row in rows {
        match row["us"].as_f64() {
            None => assert!(row["why"].is_string(), "{row}"),
            Some(us) => {
                let [low, high] = ["low_us", "high_us"].map(|name| row[name].as_f64().unwrap());
                assert!(
                    low <= us && us <= high && row["why"].is_null() && row["verdict"] != "invalid",
                    "{row}"
                );
                assert!(row["layer"] == "inside" || low > 0.0 || high < 0.0, "{row}");
            }
        }
    }
}

fn why(rows: &[Value], layer: &str) -> Vec<String> {
    let of = rows.iter().filter(|row| row["layer"] == layer);
    of.map(|row| row["why"].as_str().unwrap_or_default().to_string()).collect()
}

/// Checks that the report of a study shows again what its command has shown, and that the study has
/// left no data behind.
#[track_caller]
fn assert_shown_again(desk: &Desk, report: &str, document: &Value) {
    assert_eq!(desk.run(&format!("report {report} --format json")).ok().json(), *document);
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}

/// A private server is measured by these protocols over each transport.
fn assert_every_way(engine: &str, blocks: usize, protocols: &[&str]) {
    let desk = Desk::new();
    let line = format!("layers {engine} {SHORT} --blocks {blocks} --format json");
    let document = desk.run(&line).ok().json();
    let mut expected = BTreeMap::from([("database - -".to_string(), blocks)]);
    for (transport, protocol) in
        ["socket", "tcp"].iter().flat_map(|way| protocols.iter().map(move |of| (way, of)))
    {
        expected.insert(format!("client {transport} {protocol}"), blocks);
    }
    assert_eq!(count_tests(&desk), expected, "{engine}");
    assert_complete(layers(&document));
    // A private server has no certificate.
    assert!(why(layers(&document), "tls")[0].starts_with("not measured: "), "{document:#}");
    if protocols.len() == 2 {
        assert!(
            why(layers(&document), "text").iter().all(|why| why.contains("prepared-text")),
            "{document:#}"
        );
    }
    assert_shown_again(&desk, "layers", &document);
    let german = desk.run("report layers --language de").ok();
    assert!(german.stdout.contains("nicht gemessen"), "{}", german.stdout);
}

/// Six blocks are enough for intervals, which are the same of either server.
#[test]
fn a_private_postgres_is_measured_by_every_way_that_it_has() {
    assert_every_way("postgres", 6, &["-", "prepared-text", "simple"]);
}

/// One block shows the ways.
#[test]
fn a_private_mariadb_is_measured_by_every_way_that_it_has() {
    assert_every_way("mariadb", 1, &["-", "simple"]);
}

#[test]
fn an_existing_server_is_measured_by_the_ways_that_reach_it_and_gets_no_account() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let accounts = "select rolname from pg_roles where rolname like 'dbdyno_tcp%'";
    let done = desk.run(&format!("layers {} {SHORT} --blocks 1 --format json", lease.url)).ok();
    let rows = done.json();
    let rows = layers(&rows);
    assert_complete(rows);
    assert_eq!(column(session(&lease.url).as_mut(), accounts), Vec::<String>::new());
    // Over TCP the superuser has no password: the reason stands where the figure would.
    let counted = count_tests(&desk);
    assert!(
        counted.contains_key("client socket -") && !counted.contains_key("client tcp -"),
        "{counted:?}"
    );
    assert!(why(rows, "tcp")[0].starts_with("not measured: "), "{rows:#?}");
}

#[test]
fn in_our_process_there_is_only_the_call() {
    let desk = Desk::new();
    let document = desk.run(&format!("layers sqlite {SHORT} --blocks 6 --format json")).ok().json();
    assert_complete(layers(&document));
    assert_eq!(count_tests(&desk), BTreeMap::from([("client process -".to_string(), 6)]));
    for layer in ["transport", "tcp", "text", "simple", "tls"] {
        assert_eq!(
            why(layers(&document), layer),
            ["does not apply: the database runs in our process"]
        );
    }
    let text = desk.run("report layers").ok();
    assert!(text.stdout.contains("does not apply"), "{}", text.stdout);
}

#[test]
fn the_simple_protocol_gives_the_same_rows() {
    let lease = Lease::new("postgres", None, &[]);
    let desk = Desk::new();
    for protocol in ["prepared-text", "simple"] {
        let line = format!(
            "run {} --workload SRV-QUERY25:protocol={protocol} {SHORT} --jobs 1 --format json",
            lease.url
        );
        let test = desk.run(&line).ok().json()["tests"][0].clone();
        let [ops, rows] = ["ops", "rows"].map(|name| test[name].as_f64().unwrap_or_default());
        assert!(ops > 0.0 && rows == 25.0 * ops, "{test:#}");
    }
}

/// Checks that the program refuses a command in one line, with this code and these words.
#[track_caller]
fn assert_refused(desk: &Desk, line: &str, code: i32, words: &[&str]) {
    desk.run(&format!("{line} --quiet")).fails(code, words);
}

#[test]
fn what_cannot_travel_so_is_one_line() {
    let desk = Desk::new();
    let lookup = |way: &str| format!("run postgres --size 0.01 --workload SRV-QUERY1:{way}");
    assert_refused(&desk, &lookup("transport=pigeon"), 2, &["'pigeon'", "socket, tcp, tls"]);
    assert_refused(&desk, &lookup("protocol=simple --drive database"), 2, &["client drive"]);
    assert_refused(
        &desk,
        "run mariadb --workload SRV-QUERY1:protocol=prepared-text",
        2,
        &["no form prepared-text"],
    );
    assert_refused(&desk, "run sqlite --workload SRV-QUERY1:transport=tcp", 2, &["in our process"]);
    assert_refused(&desk, "layers nonsense", 2, &["nonsense"]);
    assert_refused(&desk, "layers sqlite --blocks 0", 2, &["--blocks"]);
    assert_refused(&desk, "layers sqlite --output /nowhere/x.html", 2, &["/nowhere"]);
    let lease = Lease::new("postgres", None, &[]);
    assert_refused(
        &desk,
        &format!("run {} --workload SRV-QUERY1:transport=tcp --size 0.01", lease.url),
        3,
        &["transport=tcp"],
    );
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}

/// Waits until a run of the desk has stored two tests.
#[track_caller]
fn wait_for_two_tests(desk: &Desk) {
    until("two tests were stored", || {
        desk.runs_so_far().iter().any(|run| run["tests"].as_u64() > Some(1))
    });
}

/// Stops a study after its first tests; what was measured is stored and shown, and nothing is left.
fn interrupt_study(line: &str) -> Done {
    let desk = Desk::new();
    let child = desk.spawn(line);
    wait_for_two_tests(&desk);
    signal(child.id(), rustix::process::Signal::INT);
    let done = ended(child, line).fails(130, &["interrupted", "is stored"]);
    assert!(desk.runs().iter().all(|run| run["status"] == "interrupted"), "{:#?}", desk.runs());
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
    assert_eq!(processes(&desk.data().display().to_string()), Vec::<String>::new());
    done
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let done = interrupt_study(&format!("layers postgres {SHORT} --blocks 1000"));
    assert!(done.stdout.contains("SRV-QUERY1"), "{}", done.stdout);
}

fn format(name: &str) -> &'static dyn Format {
    *FORMATS.iter().find(|format| format.name() == name).unwrap()
}

fn report(name: &str) -> &'static dyn Report {
    *REPORTS.iter().find(|report| report.name() == name).unwrap()
}

/// A lookup by every way but one in eight blocks that drift, and one that cannot be told from
/// another.
pub fn layers_input() -> Input {
    let kind = fixture::tests().into_iter().find(|test| test.workload == "SRV-QUERY1").unwrap();
    type Spec = (Drive, &'static [(&'static str, &'static str)], f64);
    let ways: [Spec; 6] = [
        (Drive::Database, &[], 3.0),
        (Drive::Client, &[("transport", "socket")], 13.0),
        (Drive::Client, &[("transport", "socket"), ("protocol", "prepared-text")], 13.0),
        (Drive::Client, &[("transport", "socket"), ("protocol", "simple")], 21.0),
        (Drive::Client, &[("transport", "tcp")], 17.5),
        (Drive::Client, &[("transport", "tcp"), ("protocol", "simple")], 27.0),
    ];
    let mut tests: Vec<TestResult> = Vec::new();
    for block in 0..8_u32 {
        for (at, (drive, params, us)) in ways.iter().enumerate() {
            let noise = 0.02 * us * f64::from((block * 5 + at as u32 * 3) % 7) - 0.06 * us;
            let chosen =
                params.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            let mean_us = Some(us + noise + 0.5 * f64::from(block));
            let seq = tests.len() as u32 + 1;
            let (latency, verdict) = (
                LatencySummary { mean_us, ..kind.latency.clone() },
                Verdict::from_reasons(Vec::new()),
            );
            tests.push(TestResult {
                seq,
                jobs: 1,
                drive: *drive,
                chosen,
                latency,
                verdict,
                ..kind.clone()
            });
        }
    }
    let workload = "SRV-QUERY1:protocol=prepared-text,transport=tcp";
    let left_out = json!([{ "workload": workload, "reason": "refused" }]);
    let plan = json!({ "left_out": left_out }).into();
    let run = dbdyno::model::RunRecord { plan, ..fixture::run() };
    Input { runs: vec![RunTests { run, tests: fixture::as_tests(tests) }], ..Input::default() }
}

/// A lookup, a scan and a commit, alone and in pairs, in eight blocks that drift; one pair has too
/// few.
pub fn interference_input() -> Input {
    let kinds = ["SRV-QUERY1", "SRV-SCAN", "LGWR-LAT"]
        .map(|id| fixture::tests().into_iter().find(|test| test.workload == id).unwrap());
    let alone = [60_000.0, 12.0, 1_950.0];
    // Rates of the pairs as shares of those alone, in front and beside.
    let pairs = [
        (0, 0, 0.51, 0.5),
        (0, 1, 0.55, 0.52),
        (0, 2, 0.95, 0.8),
        (1, 1, 0.6, 0.6),
        (1, 2, 0.9, 0.7),
    ];
    let mut tests: Vec<TestResult> = Vec::new();
    for block in 0..8_u32 {
        let speed = |at: usize| {
            1.0 + 0.02 * f64::from(block) + 0.01 * f64::from((block * 5 + at as u32 * 3) % 7)
        };
        let mut add = |of: usize, share: f64, beside: Option<(usize, f64)>| {
            let ops_per_s = alone[of] * share * speed(tests.len());
            let mut test =
                TestResult { seq: tests.len() as u32 + 1, jobs: 1, ops_per_s, ..kinds[of].clone() };
            test.verdict = Verdict::from_reasons(Vec::new());
            test.beside = beside.map(|(other, share)| {
                beside_it(&kinds[other], alone[other] * share * speed(tests.len()))
            });
            if let Some((other, _)) = beside {
                let reason = Reason::new(Status::Conditional, ReasonCode::Beside, "");
                test.verdict = Verdict::from_reasons(vec![reason]);
                let named = [("beside", kinds[other].workload.as_str()), ("beside_jobs", "1")];
                test.chosen.extend(fixture::map(named));
            }
            tests.push(test);
        };
        (0..3).for_each(|of| add(of, 1.0, None));
        pairs.iter().for_each(|(of, other, front, back)| add(*of, *front, Some((*other, *back))));
        if block < 3 {
            add(2, 0.9, Some((2, 0.9)));
        }
    }
    Input {
        runs: vec![RunTests { run: fixture::run(), tests: fixture::as_tests(tests) }],
        ..Input::default()
    }
}

fn beside_it(kind: &TestResult, ops_per_s: f64) -> BackgroundResult {
    BackgroundResult {
        part: PartResult {
            workload: kind.workload.clone(),
            params: kind.params.clone(),
            chosen: kind.chosen.clone(),
            jobs: 1,
            tally: Default::default(),
            ops_per_s,
            units_per_s: ops_per_s,
            latency: LatencySummary::default(),
        },
        drive: kind.drive,
        covers_window: true,
    }
}

#[test]
fn a_test_beside_another_workload_is_conditional_and_tells_its_rate() {
    let desk = Desk::new();
    let line = format!(
        "run postgres {WARMED} --workload SRV-QUERY1 --jobs 1,2 --background \
         TP-LIGHT:update_pct=40 --background-jobs 2"
    );
    let document = desk.run(&format!("{line} --format json")).ok().json();
    assert_run_schema(&document);
    for test in document["tests"].as_array().unwrap() {
        let beside = &test["beside"];
        assert_eq!(
            (&beside["workload"], &beside["jobs"]),
            (&"TP-LIGHT".into(), &2.into()),
            "{beside:#}"
        );
        assert!(
            beside["ops"].as_u64() > Some(0) && beside["ops_per_s"].as_f64() > Some(0.0),
            "{beside:#}"
        );
        assert_eq!(beside["covers_window"], true, "{beside:#}");
        assert_eq!(test["params"]["beside"], "TP-LIGHT:update_pct=40");
        let reasons = test["verdict"]["reasons"].as_array().unwrap();
        assert!(reasons.iter().any(|reason| reason["code"] == "beside"), "{reasons:#?}");
        assert!(
            reasons.iter().all(|reason| !["contract", "crosscheck"]
                .map(Value::from)
                .contains(&reason["code"]))
        );
        assert_ne!(test["verdict"]["status"], "valid");
    }
    // Beside another it is another test than alone: nothing compares the two.
    let alone = desk
        .run(&format!("run postgres {WARMED} --workload SRV-QUERY1 --jobs 1 --name alone"))
        .ok();
    drop(alone);
    let compared = desk.run("compare 1 alone --format json").ok().json();
    assert_eq!(compared["kpms"].as_array().unwrap().len(), 0, "{compared:#}");
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}

#[test]
fn all_pairs_are_measured_once_per_block() {
    for kind in &PRIVATE[..1] {
        let desk = Desk::new();
        let line = format!(
            "interference {} --size 0.01 --warmup 40ms --duration 100ms --quiet --blocks 6 \
             --workloads SRV-QUERY1,TP-LIGHT:update_pct=40",
            kind.engine
        );
        let document = desk.run(&format!("{line} --format json")).ok().json();
        let run = desk.shown("last");
        let tests = run["tests"].as_array().unwrap();
        assert_eq!(tests.len(), 6 * (2 + 3), "two alone, two beside themselves, one pair");
        let study = &document["studies"][0]["study"];
        let [alone, cells, pairs] =
            ["alone", "slowdowns", "pairs"].map(|name| study[name].as_array().unwrap());
        assert_eq!([alone.len(), cells.len(), pairs.len()], [2, 4, 3], "{study:#}");
        for (cell, name) in cells
            .iter()
            .map(|cell| (cell, "ratio"))
            .chain(pairs.iter().map(|pair| (pair, "factor")))
        {
            let [blocks, left_out] =
                ["blocks", "left_out"].map(|name| cell[name].as_u64().unwrap_or_default());
            assert!(blocks + left_out <= 6, "{cell:#}");
            let known = &cell[name];
            assert_eq!(known.is_null(), blocks < 6, "{cell:#}");
            if !known.is_null() {
                let [value, low, high] =
                    ["value", "low", "high"].map(|name| known[name].as_f64().unwrap());
                assert!(0.0 < low && low <= value && value <= high, "{cell:#}");
            }
        }
        assert_shown_again(&desk, "interference", &document);
        let german = desk.run("report interference --language de --format markdown").ok();
        assert!(german.stdout.contains("neben TP-LIGHT"), "{}", german.stdout);
    }
}

#[test]
fn what_cannot_run_beside_is_one_line() {
    let desk = Desk::new();
    assert_refused(
        &desk,
        "run sqlite --workload SRV-QUERY1 --background NOPE",
        2,
        &["--background NOPE", "NOPE"],
    );
    assert_refused(
        &desk,
        "run sqlite --workload SRV-QUERY1 --background SRV-QUERY1:x=1",
        2,
        &["--background", "'x'"],
    );
    assert_refused(
        &desk,
        "run mariadb --workload SRV-QUERY1 --background SRV-QUERY1:org=hash",
        2,
        &["--background", "hash"],
    );
    assert_refused(
        &desk,
        "run sqlite --workload SRV-QUERY1 --background SRV-SCAN --ops 5",
        2,
        &["--ops"],
    );
    assert_refused(
        &desk,
        "run sqlite --workload SRV-QUERY1 --background-jobs 2",
        2,
        &["--background"],
    );
    assert_refused(&desk, "interference sqlite --workloads SRV-QUERY1,NOPE", 2, &["NOPE"]);
    assert_refused(
        &desk,
        "interference sqlite --workloads SRV-QUERY1,SRV-QUERY1",
        2,
        &["named twice"],
    );
    assert_refused(&desk, "interference sqlite --jobs 1,2", 2, &["--jobs", "one number"]);
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}

#[test]
fn a_server_that_dies_ends_the_study_with_what_was_measured() {
    let desk = Desk::new();
    let kind = &PRIVATE[0];
    let line =
        format!("interference postgres {SHORT} --blocks 1000 --workloads SRV-QUERY1,SRV-SCAN");
    let child = desk.spawn(&line);
    wait_for_two_tests(&desk);
    signal(kind.pid(&desk), kind.hard_stop);
    let done = ended(child, &line).fails(3, &["no longer answers", "is stored"]);
    assert!(done.stdout.contains("SRV-QUERY1"), "{}", done.stdout);
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}

/// Six blocks of 1 to 256 MB: a database's cache of 16 MB, behind it the system's, or the device
/// where that is passed.
pub fn sweep_input() -> Input {
    let kind = fixture::tests().into_iter().find(|test| test.workload == "STO-RANDOM").unwrap();
    let mut tests: Vec<TestResult> = Vec::new();
    for (block, evicted, step) in
        (0..6_u32).flat_map(|block| (0..34_u32).map(move |at| (block, at >= 17, at % 17)))
    {
        let mb = 2f64.powf(f64::from(step) / 2.0);
        let (miss, noise) =
            ((1.0 - 16.0 / mb).max(0.0), 0.97 + 0.01 * f64::from((block * 5 + step * 3) % 7));
        let mean_us = Some((3.0 + if evicted { 150.0 } else { 12.0 } * miss) * noise);
        let mut test = TestResult {
            seq: tests.len() as u32 + 1,
            jobs: 1,
            latency: LatencySummary { mean_us, ..kind.latency.clone() },
            verdict: Verdict::from_reasons(Vec::new()),
            ..kind.clone()
        };
        test.workload = "STO-ACTIVE".into();
        test.params = fixture::map([("active_rows", (mb * 1000.0).round().to_string().as_str())]);
        if evicted {
            test.params.insert("files".into(), "evicted".into());
            test.facts.insert("evicted".into(), 1.0);
        }
        test.chosen = test.params.clone();
        let facts = [("big_mb", 256.0), ("big_rows", 256_000.0), ("block_bytes", 8192.0)];
        test.facts.extend(facts.map(|(name, value)| (name.to_string(), value)));
        test.total.ops = 100_000;
        let (reads, from_device) = (100_000.0 * miss, if evicted { 0.97 } else { 0.0 });
        test.counters = fixture::counters(&[
            ("physical_reads", reads),
            ("server_read_bytes", reads * 8192.0 * from_device),
        ]);
        tests.push(test);
    }
    Input {
        runs: vec![RunTests { run: fixture::run(), tests: fixture::as_tests(tests) }],
        ..Input::default()
    }
}

#[test]
fn a_sweep_of_too_few_blocks_draws_medians_that_are_conditional_and_have_no_interval() {
    let mut input = sweep_input();
    let points = |input: &Input| {
        let sections = report("sweep").build(input).sections;
        let blocks = sections.into_iter().flat_map(|section| section.blocks);
        let charts = blocks.filter_map(|block| match block {
            Block::Drawing(chart) => Some(chart),
            _ => None,
        });
        charts.flat_map(|chart| chart.series).flat_map(|one| one.points).collect::<Vec<_>>()
    };
    let known = points(&input);
    assert!(known.iter().all(|point| point.low.is_some()), "{known:?}");
    let whole = input.runs[0].tests.len();
    input.runs[0].tests.truncate(whole / 2);
    let few = points(&input);
    assert_eq!(few.len(), known.len());
    for point in few {
        assert_eq!((point.low, point.high), (None, None), "{point:?}");
        assert_eq!(point.verdict, Some(Status::Conditional), "{point:?}");
    }
}

/// Sweeps that are tried at most after one of which others have spoiled a step.
const MORE_SWEEPS: usize = 3;

/// A growing active set leaves the cache by the server's own counters.
fn assert_cache_is_left(engine: &str) {
    let desk = Desk::new();
    let caches = [FEW_FREE_PAGES[0], ["cache_mb = 64\n", "cache_mb = 16\n"]];
    let small = small_caches(&desk, &caches);
    let sweep = |warmup: &str| {
        let line = format!(
            "sweep {engine} {small} --size 0.128 --blocks 1 --warmup {warmup} --duration 200ms"
        );
        desk.run(&format!("{line} --quiet --format json")).ok().json()
    };
    let mut document = sweep("300ms");
    // The profile's cache has 16 MB, the table 40.
    let covers = |steps: &[Value]| {
        let mb = |step: Option<&Value>| number(step.unwrap(), "active_mb");
        steps.len() >= 10 && mb(steps.first()) < 1.5 && (30.0..55.0).contains(&mb(steps.last()))
    };
    for _ in 0..MORE_SWEEPS {
        if all_curves(&document, leaves_the_cache) && all_curves(&document, covers) {
            break;
        }
        // On a busy machine the cache may not be filled so soon, and a step may be invalid.
        document = sweep("3s");
    }
    let curves = document["studies"][0]["curves"].as_array().unwrap();
    assert_eq!(
        curves.iter().map(|curve| &curve["evicted"]).collect::<Vec<_>>(),
        [false, true],
        "{document:#}"
    );
    assert!(all_curves(&document, covers), "{document:#}");
    assert!(all_curves(&document, leaves_the_cache), "{document:#}");
    assert_shown_again(&desk, "sweep", &document);
}

#[test]
fn a_growing_active_set_leaves_the_cache_of_postgres() {
    assert_cache_is_left("postgres");
}

#[test]
fn a_growing_active_set_leaves_the_cache_of_mariadb() {
    assert_cache_is_left("mariadb");
}

fn all_curves(document: &Value, is: impl Fn(&[Value]) -> bool) -> bool {
    let curves = document["studies"][0]["curves"].as_array().unwrap();
    curves.iter().all(|curve| is(curve["steps"].as_array().unwrap()))
}

fn leaves_the_cache(steps: &[Value]) -> bool {
    let misses = |step: Option<&Value>| number(step.unwrap(), "misses_per_op");
    let (first, last) = (misses(steps.first()), misses(steps.last()));
    last > 0.3 && last > first + 0.2
}

fn number(step: &Value, name: &str) -> f64 {
    step[name].as_f64().unwrap_or_else(|| panic!("{name}: {step:#}"))
}

#[test]
fn the_published_tiers_are_curves_over_the_size_of_the_database() {
    let desk = publications::desk();
    let runs = ["1", "2", "4", "8", "12", "16", "24"]
        .map(|tb| format!("exadata-x5-2-qr-hc-{tb}tb"))
        .join(" ");
    let document = desk.run(&format!("report sweep {runs} --format json")).ok().json();
    let curves = document["published"].as_array().unwrap();
    assert_eq!(curves.len(), 7, "one for each number of jobs: {document:#}");
    let at = |jobs: u64, gb: f64| {
        let curve = curves.iter().find(|curve| curve["jobs"] == jobs).unwrap();
        let points = curve["points"].as_array().unwrap();
        assert!((3..=7).contains(&points.len()), "{curve:#}");
        points.iter().find(|point| point[0] == gb).unwrap()[1].as_f64().unwrap()
    };
    // As printed.
    assert_eq!([at(1, 1024.0), at(1, 24_576.0), at(48, 16_384.0)], [2697.0, 23_693.0, 6178.0]);
    let text = desk.run(&format!("report sweep {runs} --language de")).ok();
    assert!(text.stdout.contains("TP-REPORT") && text.stdout.contains("Jobs"), "{}", text.stdout);
}

#[test]
fn what_cannot_be_swept_is_one_line() {
    let desk = Desk::new();
    assert_refused(
        &desk,
        "sweep sqlite --size 0.01 --workload SRV-QUERY1",
        2,
        &["SRV-QUERY1", "'active_rows'"],
    );
    assert_refused(&desk, "sweep sqlite --workload NOPE", 2, &["NOPE"]);
    assert_refused(&desk, "sweep sqlite --size 0", 2, &["--size"]);
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}

#[test]
fn reports_of_studies_are_as_people_have_read_them() {
    let mut wrong = BTreeSet::new();
    let studies = [
        ("layers", layers_input()),
        ("interference", interference_input()),
        ("sweep", sweep_input()),
    ];
    for (name, input) in studies.into_iter().chain([("failover", crate::failover::input())]) {
        let report = report(name);
        for (form, language, ending) in [
            ("text", Language::English, "text"),
            ("markdown", Language::German, "de"),
            ("json", Language::English, "json"),
        ] {
            let document = report.build(&Input { language, ..input.clone() });
            let text = rendered(format(form), &document, Options::plain(120));
            wrong.extend(golden(&format!("{name}.{ending}"), &text).err());
        }
        let page = rendered(format("html"), &report.build(&input), Options::default());
        assert!(page.contains("<table"), "{page}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
