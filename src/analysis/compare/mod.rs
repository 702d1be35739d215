//! The comparison of two runs: what differs between their disclosures and which figures that touches, then the ratio of
//! every figure with its interval, and what follows, in words. Pure: from stored figures only.

mod disclosure;
mod findings;
mod metric;
mod noise;
mod pairs;
mod rows;

use std::collections::BTreeMap;

use super::price::PriceList;
use crate::model::{Better, Effect, RunRecord, Status, TestResult};

pub use disclosure::Difference;
pub use findings::Finding;
pub use noise::Noise;

/// One of the runs compared.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// As the comparison calls it.
    pub name: &'a str,
    pub run: &'a RunRecord,
    pub tests: &'a [TestResult],
    /// What the platform costs, if the user says so.
    pub price: Option<&'a PriceList>,
}

/// What the comparison of two runs says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    pub base: String,
    pub other: String,
    pub differences: Vec<Difference>,
    /// Speed and throughput of every workload, by its KPM.
    pub kpms: Vec<Row>,
    /// The same by every other rate and by service time.
    pub further: Vec<Row>,
    /// The KPM at every number of jobs that both have.
    pub equal_jobs: Vec<EqualJobs>,
    /// Geometric means over the workloads of a group.
    pub groups: Vec<GroupMean>,
    pub not_compared: Vec<NotCompared>,
    pub findings: Vec<Finding>,
}

/// Speed: one job. Throughput: the best at any number of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Speed,
    Throughput,
}

impl Kind {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Speed => "speed",
            Kind::Throughput => "throughput",
        }
    }
}

/// What a ratio means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Inside the noise.
    Same,
    Better,
    Worse,
}

impl Change {
    /// As printed: `~`, `better`, `worse`.
    pub fn name(self) -> &'static str {
        match self {
            Change::Same => "~",
            Change::Better => "better",
            Change::Worse => "worse",
        }
    }
}

/// The workload that a line is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    pub workload: String,
    pub group: String,
    /// The code of another suite under which it was run.
    pub asked_as: Option<String>,
    /// Parameters that were chosen.
    pub params: BTreeMap<String, String>,
}

impl Subject {
    /// `SRV-QUERY1 (T611) org=heap`.
    pub fn label(&self) -> String {
        let code = self.asked_as.iter().filter(|code| **code != self.workload).map(|code| format!(" ({code})"));
        let params = self.params.iter().map(|(name, value)| format!(" {name}={value}"));
        [self.workload.clone()].into_iter().chain(code).chain(params).collect()
    }
}

/// A ratio other / base with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    pub value: f64,
    /// Ends of the interval; absent for published figures.
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Ratio {
    /// What the ratio means for a metric of this direction.
    pub fn change(&self, better: Better) -> Change {
        let (low, high) = (self.low.unwrap_or(self.value), self.high.unwrap_or(self.value));
        let grown = match (low > 1.0, high < 1.0) {
            (true, _) => true,
            (_, true) => false,
            _ => return Change::Same,
        };
        if grown == (better == Better::Higher) { Change::Better } else { Change::Worse }
    }
}

/// One figure of both runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub subject: Subject,
    pub kind: Kind,
    /// Name of the metric; the unit for a KPM of ours.
    pub metric: String,
    pub unit: String,
    pub better: Better,
    pub base: f64,
    pub other: f64,
    /// Jobs at which the figures were reached; absent if a publication does not print them.
    pub base_jobs: Option<u32>,
    pub other_jobs: Option<u32>,
    pub ratio: Ratio,
    /// The worse of both verdicts, lowered by what makes the two hard to compare.
    pub status: Status,
    pub reasons: Vec<String>,
    /// The verdicts of the two figures themselves.
    pub base_status: Status,
    pub other_status: Status,
    /// Mean service times at those jobs, in ms.
    pub base_service_ms: Option<f64>,
    pub other_service_ms: Option<f64>,
    /// Ratio of the figures per job, core and licence, and per cost of the platform.
    pub per_job: Option<f64>,
    pub per_core: Option<f64>,
    pub per_licence: Option<f64>,
    pub per_price: Option<f64>,
}

