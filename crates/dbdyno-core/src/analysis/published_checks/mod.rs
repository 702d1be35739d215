//! Slips of publications that the figures themselves show: a value in another unit than its
//! neighbors, a column that shows the clock instead of the platforms, a platform table that
//! contradicts the CPU figures.
//!
//! The rules are general; no platform, test or study is known here by name.

mod floor;
mod platform;
mod unit;

pub use platform::{BusyPoint, Implied, implied_cpus, of_platform};

use crate::model::{PublishedKind, PublishedTest, Reason};

/// The reasons found against each test of each run.
pub type ReasonsByTest = Vec<Vec<Vec<Reason>>>;

/// Reasons against single figures that the tables of several publications show, per run and test.
pub fn of_tables(runs: &[&[PublishedTest]]) -> ReasonsByTest {
    let mut found: ReasonsByTest =
        runs.iter().map(|tests| tests.iter().map(|_| Vec::new()).collect()).collect();
    let cells: Vec<Cell<'_>> =
        runs.iter().enumerate().flat_map(|(run, tests)| cells(run, tests)).collect();
    for slip in floor::judge(&cells).into_iter().chain(unit::judge(&cells)) {
        found[slip.cell.run][slip.cell.test].push(slip.reason);
    }
    found
}

/// A figure that a publication printed wrongly.
struct Slip<'a> {
    cell: Cell<'a>,
    /// Reason against the figure.
    reason: Reason,
}

/// A figure that a table of a publication states as speed or throughput.
#[derive(Clone, Copy)]
struct Cell<'a> {
    /// Positions of its run and test.
    run: usize,
    test: usize,
    result: &'a PublishedTest,
    /// Suite and code of one row of the table.
    hash: &'a str,
    code: &'a str,
    kind: PublishedKind,
    metric: &'a str,
    value: f64,
}

fn cells(run: usize, tests: &[PublishedTest]) -> impl Iterator<Item = Cell<'_>> {
    let stated = tests.iter().enumerate().filter_map(move |(test, result)| {
        let published = &result.published;
        let figure = published.figure(published.kpm.as_ref()?)?;
        let (code, kind) = (published.code.as_str(), published.kind);
        let (metric, value) = (figure.metric.as_str(), figure.value);
        let in_table = !figure.note.contains("approximate") && !code.is_empty();
        in_table.then_some(Cell {
            run,
            test,
            result,
            hash: &result.hash,
            code,
            kind,
            metric,
            value,
        })
    });
    stated.filter(|cell| cell.kind != PublishedKind::Point)
}

/// True if two figures are in one column and row of tables: same suite, code, kind and metric.
fn same_row(a: &Cell<'_>, b: &Cell<'_>) -> bool {
    (a.hash, a.code, a.kind, a.metric) == (b.hash, b.code, b.kind, b.metric)
}

/// Runs and tests made by hand, for the tests of this crate and of those above.
#[cfg(any(test, feature = "fixtures"))]
pub mod fixture {
    use crate::analysis::published;
    use crate::model::{
        Published, PublishedFigure, PublishedKind, PublishedTest, Reason, ReasonCode, Status, Test,
        Verdict,
    };

    /// A published test with the figures given; the first is the KPM; 0 jobs are not printed.
    pub fn published(
        code: &str,
        kind: PublishedKind,
        jobs: u32,
        figures: &[(&str, f64)],
    ) -> PublishedTest {
        let figure = |&(metric, value): &(&str, f64)| PublishedFigure {
            metric: metric.into(),
            value,
            unit: "x".into(),
            note: String::new(),
        };
        let published = Published {
            kind,
            code: code.into(),
            description: String::new(),
            place: String::new(),
            nodes: Some(1),
            jobs: Some(jobs).filter(|jobs| *jobs > 0),
            threads: None,
            update_pct: None,
            kpm: Some(figures[0].0.into()),
            figures: figures.iter().map(figure).collect(),
        };
        let mut test = PublishedTest {
            workload: "SRV-QUERY1".into(),
            group: "SRV".into(),
            revision: 1,
            ..PublishedTest::unread("suite", published)
        };
        published::fill(&mut test);
        test
    }

    /// The same as a test of a run.
    pub fn test(code: &str, kind: PublishedKind, jobs: u32, figures: &[(&str, f64)]) -> Test {
        published(code, kind, jobs, figures).into()
    }

    /// The test with this verdict.
    pub fn judged(test: Test, status: Status) -> Test {
        let verdict = Verdict::from_reasons(vec![Reason::new(status, ReasonCode::Caution, "")]);
        match test {
            Test::Measured(test) => crate::model::TestResult { verdict, ..*test }.into(),
            Test::Published(test) => PublishedTest { verdict, ..*test }.into(),
        }
    }
}
