//! Witnesses on PostgreSQL: pg_stat_statements, and pg_waldump, which reads the log from its files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use dbdyno::engine::{EngineError, Session};
use dbdyno::error::{Error, Result};

use super::agreement::{Bound, Report, Witnessed};
use super::cases::Change;
use super::counts::{CountWitness, Counted, CountedTest, MIN_READS, bound_of_reads};
use super::failed;
use super::lab::{Lab, run_program};
use super::strace::{self, count, count_of_busiest};

/// Settings of a server with these witnesses: statements are counted within routines, too; the
/// log is written by nobody but who commits, and nobody reads tables in the background.
const SETTINGS: [(&str, &str); 4] = [
    ("shared_preload_libraries", "pg_stat_statements"),
    ("pg_stat_statements.track", "all"),
    ("wal_writer_delay", "10s"),
    ("autovacuum", "off"),
];
pub const STATEMENTS: &str = "pg_stat_statements";
pub const ACTIVE: &str = "pg_stat_database.active_time";
const LOG: &str = "pg_waldump";
/// Objects of the system have lower numbers (FirstNormalObjectId of PostgreSQL's transam.h).
const FIRST_OF_USERS: u64 = 16_384;
/// Place that errors of these witnesses name.
pub const PLACE: &str = "witness on PostgreSQL";

const SEGMENTS: Bound =
    Bound::Within(10.0, "who fills a segment of the log, of 16 MB, syncs it before the next one");
const CATALOGUE: Bound = Bound::Within(
    3000.0,
    "our counter is of the whole database: what the creation of the routine and new sessions look \
     up in the catalogue is in it",
);
const READ_OF_CATALOGUE: &str =
    "our counter is of the whole database: what the setup and new sessions read is in it";

/// PostgreSQL.
pub struct Postgres;

impl CountWitness for Postgres {
    fn engine(&self) -> &'static str {
        "postgres"
    }

    fn open(&self, directory: &Path) -> Result<Lab> {
        Lab::with_settings(self.engine(), directory, None, &SETTINGS)
    }

    fn prepare(&self, lab: &Lab) -> Result<()> {
        let sql = "create extension if not exists pg_stat_statements schema public";
        lab.session(PLACE)?.execute(sql).map(drop).map_err(to_error)
    }

    fn count(&self, test: &mut CountedTest<'_>, report: &mut Report<'_>) -> Result<()> {
        let (lab, case) = (test.lab, test.case);
        let mut session = lab.session(PLACE)?;
        let from = find_log_position(session.as_mut())?;
        reset(session.as_mut())?;
        let Counted { result, calls } = test.run()?;
        let seen = read_statements(session.as_mut(), |statement| case.is_own(statement))?;
        let to = find_log_position(session.as_mut())?;
        let tally = &result.total;
        if seen.calls > 0 || case.id.starts_with("SRV") {
            report.equal("statements", (case.of_tally)(tally), STATEMENTS, seen.calls);
            report.equal("rows", tally.rows, STATEMENTS, seen.rows);
        }
        if let Some(change) = case.change {
            let logged = read_log(lab, &from, &to, change)?;
            report.equal("commits", tally.commits, LOG, logged.commits);
            match change {
                Change::Update => report.equal("rows", tally.rows, LOG, logged.updates),
                Change::UpdateOne => {
                    report.equal("commits", tally.commits, STATEMENTS, seen.updates);
                    report.equal("commits", tally.commits, LOG, logged.updates);
                }
                Change::Insert => {}
            }
            if let Some(calls) = &calls {
                let syncs = count_of_busiest(calls, "fdatasync", "/pg_wal/");
                let (commits, most) = (tally.commits as f64, SEGMENTS);
                report.add("commits", commits, Witnessed::new(strace::NAME, syncs as f64), most);
            }
        }
        if let Some(blocks) = result.counters.get("logical_reads")
            && case.change.is_none()
        {
            report.add("blocks", blocks, Witnessed::new(STATEMENTS, seen.blocks as f64), CATALOGUE);
        }
        if let (Some(read), Some(calls)) = (result.counters.get("physical_reads"), &calls)
            && read >= MIN_READS
        {
            let system = count(calls, "pread64", "/base/");
            let bound = bound_of_reads(read, READ_OF_CATALOGUE);
            report.add(
                "blocks read",
                read,
                Witnessed::new(STATEMENTS, seen.blocks_read as f64),
                bound,
            );
            report.add("blocks read", read, Witnessed::new(strace::NAME, system as f64), bound);
        }
        Ok(())
    }
}

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

/// All that is counted is 0 from now on.
pub fn reset(session: &mut dyn Session) -> Result<()> {
    session.query("select public.pg_stat_statements_reset()", &[]).map(drop).map_err(to_error)
}

/// Counts of the statements for which `is_own` holds.
pub fn read_statements(
    session: &mut dyn Session,
    is_own: impl Fn(&str) -> bool,
) -> Result<Statements> {
    let sql = "select query, calls, rows, shared_blks_hit + shared_blks_read as blocks, \
               shared_blks_read as blocks_read, total_exec_time as time_ms \
               from public.pg_stat_statements";
    let read = session.query(sql, &[]).map_err(to_error)?;
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
pub fn read_active_ms(session: &mut dyn Session) -> Result<f64> {
    let sql = "select active_time from pg_stat_database where datname = current_database()";
    let read = session.query(sql, &[]).map_err(to_error)?;
    Ok(read.scalar().and_then(|text| text.parse().ok()).unwrap_or_default())
}

/// Sessions of this database that were opened so far.
pub fn count_sessions(session: &mut dyn Session) -> Result<u64> {
    let sql = "select sessions from pg_stat_database where datname = current_database()";
    let read = session.query(sql, &[]).map_err(to_error)?;
    let count = read.scalar().and_then(|text| text.parse().ok());
    count.ok_or_else(|| failed(PLACE, "it does not count its sessions"))
}

/// A place in the log: everything before it is in the files.
fn find_log_position(session: &mut dyn Session) -> Result<String> {
    let position = session.query("select pg_current_wal_insert_lsn()", &[]).map_err(to_error)?;
    // The rest of the page is filled, so that a reader finds the end of what is before.
    session.query("select pg_switch_wal()", &[]).map_err(to_error)?;
    Ok(position.scalar().unwrap_or_default().to_owned())
}

/// Transactions between two places of the log that made such a change to a table of a user and
/// committed, and how many rows they updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Logged {
    commits: u64,
    updates: u64,
}

/// Reads the log's files.
fn read_log(lab: &Lab, from: &str, to: &str, change: Change) -> Result<Logged> {
    let server = lab.server.as_ref().ok_or_else(|| failed(LOG, "needs a server"))?;
    let mut session = lab.session(PLACE)?;
    let data = session.query("show data_directory", &[]).map_err(to_error)?;
    let mut command = Command::new(server.program(LOG));
    command.arg("--path").arg(format!("{}/pg_wal", data.scalar().unwrap_or_default()));
    command.args(["--start", from, "--end", to]);
    Ok(count_transactions(&run_program(LOG, &mut command)?, change))
}

/// Content of pg_waldump's lines, as `rmgr: Heap len (rec/tot): 72/72, tx: 745, lsn: 0/19, prev
/// 0/18, desc: HOT_UPDATE off 1 xmax 745 flags 0x60 ; new off 7 xmax 0, blkref #0: rel 1663/5/16456
/// blk 3`.
fn count_transactions(text: &str, change: Change) -> Logged {
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

fn to_error(error: EngineError) -> Error {
    error.at(PLACE)
}
