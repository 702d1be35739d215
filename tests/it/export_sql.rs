//! The exported scripts, run by the database's own client: the rows are those of the data set,
//! every rate is positive.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use dbdyno::model::rows::table_rows;
use dbdyno::server::{self, PrivateServer};
use dbdyno::stats::keys::{self, KeyStream};
use rustix::process::Signal;

use crate::support::{
    Desk, assert_run_schema, bytes_in, ended, finished_group, is_alive, signal, start_options,
    until,
};

const SIZE_GB: f64 = 0.01;

/// Exports these workloads to a directory of the desk.
fn export(desk: &Desk, engine: &str, workloads: &[&str]) -> PathBuf {
    let dir = desk.path("scripts");
    let named: String = workloads.iter().map(|id| format!(" --workload {id}")).collect();
    desk.run(&format!("export-sql {engine} --size {SIZE_GB}{named} --output {}", dir.display()))
        .ok();
    dir
}

fn start(engine: &str, desk: &Desk) -> PrivateServer {
    server::start(engine, &start_options(&desk.data(), &[])).unwrap()
}

/// Feeds a script of the export to the client.
fn run_script(client: &str, script: &Path) -> String {
    let mut words = client.split(' ');
    let mut command = Command::new(words.next().unwrap());
    command.args(words).stdin(std::fs::File::open(script).unwrap());
    finished_group(command, &script.display().to_string()).ok().stdout
}

/// The command that runs one workload by the exported scripts.
fn run_command(client: &str, dir: &Path, arguments: &str) -> Command {
    let mut command = Command::new(dir.join("run.sh"));
    command.args(arguments.split(' ')).env("CLIENT", client).stdin(Stdio::null());
    command
}

/// Output of `run.sh` for one workload, by name, and its remarks.
fn run(client: &str, dir: &Path, arguments: &str) -> (BTreeMap<String, String>, String) {
    let said = finished_group(run_command(client, dir, arguments), arguments).ok();
    let pairs = said.stdout.split_whitespace().filter_map(|word| word.split_once('='));
    (pairs.map(|(name, value)| (name.to_string(), value.to_string())).collect(), said.stderr)
}

/// The jobs that run if so many are asked for: of a mixed workload the same number for each part.
fn evenly(id: &str, jobs: u32) -> u32 {
    let catalog = crate::support::catalog();
    jobs.next_multiple_of(catalog.find(id).unwrap().entry.workload.parts.len().max(1) as u32)
}

/// Loads, runs every workload at so many jobs, removes everything.
fn whole_way(engine: &str, client: &str, workloads: &[(&str, u32)], desk: &Desk) {
    let ids: Vec<&str> = workloads.iter().map(|(id, _)| *id).collect();
    let dir = export(desk, engine, &ids);
    run_script(client, &dir.join("create.sql"));
    run_script(client, &dir.join("load.sql"));
    let counts: Vec<u64> = run_script(client, &dir.join("count.sql"))
        .lines()
        .map(|line| line.parse().unwrap())
        .collect();
    let expected = ["small", "big"].map(|table| table_rows(table, SIZE_GB));
    assert_eq!(counts, expected[..counts.len()], "{engine}");
    for (id, jobs) in workloads {
        let begun = Instant::now();
        let (figures, remarks) = run(client, &dir, &format!("{id} {jobs} 0.3 0.1"));
        let wall_s = begun.elapsed().as_secs_f64();
        let number = |name: &str| {
            figures[name].parse::<f64>().unwrap_or_else(|_| panic!("{name} of {figures:?}"))
        };
        let even = evenly(id, *jobs);
        assert_eq!(number("jobs"), f64::from(even), "{engine} {id}");
        let remark = format!("{id}: {even} jobs, an equal number for each of its");
        assert_eq!(remarks.contains(&remark), even != *jobs, "{engine} {id}: {remarks}");
        assert!(number("ops_per_s") > 0.0 && number("mean_us") > 0.0, "{engine} {id}: {figures:?}");
        // The server's clock against ours: no job worked longer than all took, nor a moment only.
        let job_s = number("ops") * number("mean_us") / 1e6 / f64::from(even);
        assert!(
            (0.01..wall_s).contains(&job_s),
            "{engine} {id}: {job_s} s of {wall_s} s, {figures:?}"
        );
        if id.contains("QUERY25") {
            let rows_per_op = number("rows_per_s") / number("ops_per_s");
            assert!((24.9..25.1).contains(&rows_per_op), "{engine} {id}: {figures:?}");
            assert_eq!(figures["unit"], "qps");
        }
        if id.starts_with("LGWR") || id.contains("UPDATE") {
            assert!(number("commits_per_s") > 0.0, "{engine} {id}: {figures:?}");
        }
    }
    run_script(client, &dir.join("drop.sql"));
    spool_comes_back(desk, &dir.join("results.spool"), workloads);
}

