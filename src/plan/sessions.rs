//! How many sessions a plan has open at once, and what of it fits where there are fewer. Pure.

use crate::model::{Plan, Ramp, Selection};

/// Sessions of ours beside those of the jobs while a test runs: for setup and teardown, for the database's counters, one
/// that keeps other dbdynos out, and one to cancel statements after an interrupt.
pub const OWN_SESSIONS: u32 = 4;

/// A plan without what needs more jobs than there is room for.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    pub plan: Plan,
    /// Tests and their numbers of jobs that are gone.
    pub steps: Vec<(String, Vec<u32>)>,
    /// Automatic ramps that end earlier.
    pub shortened: usize,
}

/// Most jobs that a test of the plan has at once.
pub fn most_jobs(plan: &Plan) -> u32 {
    plan.selections.iter().map(|selection| most(&selection.ramp)).max().unwrap_or(0)
}

fn most(ramp: &Ramp) -> u32 {
    match ramp {
        Ramp::Fixed(numbers) => numbers.iter().copied().max().unwrap_or(0),
        Ramp::Auto { max, .. } => *max,
    }
}

/// The plan with no test of more than `room` jobs; what is gone is noted among what it leaves out, with `reason`.
pub fn within(plan: &Plan, room: u32, reason: &str) -> Fitted {
    let mut fitted = Fitted { plan: plan.clone(), steps: Vec::new(), shortened: 0 };
    fitted.plan.selections.clear();
    for selection in &plan.selections {
        let (ramp, gone) = cut(selection, room);
        fitted.shortened += usize::from(gone.is_empty() && most(&ramp) < most(&selection.ramp));
        if !gone.is_empty() {
            fitted.steps.push((label(selection), gone));
        }
        if most(&ramp) > 0 {
            fitted.plan.selections.push(Selection { ramp, ..selection.clone() });
        }
    }
    let left_out = |(label, jobs): &(String, Vec<u32>)| (label.clone(), format!("{} jobs: {reason}", list(jobs)));
    fitted.plan.left_out.extend(fitted.steps.iter().map(left_out));
    fitted
}

fn label(selection: &Selection) -> String {
    selection.asked_as.clone().unwrap_or_else(|| selection.workload.id.clone())
}

/// What of a ramp fits, and the steps that do not. Jobs of a mixed workload stay multiples of its parts.
fn cut(selection: &Selection, room: u32) -> (Ramp, Vec<u32>) {
    match &selection.ramp {
        Ramp::Fixed(numbers) => {
            let (fits, gone) = numbers.iter().copied().partition(|jobs| *jobs <= room);
            (Ramp::Fixed(fits), gone)
        }
        Ramp::Auto { from, max } => {
            let parts = u32::try_from(selection.parts.len()).unwrap_or(1).max(1);
            let room = room - room % parts;
            match *from <= room {
                true => (Ramp::Auto { from: *from, max: room.min(*max) }, Vec::new()),
                false => (Ramp::Fixed(Vec::new()), vec![*from]),
            }
        }
    }
}

/// `128`, `128 and 256`, `128, 256 and 512`.
pub fn list(jobs: &[u32]) -> String {
    let words: Vec<String> = jobs.iter().map(u32::to_string).collect();
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}
