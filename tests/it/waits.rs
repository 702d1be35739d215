//! Session samples of a test: sampled beside it, stored, exported and shown.

use std::sync::OnceLock;

use serde_json::Value;

use crate::support::{Desk, assert_run_schema, directory, in_a_calm_moment, start_options};

const LINE: &str = "--size 0.01 --jobs 2 --warmup 200ms --duration 2s --format json --quiet";
/// As [`LINE`], where what a server counts is looked at, not its sessions.
const SHORT: &str = "--size 0.01 --jobs 2 --warmup 200ms --duration 500ms --format json --quiet";

/// Runs of commits on PostgreSQL and on MariaDB, in a desk that nobody changes.
struct Commits {
    desk: Desk,
    /// The numbers of the runs, which the desk has, as texts.
    runs: [String; 2],
}

/// The runs of commits that the tests of this process share.
fn commits() -> &'static Commits {
    static MEASURED: OnceLock<Commits> = OnceLock::new();
    MEASURED.get_or_init(|| {
        let desk = Desk::new();
        // On a crowded machine all of the few looks at the sessions may fall between two waits for
        // the log.
        let runs = ENGINES.map(|engine| in_a_calm_moment(|| run_commits(&desk, engine)));
        Commits { desk, runs }
    })
}

const ENGINES: [&str; 2] = ["postgres", "mariadb"];

