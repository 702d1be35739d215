//! ClickHouse's library: absent or another one, two databases in a process, what it does to the
//! signals of the process, and scans that it could answer without reading.

use std::path::{Path, PathBuf};

use dbdyno::engine::{self, Access, ConnectTo, Database, EngineError, ErrorClass};
use dbdyno::model::{Commit, JobCode, Target};

use crate::engine_contract::{Script, client, run};
use crate::skipped::skipped;
use crate::support::{Desk, TINY, directory, lacks_library, settings, turn, until};

/// Tables whose scans are looked at.
const FILL: &str = "insert into dbdyno.t select number, number % 100, number % 7, \
                    randomPrintableASCII(100) from numbers(100000) settings max_insert_threads = 1";

fn to(directory: PathBuf) -> ConnectTo {
    let target = Target::Embedded { engine: "chdb".into(), data_dir: directory.clone() };
    let settings = settings(&[("cache_mb", "64"), ("sort_mb", "64")]);
    ConnectTo { file: Some(directory), settings, ..ConnectTo::new(target) }
}

fn open(directory: &Path, name: &str) -> Result<Box<dyn Database>, EngineError> {
    engine::find("chdb").unwrap().open(&to(directory.join(name)), Access::Provision)
}

#[test]
fn without_a_library_one_line_says_how_to_have_it() {
    let desk = Desk::new();
    let line = format!("run chdb {TINY} --quiet");
    let mut command = desk.command(&line);
    command.env("XDG_CACHE_HOME", desk.path("empty"));
    crate::support::finished(command, &line)
        .fails(2, &["is not on this host", "dbdyno binaries fetch chdb"]);
    desk.run(&format!("run chdb {TINY} --quiet --server-bin {}", desk.path("nowhere").display()))
        .fails(2, &["does not exist", "dbdyno binaries fetch chdb"]);
}

#[test]
fn a_second_directory_in_a_process_is_refused_until_the_first_is_closed() {
    if let Some(why) = lacks_library("chdb") {
        return skipped("CHDB", why);
    }
    let (_turn, dir) = (turn("chdb"), directory());
    let first = open(dir.path(), "first").unwrap();
    let refused = open(dir.path(), "second").err().unwrap();
    assert_eq!(refused.class, ErrorClass::Busy, "{refused}");
    assert!(refused.message.contains("one database in a process"), "{refused}");
    let again = open(dir.path(), "first").unwrap();
    drop(first);
    assert_eq!(again.session().unwrap().query("select 7", &[]).unwrap().scalar(), Some("7"));
    assert!(open(dir.path(), "second").is_err(), "the first is still open");
    drop(again);
    open(dir.path(), "second").unwrap();
}

#[test]
fn a_directory_of_another_process_is_one_line() {
    if let Some(why) = lacks_library("chdb") {
        return skipped("CHDB", why);
    }
    let (_turn, dir) = (turn("chdb"), directory());
    let place = dir.path().join("dbdyno-chdb.db");
    std::fs::create_dir(&place).unwrap();
    // ClickHouse holds a lock on this file.
    let status = std::fs::File::create(place.join("status")).unwrap();
    status.lock().unwrap();
    let refused = open(dir.path(), "dbdyno-chdb.db").err().unwrap();
    assert_eq!(refused.class, ErrorClass::Busy, "{refused}");
    drop(status);
    // A process that another test starts at this moment has the file open until it runs its
    // program.
    until("nobody has it open", || open(dir.path(), "dbdyno-chdb.db").is_ok());
    let desk = Desk::new();
    std::fs::create_dir_all(desk.data()).unwrap();
    std::fs::write(desk.data().join("dbdyno-chdb.db"), "a text").unwrap();
    desk.run(&format!("run chdb {TINY} --quiet"))
        .fails(3, &["dbdyno-chdb.db", "not a directory", "--data-dir"]);
}

