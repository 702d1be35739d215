//! An A/B test: an experiment of two arms, whose figures are compared pair by pair.

use super::RunContext;
use super::duet::{self, DuetSetup};
use super::experiment::{self, Experiment, ExperimentEnd};
use super::paired_blocks::Pairs;
use crate::store::Store;
use dbdyno_core::error::{Error, Result};
use dbdyno_core::model::RunStatus;

/// An A/B test that is asked for.
pub struct Trials<'a> {
    /// A and B, each with the label that says so.
    pub sides: [RunContext<'a>; 2],
    /// Ratios of B to A within 1/(1 + margin) to 1 + margin count as equal.
    pub margin: f64,
    /// No block begins later, in s from the first trial.
    pub most_s: f64,
    /// Both sides at the same time.
    pub duet: bool,
}

/// Way in which an A/B test ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbTestEnd {
    /// Numbers of the runs of A and B.
    pub runs: [i64; 2],
    /// Finished, interrupted or failed, of both runs.
    pub status: RunStatus,
    /// Last messages of a private server, if it ended.
    pub last_words: Option<String>,
}

/// Opens both sides and measures blocks. Whatever happens then, both runs are recorded with what
/// was measured, and both sides are closed.
///
/// # Errors
/// As [`super::execute`], of either side; no workload is in both plans; of usage: what cannot
/// be measured at the same time.
pub fn run(trials: &Trials<'_>, store: &mut Store) -> Result<AbTestEnd> {
    let [a, b] = trials.sides;
    let pairs = Pairs { margin: trials.margin, most_s: trials.most_s, halves: None };
    if !trials.duet {
        return execute([a, b], pairs, store);
    }
    let DuetSetup { plans: [plan_a, plan_b], halves } = duet::check_sides(&trials.sides)?;
    let sides = [RunContext { plan: &plan_a, ..a }, RunContext { plan: &plan_b, ..b }];
    execute(sides, Pairs { halves: Some(halves), ..pairs }, store)
}

fn execute(sides: [RunContext<'_>; 2], mut pairs: Pairs, store: &mut Store) -> Result<AbTestEnd> {
    let experiment = Experiment { arms: sides.to_vec(), design: &mut pairs };
    let ExperimentEnd { runs, status, last_words } = experiment::execute(experiment, store)?;
    let runs = <[i64; 2]>::try_from(runs)
        .map_err(|runs| Error::target("ab-test", format!("{} runs instead of two", runs.len())))?;
    Ok(AbTestEnd { runs, status, last_words })
}
