//! `selftest`: whole on SQLite, on servers with some workloads; a counter that lies is named, and
//! nothing is left behind.

use rustix::process::Signal;
use serde_json::Value;

use crate::servers::Lease;
use crate::support::{Desk, Done, column, ended, signal, try_session_of, until};

/// The checks of a self-test's document: name, outcome, evidence.
fn checks(document: &Value) -> Vec<[String; 3]> {
    let text = |check: &Value, name: &str| check[name].as_str().unwrap().to_string();
    let check = |check: &Value| ["check", "outcome", "evidence"].map(|name| text(check, name));
    document["checks"].as_array().unwrap().iter().map(check).collect()
}

#[track_caller]
fn outcome_of<'a>(checks: &'a [[String; 3]], name: &str) -> (&'a str, &'a str) {
    let found = checks.iter().find(|check| check[0] == name);
    found
        .map(|check| (check[1].as_str(), check[2].as_str()))
        .unwrap_or_else(|| panic!("no {name}: {checks:?}"))
}

/// Runs a self-test of a desk; gives how it ended and the file that it wrote.
fn selftest(desk: &Desk, arguments: &str) -> (Done, Value, String) {
    let file = desk.path("selftest.json");
    let done = desk.run(&format!("selftest {arguments} --output {}", file.display()));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}: {done:#?}"));
    (done, serde_json::from_str(&text).unwrap(), text)
}

#[test]
fn sqlite_is_tested_as_a_whole() {
    let desk = Desk::new();
    let (done, document, text) = selftest(&desk, "sqlite --quiet");
    let done = done.ok();
    let checks = checks(&document);
    for name in [
        "connection",
        "data set",
        "answers, client drive",
        "counters, client drive",
        "clock, our own loop",
    ] {
        assert_eq!(outcome_of(&checks, name).0, "ok", "{checks:?}");
        assert!(done.stdout.contains(name), "{}", done.stdout);
    }
    assert!(outcome_of(&checks, "data set").1.ends_with("the known one"), "{checks:?}");
    let tests = document["tests"].as_array().unwrap().len();
    assert!(tests > 40, "{tests} workloads");
    let right = format!("{tests} workloads right");
    assert!(outcome_of(&checks, "answers, client drive").1.starts_with(&right), "{checks:?}");
    assert!(!text.contains(&desk.data().display().to_string()), "it names a path");
    let left: Vec<_> = std::fs::read_dir(desk.data()).into_iter().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Schemas of dbdyno on a server.
fn schemas(engine: &str, url: &str) -> Vec<String> {
    let sql = "select schema_name from information_schema.schemata where schema_name = 'dbdyno'";
    column(try_session_of(engine, url).unwrap().as_mut(), sql)
}

#[test]
fn a_counter_that_lies_is_named_and_the_truth_is_confirmed() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let (url, some) = (&lease.url, "--workload SRV-QUERY1 --drive client");
    let probes = desk.path("lies/probes");
    std::fs::create_dir_all(&probes).unwrap();
    let scans = "sum(pg_stat_get_numscans(c.oid)) filter (where c.relkind = 'i') as index_scans";
    let honest = include_str!("../../catalog/probes/postgres.sql");
    let lie = honest.replace(scans, &format!("2 * {scans}"));
    assert_ne!(lie, honest);
    std::fs::write(probes.join("postgres.sql"), lie).unwrap();
    let lies = desk.path("lies").display().to_string();
    let (done, document, _) = selftest(&desk, &format!("{url} {some} --quiet --catalog {lies}"));
    let file = desk.path("selftest.json").display().to_string();
    done.fails(1, &["selftest: 1 of ", "checks failed on PostgreSQL 15", &file]);
    let (outcome, evidence) = (checks(&document), "the database counted ");
    let found = outcome_of(&outcome, "counters, client drive");
    assert!(
        found.0 == "failed"
            && found.1.contains(evidence)
            && found.1.contains(" index_scans, we expect "),
        "{found:?}"
    );
    assert_eq!(schemas("postgres", url), Vec::<String>::new());

    let (done, document, text) = selftest(&desk, &format!("{url} {some} --format json"));
    assert_eq!(done.ok().json(), document);
    let clock = checks(&document);
    let (outcome, evidence) = outcome_of(&clock, "clock, client drive");
    assert!(outcome != "failed" && evidence.starts_with("ops of 2000 us took mean "), "{evidence}");
    assert!(
        !text.contains("127.0.0.1") && !text.contains("lease_") && document.get("target").is_none(),
        "{text}"
    );
    let compared = &document["tests"][0]["compared"][0];
    assert!(
        compared["counter"] == "index_scans" && compared["counted"].as_f64().unwrap() > 0.0,
        "{compared}"
    );
    assert_eq!(schemas("postgres", url), Vec::<String>::new());

    desk.run(&format!("load {url} --size 0.01 --workload SRV-QUERY1 --quiet")).ok();
    desk.run(&format!("selftest {url} {some}"))
        .fails(2, &["holds a data set of dbdyno already", "dbdyno clean"]);
    assert_eq!(schemas("postgres", url), ["dbdyno"]);
    desk.run(&format!("selftest {url} --keep"))
        .fails(2, &["--keep: a self-test leaves nothing behind"]);
    desk.run(&format!("selftest {url} --workload NOPE")).fails(2, &["NOPE"]);
}

#[test]
fn an_interrupted_self_test_leaves_nothing_behind() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let file = desk.path("selftest.json");
    let child = desk.spawn(&format!("selftest {} --quiet --output {}", lease.url, file.display()));
    let sql = "select relname from pg_class where relname like 'w\\_%'";
    // Its first routine: the data are loaded, answers are being checked or tests run.
    until("a routine or a table of ours is there", || {
        let mut session = try_session_of("postgres", &lease.url).unwrap();
        !column(session.as_mut(), sql).is_empty()
            || !column(session.as_mut(), "select proname from pg_proc where proname like 'w\\_%'")
                .is_empty()
    });
    signal(child.id(), Signal::INT);
    ended(child, "selftest").fails(130, &["interrupted"]);
    assert_eq!(schemas("postgres", &lease.url), Vec::<String>::new());
    assert!(!file.exists());
}

#[cfg(feature = "mariadb")]
#[test]
fn commits_of_mariadb_are_waited_for_and_sleeps_are_not_shorter_than_they_are() {
    let desk = Desk::new();
    let lease = Lease::new("mariadb", None, &[("innodb_flush_log_at_trx_commit", "1")]);
    let arguments = "--workload SRV-QUERY25 --workload LGWR-LAT --drive database --quiet";
    let (done, document, _) = selftest(&desk, &format!("{} {arguments}", lease.url));
    done.ok();
    let checks = checks(&document);
    let commits = outcome_of(&checks, "commits waited for");
    assert!(commits.0 == "ok" && commits.1.contains(" syncs of the log"), "{commits:?}");
    for name in ["answers, database drive", "counters, database drive", "nothing left behind"] {
        assert_eq!(outcome_of(&checks, name).0, "ok", "{checks:?}");
    }
    assert_ne!(outcome_of(&checks, "clock, database drive").0, "failed", "{checks:?}");
    assert_eq!(schemas("mariadb", &lease.url), Vec::<String>::new());
}
