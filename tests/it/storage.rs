//! Not cached means not cached, and what a cached look-up reads: judged from real runs.

use crate::support::{Desk, Server, finished};
use serde_json::Value;

/// The tests of a short run.
fn tests(line: &str) -> Vec<Value> {
    let desk = Desk::new();
    let line = format!("run {line} --size 0.1 --profile XS --jobs 1 --warmup 0 --duration 500ms --format json");
    desk.run(&line).ok().json()["tests"].as_array().unwrap().clone()
}

fn metric(test: &Value, name: &str) -> f64 {
    test["metrics"][name].as_f64().unwrap_or_else(|| panic!("{} has no {name}: {test:#}", test["workload"]))
}

const LOOKUPS: &str = "--workload SRV-QUERY1 --workload SRV-QUERY25 --workload SRV-REPORT";

/// Blocks of a query with 1, 25 and 125 rows.
fn blocks(target: &str) -> Vec<f64> {
    tests(&format!("{target} {LOOKUPS}")).iter().map(|test| metric(test, "logical_reads_per_op")).collect()
}

#[test]
fn postgres_reads_about_as_many_blocks_per_query_as_was_published() {
    for (found, published) in blocks("postgres").iter().zip([3.0, 27.0, 126.5]) {
        assert!((found - published).abs() < 1.6, "{found} instead of {published}");
    }
}

#[test]
fn sqlite_descends_a_tree_for_each_row() {
    for (found, rows) in blocks("sqlite").iter().zip([1.0, 25.0, 125.0]) {
        assert!((2.0 * rows..=3.0 * rows + 4.0).contains(found), "{found} for {rows} rows");
    }
}

#[test]
fn what_the_database_lacks_comes_from_the_device_also_in_a_machine_with_more_memory_than_data() {
    for test in tests("sqlite --workload STO-READ --workload STO-SCATTER") {
        // A file system in memory has no device: then the verdict says so.
        let codes: Vec<_> =
            test["verdict"]["reasons"].as_array().unwrap().iter().map(|reason| &reason["code"]).collect();
        if codes.iter().any(|code| *code == "tier") {
            continue;
        }
        let shares = ["tier_buffer_pct", "tier_os_cache_pct", "tier_device_pct"].map(|name| metric(&test, name));
        assert!((shares.iter().sum::<f64>() - 100.0).abs() < 0.01, "{shares:?}");
        assert!(shares[2] > shares[1], "{}: {shares:?}", test["workload"]);
    }
}

#[test]
fn the_real_number_of_processes_is_counted_and_engines_without_parallel_query_say_so() {
    let threads: Vec<f64> = tests("postgres --workload DA-SCAN:threads=2 --workload DA-SCAN")
        .iter()
        .map(|test| metric(test, "threads_used"))
        .collect();
    assert!((threads[0] - 2.0).abs() < 0.1 && (threads[1] - 1.0).abs() < 0.01, "{threads:?}");
    Desk::new().run("run sqlite --workload DA-SCAN:threads=2").fails(2, &["DA-SCAN", "threads=2", "one thread"]);
}

#[test]
fn where_the_files_cannot_be_put_out_of_the_cache_the_verdict_says_which_tier_was_measured() {
    // An ordinary role may not know where the server's files are; what was just loaded lies in the system's cache.
    let (desk, server) = (Desk::new(), Server::shared());
    server.create_user("outsider", "pale-cedar-9", true);
    let line = format!("run {} --workload STO-READ --size 0.1 --jobs 1 --warmup 0", server.url("outsider"));
    let mut run = desk.command(&format!("{line} --duration 500ms --format json"));
    run.env("PGPASSWORD", "pale-cedar-9");
    let test = finished(run, "run").ok().json()["tests"][0].clone();
    let reasons = test["verdict"]["reasons"].as_array().unwrap();
    let tier = reasons.iter().find(|reason| reason["code"] == "tier").unwrap_or_else(|| panic!("{test:#}"));
    assert!(tier["text"].as_str().unwrap().contains("the operating system's cache"), "{tier}");
    assert_ne!(test["verdict"]["status"], "valid");
    assert_eq!(metric(&test, "tier_device_pct").round(), 0.0);
}
