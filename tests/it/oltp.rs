//! Workloads with tables of their own that others delete from, change and search: a queue beside an
//! old snapshot, and the figures that show what it costs.

use serde_json::Value;

use crate::servers::Lease;
use crate::support::{Desk, column, try_session_of};

fn has(test: &Value, code: &str) -> bool {
    test["verdict"]["reasons"].as_array().unwrap().iter().any(|reason| reason["code"] == code)
}

/// Blocks that the database asked its cache for, per commit of a test.
fn reads_per_commit(test: &Value) -> f64 {
    let [reads, commits] =
        ["logical_reads", "commits"].map(|name| test["counters"][name].as_f64().unwrap());
    reads / commits
}

#[test]
fn a_queue_beside_an_old_snapshot_collapses_and_the_verdict_says_so() {
    // Without waits for the disk the queue itself is what takes the time.
    let lease = Lease::new("postgres", None, &[("synchronous_commit", "off")]);
    let desk = Desk::new();
    let run = |options: &str| {
        let fixed = "--size 0.01 --jobs 1 --warmup 0 --format json --quiet";
        let document = desk.run(&format!("run {} {fixed} {options}", lease.url)).ok().json();
        let [test] = document["tests"].as_array().unwrap().as_slice() else { panic!() };
        test.clone()
    };
    let free = run("--workload TP-QUEUE --duration 500ms");
    // The last quarter of the seconds is compared with the first.
    let held = run("--workload TP-QUEUE:horizon=held --duration 8s");
    assert!(has(&held, "collapse"), "{:#}", held["verdict"]);
    for test in [&free, &held] {
        assert!(!has(test, "contract") && !has(test, "crosscheck"), "{:#}", test["verdict"]);
        let bytes = test["metrics"]["table_bytes_per_op"].as_f64().unwrap();
        assert!(bytes.is_finite(), "{bytes}");
    }
    // A row and its entry in the index take more than 200 bytes, and nothing of them is used again.
    let bytes = held["metrics"]["table_bytes_per_op"].as_f64().unwrap();
    assert!(bytes > 200.0, "{bytes} bytes per op");
    // What an op passes over is read, whoever else keeps the machine busy.
    let [few, many] = [&free, &held].map(reads_per_commit);
    assert!(many > few, "{many} reads of a commit beside {few}");
    // The snapshot and the table went with the test.
    let mut session = try_session_of("postgres", &lease.url).unwrap();
    let open = column(
        session.as_mut(),
        "select count(*) from pg_stat_activity where datname = current_database() and backend_xmin \
         is not null and pid <> pg_backend_pid() and backend_type = 'client backend'",
    );
    assert_eq!(open, ["0"]);
    let left = "select count(*) from pg_class where relname like 'tp_queue%'";
    assert_eq!(column(session.as_mut(), left), ["0"]);
}

#[test]
fn what_scripts_cannot_hold_is_left_out_of_them_with_the_reason() {
    let desk = Desk::new();
    let dir = desk.path("pack");
    let ids = "--workload TP-QUEUE --workload TP-QUEUE:horizon=held --workload TP-UPSERT";
    let line = format!("export-sql postgres --size 0.01 {ids} --output {}", dir.display());
    desk.run(&line).ok();
    let readme = std::fs::read_to_string(dir.join("README.md")).unwrap();
    assert!(readme.contains("- TP-QUEUE: it holds a session open beside its jobs"), "{readme}");
    assert!(dir.join("workloads/TP-QUEUE/setup.sql").exists());
    assert!(!dir.join("workloads/TP-QUEUE.horizon-held").exists());
}

#[test]
fn the_suite_of_todays_questions_runs_and_says_what_an_engine_cannot() {
    for (target, lacks) in [("postgres", &[][..]), ("sqlite", &["TP-HOT"])] {
        let desk = Desk::new();
        let line = format!(
            "run {target} --suite oltp-2026 --size 0.01 --jobs 2 --repeat 1 --time-scale 0.005 \
             --quiet --format json"
        );
        let document = desk.run(&line).ok().json();
        let tests = document["tests"].as_array().unwrap();
        let run = |id: &str| tests.iter().any(|test| test["workload"] == id);
        for id in ["TP-HOT", "TP-QUEUE", "TP-UPSERT", "DL-DELETE", "SRV-JSON", "SRV-TEXT"] {
            assert_eq!(run(id), !lacks.contains(&id), "{id} on {target}");
        }
        let skewed = tests.iter().filter(|test| test["params"]["keys"] == "zipf-0.99").count();
        assert_eq!(skewed, 4, "{target}");
        for test in tests {
            assert!(!has(test, "failed") && !has(test, "errors"), "{target}: {test:#}");
        }
    }
}
