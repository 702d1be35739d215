//! Results that somebody else measured and published: where they come from, and every figure as it
//! was printed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Origin of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// dbdyno measured it.
    #[default]
    Measured,
    /// A publication states it; see `Provenance`.
    Published,
    /// dbdyno's scripts measured it, without this program.
    Scripts,
}

impl RunKind {
    /// The kind of this name; of an unknown one, of another version, measured.
    pub fn named(name: &str) -> RunKind {
        let kinds = [RunKind::Published, RunKind::Scripts];
        kinds.into_iter().find(|kind| kind.name() == name).unwrap_or_default()
    }
    /// Name as stored and printed.
    pub fn name(self) -> &'static str {
        match self {
            RunKind::Measured => "measured",
            RunKind::Published => "published",
            RunKind::Scripts => "scripts",
        }
    }
}

/// Source of a published run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Documents, as the import names them.
    pub sources: Vec<String>,
    /// Name of the study that the documents belong to.
    pub study: String,
    /// The benchmark suite with its version.
    pub suite: String,
    /// Id of the platform in the reference data.
    pub platform: String,
    /// Facts about the platform, in the words of the reference data.
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
}

/// Statement of a published figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PublishedKind {
    /// A row of a run table, a chart label or a sentence, at a given number of jobs.
    Point,
    /// The figure at one job.
    Speed,
    /// The best figure at any number of jobs; that number is mostly not printed.
    Throughput,
}

impl PublishedKind {
    /// Name as written in the reference data.
    pub fn name(self) -> &'static str {
        match self {
            PublishedKind::Point => "point",
            PublishedKind::Speed => "speed",
            PublishedKind::Throughput => "throughput",
        }
    }
}

/// A published test: what identifies it, and every figure that is printed of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Kind of the test: what its figures are of.
    pub kind: PublishedKind,
    /// The code that the publication uses (`T611`); empty if it has none.
    pub code: String,
    /// Words of the publication for the measured work; empty if it has none.
    pub description: String,
    /// Place in the publication's run table: `run=2 test=1`; empty if it stands elsewhere.
    pub place: String,
    /// Number of nodes; absent if it is not printed.
    pub nodes: Option<u32>,
    /// Number of jobs; absent if it is not printed.
    pub jobs: Option<u32>,
    /// Number of threads of an op; absent if it is not printed.
    pub threads: Option<u32>,
    /// Share of updates, in percent; absent if it is not printed.
    pub update_pct: Option<f64>,
    /// Name of the figure that is the test's KPM.
    pub kpm: Option<String>,
    /// Every printed figure of the test.
    pub figures: Vec<PublishedFigure>,
}

/// One printed figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedFigure {
    /// `throughput_qps`, `cpu_busy_pct`, ...; an ending `_low` or `_high` means that only a bound
    /// is stated.
    pub metric: String,
    /// Figure as printed.
    pub value: f64,
    /// Unit as printed; empty if there is none.
    pub unit: String,
    /// Origin and doubts, parts separated by `; `.
    pub note: String,
}

impl Published {
    /// The figure of this name.
    pub fn figure(&self, metric: &str) -> Option<&PublishedFigure> {
        self.figures.iter().find(|figure| figure.metric == metric)
    }
}
