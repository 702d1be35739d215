//! Decision of an A/B test whether B differs from A in a figure, from blocks of one trial of each
//! side in random order. Pure.

mod row;

use serde::Serialize;

use super::reason_count::{ReasonCount, count};
use super::{figure, ramp};
use crate::model::{Better, Reason, ReasonCode, Status, StoredPlan, Test, TestResult, Verdict};
use crate::stats::paired::{Paired, fewest};

pub use row::{Row, Rows, Unpaired, rows, unpaired};

/// Chance that an A/B test of two equal sides calls any figure different, at any look.
const FAMILY_ALPHA: f64 = 0.05;
/// Ratios within 1/(1 + margin) to 1 + margin count as equal, if the user does not say otherwise.
pub const MARGIN: f64 = 0.03;
/// Number of blocks after which a figure without any usable trial is given up.
const VAIN_BLOCKS: usize = 5;
/// Blocks beyond the fewest that can decide: with them the interval of a plain difference is narrow
/// enough to be useful.
const CALM_BLOCKS: usize = 2;
/// Maximum number of further blocks that are predicted.
const FORETOLD: usize = 2_000;
/// Share of left-out blocks above which a figure is conditional: the blocks that remain may be the
/// better ones.
const MAX_LEFT_OUT: f64 = 0.1;
/// Chance that of two sides which are invalid equally often one is called invalid more often.
const ONE_SIDED_LEVEL: f64 = 0.01;
/// Connecting, preparing and snapshots of a trial.
const BETWEEN_TRIALS_S: f64 = 0.4;

/// Order of the trials of an A/B test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// A block is a trial of A and one of B, one after the other.
    InTurns,
    /// A block is two trials of both at the same time, on swapped halves of the processors.
    Duet,
}

impl Method {
    /// Method that the plan of an A/B test states.
    pub fn of_plan(plan: &StoredPlan) -> Method {
        if plan.is_duet() { Method::Duet } else { Method::InTurns }
    }

    /// Trials of each side in a block.
    fn rounds(self) -> usize {
        match self {
            Method::InTurns => 1,
            Method::Duet => 2,
        }
    }
}

/// Rule by which a figure is decided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Ratios within 1/(1 + margin) to 1 + margin count as equal; usually [`MARGIN`].
    pub margin: f64,
    /// Figures of the A/B test: all intervals hold together.
    pub figures: usize,
}

/// Outcome of an A/B test for a figure of B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// B is better: the interval excludes 1 and does not lie within the margin.
    Better,
    /// B is worse: the interval excludes 1 and does not lie within the margin.
    Worse,
    /// The whole interval lies within the margin.
    Equal,
    /// The trials so far do not decide it.
    Undecided,
}

impl Outcome {
    /// Name as printed.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Better => "better",
            Outcome::Worse => "worse",
            Outcome::Equal => "equal",
            Outcome::Undecided => "undecided",
        }
    }
}

/// A side of an A/B test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Side {
    /// The baseline.
    A,
    /// The side that is compared with A.
    B,
}

impl Side {
    /// Name as printed.
    pub fn name(self) -> &'static str {
        match self {
            Side::A => "A",
            Side::B => "B",
        }
    }
}

/// Ends of the interval of a ratio B / A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Rule {
    /// 1 - the level of each interval.
    pub fn alpha(&self) -> f64 {
        FAMILY_ALPHA / self.figures.max(1) as f64
    }

    /// No figure is decided by fewer blocks: at the first that could refute anything the interval
    /// is still very wide.
    pub fn fewest_blocks(&self) -> usize {
        fewest(self.alpha()) + CALM_BLOCKS
    }

    /// Outcome that an interval supports. A difference within the margin does not count, however
    /// well it is known.
    pub fn outcome(&self, span: Option<Span>, better: Better) -> Outcome {
        let Some(Span { low, high }) = span else { return Outcome::Undecided };
        let is_within = low * (1.0 + self.margin) > 1.0 && high < 1.0 + self.margin;
        let has_grown = match (is_within, low > 1.0, high < 1.0) {
            (true, ..) => return Outcome::Equal,
            (_, true, _) => true,
            (_, _, true) => false,
            _ => return Outcome::Undecided,
        };
        if has_grown == (better == Better::Higher) { Outcome::Better } else { Outcome::Worse }
    }
}

