//! The counts of ours beside those of the server and of the operating system: fixed work, all of
//! it counted, with no check and no warm-up before it.

use dbdyno::error::Result;
use dbdyno::model::{Drive, TestResult};
use dbdyno::probe::{ProbeSet, SqlProbe};

use super::agreement::{Agreement, Bound, Report, Subject, Witnessed};
use super::cases::{Case, Change};
use super::lab::Lab;
use super::strace::{self, Trace, count, count_of_busiest};
use super::{drive, failed, mariadb, postgres};

/// Extent of a count.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Part of the cases' ops.
    pub scale: f64,
    /// True if strace runs.
    pub is_traced: bool,
}

/// A server or a file in which the witnesses are at work.
pub fn lab(engine: &str, directory: &std::path::Path, size_gb: f64) -> Result<Lab> {
    let mut lab = match engine {
        "postgres" => Lab::with_settings(engine, directory, None, &postgres::SETTINGS)?,
        "mariadb" => Lab::with_settings(engine, directory, None, &mariadb::SETTINGS)?,
        _ => Lab::sqlite(directory)?,
    };
    lab.hold(&["small", "big"], size_gb)?;
    if engine == "postgres" {
        let mut session = lab.database.session().map_err(|error| error.at("witness"))?;
        postgres::prepare(session.as_mut())?;
    }
    Ok(lab)
}

/// The drives in which a case runs: those that the engine has for the workload.
pub fn drives(lab: &Lab, case: &Case) -> Vec<Drive> {
    let has = |drive: &Drive| {
        drive::fixed(lab, case.id, *drive, 1).is_ok_and(|selection| selection.drive == *drive)
    };
    [Drive::Database, Drive::Client].into_iter().filter(has).collect()
}

/// Runs a case in a drive; what we and the witnesses counted.
pub fn agreements(lab: &Lab, case: &Case, drive: Drive, extent: Extent) -> Result<Vec<Agreement>> {
    let ops = ((case.ops as f64 * extent.scale) as u64).max(1);
    let selection = drive::fixed(lab, case.id, drive, ops)?;
    // The drive that it really has: some workloads have one only.
    let subject = Subject { engine: lab.engine.name(), workload: case.id, drive: selection.drive };
    let mut probes = probes(lab)?;
    let run = || {
        let trace = extent.is_traced.then(|| attach(lab)).transpose()?;
        let mut read = |_| {
            let reading = probes.read();
            (reading.counters, reading.cost_ms)
        };
        let result = drive::test(lab, &selection, case.jobs, &mut read, None);
        let calls = trace.map(Trace::end).transpose()?;
        Ok(Counted { result: result?, calls })
    };
    let mut agreements = Vec::new();
    let mut report = Report { subject, agreements: &mut agreements };
    let asked = ops * u64::from(case.jobs);
    match lab.engine.name() {
        "postgres" => on_postgres(lab, case, run, &mut report)?,
        "mariadb" => on_mariadb(lab, case, run, &mut report)?,
        _ => on_sqlite(case, &run_once(run, asked)?, &mut report),
    }
    Ok(agreements)
}

/// Counts of our test, and those of strace meanwhile.
struct Counted {
    result: Box<TestResult>,
    calls: Option<Vec<strace::Call>>,
}

fn run_once(run: impl FnOnce() -> Result<Counted>, asked: u64) -> Result<Counted> {
    let counted = run()?;
    match counted.result.total.ops == asked {
        true => Ok(counted),
        false => Err(failed("witness", format!("{asked} ops were asked for"))),
    }
}

