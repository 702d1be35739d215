//! `CONN-NEW` beside `pgbench -C`: the same number of connections by each, which the server counts.

use dbdyno::engine::Session;
use dbdyno::error::Result;
use dbdyno::model::Drive;

use super::agreement::{Agreement, Bound, Report, Subject, Witnessed};
use super::counts::Extent;
use super::lab::Lab;
use super::pgbench::{self, Pgbench};
use super::{drive, postgres};

const WORKLOAD: &str = "CONN-NEW";
const PGBENCH: &str = "pgbench -C";
const SESSIONS: &str = "pg_stat_database.sessions";
const JOBS: u32 = 2;
const CONNECTIONS_PER_JOB: u64 = 300;
/// The statement of an op, as pg_stat_statements shows it.
const STATEMENT: &str = "select $1 as one";
const OWN: Bound = Bound::Within(10.0, "the sessions of setup and teardown are counted, too");
const FIRST: Bound = Bound::Within(2.0, "pgbench connects once more before it begins");

/// Counts of both, one after the other.
pub fn agreements(lab: &Lab, extent: Extent) -> Result<Vec<Agreement>> {
    let per_job = ((CONNECTIONS_PER_JOB as f64 * extent.scale) as u64).max(1);
    let mut session = lab.session(WORKLOAD)?;
    let selection = drive::fixed_ops(lab, WORKLOAD, Drive::Client, per_job)?;
    let mut agreements = Vec::new();
    let before = begin(session.as_mut())?;
    let result = drive::test(lab, &selection, JOBS, &mut |_| Default::default(), None)?;
    let tally = &result.total;
    let counts = Counts { ops: tally.ops, rows: tally.rows, before };
    let subject = Subject { engine: lab.engine.name(), workload: WORKLOAD, drive: Drive::Client };
    compare_counts(
        session.as_mut(),
        &counts,
        OWN,
        &mut Report { subject, agreements: &mut agreements },
    )?;

    let before = begin(session.as_mut())?;
    let script = pgbench::write_script(lab, "select 1 as one;\n")?;
    let pgbench = Pgbench::find(lab)?;
    let ops = pgbench.count(&pgbench::CONNECTING, &script, JOBS, per_job)?;
    let counts = Counts { ops, rows: ops, before };
    let subject = Subject { engine: lab.engine.name(), workload: PGBENCH, drive: Drive::Client };
    compare_counts(
        session.as_mut(),
        &counts,
        FIRST,
        &mut Report { subject, agreements: &mut agreements },
    )?;
    Ok(agreements)
}

/// Counts of a client, and the sessions of the server before it.
struct Counts {
    ops: u64,
    rows: u64,
    before: u64,
}

fn begin(session: &mut dyn Session) -> Result<u64> {
    postgres::reset(session)?;
    postgres::count_sessions(session)
}

fn compare_counts(
    session: &mut dyn Session,
    counts: &Counts,
    bound: Bound,
    report: &mut Report<'_>,
) -> Result<()> {
    let seen = postgres::read_statements(session, |query| query.trim() == STATEMENT)?;
    report.equal("statements", counts.ops, postgres::STATEMENTS, seen.calls);
    report.equal("rows", counts.rows, postgres::STATEMENTS, seen.rows);
    let opened = postgres::count_sessions(session)?.saturating_sub(counts.before);
    report.add("connections", counts.ops as f64, Witnessed::new(SESSIONS, opened as f64), bound);
    Ok(())
}
