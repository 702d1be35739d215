//! Results of an A/B test, one row for each figure.

use serde::Serialize;

use super::{Blocks, Figure, Method, Outcome, ReasonCount, Rule, Side, figures, is_same};
use crate::analysis::compare::Subject;
use crate::model::{Better, Sentence, Status, Test, TestResult};

/// Results of an A/B test for every figure that both sides have.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// Rule by which the figures were decided.
    pub rule: Rule,
    /// Rows of the figures.
    pub rows: Vec<Row>,
}

/// Results of an A/B test for every figure that both sides have.
pub fn rows(base: &[Test], other: &[Test], margin: f64, method: Method) -> Rows {
    let figures = figures(base, other);
    let rule = Rule { margin, figures: figures.len() };
    let rows = figures.iter().map(|figure| Row::new(figure, &rule, method)).collect();
    Rows { rule, rows }
}

/// Result of an A/B test for one figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Workload with its parameters.
    pub subject: Subject,
    /// Number of jobs.
    pub jobs: u32,
    /// Unit of the KPM.
    pub unit: String,
    /// Direction in which the KPM is better.
    pub better: Better,
    /// Figure of A's run, as every report shows it; none if no block counts.
    pub base: Option<f64>,
    /// Verdict on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_verdict: Option<Status>,
    /// Figure of B's run.
    pub other: Option<f64>,
    /// Verdict on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_verdict: Option<Status>,
    /// B / A, with its interval.
    pub ratio: Option<f64>,
    /// Lower end of the interval of the ratio.
    pub low: Option<f64>,
    /// Upper end of the interval of the ratio.
    pub high: Option<f64>,
    /// Outcome that the interval supports.
    pub outcome: Outcome,
    /// Estimated minutes until the figure is decided; none if that cannot be predicted.
    pub more_min: Option<f64>,
    /// Number of blocks that count.
    pub blocks: usize,
    /// Number of blocks of which a trial is left out.
    pub left_out: usize,
    /// Reasons for which trials are left out, each with their number.
    pub left_out_because: Vec<ReasonCount>,
    /// Reasons against the trials that are used, each with their number.
    pub conditions: Vec<ReasonCount>,
    /// The side that alone is invalid, so that nothing is compared.
    pub invalid_side: Option<Side>,
    /// A has no trial that can be used.
    #[serde(skip)]
    pub is_base_invalid: bool,
    /// Verdict on the comparison.
    pub verdict: Status,
}

fn subject(test: &TestResult) -> Subject {
    Subject {
        workload: test.workload.clone(),
        group: test.group.clone(),
        asked_as: test.asked_as.clone(),
        params: test.chosen.clone(),
    }
}

/// A figure that only one side has stored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unpaired {
    /// `SRV-QUERY1, 2 jobs`.
    pub label: String,
    /// The side that lacks it.
    pub missing: Side,
    /// True if the other side has a trial of the figure that can be used.
    pub is_sound: bool,
}

impl Unpaired {
    /// True if B lacks a figure that A has.
    pub fn is_lost(&self) -> bool {
        self.missing == Side::B && self.is_sound
    }
}

/// The figures that only one side has, in the order of their trials.
pub fn unpaired(base: &[Test], other: &[Test]) -> Vec<Unpaired> {
    let lacks = |own: &[Test], foreign: &[Test], missing: Side| {
        let mut found: Vec<(&TestResult, Unpaired)> = Vec::new();
        for test in own.iter().filter_map(Test::measured) {
            let is_there = foreign.iter().filter_map(Test::measured).any(|one| is_same(one, test));
            let is_sound = test.verdict.status != Status::Invalid && test.kpm_value.is_some();
            match found.iter_mut().find(|(known, _)| is_same(known, test)) {
                Some((_, known)) => known.is_sound |= is_sound,
                None if is_there => {}
                None => {
                    let label = label(&subject(test), test.jobs);
                    found.push((test, Unpaired { label, missing, is_sound }));
                }
            }
        }
        found.into_iter().map(|(_, unpaired)| unpaired).collect::<Vec<_>>()
    };
    [lacks(base, other, Side::B), lacks(other, base, Side::A)].concat()
}

fn label(subject: &Subject, jobs: u32) -> String {
    format!("{}, {}", subject.label(), Sentence::jobs(jobs))
}

impl Row {
    /// Row of a figure, computed from its trials.
    fn new(figure: &Figure<'_>, rule: &Rule, method: Method) -> Row {
        let (blocks, test) =
            (Blocks::from_trials(&figure.base, &figure.other, method), figure.base[0]);
        let span = blocks.span(rule);
        let [base, other] = figure.of_runs.map(|of_run| of_run.filter(|_| blocks.count() > 0));
        let outcome = blocks.outcome(rule, test.kpm.better);
        let more_s = (outcome == Outcome::Undecided).then(|| blocks.more_s(rule)).flatten();
        Row {
            subject: subject(test),
            jobs: test.jobs,
            unit: test.kpm.unit.clone(),
            better: test.kpm.better,
            base: base.map(|figure| figure.value),
            base_verdict: base.map(|figure| figure.status()),
            other: other.map(|figure| figure.value),
            other_verdict: other.map(|figure| figure.status()),
            ratio: blocks.ratio(),
            low: span.map(|span| span.low),
            high: span.map(|span| span.high),
            outcome,
            more_min: more_s.map(|s| s / 60.0),
            blocks: blocks.count(),
            left_out: blocks.left_out,
            invalid_side: blocks.invalid_side(),
            is_base_invalid: blocks.is_base_invalid(),
            verdict: blocks.status(),
            left_out_because: blocks.doubts,
            conditions: blocks.conditions,
        }
    }

    /// `SRV-QUERY1, 2 jobs`.
    pub fn label(&self) -> String {
        label(&self.subject, self.jobs)
    }

    /// Loss of B as a fraction of A: positive = worse, whatever the direction of the metric.
    pub fn loss(&self) -> f64 {
        let ratio = self.ratio.unwrap_or(1.0);
        if self.better == Better::Higher { 1.0 - ratio } else { 1.0 - 1.0 / ratio }
    }

    /// True if B is worse by more than the fraction `below`, or became invalid.
    pub fn is_failure(&self, below: f64) -> bool {
        self.has_become_invalid() || self.outcome == Outcome::Worse && self.loss() > below
    }

    /// True if B alone is invalid.
    pub fn has_become_invalid(&self) -> bool {
        self.invalid_side == Some(Side::B)
    }

    /// Reasons for which trials are left out: `5 contract, 1 errors`.
    pub fn left_out_reasons(&self) -> String {
        let one = |one: &ReasonCount| format!("{} {}", one.trials, one.code);
        self.left_out_because.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}
