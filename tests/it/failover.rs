//! Failovers of real private clusters: what fails is down, clients go on, the ledger is compared with what the others hold, and
//! nothing is left behind.

use dbdyno::model::{Failover, FailoverTimes, How, LedgerCounts, Promotion, Survivor, TestResult};
use dbdyno::report::{Input, RunTests};
use serde_json::Value;

use crate::fixture;
use crate::support::{Desk, processes, until};

const SHORT: &str = "--jobs 2 --before 2s --after 60s --quiet";

/// Three failures of a primary, the last of which lost commits, in a report's input.
pub fn input() -> Input {
    let tests = (1..=3).map(|seq| TestResult { seq, failover: Some(of(seq)), ..fixture::tests().remove(0) });
    Input {
        runs: vec![RunTests { run: fixture::run(), tests: fixture::as_tests(tests.collect()) }],
        ..Input::default()
    }
}

fn of(seq: u32) -> Failover {
    let (at, lost) = (f64::from(seq), if seq == 3 { 2 } else { 0 });
    let survivor = |name: &str, is_judge| Survivor {
        name: name.into(),
        is_member: is_judge,
        is_judge,
        commits: is_judge.then_some(1001 - lost),
        differing: is_judge.then_some(0),
        lost: is_judge.then_some(lost),
    };
    Failover {
        how: How::Kill,
        node: "n1".into(),
        nodes: ["n1", "n2", "n3"].map(String::from).into(),
        timeout_s: 2.0,
        resends: false,
        promotion: Some(Promotion { by_command: false, node: Some("n2".into()), began_s: 0.01, took_s: 0.1 * at }),
        durability: [("fsync".to_string(), "on".to_string()), ("synchronous_standby_names".to_string(), String::new())]
            .into(),
        before_per_s: 500.0,
        failed_at_s: 10.0,
        times: FailoverTimes {
            detected_s: Some(0.004 * at),
            first_commit_s: Some(0.2 * at),
            first_moved_s: Some(0.25 * at),
            regained_s: (seq < 3).then_some(0.5),
            longest_gap_s: Some(0.2 * at),
        },
        ledger: LedgerCounts {
            acknowledged: 1000,
            lost,
            in_doubt: 4,
            in_doubt_there: 1,
            refusals: 7,
            ..LedgerCounts::default()
        },
        survivors: vec![survivor("n2", true), survivor("n3", false)],
        stayed_down: true,
    }
}

/// Measures one failure; gives the only failover, and the repetition of it.
fn failed(desk: &Desk, line: &str) -> (Value, Value) {
    let report = desk.run(&format!("failover {line} {SHORT} --repeat 1 --format json")).ok().json();
    assert_eq!(processes(&desk.data().display().to_string()), Vec::<String>::new());
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
    let failover = report["studies"][0].clone();
    let one = failover["repetitions"][0].clone();
    assert_ne!(one["verdict"]["status"], "invalid", "{one:#}");
    (failover, one)
}

fn count(one: &Value, name: &str) -> u64 {
    one["ledger"][name].as_u64().unwrap_or_else(|| panic!("no {name} in {one:#}"))
}

fn time(one: &Value, name: &str) -> f64 {
    one["times"][name].as_f64().unwrap_or_else(|| panic!("no {name} in {one:#}"))
}

/// Clients went on: first the error, then a commit, and each acknowledged commit is there or lost.
fn went_on(one: &Value) {
    assert!(time(one, "detected_s") <= time(one, "first_moved_s"), "{one:#}");
    assert!(time(one, "first_commit_s") <= time(one, "first_moved_s"), "{one:#}");
    assert!(time(one, "regained_s") > 0.0 && one["stayed_down"] == true, "{one:#}");
    assert!(count(one, "acknowledged") > 0 && count(one, "foreign") == 0, "{one:#}");
    // What is sent again may be there twice, what is not cannot.
    assert!(count(one, "duplicated") <= count(one, "resent"), "{one:#}");
    let judge = one["survivors"].as_array().unwrap().iter().find(|node| node["is_judge"] == true).unwrap();
    let there = count(one, "acknowledged") - count(one, "lost") + count(one, "in_doubt_there");
    assert_eq!(judge["commits"].as_u64(), Some(there), "{one:#}");
}