/// One trial of a figure.
#[derive(Debug, Clone, Copy)]
pub struct Trial<'a> {
    /// KPM of the trial; none if it has no figure.
    pub value: Option<f64>,
    /// Verdict on the trial.
    pub verdict: &'a Verdict,
    /// Time from the gate to the end of the last job.
    pub total_s: f64,
}

impl<'a> From<&'a TestResult> for Trial<'a> {
    fn from(test: &'a TestResult) -> Self {
        Trial { value: test.kpm_value, verdict: &test.verdict, total_s: test.total_s }
    }
}

impl Trial<'_> {
    /// Reason for which the trial is left out: it is invalid, or conditional for a reason by which
    /// the figure is not that of the platform. What else makes it conditional (neighbors, a slow
    /// processor, relaxed durability, a mean that is little known) is kept: chance deals it to both
    /// sides alike, or it belongs to a side.
    fn doubt(&self) -> Option<ReasonCode> {
        use ReasonCode::{ClientLimit, ClockStep, Errors, Interrupted, Little, Threads, Tier};
        const DOUBTS: [ReasonCode; 7] =
            [ClientLimit, ClockStep, Errors, Interrupted, Little, Threads, Tier];
        let is_doubt = |reason: &&Reason| match reason.status {
            Status::Valid => false,
            Status::Conditional => DOUBTS.contains(&reason.code),
            Status::Invalid => true,
        };
        let unknown = self.is_without_figure().then_some(ReasonCode::Failed);
        self.verdict.reasons.iter().find(is_doubt).map(|reason| reason.code.clone()).or(unknown)
    }

    fn is_without_figure(&self) -> bool {
        self.value.is_none_or(|value| value <= 0.0 || !value.is_finite())
    }

    /// True if the trial has no figure, or one that must not be used, or if any of its ops failed:
    /// all of these are results of its side.
    fn is_invalid(&self) -> bool {
        let has_failed =
            |reason: &Reason| reason.code == ReasonCode::Errors && reason.status > Status::Valid;
        self.verdict.status == Status::Invalid
            || self.is_without_figure()
            || self.verdict.reasons.iter().any(has_failed)
    }
}

/// The blocks of one figure.
#[derive(Debug, Clone, Default)]
pub struct Blocks {
    ratios: Paired,
    total_s: f64,
    /// Blocks of which a trial is left out.
    pub left_out: usize,
    /// Blocks in which a trial of A, of B, is invalid, without a figure or with failed ops, and
    /// those of them in which the other side's is not.
    invalid: [usize; 2],
    invalid_alone: [usize; 2],
    /// Reasons for which trials are left out, and the reasons against those that are used.
    pub doubts: Vec<ReasonCount>,
    /// Reasons against the trials that are used, each with their number.
    pub conditions: Vec<ReasonCount>,
}