/// Runs commits; gives the number of the run.
fn run_commits(desk: &Desk, engine: &str) -> String {
    let run = desk.run(&format!("run {engine} --workload LGWR-LAT {LINE}")).ok().json();
    assert!(activities(&run["tests"][0]["waits"]).contains(&"log-sync"), "{engine}: {run:#}");
    run["run_id"].to_string()
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

/// The activities of the events of jobs.
fn activities(waits: &Value) -> Vec<&str> {
    let events = waits["events"].as_array().unwrap().iter();
    events
        .filter(|event| event["background"] != true)
        .map(|event| event["activity"].as_str().unwrap())
        .collect()
}

/// Checks that the device's I/Os of the window are a part of those of the test, each in a bucket,
/// or that a reason is given.
fn assert_device(run: &Value, test: &Value, waits: &Value) {
    let counted =
        [("read", "os_disk_reads"), ("write", "os_disk_writes"), ("sync", "os_disk_flushes")];
    if !counted.iter().any(|(_, counter)| test["counters"][counter].is_number()) {
        assert!(waits["io_missing"].as_str().is_some_and(|why| why.contains("device")), "{run:#}");
        return;
    }
    let kinds = waits["io"].as_array().unwrap_or_else(|| panic!("{waits:#}"));
    assert!(kinds.len() >= 2, "{kinds:?}");
    for io in kinds {
        let counter = counted.iter().find(|(kind, _)| io["kind"] == *kind).unwrap().1;
        assert!(
            io["ios"].as_f64() <= test["counters"][counter].as_f64(),
            "{io:#} of {:#}",
            test["counters"]
        );
        let buckets = io["buckets"].as_array().unwrap().iter();
        let sum: f64 = buckets.map(|bucket| bucket[1].as_f64().unwrap()).sum();
        let whole = if io["mean_us"].is_null() { 0.0 } else { io["ios"].as_f64().unwrap() };
        assert_eq!(sum, whole, "{io:#}");
    }
}

#[test]
fn commits_are_seen_waiting_for_the_log_on_both_servers_and_an_export_keeps_them() {
    let Commits { desk, runs } = commits();
    for (engine, run) in ENGINES.iter().zip(runs) {
        let run = desk.shown(run);
        assert_run_schema(&run);
        let (test, waits) = (&run["tests"][0], &run["tests"][0]["waits"]);
        let [samples, sessions, idle] =
            ["samples", "sessions", "idle"].map(|name| count(&waits[name]));
        // Both jobs in every sample, and nobody else's sessions; those that end a little early are
        // missing.
        assert!(
            samples > 0 && sessions <= 2 * samples && sessions > samples,
            "{engine}: {waits:#}"
        );
        let events =
            waits["events"].as_array().unwrap().iter().filter(|event| event["background"] != true);
        assert_eq!(
            events.map(|event| count(&event["samples"])).sum::<u64>() + idle,
            sessions,
            "{waits:#}"
        );
        assert!(waits["cost"]["own_cpu_s"].as_f64().unwrap() > 0.0, "{waits:#}");
        assert!(waits["cost"]["server_cpu_s"].as_f64().unwrap() > 0.0, "{waits:#}");
        // What the kernel counted of both sessions, who may be read late.
        let [of_s, user_s, kernel_s, queued_s] = ["of_s", "user_s", "kernel_s", "queued_s"]
            .map(|name| waits["processors"][name].as_f64().unwrap());
        let window_s = test["elapsed_s"].as_f64().unwrap();
        assert!(of_s > 0.0 && of_s <= 4.0 * window_s, "{engine}: {waits:#}");
        assert!(
            user_s + kernel_s > 0.0 && user_s + kernel_s + queued_s <= 1.01 * of_s,
            "{engine}: {waits:#}"
        );
        let shares: f64 = waits["events"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|event| event["background"] != true)
            .map(|event| event["share"].as_f64().unwrap())
            .sum();
        assert!((shares - 1.0).abs() < 1e-9, "{engine}: {waits:#}");
        assert_device(&run, test, waits);
        let seconds: f64 = test["series"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|point| point["sessions"].as_object())
            .flat_map(|classes| classes.values())
            .map(|mean| mean.as_f64().unwrap())
            .sum();
        assert!(seconds > 0.0, "{engine}: {test:#}");
        // Commits of one row do not fill the log's buffer.
        let counted =
            ["log_writes", "log_buffer_full"].map(|name| test["counters"][name].as_f64().unwrap());
        assert!(counted[0] > 0.0 && counted[1] < counted[0], "{engine}: {counted:?}");
        let io = test["profiles"]["io"]["rows"].as_array().unwrap();
        let log = io.iter().find(|row| {
            row["name"].as_str().unwrap().contains("log")
                || row["name"].as_str().unwrap().contains("wal")
        });
        assert!(
            log.unwrap_or_else(|| panic!("{io:?}"))["values"]["syncs"].as_f64().unwrap() > 0.0,
            "{io:?}"
        );
        assert!(
            test["profiles"]["statements"]["missing"].is_string(),
            "{engine}: {:#}",
            test["profiles"]
        );
        assert!(test["server_log"]["lines"].is_array() && test["server_log"]["missing"].is_null());
    }
    assert_export_keeps_what_was_sampled(desk, runs);
}

/// Runs of a desk are the same after an export and an import.
fn assert_export_keeps_what_was_sampled(desk: &Desk, runs: &[String]) {
    let other = Desk::new();
    let file = other.path("runs.jsonl");
    desk.run(&format!("results export --output {}", file.display())).ok();
    other.run(&format!("results import {}", file.display())).ok();
    for run in runs {
        let [before, after] = [desk, &other].map(|desk| desk.shown(run));
        for name in ["waits", "profiles", "server_log"] {
            assert!(before["tests"][0][name].is_object());
            assert_eq!(after["tests"][0][name], before["tests"][0][name], "{name} of run {run}");
        }
    }
}

#[test]
fn without_a_sampler_or_without_sessions_waits_are_unknown() {
    let desk = Desk::new();
    for line in ["postgres --no-sampler", "sqlite"] {
        let run = desk
            .run(&format!(
                "run {line} --workload LGWR-LAT --jobs 1 --duration 300ms {}",
                LINE.replace("--jobs 2", "").replace("--duration 2s", "")
            ))
            .ok()
            .json();
        assert!(run["tests"][0]["waits"].is_null(), "{line}: {:#}", run["tests"][0]["waits"]);
    }
}

#[test]
fn statements_are_told_where_the_server_counts_them() {
    let (desk, home) = (Desk::new(), directory());
    let settings = [("shared_preload_libraries", "pg_stat_statements")];
    let server = dbdyno::server::start("postgres", &start_options(home.path(), &settings)).unwrap();
    crate::support::session(&server.url()).execute("create extension pg_stat_statements").unwrap();
    let run = desk
        .run(&format!("run {} --workload SRV-QUERY1 --drive client {SHORT}", server.url()))
        .ok()
        .json();
    let profile = &run["tests"][0]["profiles"]["statements"];
    let rows = profile["rows"].as_array().unwrap_or_else(|| panic!("{profile}"));
    let ours =
        rows.iter().find(|row| row["name"].as_str().unwrap().contains("dbdyno.small")).unwrap();
    let [calls, ops] =
        [&ours["values"]["calls"], &run["tests"][0]["ops"]].map(|value| value.as_f64().unwrap());
    assert!(calls >= ops, "{calls} calls, {ops} ops in the window");
    assert!(
        run["tests"][0]["server_log"]["missing"].is_string(),
        "an existing server's log is not ours"
    );
}

#[test]
fn mariadb_tells_statements_and_times_of_files_where_its_instruments_are_on() {
    let (desk, home) = (Desk::new(), directory());
    let settings = [("performance_schema", "on")];
    let server = dbdyno::server::start("mariadb", &start_options(home.path(), &settings)).unwrap();
    let line = format!("run {} --workload LGWR-LAT --drive client {SHORT}", server.url());
    let test = desk.run(&line).ok().json()["tests"][0].clone();
    let rows = |name: &str| {
        let profile = &test["profiles"][name];
        assert!(profile["missing"].is_null(), "{profile:#}");
        profile["rows"].as_array().unwrap().clone()
    };
    let statements = rows("statements");
    let calls = |row: &Value| row["values"]["calls"].as_f64().unwrap();
    let most = statements.iter().map(calls).fold(0.0, f64::max);
    assert!(most >= test["ops"].as_f64().unwrap(), "{statements:#?}");
    let io = rows("io");
    let timed = |row: &&Value| row["name"].as_str().unwrap().starts_with("timed: ");
    let spent_ms = |row: &Value| {
        row["values"]["write_ms"].as_f64().unwrap() + row["values"]["read_ms"].as_f64().unwrap()
    };
    assert!(io.iter().filter(timed).map(spent_ms).sum::<f64>() > 0.0, "{io:#?}");
}

#[test]
fn the_page_of_a_test_reads_like_the_reports_of_databases_and_two_stand_side_by_side() {
    let Commits { desk, runs } = commits();
    runs.iter().for_each(|run| assert_page_of_a_test(desk, run));
    let [one, other] = runs;
    let both = desk.run(&format!("report test {one}:1 {other}:1 --language de")).ok().stdout;
    let is_first = both.contains(&format!("A ({one}:1)"));
    assert!(both.contains("Nebeneinander") && is_first && both.contains("Unterschied"), "{both}");
    let html = desk.run(&format!("report test {one}:1 {other}:1 --format html")).ok().stdout;
    assert!(html.contains("Side by side") && html.contains("sessions by class of event"));
    desk.run(&format!("report test {one}:1 {other}:7"))
        .fails(2, &[&format!("no test 7 of run {other}")]);
}

/// The page of the only test of a run has its sections in their order.
fn assert_page_of_a_test(desk: &Desk, run: &str) {
    let page = desk.run(&format!("report test {run}:1")).ok().stdout;
    let sections = [
        "Verdict",
        "Load profile",
        "Time model",
        "Top events",
        "Statements",
        "Input and output",
        "Server log",
        "Second by second",
    ];
    let places: Vec<_> = sections.iter().map(|title| page.find(&format!("\n{title}\n"))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{run}: {places:?}\n{page}");
    let words = [
        "Redo (WAL)",
        "Writing and syncing the log",
        "Estimates by sampling",
        "sessions by class of event",
        "Checkpoints during the test",
    ];
    words.iter().for_each(|word| assert!(page.contains(word), "{run}: {word}\n{page}"));
}
