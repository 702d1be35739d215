//! A test as analysis and reports see it: measured by dbdyno, or published. Both yield figures.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Better, Drive, JobResult, Kpm, KpmValue, LatencySummary, PartResult, Published, PublishedKind,
    RunKind, SeriesPoint, Snapshot, Status, TestResult, Verdict,
};

/// A test of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub enum Test {
    /// A test that dbdyno measured.
    Measured(Box<TestResult>),
    /// A test that a publication prints.
    Published(Box<PublishedTest>),
}

/// A published test: its identity in the catalog, and every figure that is printed of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedTest {
    /// Number within the run, from 1.
    pub seq: u32,
    /// Identifier of the workload in the catalog, else its name in the publication.
    pub workload: String,
    /// Group of the workload as in the catalog: `SRV`.
    pub group: String,
    /// Revision of the catalog's workload that the test is compared with; 0 if there is none.
    pub revision: u32,
    /// Suite and code: what stands in one row of a publication's table.
    pub hash: String,
    /// Known parameters.
    pub params: BTreeMap<String, String>,
    /// Metric of its KPM and, below, of the best other figure.
    pub kpm: Kpm,
    /// Printed value of the KPM; absent if it is not printed.
    pub kpm_value: Option<f64>,
    /// Definition of the second metric; absent if there is none.
    pub second: Option<Kpm>,
    /// Printed value of the second metric.
    pub second_value: Option<f64>,
    /// Trust in the printed KPM, with the reasons.
    pub verdict: Verdict,
    /// Ops per second, if the publication prints them.
    pub ops_per_s: Option<f64>,
    /// Printed rows per second.
    pub rows_per_s: Option<f64>,
    /// Printed duration of the test, in s.
    pub elapsed_s: Option<f64>,
    /// The mean, if it is printed.
    pub latency: LatencySummary,
    /// Test as it is printed.
    pub published: Published,
}

impl PublishedTest {
    /// Figures printed under a code of a suite, before its workload and its KPM are known.
    pub fn unread(suite: &str, published: Published) -> PublishedTest {
        PublishedTest {
            seq: 1,
            workload: published.code.clone(),
            group: "PUBLISHED".into(),
            revision: 0,
            hash: format!("published:{suite}:{}", published.code),
            params: BTreeMap::new(),
            kpm: Kpm {
                value: KpmValue::Units,
                unit: "-".into(),
                better: Better::Higher,
                scale: 1.0,
            },
            kpm_value: None,
            second: None,
            second_value: None,
            verdict: Verdict::from_reasons(Vec::new()),
            ops_per_s: None,
            rows_per_s: None,
            elapsed_s: None,
            latency: LatencySummary::default(),
            published,
        }
    }

    /// The number of jobs, if it is printed; a speed is that of one job.
    pub fn jobs(&self) -> Option<u32> {
        self.published.jobs.or((self.published.kind == PublishedKind::Speed).then_some(1))
    }

    /// Code in the publication, if it has one.
    pub fn code(&self) -> Option<&str> {
        Some(self.published.code.as_str()).filter(|code| !code.is_empty())
    }
}

