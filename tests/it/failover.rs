//! Failovers of real private clusters: what fails is down, clients go on, the ledger is compared
//! with what the others hold, and nothing is left behind.

use std::process::Stdio;

use dbdyno::model::{
    ClusterSpec, Failover, FailoverTimes, How, LedgerCounts, Promotion, SeriesPoint, Survivor,
    Test, TestResult,
};
use dbdyno::report::{FORMATS, Input, Options, REPORTS, RunTests};
use dbdyno::server::{self, StartOptions};
use rustix::process::Signal;
use serde_json::Value;

use crate::fixture;
use crate::reports::rendered;
use crate::skipped::skipped;
use crate::support::{Desk, directory, ended, finished, processes, signal, start_options, until};

const SHORT: &str = "--jobs 2 --before 2s --after 60s --quiet";

/// Settings by which each commit of PostgreSQL takes ten milliseconds: clients keep no processor
/// busy, and throughput is the same before and after a failure, whatever else runs.
const SLOW_COMMITS: [(&str, &str); 3] =
    [("shared_buffers", "16MB"), ("commit_delay", "10000"), ("commit_siblings", "0")];

/// Options for a private cluster of PostgreSQL with these settings.
fn slow_commits(desk: &Desk) -> String {
    let lines = SLOW_COMMITS.map(|(name, value)| format!("{name} = '{value}'\n")).concat();
    let head = "id = 'SLOW'\ntitle = 'slow commits'\nsize_gb = 0.01\n[settings.postgres]\n";
    std::fs::create_dir_all(desk.path("own/profiles")).unwrap();
    std::fs::write(desk.path("own/profiles/SLOW.toml"), format!("{head}{lines}")).unwrap();
    format!("--profile SLOW --catalog {}", desk.path("own").display())
}

/// Three failures of a primary, the last of which lost commits, in a report's input.
pub fn input() -> Input {
    let tests = (1..=3).map(|seq| TestResult {
        seq,
        failover: Some(outage(seq)),
        ..fixture::tests().remove(0)
    });
    Input {
        runs: vec![RunTests { run: fixture::run(), tests: fixture::as_tests(tests.collect()) }],
        ..Input::default()
    }
}

