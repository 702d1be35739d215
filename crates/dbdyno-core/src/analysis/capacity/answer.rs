//! Decides from the valid figures of a run whether one requirement fits.

use super::need::Need;
use super::point::{
    Point, are_one_work, better_conditional, highest, is_worthwhile, of_one_drive, points,
};
use super::refusal::{Case, Refusal, describe_not_valid, nothing_valid};
use super::{Outcome, Span};
use crate::analysis::interval::supports;
use crate::model::{ReasonCode, Sentence, Status, Test};

/// Answer for one requirement.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<'a> {
    /// The requirement.
    pub need: &'a Need,
    /// Outcome for it alone.
    pub outcome: Outcome,
    /// Reason why it does not fit, or why that is unknown.
    pub why: Option<Sentence>,
    /// The valid figure with the fewest jobs that does it.
    pub at: Option<Point<'a>>,
    /// The best valid figure that meets the SLO; if the requirement fits, the best of those with an
    /// interval, so that what is used is known.
    pub most: Option<Point<'a>>,
    /// The highest valid figure above that best which meets the SLO; it has no interval.
    pub without_interval: Option<Point<'a>>,
    /// Share of that best which is needed.
    pub used: Option<Span>,
    /// The best figure that meets the SLO but is conditional or has no interval, where the
    /// valid ones leave the answer open: it answers with a doubt.
    pub doubt: Option<Point<'a>>,
    /// Figure that settles an open answer if it is measured again: the one with the doubt, a
    /// conditional one that does not show whether it meets the SLO, or one that is not valid at
    /// more jobs than the best.
    pub again: Option<Point<'a>>,
    /// Figures that the verdict does not accept.
    pub left_out: usize,
}

impl Answer<'_> {
    /// Number of times that the need fits by the figure that answers with a doubt.
    pub fn doubtful_times(&self) -> Option<f64> {
        Some(self.doubt?.figure.value / self.need.rate)
    }

    /// True if the best figure is a lower bound of the maximum.
    pub fn is_bound(&self) -> bool {
        !self.lower_bounds().is_empty()
    }

    /// Statements that the best figure is a lower bound, each with what shows it.
    pub fn lower_bounds(&self) -> Vec<Sentence> {
        let all = [self.bound_by_verdict(), self.bound_without_interval()];
        all.into_iter().flatten().collect()
    }

    /// Trust in the best figure: as a lower bound it is conditional.
    pub fn most_status(&self) -> Option<Status> {
        let status = self.most?.figure.status();
        Some(if self.is_bound() { status.max(Status::Conditional) } else { status })
    }

    /// Statement that the best figure is a lower bound, with the reason of its verdict.
    fn bound_by_verdict(&self) -> Option<Sentence> {
        let verdict = self.most?.figure.verdict();
        let mut reasons = verdict.reasons.iter();
        let bound = reasons.find(|reason| reason.code == ReasonCode::PassedOver)?;
        Some(Sentence::new("the maximum is {bound}").with("bound", bound.to_sentence()))
    }

    /// Statement that a valid figure above the best one has no interval.
    fn bound_without_interval(&self) -> Option<Sentence> {
        let higher = self.without_interval?;
        let text = "the maximum is a lower bound: {value} {unit} with {jobs} has no interval and \
                    does not count here";
        Some(
            Sentence::new(text)
                .with("value", higher.figure.value)
                .with("unit", self.need.unit.as_str())
                .with("jobs", Sentence::jobs(higher.jobs())),
        )
    }
}

/// The answer to a need.
pub fn answer<'a>(need: &'a Need, tests: &'a [Test]) -> Answer<'a> {
    let found = of_one_drive(tests.iter().filter(|test| need.is_of(test)).collect());
    let points = if are_one_work(&found) { points(need.slo, &found) } else { Vec::new() };
    let (valid, others): (Vec<Point<'_>>, Vec<Point<'_>>) = points
        .into_iter()
        .filter(|point| point.figure.unit == need.unit)
        .partition(|p| supports(p.figure.status()));
    let keeping = valid.iter().filter(|point| point.keeps() == Some(true)).copied();
    let does = keeping.clone().filter(|point| point.low().is_some_and(|low| low >= need.rate));
    let at = does.min_by_key(|point| point.figure.jobs.unwrap_or(u32::MAX));
    // A higher figure without an interval does not show how much is used.
    let known = keeping.clone().filter(|point| at.is_none() || point.span().is_some());
    let most = highest(known);
    let best = most.map_or(f64::INFINITY, |most| most.figure.value);
    let without_interval = highest(keeping.filter(|point| point.figure.value > best));
    let doubt = doubtful_point(need, &others, most);
    let case = Case { need, valid: &valid, others: &others, most, doubt };
    let refused = match at {
        Some(_) => None,
        None if valid.is_empty() => {
            let described = describe_not_valid(need, &others);
            let why = described.unwrap_or_else(|| nothing_valid(need, tests, &found));
            Some(Refusal::not_covered(why))
        }
        None => Some(case.refusal()),
    };
    let used = most.and_then(|most| most.span()).map(|span| span.share(need.rate));
    let outcome = refused.as_ref().map_or(Outcome::Fits, |refused| refused.outcome);
    let why = refused.map(|refused| refused.why);
    let is_open = outcome == Outcome::NotCovered;
    let doubt = doubt.filter(|_| is_open);
    let again = if is_open { case.again() } else { None };
    let most = most.map(|most| best_or_lower_bound(most, &others));
    let left_out = others.len();
    Answer { need, outcome, why, at, most, without_interval, used, doubt, again, left_out }
}

/// The best valid figure; a lower bound beside a conditional one that is better and may meet the
/// SLO.
fn best_or_lower_bound<'a>(most: Point<'a>, others: &[Point<'a>]) -> Point<'a> {
    let passed_over = better_conditional(others, &most).and_then(|point| point.figure.jobs);
    most.beside(passed_over)
}

/// Figure that answers with a doubt: a valid one without an interval that would do, before a
/// conditional one that would; with neither, the best that was measured. If there is a valid one
/// with an interval, only a figure that would do, or that is higher by a worthwhile step, adds to
/// it.
fn doubtful_point<'a>(
    need: &Need,
    others: &[Point<'a>],
    most: Option<Point<'a>>,
) -> Option<Point<'a>> {
    let would_do = |point: &Point<'_>| point.figure.value >= need.rate;
    let is_conditional = |point: &&Point<'_>| {
        point.figure.status() == Status::Conditional && point.keeps() == Some(true)
    };
    let conditional = highest(others.iter().filter(is_conditional).copied());
    match most {
        None => conditional,
        Some(most) if most.span().is_some() => {
            conditional.filter(|point| would_do(point) || is_worthwhile(point, &most))
        }
        Some(most) if would_do(&most) => Some(most),
        Some(most) => conditional.filter(would_do).or(Some(most)),
    }
}