#[test]
fn a_replica_that_commits_wait_for_takes_over_without_loss() {
    let desk = Desk::new();
    let (failover, one) = failed(&desk, "postgres-sync-replicas");
    went_on(&one);
    assert_eq!((count(&one, "lost"), failover["lost"].as_u64()), (0, Some(0)), "{one:#}");
    assert_eq!(one["durability"]["synchronous_standby_names"], "ANY 1 (*)");
    assert_eq!((&one["node"], &one["promotion"]["by_command"]), (&"n1".into(), &false.into()));
    let promoted = one["promotion"]["node"].as_str().unwrap();
    assert!(promoted == "n2" || promoted == "n3");
    // It is stored, and shown again.
    let text = desk.run("report failover --format text").ok().stdout;
    assert!(text.contains("No commit was lost") && text.contains("SIGKILL") && text.contains("indicative"), "{text}");
    let run = desk.run("runs show last --format json").ok().json();
    crate::support::assert_run_schema(&run);
    assert_eq!(run["tests"][0]["failover"]["ledger"], one["ledger"]);
}

#[test]
fn replicas_that_commits_do_not_wait_for_are_compared_with_the_ledger() {
    let desk = Desk::new();
    let (_, one) = failed(&desk, "postgres-replicas --nodes 2 --how freeze --timeout 500ms");
    went_on(&one);
    assert!(time(&one, "detected_s") > 0.0, "{one:#}");
    assert!(count(&one, "in_doubt") >= 1, "clients that a silent node does not answer are in doubt: {one:#}");
}

#[test]
fn galera_goes_on_by_itself_after_a_kill() {
    let (_, one) = failed(&Desk::new(), "mariadb-galera");
    went_on(&one);
    assert_eq!((count(&one, "lost"), &one["promotion"]), (0, &Value::Null), "{one:#}");
    let agree = one["survivors"].as_array().unwrap().iter().all(|node| node["differing"] == 0);
    assert!(agree, "{one:#}");
}

#[test]
fn galera_expels_a_node_that_says_nothing() {
    let (_, one) = failed(&Desk::new(), "mariadb-galera --how freeze --resend");
    went_on(&one);
    assert!(count(&one, "lost") == 0 && one["how"] == "freeze" && one["resends"] == true, "{one:#}");
}

/// A process with these words in its command line is stopped.
fn is_any_stopped(words: &str) -> bool {
    let all = procfs::process::all_processes().unwrap().flatten();
    let ours = all.filter(|process| process.cmdline().is_ok_and(|line| line.join(" ").contains(words)));
    ours.filter_map(|process| process.stat().ok()).any(|stat| stat.state == 'T')
}

#[test]
fn an_interrupted_failover_leaves_nothing() {
    let desk = Desk::new();
    let line = "failover postgres-replicas --nodes 2 --how freeze --before 1s --after 600s --timeout 500s --quiet";
    let mut run = desk.spawn(line);
    let data = desk.data().display().to_string();
    until("a node is stopped", || is_any_stopped(&data));
    crate::support::signal(run.id(), rustix::process::Signal::INT);
    run.wait().unwrap();
    assert_eq!(processes(&data), Vec::<String>::new());
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}

#[test]
fn what_cannot_fail_over_is_one_line() {
    let desk = Desk::new();
    let refused = |line: &str, words: &[&str]| drop(desk.run(&format!("failover {line}")).fails(2, words));
    let url = "postgres://me@a.invalid,b.invalid/app?nodes=all";
    refused("sqlite", &["is not a cluster", "mariadb-galera"]);
    refused("postgres", &["is not a cluster"]);
    refused(url, &["--i-may-break-it"]);
    refused(&format!("{url} --i-may-break-it"), &["--break-command"]);
    refused(&format!("{url} --i-may-break-it --break-command true"), &["--mend-command"]);
    refused(&format!("{url} --i-may-break-it --break-command true --mend-command true --how kill"), &["--how"]);
    refused(&format!("{url} --nodes 3"), &["--nodes"]);
    refused("postgres-replicas --break-command true", &["--break-command", "existing"]);
    refused("postgres-replicas --before 0", &["--before"]);
    refused("postgres-replicas --timeout 1ms", &["--timeout"]);
    refused("postgres-replicas --after 1s", &["--after"]);
    refused("postgres-replicas --keep", &["--keep"]);
    refused("postgres-replicas --nodes 1", &["--nodes"]);
    refused("postgres-replicas --how cut", &["cut"]);
    refused(
        "mysql://me@a.invalid,b.invalid/?nodes=all --i-may-break-it --break-command true --mend-command true",
        &["no clusters"],
    );
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}
