//! Slips of publications that can be seen from the figures alone.

use crate::model::{Reason, TestResult};

/// What our checks find in the tests of several runs: per run and test, the reasons.
pub fn of_tables(runs: &[&[TestResult]]) -> Vec<Vec<Vec<Reason>>> {
    runs.iter().map(|tests| tests.iter().map(|_| Vec::new()).collect()).collect()
}
