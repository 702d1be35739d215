//! Files of an earlier dbdyno are read: a results file, an export and a bundle, stored by the
//! program of commit f53aebeb6a as they are.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use dbdyno::store::SCHEMA_VERSION;
use rusqlite::Connection;
use zip::ZipArchive;

use crate::support::Desk;

const RESULTS: &str = "tests/fixtures/older/results.sql";
const BUNDLE: &str = "tests/fixtures/older/run.dbdyno";
/// Output of that program when it sealed the run.
const DIGEST: &str = "sha256:ad41e5537423aaf4efb3d572b98b2e671b6d4c9fa1d6f8036347b408629b97fe";
const SMALL: &str = "sqlite --quiet --size 0.01 --workload SRV-QUERY1 --workload LGWR-LAT --jobs 1 \
                     --warmup 0 --duration 150ms";

/// A desk whose results file an earlier program wrote.
fn desk() -> (Desk, PathBuf) {
    let desk = Desk::new();
    let path = desk.path("results.db");
    let file = Connection::open(&path).unwrap();
    file.execute_batch(&fs::read_to_string(RESULTS).unwrap()).unwrap();
    (desk, path)
}

#[test]
fn a_results_file_of_an_earlier_program_is_read_compared_and_written_on() {
    let (desk, path) = desk();
    let figures = |desk: &Desk| desk.run("report kpm older --format csv").ok().stdout;
    let before = figures(&desk);
    assert!(before.contains("SRV-QUERY1") && before.contains("LGWR-LAT"), "{before}");
    let page = desk.path("older.html");
    desk.run(&format!("report html older --output {}", page.display())).ok();
    assert!(fs::read_to_string(&page).unwrap().contains("SRV-QUERY1"));
    assert!(desk.run("report test older:1").ok().stdout.contains("SRV-QUERY1"));
    assert!(desk.run("report audit older").ok().stdout.contains("SPEC RG 1"));
    assert!(desk.run("show run older --as-file").ok().stdout.contains("[[test]]"));
    desk.run(&format!("run {SMALL} --name newer")).ok();
    assert!(desk.run("compare older newer").ok().stdout.contains("newer against older"));
    assert_eq!(figures(&desk), before, "what was stored stays as it was");
    assert_eq!(desk.runs().len(), 2);
    let version =
        Connection::open(path).unwrap().query_row("PRAGMA user_version", [], |row| row.get(0));
    assert_eq!(version, Ok(SCHEMA_VERSION));
}

#[test]
fn a_bundle_of_an_earlier_program_is_checked_and_its_work_done_again() {
    let desk = Desk::new();
    let audit = desk.run(&format!("audit {BUNDLE} --digest {DIGEST}")).ok();
    assert!(audit.stderr.contains("every hash is right"), "{}", audit.stderr);
    let again = desk.run(&format!("rerun {BUNDLE} sqlite --digest {DIGEST}")).ok();
    // Whatever has become of the workloads since then, it is told.
    assert!(again.stderr.contains("statements"), "{}", again.stderr);
    assert!(again.stdout.contains("LGWR-LAT"), "{}", again.stdout);
    assert_eq!(desk.runs().len(), 1);
}

#[test]
fn an_export_of_an_earlier_program_is_imported() {
    let (desk, _) = desk();
    let mut lines = String::new();
    ZipArchive::new(fs::File::open(BUNDLE).unwrap())
        .unwrap()
        .by_name("run.jsonl")
        .unwrap()
        .read_to_string(&mut lines)
        .unwrap();
    let file = desk.path("older.jsonl");
    fs::write(&file, lines).unwrap();
    // The same run is not stored twice.
    let line = format!("results import {}", file.display());
    let other = Desk::new();
    other.run(&line).ok();
    let figures = |desk: &Desk| desk.run("report kpm last --format csv").ok().stdout;
    assert_eq!(figures(&other), figures(&desk));
    desk.run(&line);
    assert_eq!(desk.runs().len(), 1);
}