fn on_postgres(
    lab: &Lab,
    case: &Case,
    run: impl FnOnce() -> Result<Counted>,
    report: &mut Report<'_>,
) -> Result<()> {
    let mut session = lab.database.session().map_err(|error| error.at("witness"))?;
    let from = postgres::log_position(session.as_mut())?;
    postgres::reset(session.as_mut())?;
    let Counted { result, calls } = run()?;
    let seen = postgres::statements(session.as_mut(), postgres::own(case))?;
    let to = postgres::log_position(session.as_mut())?;
    let tally = &result.total;
    let who = postgres::STATEMENTS;
    if seen.calls > 0 || case.id.starts_with("SRV") {
        report.equal("statements", (case.of_tally)(tally), who, seen.calls);
        report.equal("rows", tally.rows, who, seen.rows);
    }
    if let Some(change) = case.change {
        let logged = postgres::logged(lab, &from, &to, change)?;
        report.equal("commits", tally.commits, postgres::LOG, logged.commits);
        match change {
            Change::Update => report.equal("rows", tally.rows, postgres::LOG, logged.updates),
            Change::UpdateOne => {
                report.equal("commits", tally.commits, who, seen.updates);
                report.equal("commits", tally.commits, postgres::LOG, logged.updates);
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
        report.add("blocks", blocks, Witnessed::new(who, seen.blocks as f64), CATALOGUE);
    }
    if let (Some(read), Some(calls)) = (result.counters.get("physical_reads"), &calls)
        && read >= MIN_READS
    {
        let system = count(calls, "pread64", "/base/");
        let bound = reads(read, READ_OF_CATALOGUE);
        report.add("blocks read", read, Witnessed::new(who, seen.blocks_read as f64), bound);
        report.add("blocks read", read, Witnessed::new(strace::NAME, system as f64), bound);
    }
    Ok(())
}

/// Fewer reads say nothing: the table was in the cache.
const MIN_READS: f64 = 1000.0;
const SEGMENTS: Bound =
    Bound::Within(10.0, "who fills a segment of the log, of 16 MB, syncs it before the next one");
const CATALOGUE: Bound = Bound::Within(
    3000.0,
    "our counter is of the whole database: what the creation of the routine and new sessions look \
     up in the catalogue is in it",
);

/// Reads of blocks, of which others made some.
fn reads(read: f64, reason: &'static str) -> Bound {
    Bound::Within(0.05 * read, reason)
}

const READ_OF_CATALOGUE: &str =
    "our counter is of the whole database: what the setup and new sessions read is in it";
const READ_AHEAD: &str =
    "what InnoDB reads in the background, with another call, is in our counter only";

fn on_mariadb(
    lab: &Lab,
    case: &Case,
    run: impl FnOnce() -> Result<Counted>,
    report: &mut Report<'_>,
) -> Result<()> {
    let mut session = lab.database.session().map_err(|error| error.at("witness"))?;
    mariadb::reset(session.as_mut())?;
    let Counted { result, calls } = run()?;
    let executed = mariadb::events(session.as_mut(), mariadb::EXECUTE)?;
    let within = mariadb::events(session.as_mut(), mariadb::IN_ROUTINE)?;
    let tally = &result.total;
    let who = mariadb::EVENTS;
    match (report.subject.drive, case.change) {
        // One call of the routine for each slice, whose last statement tells what was done.
        (Drive::Database, None) => {
            let called = mariadb::events(session.as_mut(), mariadb::CALL)?;
            let statements = within.count.saturating_sub(called.count) as f64;
            report.add("statements", tally.ops as f64, Witnessed::new(who, statements), READINGS);
        }
        // One call for each op; what it found went into variables.
        (Drive::Database, Some(change)) => {
            report.equal("statements", tally.ops, who, executed.count);
            let (ours, theirs) = (tally.rows as f64, executed.rows_affected as f64);
            let bound = if change == Change::Insert { LAST_ID } else { Bound::Equal };
            report.add("rows", ours, Witnessed::new(who, theirs), bound);
        }
        (Drive::Client, _) if executed.count > 0 => {
            let rows = executed.rows_sent + executed.rows_affected;
            report.equal("statements", (case.of_tally)(tally), who, executed.count);
            report.equal("rows", tally.rows, who, rows);
        }
        // The bulk load has a command of its own, whose rows are not counted.
        (Drive::Client, _) => {}
    }
    let (read, changed) = mariadb::table_rows(session.as_mut(), case.table)?;
    let table_rows = lab.loaded.facts_for(&[]).get("small_rows").copied().unwrap_or_default();
    if let Some(rows_read) = case.rows_read {
        let ours = rows_read(tally, table_rows as u64);
        report.equal("rows gone through", ours, mariadb::TABLES, read);
    }
    if let Some(change) = case.change {
        let commits = mariadb::commits(session.as_mut(), case, change)?;
        report.equal("commits", tally.commits, mariadb::LOG, commits);
        if change == Change::UpdateOne {
            report.equal("commits", tally.commits, mariadb::TABLES, changed);
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
        report.add("blocks read", read, witnessed, reads(read, READ_AHEAD));
    }
    Ok(())
}

const LOG_SYNCS: Bound = Bound::Within(
    10.0,
    "InnoDB's own thread writes the log once a second, and may take a commit with it",
);
/// Two in each reading, which are as many as a test has phases.
const READINGS: Bound =
    Bound::Within(30.0, "the readings of our probes run statements within routines, too");
const LAST_ID: Bound =
    Bound::Within(1.0, "the first call looks for the last id, and the server counts that as a row");

fn on_sqlite(case: &Case, counted: &Counted, report: &mut Report<'_>) {
    let (tally, Some(calls)) = (&counted.result.total, &counted.calls) else { return };
    if case.change.is_some() {
        // Which of the two depends on how the library was built.
        let syncs = ["fsync", "fdatasync"].map(|name| count_of_busiest(calls, name, "-wal"));
        let syncs = syncs[0] + syncs[1];
        let witnessed = Witnessed::new(strace::NAME, syncs as f64);
        report.add("commits", tally.commits as f64, witnessed, CHECKPOINTS);
    }
}

const CHECKPOINTS: Bound =
    Bound::Within(30.0, "a checkpoint syncs the log once more before it copies its pages");

/// The server's counters, read as a run reads them.
fn probes(lab: &Lab) -> Result<ProbeSet> {
    let mut probes = ProbeSet::host(&Default::default());
    let session = lab.database.session().map_err(|error| error.at("witness"))?;
    let blocks = lab.catalog.probes(lab.engine.name(), &lab.database.version().0);
    probes.push(Box::new(SqlProbe::new(session, &blocks)));
    Ok(probes)
}

/// To the server, or to this process, in which an embedded engine runs.
fn attach(lab: &Lab) -> Result<Trace> {
    let pid = lab.server_pid().unwrap_or(std::process::id());
    Trace::attach(pid, lab.directory.join("calls"))
}
