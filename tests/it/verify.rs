//! `verify` says "ok" of what it has checked and of nothing else.

use dbdyno::model::Drive;
use dbdyno::plan;

use crate::every_workload::{request, wish};
use crate::servers::Lease;
use crate::skipped::skipped;
use crate::support::{Desk, lacks_library};

/// Workloads about which no answer and no claim says anything: engine, drive, workload. There
/// another job's op may come between.
const UNCHECKED: [(&str, Option<Drive>, &str); 1] = [("mariadb", Some(Drive::Client), "DA-INDEX")];

/// Output of `verify` for every workload that this engine has, in this drive or in any, by
/// workload.
fn verify_all(engine: &str, target: &str, drive: Option<Drive>) -> Vec<(String, String)> {
    let catalog = crate::support::catalog();
    let runs = |id: &str| {
        let drives = drive.map_or(vec![Drive::Database, Drive::Client], |drive| vec![drive]);
        drives
            .iter()
            .any(|drive| plan::build(&catalog, &request(engine, *drive, id.to_string())).is_ok())
    };
    let mut line = format!("verify {target} --size 0.01 --quiet");
    for workload in catalog.workloads().filter(|workload| runs(&workload.id)) {
        line += &format!(" --workload {}", wish(&workload.id, None));
    }
    if let Some(drive) = drive {
        line += &format!(" --drive {}", drive.name());
    }
    let said = Desk::new().run(&line).ok().stdout;
    let words = |line: &str| {
        let (mark, what) = line.split_once(' ').unwrap();
        (what.trim().split([':', ' ']).next().unwrap().to_string(), mark.to_string())
    };
    said.lines().map(words).collect()
}

/// Each engine is a test of its own, as they take long one after another.
#[test]
fn every_workload_is_checked_on_sqlite_or_said_not_to_be() {
    every_workload_is_checked("sqlite", "sqlite", None, MOST);
}

#[test]
fn every_workload_is_checked_on_duckdb_or_said_not_to_be() {
    every_workload_is_checked("duckdb", "duckdb", None, MOST);
}

#[test]
fn every_workload_is_checked_on_chdb_or_said_not_to_be() {
    if let Some(why) = lacks_library("chdb") {
        return skipped("CHDB", why);
    }
    // ClickHouse has cached queries and analytics only.
    every_workload_is_checked("chdb", "chdb", None, 6);
}

#[test]
fn every_workload_is_checked_on_postgres_or_said_not_to_be() {
    every_workload_is_checked_in_both_drives("postgres");
}

#[test]
fn every_workload_is_checked_on_mariadb_or_said_not_to_be() {
    every_workload_is_checked_in_both_drives("mariadb");
}

/// An engine with most of the workloads has more than this number.
const MOST: usize = 35;

/// On a server that others share, whose tables are loaded for one drive and there for the other.
fn every_workload_is_checked_in_both_drives(engine: &str) {
    let lease = Lease::new(engine, None, &[]);
    for drive in [None, Some(Drive::Client)] {
        every_workload_is_checked(engine, &lease.url, drive, MOST);
    }
}

/// Checks the output of `verify`, which names more than `least` workloads.
fn every_workload_is_checked(engine: &str, target: &str, drive: Option<Drive>, least: usize) {
    let catalog = crate::support::catalog();
    let verified = verify_all(engine, target, drive);
    assert!(verified.len() > least, "{engine} {drive:?}: {verified:?}");
    for (what, mark) in verified {
        // What a server must have for it may be missing here.
        let workload = catalog.workloads().find(|workload| workload.id == what);
        let may_lack = workload.is_some_and(|workload| {
            workload.requires.keys().any(|name| name.starts_with(&format!("{engine}.")))
        });
        if may_lack && mark == "-" {
            continue;
        }
        let expected = if UNCHECKED.contains(&(engine, drive, &what)) { "-" } else { "ok" };
        assert_eq!(mark, expected, "{what} on {engine} {drive:?}");
    }
}

/// Ops of a client that do not do what the catalog says of them, each in another way.
const GROUP: &str = r#"
id = "OWN"
title = "wrong"
about = "Ops that touch other rows than they should."

[[workload]]
id = "OWN-TWO"
title = "one row, says the answer"
about = "and it is two"
revision = 1
tables = ["small"]
commits = true
kpm = { value = "ops", unit = "tps", better = "higher" }
binds = { id = { random = 1000 } }
client = [{ commit = "auto", steps = ["update"] }]
answer = { rows = 1 }
undrivable = { database = "it is about the client" }

[[workload]]
id = "OWN-CLAIM"
title = "three rows, says the contract"
about = "and it is two"
revision = 1
tables = ["small"]
commits = true
kpm = { value = "ops", unit = "tps", better = "higher" }
binds = { id = { random = 1000 } }
client = [{ commit = "block", steps = ["update"] }]
contract = [{ what = "rows", per = "ops", min = 3, max = 3, because = "it is not three" }]
undrivable = { database = "it is about the client" }

[[workload]]
id = "OWN-TIMES"
title = "four look-ups, each of which finds its row"
about = "as it should be"
revision = 1
tables = ["small"]
kpm = { value = "ops", unit = "tps", better = "higher" }
binds = { id = { random = 1000 } }
client = [{ steps = ["lookup"], times = 4 }]
answer = { step = "lookup", binds = { id = 7 }, rows = 1, sums = { id = 7 } }
undrivable = { database = "it is about the client" }

[[workload]]
id = "OWN-SILENT"
title = "nobody says what it gives"
about = "so nobody can check it"
revision = 1
tables = ["small"]
kpm = { value = "ops", unit = "tps", better = "higher" }
binds = { id = { random = 1000 } }
client = [{ steps = ["lookup"] }]
undrivable = { database = "it is about the client" }
"#;
const SQL: &str = "\
-- name: update\nupdate {{small}} set status = status + 1 where id in (:id, :id + 1)\n
-- name: lookup\nselect id from {{small}} where id = :id\n";

#[test]
fn an_op_that_touches_other_rows_than_the_catalog_says_is_a_wrong_answer() {
    for target in ["sqlite", "duckdb", "postgres", "mariadb"] {
        let desk = Desk::new();
        let folder = desk.path("own/workloads/own");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("group.toml"), GROUP).unwrap();
        std::fs::write(folder.join("common.sql"), SQL).unwrap();
        let workloads = ["OWN-TWO", "OWN-CLAIM", "OWN-TIMES", "OWN-SILENT"]
            .map(|id| format!(" --workload {id}"))
            .concat();
        let own = desk.path("own").display().to_string();
        let said =
            desk.run(&format!("verify {target} --catalog {own} --size 0.01 --quiet{workloads}"));
        let said = said.fails(1, &["2 checks failed"]).stdout;
        let lines: Vec<&str> = said.lines().skip(1).collect();
        assert!(
            lines[0].starts_with("WRONG   OWN-TWO: wrong answer: rows of one op: 2, expected 1"),
            "{target}: {said}"
        );
        assert!(
            lines[1].starts_with("WRONG   OWN-CLAIM: wrong answer: rows per ops = 2"),
            "{target}: {said}"
        );
        assert_eq!(lines[2], "ok      OWN-TIMES", "{target}");
        assert!(lines[3].starts_with("-       OWN-SILENT: not checked: "), "{target}: {said}");
    }
}
