//! The results file: what is written is read back, whatever happens to the file or the writing
//! process.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use dbdyno::error::{Error, Kind};
use dbdyno::model::{RunKind, RunRecord, RunStatus, TestResult};
use dbdyno::store::{Counts, SCHEMA_VERSION, Store};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::fixture;
use crate::skipped::skipped;
use crate::support::{Desk, Done, finished};

/// A store with the fixture run in a directory of its own.
fn store_with_run() -> (TempDir, Store, i64) {
    let dir = TempDir::new().unwrap();
    let mut store = Store::open(&dir.path().join("deep/er/results.db")).unwrap();
    let id = add(&mut store, fixture::run());
    (dir, store, id)
}

fn add(store: &mut Store, run: RunRecord) -> i64 {
    let id = store.begin_run(&run).unwrap();
    for test in fixture::tests() {
        store.save_test(id, &test).unwrap();
    }
    id
}

/// The error of opening `path`, which must be one line that names the file.
fn open_error(path: &Path) -> Error {
    let error = Store::open(path).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with(&path.display().to_string()), "{text}");
    assert!(!text.contains('\n') && !error.advice.is_empty(), "{text}");
    error
}

#[test]
fn a_run_and_its_tests_are_read_back_as_they_were_written() {
    let (_dir, store, id) = store_with_run();
    let expected = RunRecord { id, ..fixture::run() };
    assert_eq!(store.run("last").unwrap(), expected);
    assert_eq!(store.run("nightly").unwrap(), expected);
    assert_eq!(store.run(&id.to_string()).unwrap(), expected);
    assert_eq!(store.tests(id).unwrap(), fixture::as_tests(fixture::tests()));
}

#[test]
fn what_becomes_known_later_is_updated_and_the_list_counts_tests() {
    let (_dir, mut store, id) = store_with_run();
    let mut run = RunRecord { id, status: RunStatus::Running, ended_at: None, ..fixture::run() };
    run.loads.truncate(1);
    run.disclosure.set("os", "kernel", "6.2");
    store.update_run(&run).unwrap();
    assert_eq!(store.run("last").unwrap(), run);
    store.finish_run(id, RunStatus::Interrupted).unwrap();
    let listed = store.runs().unwrap();
    assert_eq!((listed.len(), listed[0].tests, listed[0].status), (1, 12, RunStatus::Interrupted));
    assert!(store.run("last").unwrap().ended_at.unwrap().ends_with('Z'));
    let json = serde_json::to_value(&listed[0]).unwrap();
    let keys: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["engine", "id", "kind", "name", "started_at", "status", "target", "tests"]);
}

#[test]
fn a_run_that_does_not_exist_is_answered_with_those_that_do() {
    let (dir, mut store, id) = store_with_run();
    let text = store.run("weekly").unwrap_err().to_string();
    assert!(
        text.contains("no run 'weekly'")
            && text.contains("nightly")
            && text.contains("from 1 to 1"),
        "{text}"
    );
    store.delete(id).unwrap();
    assert!(store.run("last").unwrap_err().to_string().contains("holds no run yet"));
    let none = Store::open_existing(&dir.path().join("other.db")).unwrap_err();
    assert!(none.to_string().contains("the results file does not exist"), "{none}");
    assert!(!dir.path().join("other.db").exists());
}

#[test]
fn deleting_a_run_leaves_nothing_of_it_and_nothing_of_others_goes() {
    let (_dir, mut store, first) = store_with_run();
    let second = add(&mut store, fixture::run());
    store.delete(first).unwrap();
    assert_eq!(store.tests(second).unwrap(), fixture::as_tests(fixture::tests()));
    let connection = Connection::open(Path::new(&store.place())).unwrap();
    for (table, rows) in [("run", 1), ("load", 2), ("test", 12), ("series", 144), ("snapshot", 48)]
    {
        let sql = format!("SELECT count(*) FROM {table}");
        assert_eq!(connection.query_row(&sql, [], |row| row.get::<_, i64>(0)), Ok(rows), "{table}");
    }
}

#[test]
fn a_test_that_cannot_be_stored_leaves_no_part_of_it() {
    let (_dir, mut store, id) = store_with_run();
    let mut test = fixture::tests().remove(0);
    test.seq = 13;
    test.series[5].ops = f64::NAN;
    assert!(store.save_test(id, &test).is_err());
    assert_eq!(store.runs().unwrap()[0].tests, 12);
    test.series[5].ops = 1.0;
    test.counters.set("rate", f64::INFINITY);
    store.save_test(id, &test).unwrap();
    assert_eq!(
        store.tests(id).unwrap()[12].measured().unwrap().counters.get("rate"),
        None,
        "no number is unknown"
    );
}

