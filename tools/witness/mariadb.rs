//! Witnesses on MariaDB: performance_schema, the table statistics, and the events of the binary
//! log.

use dbdyno::engine::{EngineError, Session};
use dbdyno::error::Result;

use super::cases::{Case, Change};

/// Settings of a server with these witnesses.
pub const SETTINGS: [(&str, &str); 8] = [
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
pub const TABLES: &str = "table_statistics";
pub const LOG: &str = "binary log";

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
        session.execute(sql).map_err(named)?;
    }
    Ok(())
}

/// Counts of performance_schema for a kind of events.
pub fn events(session: &mut dyn Session, kind: &str) -> Result<Events> {
    let sql = format!(
        "select count_star, sum_rows_sent, sum_rows_affected, sum_timer_wait / 1e9 as time_ms \
         from performance_schema.events_statements_summary_global_by_event_name \
         where event_name = '{kind}'"
    );
    let read = session.query(&sql, &[]).map_err(named)?;
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
pub fn executions_us(session: &mut dyn Session) -> Result<Vec<f64>> {
    let sql = format!(
        "select timer_wait / 1e6 from performance_schema.events_statements_history_long \
         where event_name = '{EXECUTE}' order by timer_wait"
    );
    let read = session.query(&sql, &[]).map_err(named)?;
    Ok(read.rows.iter().filter_map(|row| row.first()?.as_deref()?.parse().ok()).collect())
}

/// Rows of a table of ours that were read, and changed, since the reset.
pub fn table_rows(session: &mut dyn Session, table: &str) -> Result<(u64, u64)> {
    let sql = format!(
        "select rows_read, rows_changed from information_schema.table_statistics \
         where table_schema = 'dbdyno' and table_name = '{table}'"
    );
    let read = session.query(&sql, &[]).map_err(named)?;
    let count = |column: usize| {
        read.rows.first().and_then(|row| row.get(column)?.as_deref()?.parse().ok()).unwrap_or(0)
    };
    Ok((count(0), count(1)))
}

/// Transactions in the newest file of the binary log that contain such a change by a statement of
/// the workload, and committed.
pub fn commits(session: &mut dyn Session, case: &Case, change: Change) -> Result<u64> {
    let file = session.query("show master status", &[]).map_err(named)?;
    let file = file.scalar().unwrap_or_default();
    let events = session.query(&format!("show binlog events in '{file}'"), &[]).map_err(named)?;
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

fn named(error: EngineError) -> dbdyno::error::Error {
    error.at("witness on MariaDB")
}
