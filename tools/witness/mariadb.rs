//! Witnesses on MariaDB: performance_schema, the table statistics, and the events of the binary
//! log.

use std::path::Path;

use dbdyno::engine::{EngineError, Session};
use dbdyno::error::{Error, Result};
use dbdyno::model::Drive;

use super::agreement::{Bound, Report, Witnessed};
use super::cases::{Case, Change};
use super::counts::{CountWitness, Counted, CountedTest, MIN_READS, bound_of_reads};
use super::lab::Lab;
use super::strace::{self, count, count_of_busiest};

/// Settings of a server with these witnesses.
const SETTINGS: [(&str, &str); 8] = [
    ("performance_schema", "on"),
    ("performance_schema_consumer_events_statements_current", "on"),
    ("performance_schema_instrument", "statement/%=on"),
    ("performance_schema_consumer_events_statements_history_long", "on"),
    ("performance_schema_events_statements_history_long_size", "200000"),
    ("userstat", "1"),
    ("log_bin", "witness"),
    ("binlog_format", "row"),
];
pub const EVENTS: &str = "performance_schema";
const TABLES: &str = "table_statistics";
const LOG: &str = "binary log";
/// Place that errors of these witnesses name.
pub const PLACE: &str = "witness on MariaDB";

const LOG_SYNCS: Bound = Bound::Within(
    10.0,
    "InnoDB's own thread writes the log once a second, and may take a commit with it",
);
/// Two in each reading, which are as many as a test has phases.
const READINGS: Bound =
    Bound::Within(30.0, "the readings of our probes run statements within routines, too");
const LAST_ID: Bound =
    Bound::Within(1.0, "the first call looks for the last id, and the server counts that as a row");
const READ_AHEAD: &str =
    "what InnoDB reads in the background, with another call, is in our counter only";

/// MariaDB.
pub struct MariaDb;

impl CountWitness for MariaDb {
    fn engine(&self) -> &'static str {
        "mariadb"
    }

    fn open(&self, directory: &Path) -> Result<Lab> {
        Lab::with_settings(self.engine(), directory, None, &SETTINGS)
    }

    fn count(&self, test: &mut CountedTest<'_>, report: &mut Report<'_>) -> Result<()> {
        let (lab, case) = (test.lab, test.case);
        let mut session = lab.session(PLACE)?;
        reset(session.as_mut())?;
        let Counted { result, calls } = test.run()?;
        let executed = read_events(session.as_mut(), EXECUTE)?;
        let within = read_events(session.as_mut(), IN_ROUTINE)?;
        let tally = &result.total;
        match (test.drive(), case.change) {
            // One call of the routine for each slice, whose last statement tells what was done.
            (Drive::Database, None) => {
                let called = read_events(session.as_mut(), CALL)?;
                let statements = within.count.saturating_sub(called.count) as f64;
                report.add(
                    "statements",
                    tally.ops as f64,
                    Witnessed::new(EVENTS, statements),
                    READINGS,
                );
            }
            // One call for each op; what it found went into variables.
            (Drive::Database, Some(change)) => {
                report.equal("statements", tally.ops, EVENTS, executed.count);
                let (ours, theirs) = (tally.rows as f64, executed.rows_affected as f64);
                let bound = if change == Change::Insert { LAST_ID } else { Bound::Equal };
                report.add("rows", ours, Witnessed::new(EVENTS, theirs), bound);
            }
            (Drive::Client, _) if executed.count > 0 => {
                let rows = executed.rows_sent + executed.rows_affected;
                report.equal("statements", (case.of_tally)(tally), EVENTS, executed.count);
                report.equal("rows", tally.rows, EVENTS, rows);
            }
            // The bulk load has a command of its own, whose rows are not counted.
            (Drive::Client, _) => {}
        }
        let in_table = read_table_rows(session.as_mut(), case.table)?;
        let table_rows = lab.loaded.facts_for(&[]).get("small_rows").copied().unwrap_or_default();
        if let Some(rows_read) = case.rows_read {
            let ours = rows_read(tally, table_rows as u64);
            report.equal("rows gone through", ours, TABLES, in_table.read);
        }
        if let Some(change) = case.change {
            let commits = count_commits(session.as_mut(), case, change)?;
            report.equal("commits", tally.commits, LOG, commits);
            if change == Change::UpdateOne {
                report.equal("commits", tally.commits, TABLES, in_table.changed);
            }
            // A bulk load fills the log's buffer again and again.
            if let Some(calls) = &calls
                && executed.count > 0
            {
                let syncs = count_of_busiest(calls, "fdatasync", "/ib_logfile");
                let witnessed = Witnessed::new(strace::NAME, syncs as f64);
                report.add("commits", tally.commits as f64, witnessed, LOG_SYNCS);
            }
        }
        if let (Some(read), Some(calls)) = (result.counters.get("physical_reads"), &calls)
            && read >= MIN_READS
        {
            let system = count(calls, "pread64", ".ibd");
            let witnessed = Witnessed::new(strace::NAME, system as f64);
            report.add("blocks read", read, witnessed, bound_of_reads(read, READ_AHEAD));
        }
        Ok(())
    }
}