#[test]
fn a_run_whose_process_died_is_shown_as_failed() {
    let (_dir, mut store, id) = store_with_run();
    store.update_run(&RunRecord { id, status: RunStatus::Running, ..fixture::run() }).unwrap();
    assert_eq!(store.runs().unwrap()[0].status, RunStatus::Running, "we are alive");
    let sql = "UPDATE run SET process = replace(process, ' ', ' 1')";
    Connection::open(Path::new(&store.place())).unwrap().execute(sql, []).unwrap();
    assert_eq!(store.runs().unwrap()[0].status, RunStatus::Failed);
    assert_eq!(store.run("last").unwrap().status, RunStatus::Failed);
}

#[test]
fn two_writers_and_a_reader_get_along() {
    let (_dir, mut store, first) = store_with_run();
    let path = std::path::PathBuf::from(store.place());
    let writer = std::thread::spawn(move || {
        let mut store = Store::open(&path).unwrap();
        add(&mut store, fixture::run())
    });
    for seq in 13..33 {
        store.save_test(first, &TestResult { seq, ..fixture::tests().remove(0) }).unwrap();
        store.runs().unwrap();
    }
    let second = writer.join().unwrap();
    assert_eq!((store.tests(first).unwrap().len(), store.tests(second).unwrap().len()), (32, 12));
}

#[test]
fn files_that_are_not_ours_or_damaged_or_newer_are_refused_unchanged() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("text"), "no database at all, just a text that is long enough".repeat(40))
        .unwrap();
    assert!(open_error(&path("text")).what.contains("not a dbdyno results file"));
    Connection::open(path("foreign")).unwrap().execute("CREATE TABLE t (a)", []).unwrap();
    assert!(open_error(&path("foreign")).what.contains("not a dbdyno results file"));
    drop(Store::open(&path("newer")).unwrap());
    Connection::open(path("newer"))
        .unwrap()
        .pragma_update(None, "user_version", SCHEMA_VERSION + 1)
        .unwrap();
    let newer = open_error(&path("newer"));
    assert!(newer.what.contains("newer dbdyno") && newer.kind == Kind::Usage);
    fs::create_dir(path("dir")).unwrap();
    assert_eq!(open_error(&path("dir")).kind, Kind::Target);
    fs::write(path("file"), "x").unwrap();
    let below_a_file = Store::open(&path("file/results.db")).unwrap_err();
    assert_eq!(below_a_file.kind, Kind::Target, "{below_a_file}");
}

#[test]
fn a_file_damaged_in_the_middle_is_said_to_be_damaged() {
    let (_dir, store, id) = store_with_run();
    let path = std::path::PathBuf::from(store.place());
    drop(store);
    let mut bytes = fs::read(&path).unwrap();
    let size = bytes.len();
    bytes[8192..size].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let error = Store::open(&path).and_then(|store| store.tests(id)).unwrap_err().to_string();
    assert!(error.contains("damaged"), "{error}");
}

#[test]
fn a_value_changed_by_hand_is_named() {
    let (_dir, store, id) = store_with_run();
    let sql = "UPDATE test SET params = '{broken' WHERE seq = 2";
    Connection::open(Path::new(&store.place())).unwrap().execute(sql, []).unwrap();
    assert!(store.tests(id).unwrap_err().to_string().contains("test.params"));
}

#[test]
fn a_full_disk_is_told_apart() {
    if !Path::new("/dev/full").exists() {
        return skipped("DEV_FULL", "there is no /dev/full here");
    }
    let (_dir, store, id) = store_with_run();
    let error = store.export(&[id], &mut fs::File::create("/dev/full").unwrap()).unwrap_err();
    assert_eq!(error.kind, Kind::Target, "{error}");
}