/// Reasons of a test of a run's JSON document, by code.
fn codes(test: &serde_json::Value) -> Vec<&str> {
    let reasons = test["verdict"]["reasons"].as_array().unwrap();
    reasons.iter().map(|reason| reason["code"].as_str().unwrap()).collect()
}

/// Checks that the results of the scripts become a run whose counts are cross-checked, and which is
/// never simply valid.
fn spool_comes_back(desk: &Desk, spool: &Path, workloads: &[(&str, u32)]) {
    let text = std::fs::read_to_string(spool).unwrap();
    desk.run(&format!("results import {}", spool.display())).ok();
    let run = desk.shown("last");
    assert_run_schema(&run);
    assert_eq!(run["kind"], "scripts");
    let tests = run["tests"].as_array().unwrap();
    let ids: Vec<&str> = tests.iter().map(|test| test["workload"].as_str().unwrap()).collect();
    assert_eq!(ids, workloads.iter().map(|(id, _)| *id).collect::<Vec<_>>());
    for test in tests {
        let codes = codes(test);
        assert!(test["verdict"]["status"] != "valid" && codes.contains(&"scripts"), "{test:#}");
        assert!(
            !codes.contains(&"crosscheck") && !codes.contains(&"failed"),
            "{:#}",
            test["verdict"]
        );
        assert!(test["kpm"]["value"].as_f64().unwrap() > 0.0, "{:#}", test["kpm"]);
    }
    let unchecked = tests[0]["verdict"].to_string();
    assert!(!unchecked.contains("nothing could be cross-checked"), "{unchecked}");
    desk.run(&format!("results import {}", spool.display()))
        .fails(2, &["results.spool", "is here already"]);

    let lie = |line: &str| match line.strip_prefix("end index_scans ") {
        Some(count) => format!("end index_scans {}", 2.0 * count.parse::<f64>().unwrap()),
        None => line.to_string(),
    };
    std::fs::write(spool, text.lines().map(lie).collect::<Vec<_>>().join("\n")).unwrap();
    desk.run(&format!("results import {}", spool.display())).ok();
    let run = desk.shown("last");
    assert!(codes(&run["tests"][0]).contains(&"crosscheck"), "{:#}", run["tests"][0]["verdict"]);

    std::fs::write(spool, text.trim_end().trim_end_matches("done")).unwrap();
    desk.run(&format!("results import {}", spool.display()))
        .fails(2, &["results.spool:", "is cut short"]);
}

fn psql(desk: &Desk) -> String {
    let socket = desk.data().join("dbdyno-postgres/socket");
    format!("psql -X -q -A -t -v ON_ERROR_STOP=1 -h {} -U dbdyno postgres", socket.display())
}

