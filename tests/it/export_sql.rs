//! The exported scripts, run by the database's own client: the rows are those of the data set, every rate is positive.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dbdyno::model::rows::table_rows;
use dbdyno::server::{self, PrivateServer, StartOptions};

use crate::support::{Desk, done};

const SIZE_GB: f64 = 0.01;

/// Exports these workloads to a directory of the desk.
fn export(desk: &Desk, engine: &str, workloads: &[&str]) -> PathBuf {
    let dir = desk.path("scripts");
    let named: String = workloads.iter().map(|id| format!(" --workload {id}")).collect();
    desk.run(&format!("export-sql {engine} --size {SIZE_GB}{named} --output {}", dir.display())).ok();
    dir
}

fn start(engine: &str, desk: &Desk) -> PrivateServer {
    let options = StartOptions { data_dir: desk.data(), ..StartOptions::default() };
    server::start(engine, &options).unwrap()
}

/// Feeds a script of the export to the client.
fn feed(client: &str, script: &Path) -> String {
    let mut words = client.split(' ');
    let mut command = Command::new(words.next().unwrap());
    command.args(words).stdin(std::fs::File::open(script).unwrap()).stderr(Stdio::piped());
    let line = script.display().to_string();
    done(command.output().unwrap(), &line).ok().stdout
}

/// What `run.sh` prints of one workload, by name.
fn run(client: &str, dir: &Path, arguments: &str) -> BTreeMap<String, String> {
    let mut command = Command::new(dir.join("run.sh"));
    command.args(arguments.split(' ')).env("CLIENT", client).stdin(Stdio::null());
    let text = done(command.output().unwrap(), arguments).ok().stdout;
    let pairs = text.split_whitespace().filter_map(|word| word.split_once('='));
    pairs.map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

/// Loads, runs every workload at so many jobs, removes everything.
fn whole_way(engine: &str, client: &str, workloads: &[(&str, u32)], desk: &Desk) {
    let ids: Vec<&str> = workloads.iter().map(|(id, _)| *id).collect();
    let dir = export(desk, engine, &ids);
    feed(client, &dir.join("create.sql"));
    feed(client, &dir.join("load.sql"));
    let counts: Vec<u64> = feed(client, &dir.join("count.sql")).lines().map(|line| line.parse().unwrap()).collect();
    let expected = ["small", "big"].map(|table| table_rows(table, SIZE_GB));
    assert_eq!(counts, expected[..counts.len()], "{engine}");
    for (id, jobs) in workloads {
        let figures = run(client, &dir, &format!("{id} {jobs} 0.3 0.1"));
        let number = |name: &str| figures[name].parse::<f64>().unwrap_or_else(|_| panic!("{name} of {figures:?}"));
        assert_eq!(number("jobs"), f64::from(*jobs), "{engine} {id}");
        assert!(number("ops_per_s") > 0.0 && number("mean_us") > 0.0, "{engine} {id}: {figures:?}");
        // Closed loop: jobs = throughput x mean service time.
        let little = number("ops_per_s") * number("mean_us") / 1e6 / f64::from(*jobs);
        assert!((0.3..1.3).contains(&little) || *jobs > 2, "{engine} {id}: {figures:?}");
        if id.contains("QUERY25") {
            let rows_per_op = number("rows_per_s") / number("ops_per_s");
            assert!((24.9..25.1).contains(&rows_per_op), "{engine} {id}: {figures:?}");
            assert_eq!(figures["unit"], "qps");
        }
        if id.starts_with("LGWR") || id.contains("UPDATE") {
            assert!(number("commits_per_s") > 0.0, "{engine} {id}: {figures:?}");
        }
    }
    feed(client, &dir.join("drop.sql"));
}

#[test]
fn the_scripts_for_psql_load_and_run() {
    let desk = Desk::new();
    let server = start("postgres", &desk);
    let socket = desk.data().join("dbdyno-postgres/socket");
    let client = format!("psql -X -q -A -t -v ON_ERROR_STOP=1 -h {} -U dbdyno postgres", socket.display());
    let workloads = [("SRV-QUERY25", 2), ("LGWR-LAT", 2), ("CPU-FIBONACCI", 1), ("DA-INDEX", 1), ("TP-MIXED1", 4)];
    whole_way("postgres", &client, &workloads, &desk);
    let left = Command::new("psql")
        .args(client.split(' ').skip(1))
        .args(["-c", "select count(*) from pg_namespace where nspname = 'dbdyno'"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(left.stdout).unwrap().trim(), "0", "drop.sql removes our schema");
    server.stop_and_remove().unwrap();
}

#[cfg(feature = "mariadb")]
#[test]
fn the_scripts_for_mariadb_load_and_run() {
    let desk = Desk::new();
    let server = start("mariadb", &desk);
    let socket = desk.data().join("dbdyno-mariadb/socket/mariadb.sock");
    let client = format!(
        "mariadb --no-defaults --socket={} --user=dbdyno --batch --skip-column-names --unbuffered",
        socket.display()
    );
    whole_way("mariadb", &client, &[("SRV-QUERY25", 2), ("SRV-UPDATE1", 2)], &desk);
    server.stop_and_remove().unwrap();
}

#[test]
fn what_cannot_be_exported_is_one_line() {
    let desk = Desk::new();
    let dir = desk.path("scripts").display().to_string();
    desk.run(&format!("export-sql sqlite --output {dir}")).fails(2, &["sqlite: it has no stored routines"]);
    desk.run(&format!("export-sql oracel --output {dir}")).fails(2, &["'oracel' is no engine"]);
    desk.run(&format!("export-sql postgres --size 0 --output {dir}")).fails(2, &["--size"]);
    assert!(!desk.path("scripts").exists(), "nothing is written after an error");
    let line = format!("export-sql postgres --workload SRV-QUERY1 --output {dir}");
    let said = desk.run(&line).ok().stdout;
    assert!(said.contains("README.md"), "{said}");
    desk.run(&line).fails(2, &["is not empty"]);
    let readme = std::fs::read_to_string(desk.path("scripts/README.md")).unwrap();
    assert!(readme.contains("T611") && !readme.contains("{{"), "{readme}");
}
