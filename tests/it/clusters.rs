//! Clusters: jobs are where they should be, the nodes' own counters add up to our ops, a node that
//! dies spoils its test by name.

use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dbdyno::engine::{self, Access, ConnectTo, Database, ErrorClass, Session};
use dbdyno::error::Kind;
use dbdyno::model::{ClusterSpec, Target};
use dbdyno::server::{self, PrivateServer, StartOptions};
use rustix::process::Signal;
use serde_json::Value;

use crate::security::assert_closed_to_others;
use crate::support::{Desk, column, directory, processes, signal, start_options, until};

pub const BASE: &str = "--size 0.01 --warmup 0 --duration 500ms --format json --quiet";

pub fn replicas(dir: &std::path::Path, nodes: u32) -> PrivateServer {
    let settings = [("shared_buffers", "16MB"), ("fsync", "off"), ("max_connections", "40")];
    cluster(dir, "postgres", "postgres-replicas", nodes, &settings)
}

/// A private cluster of so many nodes.
pub fn cluster(
    dir: &std::path::Path,
    engine: &str,
    name: &str,
    nodes: u32,
    settings: &[(&str, &str)],
) -> PrivateServer {
    try_cluster(dir, engine, ClusterSpec { name: name.into(), nodes, link_delay: None }, settings)
        .unwrap()
}

pub fn try_cluster(
    dir: &std::path::Path,
    engine: &str,
    spec: ClusterSpec,
    settings: &[(&str, &str)],
) -> dbdyno::error::Result<PrivateServer> {
    server::start(engine, &StartOptions { cluster: Some(spec), ..start_options(dir, settings) })
}

/// Addresses of the nodes, each as a URL of its own.
pub fn each(url: &str) -> Vec<String> {
    let (scheme, rest) = url.split_once("//dbdyno@").unwrap();
    let (hosts, rest) = rest.split_once('/').unwrap();
    let alone = rest.replace("nodes=all&", "").replace("?nodes=all", "");
    hosts.split(',').map(|host| format!("{scheme}//dbdyno@{host}/{alone}")).collect()
}

/// A session that only looks: the node may be a standby.
pub fn look(url: &str) -> Box<dyn Session> {
    open(url, Access::Watch, &Arc::default()).session().unwrap()
}

fn open(url: &str, access: Access, interrupt: &Arc<AtomicBool>) -> Box<dyn Database> {
    let engine = url.split("://").next().unwrap();
    let target = Target::Existing { engine: engine.into(), url: url.into() };
    let to = ConnectTo {
        url: Some(url.into()),
        interrupt: Arc::clone(interrupt),
        ..ConnectTo::new(target)
    };
    engine::find(engine).unwrap().open(&to, access).unwrap()
}