#[test]
fn the_scripts_for_psql_load_and_run() {
    let desk = Desk::new();
    let server = start("postgres", &desk);
    let client = psql(&desk);
    let workloads = [
        ("SRV-QUERY25", 2),
        ("LGWR-LAT", 2),
        ("CPU-FIBONACCI", 1),
        ("DA-INDEX", 1),
        ("TP-MIXED1", 1),
    ];
    whole_way("postgres", &client, &workloads, &desk);
    let left = ask(&client, "-c", "select count(*) from pg_namespace where nspname = 'dbdyno'");
    assert_eq!(left, "0", "drop.sql removes our schema");
    server.stop_and_remove().unwrap();
}

/// Output of the client for a query.
fn ask(client: &str, option: &str, sql: &str) -> String {
    let mut words = client.split(' ');
    let mut command = Command::new(words.next().unwrap());
    command.args(words).args([option, sql]);
    finished_group(command, sql).ok().stdout.trim().to_string()
}

#[cfg(feature = "mariadb")]
#[test]
fn a_schema_that_somebody_else_made_is_not_marked_as_ours_and_stays() {
    for engine in ["postgres", "mariadb"] {
        let desk = Desk::new();
        let server = start(engine, &desk);
        let (client, option) =
            if engine == "postgres" { (psql(&desk), "-c") } else { (mariadb_client(&desk), "-e") };
        ask(&client, option, "create schema dbdyno");
        let dir = export(&desk, engine, &["SRV-QUERY1"]);
        for script in ["create.sql", "drop.sql"] {
            run_script(&client, &dir.join(script));
        }
        let left = "select count(*) from information_schema.schemata where schema_name = 'dbdyno'";
        assert_eq!(ask(&client, option, left), "1", "{engine}");
        server.stop_and_remove().unwrap();
    }
}

#[cfg(feature = "mariadb")]
#[test]
fn the_scripts_for_mariadb_load_and_run() {
    let desk = Desk::new();
    let server = start("mariadb", &desk);
    let client = mariadb_client(&desk);
    let workloads = [
        ("SRV-QUERY25", 2),
        ("SRV-UPDATE1", 2),
        ("LGWR-LAT", 2),
        ("DA-INDEX", 1),
        ("TP-MIXED1", 4),
    ];
    whole_way("mariadb", &client, &workloads, &desk);
    server.stop_and_remove().unwrap();
}

#[cfg(feature = "mariadb")]
#[test]
fn jobs_whose_transactions_are_called_one_by_one_begin_together_and_have_their_settings() {
    let desk = Desk::new();
    let folder = desk.path("own/workloads/own");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("group.toml"), OWN).unwrap();
    std::fs::write(folder.join("mariadb.sql"), OWN_SQL).unwrap();
    let dir = desk.path("scripts");
    let own = desk.path("own").display().to_string();
    desk.run(&format!(
        "export-sql mariadb --catalog {own} --size {SIZE_GB} --workload OWN-NOTE --output {}",
        dir.display()
    ))
    .ok();
    let server = start("mariadb", &desk);
    let client = mariadb_client(&desk);
    run_script(&client, &dir.join("create.sql"));
    let begun = Instant::now();
    let (figures, _) = run(&client, &dir, "OWN-NOTE 2 1 4");
    assert!(begun.elapsed().as_secs_f64() > 5.0);
    // A note of a session without the setting would have failed.
    let number = |name: &str| figures[name].parse::<f64>().unwrap();
    assert!(
        number("commits_per_s") > 0.0 && number("rows_per_s") / number("ops_per_s") == 1.0,
        "{figures:?}"
    );
    // By the server's own clock no job did more within its window than the window is long: not the
    // warm-up, too, which is longer. Three seconds are for the last calls, during which a job may
    // wait for a processor.
    assert!(number("ops") * number("mean_us") / 1e6 < 2.0 * 4.0, "{figures:?}");
    let calls = std::fs::read_to_string(dir.join("workloads/OWN-NOTE/part-1.calls.sql")).unwrap();
    assert!(calls.contains("set @own = 7") && calls.contains("__START__"), "{calls}");
    server.stop_and_remove().unwrap();
}

