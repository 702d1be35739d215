//! PostgreSQL of the distribution, the newest one and one whose counters lag behind: the same
//! counters from different views, the same verdicts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dbdyno::engine::Session;
use dbdyno::probe::{ProbeSet, SqlProbe};
use dbdyno::server::{self, PrivateServer, StartOptions};
use serde_json::Value;

use crate::leftovers::Directory;
use crate::servers::Lease;
use crate::support::{
    Desk, assert_run_schema, column, directory, newest_postgres, postgres_with_collector, servers,
    session, start_options,
};

/// Programs of servers to try; none = the distribution's.
fn versions() -> Vec<Option<PathBuf>> {
    servers("postgres").into_iter().chain([Some(postgres_with_collector())]).collect()
}

/// A server of these programs with everything timed.
fn start(server_bin: Option<&Path>) -> (PrivateServer, Directory) {
    let dir = directory();
    let settings =
        [("shared_buffers", "16MB"), ("track_io_timing", "on"), ("track_wal_io_timing", "on")];
    let server_bin = server_bin.map(Path::to_path_buf);
    let options = StartOptions { server_bin, ..start_options(dir.path(), &settings) };
    (server::start("postgres", &options).unwrap(), dir)
}

/// 15.18 as numbers.
fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap()).collect()
}

/// Result of each of the catalog's counter blocks on this server: (block, name, value).
fn counters(session: &mut dyn Session, version: &str) -> Vec<(String, String, Option<String>)> {
    let catalog = crate::support::catalog();
    let version = numbers(version);
    let mut counters = Vec::new();
    for block in catalog.probes("postgres", &version) {
        if !block.name.starts_with("counters.") {
            continue;
        }
        let rows = session
            .query(&block.text, &[])
            .unwrap_or_else(|error| panic!("{} on {version:?}: {error}", block.name));
        assert_eq!(rows.rows.len(), 1, "{}", block.name);
        let named = rows.columns.iter().zip(&rows.rows[0]);
        counters
            .extend(named.map(|(name, value)| (block.name.clone(), name.clone(), value.clone())));
    }
    counters
}

/// Counter names in the first column of the tables of docs/counters.md that PostgreSQL has.
fn documented_counters() -> BTreeSet<String> {
    let text = std::fs::read_to_string("docs/counters.md").unwrap();
    let database = text.split("## Database").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut names = BTreeSet::new();
    for line in database.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if cells.len() >= 3 && cells[2].contains('P') {
            names.extend(cells[0].split(',').map(|name| name.trim().to_string()));
        }
    }
    names
}

#[test]
fn blocks_of_counters_and_settings_run_on_every_version_and_settled_readings_hold_all() {
    for server_bin in versions() {
        let (server, _dir) = start(server_bin.as_deref());
        assert_counters_are_documented(&server);
        assert_every_block_runs(&server);
        // Before 15 a collector counts, to which a session reports twice a second at most.
        if numbers(server.version())[0] >= 15 {
            assert_settled_readings_hold_all(&server);
        }
        server.stop_and_remove().unwrap();
    }
}

fn assert_counters_are_documented(server: &PrivateServer) {
    let mut session = session(&server.url());
    session.execute("create schema dbdyno").unwrap();
    session.execute("create table dbdyno.t (id int primary key)").unwrap();
    session.execute("insert into dbdyno.t select generate_series(1, 1000)").unwrap();
    session.query("select count(*) from dbdyno.t", &[]).unwrap();
    let documented = documented_counters();
    assert!(documented.len() > 15, "{documented:?}");
    let version = server.version().to_string();
    let counters = counters(session.as_mut(), &version);
    for (block, name, value) in &counters {
        assert!(
            documented.contains(name),
            "{version}: {block} gives {name}, which docs/counters.md does not name"
        );
        if name == "replication_lag_s" {
            assert_eq!(*value, None, "{version}: of standbys only");
            continue;
        }
        let number = value.as_deref().map(str::parse::<f64>);
        assert!(
            matches!(number, Some(Ok(number)) if number >= 0.0),
            "{version}: {block}.{name} = {value:?}"
        );
    }
    let names: BTreeSet<_> = counters.into_iter().map(|(_, name, _)| name).collect();
    for name in [
        "commits",
        "logical_reads",
        "physical_reads",
        "blocks_written",
        "checkpoints",
        "wal_bytes",
        "wal_syncs",
    ] {
        assert!(names.contains(name), "{version}: no {name} in {names:?}");
    }
}