fn outage(seq: u32) -> Failover {
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
        promotion: Some(Promotion {
            by_command: false,
            node: Some("n2".into()),
            began_s: 0.01,
            took_s: 0.1 * at,
        }),
        durability: [
            ("fsync".to_string(), "on".to_string()),
            ("synchronous_standby_names".to_string(), String::new()),
        ]
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

#[test]
fn a_report_draws_the_course_of_a_failure_with_its_moments_numbered_in_their_order() {
    let mut input = input();
    let second = |t_s: u32| SeriesPoint {
        t_s: f64::from(t_s),
        interval_s: 1.0,
        ops: if (11..=12).contains(&t_s) { 7.0 } else { 500.0 },
        ..fixture::tests()[0].series[0].clone()
    };
    for test in &mut input.runs[0].tests {
        let Test::Measured(test) = test else { unreachable!("all of them were measured") };
        test.series = (1..=20).map(second).collect();
    }
    let report = REPORTS.iter().find(|report| report.name() == "failover").unwrap();
    let html = FORMATS.iter().find(|format| format.name() == "html").unwrap();
    let page = rendered(*html, &report.build(&input), Options::default());
    for told in [
        "Throughput over the failure",
        "Numbers on the curve of test 1, times since the failure: 0 = the failure, 0 s; \
         1 = First error that a client saw, 0.00400 s; 2 = First commit, of any client, 0.200 s; \
         3 = First commit, of a client of the failed node, 0.250 s; \
         4 = 90 % of the throughput before, 0.500 s.",
        // At the failure, and in the second after it.
        ">0</text>",
        ">1, 2, 3, 4</text>",
        // Bad seconds are drawn.
        "test 3: Time since the start 12, 7.000 ops/s",
    ] {
        assert!(page.contains(told), "no {told:?} in {page}");
    }
}

/// Measures one failure; gives the study, and its only repetition.
fn measure_failure(desk: &Desk, line: &str) -> (Value, Value) {
    let done = desk.run(&format!("failover {line} {SHORT} --repeat 1 --format json"));
    check_failover(desk, &done.ok().json())
}

/// Nothing is left behind.
fn check_failover(desk: &Desk, report: &Value) -> (Value, Value) {
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
    // 0 where the gap is no longer than the usual ones of a busy machine: nothing was interrupted.
    assert!(time(one, "regained_s") >= 0.0, "{one:#}");
    assert!(one["stayed_down"] == true, "{one:#}");
    assert!(count(one, "acknowledged") > 0 && count(one, "foreign") == 0, "{one:#}");
    // What is sent again may be there twice, what is not cannot.
    assert!(count(one, "duplicated") <= count(one, "resent"), "{one:#}");
    let judge =
        one["survivors"].as_array().unwrap().iter().find(|node| node["is_judge"] == true).unwrap();
    let there = count(one, "acknowledged") - count(one, "lost") + count(one, "in_doubt_there");
    assert_eq!(judge["commits"].as_u64(), Some(there), "{one:#}");
}

#[test]
fn a_replica_that_commits_wait_for_takes_over_without_loss() {
    let desk = Desk::new();
    let line = format!("postgres-sync-replicas {}", slow_commits(&desk));
    let (failover, one) = measure_failure(&desk, &line);
    went_on(&one);
    assert_eq!((count(&one, "lost"), failover["lost"].as_u64()), (0, Some(0)), "{one:#}");
    assert_eq!(one["durability"]["synchronous_standby_names"], "ANY 1 (*)");
    assert_eq!((&one["node"], &one["promotion"]["by_command"]), (&"n1".into(), &false.into()));
    let promoted = one["promotion"]["node"].as_str().unwrap();
    assert!(promoted == "n2" || promoted == "n3");
    // It is stored, and shown again.
    let text = desk.run("report failover --format text").ok().stdout;
    assert!(
        text.contains("No commit was lost")
            && text.contains("SIGKILL")
            && text.contains("indicative"),
        "{text}"
    );
    let run = desk.shown("last");
    crate::support::assert_run_schema(&run);
    assert_eq!(run["tests"][0]["failover"]["ledger"], one["ledger"]);
}

#[test]
fn replicas_that_commits_do_not_wait_for_are_compared_with_the_ledger() {
    let desk = Desk::new();
    let target = "postgres-replicas --nodes 2 --fault freeze --timeout 500ms";
    let (_, one) = measure_failure(&desk, &format!("{target} {}", slow_commits(&desk)));
    went_on(&one);
    assert!(time(&one, "detected_s") > 0.0, "{one:#}");
    assert!(
        count(&one, "in_doubt") >= 1,
        "clients that a silent node does not answer are in doubt: {one:#}"
    );
}

#[test]
fn the_users_command_promotes_a_replica() {
    let desk = Desk::new();
    // What pg_ctl promote does, whoever runs the server.
    let promote = format!(
        "cd {}/*-n2/data && touch promote && kill -USR1 $(head -n 1 postmaster.pid)",
        desk.data().display()
    );
    let line = format!(
        "failover postgres-replicas --nodes 2 {SHORT} {} --repeat 1 --format json",
        slow_commits(&desk)
    );
    let mut command = desk.command(&line);
    command.args(["--promote-command", &promote]);
    let (_, one) = check_failover(&desk, &finished(command, &line).ok().json());
    went_on(&one);
    assert_eq!(
        (&one["promotion"]["by_command"], &one["promotion"]["node"]),
        (&true.into(), &Value::Null),
        "{one:#}"
    );
}

#[test]
fn galera_goes_on_by_itself_after_a_kill() {
    let (_, one) = measure_failure(&Desk::new(), "mariadb-galera");
    went_on(&one);
    assert_eq!((count(&one, "lost"), &one["promotion"]), (0, &Value::Null), "{one:#}");
    let agree = one["survivors"].as_array().unwrap().iter().all(|node| node["differing"] == 0);
    assert!(agree, "{one:#}");
}

#[test]
fn galera_expels_a_node_that_says_nothing() {
    let (_, one) = measure_failure(&Desk::new(), "mariadb-galera --fault freeze --resend");
    went_on(&one);
    assert!(
        count(&one, "lost") == 0 && one["how"] == "freeze" && one["resends"] == true,
        "{one:#}"
    );
}

#[test]
fn a_node_that_is_cut_off_is_left_by_its_clients() {
    for target in ["postgres-sync-replicas", "mariadb-galera"] {
        let desk = Desk::new();
        // Commits of Galera wait for the links.
        let is_postgres = target.starts_with("postgres");
        let slow = if is_postgres { slow_commits(&desk) } else { "--network-delay 5ms".into() };
        let done = desk.run(&format!(
            "failover {target} --fault partition --timeout 1s {SHORT} {slow} --repeat 1 --format \
             json"
        ));
        if done.code == Some(3) && done.stderr.contains("--network-delay") {
            return skipped("LINK", done.stderr);
        }
        let (_, one) = check_failover(&desk, &done.ok().json());
        went_on(&one);
        assert_eq!((count(&one, "lost"), &one["how"]), (0, &"cut".into()), "{one:#}");
    }
}

#[test]
fn commands_of_the_user_break_and_mend_an_existing_cluster() {
    let (desk, dir) = (Desk::new(), directory());
    let cluster =
        Some(ClusterSpec { name: "postgres-replicas".into(), nodes: 2, link_delay: None });
    let options = StartOptions { cluster, ..start_options(dir.path(), &SLOW_COMMITS) };
    let cluster = server::start("postgres", &options).unwrap();
    let replica = cluster.pids()[1];
    let line = format!(
        "failover {} --allow-disruption --node n2 --repeat 1 {SHORT} --format json",
        cluster.url()
    );
    let mut command = desk.command(&line);
    command.args(["--fault-command", &format!("test $DBDYNO_NODE = n2 && kill -STOP {replica}")]);
    command.args(["--repair-command", &format!("kill -CONT {replica}")]);
    let one = finished(command, &line).ok().json()["studies"][0]["repetitions"][0].clone();
    assert_eq!(
        (&one["how"], &one["node"], &one["stayed_down"]),
        (&"command".into(), &"n2".into(), &true.into())
    );
    assert_eq!(
        (count(&one, "lost"), count(&one, "in_doubt"), &one["times"]["detected_s"]),
        (0, 0, &Value::Null)
    );
    assert!(!is_any_stopped(&dir.path().display().to_string()), "it is mended");
    let there = "select to_regclass('dbdyno.failover_ledger') is null";
    let primary = cluster.url().replace("?nodes=all", "");
    assert_eq!(
        crate::support::column(crate::support::session(&primary).as_mut(), there),
        ["t"],
        "the ledger is removed"
    );
    let mut command = desk.command(&line);
    command.args(["--fault-command", &format!("kill -STOP {replica}")]);
    command.args(["--repair-command", &format!("kill -CONT {replica}; false")]);
    finished(command, &line).fails(3, &["--repair-command"]);
    let kept = desk.shown("last");
    assert_eq!(kept["tests"].as_array().map(Vec::len), Some(1), "{kept:#}");
    let refused = desk
        .run(&format!("{line} --fault-command false --repair-command true"))
        .fails(3, &["--fault-command"]);
    assert!(refused.stdout.is_empty());
}

#[test]
fn an_interrupt_ends_a_command_that_repairs() {
    let (desk, dir) = (Desk::new(), directory());
    let cluster =
        Some(ClusterSpec { name: "postgres-replicas".into(), nodes: 2, link_delay: None });
    let options = StartOptions { cluster, ..start_options(dir.path(), &SLOW_COMMITS) };
    let cluster = server::start("postgres", &options).unwrap();
    let begun = desk.path("begun");
    let repair = format!("echo $$ >{0}.new && mv {0}.new {0}; exec sleep 600", begun.display());
    let line = format!(
        "failover {} --allow-disruption --node n2 --repeat 1 {SHORT} --format json",
        cluster.url()
    );
    let mut command = desk.command(&line);
    // Nothing fails, so that throughput is soon what it was.
    command.args(["--fault-command", "true", "--repair-command", &repair]);
    let run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the node is being repaired", || begun.exists());
    let pid = std::fs::read_to_string(&begun).unwrap().trim().parse().unwrap();
    signal(run.id(), Signal::INT);
    let done = ended(run, &line);
    // Also without progress: the node that is left broken, and the end.
    let said: Vec<&str> = done.stderr.lines().collect();
    let [left, end] = said[..] else { panic!("{done:#?}") };
    let is_named = left.starts_with("node n2 is not repaired: --repair-command: ");
    assert!(is_named && done.code == Some(130), "{done:#?}");
    assert!(end.contains("interrupted; what was measured is stored"), "{done:#?}");
    assert!(procfs::process::Process::new(pid).is_err(), "the command is gone");
    let kept = desk.shown("last");
    assert_eq!(kept["status"], "interrupted");
    assert_eq!(kept["tests"].as_array().map(Vec::len), Some(1), "{kept:#}");
}

/// A process with these words in its command line is stopped.
fn is_any_stopped(words: &str) -> bool {
    let all = procfs::process::all_processes().unwrap().flatten();
    let ours =
        all.filter(|process| process.cmdline().is_ok_and(|line| line.join(" ").contains(words)));
    ours.filter_map(|process| process.stat().ok()).any(|stat| stat.state == 'T')
}

#[test]
fn an_interrupted_failover_leaves_nothing() {
    let desk = Desk::new();
    let line = "failover postgres-replicas --nodes 2 --fault freeze --before 1s --after 600s \
                --timeout 500s --quiet";
    let mut run = desk.spawn(line);
    let data = desk.data().display().to_string();
    until("a node is stopped", || is_any_stopped(&data));
    signal(run.id(), Signal::INT);
    run.wait().unwrap();
    assert_eq!(processes(&data), Vec::<String>::new());
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}

#[test]
fn what_cannot_fail_over_is_one_line() {
    let desk = Desk::new();
    let refused =
        |line: &str, words: &[&str]| drop(desk.run(&format!("failover {line}")).fails(2, words));
    let url = "postgres://me@a.invalid,b.invalid/app?nodes=all";
    refused("sqlite", &["is not a cluster", "mariadb-galera"]);
    refused("postgres", &["is not a cluster"]);
    refused(url, &["--allow-disruption"]);
    refused(&format!("{url} --allow-disruption"), &["--fault-command"]);
    refused(&format!("{url} --allow-disruption --fault-command true"), &["--repair-command"]);
    refused(
        &format!(
            "{url} --allow-disruption --fault-command true --repair-command true --fault kill"
        ),
        &["--fault"],
    );
    refused(&format!("{url} --nodes 3"), &["--nodes"]);
    refused("postgres-replicas --fault-command true", &["--fault-command", "existing"]);
    refused("postgres-replicas --before 0", &["--before"]);
    refused("postgres-replicas --timeout 1ms", &["--timeout"]);
    refused("postgres-replicas --after 1s", &["--after"]);
    refused("postgres-replicas --keep", &["--keep"]);
    refused("postgres-replicas --nodes 1", &["--nodes"]);
    refused(
        "mysql://me@a.invalid,b.invalid/?nodes=all --allow-disruption --fault-command true \
         --repair-command true",
        &["no clusters"],
    );
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}
