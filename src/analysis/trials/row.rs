//! What a campaign says of its figures, one row each.

use serde::Serialize;

use super::{Blocks, Counted, Figure, Method, Outcome, Rule, figures};
use crate::analysis::compare::Subject;
use crate::model::{Better, Sentence, Status, Test};

/// What a campaign says of every figure that both sides have.
pub fn rows(base: &[Test], other: &[Test], margin: f64, method: Method) -> (Rule, Vec<Row>) {
    let figures = figures(base, other);
    let rule = Rule { margin, figures: figures.len() };
    let rows = figures.iter().map(|figure| Row::of(figure, &rule, method)).collect();
    (rule, rows)
}

/// What a campaign says of a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    pub subject: Subject,
    pub jobs: u32,
    pub unit: String,
    pub better: Better,
    /// Medians of A and B, over the blocks that count.
    pub base: Option<f64>,
    pub other: Option<f64>,
    /// B / A, with its interval.
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub outcome: Outcome,
    /// About how many more minutes decide it, if that can be foretold.
    pub more_min: Option<f64>,
    pub blocks: usize,
    pub left_out: usize,
    pub left_out_because: Vec<Counted>,
    pub conditions: Vec<Counted>,
    pub verdict: Status,
}

impl Row {
    /// Of the trials of a figure.
    fn of(figure: &Figure<'_>, rule: &Rule, method: Method) -> Row {
        let (blocks, test) = (Blocks::of(&figure.base, &figure.other, method), figure.base[0]);
        let (span, [base, other]) = (blocks.span(rule), blocks.figures());
        let outcome = rule.outcome(span, test.kpm.better);
        let more_s = (outcome == Outcome::Undecided).then(|| blocks.more_s(rule)).flatten();
        Row {
            subject: Subject {
                workload: test.workload.clone(),
                group: test.group.clone(),
                asked_as: test.asked_as.clone(),
                params: test.chosen.clone(),
            },
            jobs: test.jobs,
            unit: test.kpm.unit.clone(),
            better: test.kpm.better,
            base,
            other,
            ratio: blocks.ratio(),
            low: span.map(|span| span.low),
            high: span.map(|span| span.high),
            outcome,
            more_min: more_s.map(|s| s / 60.0),
            blocks: blocks.count(),
            left_out: blocks.left_out,
            verdict: blocks.status(),
            left_out_because: blocks.doubts,
            conditions: blocks.conditions,
        }
    }

    /// `SRV-QUERY1, 2 jobs`.
    pub fn label(&self) -> String {
        format!("{}, {}", self.subject.label(), Sentence::jobs(self.jobs))
    }

    /// How much worse B is, as a fraction of A: positive = worse, whatever the direction of the
    /// metric.
    pub fn loss(&self) -> f64 {
        let ratio = self.ratio.unwrap_or(1.0);
        if self.better == Better::Higher { 1.0 - ratio } else { 1.0 - 1.0 / ratio }
    }

    /// True if B is worse by more than the fraction `below`.
    pub fn is_failure(&self, below: f64) -> bool {
        self.outcome == Outcome::Worse && self.loss() > below
    }
}