/// Fields that both kinds have, as methods.
macro_rules! common {
    ($($(#[$about:meta])* $name:ident -> $type:ty = $get:expr;)*) => {
        impl Test {
            $($(#[$about])* pub fn $name(&self) -> $type {
                match self {
                    Test::Measured(test) => $get(&test.$name),
                    Test::Published(test) => $get(&test.$name),
                }
            })*
        }
    };
}

common! {
    /// Number within the run, from 1.
    seq -> u32 = u32::clone;
    /// Id of the workload; of a publication its code if the catalog has no such workload.
    workload -> &str = String::as_str;
    /// Id of its group.
    group -> &str = String::as_str;
    /// Revision of the workload; tests of different revisions did different work.
    revision -> u32 = u32::clone;
    /// Over revision, parameters and SQL text; of a publication suite and code.
    hash -> &str = String::as_str;
    /// Parameters, complete as far as they are known.
    params -> &BTreeMap<String, String> = std::convert::identity;
    /// The key performance metric.
    kpm -> &Kpm = std::convert::identity;
    /// The second metric; none if there is none.
    second -> Option<&Kpm> = Option::as_ref;
    /// Value of the KPM, in its unit; absent if it is unknown.
    kpm_value -> Option<f64> = Option::clone;
    /// Value of the second metric, in its unit; absent if it is unknown.
    second_value -> Option<f64> = Option::clone;
    /// Verdict on the figures.
    verdict -> &Verdict = std::convert::identity;
    /// Service time of the ops.
    latency -> &LatencySummary = std::convert::identity;
}

impl Test {
    /// The result, if dbdyno measured the test.
    pub fn measured(&self) -> Option<&TestResult> {
        match self {
            Test::Measured(test) => Some(test),
            Test::Published(_) => None,
        }
    }

    /// The test, if it is a publication's.
    pub fn published(&self) -> Option<&PublishedTest> {
        match self {
            Test::Measured(_) => None,
            Test::Published(test) => Some(test),
        }
    }

    /// Origin of the test.
    pub fn kind(&self) -> RunKind {
        self.either(RunKind::Measured, RunKind::Published)
    }

    /// Value for a measured test, or for a published one.
    pub fn either<T>(&self, measured: T, published: T) -> T {
        match self {
            Test::Measured(_) => measured,
            Test::Published(_) => published,
        }
    }

    /// True if it is a publication's figure of this kind.
    pub fn states(&self, kind: PublishedKind) -> bool {
        self.published().is_some_and(|test| test.published.kind == kind)
    }

    /// True if a publication only states the figure, as speed or throughput; its run table, if it
    /// has one, takes precedence.
    pub fn is_statement(&self) -> bool {
        self.published().is_some_and(|test| test.published.kind != PublishedKind::Point)
    }

    /// True if it failed before anything was measured.
    pub fn is_empty(&self) -> bool {
        self.measured().is_some_and(|test| test.window_s <= 0.0)
    }

    /// Jobs; absent if a publication does not print them.
    pub fn jobs(&self) -> Option<u32> {
        match self {
            Test::Measured(test) => Some(test.jobs),
            Test::Published(test) => test.jobs(),
        }
    }

    /// Nodes of the database; one if a publication does not print them.
    pub fn nodes(&self) -> u32 {
        match self {
            Test::Measured(test) => test.nodes,
            Test::Published(test) => test.published.nodes.unwrap_or(1),
        }
    }

    /// Publications run their statements inside the database.
    pub fn drive(&self) -> Drive {
        self.measured().map_or(Drive::Database, |test| test.drive)
    }

    /// Code of a published suite under which it was asked for.
    pub fn asked_as(&self) -> Option<&str> {
        match self {
            Test::Measured(test) => test.asked_as.as_deref(),
            Test::Published(test) => test.code(),
        }
    }

    /// One line: what the op does.
    pub fn title(&self) -> &str {
        match self {
            Test::Measured(test) => &test.title,
            Test::Published(test) => &test.published.description,
        }
    }

    /// The parameters that a label shows: those that differ from the engine's defaults, or are
    /// printed.
    pub fn chosen(&self) -> &BTreeMap<String, String> {
        match self {
            Test::Measured(test) => &test.chosen,
            Test::Published(test) => &test.params,
        }
    }

    /// The workload, with the code of the published suite if it was asked for by one: `SRV-QUERY1
    /// (T611)`.
    pub fn name(&self) -> String {
        match self.asked_as() {
            Some(code) if code != self.workload() => format!("{} ({code})", self.workload()),
            _ => self.workload().to_string(),
        }
    }

    /// The verdict's status.
    pub fn status(&self) -> Status {
        self.verdict().status
    }

    /// The test without series and snapshots.
    pub fn without_seconds(&self) -> Test {
        let mut bare = self.clone();
        if let Test::Measured(test) = &mut bare {
            test.series.clear();
            test.snapshots.clear();
        }
        bare
    }

    /// Figures of the parts; a publication prints none.
    pub fn parts(&self) -> &[PartResult] {
        self.measured().map_or(&[], |test| &test.parts)
    }

    /// Figures of each job; a publication prints none.
    pub fn job_figures(&self) -> &[JobResult] {
        self.measured().map_or(&[], |test| &test.job_figures)
    }

    /// The test second by second; a publication prints nothing of it.
    pub fn series(&self) -> &[SeriesPoint] {
        self.measured().map_or(&[], |test| &test.series)
    }

    /// All probes at the moments of the test; a publication prints none.
    pub fn snapshots(&self) -> &[Snapshot] {
        self.measured().map_or(&[], |test| &test.snapshots)
    }
}

impl From<TestResult> for Test {
    fn from(test: TestResult) -> Test {
        Test::Measured(Box::new(test))
    }
}

impl From<PublishedTest> for Test {
    fn from(test: PublishedTest) -> Test {
        Test::Published(Box::new(test))
    }
}

/// The form of a test in results files and exports, which is the same for both kinds: there 0 means
/// not printed.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    test: TestResult,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    published: Option<Published>,
}

impl From<Test> for Stored {
    fn from(test: Test) -> Stored {
        match test {
            Test::Measured(test) => Stored { test: *test, published: None },
            Test::Published(test) => {
                let stored = TestResult {
                    seq: test.seq,
                    asked_as: test.code().map(String::from),
                    title: test.published.description.clone(),
                    jobs: test.jobs().unwrap_or(0),
                    nodes: test.published.nodes.unwrap_or(1),
                    workload: test.workload,
                    group: test.group,
                    revision: test.revision,
                    hash: test.hash,
                    chosen: test.params.clone(),
                    params: test.params,
                    kpm_value: test.kpm_value,
                    second: test.second,
                    second_value: test.second_value,
                    verdict: test.verdict,
                    ops_per_s: test.ops_per_s.unwrap_or(0.0),
                    rows_per_s: test.rows_per_s.unwrap_or(0.0),
                    window_s: test.elapsed_s.unwrap_or(0.0),
                    latency: test.latency,
                    ..TestResult::empty(test.kpm, Drive::Database, String::new())
                };
                Stored { test: stored, published: Some(test.published) }
            }
        }
    }
}

impl From<Stored> for Test {
    fn from(Stored { test, published }: Stored) -> Test {
        let Some(published) = published else { return Test::from(test) };
        let printed = |value: f64| Some(value).filter(|value| *value > 0.0);
        Test::from(PublishedTest {
            seq: test.seq,
            workload: test.workload,
            group: test.group,
            revision: test.revision,
            hash: test.hash,
            params: test.params,
            kpm: test.kpm,
            kpm_value: test.kpm_value,
            second: test.second,
            second_value: test.second_value,
            verdict: test.verdict,
            ops_per_s: printed(test.ops_per_s),
            rows_per_s: printed(test.rows_per_s),
            elapsed_s: printed(test.window_s),
            latency: test.latency,
            published,
        })
    }
}
