//! The gate: the verdict on losses beyond a limit, the loss that would have been found, and the
//! cost to find more.

use serde::{Serialize, Serializer};

use super::estimate::{Point, decides};
use super::{Comparison, Row, Side};
use crate::model::TestResult;
use crate::stats::moderated::{self, Gate, GateResult, Needed, Size, Test, detectable, needed};

/// Multiple of the limit for which a loss should be detected.
const SOUGHT: f64 = 2.0;
/// Share of the figures in which the loss must be detectable.
const MOST: f64 = 0.8;
/// Chance of a finding among equal runs if there is no limit, on one side.
const TAIL: f64 = 0.025;

/// The verdict of a comparison on losses beyond a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Nothing is worse by more than the limit beyond the noise.
    Pass,
    /// A mean or a figure is worse by more than the limit, and not by chance.
    Fail,
    /// No figure decides anything.
    NoAnswer,
}

/// Mean over figures, or a single figure, with the gate's judgement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Level {
    /// Absent for the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Number of figures in the mean.
    pub figures: usize,
    /// Geometric mean of other / base, times taken inversely: above 1 = better.
    pub ratio: f64,
    /// Lower end of the interval of the ratio.
    pub low: f64,
    /// Upper end of the interval of the ratio.
    pub high: f64,
    /// The loss that would have failed with a chance of 80 %, as a fraction.
    pub detectable_loss: f64,
    /// The interval excludes a loss beyond the limit.
    pub is_excluded: bool,
    /// Worse by more than the limit, and not by chance.
    pub fails: bool,
}

impl Level {
    fn new(group: Option<String>, figures: usize, look: &GateResult, limit: f64) -> Level {
        let (log, half) = (look.ratio.log, look.ratio.half_width());
        Level {
            group,
            figures,
            ratio: log.exp(),
            low: (log - half).exp(),
            high: (log + half).exp(),
            detectable_loss: look.detectable,
            is_excluded: look.excludes(limit),
            fails: look.fails,
        }
    }

    /// The loss of the other, as a fraction of the base.
    pub fn loss(&self) -> f64 {
        1.0 - self.ratio
    }
}

/// The measuring that finds a loss of `loss` in four fifths of the figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Missing {
    /// The loss, as a fraction.
    pub loss: f64,
    /// Repetitions in each run; absent where no number of them does.
    pub repetitions: Option<f64>,
    /// Minutes that a run with this many repetitions measures.
    pub minutes: Option<f64>,
    /// Fresh runs a side, where repetitions do not.
    pub runs: Option<f64>,
}

/// The gate of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// Outcome for all figures together.
    pub outcome: Outcome,
    /// The loss, as a fraction, that it allows.
    pub limit: f64,
    /// Mean over all figures that decide; absent without any.
    pub whole: Option<Level>,
    /// Groups with two such figures or more.
    pub groups: Vec<Level>,
    /// Figures that decide.
    pub figures: usize,
    /// Number of judged figures in which a loss of more than the limit is excluded.
    pub excluded: usize,
    /// Judged figures in which a loss of twice the limit may go unnoticed.
    pub blind: Vec<String>,
    /// The loss that would have been found in most figures.
    #[serde(serialize_with = "size_of")]
    pub detectable: Option<Size>,
    /// Measuring that would have found a loss of the limit, where this one would not.
    pub missing: Option<Missing>,
}

impl Judgement {
    /// True of a figure or a mean in which a loss of twice the limit may pass unseen.
    pub fn is_blind(&self, detectable_loss: f64) -> bool {
        moderated::is_blind(detectable_loss, self.limit)
    }
}

/// A size as JSON.
#[derive(Serialize)]
struct SizeFields {
    loss: f64,
    found: usize,
    figures: usize,
}

fn size_of<S: Serializer>(size: &Option<Size>, serializer: S) -> Result<S::Ok, S::Error> {
    let fields =
        size.map(|size| SizeFields { loss: size.loss, found: size.found, figures: size.points });
    fields.serialize(serializer)
}

/// The figures that decide, once each: rows of one point are one figure.
fn deciding(rows: &[Row]) -> Vec<usize> {
    let mut known: Vec<&Point> = Vec::new();
    let mut found = Vec::new();
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| decides(row)) {
        let Some(point) = row.sample.as_ref().map(|sample| &sample.point) else { continue };
        if !known.contains(&point) {
            known.push(point);
            found.push(at);
        }
    }
    found
}

