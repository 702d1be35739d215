//! Remedies for a bottleneck: the changes that an experiment can try, and the throughput that is
//! predicted after each. Pure.

use super::forecast::TimeShares;
use super::{Bottleneck, Cause, foreign, usable_processors, used_processors};
use crate::model::{
    Bound, Drive, ExperimentResult, ForecastOutcome, Reason, ReasonCode, Sentence, TestResult,
    Verdict,
};

/// Change that should lift a bottleneck, and the throughput that is predicted after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Remedy {
    /// The change as a sentence.
    pub change: Sentence,
    /// Way to carry it out.
    pub action: Action,
    /// Throughput after the change as a ratio to that before it; absent where the time of the cause
    /// is not known.
    pub gain: Option<f64>,
    /// Kind of the expected gain: an estimate, a minimum or a maximum.
    pub bound: Bound,
}

/// Way in which an experiment applies a remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Other settings: those that `engines/<engine>.toml` has for the cause.
    Settings,
    /// The log's files on a file system in memory.
    LogInMemory,
    /// This number of jobs.
    Jobs(u32),
    /// This drive.
    Drive(Drive),
    /// Not possible for dbdyno, for this reason.
    Beyond(&'static str),
}

/// Describes the result of an experiment in a sentence.
pub fn describe(explained: &ExperimentResult) -> Sentence {
    let changed = explained.changed.iter().map(|(name, value)| format!("{name}={value}"));
    let sentence = Sentence::new(result_template(explained))
        .with("change", explained.change.clone())
        .with("changed", changed.collect::<Vec<_>>().join(", "))
        .with("ratio", ratio_text(explained.ratio))
        .with("low", ratio_text(explained.low))
        .with("high", ratio_text(explained.high))
        .with("blocks", Sentence::count(explained.blocks.len(), "1 block", "{count} blocks"))
        .with("forecast", predicted_ratio(explained))
        .with("outcome", Sentence::new(explained.outcome.name()))
        .with("cause", Sentence::new(explained.cause.clone()))
        .with("before", share_text(explained.share_before))
        .with("after", share_text(explained.share_after));
    match (&explained.missing, explained.outcome) {
        (Some(why), ForecastOutcome::NotTried) => sentence.with("why", why.clone()),
        (Some(why), _) => Sentence::new("{text}; it ended early: {why}")
            .with("text", sentence)
            .with("why", why.clone()),
        (None, _) => sentence,
    }
}

/// Template of the sentence about the result of an experiment.
fn result_template(explained: &ExperimentResult) -> &'static str {
    match (explained.outcome, explained.low.is_some()) {
        (ForecastOutcome::NotTried, _) => {
            "{change}: predicted throughput ratio {forecast}; not tried because {why}"
        }
        _ if explained.blocks.is_empty() => {
            "{change} ({changed}): no block was measured; predicted throughput ratio {forecast}"
        }
        (_, true) => {
            "{change} ({changed}): throughput ratio {ratio} ({low} to {high}, {blocks}), predicted \
             {forecast}: {outcome}; {cause} took {before} of session time before and {after} after \
             the change"
        }
        (_, false) => {
            "{change} ({changed}): throughput ratio {ratio} ({blocks}, too few for an interval), \
             predicted {forecast}: {outcome}; {cause} took {before} of session time before and \
             {after} after the change"
        }
    }
}

/// The predicted ratio, with its ends or as the end of a range, by the kind of the prediction.
fn predicted_ratio(explained: &ExperimentResult) -> Sentence {
    let forecast = explained.forecast;
    match (explained.bound, explained.forecast_low, explained.forecast_high) {
        (Bound::AtLeast, low, _) => {
            Sentence::new("at least {ratio}").with("ratio", ratio_text(low.or(forecast)))
        }
        (Bound::AtMost, _, high) => {
            Sentence::new("at most {ratio}").with("ratio", ratio_text(high.or(forecast)))
        }
        (Bound::About, Some(low), Some(high)) => Sentence::new("{ratio} ({low} to {high})")
            .with("ratio", ratio_text(forecast))
            .with("low", ratio_text(Some(low)))
            .with("high", ratio_text(Some(high))),
        _ => ratio_text(forecast),
    }
}

/// `x1.50`, or `unknown`.
fn ratio_text(ratio: Option<f64>) -> Sentence {
    match ratio {
        Some(ratio) => Sentence::new("x{ratio~}").with("ratio", ratio),
        None => Sentence::new("unknown"),
    }
}

/// `45 %`, or `unknown`.
fn share_text(share: Option<f64>) -> Sentence {
    match share {
        Some(share) => Sentence::new("{share%}").with("share", share),
        None => Sentence::new("unknown"),
    }
}

/// Verdict on a trial of an experiment as a rate, without some reasons: the experiment takes away
/// what the workload claims to stress, and commits to a log in memory are faster than the device.
pub fn verdict_of_trial(trial: &TestResult, is_log_in_memory: bool) -> Verdict {
    let counts = |reason: &&Reason| match reason.code {
        ReasonCode::Contract | ReasonCode::Tier | ReasonCode::Other(_) => false,
        ReasonCode::Implausible => !is_log_in_memory,
        _ => true,
    };
    Verdict::from_reasons(trial.verdict.reasons.iter().filter(counts).cloned().collect())
}