/// A transaction that needs a setting of its session.
#[cfg(feature = "mariadb")]
const OWN: &str = r#"
id = "OWN"
title = "notes"
about = "A row per transaction."
[[workload]]
id = "OWN-NOTE"
title = "a row per transaction"
about = "and it takes a setting"
revision = 1
commits = true
kpm = { value = "ops", unit = "tps", better = "higher" }
setup = ["drop-notes", "create-notes"]
session = ["setting"]
teardown = ["drop-notes"]
undrivable.client = "it is about the routine"
unsupported = { postgres = "not its test", sqlite = "not its test", oracle = "not its test" }
"#;
#[cfg(feature = "mariadb")]
const OWN_SQL: &str = "\
-- name: drop-notes\ndrop table if exists {{prefix}}own_notes\n
-- name: create-notes\ncreate table {{prefix}}own_notes (job bigint not null, own bigint not null)\n
-- name: setting\nset @own = 7\n
-- name: OWN-NOTE.body\ninsert into {{prefix}}own_notes (job, own) values (p_job, @own);
set v_rows = v_rows + row_count();\nset v_commits = v_commits + 1;\n";

#[cfg(feature = "mariadb")]
fn mariadb_client(desk: &Desk) -> String {
    let socket = desk.data().join("dbdyno-mariadb/socket/mariadb.sock");
    format!(
        "mariadb --no-defaults --socket={} --user=dbdyno --batch --skip-column-names --unbuffered",
        socket.display()
    )
}

/// Checks that, if `client` is the engine's: a job whose statement fails ends `run.sh` with an
/// error, whatever ran before it.
fn a_failing_job_is_no_figure(
    engine: &str,
    client: &str,
    workload: &str,
    script: &str,
    desk: &Desk,
) {
    let dir = export(desk, engine, &[workload]);
    run_script(client, &dir.join("create.sql"));
    run_script(client, &dir.join("load.sql"));
    let path = dir.join(format!("workloads/{workload}/{script}"));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}select 1 from there_is_no_such_table;\n")).unwrap();
    let command = run_command(client, &dir, &format!("{workload} 1 0.3 0.1"));
    let failed = finished_group(command, workload);
    assert_eq!(failed.code, Some(1), "{failed:#?}");
    assert!(
        failed.stderr.contains("there_is_no_such_table") && failed.stderr.contains("a job failed"),
        "{failed:#?}"
    );
    assert!(!failed.stdout.contains("ops_per_s"), "{failed:#?}");
}

#[test]
fn a_job_of_psql_that_fails_ends_the_run_with_an_error() {
    let desk = Desk::new();
    let server = start("postgres", &desk);
    let client = psql(&desk);
    a_failing_job_is_no_figure("postgres", &client, "SRV-QUERY1", "part-1.job.sql", &desk);
    server.stop_and_remove().unwrap();
}

#[cfg(feature = "mariadb")]
#[test]
fn a_job_of_mariadb_that_fails_ends_the_run_with_an_error() {
    for (workload, script) in [("SRV-QUERY1", "part-1.job.sql"), ("SRV-UPDATE1", "part-1.call.sql")]
    {
        let desk = Desk::new();
        let server = start("mariadb", &desk);
        a_failing_job_is_no_figure("mariadb", &mariadb_client(&desk), workload, script, &desk);
        server.stop_and_remove().unwrap();
    }
}

/// Puts a shell script in the place of the database's client; gives its call, with the directory of
/// the exported scripts.
fn stand_in_client(desk: &Desk, dir: &Path, script: &str) -> String {
    let path = desk.path("client.sh");
    std::fs::write(&path, script).unwrap();
    format!("sh {} {}", path.display(), dir.display())
}