/// Marks what a loss of each row would have had to be, which rows have lost, and judges the whole,
/// if there is a limit.
pub fn judge(comparison: &mut Comparison, other: &Side<'_>) {
    let limit = comparison.limit.unwrap_or(0.0);
    let test = Test::with_limit(limit);
    let chosen = deciding(&comparison.kpms);
    let ratios: Vec<moderated::Ratio> =
        chosen.iter().filter_map(|at| comparison.kpms[*at].estimate).collect();
    let names: Vec<String> =
        chosen.iter().map(|at| comparison.kpms[*at].subject.group.clone()).collect();
    let mut titles = names.clone();
    titles.sort();
    titles.dedup();
    let number = |name: &String| titles.iter().position(|title| title == name).unwrap_or(0);
    let groups: Vec<usize> = names.iter().map(number).collect();
    let gate = Gate::judge(&ratios, &groups, test);
    mark_rows(comparison, &chosen, gate.as_ref());
    let losses: Vec<f64> =
        chosen.iter().filter_map(|at| comparison.kpms[*at].detectable_loss).collect();
    comparison.detectable = Size::from_losses(&losses);
    let Some(limit) = comparison.limit else { return };
    let of_group = |(group, look): &(usize, GateResult)| {
        let count = groups.iter().filter(|other| *other == group).count();
        Level::new(Some(titles[*group].clone()), count, look, limit)
    };
    let looks = gate.as_ref().map(|gate| gate.points.as_slice()).unwrap_or_default();
    let blind = chosen.iter().zip(looks).filter(|(_, look)| look.is_blind(limit));
    let name = |at: usize| {
        let row = &comparison.kpms[at];
        format!("{} {}", row.subject.label(), row.kind.name())
    };
    let is_broken = comparison.lost().next().is_some()
        || comparison.kpms.iter().any(|row| row.is_failure(limit))
        || gate.as_ref().is_some_and(Gate::fails);
    let outcome = match (is_broken, gate.is_some()) {
        (true, _) => Outcome::Fail,
        (_, true) => Outcome::Pass,
        _ => Outcome::NoAnswer,
    };
    comparison.gate = Some(Judgement {
        outcome,
        limit,
        whole: gate.as_ref().map(|gate| Level::new(None, chosen.len(), &gate.whole, limit)),
        groups: gate.iter().flat_map(|gate| &gate.groups).map(of_group).collect(),
        figures: chosen.len(),
        excluded: looks.iter().filter(|look| look.excludes(limit)).count(),
        blind: blind.map(|(at, _)| name(*at)).collect(),
        detectable: comparison.detectable,
        missing: missing(&ratios, test, other),
    });
}

/// Rows of one point share the gate's judgement.
fn mark_rows(comparison: &mut Comparison, chosen: &[usize], gate: Option<&Gate>) {
    let points: Vec<Option<Point>> = chosen
        .iter()
        .map(|at| comparison.kpms[*at].sample.as_ref().map(|sample| sample.point.clone()))
        .collect();
    let has_limit = comparison.limit.is_some();
    for row in comparison.kpms.iter_mut().filter(|row| decides(row)) {
        let point = row.sample.as_ref().map(|sample| sample.point.clone());
        let at = points.iter().position(|known| *known == point);
        let Some((look, ratio)) = at.and_then(|at| gate?.points.get(at)).zip(row.estimate) else {
            continue;
        };
        row.is_loss = look.found;
        let own = detectable(ratio.variance(), TAIL / points.len() as f64, None);
        row.detectable_loss = Some(if has_limit { look.detectable } else { own });
    }
}

/// The measuring that finds twice the limit in four fifths of the figures, if that was not found.
fn missing(ratios: &[moderated::Ratio], test: Test, other: &Side<'_>) -> Option<Missing> {
    let loss = SOUGHT * test.limit;
    if !(loss > 0.0 && loss < 1.0) || ratios.is_empty() {
        return None;
    }
    let tail = test.tail(ratios.len());
    let cost = |ratio: &moderated::Ratio| match needed(ratio, tail, Some(test.limit), loss) {
        None => (0, 0.0),
        Some(Needed::Repetitions(count)) => (1, count),
        Some(Needed::Runs(count)) => (2, count),
    };
    let mut costs: Vec<(u8, f64)> = ratios.iter().map(cost).collect();
    costs.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let at = ((MOST * costs.len() as f64).ceil() as usize).clamp(1, costs.len()) - 1;
    let (repetitions, runs) = match costs[at] {
        (0, _) => return None,
        (1, count) => (Some(count), None),
        (_, count) => (None, Some(count)),
    };
    let minutes = repetitions.and_then(|count| Some(count * minutes_of_repetition(other)?));
    Some(Missing { loss, repetitions, minutes, runs })
}

/// Minutes that a run measures for one repetition of its tests.
fn minutes_of_repetition(side: &Side<'_>) -> Option<f64> {
    let tests: Vec<_> = side.tests.iter().filter_map(|test| test.measured()).collect();
    let is_of = |a: &TestResult, b: &TestResult| {
        a.workload == b.workload && a.chosen == b.chosen && a.drive == b.drive && a.jobs == b.jobs
    };
    let mut points: Vec<&TestResult> = Vec::new();
    for test in &tests {
        if !points.iter().any(|known| is_of(known, test)) {
            points.push(test);
        }
    }
    let total_s: f64 = tests.iter().map(|test| test.total_s).sum();
    let repetitions = tests.len() as f64 / points.len() as f64;
    (total_s > 0.0).then(|| total_s / repetitions / 60.0)
}
