//! Comparison of the speed of the database's storage device between two runs, by small durable
//! writes of dbdyno's own after each test that commits.

use super::fixed_work::{self, is_another};
use crate::model::{Sentence, Test, TestResult};

/// Counter of the time of these writes in s.
pub const SYNC_S: &str = "device_sync_s";
/// Counter of these writes.
pub const SYNCS: &str = "device_syncs";

/// Below this fraction a device was slower in one of two runs of a platform, by all tests that both
/// have. Without earlier runs the estimator assumes that a figure whose ops read or write data
/// differs by 2.5 % between fresh runs, so that two differ by more than exp(2 * sqrt(2) * 0.025),
/// 7 %, in one of twenty comparisons: a device that differs by more than 8 % is not what was
/// assumed.
const STEADY: f64 = 0.92;

/// Seconds of one durable write of dbdyno's own after a test; none where the database's device
/// cannot be written to.
fn sync_of_test_s(test: &TestResult) -> Option<f64> {
    let writes = test.counters.get(SYNCS).filter(|writes| *writes > 0.0)?;
    Some(test.counters.get(SYNC_S)? / writes)
}

/// Reason for two runs of one platform if its device was faster in one of them, which neither run
/// can notice alone. None if an earlier run differed from the base by as much, because the variance
/// of the figures then includes it.
pub(super) fn between(base: &[Test], other: &[Test], earlier: &[Vec<&Test>]) -> Option<Sentence> {
    let times = fixed_work::times(base.iter(), other.iter(), sync_of_test_s)?;
    let is_known = fixed_work::is_seen_before(base, other, earlier, sync_of_test_s);
    let sentence = "small durable writes of dbdyno's own to the database's device took x{times} of \
                    the baseline's time after the tests that both runs have";
    (is_another(times, STEADY) && !is_known).then(|| Sentence::new(sentence).with("times", times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture::{self, counters};

    /// A run of tests at these numbers of jobs, after which a durable write took this long.
    fn run(syncs_us: &[f64]) -> Vec<Test> {
        let test = |(jobs, sync_us): (u32, &f64)| {
            let counters = counters(&[(SYNC_S, sync_us * 40.0 / 1e6), (SYNCS, 40.0)]);
            Test::from(TestResult { jobs, counters, ..fixture::result() })
        };
        (1..).zip(syncs_us).map(test).collect()
    }

    fn said(base: &[Test], other: &[Test], earlier: &[&[Test]]) -> Option<String> {
        let earlier: Vec<Vec<&Test>> = earlier.iter().map(|run| run.iter().collect()).collect();
        between(base, other, &earlier).map(|said| said.to_string())
    }

    #[test]
    fn runs_whose_device_was_slower_are_told_apart() {
        let base = run(&[80.0, 82.0, 79.0, 95.0, 81.0]);
        let slower = run(&[96.0, 98.0, 95.0, 114.0, 97.0]);
        let text = "small durable writes of dbdyno's own to the database's device took x1.20 of \
                    the baseline's time after the tests that both runs have";
        assert_eq!(said(&base, &slower, &[]).as_deref(), Some(text));
        assert!(said(&slower, &base, &[]).is_some(), "faster");
        assert_eq!(said(&base, &base, &[]), None);
        let near = run(&[85.0, 87.0, 84.0, 101.0, 86.0]);
        assert_eq!(said(&base, &near, &[]), None, "x1.06");
        let one_stall = run(&[80.0, 900.0, 79.0, 95.0, 81.0]);
        assert_eq!(said(&base, &one_stall, &[]), None, "a stall after one test");
    }

    #[test]
    fn what_earlier_runs_show_is_in_their_variance() {
        let base = run(&[80.0; 6]);
        let slower = run(&[96.0; 6]);
        assert!(said(&base, &slower, &[&run(&[82.0; 6])]).is_some());
        assert_eq!(said(&base, &slower, &[&run(&[82.0; 6]), &run(&[60.0; 6])]), None);
    }

    #[test]
    fn few_tests_and_devices_that_nobody_may_write_to_tell_nothing() {
        let few = [run(&[80.0; 4]), run(&[160.0; 4])];
        assert_eq!(said(&few[0], &few[1], &[]), None);
        let unknown: Vec<Test> = vec![Test::from(fixture::result())];
        assert_eq!(said(&unknown, &unknown, &[]), None);
        let none = |jobs: u32| {
            let counters = counters(&[(SYNC_S, 0.0), (SYNCS, 0.0)]);
            Test::from(TestResult { jobs, counters, ..fixture::result() })
        };
        let none: Vec<Test> = (1..7).map(none).collect();
        assert_eq!(said(&none, &none, &[]), None, "no write was done");
    }
}
