//! Measurements of others as runs. Results files of `export-sql`'s scripts are judged as our own
//! tests. Published results: reads the documented CSV forms (`data/reference/README.md`), names the
//! workloads that the codes stand for, chooses each test's KPM, and judges every figure by its note
//! and by our own checks.

mod platform;
mod record;
mod rows;
mod scripts;
mod spool;

pub use scripts::run as of_scripts;
pub use spool::MAGIC as SPOOL_MAGIC;

use dbdyno_core::catalog::Catalog;
use dbdyno_core::error::Result;
use dbdyno_core::model::{PublishedTest, RunRecord};

/// A run made from a publication, or from a spool.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedRun<T = PublishedTest> {
    /// The same whenever the same rows are imported, so that a second import is noticed.
    pub uid: String,
    /// Run without a number: the results file gives it one.
    pub run: RunRecord,
    /// Tests in the order of the rows.
    pub tests: Vec<T>,
}

/// A file's text, and how messages name it.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    /// File name as messages show it.
    pub place: &'a str,
    /// Contents of the file.
    pub text: &'a str,
}

/// The runs of the results in `results`: one per study, platform and size of the database, in order
/// of appearance. `platforms` describes the platforms; `command` is what made the import.
///
/// # Errors
/// `file:line` of a row that is not of the documented form.
pub fn published(
    results: Text<'_>,
    platforms: Option<Text<'_>>,
    catalog: &Catalog,
    command: &str,
) -> Result<Vec<ImportedRun>> {
    let rows = rows::read(results)?;
    let platforms = platforms.map(platform::read).transpose()?.unwrap_or_default();
    let mut runs = record::runs(&rows, &platforms, catalog, command);
    let checks = dbdyno_core::analysis::published_checks::of_tables(
        &runs.iter().map(|run| run.tests.as_slice()).collect::<Vec<_>>(),
    );
    for (run, checks) in runs.iter_mut().zip(checks) {
        record::judge(run, checks);
    }
    Ok(runs)
}
