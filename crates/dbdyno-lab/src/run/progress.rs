//! Progress of a run: the ramps that are left, and their numbers of jobs as far as they are found.

use std::collections::{BTreeMap, VecDeque};

use super::numbers::Numbers;
use super::schedule::{ScheduledRamp, ServerStart};
use dbdyno_core::analysis;
use dbdyno_core::model::{Plan, Ramp, Selection};

/// Progress of a run.
pub struct RunProgress {
    /// Numbers of the tests so far.
    pub(super) numbers: Numbers,
    /// Rest of the ramp of each selection; none where it could not be prepared.
    pub(super) ramps: Vec<Option<Ramp>>,
    /// All turns that have not begun.
    pub(super) ahead: VecDeque<ScheduledRamp>,
    /// Best ops per second of every selection so far of each series of rising values.
    climbs: BTreeMap<String, Vec<f64>>,
}

impl RunProgress {
    /// Progress before the first of these server starts.
    pub fn new(plan: &Plan, server_starts: &[ServerStart]) -> RunProgress {
        let ramps = plan.selections.iter().map(|selection| Some(selection.ramp.clone())).collect();
        RunProgress {
            numbers: Numbers::default(),
            ramps,
            ahead: server_starts
                .iter()
                .flat_map(|server_start| server_start.turns.clone())
                .collect(),
            climbs: BTreeMap::new(),
        }
    }

    /// Takes down the best ops per second of a selection in the first turn of its series of rising
    /// values. Once the series is saturated the rest of it is left out: which that is, for people.
    pub(super) fn climb(
        &mut self,
        selections: &[Selection],
        at: usize,
        best: f64,
    ) -> Option<String> {
        let series = selections[at].rising.as_ref()?;
        let steps = self.climbs.entry(series.clone()).or_default();
        steps.push(best);
        if !analysis::is_saturated(steps.iter().copied()) {
            return None;
        }
        let is_left = |later: &usize| selections[*later].rising.as_ref() == Some(series);
        let left: Vec<usize> = (at + 1..selections.len()).filter(is_left).collect();
        let names: Vec<String> =
            left.iter().map(|&later| selections[later].name_with_parameters()).collect();
        for later in left {
            self.ramps[later] = None;
        }
        let why = "throughput gained less than 5 % twice in a row";
        (!names.is_empty()).then(|| format!("left out: {}: {why}", names.join(", ")))
    }
}
