//! Faults in a cluster that must be reported by name: slow links, replicas that lag, nodes that
//! stop without a word, writers that collide, writers that are held up.

use std::time::Duration;

use dbdyno::model::ClusterSpec;
use dbdyno::server::PrivateServer;
use procfs::process::all_processes;
use rustix::process::Signal;
use serde_json::Value;

use crate::clusters::{
    BASE, cluster, codes, each, is_lost, jobs_at_work, look, replicas, run_at_work,
    tests_around_a_loss, try_cluster,
};
use crate::remote::Helper;
use crate::skipped::skipped;
use crate::support::{
    Desk, column, directory, ended, free_port, processes, session, signal, until,
};

/// The way from node to node in these tests, in us.
const DELAY_US: f64 = 5_000.0;

fn fact(run: &Value, section: &str, name: &str) -> String {
    run["disclosure"][section][name]
        .as_str()
        .unwrap_or_else(|| panic!("{name}: {:#}", run["disclosure"]))
        .to_owned()
}

/// The run, or none and a line that says so where no networks can be made.
fn with_links(desk: &Desk, target: &str) -> Option<Value> {
    let line = format!("run {target} --network-delay 5ms {BASE} --workload LGWR-LAT --jobs 1");
    let done = desk.run(&line);
    if done.code == Some(3) && done.stderr.contains("--network-delay") {
        skipped("LINK", done.stderr);
        return None;
    }
    Some(done.ok().json())
}

#[test]
fn a_commit_on_several_nodes_waits_for_the_links_between_them() {
    for (target, trips) in
        [("postgres-sync-replicas --nodes 2", 2.0), ("mariadb-galera --nodes 2", 1.0)]
    {
        let desk = Desk::new();
        let Some(run) = with_links(&desk, target) else { return };
        let test = &run["tests"][0];
        // A standby answers what was sent to it; of Galera only that another node is heard is sure.
        let mean_us = test["service_time_us"]["mean"].as_f64().unwrap();
        assert!(mean_us >= trips * DELAY_US, "{target}: {mean_us} us");
        let trip_us: f64 = fact(&run, "network", "link_round_trip_us").parse().unwrap();
        assert!(trip_us >= 2.0 * DELAY_US, "{target}: {trip_us} us");
        assert_eq!(fact(&run, "network", "link_delay_us"), "5000");
        let consistency = fact(&run, "settings", "cluster_consistency");
        let expected = if target.contains("galera") {
            "wsrep_sync_wait=0"
        } else {
            "standbys=1, synchronous=1"
        };
        assert!(consistency.contains(expected), "{consistency}");
        let report = desk.run("report nodes").ok().stdout;
        assert!(
            report.contains("5.00 ms from node to node") && report.contains(expected),
            "{report}"
        );
        assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
        assert_eq!(processes(&desk.data().display().to_string()), Vec::<String>::new());
    }
}

#[test]
fn links_that_nobody_can_have_are_refused() {
    let desk = Desk::new();
    let of = |target: &str, delay: &str| {
        desk.run(&format!("run {target} {BASE} --workload LGWR-LAT --network-delay {delay}"))
    };
    of("sqlite", "1ms").fails(2, &["--network-delay", "not a private cluster"]);
    of("postgres", "1ms").fails(2, &["--network-delay", "not a private cluster"]);
    of("postgres-replicas", "2s").fails(2, &["--network-delay", "250ms or less"]);
}

/// Tests of writers that are to collide, at most.
const MAX_TRIES: u32 = 10;

/// Sends a signal to a server's process; one that has ended meanwhile needs none.
fn send_signal(pid: u32, signal: Signal) {
    let _ = rustix::process::Pid::from_raw(pid as i32)
        .map(|pid| rustix::process::kill_process(pid, signal));
}

/// A node's server and all its children.
fn processes_of(cluster: &PrivateServer, at: usize) -> Vec<u32> {
    let server = cluster.pids()[at];
    let all = all_processes().unwrap().flatten();
    let children =
        all.filter(|process| process.stat().is_ok_and(|stat| stat.ppid == server as i32));
    std::iter::once(server).chain(children.map(|process| process.pid as u32)).collect()
}

#[test]
fn a_node_that_stops_without_a_word_spoils_its_test_and_the_run_goes_on() {
    let (desk, dir) = (Desk::new(), directory());
    let cluster = replicas(dir.path(), 3);
    let (run, line) = run_at_work(&desk, &cluster.url());
    let frozen = processes_of(&cluster, 2);
    frozen.iter().for_each(|pid| send_signal(*pid, Signal::STOP));
    let done = ended(run, &line);
    frozen.iter().for_each(|pid| send_signal(*pid, Signal::CONT));
    done.ok();
    tests_around_a_loss(&desk);
}

