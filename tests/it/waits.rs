//! What the sessions of a test did: sampled beside it, stored, exported and shown.

use serde_json::Value;

use crate::support::{Desk, assert_run_schema, directory, start_options};

const LINE: &str = "--size 0.01 --jobs 2 --warmup 200ms --duration 2s --format json --quiet";

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

/// The activities of the events of jobs.
fn activities(waits: &Value) -> Vec<&str> {
    let events = waits["events"].as_array().unwrap().iter();
    events.filter(|event| event["background"] != true).map(|event| event["activity"].as_str().unwrap()).collect()
}

#[test]
fn commits_are_seen_waiting_for_the_log_on_both_servers() {
    let desk = Desk::new();
    for engine in ["postgres", "mariadb"] {
        let run = desk.run(&format!("run {engine} --workload LGWR-LAT {LINE}")).ok().json();
        assert_run_schema(&run);
        let (test, waits) = (&run["tests"][0], &run["tests"][0]["waits"]);
        let [samples, sessions, idle] = ["samples", "sessions", "idle"].map(|name| count(&waits[name]));
        // Both jobs in every sample, and nobody else's sessions; those that end a little early are missing.
        assert!(samples > 0 && sessions <= 2 * samples && sessions > samples, "{engine}: {waits:#}");
        let events = waits["events"].as_array().unwrap().iter().filter(|event| event["background"] != true);
        assert_eq!(events.map(|event| count(&event["samples"])).sum::<u64>() + idle, sessions, "{waits:#}");
        assert!(activities(waits).contains(&"log-sync"), "{engine}: {waits:#}");
        assert!(waits["cost"]["own_cpu_s"].as_f64().unwrap() > 0.0, "{waits:#}");
        assert!(waits["cost"]["server_cpu_s"].as_f64().unwrap() > 0.0, "{waits:#}");
        let seconds: f64 = test["series"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|point| point["sessions"].as_object())
            .flat_map(|classes| classes.values())
            .map(|mean| mean.as_f64().unwrap())
            .sum();
        assert!(seconds > 0.0, "{engine}: {test:#}");
        let io = test["profiles"]["io"]["rows"].as_array().unwrap();
        let log = io
            .iter()
            .find(|row| row["name"].as_str().unwrap().contains("log") || row["name"].as_str().unwrap().contains("wal"));
        assert!(log.unwrap_or_else(|| panic!("{io:?}"))["values"]["syncs"].as_f64().unwrap() > 0.0, "{io:?}");
        assert!(test["profiles"]["statements"]["missing"].is_string(), "{engine}: {:#}", test["profiles"]);
        assert!(test["server_log"]["lines"].is_array() && test["server_log"]["missing"].is_null());
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
    let run = desk.run(&format!("run {} --workload SRV-QUERY1 --drive client {LINE}", server.url())).ok().json();
    let profile = &run["tests"][0]["profiles"]["statements"];
    let rows = profile["rows"].as_array().unwrap_or_else(|| panic!("{profile}"));
    let ours = rows.iter().find(|row| row["name"].as_str().unwrap().contains("dbdyno.small")).unwrap();
    let [calls, ops] = [&ours["values"]["calls"], &run["tests"][0]["ops"]].map(|value| value.as_f64().unwrap());
    assert!(calls >= ops, "{calls} calls, {ops} ops in the window");
    assert!(run["tests"][0]["server_log"]["missing"].is_string(), "an existing server's log is not ours");
}

#[test]
fn an_export_keeps_what_was_sampled() {
    let (desk, other) = (Desk::new(), Desk::new());
    let before = desk.run(&format!("run postgres --workload LGWR-LAT {LINE}")).ok().json();
    let file = other.path("runs.jsonl");
    desk.run(&format!("runs export --output {}", file.display())).ok();
    other.run(&format!("runs import {}", file.display())).ok();
    let after = other.run("runs show last --format json").ok().json();
    for name in ["waits", "profiles", "server_log"] {
        assert!(before["tests"][0][name].is_object());
        assert_eq!(after["tests"][0][name], before["tests"][0][name], "{name}");
    }
}

#[test]
fn the_page_of_a_test_reads_like_the_reports_of_databases_and_two_stand_side_by_side() {
    let desk = Desk::new();
    for engine in ["postgres", "mariadb"] {
        desk.run(&format!("run {engine} --workload LGWR-LAT {LINE}")).ok();
        let page = desk.run("report test last:1").ok().stdout;
        let sections = [
            "Verdict",
            "Load profile",
            "Time model",
            "Top events",
            "Statements",
            "Input and output",
            "The server's log",
            "Second by second",
        ];
        let places: Vec<_> = sections.iter().map(|title| page.find(&format!("\n{title}\n"))).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{engine}: {places:?}\n{page}");
        let words = [
            "Redo (WAL)",
            "Writing and syncing the log",
            "Estimates by sampling",
            "sessions by class of event",
            "Checkpoints during the test",
        ];
        words.iter().for_each(|word| assert!(page.contains(word), "{engine}: {word}\n{page}"));
    }
    let both = desk.run("report test 1:1 2:1 --language de").ok().stdout;
    assert!(both.contains("Nebeneinander") && both.contains("A (1:1)") && both.contains("Unterschied"), "{both}");
    let html = desk.run("report test 1:1 2:1 --format html").ok().stdout;
    assert!(html.contains("Side by side") && html.contains("sessions by class of event"));
    desk.run("report test 1:1 2:7").fails(2, &["no test 7 of run 2"]);
}
