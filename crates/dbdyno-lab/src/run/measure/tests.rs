//! Tests that are measured again.

use super::*;
use dbdyno_core::model::Status;

fn trial(ops_per_s: f64) -> Trial {
    Trial { offer: None, ops_per_s, met: None, is_excused: false }
}

fn kept_of(ops_per_s: f64, verdict: Verdict) -> StoredTest {
    StoredTest { trial: trial(ops_per_s), kpm_value: None, total_s: 0.0, verdict }
}

/// Throughput of what is kept of tests with these reasons, and how many of them were run.
fn repeat(most: u32, tests: &[Option<ReasonCode>]) -> (Option<f64>, usize) {
    let mut run = 0;
    let mut test = || {
        let reasons =
            tests[run].iter().map(|code| Reason::new(Status::Conditional, code.clone(), ""));
        run += 1;
        let verdict = Verdict::from_reasons(reasons.collect());
        Ok(TestEnd::Measured(kept_of(run as f64, verdict)))
    };
    let end = repeat_until_undisturbed(most, &mut test, &|_| ()).unwrap();
    (end.into_result().map(|trial| trial.ops_per_s), run)
}

#[test]
fn a_disturbed_test_is_measured_again_until_one_is_not_or_enough_were() {
    let (steal, slow) = (Some(ReasonCode::Steal), Some(ReasonCode::PlatformUnsteady));
    assert_eq!(repeat(0, std::slice::from_ref(&steal)), (Some(1.0), 1));
    assert_eq!(repeat(2, &[steal.clone(), None, None]), (Some(2.0), 2), "the valid one counts");
    assert_eq!(repeat(2, &[steal.clone(), slow.clone(), steal.clone(), None]), (Some(1.0), 3));
    assert_eq!(
        repeat(2, &[slow, Some(ReasonCode::Burst), None]),
        (Some(1.0), 2),
        "a burst is not a disturbance"
    );
}

#[test]
fn a_test_that_fails_when_it_is_measured_again_leaves_the_first() {
    let disturbed =
        Verdict::from_reasons(vec![Reason::new(Status::Conditional, ReasonCode::Steal, "")]);
    let mut tests = vec![None, Some(kept_of(7.0, disturbed))];
    let mut test = || Ok(tests.pop().flatten().map_or(TestEnd::Failed, TestEnd::Measured));
    let end = repeat_until_undisturbed(5, &mut test, &|_| ()).unwrap();
    assert_eq!(end.into_result(), Some(trial(7.0)));
    assert!(tests.is_empty());
}
