//! The comparison of two runs: what differs between their disclosures and which figures that
//! touches, then the ratio of every figure with its interval, and what follows, in words. Pure:
//! from stored figures only.

mod answer;
mod base_differences;
mod base_of_many;
mod disclosure;
mod estimate;
mod findings;
mod gate;
mod metric;
mod pairs;
mod past;
mod rows;
mod standing;
mod work;

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::interval::{Unknown, supports};
use super::price::PriceList;
use crate::model::{Better, Effect, RunRecord, Sentence, Status, Test};
use crate::stats::moderated::{self, Size};

pub use super::ratio::{Change, Ratio, Span};
pub use answer::{ability, answer, unjudged};
pub use base_differences::differences_within;
pub use base_of_many::{BaseOfMany, base_of_many};
pub use disclosure::{Difference, NOT_STATED, differences};
pub use estimate::Past;
pub use findings::{Finding, leading};
pub use gate::{Judgement, Level, Missing, Outcome};
pub use past::{ENOUGH, Earlier, earlier, tells};
pub use work::Work;

/// One of the runs compared.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Name in the comparison.
    pub name: &'a str,
    /// Run with its disclosure.
    pub run: &'a RunRecord,
    /// Tests of the run.
    pub tests: &'a [Test],
    /// Price of the platform, if the user gives one.
    pub price: Option<&'a PriceList>,
}

/// The terms of a comparison, beside the two runs.
#[derive(Debug, Clone, Default)]
pub struct Terms<'a> {
    /// The groups of figures that a difference between disclosures touches.
    pub effects: &'a [Effect],
    /// Tests of earlier fresh runs of the same platform, which show how runs differ.
    pub past: Vec<Past<'a>>,
    /// Calibrations among them, by name.
    pub calibrations: Vec<String>,
    /// The earlier runs are the base, of which the base's run is one.
    pub is_base: bool,
    /// Sentences on a base of many: what is left out of it, what differs within it.
    pub notes_on_base: Vec<Sentence>,
    /// The loss, as a fraction of the base, that a gate allows; without it nothing is judged.
    pub limit: Option<f64>,
}

impl<'a> Terms<'a> {
    /// Terms without earlier runs and without a gate.
    pub fn new(effects: &'a [Effect]) -> Terms<'a> {
        Terms { effects, ..Terms::default() }
    }
}

impl Side<'_> {
    /// Options that its tests used and that have no price, so that the cost is not known.
    fn unpriced(&self) -> Vec<&str> {
        self.price.map(|price| price.unpriced(self.run)).unwrap_or_default()
    }
}

/// Result of comparing two runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// Name of the baseline.
    pub base: String,
    /// Name of the run that is compared with it.
    pub other: String,
    /// The calibrations that the intervals allow for, by name.
    pub calibrations: Vec<String>,
    /// Facts in which the disclosures differ.
    pub differences: Vec<Difference>,
    /// Sentences on a base of many: what is left out of it, what differs within it.
    pub notes_on_base: Vec<Sentence>,
    /// Speed and throughput of every workload, by its KPM.
    pub kpms: Vec<Row>,
    /// The same by every other rate and by service time.
    pub further: Vec<Row>,
    /// The KPM at every number of jobs that both have.
    pub equal_jobs: Vec<EqualJobs>,
    /// Resources that one op takes, at every number of jobs that both have.
    pub work: Vec<Work>,
    /// Geometric means over the workloads of a group.
    pub groups: Vec<GroupMean>,
    /// Figures that only one run has, or that cannot be compared.
    pub not_compared: Vec<NotCompared>,
    /// Sentences that the figures support.
    pub findings: Vec<Finding>,
    /// Number of earlier runs that show how runs differ; with fewer than two a prior is used.
    pub earlier_runs: usize,
    /// Multiple of what the prior allows by which the two runs differ, figure by figure, if that
    /// widened the intervals.
    pub widened: Option<f64>,
    /// The loss that would have been found in most figures.
    pub detectable: Option<Size>,
    /// The loss, as a fraction, that a gate allows.
    pub limit: Option<f64>,
    /// The gate's judgement, if there is a limit.
    pub gate: Option<Judgement>,
}

/// Speed: one job. Throughput: the best at any number of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Figure at one job.
    Speed,
    /// Best figure at any number of jobs.
    Throughput,
}

