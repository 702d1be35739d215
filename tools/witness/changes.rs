//! Deletes and updates beside `sysbench oltp_delete` and `oltp_update_index` on MariaDB: the
//! server's own counter must be what each says that it did.

use dbdyno::engine::Session;
use dbdyno::error::Result;
use dbdyno::model::{Drive, TestResult};

use super::agreement::{Agreement, Bound, Report, Subject, Witnessed};
use super::counts::Extent;
use super::lab::Lab;
use super::mariadb::{self, PLACE};
use super::sysbench::{DATABASE, SYSBENCH, Sysbench, recreate};
use super::{drive, failed};

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

impl Change {
    /// Ops of a count of this extent.
    fn scaled_ops(&self, extent: Extent) -> u64 {
        ((self.ops * extent.scale) as u64).max(1)
    }
}

/// Counts of ours in each drive, and of sysbench's.
pub fn agreements(lab: &Lab, extent: Extent) -> Result<Vec<Agreement>> {
    let mut session = lab.session(PLACE)?;
    let mut agreements = Vec::new();
    for change in OURS {
        for drive in [Drive::Database, Drive::Client] {
            let subject = Subject { engine: lab.engine.name(), workload: change.workload, drive };
            let mut report = Report { subject, agreements: &mut agreements };
            count_ours(lab, session.as_mut(), &change, extent, &mut report)?;
        }
    }
    recreate(lab)?;
    let sysbench = Sysbench::on(lab, DATABASE)?;
    sysbench.run(THEIRS[0].workload, &options_of_table(), "prepare")?;
    for change in THEIRS {
        let (engine, workload) = (lab.engine.name(), change.workload);
        let subject = Subject { engine, workload, drive: Drive::Client };
        let mut report = Report { subject, agreements: &mut agreements };
        count_theirs(&sysbench, session.as_mut(), &change, extent, &mut report)?;
    }
    let drop = format!("drop database {DATABASE}");
    session.execute(&drop).map_err(|error| error.at(SYSBENCH))?;
    Ok(agreements)
}

/// Runs a workload of ours in the drive of the report.
fn count_ours(
    lab: &Lab,
    session: &mut dyn Session,
    change: &Change,
    extent: Extent,
    report: &mut Report<'_>,
) -> Result<()> {
    let drive = report.subject.drive;
    let selection = drive::fixed_ops(lab, change.workload, drive, change.scaled_ops(extent))?;
    let before = counter(session, change.counter)?;
    let result = drive::test(lab, &selection, 1, &mut |_| Default::default(), None)?;
    let counted = counter(session, change.counter)? - before;
    let bound = match drive {
        Drive::Database if change.of_routine > 0.0 => Bound::Within(change.of_routine, ROUTINE),
        Drive::Database | Drive::Client => Bound::Equal,
    };
    let ours = (change.rows)(&result);
    let witnessed = Witnessed::new(change.counter, counted as f64);
    report.add(change.figure, ours as f64, witnessed, bound);
    Ok(())
}

/// Runs a test of sysbench.
fn count_theirs(
    sysbench: &Sysbench,
    session: &mut dyn Session,
    change: &Change,
    extent: Extent,
    report: &mut Report<'_>,
) -> Result<()> {
    let mut options = options_of_table();
    options.push(format!("--threads={THREADS}"));
    options.push(format!("--events={}", change.scaled_ops(extent)));
    options.push("--time=0".into());
    let before = counter(session, change.counter)?;
    mariadb::reset(session)?;
    let text = sysbench.run(change.workload, &options, "run")?;
    let counted = counter(session, change.counter)? - before;
    let executed = mariadb::read_events(session, mariadb::EXECUTE)?;
    let (changed, all) = (figure(&text, "write:")?, figure(&text, "total:")?);
    report.equal("statements", all, mariadb::EVENTS, executed.count);
    report.equal(change.figure, changed, change.counter, counted);
    report.equal(change.figure, changed, mariadb::EVENTS, executed.rows_affected);
    Ok(())
}

/// Options by which sysbench knows its table.
fn options_of_table() -> Vec<String> {
    vec![
        format!("--table-size={TABLE_ROWS}"),
        "--tables=1".to_owned(),
        "--rand-type=uniform".to_owned(),
    ]
}

/// A counter of the whole server.
fn counter(session: &mut dyn Session, name: &str) -> Result<u64> {
    let sql = format!(
        "select variable_value from information_schema.global_status where variable_name = '{name}'"
    );
    let read = session.query(&sql, &[]).map_err(|error| error.at(PLACE))?;
    let value = read.scalar().and_then(|text| text.parse().ok());
    value.ok_or_else(|| failed(PLACE, format!("it has no counter {name}")))
}

/// The number after a name in sysbench's list of queries.
fn figure(text: &str, name: &str) -> Result<u64> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
    let figure = line.and_then(|line| line.trim().parse().ok());
    figure.ok_or_else(|| failed(SYSBENCH, "printed no count"))
}