/// Settings, too, unless the server lacks what they are about.
fn assert_every_block_runs(server: &PrivateServer) {
    let mut session = session(&server.url());
    let catalog = crate::support::catalog();
    let version = numbers(server.version());
    let blocks = catalog.probes("postgres", &version);
    let lacks = |name: &str, session: &mut dyn Session| {
        let missing = blocks.iter().find(|block| block.name == format!("{name}.missing"));
        missing.is_some_and(|block| !session.query(&block.text, &[]).unwrap().rows.is_empty())
    };
    for block in &blocks {
        if lacks(&block.name, session.as_mut()) {
            continue;
        }
        let rows = session
            .query(&block.text, &[])
            .unwrap_or_else(|error| panic!("{version:?} {}: {error}", block.name));
        // A server alone has nothing to say of standbys.
        let says = block.name.starts_with("settings.") && block.name != "settings.cluster";
        assert!(!says || !rows.rows.is_empty(), "{}", block.name);
    }
}

/// Wait events by their class: their names before 17 and from then on, and what a session does.
const WAIT_EVENTS: [(&str, [&str; 2], &str); 14] = [
    ("IO", ["WALWrite", "WalWrite"], "log-sync"),
    ("IO", ["WALSync", "WalSync"], "log-sync"),
    ("IO", ["WALInitWrite", "WalInitWrite"], "log-sync"),
    ("IO", ["WALInitSync", "WalInitSync"], "log-sync"),
    ("LWLock", ["WALBufMapping", "WALBufMapping"], "log-sync"),
    ("IO", ["DataFileRead", "DataFileRead"], "data-read"),
    ("IO", ["BufFileRead", "BuffileRead"], "data-read"),
    ("IO", ["SLRURead", "SlruRead"], "data-read"),
    ("IO", ["DataFileExtend", "DataFileExtend"], "data-write"),
    ("IO", ["BufFileWrite", "BuffileWrite"], "data-write"),
    ("IO", ["SLRUWrite", "SlruWrite"], "data-write"),
    ("IO", ["SLRUSync", "SlruSync"], "data-write"),
    ("IO", ["DSMFillZeroWrite", "DsmFillZeroWrite"], "data-write"),
    ("IO", ["ControlFileSync", "ControlFileSync"], "other"),
];

#[test]
fn wait_events_are_the_same_activity_by_either_spelling() {
    let (catalog, lease) = (crate::support::catalog(), Lease::new("postgres", None, &[]));
    let mut session = session(&lease.url);
    let blocks = catalog.probes("postgres", &[18]);
    for name in ["sessions", "sessions.all"] {
        let text = &blocks.iter().find(|block| block.name == name).unwrap().text;
        let (_, activity) = text.split_once("case when a.wait_event is null").unwrap();
        let (activity, _) = activity.split_once("end as activity").unwrap();
        for (class, spellings, expected) in WAIT_EVENTS {
            for event in spellings {
                let sql = format!(
                    "select case when a.wait_event is null {activity} end \
                     from (values ('{class}', '{event}')) as a (wait_event_type, wait_event)"
                );
                let found = column(session.as_mut(), &sql);
                assert_eq!(found, [expected], "{name}: {event}");
            }
        }
    }
}

/// Readings in a row, far more than a server notes down of a session in a second of its own accord.
const READINGS: u32 = 30;

