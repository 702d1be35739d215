//! Deletes and updates beside `sysbench oltp_delete` and `oltp_update_index` on MariaDB: the
//! server's own counter must be what each says that it did.

use std::process::Command;

use dbdyno::engine::Session;
use dbdyno::error::Result;
use dbdyno::model::{Drive, TestResult};

use super::agreement::{Agreement, Bound, Report, Subject, Witnessed};
use super::counts::Extent;
use super::lab::Lab;
use super::{drive, failed, mariadb};

const DATABASE: &str = "sbtest";
const TABLE_ROWS: u64 = 10_000;
const THREADS: u32 = 2;
const EVENTS: f64 = 3000.0;
/// Seen with a procedure of one statement: dropped, it adds 1 to Handler_delete.
const ROUTINE: &str = "the routine that is dropped after the test is a row of mysql.proc";
const OURS: [Change; 2] = [
    Change {
        workload: "DL-DELETE",
        figure: "rows deleted",
        counter: "Handler_delete",
        ops: 60.0,
        // As many come in as go.
        rows: |result| result.total.rows / 2,
        of_routine: 1.0,
    },
    Change {
        workload: "LGWR-LAT",
        figure: "rows updated",
        counter: "Handler_update",
        ops: 300.0,
        rows: |result| result.total.rows,
        of_routine: 0.0,
    },
];
/// First what keeps all rows.
const THEIRS: [Change; 2] = [
    Change { workload: "oltp_update_index", ops: EVENTS, ..OURS[1] },
    Change { workload: "oltp_delete", ops: EVENTS, ..OURS[0] },
];

/// A change of rows, by the name of who makes it, and the counter of the server for it.
#[derive(Clone, Copy)]
struct Change {
    workload: &'static str,
    figure: &'static str,
    counter: &'static str,
    ops: f64,
    /// Rows that we changed.
    rows: fn(&TestResult) -> u64,
    /// Rows of the server's own tables that are changed when a routine is dropped.
    of_routine: f64,
}

/// Counts of ours in each drive, and of sysbench's.
pub fn agreements(lab: &Lab, extent: Extent) -> Result<Vec<Agreement>> {
    let mut session = lab.database.session().map_err(|error| error.at("witness"))?;
    let mut agreements = Vec::new();
    for change in OURS {
        let ops = ((change.ops * extent.scale) as u64).max(1);
        for drive in [Drive::Database, Drive::Client] {
            let selection = drive::fixed(lab, change.workload, drive, ops)?;
            let before = counter(session.as_mut(), change.counter)?;
            let result = drive::test(lab, &selection, 1, &mut |_| Default::default(), None)?;
            let counted = counter(session.as_mut(), change.counter)? - before;
            let subject = Subject { engine: lab.engine.name(), workload: change.workload, drive };
            let mut report = Report { subject, agreements: &mut agreements };
            let bound = match drive {
                Drive::Database if change.of_routine > 0.0 => {
                    Bound::Within(change.of_routine, ROUTINE)
                }
                Drive::Database | Drive::Client => Bound::Equal,
            };
            let ours = (change.rows)(&result);
            let witnessed = Witnessed::new(change.counter, counted as f64);
            report.add(change.figure, ours as f64, witnessed, bound);
        }
    }
    for sql in
        [format!("drop database if exists {DATABASE}"), format!("create database {DATABASE}")]
    {
        session.execute(&sql).map_err(|error| error.at("sysbench"))?;
    }
    run(lab, THEIRS[0].workload, "prepare", 1)?;
    for change in THEIRS {
        let events = ((change.ops * extent.scale) as u64).max(1);
        let before = counter(session.as_mut(), change.counter)?;
        mariadb::reset(session.as_mut())?;
        let text = run(lab, change.workload, "run", events)?;
        let counted = counter(session.as_mut(), change.counter)? - before;
        let executed = mariadb::events(session.as_mut(), mariadb::EXECUTE)?;
        let figure_of =
            |name| figure(&text, name).ok_or_else(|| failed("sysbench", "printed no count"));
        let (changed, all) = (figure_of("write:")?, figure_of("total:")?);
        let workload = change.workload;
        let subject = Subject { engine: lab.engine.name(), workload, drive: Drive::Client };
        let mut report = Report { subject, agreements: &mut agreements };
        report.equal("statements", all, mariadb::EVENTS, executed.count);
        report.equal(change.figure, changed, change.counter, counted);
        report.equal(change.figure, changed, mariadb::EVENTS, executed.rows_affected);
    }
    let drop = format!("drop database {DATABASE}");
    session.execute(&drop).map_err(|error| error.at("sysbench"))?;
    Ok(agreements)
}

/// A counter of the whole server.
fn counter(session: &mut dyn Session, name: &str) -> Result<u64> {
    let sql = format!(
        "select variable_value from information_schema.global_status where variable_name = '{name}'"
    );
    let read = session.query(&sql, &[]).map_err(|error| error.at("witness on MariaDB"))?;
    let value = read.scalar().and_then(|text| text.parse().ok());
    value.ok_or_else(|| failed("witness on MariaDB", format!("it has no counter {name}")))
}

fn run(lab: &Lab, test: &str, what: &str, events: u64) -> Result<String> {
    let url = &lab.url;
    let socket = url.split_once("socket=").and_then(|(_, rest)| rest.split('&').next());
    let socket = socket.ok_or_else(|| failed("sysbench", "the server has no socket"))?;
    let mut command = Command::new("sysbench");
    command.arg(test).args(["--db-driver=mysql", "--mysql-user=dbdyno", "--mysql-password="]);
    command.arg(format!("--mysql-socket={socket}")).arg(format!("--mysql-db={DATABASE}"));
    command.arg(format!("--table-size={TABLE_ROWS}")).args(["--tables=1", "--rand-type=uniform"]);
    if what == "run" {
        command.arg(format!("--threads={THREADS}"));
        command.arg(format!("--events={events}")).arg("--time=0");
    }
    let output = command.arg(what).output();
    let output = output.map_err(|error| failed("sysbench", format!("cannot be run ({error})")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => Err(failed("sysbench", text.lines().last().unwrap_or("failed").to_owned())),
    }
}

/// The number after a name in sysbench's list of queries.
fn figure(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(name))?;
    line.trim().parse().ok()
}