impl Kind {
    /// Name as printed.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Speed => "speed",
            Kind::Throughput => "throughput",
        }
    }
}

/// The workload that a line is about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Subject {
    /// Identifier of the workload as in the catalog: `SRV-QUERY1`.
    pub workload: String,
    /// Group of the workload as in the catalog: `SRV`.
    pub group: String,
    /// The code of another suite under which it was run.
    pub asked_as: Option<String>,
    /// Parameters that were chosen.
    pub params: BTreeMap<String, String>,
}

impl Subject {
    /// `SRV-QUERY1 (T611) org=heap`.
    pub fn label(&self) -> String {
        let code = self
            .asked_as
            .iter()
            .filter(|code| **code != self.workload)
            .map(|code| format!(" ({code})"));
        let params = self.params.iter().map(|(name, value)| format!(" {name}={value}"));
        [self.workload.clone()].into_iter().chain(code).chain(params).collect()
    }
}

/// One figure of both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Workload with its parameters.
    #[serde(flatten)]
    pub subject: Subject,
    /// Speed or throughput.
    pub kind: Kind,
    /// Name of the metric; the unit for a measured KPM.
    pub metric: String,
    /// Unit of both figures.
    pub unit: String,
    /// Direction in which the figures are better.
    pub better: Better,
    /// Figure of the baseline.
    pub base: f64,
    /// Figure of the other run.
    pub other: f64,
    /// Jobs at which the figures were reached; absent if a publication does not print them.
    pub base_jobs: Option<u32>,
    /// Jobs of the other run's figure.
    pub other_jobs: Option<u32>,
    /// Ratio other / base, with its interval.
    #[serde(flatten)]
    pub ratio: Ratio,
    /// True if the difference remains when all figures of the comparison are considered: see
    /// METHODOLOGY, "Comparisons".
    pub stands: bool,
    /// The loss, as a fraction of the base, that would have been found with a chance of 80 %;
    /// absent for a figure that decides nothing.
    pub detectable_loss: Option<f64>,
    /// True if the loss remains when all figures that a gate judges are considered.
    #[serde(skip)]
    pub is_loss: bool,
    /// The repetitions that it is estimated from.
    #[serde(skip)]
    pub sample: Option<estimate::Sample>,
    /// Ratio with its variance; absent if the variance is unknown.
    #[serde(skip)]
    pub estimate: Option<moderated::Ratio>,
    /// The worse of both verdicts, lowered by what makes the two hard to compare.
    #[serde(rename = "verdict")]
    pub status: Status,
    /// Reasons that lower the verdict.
    #[serde(serialize_with = "serialize_sentences")]
    pub reasons: Vec<Sentence>,
    /// Sentences on how it was compared, which lower no verdict.
    #[serde(serialize_with = "serialize_sentences", skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Sentence>,
    /// The verdicts of the two figures themselves.
    #[serde(rename = "base_verdict")]
    pub base_status: Status,
    /// Verdict on the other run's figure.
    #[serde(rename = "other_verdict")]
    pub other_status: Status,
    /// Mean service times at those jobs, in ms.
    #[serde(rename = "base_service_time_ms")]
    pub base_service_ms: Option<f64>,
    /// Mean service time of the other run at its number of jobs, in ms.
    #[serde(rename = "other_service_time_ms")]
    pub other_service_ms: Option<f64>,
    /// Ratio of the figures per job, core and license, and per cost of the platform.
    pub per_job: Option<f64>,
    /// Ratio of the figures per core.
    pub per_core: Option<f64>,
    /// Ratio of the figures per license.
    pub per_licence: Option<f64>,
    /// Ratio of the figures per cost of the platform.
    pub per_price: Option<f64>,
}

impl Row {
    /// Better, worse, inside the noise or undecided, by its own interval.
    pub fn change(&self) -> Change {
        self.ratio.change(self.better)
    }
    /// Loss of the other as a fraction of the base: positive = worse, whatever the direction of the
    /// metric.
    pub fn loss(&self) -> f64 {
        match self.better {
            Better::Higher => 1.0 - self.ratio.value,
            Better::Lower => 1.0 - 1.0 / self.ratio.value,
        }
    }
    /// True if the other's figure became invalid, or both are sound and it is worse by more than
    /// the fraction `below` and beyond the noise, as one of all figures compared. Of an invalid
    /// base nothing can be said.
    pub fn is_failure(&self, below: f64) -> bool {
        match (self.base_status, self.other_status) {
            (Status::Invalid, _) => false,
            (_, Status::Invalid) => true,
            _ => self.is_loss && self.loss() > below,
        }
    }
    /// True if both figures are valid and one of them has no interval. One that is not valid
    /// decides nothing anyway, and is counted as that.
    pub fn is_undecided(&self) -> bool {
        supports(self.status) && self.change() == Change::Undecided
    }
    /// Other / base service time.
    pub fn service_ratio(&self) -> Option<f64> {
        Some(self.other_service_ms? / self.base_service_ms?).filter(|ratio| ratio.is_finite())
    }
}

