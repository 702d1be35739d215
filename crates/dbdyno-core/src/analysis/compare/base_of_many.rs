//! The base of many runs: which tests of them stand for it, and which count in its mean.

use crate::analysis::group::is_repeated;
use crate::model::{Status, Test};

/// A base of many runs.
#[derive(Debug, Clone, PartialEq)]
pub struct BaseOfMany {
    /// The tests that stand for it: of each test those of the newest run whose verdict on it is the
    /// one that at least two of the runs have. What only one run has stands as it is there.
    pub tests: Vec<Test>,
    /// The tests of each run that count in the mean, in the order of the runs.
    pub runs: Vec<Vec<Test>>,
}

/// The base that these runs make, oldest first: one whose figure is invalid, or less sound than
/// those of two others, says nothing of that figure, and one that lacks a test takes it from none.
pub fn base_of_many(runs: &[&[Test]]) -> BaseOfMany {
    let mut base = BaseOfMany { tests: Vec::new(), runs: vec![Vec::new(); runs.len()] };
    let mut known: Vec<&Test> = Vec::new();
    for test in runs.iter().rev().flat_map(|tests| tests.iter()) {
        if known.iter().any(|known| is_repeated(known, test)) {
            continue;
        }
        known.push(test);
        let own = |tests: &&[Test]| -> Vec<Test> {
            tests.iter().filter(|own| is_repeated(own, test)).cloned().collect()
        };
        let of_runs: Vec<Vec<Test>> = runs.iter().map(own).collect();
        let Some(trusted) = trusted(&of_runs) else { continue };
        let mut standing = Vec::new();
        for (at, tests) in of_runs.into_iter().enumerate() {
            let sound: Vec<Test> =
                tests.into_iter().filter(|test| test.status() <= trusted).collect();
            if !sound.is_empty() {
                base.runs[at].extend(sound.iter().cloned());
                standing = sound;
            }
        }
        base.tests.extend(standing);
    }
    base
}

/// The best verdict on a test that two runs have, else that of the only one; none if no run has the
/// test.
fn trusted(of_runs: &[Vec<Test>]) -> Option<Status> {
    let best = |tests: &Vec<Test>| tests.iter().map(Test::status).min();
    let mut verdicts: Vec<Status> = of_runs.iter().filter_map(best).collect();
    verdicts.sort_unstable();
    verdicts.get(1).or(verdicts.first()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture::at;
    use crate::model::{Reason, ReasonCode, TestResult, Verdict};

    /// A test at one job with this KPM and verdict.
    fn test(kpm: f64, status: Status) -> Test {
        let reason = Reason::new(status, ReasonCode::Steal, "told");
        let verdict = match status {
            Status::Valid => Verdict::from_reasons(Vec::new()),
            _ => Verdict::from_reasons(vec![reason]),
        };
        Test::from(TestResult { kpm_value: Some(kpm), verdict, ..at(1, kpm) })
    }

    fn values(tests: &[Test]) -> Vec<f64> {
        tests.iter().filter_map(Test::kpm_value).collect()
    }

    #[test]
    fn the_newest_sound_run_stands_for_the_base_and_unsound_ones_do_not_count() {
        use Status::{Conditional, Invalid, Valid};
        let base = |verdicts: &[Status]| {
            let values = (1..).map(f64::from);
            let runs: Vec<Vec<Test>> =
                values.zip(verdicts).map(|(value, status)| vec![test(value, *status)]).collect();
            let base = base_of_many(&runs.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let counted: Vec<f64> =
                base.runs.iter().flat_map(|tests| self::values(tests)).collect();
            (self::values(&base.tests), counted)
        };
        assert_eq!(base(&[Valid, Valid, Invalid]), (vec![2.0], vec![1.0, 2.0]));
        assert_eq!(base(&[Conditional, Valid, Valid]), (vec![3.0], vec![2.0, 3.0]));
        assert_eq!(base(&[Valid, Conditional, Conditional]), (vec![3.0], vec![1.0, 2.0, 3.0]));
        assert_eq!(base(&[Invalid, Invalid, Valid]), (vec![3.0], vec![1.0, 2.0, 3.0]));
    }

    #[test]
    fn what_the_newest_run_lacks_is_that_of_the_run_before() {
        let runs = [vec![test(1.0, Status::Valid)], vec![test(2.0, Status::Valid)], Vec::new()];
        let base = base_of_many(&runs.iter().map(Vec::as_slice).collect::<Vec<_>>());
        assert_eq!(values(&base.tests), [2.0]);
        assert_eq!(base.runs.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 0]);
        assert!(base_of_many(&[]).tests.is_empty());
    }
}