impl Blocks {
    /// The blocks of stored trials, in order.
    fn from_trials(base: &[&TestResult], other: &[&TestResult], method: Method) -> Blocks {
        let mut blocks = Blocks::default();
        let rounds: Vec<[Trial<'_>; 2]> =
            base.iter().zip(other).map(|(a, b)| [(*a).into(), (*b).into()]).collect();
        rounds.chunks_exact(method.rounds()).for_each(|block| blocks.add(block));
        blocks
    }

    /// Adds a block: a trial of A and one of B; of a duet two of each, on swapped halves of the
    /// processors, whose geometric means have both halves alike in them.
    pub fn add(&mut self, rounds: &[[Trial<'_>; 2]]) {
        let of_round: fn(f64, f64) -> f64 = if rounds.len() > 1 { f64::max } else { |a, b| a + b };
        self.total_s += rounds.iter().map(|[a, b]| of_round(a.total_s, b.total_s)).sum::<f64>();
        let trials = || rounds.iter().flatten();
        let doubts: Vec<ReasonCode> = trials().filter_map(Trial::doubt).collect();
        self.count_invalid([0, 1].map(|side| rounds.iter().any(|round| round[side].is_invalid())));
        if !doubts.is_empty() {
            self.left_out += 1;
            doubts.into_iter().for_each(|code| count(&mut self.doubts, code));
            return;
        }
        for reason in trials().flat_map(|trial| &trial.verdict.reasons) {
            // The other side that runs at the same time belongs to the method and is not a
            // condition.
            if reason.status == Status::Conditional && reason.code != ReasonCode::Beside {
                count(&mut self.conditions, reason.code.clone());
            }
        }
        let mean = |side: usize| -> f64 {
            let product: f64 =
                rounds.iter().map(|round| round[side].value.unwrap_or(f64::NAN)).product();
            product.powf(1.0 / rounds.len() as f64)
        };
        let [base, other] = [0, 1].map(mean);
        self.ratios.add((other / base).ln());
    }

    fn count_invalid(&mut self, is_invalid: [bool; 2]) {
        for side in [0, 1] {
            self.invalid[side] += usize::from(is_invalid[side]);
            self.invalid_alone[side] += usize::from(is_invalid[side] && !is_invalid[1 - side]);
        }
    }

    /// The side whose trials are invalid while the other's are not: in every block that is left
    /// out, if none counts, else in more of them than chance and [`MAX_LEFT_OUT`] allow. Of such a
    /// figure only the better trials of that side would be compared.
    pub fn invalid_side(&self) -> Option<Side> {
        let [a, b] = self.invalid_alone;
        let (more, fewer, side) = if a > b { (a, b, Side::A) } else { (b, a, Side::B) };
        let is_often = more as f64 > MAX_LEFT_OUT * (self.count() + self.left_out) as f64
            && at_least(more, more + fewer) <= ONE_SIDED_LEVEL;
        (more > fewer && (self.count() == 0 || is_often)).then_some(side)
    }

    /// True if A has no trial that can be used: nothing can be judged by it.
    fn is_base_invalid(&self) -> bool {
        self.invalid[0] > 0 && self.invalid[0] == self.count() + self.left_out
    }

    /// Outcome for B after the blocks so far; none if only one side is invalid.
    pub fn outcome(&self, rule: &Rule, better: Better) -> Outcome {
        match self.invalid_side() {
            Some(_) => Outcome::Undecided,
            None => rule.outcome(self.span(rule), better),
        }
    }

    /// Blocks that count.
    pub fn count(&self) -> usize {
        self.ratios.values().len()
    }

    /// True if nothing can be expected of further blocks.
    pub fn is_hopeless(&self) -> bool {
        self.left_out >= VAIN_BLOCKS && (self.count() == 0 || self.invalid_side().is_some())
    }

    /// The ratio B / A: the median over the blocks.
    pub fn ratio(&self) -> Option<f64> {
        crate::stats::median(self.ratios.values()).map(f64::exp)
    }

    /// The interval of the ratio, right at all looks and for all figures together; none with too
    /// few blocks.
    pub fn span(&self, rule: &Rule) -> Option<Span> {
        if self.count() < rule.fewest_blocks() {
            return None;
        }
        let (low, high) = self.ratios.interval(rule.alpha())?;
        Some(Span { low: low.exp(), high: high.exp() })
    }

    /// The verdict on the figure: invalid if no block counts or one side alone is invalid,
    /// conditional if what counts is, or if too many blocks are left out.
    pub fn status(&self) -> Status {
        let blocks = (self.count() + self.left_out) as f64;
        let is_select = self.left_out as f64 > MAX_LEFT_OUT * blocks;
        match (self.count(), self.invalid_side()) {
            (0, _) | (_, Some(_)) => Status::Invalid,
            _ if is_select || !self.conditions.is_empty() => Status::Conditional,
            _ => Status::Valid,
        }
    }

    /// Estimated number of further blocks until the figure is decided, if they spread around the
    /// median as the blocks so far do. None if more than `FORETOLD` would be needed, or too
    /// little is known.
    pub fn more_blocks(&self, rule: &Rule) -> Option<usize> {
        let known = self.ratios.values();
        let centre = crate::stats::median(known).filter(|_| known.len() > 1)?;
        let (mut foretold, mut more) = (self.ratios.clone(), 0);
        // The mirror image of each value first: what is skewed by chance evens out.
        let value = |at: usize| match (at / known.len()) % 2 {
            0 => 2.0 * centre - known[at % known.len()],
            _ => known[at % known.len()],
        };
        while more < FORETOLD {
            for _ in 0..1 + more / 4 {
                foretold.add(value(more));
                more += 1;
            }
            if known.len() + more >= rule.fewest_blocks() && is_decided(&foretold, rule) {
                return Some(more);
            }
        }
        None
    }

    /// Estimated seconds of further trials until the figure is decided; none where
    /// [`Blocks::more_blocks`] is none.
    pub fn more_s(&self, rule: &Rule) -> Option<f64> {
        Some(self.more_blocks(rule)? as f64 * (self.block_s()? + 2.0 * BETWEEN_TRIALS_S))
    }

    /// Mean seconds of a block of this figure, without what lies between trials; none before the
    /// first.
    fn block_s(&self) -> Option<f64> {
        let blocks = self.count() + self.left_out;
        (blocks > 0).then(|| self.total_s / blocks as f64)
    }
}

/// True if [`Rule::outcome`] of the interval decides, found without computing the ends of the
/// interval.
fn is_decided(ratios: &Paired, rule: &Rule) -> bool {
    let (alpha, margin) = (rule.alpha(), (1.0 + rule.margin).ln());
    let (above, below) =
        (|at| ratios.refutes_up_to(at, alpha), |at| ratios.refutes_from(at, alpha));
    above(0.0) || below(0.0) || (above(-margin) && below(margin))
}

/// Chance of at least `heads` heads in `throws` throws of a fair coin.
fn at_least(heads: usize, throws: usize) -> f64 {
    let (mut term, mut sum) = (0.5_f64.powi(throws as i32), 0.0);
    for tails in 0..=throws - heads {
        sum += term;
        term *= (throws - tails) as f64 / (tails + 1) as f64;
    }
    sum
}

/// A figure of an A/B test: what both sides stored of it, in order, and its value in each side's
/// run as every report shows it.
struct Figure<'a> {
    base: Vec<&'a TestResult>,
    other: Vec<&'a TestResult>,
    of_runs: [Option<figure::Figure<'a>>; 2],
}

/// True if two tests are trials of the same figure; the engines, and so the statements, may differ.
fn is_same(a: &TestResult, b: &TestResult) -> bool {
    let key =
        |test: &TestResult| (test.workload.clone(), test.asked_as.clone(), test.jobs, test.drive);
    key(a) == key(b) && a.chosen == b.chosen
}

/// The figures that both sides have, in the order of A's trials.
fn figures<'a>(base: &'a [Test], other: &'a [Test]) -> Vec<Figure<'a>> {
    let mut figures: Vec<Figure<'a>> = Vec::new();
    for stored in base {
        let Some(test) = stored.measured() else { continue };
        match figures.iter_mut().find(|figure| is_same(figure.base[0], test)) {
            Some(figure) => figure.base.push(test),
            None => figures.push(Figure {
                base: vec![test],
                other: Vec::new(),
                of_runs: [of_run(base, stored), None],
            }),
        }
    }
    for figure in &mut figures {
        let is_own =
            |test: &&Test| test.measured().is_some_and(|test| is_same(figure.base[0], test));
        let own: Vec<&Test> = other.iter().filter(is_own).collect();
        figure.other = own.iter().filter_map(|test| test.measured()).collect();
        figure.of_runs[1] = own.first().and_then(|test| of_run(other, test));
    }
    figures.retain(|figure| !figure.other.is_empty());
    figures
}

/// The figure of a run at the jobs of one of its tests.
fn of_run<'a>(tests: &'a [Test], like: &Test) -> Option<figure::Figure<'a>> {
    let is_own = |test: &&Test| test.jobs() == like.jobs() && ramp::same(test, like);
    let own: Vec<&Test> = tests.iter().filter(is_own).collect();
    ramp::repeated(&own).into_iter().next()?.figure
}

#[cfg(test)]
mod tests;