/// The KPM of both at the same number of jobs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EqualJobs {
    /// Workload with its parameters.
    #[serde(flatten)]
    pub subject: Subject,
    /// Number of jobs, the same in both runs.
    pub jobs: u32,
    /// Name of the metric.
    pub metric: String,
    /// Unit of both figures.
    pub unit: String,
    /// Direction in which the figures are better.
    pub better: Better,
    /// Figure of the baseline.
    pub base: f64,
    /// Figure of the other run.
    pub other: f64,
    /// Ratio other / base, with its interval.
    #[serde(flatten)]
    pub ratio: Ratio,
    /// Throughput / best throughput of the ramp.
    pub base_utilisation: Option<f64>,
    /// The same of the other run.
    pub other_utilisation: Option<f64>,
    /// CPU use of the baseline's host, in percent; absent if it is not known.
    pub base_cpu_busy_pct: Option<f64>,
    /// CPU use of the other run's host, in percent; absent if it is not known.
    pub other_cpu_busy_pct: Option<f64>,
    /// Mean service time of the baseline, in ms.
    #[serde(rename = "base_service_time_ms")]
    pub base_service_ms: Option<f64>,
    /// Mean service time of the other run, in ms.
    #[serde(rename = "other_service_time_ms")]
    pub other_service_ms: Option<f64>,
    /// The worse of both verdicts, lowered by what makes the two hard to compare.
    #[serde(rename = "verdict")]
    pub status: Status,
    /// The verdicts of the two figures themselves.
    #[serde(rename = "base_verdict")]
    pub base_status: Status,
    /// Verdict on the other run's figure.
    #[serde(rename = "other_verdict")]
    pub other_status: Status,
    /// The repetitions that the ratio is estimated from.
    #[serde(skip)]
    pub sample: Option<estimate::Sample>,
}

/// Geometric mean of the ratios of a group's valid figures, times taken inversely: above 1 =
/// better.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupMean {
    /// Group of the workloads as in the catalog: `SRV`.
    pub group: String,
    /// Speed or throughput.
    pub kind: Kind,
    /// Geometric mean of the ratios, with its interval.
    #[serde(flatten)]
    pub ratio: Ratio,
    /// Number of figures in the mean.
    pub workloads: usize,
    /// Figures of the group that are conditional or invalid.
    pub left_out: usize,
}

/// A figure that only one of the runs has, or that cannot be compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotCompared {
    /// Workload, with what distinguishes it from others.
    #[serde(rename = "workload")]
    pub label: String,
    /// Speed or throughput; absent if it is about both.
    pub kind: Option<Kind>,
    /// Reason why there is no comparison.
    #[serde(serialize_with = "serialize_sentence")]
    pub why: Sentence,
    /// The base has a sound figure and the other has none.
    pub lost: bool,
}

/// Number of figures that are undecided for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndecidedCount {
    /// Reason why they have no interval.
    pub why: Unknown,
    /// Number of figures.
    pub figures: usize,
}

impl Comparison {
    /// Sound figures of the base that the other does not have.
    pub fn lost(&self) -> impl Iterator<Item = &NotCompared> {
        self.not_compared.iter().filter(|figure| figure.lost)
    }
    /// Reasons why valid measured figures are undecided, each with the number of figures.
    pub fn undecided(&self) -> Vec<UndecidedCount> {
        let mut reasons: Vec<UndecidedCount> = Vec::new();
        for why in
            self.kpms.iter().filter(|row| row.is_undecided()).filter_map(|row| row.ratio.span.err())
        {
            match reasons.iter_mut().find(|known| known.why == why) {
                Some(known) => known.figures += 1,
                None => reasons.push(UndecidedCount { why, figures: 1 }),
            }
        }
        reasons.retain(|reason| reason.why != Unknown::Published);
        reasons
    }