/// Events of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Events {
    pub count: u64,
    /// Sent to the client, or put into variables of a routine.
    pub rows_sent: u64,
    pub rows_affected: u64,
    pub time_ms: f64,
}

/// Executions of prepared statements, those that call a routine included.
pub const EXECUTE: &str = "statement/com/Execute";
/// Calls of a routine with many ops.
pub const CALL: &str = "statement/sql/call_procedure";
/// Events of a transaction in addition to its executions.
pub const BEGIN: &str = "statement/sql/begin";
pub const COMMIT: &str = "statement/sql/commit";
/// Statements within routines.
pub const IN_ROUTINE: &str = "statement/sp/stmt";

/// All that is counted is 0 from now on, and what is logged goes into a new file.
pub fn reset(session: &mut dyn Session) -> Result<()> {
    for sql in [
        "truncate performance_schema.events_statements_summary_global_by_event_name",
        "truncate performance_schema.events_statements_history_long",
        "flush table_statistics",
        "flush binary logs",
    ] {
        session.execute(sql).map_err(to_error)?;
    }
    Ok(())
}

/// Counts of performance_schema for a kind of events.
pub fn read_events(session: &mut dyn Session, kind: &str) -> Result<Events> {
    let sql = format!(
        "select count_star, sum_rows_sent, sum_rows_affected, sum_timer_wait / 1e9 as time_ms \
         from performance_schema.events_statements_summary_global_by_event_name \
         where event_name = '{kind}'"
    );
    let read = session.query(&sql, &[]).map_err(to_error)?;
    let number = |column: usize| {
        read.rows.first()?.get(column)?.as_deref().and_then(|text| text.parse::<f64>().ok())
    };
    let count = |column| number(column).unwrap_or_default() as u64;
    Ok(Events {
        count: count(0),
        rows_sent: count(1),
        rows_affected: count(2),
        time_ms: number(3).unwrap_or_default(),
    })
}

/// Microseconds of the last executions, each by the server's own timer, ascending; at most as many
/// as the server's settings keep.
pub fn read_executions_us(session: &mut dyn Session) -> Result<Vec<f64>> {
    let sql = format!(
        "select timer_wait / 1e6 from performance_schema.events_statements_history_long \
         where event_name = '{EXECUTE}' order by timer_wait"
    );
    let read = session.query(&sql, &[]).map_err(to_error)?;
    Ok(read.rows.iter().filter_map(|row| row.first()?.as_deref()?.parse().ok()).collect())
}

/// Rows of a table of ours since the reset.
struct TableRows {
    read: u64,
    changed: u64,
}

/// Reads the table statistics.
fn read_table_rows(session: &mut dyn Session, table: &str) -> Result<TableRows> {
    let sql = format!(
        "select rows_read, rows_changed from information_schema.table_statistics \
         where table_schema = 'dbdyno' and table_name = '{table}'"
    );
    let read = session.query(&sql, &[]).map_err(to_error)?;
    let count = |column: usize| {
        read.rows.first().and_then(|row| row.get(column)?.as_deref()?.parse().ok()).unwrap_or(0)
    };
    Ok(TableRows { read: count(0), changed: count(1) })
}

/// Transactions in the newest file of the binary log that contain such a change by a statement of
/// the workload, and committed.
fn count_commits(session: &mut dyn Session, case: &Case, change: Change) -> Result<u64> {
    let file = session.query("show master status", &[]).map_err(to_error)?;
    let file = file.scalar().unwrap_or_default();
    let events =
        session.query(&format!("show binlog events in '{file}'"), &[]).map_err(to_error)?;
    let begin = if change == Change::Insert { "insert" } else { "update" };
    let table = case.statements[0].rsplit(' ').next().unwrap_or_default();
    let (mut is_open, mut commits) = (false, 0);
    for row in 0..events.rows.len() {
        let info = events.get(row, "Info").unwrap_or_default().to_lowercase();
        match events.get(row, "Event_type").unwrap_or_default() {
            "Gtid" => is_open = false,
            "Annotate_rows" => is_open |= info.trim().starts_with(begin) && info.contains(table),
            "Xid" if is_open => commits += 1,
            _ => {}
        }
    }
    Ok(commits)
}

fn to_error(error: EngineError) -> Error {
    error.at(PLACE)
}