#[test]
fn a_commit_that_waits_for_a_standby_that_is_gone_ends_its_test() {
    let (desk, dir) = (Desk::new(), directory());
    let cluster =
        cluster(dir.path(), "postgres", "postgres-sync-replicas", 2, &[("shared_buffers", "16MB")]);
    let (url, nodes) = (cluster.url(), each(&cluster.url()));
    let line = format!(
        "run {url} --size 0.01 --warmup 0 --duration 600s --workload LGWR-LAT --jobs 1 --quiet"
    );
    let run = desk.spawn(&line);
    let loops = "select count(*) from pg_stat_activity where pid <> pg_backend_pid() and query \
                 like 'call dbdyno.w_lgwr%'";
    until("the job loops", || column(look(&nodes[0]).as_mut(), loops) == ["1"]);
    processes_of(&cluster, 1).iter().for_each(|pid| send_signal(*pid, Signal::KILL));
    let done = ended(run, &line);
    let run = desk.shown("last");
    assert_eq!(run["tests"][0]["verdict"]["status"], "invalid", "{run:#}");
    let said = codes(&run["tests"][0]).concat();
    assert!(said.contains("of which none is left"), "{said} {done:?}");
    let waiting = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'";
    assert_eq!(
        column(look(&nodes[0]).as_mut(), waiting),
        ["0"],
        "nothing of ours goes on waiting there"
    );
}

/// Ways to remove a node of Galera in the window of a test.
const WAYS: [&str; 3] = ["cut off", "frozen", "killed"];

#[test]
fn a_node_of_galera_that_is_cut_off_frozen_or_killed_is_named_and_the_run_ends() {
    let (desk, dir) = (Desk::new(), directory());
    // Commits that wait for the links keep no processor busy.
    let link_delay = Some(Duration::from_millis(5));
    let spec = ClusterSpec { name: "mariadb-galera".into(), nodes: 3, link_delay };
    let cluster = match try_cluster(
        dir.path(),
        "mariadb",
        spec,
        &[("innodb_flush_log_at_trx_commit", "0")],
    ) {
        Err(error) if error.to_string().contains("--network-delay") => {
            return skipped("LINK", error);
        }
        cluster => cluster.unwrap(),
    };
    let (url, nodes) = (cluster.url(), each(&cluster.url()));
    let sizes = || nodes.iter().map(|node| cluster_size(node)).collect::<Vec<_>>();
    let line = format!(
        "run {url} --size 0.01 --warmup 0 --duration 12s --workload LGWR-LAT --jobs 3 --quiet"
    );
    for way in WAYS {
        let before = commits(&nodes[2]);
        let run = desk.spawn(&line);
        until("the third node commits", || commits(&nodes[2]) > before + 20.0);
        let frozen = processes_of(&cluster, 2);
        match way {
            "cut off" => cluster.cut_off(2, true).unwrap(),
            "frozen" => frozen.iter().for_each(|pid| send_signal(*pid, Signal::STOP)),
            _ => signal(cluster.pids()[2], Signal::KILL),
        }
        let done = ended(run, &line);
        frozen.iter().filter(|_| way == "frozen").for_each(|pid| send_signal(*pid, Signal::CONT));
        cluster.cut_off(2, false).unwrap();
        done.ok();
        let run = desk.shown("last");
        is_lost(&run["tests"][0], "n3", way);
        until("the node is back, unless it is gone", || way == "killed" || sizes() == [3, 3, 3]);
    }
}

fn status(url: &str, name: &str) -> Option<f64> {
    let sql = format!(
        "select variable_value from information_schema.global_status where variable_name = '{name}'"
    );
    column(look(url).as_mut(), &sql).first()?.parse().ok()
}

fn commits(url: &str) -> f64 {
    status(url, "wsrep_local_commits").unwrap_or(0.0)
}

fn cluster_size(url: &str) -> u32 {
    status(url, "wsrep_cluster_size").unwrap_or(0.0) as u32
}