impl Row {
    /// Better, worse or inside the noise.
    pub fn change(&self) -> Change {
        self.ratio.change(self.better)
    }
    /// How much worse the other is, as a fraction of the base: positive = worse, whatever the direction of the metric.
    pub fn loss(&self) -> f64 {
        match self.better {
            Better::Higher => 1.0 - self.ratio.value,
            Better::Lower => 1.0 - 1.0 / self.ratio.value,
        }
    }
    /// True if the other's figure became invalid, or both are sound and it is worse beyond the noise by more than the
    /// fraction `below`. Of an invalid base nothing can be said.
    pub fn is_failure(&self, below: f64) -> bool {
        match (self.base_status, self.other_status) {
            (Status::Invalid, _) => false,
            (_, Status::Invalid) => true,
            _ => self.change() == Change::Worse && self.loss() > below,
        }
    }
    /// Other / base service time.
    pub fn service_ratio(&self) -> Option<f64> {
        Some(self.other_service_ms? / self.base_service_ms?).filter(|ratio| ratio.is_finite())
    }
}

/// The KPM of both at the same number of jobs.
#[derive(Debug, Clone, PartialEq)]
pub struct EqualJobs {
    pub subject: Subject,
    pub jobs: u32,
    pub metric: String,
    pub unit: String,
    pub better: Better,
    pub base: f64,
    pub other: f64,
    pub ratio: Ratio,
    /// Throughput / best throughput of the ramp.
    pub base_utilisation: Option<f64>,
    pub other_utilisation: Option<f64>,
    pub base_cpu_busy_pct: Option<f64>,
    pub other_cpu_busy_pct: Option<f64>,
    pub base_service_ms: Option<f64>,
    pub other_service_ms: Option<f64>,
    pub status: Status,
}

/// Geometric mean of the ratios of a group, times taken inversely: above 1 = better.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupMean {
    pub group: String,
    pub kind: Kind,
    pub ratio: f64,
    pub workloads: usize,
}

/// A figure that only one of the runs has, or that cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotCompared {
    pub label: String,
    pub kind: Option<Kind>,
    pub why: String,
    /// The base has a sound figure and the other has none.
    pub lost: bool,
}

impl Comparison {
    /// Sound figures of the base that the other does not have.
    pub fn lost(&self) -> impl Iterator<Item = &NotCompared> {
        self.not_compared.iter().filter(|figure| figure.lost)
    }
    /// True if no figure of the base is sound, so that none of the other can be worse.
    pub fn judges_nothing(&self) -> bool {
        self.lost().next().is_none() && self.kpms.iter().all(|row| row.base_status == Status::Invalid)
    }
}

/// Compares `other` with `base`.
pub fn compare(base: &Side<'_>, other: &Side<'_>, effects: &[Effect], noise: &Noise) -> Comparison {
    let mut comparison = Comparison { base: base.name.into(), other: other.name.into(), ..Comparison::default() };
    comparison.differences = disclosure::differences(base, other, effects);
    let context = rows::Context::new(base, other, noise);
    for pair in pairs::pairs(base, other, &mut comparison.not_compared) {
        rows::add(&mut comparison, &context, &pair);
    }
    comparison.groups = rows::group_means(&comparison.kpms);
    comparison.findings = findings::findings(&comparison, base, other);
    comparison
}

#[cfg(test)]
pub(crate) mod fixture {
    use super::Side;
    use crate::model::{Disclosure, RunKind, RunRecord, RunStatus, TestResult};

    /// A finished run without tests.
    pub fn run(name: &str) -> RunRecord {
        RunRecord {
            id: 1,
            name: Some(name.into()),
            kind: RunKind::Measured,
            provenance: None,
            target: "sqlite".into(),
            engine: "sqlite".into(),
            suite: "quick".into(),
            labels: Default::default(),
            started_at: "2026-01-01T00:00:00Z".into(),
            ended_at: None,
            status: RunStatus::Finished,
            version: "0.1.0".into(),
            command: "dbdyno run".into(),
            seed: 42,
            size_gb: 1.0,
            data_set_id: "d".into(),
            disclosure: Disclosure::default(),
            plan: serde_json::Value::Null,
            loads: Vec::new(),
        }
    }

    /// A side of a comparison.
    pub fn side<'a>(name: &'a str, run: &'a RunRecord, tests: &'a [TestResult]) -> Side<'a> {
        Side { name, run, tests, price: None }
    }
}

#[cfg(test)]
mod tests;