/// A settled reading holds what the session of the probes did before.
fn assert_settled_readings_hold_all(server: &PrivateServer) {
    let (catalog, version) = (crate::support::catalog(), server.version());
    let blocks = catalog.probes("postgres", &numbers(version));
    let statements =
        blocks.iter().filter(|block| block.name.starts_with("counters.")).count() as f64;
    let mut probes = ProbeSet::own_process();
    probes.push(Box::new(SqlProbe::new(session(&server.url()), &blocks)));
    let mut commits_after = |readings: u32| {
        (0..readings).for_each(|_| drop(probes.read()));
        probes.settle();
        probes.read().counters.get("commits").unwrap()
    };
    let before = commits_after(0);
    let counted = commits_after(READINGS) - before;
    let done = statements * f64::from(READINGS);
    assert!(counted >= done, "{version}: {counted} of {done} statements are counted");
}

/// One workload of each group, at two jobs in a window that is long enough for the cross-checks.
const ONE_OF_EACH_GROUP: [&str; 8] = [
    "CPU-DOUBLE",
    "SRV-QUERY25",
    "STO-RANDOM",
    "LGWR-LAT",
    "DBWR-THR",
    "DL-BUFFER",
    "DA-AGGREGATE",
    "TP-MEDIUM",
];

#[test]
fn a_workload_of_each_group_agrees_with_the_counters_of_other_versions() {
    for bin in [newest_postgres(), postgres_with_collector()] {
        agree_with_the_counters(&bin);
    }
}

fn agree_with_the_counters(bin: &Path) {
    let desk = Desk::new();
    let workloads: String =
        ONE_OF_EACH_GROUP.iter().map(|id| format!(" --workload {id}")).collect();
    let line = format!(
        "run postgres --server-bin {} --size 0.01 --jobs 2 --warmup 50ms --duration 300ms --format \
         json",
        bin.display()
    );
    let document = desk.run(&format!("{line} --quiet{workloads}")).ok().json();
    assert_run_schema(&document);
    let tests = document["tests"].as_array().unwrap();
    assert_eq!(tests.len(), ONE_OF_EACH_GROUP.len());
    for test in tests {
        let reasons: Vec<&Value> = test["verdict"]["reasons"].as_array().unwrap().iter().collect();
        let wrong = |code: &str| reasons.iter().any(|reason| reason["code"] == code);
        assert!(
            !wrong("crosscheck") && !wrong("failed") && !wrong("errors"),
            "{}: {reasons:?}",
            test["workload"]
        );
        let contract = reasons
            .iter()
            .any(|reason| reason["code"] == "contract" && reason["status"] == "invalid");
        let io = &test["profiles"]["io"];
        let writes = |row: &Value| row["values"]["writes"].as_f64().unwrap_or(0.0);
        let written: f64 =
            io["rows"].as_array().unwrap_or_else(|| panic!("{io:#}")).iter().map(writes).sum();
        assert!(
            io["missing"].is_null() && (written > 0.0 || test["commits"] == 0),
            "{}: {io:#}",
            test["workload"]
        );
        // Whether the big table fits the caches of this machine is not the version's doing.
        assert!(!contract || test["workload"] == "STO-RANDOM", "{}: {reasons:?}", test["workload"]);
    }
}

#[test]
fn what_is_fetched_is_not_fetched_again_and_what_is_missing_is_said() {
    let desk = Desk::new();
    let cache = newest_postgres().ancestors().nth(3).unwrap().to_path_buf();
    let mut fetch = desk.command("binaries fetch postgres --format json");
    fetch.env("XDG_CACHE_HOME", &cache);
    let done = crate::support::finished(fetch, "binaries fetch").ok().json();
    assert_eq!(
        (done["was_there"].as_bool(), done["engine"].as_str()),
        (Some(true), Some("postgres"))
    );
    let empty = desk.path("cache");
    let mut fetch = desk.command("binaries fetch postgres");
    fetch.env("PATH", "/nonexistent").env("XDG_CACHE_HOME", &empty);
    crate::support::finished(fetch, "fetch without Maven")
        .fails(3, &["mvn cannot be run", "install the package maven"]);
    desk.run("binaries fetch postgres --version 18/..")
        .fails(2, &["--version: '18/..' is not a valid version"]);
    desk.run("binaries fetch sqlite").fails(2, &["this engine has no private server"]);
    assert!(
        std::fs::read_dir(empty.join("dbdyno")).map_or(0, Iterator::count) == 0,
        "a failed fetch leaves nothing"
    );
}
