//! Check whether the commits of a test can have been durable: each waits for at least one write of
//! the log to durable storage, which takes the device its time, however many jobs share the write.

use crate::model::{Durability, Reason, ReasonCode, Sentence, Status, TestResult};

/// Factor by which a job may commit more often than one thread's writes become durable before it is
/// implausible that it waits for them. The device's rate varies, and a log writer may write less
/// than dbdyno's block.
const IMPLAUSIBLE: f64 = 3.0;
/// Faster than any device: the file system is in memory, or the device only says that it wrote.
const IN_MEMORY_PER_S: f64 = 200_000.0;

/// Commits per second of a job, as it waited for them; none without commits.
pub fn commits_per_job_s(result: &TestResult) -> Option<f64> {
    let elapsed_s: f64 = result.job_figures.iter().map(|job| job.elapsed_s).sum();
    let fastest = result.job_figures.iter().map(|job| job.tally.commits as f64 / job.elapsed_s);
    fastest
        .filter(|rate| rate.is_finite())
        .reduce(f64::max)
        .filter(|rate| *rate > 0.0 && elapsed_s > 0.0)
}

/// True if one job cannot wait for as many durable writes as it commits.
pub fn is_implausible(commits_per_s: f64, device_per_s: f64) -> bool {
    commits_per_s > IMPLAUSIBLE * device_per_s
}

/// The reason `implausible`, unless the settings say themselves that commits do not wait.
pub(super) fn judge(result: &TestResult, known: &[Reason], device_per_s: f64) -> Option<Reason> {
    let per_s = commits_per_job_s(result)?;
    let sentence = "a job committed {commits} times a second, but one thread's writes become \
                    durable at most {device} times a second: the commits cannot be";
    let sentence = Sentence::new(sentence).with("commits", per_s).with("device", device_per_s);
    let accused = is_implausible(per_s, device_per_s) && !is_relaxed(known);
    accused.then(|| Reason::new(Status::Invalid, ReasonCode::Implausible, sentence))
}

fn is_relaxed(reasons: &[Reason]) -> bool {
    reasons.iter().any(|reason| reason.code == ReasonCode::Durability)
}

/// The stamp of a test that committed; none where the device is not known.
pub(super) fn stamp(result: &TestResult, device_per_s: Option<f64>) -> Option<Durability> {
    commits_per_job_s(result)?;
    let reasons = &result.verdict.reasons;
    match device_per_s {
        _ if is_relaxed(reasons) => Some(Durability::Relaxed),
        _ if reasons.iter().any(|reason| reason.code == ReasonCode::Implausible) => {
            Some(Durability::Implausible)
        }
        Some(per_s) if per_s < IN_MEMORY_PER_S => Some(Durability::Durable),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::Verdict;

    /// Two jobs that commit 5,000 times a second each.
    fn committing() -> TestResult {
        let mut result = fixture::result();
        result.job_figures.iter_mut().for_each(|job| job.tally.commits = 50_000);
        result
    }

    fn stamped(device_per_s: Option<f64>, known: Vec<Reason>) -> Option<Durability> {
        let mut result = committing();
        let found = device_per_s.and_then(|per_s| judge(&result, &known, per_s));
        result.verdict = Verdict::from_reasons(known.into_iter().chain(found).collect());
        stamp(&result, device_per_s)
    }

    #[test]
    fn commits_beyond_what_the_device_does_are_implausible() {
        assert_eq!(stamped(Some(1_000.0), vec![]), Some(Durability::Implausible));
        assert_eq!(stamped(Some(2_000.0), vec![]), Some(Durability::Durable));
        let text = judge(&committing(), &[], 1_000.0).unwrap().text;
        assert!(
            text.starts_with("a job committed 5000 times a second")
                && text.contains("at most 1000 times"),
            "{text}"
        );
    }

    #[test]
    fn what_is_relaxed_on_purpose_is_no_lie() {
        let relaxed = || vec![Reason::new(Status::Conditional, ReasonCode::Durability, "")];
        assert_eq!(stamped(Some(1_000.0), relaxed()), Some(Durability::Relaxed));
        assert_eq!(stamped(None, relaxed()), Some(Durability::Relaxed));
    }

    #[test]
    fn nothing_is_said_without_commits_or_without_a_device() {
        assert_eq!(stamped(None, vec![]), None);
        assert_eq!(stamped(Some(1e6), vec![]), None, "a file system in memory");
        assert_eq!(stamp(&fixture::result(), Some(1_000.0)), None);
        assert_eq!(judge(&fixture::result(), &[], 1.0), None);
    }
}