fn export(store: &Store) -> String {
    let ids: Vec<i64> = store.runs().unwrap().iter().map(|run| run.id).collect();
    let mut out = Vec::new();
    store.export(&ids, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn import(text: &str) -> (TempDir, Store, dbdyno::error::Result<Counts>) {
    let dir = TempDir::new().unwrap();
    let mut store = Store::open(&dir.path().join("results.db")).unwrap();
    let outcome = store.import("runs.jsonl", &mut text.as_bytes());
    (dir, store, outcome)
}

#[test]
fn export_and_import_lose_nothing() {
    let (_dir, mut store, _) = store_with_run();
    let second = add(&mut store, RunRecord { name: None, ..fixture::run() });
    store.delete(1).unwrap();
    let text = export(&store);
    let (_other_dir, other, counts) = import(&text);
    assert_eq!(counts.unwrap(), Counts { runs: 1, tests: 12 });
    let with_old_id = export(&other).replace("\"id\":1,", &format!("\"id\":{second},"));
    assert_eq!(with_old_id, text);
}

#[test]
fn a_bad_import_is_refused_with_its_line_and_imports_nothing() {
    let (_dir, store, _) = store_with_run();
    let text = export(&store);
    let lines: Vec<&str> = text.lines().collect();
    let without = |skip: usize| {
        let kept =
            lines.iter().enumerate().filter(|(index, _)| *index != skip).map(|(_, line)| *line);
        kept.collect::<Vec<_>>().join("\n")
    };
    let newer = text.replacen("\"format\":2", "\"format\":3", 1);
    let cases = [
        (String::new(), "runs.jsonl:1: is empty"),
        ("{}".into(), "runs.jsonl:1: is not an export"),
        (newer, "runs.jsonl:1: was written by a newer dbdyno"),
        (lines[..5].join("\n"), "runs.jsonl:5: the file ends here"),
        (text[..text.len() / 2].to_owned(), "damaged line"),
        (without(1), "runs.jsonl:2: this line is out of place"),
        (without(4), "runs.jsonl:14: 1 runs and 11 tests, but 1 and 12 were written"),
        (text.replacen("\"seq\":3", "\"seq\":2", 1), "runs.jsonl:5: does not fit"),
    ];
    for (text, expected) in cases {
        let (_dir, store, outcome) = import(&text);
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{error} / {expected}");
        assert!(store.runs().unwrap().is_empty(), "{expected}: half imported");
    }
}

#[test]
fn a_run_that_is_there_already_is_not_imported_twice() {
    let (_dir, mut store, _) = store_with_run();
    let text = export(&store);
    let error = store.import("runs.jsonl", &mut text.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("runs.jsonl:2: this run is here already as run 1"), "{error}");
    assert_eq!(store.runs().unwrap().len(), 1);
}

#[test]
fn a_results_file_explains_every_column_of_its_tables() {
    let (_dir, store, _) = store_with_run();
    let connection = Connection::open(Path::new(&store.place())).unwrap();
    let sql = "SELECT t.name, c.name, s.sql FROM pragma_table_list t, pragma_table_info(t.name) c \
               JOIN sqlite_schema s ON s.name = t.name WHERE t.schema = 'main' AND t.name NOT LIKE \
               'sqlite%'";
    let mut statement = connection.prepare(sql).unwrap();
    let columns =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    let columns: Vec<(String, String, String)> = columns.map(Result::unwrap).collect();
    assert!(columns.len() > 80, "{}", columns.len());
    for (table, column, sql) in columns {
        let line = sql.lines().find(|line| line.split_whitespace().next() == Some(&column));
        let remark = line.and_then(|line| line.split_once(" -- ")).map(|(_, remark)| remark.trim());
        assert!(remark.is_some_and(|remark| remark.len() > 2), "{table}.{column}: {line:?}");
    }
}

#[test]
fn a_file_of_the_first_schema_is_brought_up_to_date_and_its_runs_were_measured() {
    let (_dir, store, id) = store_with_run();
    let path = std::path::PathBuf::from(store.place());
    drop(store);
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("ALTER TABLE run DROP COLUMN kind; PRAGMA user_version = 1").unwrap();
    drop(connection);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.run("last").unwrap(), RunRecord { id, ..fixture::run() });
    assert_eq!(store.tests(id).unwrap(), fixture::as_tests(fixture::tests()));
}

#[test]
fn a_run_of_the_second_schema_keeps_its_kind() {
    let (_dir, store, id) = store_with_run();
    let path = std::path::PathBuf::from(store.place());
    drop(store);
    let second = "ALTER TABLE run DROP COLUMN kind; ALTER TABLE run ADD COLUMN kind TEXT NOT NULL \
                  DEFAULT 'measured' CHECK (kind IN ('measured', 'published')); UPDATE run SET \
                  kind = 'published'; PRAGMA user_version = 2";
    Connection::open(&path).unwrap().execute_batch(second).unwrap();
    let published = RunRecord { id, kind: RunKind::Published, ..fixture::run() };
    assert_eq!(Store::open(&path).unwrap().run("last").unwrap(), published);
}

#[test]
fn verdicts_are_counted_without_reading_the_tests() {
    let (_dir, store, _) = store_with_run();
    let path = std::path::PathBuf::from(store.place());
    drop(store);
    // As a file of the third schema is brought up to date.
    let third = "DROP INDEX test_by_verdict; PRAGMA user_version = 3";
    Connection::open(&path).unwrap().execute_batch(third).unwrap();
    drop(Store::open(&path).unwrap());
    let counted =
        "EXPLAIN QUERY PLAN SELECT run_id, verdict, count(*) FROM test GROUP BY run_id, verdict";
    let plan: String =
        Connection::open(&path).unwrap().query_row(counted, [], |row| row.get(3)).unwrap();
    assert!(plan.contains("COVERING INDEX test_by_verdict"), "{plan}");
}

/// A command of the program by a user who may read what is ours but not write it.
fn as_reader(desk: &Desk, line: &str) -> Done {
    let mut command = desk.command(line);
    if rustix::process::geteuid().is_root() {
        // Root may write everything. The program that was built may be where nobody else can go.
        let program = desk.path("dbdyno");
        // By another process: while this one has it open, no test can start it.
        assert!(
            Command::new("cp").arg(command.get_program()).arg(&program).status().unwrap().success()
        );
        let mut unprivileged = Command::new(program);
        unprivileged
            .args(command.get_args())
            .env("DBDYNO_HOME", desk.path(""))
            .uid(65_534)
            .gid(65_534);
        command = unprivileged;
    }
    finished(command, line)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_run_that_goes_on_is_not_deleted() {
    let desk = Desk::new();
    let path = desk.path("results.db");
    let mut store = Store::open(&path).unwrap();
    // Written by this process, which lives.
    let running = RunRecord { status: RunStatus::Running, ..fixture::run() };
    let id = store.begin_run(&running).unwrap();
    let line = format!("results delete last --results {}", path.display());
    desk.run(&line).fails(2, &["run 1", "still being written"]);
    store.save_test(id, &fixture::tests()[0]).unwrap();
    store.finish_run(id, RunStatus::Finished).unwrap();
    desk.run(&line).ok();
    assert!(store.runs().unwrap().is_empty());
}

#[test]
fn a_file_that_may_only_be_read_is_read() {
    let desk = Desk::new();
    let (dir, path) = (desk.path("archive"), desk.path("archive/results#1%3f.db"));
    let mut store = Store::open(&path).unwrap();
    add(&mut store, fixture::run());
    let line = |command: &str| format!("{command} --results {}", path.display());
    let reads = |runs: usize| {
        // The owner gives others what they need: the file, and what SQLite has beside it.
        for entry in fs::read_dir(&dir).unwrap() {
            set_mode(&entry.unwrap().path(), 0o444);
        }
        set_mode(&dir, 0o555);
        let list = as_reader(&desk, &line("results list --format json")).ok().json();
        assert_eq!(list["runs"].as_array().unwrap().len(), runs, "{list:#}");
        as_reader(&desk, &line("report kpm last")).ok();
        let refused = as_reader(&desk, &line("results delete last"));
        refused.fails(3, &["cannot be written"]);
        set_mode(&path, 0o644);
        set_mode(&dir, 0o755);
    };
    // The last run is in the log beside the file, as long as somebody has it open.
    reads(1);
    let half = desk.path("half");
    fs::create_dir(&half).unwrap();
    for end in ["", "-wal"] {
        fs::copy(format!("{}{end}", path.display()), half.join(format!("results.db{end}")))
            .unwrap();
    }
    set_mode(&half, 0o555);
    let line = format!("results list --results {}", half.join("results.db").display());
    as_reader(&desk, &line).fails(3, &["cannot be read", "-wal"]);
    set_mode(&half, 0o755);
    drop(store);
    reads(1);
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "nothing was put beside it");
}

#[test]
fn an_older_file_that_may_only_be_read_says_what_it_lacks() {
    let desk = Desk::new();
    let path = desk.path("archive.db");
    drop(Store::open(&path).unwrap());
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 1").unwrap();
    set_mode(&path, 0o444);
    let said = ["older dbdyno (schema 1,", "copy it"];
    as_reader(&desk, &format!("results list --results {}", path.display())).fails(2, &said);
}

#[test]
fn an_export_of_the_first_format_is_read() {
    let (_dir, store, _) = store_with_run();
    let text = export(&store)
        .replacen("\"format\":2", "\"format\":1", 1)
        .replace("\"kind\":\"measured\",", "");
    let (_dir, store, outcome) = import(&text);
    outcome.unwrap();
    assert_eq!(store.run("last").unwrap().kind, dbdyno::model::RunKind::Measured);
    assert_eq!(store.tests(1).unwrap(), fixture::as_tests(fixture::tests()));
}
