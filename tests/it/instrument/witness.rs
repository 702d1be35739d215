//! Counts of dbdyno compared with those of others for the same ops: pg_stat_statements, the
//! server's log as pg_waldump reads it, performance_schema, table statistics and the binary log of
//! MariaDB. Counts only, never times; `make witness` does more.

#[path = "../../../tools/witness/agreement.rs"]
#[allow(dead_code)] // `make witness` needs more of these modules
mod agreement;
#[path = "../../../tools/witness/cases.rs"]
mod cases;
#[path = "../../../tools/witness/counts.rs"]
mod counts;
#[path = "../../../tools/peers/drive.rs"]
#[allow(dead_code)]
mod drive;
#[path = "../../../tools/peers/interrupt.rs"]
#[allow(dead_code)]
mod interrupt;
#[path = "../../../tools/peers/lab.rs"]
#[allow(dead_code)]
mod lab;
#[path = "../../../tools/peers/machine.rs"]
#[allow(dead_code)]
mod machine;
#[path = "../../../tools/witness/mariadb.rs"]
#[allow(dead_code)]
mod mariadb;
#[path = "../../../tools/peers/pairs.rs"]
#[allow(dead_code)]
mod pairs;
#[path = "../../../tools/witness/postgres.rs"]
#[allow(dead_code)]
mod postgres;
#[path = "../../../tools/witness/strace.rs"]
#[allow(dead_code)]
mod strace;
#[path = "../../../tools/peers/tls.rs"]
#[allow(dead_code)]
mod tls;

use dbdyno::error::Error;

use crate::support::directory;

/// Workloads laid over the catalog: it has all that are needed here.
const MORE_WORKLOADS: Option<&str> = None;
/// Few ops: that all are counted shows with a hundred as with ten thousand.
const EXTENT: counts::Extent = counts::Extent { scale: 0.1, is_traced: false };
const SIZE_GB: f64 = 0.01;

fn failed(place: &str, what: impl Into<String>) -> Error {
    Error::target(place, what)
}

/// Every workload in every drive of the engine; each has at least so many figures that others know.
fn witnesses_agree(engine: &str, least: usize) {
    let dir = directory();
    let lab = counts::lab(engine, dir.path(), SIZE_GB).unwrap();
    let mut known = 0;
    let mut apart = Vec::new();
    for case in &cases::CASES {
        for drive in counts::drives(&lab, case) {
            let agreements = counts::agreements(&lab, case, drive, EXTENT).unwrap();
            known += agreements.len();
            apart.extend(agreements.into_iter().filter(|one| !one.holds()));
        }
    }
    lab.close().unwrap();
    assert!(apart.is_empty(), "{apart:#?}");
    assert!(known >= least, "{known} figures");
}

#[test]
fn a_server_of_postgresql_counts_what_we_count() {
    witnesses_agree("postgres", 50);
}

#[test]
fn a_server_of_mariadb_counts_what_we_count() {
    witnesses_agree("mariadb", 45);
}

#[test]
fn a_figure_that_differs_is_no_agreement() {
    let subject =
        agreement::Subject { engine: "e", workload: "w", drive: dbdyno::model::Drive::Client };
    let mut all = Vec::new();
    let mut report = agreement::Report { subject, agreements: &mut all };
    report.equal("rows", 100, "another", 101);
    for theirs in [103.0, 102.0] {
        let theirs = agreement::Witnessed::new("another", theirs);
        report.add("rows", 100.0, theirs, agreement::Bound::Within(2.0, "why"));
    }
    report.equal("rows", 0, "another", 0);
    assert_eq!(all.iter().map(|one| one.holds()).collect::<Vec<_>>(), [false, false, true, true]);
}
