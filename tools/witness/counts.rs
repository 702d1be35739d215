//! The counts of ours beside those of the server and of the operating system: fixed work, all of
//! it counted, with no check and no warm-up before it.

use std::path::Path;

use dbdyno::error::Result;
use dbdyno::model::{Drive, Selection, TestResult};
use dbdyno::probe::{ProbeSet, SqlProbe};

use super::agreement::{Agreement, Bound, Report, Subject};
use super::cases::Case;
use super::lab::Lab;
use super::mariadb::MariaDb;
use super::postgres::Postgres;
use super::strace::{self, Trace};
use super::{drive, failed};

/// The tests of the program include this file alone.
#[path = "sqlite.rs"]
mod sqlite;

pub use sqlite::Sqlite;

/// The witnesses that count what is done on an engine.
pub trait CountWitness {
    /// Name of the engine.
    fn engine(&self) -> &'static str;
    /// Opens a server or a file in which the witnesses are at work.
    fn open(&self, directory: &Path) -> Result<Lab>;
    /// Prepares the witnesses in a database that has its tables.
    fn prepare(&self, _lab: &Lab) -> Result<()> {
        Ok(())
    }
    /// Runs a test, and reports what we counted of it beside what the witnesses counted.
    fn count(&self, test: &mut CountedTest<'_>, report: &mut Report<'_>) -> Result<()>;
}

/// Witnesses of counts of all engines.
const COUNT_WITNESSES: &[&dyn CountWitness] = &[&Postgres, &MariaDb, &Sqlite];

/// Fewer reads say nothing: the table was in the cache.
pub const MIN_READS: f64 = 1000.0;

/// Extent of a count.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Part of the cases' ops.
    pub scale: f64,
    /// True if strace runs.
    pub is_traced: bool,
}

fn find(engine: &str) -> Result<&'static dyn CountWitness> {
    let found = COUNT_WITNESSES.iter().find(|witness| witness.engine() == engine);
    found.copied().ok_or_else(|| failed(engine, "has no witness"))
}

/// A server or a file in which the witnesses are at work.
pub fn lab(engine: &str, directory: &Path, size_gb: f64) -> Result<Lab> {
    let witness = find(engine)?;
    let mut lab = witness.open(directory)?;
    lab.hold(&["small", "big"], size_gb)?;
    witness.prepare(&lab)?;
    Ok(lab)
}

/// The drives in which a case runs: those that the engine has for the workload.
pub fn drives(lab: &Lab, case: &Case) -> Vec<Drive> {
    let has = |drive: &Drive| {
        drive::fixed_ops(lab, case.id, *drive, 1).is_ok_and(|selection| selection.drive == *drive)
    };
    [Drive::Database, Drive::Client].into_iter().filter(has).collect()
}

/// Runs a case in a drive; what we and the witnesses counted.
pub fn agreements(lab: &Lab, case: &Case, drive: Drive, extent: Extent) -> Result<Vec<Agreement>> {
    let witness = find(lab.engine.name())?;
    let ops = ((case.ops as f64 * extent.scale) as u64).max(1);
    let selection = drive::fixed_ops(lab, case.id, drive, ops)?;
    let asked_ops = ops * u64::from(case.jobs);
    let is_traced = extent.is_traced;
    let probes = probes(lab)?;
    let mut test = CountedTest { lab, case, asked_ops, selection, probes, is_traced };
    let subject = Subject { engine: witness.engine(), workload: case.id, drive: test.drive() };
    let mut agreements = Vec::new();
    witness.count(&mut test, &mut Report { subject, agreements: &mut agreements })?;
    Ok(agreements)
}

/// A test of fixed work that witnesses count, too.
pub struct CountedTest<'a> {
    pub lab: &'a Lab,
    pub case: &'a Case,
    /// Number of ops that all jobs were to do.
    pub asked_ops: u64,
    selection: Selection,
    probes: ProbeSet,
    is_traced: bool,
}

impl CountedTest<'_> {
    /// The drive that it really has: some workloads have one only.
    pub fn drive(&self) -> Drive {
        self.selection.drive
    }

    /// Runs it, under strace if that is there.
    pub fn run(&mut self) -> Result<Counted> {
        let trace = self.is_traced.then(|| attach(self.lab)).transpose()?;
        let mut read = |_| {
            let reading = self.probes.read();
            (reading.counters, reading.cost_ms)
        };
        let result = drive::test(self.lab, &self.selection, self.case.jobs, &mut read, None);
        let calls = trace.map(Trace::end).transpose()?;
        Ok(Counted { result: result?, calls })
    }
}

/// Counts of our test, and those of strace meanwhile.
pub struct Counted {
    pub result: Box<TestResult>,
    pub calls: Option<Vec<strace::Call>>,
}

/// Bound of reads of blocks, of which others made some.
pub fn bound_of_reads(read: f64, reason: &'static str) -> Bound {
    Bound::Within(0.05 * read, reason)
}

/// The server's counters, read as a run reads them.
fn probes(lab: &Lab) -> Result<ProbeSet> {
    let mut probes = ProbeSet::host(&Default::default());
    let session = lab.session("witness")?;
    let blocks = lab.catalog.probes(lab.engine.name(), &lab.database.version().0);
    probes.push(Box::new(SqlProbe::new(session, &blocks)));
    Ok(probes)
}

/// To the server, or to this process, in which an embedded engine runs.
fn attach(lab: &Lab) -> Result<Trace> {
    let pid = lab.server_pid().unwrap_or(std::process::id());
    Trace::attach(pid, lab.directory.join("calls"))
}
