//! DuckDB's library, absent, damaged or another one, and what our engine counts against what
//! DuckDB's own profiler says.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use dbdyno::engine::{self, Access, ConnectTo, Database, RowLoad, Session};
use dbdyno::model::Target;
use dbdyno::model::rows::RowFunction;

use crate::support::{Desk, TINY, bytes_in, directory, ended, settings, signal, until};

const NAME: &str = "libduckdb.so";

/// A library with these functions, made by the compiler that links Rust's programs.
fn library(dir: &Path, source: &str) {
    std::fs::create_dir_all(dir).unwrap();
    std::fs::write(dir.join("stub.c"), source).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o", NAME, "stub.c"])
        .current_dir(dir)
        .status();
    assert!(built.unwrap().success());
}

/// The line that says why `dir` is of no use, for a run and for the preflight, which leave nothing
/// behind.
#[track_caller]
fn assert_refused(desk: &Desk, dir: &Path, code: i32, words: &[&str]) {
    let dir = dir.display();
    desk.run(&format!("run duckdb {TINY} --quiet --server-bin {dir}")).fails(code, words);
    let checked = desk.run(&format!("check duckdb --server-bin {dir}"));
    assert!(
        checked.code == Some(1) && words.iter().all(|word| checked.stdout.contains(word)),
        "{checked:#?}"
    );
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}

#[test]
fn a_library_that_is_absent_damaged_or_another_one_is_one_line() {
    let desk = Desk::new();
    let dir = |name: &str| desk.path(name);
    let how = "dbdyno binaries fetch duckdb";
    assert_refused(&desk, &dir("nowhere"), 2, &["does not exist", "nowhere", how]);
    std::fs::create_dir(dir("damaged")).unwrap();
    std::fs::write(dir("damaged").join(NAME), [0x7f, b'E', b'L', b'F', 2, 1, 1, 0]).unwrap();
    assert_refused(&desk, &dir("damaged"), 2, &["cannot be loaded", how]);
    library(&dir("foreign"), "int answer(void) { return 42; }");
    assert_refused(&desk, &dir("foreign"), 2, &["is not DuckDB", how]);
    library(&dir("newer"), "const char *duckdb_library_version(void) { return \"v2.0.1\"; }");
    assert_refused(&desk, &dir("newer"), 3, &["is DuckDB 2.0.1", "1.5", how]);
    library(&dir("older"), "const char *duckdb_library_version(void) { return \"v1.4.9\"; }");
    assert_refused(&desk, &dir("older"), 3, &["is DuckDB 1.4.9", how]);
    library(&dir("less"), "const char *duckdb_library_version(void) { return \"v1.9.0\"; }");
    assert_refused(&desk, &dir("less"), 3, &["lacks the function duckdb_", how]);
}

#[test]
fn without_a_library_one_line_says_how_to_have_it() {
    let desk = Desk::new();
    let line = format!("run duckdb {TINY} --quiet");
    let mut command = desk.command(&line);
    command.env("XDG_CACHE_HOME", desk.path("empty"));
    crate::support::finished(command, &line)
        .fails(2, &["is not on this host", "dbdyno binaries fetch duckdb"]);
    desk.run(&format!("run sqlite {TINY} --quiet --server-bin /tmp"))
        .fails(2, &["--server-bin", "compiled in"]);
}

#[test]
fn bad_places_and_files_are_one_line() {
    let desk = Desk::new();
    desk.run("load duckdb --quiet --data-dir /dev/null/x").fails(3, &["/dev/null/x", "--data-dir"]);
    std::fs::create_dir_all(desk.data()).unwrap();
    std::fs::write(desk.data().join("dbdyno-duckdb.db"), "a text, not a database of DuckDB")
        .unwrap();
    let line = format!("run duckdb {TINY} --quiet");
    desk.run(&line).fails(3, &["dbdyno-duckdb.db", "not a", "--data-dir"]);
    desk.run("clean duckdb").ok();
    desk.run(&line).ok();
}

#[test]
fn a_killed_run_leaves_nothing_to_the_next_one() {
    let desk = Desk::new();
    let line = "run duckdb --size 1 --workload STO-READ --jobs 1 --quiet";
    let run = desk.spawn(line);
    until("rows are being loaded", || bytes_in(&desk.data()) > 5_000_000);
    signal(run.id(), rustix::process::Signal::KILL);
    ended(run, line);
    desk.run(&format!("run duckdb {TINY} --quiet")).ok();
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}

fn open(file: &Path) -> Box<dyn Database> {
    let target =
        Target::Embedded { engine: "duckdb".into(), data_dir: file.parent().unwrap().into() };
    let (file, settings) =
        (Some(file.to_path_buf()), settings(&[("cache_mb", "256"), ("threads", "1")]));
    let to = ConnectTo { file, settings, ..ConnectTo::new(target) };
    engine::find("duckdb").unwrap().open(&to, Access::Provision).unwrap()
}

fn read_count(session: &mut dyn Session, name: &str) -> u64 {
    let rows = session.query(&format!("select getvariable('dbdyno_{name}')"), &[]).unwrap();
    rows.scalar().unwrap().parse().unwrap()
}

/// Bytes that this thread has read by calls of the operating system.
fn read_by_this_thread() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

#[test]
fn bytes_that_the_log_counts_are_those_of_the_operating_system_and_duckdbs_profiler_has_no_more() {
    let dir = directory();
    let file = dir.path().join("profiled.db");
    let columns = "id bigint, key25 integer, key125 integer, key320 integer, region integer, \
                   booked_on date, amount decimal(12,2), quantity integer, status integer, code \
                   varchar, filler varchar";
    let rows = RowFunction { table_rows: 248_000, seed: 7 };
    {
        let database = open(&file);
        database.session().unwrap().execute(&format!("create table t ({columns})")).unwrap();
        let load = RowLoad { table: "t", rows, ids: 1..248_001, note: None, in_database: None };
        database.load_rows(&load, &mut |_| true).unwrap();
        let mut session = database.session().unwrap();
        session.execute("checkpoint").unwrap();
        assert!(read_count(session.as_mut(), "written_bytes") > 1_000_000);
    }
    let database = open(&file);
    let mut session = database.session().unwrap();
    let report = dir.path().join("profile.json");
    session.execute("pragma enable_profiling = 'json'").unwrap();
    session.execute(&format!("set profiling_output = '{}'", report.display())).unwrap();
    let (before, thread_before) =
        (read_count(session.as_mut(), "read_bytes"), read_by_this_thread());
    session.query("select sum(id), max(code), max(filler) from t", &[]).unwrap();
    let by_thread = read_by_this_thread() - thread_before;
    let text = std::fs::read_to_string(&report).unwrap();
    let read = read_count(session.as_mut(), "read_bytes") - before;
    // What the thread reads beside: its own figures.
    assert!(read > 1_000_000 && by_thread - read < 4096, "{read} of {by_thread} bytes");
    let profile: BTreeMap<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
    // The profiler of 1.5 leaves out blocks that a scan reads ahead.
    assert!((1..=read).contains(&profile["total_bytes_read"].as_u64().unwrap()), "{text}");
}