#[test]
fn an_interrupt_ends_the_start_of_a_cluster() {
    let dir = directory();
    let cluster =
        Some(ClusterSpec { name: "postgres-replicas".into(), nodes: 2, link_delay: None });
    let interrupt = Arc::new(AtomicBool::new(true));
    let options = StartOptions { cluster, interrupt, ..start_options(dir.path(), &[]) };
    let error = server::start("postgres", &options).err().unwrap();
    assert_eq!(error.kind, Kind::Interrupted, "{error}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn an_interrupt_ends_the_wait_for_a_node_that_is_behind() {
    let dir = directory();
    let cluster = replicas(dir.path(), 2);
    let (url, nodes) = (cluster.url(), each(&cluster.url()));
    let interrupt = Arc::new(AtomicBool::new(false));
    let database = open(&url, Access::Inspect, &interrupt);
    interrupt.store(true, Ordering::SeqCst);
    look(&nodes[1]).execute("do $$ begin perform pg_wal_replay_pause(); end $$").unwrap();
    look(&nodes[0]).execute("create table public.not_there_yet ()").unwrap();
    let error = database.place_jobs(None, false).err().unwrap();
    assert_eq!(error.class, ErrorClass::Cancelled, "{error:?}");
}

/// Jobs of SRV-QUERY1 that are at work on a node of PostgreSQL.
pub fn jobs_at_work(url: &str) -> usize {
    let sql = "select pid from pg_stat_activity where application_name like 'dbdyno-%' and state = \
               'active' and query like '%w_srv_query1%' and pid <> pg_backend_pid()";
    column(look(url).as_mut(), sql).len()
}

/// Looks in a row at which the job of each node has begun another lookup: it is in its loop, and
/// not about to prepare.
const LOOKS_AT_WORK: u32 = 3;

/// Moment at which the job on this node began its last lookup; none before its first one.
fn last_lookup(url: &str) -> Option<String> {
    let sql = "select query_start::text from pg_stat_activity where application_name like \
               'dbdyno-%' and query like 'select * from %small%' and pid <> pg_backend_pid()";
    column(look(url).as_mut(), sql).pop()
}

/// A run of two tests on the three nodes of a cluster, in whose first test each node has its job,
/// and its command line. The jobs think, and keep no CPU busy while a node that says nothing is
/// waited for. A test of seconds may end before that is seen on a busy machine: then longer ones
/// follow.
pub fn run_at_work(desk: &Desk, url: &str) -> (Child, String) {
    let nodes = each(url);
    for duration in ["3s", "12s", "48s"] {
        let line = format!(
            "run {url} --size 0.01 --warmup 0 --duration {duration} --workload SRV-QUERY1 \
             --workload TP-LOOKUP --jobs 3 --drive client --think 10ms --quiet"
        );
        let mut run = desk.spawn(&line);
        let (mut before, mut changes) = (Vec::new(), 0);
        until("each node has its job", || {
            let now: Vec<_> = nodes.iter().map(|node| last_lookup(node)).collect();
            let is_at_work =
                now.iter().zip(&before).all(|(now, before)| now.is_some() && now != before);
            changes = if is_at_work && !before.is_empty() { changes + 1 } else { 0 };
            before = now;
            changes == LOOKS_AT_WORK || run.try_wait().unwrap().is_some()
        });
        if changes == LOOKS_AT_WORK {
            return (run, line);
        }
    }
    panic!("three runs ended before each node was seen to have its job")
}

/// Checks how a run of two tests on three nodes reports that n3 stopped in the first one: that one
/// is invalid, the other one ran without it.
#[track_caller]
pub fn tests_around_a_loss(desk: &Desk) -> Vec<Value> {
    let run = desk.shown("last");
    let tests = run["tests"].as_array().unwrap();
    assert_eq!((run["status"].as_str(), tests.len()), (Some("finished"), 2));
    is_lost(&tests[0], "n3", "in its window");
    let missing = codes(&tests[1]);
    assert!(
        missing
            .iter()
            .any(|code| code.contains("node-lost") && code.contains("node n3 did not answer")),
        "{missing:?}"
    );
    tests.clone()
}

/// A test is invalid because this node was lost.
#[track_caller]
pub fn is_lost(test: &Value, node: &str, way: &str) {
    let lost = codes(test);
    assert!(
        lost.iter().any(|code| code.contains("node-lost") && code.contains(node)),
        "{way}: {lost:?}"
    );
    assert_eq!(test["verdict"]["status"], "invalid", "{way}");
}

fn figures(test: &Value, name: &str) -> Vec<f64> {
    let nodes = test["node_figures"].as_array().unwrap_or_else(|| panic!("{test:#}"));
    nodes.iter().map(|node| node["counters"][name].as_f64().unwrap_or(f64::NAN)).collect()
}

pub fn codes(test: &Value) -> Vec<String> {
    let reasons = test["verdict"]["reasons"].as_array().unwrap();
    reasons.iter().map(|reason| format!("{} {}", reason["code"], reason["text"])).collect()
}

fn all_ops(test: &Value) -> f64 {
    let of_nodes = figures(test, "index_scans");
    let counted: f64 = of_nodes.iter().sum();
    assert_eq!(test["counters"]["index_scans"].as_f64(), Some(counted), "{test:#}");
    counted
}

#[test]
fn reads_scale_over_replicas_writes_stay_on_the_primary_and_a_node_that_dies_is_named() {
    let (desk, dir) = (Desk::new(), directory());
    let cluster = replicas(dir.path(), 3);
    let (url, nodes) = (cluster.url(), each(&cluster.url()));
    let twice = format!(
        "{},{}",
        url.split_once("/postgres?").unwrap().0,
        nodes[0].split('@').nth(1).unwrap()
    );
    let twice = twice.replace("/postgres", "") + "/postgres?nodes=all";
    desk.run(&format!("run {twice} {BASE} --workload SRV-QUERY1 --jobs 1"))
        .fails(2, &["lead to one and the same node"]);
    let reads =
        format!("run {url} {BASE} --workload SRV-QUERY1 --workload LGWR-LAT --jobs 3 --nodes 1..3");
    let run = desk.run(&reads).ok().json();
    let tests = run["tests"].as_array().unwrap();
    let on: Vec<_> = tests
        .iter()
        .map(|test| (test["workload"].as_str().unwrap(), test["nodes"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        on,
        [("SRV-QUERY1", 1), ("SRV-QUERY1", 2), ("SRV-QUERY1", 3), ("LGWR-LAT", 1)],
        "writes: the primary only"
    );
    for test in &tests[..3] {
        let ops: f64 = test["node_figures"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["ops"].as_f64().unwrap())
            .sum();
        assert_eq!(Some(ops), test["ops"].as_f64());
        assert!(
            all_ops(test) >= ops && !codes(test).iter().any(|code| code.contains("crosscheck")),
            "{test:#}"
        );
    }
    let jobs: Vec<_> = tests[2]["node_figures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["jobs"].clone())
        .collect();
    assert_eq!(jobs, [1, 1, 1].map(Value::from));
    let report = desk.run("report nodes --format csv").ok().stdout;
    assert!(report.contains("SRV-QUERY1,2,3,") && report.contains("SRV-QUERY1,3,3,"), "{report}");

    // A node dies in the window of the first of two tests.
    let (run, line) = run_at_work(&desk, &url);
    signal(cluster.pids()[2], Signal::KILL);
    crate::support::ended(run, &line).ok();
    let tests = tests_around_a_loss(&desk);
    assert_eq!(tests[1]["nodes"], 2);
}

#[test]
fn a_private_galera_cluster_is_made_measured_and_removed_also_after_a_kill() {
    let desk = Desk::new();
    let data = desk.data().display().to_string();
    let target = "run mariadb-galera --nodes 2";
    desk.run(&format!("{target} {BASE} --workload SRV-QUERY1 --jobs 1 --keep"))
        .fails(2, &["cannot be kept"]);
    let mut run = desk.spawn(&format!(
        "{target} --size 0.01 --warmup 100s --workload SRV-QUERY1 --jobs 2 --quiet"
    ));
    let second = desk.data().join("dbdyno-mariadb-galera-n2/data");
    until("the second node has the data", || second.join("dbdyno/small.ibd").exists());
    // With the name of the cluster, its only secret, anybody could join it.
    assert_closed_to_others(&desk.data());
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(processes(&data).len() > 1, "both nodes live on");
    let run = desk
        .run(&format!("{target} {BASE} --workload SRV-QUERY1 --workload LGWR-LAT --jobs 2"))
        .ok()
        .json();
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
    assert_eq!(processes(&data), Vec::<String>::new());
    let tests = run["tests"].as_array().unwrap();
    for test in tests {
        assert!(test["nodes"] == 2 && all_ops(test) > 0.0, "{test:#}");
        assert!(!codes(test).iter().any(|code| code.contains("crosscheck")), "{:#?}", codes(test));
        assert!(codes(test).iter().any(|code| code.contains("shared-host")));
        let waits = |name: &str| test["waits"][name].as_u64().unwrap();
        assert!(
            waits("samples") > 0 && waits("sessions") == 2 * waits("samples"),
            "each node's job: {}",
            test["waits"]
        );
    }
    let commits: f64 = figures(&tests[1], "commits").iter().sum();
    assert!(
        commits >= tests[1]["commits"].as_f64().unwrap(),
        "each node counts its own: {:#}",
        tests[1]
    );
}

#[test]
fn a_product_without_known_clusters_says_so() {
    Desk::new()
        .run("clean mysql://me@a.invalid,b.invalid/?nodes=all")
        .fails(2, &["of MySQL no clusters are known", "nodes=all"]);
}