    /// Figures that the gate does not judge, as one of the two is not valid; without those that
    /// became invalid, which fail.
    pub fn unjudged(&self) -> impl Iterator<Item = &Row> {
        let limit = self.limit.unwrap_or_default();
        self.kpms.iter().filter(move |row| !supports(row.status) && !row.is_failure(limit))
    }
    /// Number of figures that differ by their own interval, but no more often, or no further, than
    /// chance explains among this many.
    pub fn by_chance(&self) -> usize {
        let differs = |row: &&Row| matches!(row.change(), Change::Better | Change::Worse);
        self.kpms
            .iter()
            .filter(|row| row.status == Status::Valid && !row.stands)
            .filter(differs)
            .count()
    }
    /// True if no figure of the base is sound, so that none of the other can be worse.
    pub fn judges_nothing(&self) -> bool {
        self.lost().next().is_none()
            && self.kpms.iter().all(|row| row.base_status == Status::Invalid)
    }
}

/// A sentence as JSON: its English text.
fn serialize_sentence<S: Serializer>(
    sentence: &Sentence,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(sentence)
}

fn serialize_sentences<S: Serializer>(
    sentences: &[Sentence],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(sentences.iter().map(ToString::to_string))
}

/// Compares `other` with `base`.
pub fn compare(base: &Side<'_>, other: &Side<'_>, terms: &Terms<'_>) -> Comparison {
    let mut comparison = Comparison {
        base: base.name.into(),
        other: other.name.into(),
        limit: terms.limit,
        calibrations: terms.calibrations.clone(),
        notes_on_base: terms.notes_on_base.clone(),
        ..Comparison::default()
    };
    comparison.differences = disclosure::differences(base, other, terms.effects);
    let context = rows::Context::new(base, other, &terms.past);
    for pair in pairs::pairs(base, other, &mut comparison.not_compared) {
        rows::add(&mut comparison, &context, &pair);
        comparison.work.extend(work::of_pair(&pair, context.are_cpus_alike()));
    }
    comparison.not_compared.extend(without_price(base, other));
    estimate::estimate(&mut comparison, terms.is_base);
    standing::mark_standing(&mut comparison.kpms);
    work::estimate(&mut comparison.work);
    comparison.groups = rows::group_means(&comparison.kpms);
    gate::judge(&mut comparison, other);
    comparison.findings = findings::findings(&comparison, base, other);
    comparison
}

/// Reason for the missing ratio per price where both platforms have a price list.
fn without_price(base: &Side<'_>, other: &Side<'_>) -> Option<NotCompared> {
    base.price.zip(other.price)?;
    let side = [base, other].into_iter().find(|side| !side.unpriced().is_empty())?;
    let why = Sentence::new("{name} used {options}, which has no price")
        .with("name", side.name)
        .with("options", side.unpriced().join(", "));
    Some(NotCompared { label: "per price".into(), kind: None, why, lost: false })
}

/// Runs and tests made by hand, for the tests of this crate and of those above.
#[cfg(any(test, feature = "fixtures"))]
pub mod fixture {
    use super::Side;
    use crate::model::{Disclosure, RunKind, RunRecord, RunStatus, StoredPlan, Test};

    /// A finished run without tests.
    pub fn run(name: &str) -> RunRecord {
        RunRecord {
            id: 1,
            name: Some(name.into()),
            kind: RunKind::Measured,
            provenance: None,
            target: "other".into(),
            engine: Some("other".into()),
            suite: "quick".into(),
            labels: Default::default(),
            started_at: Some("2026-01-01T00:00:00Z".into()),
            ended_at: None,
            status: RunStatus::Finished,
            version: "0.1.0".into(),
            command: "dbdyno run".into(),
            seed: Some(42),
            size_gb: Some(1.0),
            data_set_id: Some("d".into()),
            disclosure: Disclosure::default(),
            own_loop: None,
            device_sync: None,
            plan: StoredPlan::default(),
            loads: Vec::new(),
        }
    }

    /// A side of a comparison.
    pub fn side<'a>(name: &'a str, run: &'a RunRecord, tests: &'a [Test]) -> Side<'a> {
        Side { name, run, tests, price: None }
    }
}

#[cfg(test)]
mod tests;
