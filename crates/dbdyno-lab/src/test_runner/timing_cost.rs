//! The cost of timing ops in each kind of loop, and the stride of slow ops that follows from it.

use dbdyno_core::model::{JobCode, Selection};
use serde::{Deserialize, Serialize};

/// Largest share of an op's time that timing may take where it is known: far below what makes a
/// figure conditional.
const MAX_SHARE: f64 = 0.02;

/// The cost of timing ops in a loop, in us.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TimingCost {
    /// Per op where each is timed: the end of one is the start of the next.
    pub of_each_us: f64,
    /// Per timed op where ops that nobody times follow each timed one: the loop begins two bursts.
    pub of_some_us: f64,
}

impl TimingCost {
    /// Cost per op, in us, if every `stride`-th op is timed, on the mean of all slices: not more
    /// than where each is.
    pub fn per_op_us(&self, stride: f64) -> f64 {
        (self.of_some_us / stride).min(self.of_each_us)
    }

    /// Least stride for ops of this length by which timing does not take more than its share.
    pub fn least_stride(&self, op_s: f64) -> u32 {
        let allowed_us = MAX_SHARE * op_s * 1e6;
        if self.of_each_us <= allowed_us {
            return 1;
        }
        ((self.of_some_us / allowed_us).ceil() as u32).max(2)
    }
}

/// The cost of timing ops in each kind of loop; absent where it could not be measured.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TimingCosts {
    /// In our own loop.
    pub client: Option<TimingCost>,
    /// In the loop of a stored routine.
    pub routine: Option<TimingCost>,
}

impl TimingCosts {
    /// The cost in the loop that runs a selection.
    pub fn of(&self, selection: &Selection) -> Option<TimingCost> {
        if calls_routine(selection) { self.routine } else { self.client }
    }
}

/// True if a part of the selection is a routine that times its ops itself.
pub(crate) fn calls_routine(selection: &Selection) -> bool {
    let mut codes = selection.parts.iter().map(|part| &part.code);
    codes.any(|code| matches!(code, JobCode::Routine(routine) if !routine.per_op))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timing_takes_its_share_and_no_more() {
        let cost = TimingCost { of_each_us: 7.0, of_some_us: 14.0 };
        let strides = [50e-6, 100e-6, 255e-6, 349e-6, 351e-6].map(|op_s| cost.least_stride(op_s));
        assert_eq!(strides, [14, 7, 3, 3, 1]);
        for (op_us, stride) in [(50.0, 14.0), (100.0, 7.0), (255.0, 3.0), (351.0, 1.0)] {
            assert!(cost.per_op_us(stride) <= MAX_SHARE * op_us, "{op_us}");
        }
        // Where each costs too much, some do at least every other time.
        assert_eq!(TimingCost { of_each_us: 3.0, of_some_us: 2.0 }.least_stride(100e-6), 2);
    }
}