#[test]
fn each_nodes_machine_is_told_by_itself_and_all_in_sum() {
    let (desk, dir) = (Desk::new(), directory());
    let cluster = replicas(dir.path(), 2);
    let ports = [free_port(), free_port()];
    let _started = ports.map(|port| Helper::node_exporter("127.0.0.1", port));
    let told =
        |name: &str, at: usize| format!("--host-metrics {name}=http://127.0.0.1:{}", ports[at]);
    let of = |told: &str| {
        let short = BASE.replace("500ms", "200ms");
        desk.run(&format!("run {} {short} --workload SRV-QUERY1 --jobs 2 {told}", cluster.url()))
    };
    let run = of(&format!("{} {}", told("n1", 0), told("n2", 1))).ok().json();
    let test = &run["tests"][0];
    let total = |node: &Value| node["window_counters"]["os_cpu_total_s"].as_f64().unwrap();
    let each: Vec<f64> = test["node_figures"].as_array().unwrap().iter().map(total).collect();
    let of_all = test["metrics"]["cpu_busy_pct"].as_f64();
    assert!(
        each.len() == 2 && each.iter().all(|total_s| *total_s > 0.0) && of_all.is_some(),
        "{test:#}"
    );
    let (cores, own) = (fact(&run, "hardware", "threads"), dbdyno::host::processors());
    assert_eq!(cores, (2 * own).to_string(), "both machines");
    assert!(desk.run("report test last:1").ok().stdout.contains("CPU"));
    let half = of(&told("n1", 0)).ok().json();
    assert!(
        half["tests"][0]["metrics"]["cpu_busy_pct"].is_null(),
        "{:#}",
        half["tests"][0]["metrics"]
    );
    of(&told("n7", 0)).fails(2, &["there is no node 'n7'", "n1, n2"]);
    of(&format!("--host-metrics http://127.0.0.1:{}", ports[0]))
        .fails(2, &["names one host", "2 nodes"]);
    of(&format!("{} {}", told("n1", 0), told("n2", 0))).fails(2, &["one address too many"]);
}

#[test]
fn the_lag_of_a_replica_that_stands_still_is_told() {
    let (desk, dir) = (Desk::new(), directory());
    let cluster = replicas(dir.path(), 3);
    let (url, nodes) = (cluster.url(), each(&cluster.url()));
    let line = format!(
        "run {url} --size 0.01 --warmup 0 --duration 2s --workload SRV-QUERY1 --jobs 3 --quiet"
    );
    let run = desk.spawn(&line);
    until("each node has its job", || [0, 1, 2].map(|at| jobs_at_work(&nodes[at])) == [1, 1, 1]);
    column(look(&nodes[2]).as_mut(), "select pg_wal_replay_pause()");
    column(session(&nodes[0]).as_mut(), "create table late (id int)");
    ended(run, &line).ok();
    column(look(&nodes[2]).as_mut(), "select pg_wal_replay_resume()");
    let run = desk.shown("last");
    let lag = |at: usize| run["tests"][0]["node_figures"][at]["lag_s"].as_f64();
    assert_eq!(lag(0), None, "the primary");
    assert!(lag(2).unwrap() > 0.0, "{:#}", run["tests"][0]["node_figures"]);
}

#[test]
fn writers_that_collide_on_galera_and_those_that_are_held_up_are_told() {
    let (desk, dir) = (Desk::new(), directory());
    let cluster = cluster(
        dir.path(),
        "mariadb",
        "mariadb-galera",
        2,
        &[("innodb_flush_log_at_trx_commit", "0")],
    );
    let (url, nodes) = (cluster.url(), each(&cluster.url()));
    let of = |what: &str| desk.run(&format!("run {url} {BASE} --drive client {what}")).ok().json();
    let collisions = || {
        of("--workload TP-UPDATE32 --jobs 2")["tests"][0]["errors_by_class"]["certification"]
            .as_u64()
    };
    // In a short window two writers may miss one another.
    assert!(
        (0..MAX_TRIES).any(|_| collisions().is_some_and(|count| count > 0)),
        "no collision in {MAX_TRIES} tests"
    );

    // A node that tells the others to wait as soon as one transaction waits to be applied.
    let hurry = "set global wsrep_provider_options = 'gcs.fc_limit=1;gcs.fc_factor=0.01'";
    look(&nodes[1]).execute(hurry).unwrap();
    let held_up = of("--workload TP-LIGHT:update_pct=100 --jobs 8 --nodes 1");
    let test = &held_up["tests"][0];
    let codes = codes(test);
    assert!(
        codes.iter().any(|code| code.contains("flow-control")),
        "{codes:?} {:#}",
        test["node_figures"]
    );
}

#[test]
fn a_cluster_is_started_anew_for_each_block() {
    for target in ["mariadb-galera", "postgres-sync-replicas"] {
        let desk = Desk::new();
        let line = format!(
            "run {target} --nodes 2 --size 0.01 --workload SRV-QUERY1 --jobs 2 --ops 50 --repeat 2 \
             --fresh server --format json --quiet"
        );
        let run = desk.run(&line).ok().json();
        let tests = run["tests"].as_array().unwrap();
        assert!(tests.len() >= 2 && tests.iter().all(|test| test["nodes"] == 2), "{run:#}");
        assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
    }
}
