//! How long the rest of a run takes, for the progress bar: pure.

use crate::model::{Ramp, Selection};

/// Connecting, preparing, snapshots and teardown of one test.
const OVERHEAD_S: f64 = 0.4;
/// Assumed length of a test with fixed work, until one is known.
const FIXED_WORK_S: f64 = 10.0;

/// Expected seconds of one test of a selection.
pub fn test_s(selection: &Selection) -> f64 {
    let window = &selection.window;
    let looping_s = if window.ops_per_job.is_some() { FIXED_WORK_S } else { window.warmup_s + window.duration_s };
    looping_s + OVERHEAD_S
}

/// Expected number of tests of a ramp; an automatic one is assumed to go to its maximum.
pub fn tests(ramp: &Ramp) -> u32 {
    match ramp {
        Ramp::Fixed(jobs) => jobs.len() as u32,
        Ramp::Auto { from, max } => (max / (*from).max(1)).max(1).ilog2() + 1,
    }
}

/// Expected seconds of the selections that have not begun.
pub fn selections_s<'a>(selections: impl IntoIterator<Item = &'a Selection>) -> f64 {
    selections.into_iter().map(|selection| f64::from(tests(&selection.ramp)) * test_s(selection)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_automatic_ramp_counts_its_doublings() {
        assert_eq!(tests(&Ramp::Fixed(vec![1, 2, 4])), 3);
        assert_eq!(tests(&Ramp::Auto { from: 1, max: 16 }), 5);
        assert_eq!(tests(&Ramp::Auto { from: 4, max: 16 }), 3);
    }
}
