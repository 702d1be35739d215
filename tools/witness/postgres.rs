//! Witnesses on PostgreSQL: pg_stat_statements, and pg_waldump, which reads the log from its files.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use dbdyno::engine::{EngineError, Session};
use dbdyno::error::Result;

use super::cases::{Case, Change};
use super::failed;
use super::lab::Lab;

/// Settings of a server with these witnesses: statements are counted within routines, too; the
/// log is written by nobody but who commits, and nobody reads tables in the background.
pub const SETTINGS: [(&str, &str); 4] = [
    ("shared_preload_libraries", "pg_stat_statements"),
    ("pg_stat_statements.track", "all"),
    ("wal_writer_delay", "10s"),
    ("autovacuum", "off"),
];
pub const STATEMENTS: &str = "pg_stat_statements";
pub const ACTIVE: &str = "pg_stat_database.active_time";
pub const LOG: &str = "pg_waldump";
/// Objects of the system have lower numbers (FirstNormalObjectId of PostgreSQL's transam.h).
const FIRST_OF_USERS: u64 = 16_384;

/// Counts of pg_stat_statements for a workload's statements.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Statements {
    pub calls: u64,
    pub updates: u64,
    pub rows: u64,
    /// Looked for in the cache, and those of them that were not there.
    pub blocks: u64,
    pub blocks_read: u64,
    pub time_ms: f64,
}

/// Creates the view in the lab's database.
pub fn prepare(session: &mut dyn Session) -> Result<()> {
    let sql = "create extension if not exists pg_stat_statements schema public";
    session.execute(sql).map(drop).map_err(named)
}

/// All that is counted is 0 from now on.
pub fn reset(session: &mut dyn Session) -> Result<()> {
    session.query("select public.pg_stat_statements_reset()", &[]).map(drop).map_err(named)
}

/// Counts of the statements for which `is_own` holds.
pub fn statements(session: &mut dyn Session, is_own: impl Fn(&str) -> bool) -> Result<Statements> {
    let sql = "select query, calls, rows, shared_blks_hit + shared_blks_read as blocks, \
               shared_blks_read as blocks_read, total_exec_time as time_ms \
               from public.pg_stat_statements";
    let read = session.query(sql, &[]).map_err(named)?;
    let mut sum = Statements::default();
    for row in 0..read.rows.len() {
        let query = read.get(row, "query").unwrap_or_default();
        if !is_own(query) {
            continue;
        }
        let number = |name: &str| read.get(row, name).and_then(|text| text.parse::<f64>().ok());
        let count = |name: &str| number(name).unwrap_or_default() as u64;
        sum.calls += count("calls");
        sum.updates += if query.to_lowercase().starts_with("update") { count("calls") } else { 0 };
        sum.rows += count("rows");
        sum.blocks += count("blocks");
        sum.blocks_read += count("blocks_read");
        sum.time_ms += number("time_ms").unwrap_or_default();
    }
    Ok(sum)
}

/// Milliseconds that sessions of this database were at work, those that have ended.
pub fn active_ms(session: &mut dyn Session) -> Result<f64> {
    let sql = "select active_time from pg_stat_database where datname = current_database()";
    let read = session.query(sql, &[]).map_err(named)?;
    Ok(read.scalar().and_then(|text| text.parse().ok()).unwrap_or_default())
}

/// Sessions of this database that were opened so far.
pub fn sessions(session: &mut dyn Session) -> Result<u64> {
    let sql = "select sessions from pg_stat_database where datname = current_database()";
    let read = session.query(sql, &[]).map_err(named)?;
    let count = read.scalar().and_then(|text| text.parse().ok());
    count.ok_or_else(|| failed("witness on PostgreSQL", "it does not count its sessions"))
}

/// A place in the log: everything before it is in the files.
pub fn log_position(session: &mut dyn Session) -> Result<String> {
    let position = session.query("select pg_current_wal_insert_lsn()", &[]).map_err(named)?;
    // The rest of the page is filled, so that a reader finds the end of what is before.
    session.query("select pg_switch_wal()", &[]).map_err(named)?;
    Ok(position.scalar().unwrap_or_default().to_owned())
}

/// Transactions between two places of the log that made such a change to a table of a user and
/// committed, and how many rows they updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Logged {
    pub commits: u64,
    pub updates: u64,
}

/// Reads the log's files.
pub fn logged(lab: &Lab, from: &str, to: &str, change: Change) -> Result<Logged> {
    let server = lab.server.as_ref().ok_or_else(|| failed(LOG, "needs a server"))?;
    let mut session = lab.database.session().map_err(named)?;
    let data = session.query("show data_directory", &[]).map_err(named)?;
    let mut command = Command::new(server.program(LOG));
    command.arg("--path").arg(format!("{}/pg_wal", data.scalar().unwrap_or_default()));
    let output = command.args(["--start", from, "--end", to]).output();
    let output = output.map_err(|error| failed(LOG, format!("cannot be run ({error})")))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(failed(LOG, message.lines().last().unwrap_or("failed").to_owned()));
    }
    Ok(transactions(&String::from_utf8_lossy(&output.stdout), change))
}

/// Content of pg_waldump's lines, as `rmgr: Heap len (rec/tot): 72/72, tx: 745, lsn: 0/19, prev
/// 0/18, desc: HOT_UPDATE off 1 xmax 745 flags 0x60 ; new off 7 xmax 0, blkref #0: rel 1663/5/16456
/// blk 3`.
fn transactions(text: &str, change: Change) -> Logged {
    let wanted: &[&str] = match change {
        Change::Update | Change::UpdateOne => {
            &["UPDATE", "UPDATE+INIT", "HOT_UPDATE", "HOT_UPDATE+INIT"]
        }
        Change::Insert => &["INSERT", "INSERT+INIT", "MULTI_INSERT", "MULTI_INSERT+INIT"],
    };
    let (mut changed, mut ended) = (BTreeMap::<&str, u64>::new(), BTreeSet::new());
    for line in text.lines() {
        let Some(transaction) = between(line, "tx:", ",") else { continue };
        let operation = between(line, "desc: ", " ").unwrap_or_default();
        let relation = between(line, "blkref #0: rel ", " ").and_then(|rel| rel.rsplit('/').next());
        let relation: u64 = relation.and_then(|number| number.parse().ok()).unwrap_or_default();
        if line.starts_with("rmgr: Transaction") && operation == "COMMIT" {
            ended.insert(transaction);
        } else if line.starts_with("rmgr: Heap")
            && wanted.contains(&operation)
            && relation >= FIRST_OF_USERS
        {
            *changed.entry(transaction).or_default() += 1;
        }
    }
    changed.retain(|transaction, _| ended.contains(transaction));
    Logged { commits: changed.len() as u64, updates: changed.values().sum() }
}

/// Text between two words of a line, without blanks around it.
fn between<'a>(line: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let (_, tail) = line.split_once(from)?;
    Some(tail.trim_start().split_once(to).map_or(tail, |(head, _)| head).trim())
}

fn named(error: EngineError) -> dbdyno::error::Error {
    error.at("witness on PostgreSQL")
}

/// Test whether a statement is the workload's.
pub fn own(case: &Case) -> impl Fn(&str) -> bool {
    |statement| case.is_own(statement)
}
