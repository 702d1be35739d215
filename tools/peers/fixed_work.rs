//! Fixed work against a window: the same lookup, so many ops or so many seconds of it, must give
//! the same figure.

use dbdyno::error::Result;

use crate::drive;
use crate::lab::Lab;
use crate::pairs::{Comparison, Outcome, Precision, Rules, interleave_until};

const WORKLOAD: &str = "SRV-QUERY1";
/// The ratio is at most so far from 1.
const TARGET: f64 = 0.98;

/// Every drive that the engine has, one job: ops of as many seconds as the window has.
pub fn compare(
    lab: &Lab,
    rules: &Rules,
    precision: Precision,
    seconds: f64,
    outcomes: &mut Vec<Outcome>,
) -> Result<()> {
    for drive in lab.engine.capabilities().drives {
        let window = drive::workload(lab, WORKLOAD, *drive, seconds)?;
        let ops = (drive::run(lab, &window, 1)?.rate * seconds).max(1.0) as u64;
        let fixed = drive::fixed_ops(lab, WORKLOAD, *drive, ops)?;
        let comparison = Comparison {
            name: format!(
                "{} {WORKLOAD}, {} drive, {ops} ops : {seconds} s",
                lab.engine.name(),
                drive.name()
            ),
            unit: "lookups/s",
            target: Some(TARGET),
            ours: &mut || drive::run(lab, &fixed, 1),
            peer: &mut || drive::run(lab, &window, 1),
        };
        let both = interleave_until(rules, precision, comparison)?;
        outcomes.extend(both.map(|outcome| Outcome {
            // By the clock there is none, as in every comparison by processor time.
            target: outcome.is_estimated.then_some(TARGET),
            is_two_sided: true,
            ..outcome
        }));
    }
    Ok(())
}