/// A client that answers every question with 0 and every call of a routine with a result that ends
/// at state 777, and that writes down what it was asked.
const CLIENT_THAT_TELLS: &str = "#!/bin/sh
text=$(cat)
case $text in
    *'from dbdyno.w_'*)
        printf '%s\\n' \"$text\" >\"$1/asked.$$\"
        echo '1000 1000 0 0 777 20000 30 20'
        ;;
    *) echo 0 ;;
esac
";

/// A client whose calls of a routine do not end by themselves. It notes their processes, and when
/// the routine is dropped.
const CLIENT_THAT_DOES_NOT_END: &str = "#!/bin/sh
text=$(cat)
case $text in
    *'drop function'*) : >\"$1/dropped\" ;;
    *'from dbdyno.w_'*)
        : >\"$1/calls.$$\"
        exec sleep 600
        ;;
    *) echo 0 ;;
esac
";

/// Processes of [`CLIENT_THAT_DOES_NOT_END`] that have called a routine.
fn clients_in_calls(dir: &Path) -> Vec<u32> {
    let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter_map(|name| name.to_str()?.strip_prefix("calls.")?.parse().ok()).collect()
}

#[test]
fn a_signal_ends_the_scripts_and_their_clients_and_what_they_made_goes() {
    let desk = Desk::new();
    let dir = export(&desk, "postgres", &["SRV-QUERY1"]);
    let client = stand_in_client(&desk, &dir, CLIENT_THAT_DOES_NOT_END);
    let scratch = desk.path("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let mut command = run_command(&client, &dir, "SRV-QUERY1 2 300 0.1");
    command.env("TMPDIR", &scratch).stdout(Stdio::piped()).stderr(Stdio::piped());
    let script = command.spawn().unwrap();
    until("both jobs call their routine", || clients_in_calls(&dir).len() == 2);
    signal(script.id(), Signal::TERM);
    let done = ended(script, "run.sh");
    assert_eq!(done.code, Some(143), "{done:#?}");
    assert!(dir.join("dropped").exists(), "{done:#?}");
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0, "{done:#?}");
    assert!(!dir.join("results.spool").exists(), "{done:#?}");
    let clients = clients_in_calls(&dir);
    until("the clients of the jobs have ended", || !clients.iter().any(|pid| is_alive(*pid)));
}

/// A client that notes the locale and the encoding that it is called with.
const CLIENT_THAT_LOOKS: &str = "#!/bin/sh
cat >/dev/null
echo \"$LC_ALL $PGCLIENTENCODING\" >>\"$1/seen\"
echo 0
";

#[test]
fn the_scripts_run_in_a_locale_whose_numbers_have_a_point() {
    let desk = Desk::new();
    let dir = export(&desk, "postgres", &["SRV-QUERY1"]);
    let client = stand_in_client(&desk, &dir, CLIENT_THAT_LOOKS);
    let mut command = run_command(&client, &dir, "SRV-QUERY1 1 0.1 0.1");
    command.env("LC_ALL", "de_DE.UTF-8");
    // Such a client gives no result: the job fails.
    assert_eq!(finished_group(command, "run.sh").code, Some(1));
    let seen = std::fs::read_to_string(dir.join("seen")).unwrap();
    assert!(seen.lines().all(|line| line == "C UTF8"), "{seen}");
}

/// The states that the calls of two tests of two jobs begin with: of each script the warming call's
/// before the timed one's.
fn states_of_calls(dir: &Path) -> Vec<Vec<u64>> {
    let asked = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let asked = asked.filter(|path| path.to_string_lossy().contains("asked."));
    let states = |path: PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let calls = text.lines().filter(|line| line.contains("from dbdyno.w_"));
        let state =
            |line: &str| line.trim_end_matches(");").rsplit(", ").next().unwrap().parse::<u64>();
        calls.map(|line| state(line).unwrap()).collect()
    };
    asked.map(states).collect()
}