/// The remedy to try first for a bottleneck of a test.
pub fn remedy(result: &TestResult, bottleneck: &Bottleneck) -> Remedy {
    remedies(result, bottleneck).remove(0)
}

/// All remedies for a bottleneck of a test, each with its predicted gain; at least one.
pub fn remedies(result: &TestResult, bottleneck: &Bottleneck) -> Vec<Remedy> {
    let ways = ways(result, bottleneck.cause);
    let goes = |action| {
        bottleneck.share.map(|share| TimeShares::with(result, bottleneck.cause, action, share).goes)
    };
    ways.into_iter().map(|way| way.remedy(result, bottleneck.cause, goes(way.action))).collect()
}

/// A change that takes away what limits a test.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    change: &'static str,
    pub action: Action,
    /// Remaining part of the time of the cause, as a fraction.
    left: f64,
}

/// The changes for a cause, in the order in which they are tried.
pub(super) fn ways(result: &TestResult, cause: Cause) -> Vec<Way> {
    let way = |change, action, left| Way { change, action, left };
    let halved = || {
        Action::of_jobs(result.jobs, half_the_jobs(result), "there is no smaller number of jobs")
    };
    let first = match cause {
        Cause::Cpu => way("twice the CPUs", beyond("the machine has no others"), 0.5),
        Cause::Memory => way("more channels of memory", beyond("the machine has no others"), 0.5),
        Cause::OneThread => way("one more job", Action::Jobs(result.jobs + parts(result)), 1.0),
        Cause::LogSync => way("commits that do not wait for the log", Action::Settings, 0.0),
        Cause::LogBuffer => way("twice the log buffers", Action::Settings, 0.0),
        Cause::Read | Cause::DataWrite => way("a cache that holds all data", Action::Settings, 0.0),
        Cause::Checkpoint => way("a log eight times as large", Action::Settings, 0.125),
        Cause::RowLock | Cause::Latch => way("half as many jobs", halved(), 1.0),
        Cause::Client => {
            way("the client on CPUs of its own", beyond("that takes another machine"), 0.0)
        }
        Cause::Network => way(
            "the loop inside the database (--drive database)",
            Action::Drive(Drive::Database),
            0.0,
        ),
        Cause::Neighbours => {
            way("without the other processes", beyond("dbdyno cannot stop other processes"), 0.0)
        }
    };
    let second =
        (cause == Cause::LogSync).then(|| way("the log on memory", Action::LogInMemory, 0.0));
    std::iter::once(first).chain(second).collect()
}

impl Way {
    /// The remedy with its predicted gain, if the share `goes` of session time is saved.
    ///
    /// The gain follows Amdahl's law: if a part `p` of the time shrinks to `r` of itself,
    /// throughput is 1 / (1 - p + p r) times as high, but no higher than the CPUs that the jobs can
    /// use allow. For I/O this is a minimum, because the CPU time of the I/O and the cost of
    /// sleeping are saved as well. For the log buffer it is a maximum, because the content of a
    /// larger buffer must be written, too.
    pub(super) fn remedy(self, result: &TestResult, cause: Cause, goes: Option<f64>) -> Remedy {
        let amdahl = || goes.map(|share| 1.0 / (1.0 - share.min(0.99) * (1.0 - self.left)));
        let gain = match cause {
            Cause::OneThread => {
                Some(f64::from(result.jobs + parts(result)) / f64::from(result.jobs))
            }
            Cause::RowLock | Cause::Latch => gain_of_half(goes, result, half_the_jobs(result)),
            _ => amdahl(),
        };
        let bound = match cause {
            Cause::LogBuffer => Bound::AtMost,
            _ if cause.is_io() => Bound::AtLeast,
            _ => Bound::About,
        };
        let ends_at_processors = cause.is_io() || matches!(cause, Cause::OneThread | Cause::Client);
        let most = headroom(result).filter(|_| ends_at_processors).unwrap_or(f64::INFINITY);
        Remedy {
            change: Sentence::new(self.change),
            action: self.action,
            gain: gain.map(|gain| gain.min(most)),
            bound,
        }
    }
}

const fn beyond(why: &'static str) -> Action {
    Action::Beyond(why)
}

impl Action {
    /// Another number of jobs; beyond dbdyno, for the reason `why`, if it is the same number.
    fn of_jobs(jobs: u32, other: u32, why: &'static str) -> Action {
        if other == jobs { Action::Beyond(why) } else { Action::Jobs(other) }
    }
}

/// Parts of a mixed workload, all of which have equally many jobs.
fn parts(result: &TestResult) -> u32 {
    u32::try_from(result.parts.len()).unwrap_or(1).max(1)
}

/// Half of the jobs, as far as the parts allow.
fn half_the_jobs(result: &TestResult) -> u32 {
    (result.jobs / 2 / parts(result)).max(1) * parts(result)
}

