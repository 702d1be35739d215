//! The witness on SQLite, which runs in this process and counts nothing itself: strace.

use std::path::Path;

use dbdyno::error::Result;

use super::super::agreement::{Bound, Report, Witnessed};
use super::super::failed;
use super::super::lab::Lab;
use super::super::strace::{self, count_of_busiest};
use super::{CountWitness, CountedTest};

const CHECKPOINTS: Bound =
    Bound::Within(30.0, "a checkpoint syncs the log once more before it copies its pages");

/// SQLite.
pub struct Sqlite;

impl CountWitness for Sqlite {
    fn engine(&self) -> &'static str {
        "sqlite"
    }

    fn open(&self, directory: &Path) -> Result<Lab> {
        Lab::sqlite(directory)
    }

    fn count(&self, test: &mut CountedTest<'_>, report: &mut Report<'_>) -> Result<()> {
        let counted = test.run()?;
        let tally = &counted.result.total;
        if tally.ops != test.asked_ops {
            return Err(failed("witness", format!("{} ops were asked for", test.asked_ops)));
        }
        let Some(calls) = &counted.calls else { return Ok(()) };
        if test.case.change.is_some() {
            // Which of the two depends on how the library was built.
            let syncs = ["fsync", "fdatasync"].map(|name| count_of_busiest(calls, name, "-wal"));
            let syncs = syncs[0] + syncs[1];
            let witnessed = Witnessed::new(strace::NAME, syncs as f64);
            report.add("commits", tally.commits as f64, witnessed, CHECKPOINTS);
        }
        Ok(())
    }
}