/// Handlers of deadly signals, of our process.
fn caught() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim();
    // SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGTSTP, SIGSYS
    let deadly =
        [4, 5, 6, 7, 8, 11, 20, 31].iter().fold(0_u64, |all, signal| all | 1 << (signal - 1));
    format!("{:x}", u64::from_str_radix(caught, 16).unwrap() & deadly)
}

#[test]
fn signals_are_handled_as_before_the_library_was_opened() {
    if let Some(why) = lacks_library("chdb") {
        return skipped("CHDB", why);
    }
    let (_turn, dir) = (turn("chdb"), directory());
    let before = caught();
    assert_ne!(before, "0", "Rust handles SIGSEGV: the test can fail");
    let database = open(dir.path(), "db").unwrap();
    assert_eq!(caught(), before);
    let mut session = database.session().unwrap();
    session.query("select sum(number) from numbers(1000000)", &[]).unwrap();
    assert_eq!(caught(), before);
}

/// Bytes that statements went through, as ClickHouse counts them.
fn selected_bytes(database: &dyn Database) -> u64 {
    let sql = "select sumIf(value, event = 'SelectedBytes') as bytes from system.events";
    let rows = database.session().unwrap().query(sql, &[]).unwrap();
    rows.scalar().unwrap().parse().unwrap()
}

/// ClickHouse can remember that no row met a predicate, and test it on two columns before it reads
/// the others.
#[test]
fn a_scan_that_no_row_meets_reads_every_column_each_time() {
    if let Some(why) = lacks_library("chdb") {
        return skipped("CHDB", why);
    }
    let (_turn, dir) = (turn("chdb"), directory());
    let database = open(dir.path(), "db").unwrap();
    let mut session = database.session().unwrap();
    session
        .execute(
            "create table dbdyno.t (id Int64 codec(NONE), quantity Int32 codec(NONE),
             status Int32 codec(NONE), filler String codec(NONE)) engine = MergeTree order by id",
        )
        .unwrap();
    session.execute(FILL).unwrap();
    let blocks = include_str!("../../catalog/workloads/srv/chdb.sql");
    let scan = blocks.split("-- name: SRV-SCAN.scan\n").nth(1).unwrap();
    let scan = scan.split("-- name:").next().unwrap().replace("{{small}}", "dbdyno.t");
    let each = 100_000 * (8 + 4 + 4 + 100);
    for _ in 0..3 {
        let before = selected_bytes(database.as_ref());
        let (mut script, mut code) = (Script::new(&[1]), client(&scan, Commit::None));
        if let JobCode::Client { branches, .. } = &mut code {
            branches[0].statements[0].binds.clear();
        }
        run(database.as_ref(), &code, 1, &mut script).unwrap();
        assert_eq!((script.tallies[0].ops, script.tallies[0].rows), (1, 0));
        let read = selected_bytes(database.as_ref()) - before;
        assert!(read >= each, "{read} bytes of {each}");
    }
}

/// A join right after the load reads a few blocks that the operating system still holds: that the
/// figure is one of the database's own cache is said, and the few are not held against it.
#[test]
fn a_join_right_after_the_load_is_no_worse_than_conditional() {
    if let Some(why) = lacks_library("chdb") {
        return skipped("CHDB", why);
    }
    let _turn = turn("chdb");
    let line = "run chdb --workload DA-JOIN-HASH --size 0.1 --jobs 1..2 --warmup 0 --duration 1s \
                --format json --quiet";
    let document = Desk::new().run(line).ok().json();
    let tests = document["tests"].as_array().unwrap();
    assert_eq!(tests.len(), 2);
    for test in tests {
        assert_ne!(test["verdict"]["status"], "invalid", "{:#}", test["verdict"]);
        let counted = |name: &str| test["counters"][name].as_f64().unwrap_or_default();
        assert!(counted("logical_reads") > 0.0, "{:#}", test["counters"]);
    }
}