/// Throughput with half of the jobs as a ratio to that with all of them, at most 1. Jobs that wait
/// for one another do no work, so that fewer jobs lose only the work of those that do not wait.
fn gain_of_half(share: Option<f64>, result: &TestResult, half: u32) -> Option<f64> {
    let left = f64::from(half) / f64::from(result.jobs);
    share.map(|share| (left / (1.0 - share).max(1e-9)).min(1.0))
}

/// Factor by which the use of CPUs can grow until all that other processes leave are in use.
fn headroom(result: &TestResult) -> Option<f64> {
    let used = used_processors(result).filter(|used| *used > 0.0)?;
    let others = foreign(result).map_or(0.0, |foreign| foreign.used.max(0.0));
    Some(((usable_processors(result)? - others) / used).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::Status;

    #[test]
    fn a_trial_is_not_held_to_what_its_workload_claims() {
        let reason = |code| Reason::new(Status::Invalid, code, Sentence::new("x"));
        let judged = |codes: &[ReasonCode]| {
            let reasons = codes.iter().cloned().map(reason).collect();
            let trial = TestResult { verdict: Verdict::from_reasons(reasons), ..fixture::result() };
            [false, true].map(|is_in_memory| verdict_of_trial(&trial, is_in_memory).status)
        };
        assert_eq!(judged(&[ReasonCode::Contract, ReasonCode::Tier]), [Status::Valid; 2]);
        assert_eq!(judged(&[ReasonCode::Contract, ReasonCode::Errors]), [Status::Invalid; 2]);
        assert_eq!(judged(&[ReasonCode::Implausible]), [Status::Invalid, Status::Valid]);
    }

    fn gain(cause: Cause, share: f64, result: &TestResult) -> f64 {
        remedy(result, &Bottleneck { cause, share: Some(share), evidence: Sentence::default() })
            .gain
            .unwrap()
    }

    #[test]
    fn a_part_of_the_time_that_goes_brings_what_amdahl_says() {
        let result = fixture::result();
        assert_eq!(gain(Cause::LogSync, 0.5, &result), 2.0);
        assert!((gain(Cause::Checkpoint, 0.5, &result) - 16.0 / 9.0).abs() < 1e-12);
        assert_eq!(gain(Cause::OneThread, 1.0, &result), 1.5);
        assert_eq!(gain(Cause::RowLock, 0.75, &result), 1.0);
        assert!((gain(Cause::Latch, 0.2, &result) - 0.625).abs() < 1e-12);
        let log =
            Bottleneck { cause: Cause::LogSync, share: Some(0.5), evidence: Sentence::default() };
        let actions: Vec<Action> =
            remedies(&result, &log).iter().map(|remedy| remedy.action).collect();
        assert_eq!(actions, [Action::Settings, Action::LogInMemory]);
        let unknown =
            Bottleneck { cause: Cause::Checkpoint, share: None, evidence: Sentence::default() };
        assert_eq!(remedy(&result, &unknown).gain, None);
    }

    #[test]
    fn what_is_changed_is_another_number_of_jobs_or_beyond_us() {
        let action = |cause, jobs, parts: usize| {
            let bottleneck = Bottleneck { cause, share: Some(0.5), evidence: Sentence::default() };
            let base = fixture::result();
            let part = crate::model::PartResult {
                workload: "W".into(),
                params: Default::default(),
                chosen: Default::default(),
                jobs: 1,
                tally: Default::default(),
                ops_per_s: 1.0,
                units_per_s: 1.0,
                latency: Default::default(),
            };
            remedy(&TestResult { jobs, parts: vec![part; parts], ..base }, &bottleneck).action
        };
        assert_eq!(action(Cause::RowLock, 7, 0), Action::Jobs(3));
        assert_eq!(action(Cause::Latch, 12, 4), Action::Jobs(4));
        assert!(matches!(action(Cause::Latch, 4, 4), Action::Beyond(_)), "each part keeps a job");
        assert_eq!(action(Cause::OneThread, 4, 4), Action::Jobs(8));
        assert_eq!(action(Cause::Network, 1, 0), Action::Drive(Drive::Database));
        assert!(matches!(action(Cause::Cpu, 1, 0), Action::Beyond(_)));
    }

    #[test]
    fn no_gain_is_larger_than_the_processors_allow() {
        let mut result = fixture::result(); // 10 s
        result.window_counters = fixture::counters(&[
            ("os_cpu_total_s", 40.0),
            ("server_cpu_s", 25.0),
            ("self_cpu_s", 0.0),
        ]);
        assert_eq!(gain(Cause::Network, 0.9, &result), 1.6);
        assert_eq!(
            gain(Cause::LogSync, 0.9, &result),
            1.6,
            "at the least: I/O costs processors, too"
        );
        assert!(gain(Cause::Cpu, 0.9, &result) > 1.6, "more processors are the experiment");
        result
            .window_counters
            .extend(fixture::counters(&[("os_cpu_foreign_s", 5.0), ("os_cpu_idle_s", 0.0)]));
        assert_eq!(gain(Cause::Client, 0.9, &result), 1.4, "others keep theirs");
    }
}