#[test]
fn every_test_and_job_of_the_scripts_draws_its_own_keys_and_the_window_goes_on_with_them() {
    let desk = Desk::new();
    let dir = export(&desk, "postgres", &["SRV-QUERY1"]);
    let client = stand_in_client(&desk, &dir, CLIENT_THAT_TELLS);
    for _ in 0..2 {
        run(&client, &dir, "SRV-QUERY1 2 0.1 0.1");
    }
    let mut asked = states_of_calls(&dir);
    asked.sort();
    let seed_of = |test: u32| keys::test_seed(42, keys::draw_of(&format!("SRV-QUERY1 {test}")));
    let state = |test, stream| KeyStream::for_job(seed_of(test), stream).state();
    let mut expected = Vec::new();
    for test in [1, 2] {
        // The jobs' streams for their warm-ups; streams beyond those, and what a warm-up ended
        // with.
        expected.extend([1, 2].map(|job| vec![state(test, job)]));
        expected.extend([3, 4].map(|beyond| vec![state(test, beyond), 777]));
    }
    expected.sort();
    assert_eq!(asked, expected);
}

#[test]
fn what_cannot_be_exported_is_one_line() {
    let desk = Desk::new();
    let dir = desk.path("scripts").display().to_string();
    desk.run(&format!("export-sql sqlite --output {dir}"))
        .fails(2, &["sqlite: it has no stored routines"]);
    desk.run(&format!("export-sql oracel --output {dir}")).fails(2, &["'oracel' is not an engine"]);
    desk.run(&format!("export-sql postgres --size 0 --output {dir}")).fails(2, &["--size"]);
    assert!(!desk.path("scripts").exists(), "nothing is written after an error");
    let line = format!("export-sql postgres --workload SRV-QUERY1 --output {dir}");
    let said = desk.run(&line).ok().stdout;
    assert!(said.contains("README.md"), "{said}");
    desk.run(&line).fails(2, &["is not empty"]);
    let readme = std::fs::read_to_string(desk.path("scripts/README.md")).unwrap();
    assert!(readme.contains("T611") && !readme.contains("{{"), "{readme}");
    let by = "Made by `dbdyno export-sql postgres --workload SRV-QUERY1 --output scripts`";
    assert!(readme.contains(by), "a pack is given to others: {readme}");
}

#[test]
fn a_script_that_is_run_alone_says_what_it_does_and_how() {
    let desk = Desk::new();
    let dir = export(&desk, "oracle", &["SRV-QUERY1", "LGWR-LAT"]);
    let scripts = ["create.sql", "load.sql", "verify.sql", "drop.sql"];
    let workloads = ["workloads/SRV-QUERY1.sql", "workloads/LGWR-LAT.sql"];
    for script in scripts.into_iter().chain(workloads) {
        let text = std::fs::read_to_string(dir.join(script)).unwrap();
        let head: Vec<&str> = text.lines().take_while(|line| line.starts_with("--")).collect();
        assert!(head.len() >= 2, "{script}: {text}");
        assert!(head[1].contains("Usage: sqlplus") && head[1].contains(script), "{head:?}");
        assert!(head.iter().all(|line| !line.contains('&')), "the client would ask: {head:?}");
    }
}

#[test]
fn vectors_are_exported_only_if_they_are_asked_for() {
    let desk = Desk::new();
    let dir = export(&desk, "postgres", &[]);
    let usual = bytes_in(&dir);
    assert!(usual < 2_000_000, "{usual} bytes");
    let readme = std::fs::read_to_string(dir.join("README.md")).unwrap();
    let left_out =
        "- VEC-SEARCH: its vectors are many MB of text: ask for it with --workload VEC-SEARCH";
    assert!(readme.contains(left_out), "{readme}");
    std::fs::remove_dir_all(&dir).unwrap();
    let asked = bytes_in(&export(&desk, "postgres", &["VEC-SEARCH"]));
    assert!(asked > 500_000, "{asked} bytes");
}
