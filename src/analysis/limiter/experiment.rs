//! The next experiment for a cause, and what it should bring. Pure.

use super::{Cause, Limiter, around_waits, seen, share_of, usable_processors, used_processors};
use crate::model::{Activity, Drive, Explained, ForecastOutcome, Sentence, TestResult};
use crate::stats::{median, summary::median_interval};

/// A gain of so many times the one foretold still agrees with a forecast without an interval, and one of the inverse of it: shares of
/// time are estimates, and what goes takes other work with it or gives place to another wait.
const AGREES: f64 = 2.0;
/// A change of throughput by less is none.
const NOTHING: f64 = 0.03;

/// What to change, and the throughput that is expected after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    pub change: Sentence,
    /// How that is done.
    pub action: Action,
    /// Throughput after it over that of now; absent where the time of the cause is not known.
    pub gain: Option<f64>,
}

/// How an experiment is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// With other settings: those that `engines/<engine>.toml` has for the cause.
    Settings,
    Jobs(u32),
    Drive(Drive),
    /// Not by us, for this reason.
    Beyond(&'static str),
}

/// Throughput after an experiment over that before it, as foretold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    pub gain: f64,
    /// Ends of its 95 % interval, where there are trials enough.
    pub span: Option<(f64, f64)>,
}

/// The time of the jobs that a trial without the change shows, in shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeShares {
    /// The cause takes this.
    pub cause: f64,
    /// With it goes this in all: at the least, as expected, and at the most.
    pub goes: [f64; 3],
}

impl TimeShares {
    /// Of a test; none where the time of the cause is not known.
    pub fn of(result: &TestResult, cause: Cause) -> Option<TimeShares> {
        share_of(result, cause).map(|share| TimeShares::with(result, cause, share))
    }

    /// With I/O goes what surrounds it. Where the kernel counted the processors of the sessions: of its own work and of the time in
    /// which they waited for one after a wait the part that the cause has of all waits; at the least none of that waiting. At the most
    /// all of both, and of the waits for the client what our process did not work in: processors that never rest wake nobody late.
    /// Elsewhere at the most what the whole database worked in the kernel.
    pub(super) fn with(result: &TestResult, cause: Cause, share: f64) -> TimeShares {
        let whole_s = f64::from(result.jobs) * result.window_s;
        let worked = |counter| result.window_counters.get(counter).unwrap_or(0.0) / whole_s;
        let goes = match around_waits(result).filter(|_| cause.is_io()) {
            Some(around) => {
                let waits = 1.0 - seen(result, Activity::Cpu).unwrap_or(0.0);
                let part = if waits > 0.0 { (share / waits).min(1.0) } else { 0.0 };
                let late = (around.at_rest - worked("self_cpu_s")).max(0.0);
                let with = |kernel: f64, queued: f64| share + kernel * around.kernel + queued * around.queued;
                [with(part, 0.0), with(part, part), with(1.0, 1.0) + late]
            }
            None if cause.is_io() => [share, share, share + worked("server_cpu_sys_s")],
            None => [share; 3],
        };
        TimeShares { cause: share, goes: goes.map(|share| share.min(1.0)) }
    }
}

/// The gain that is foretold from all trials before the change: the samples of one test alone say too little of a cause that takes
/// nearly all of its time. Its interval goes from what the least that goes with the cause brings to what the most does (medians of the
/// trials, by the sign test).
pub fn forecast(result: &TestResult, limiter: &Limiter, trials: &[TimeShares]) -> Option<Forecast> {
    let gain = |goes: f64| with_share(result, limiter, Some(goes)).gain;
    let [least, expected, most] =
        [0, 1, 2].map(|which| trials.iter().map(|trial| trial.goes[which]).collect::<Vec<f64>>());
    let ends = median_interval(&least).zip(median_interval(&most));
    let span = ends.and_then(|((least, _), (_, most))| gain(least).zip(gain(most)));
    let ordered = span.map(|(a, b)| (a.min(b), a.max(b)));
    let foretold = median(&expected).map_or_else(|| experiment(result, limiter).gain, gain);
    Some(Forecast { gain: foretold?, span: ordered })
}

/// Whether what was measured agrees with what was foretold: if the interval of the measured ratio lies within the forecast's (if it
/// has none, within half to twice the gain or loss), +- 3 % of the throughput, it held; outside of that it did not.
pub fn judge_forecast(forecast: Forecast, span: Option<(f64, f64)>) -> ForecastOutcome {
    let Some((low, high)) = span else { return ForecastOutcome::Undecided };
    let times = |factor: f64| 1.0 + (forecast.gain - 1.0) * factor;
    let around = || (times(AGREES).min(times(1.0 / AGREES)), times(AGREES).max(times(1.0 / AGREES)));
    let ends = forecast.span.unwrap_or_else(around);
    let (least, most) = (ends.0 - NOTHING, ends.1 + NOTHING);
    match (low >= least && high <= most, high < least || low > most) {
        (true, _) => ForecastOutcome::Held,
        (_, true) => ForecastOutcome::NotHeld,
        _ => ForecastOutcome::Undecided,
    }
}

/// What an experiment said, in a sentence.
pub fn told(explained: &Explained) -> Sentence {
    let unknown = || Sentence::new("unknown");
    let ratio =
        |ratio: Option<f64>| ratio.map_or_else(unknown, |ratio| Sentence::new("x{ratio~}").with("ratio", ratio));
    let share = |share: Option<f64>| share.map_or_else(unknown, |share| Sentence::new("{share%}").with("share", share));
    let foretold = || match (explained.forecast_low, explained.forecast_high) {
        (Some(low), Some(high)) => Sentence::new("{ratio} ({low} to {high})")
            .with("ratio", ratio(explained.forecast))
            .with("low", ratio(Some(low)))
            .with("high", ratio(Some(high))),
        _ => ratio(explained.forecast),
    };
    let changed =
        explained.changed.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ");
    let template = match (explained.outcome, explained.low.is_some()) {
        (ForecastOutcome::NotTried, _) => "{change} (foretold {forecast} of the throughput): not tried, {why}",
        _ if explained.blocks.is_empty() => {
            "{change} ({changed}): no block was measured, foretold {forecast} of the throughput"
        }
        (_, true) => {
            "{change} ({changed}): {ratio} of the throughput ({low} to {high}, {blocks}), foretold {forecast}: {outcome}; \
             {cause} took {before} of the jobs' time before and {after} after it"
        }
        (_, false) => {
            "{change} ({changed}): {ratio} of the throughput ({blocks}, too few for an interval), foretold {forecast}: \
             {outcome}; {cause} took {before} of the jobs' time before and {after} after it"
        }
    };
    let sentence = Sentence::new(template)
        .with("change", explained.change.clone())
        .with("changed", changed)
        .with("ratio", ratio(explained.ratio))
        .with("low", ratio(explained.low))
        .with("high", ratio(explained.high))
        .with("blocks", Sentence::count(explained.blocks.len(), "1 block", "{count} blocks"))
        .with("forecast", foretold())
        .with("outcome", Sentence::new(explained.outcome.name()))
        .with("cause", Sentence::new(explained.cause.clone()))
        .with("before", share(explained.share_before))
        .with("after", share(explained.share_after));
    match (&explained.missing, explained.outcome) {
        (Some(why), ForecastOutcome::NotTried) => sentence.with("why", why.clone()),
        (Some(why), _) => {
            Sentence::new("{text}; it ended early: {why}").with("text", sentence).with("why", why.clone())
        }
        (None, _) => sentence,
    }
}

/// The next experiment for a cause of a test, with what it should bring: with I/O goes what surrounds it.
pub fn experiment(result: &TestResult, limiter: &Limiter) -> Experiment {
    let goes = limiter.share.map(|share| TimeShares::with(result, limiter.cause, share).goes[1]);
    with_share(result, limiter, goes)
}

/// The experiment if this share of the jobs' time goes. Its gain is Amdahl's law: a part `p` that shrinks to `r` of itself makes
/// 1 / (1 - p + p r) of the throughput, but no more than until the processors that the jobs can use are used up. Where
/// I/O goes, the work of processors for it goes, too: such gains have no end there.
fn with_share(result: &TestResult, limiter: &Limiter, goes: Option<f64>) -> Experiment {
    let amdahl = |left: f64| goes.map(|share| 1.0 / (1.0 - share.min(0.99) * (1.0 - left)));
    let half = half_the_jobs(result);
    let halved =
        (Action::of_jobs(result.jobs, half, "there is no smaller number of jobs"), gain_of_half(goes, result, half));
    let more = result.jobs + parts(result);
    let (change, (action, gain)) = match limiter.cause {
        Cause::Cpu => ("twice the processors", (beyond("the machine has no others"), amdahl(0.5))),
        Cause::OneThread => ("one more job", (Action::Jobs(more), Some(f64::from(more) / f64::from(result.jobs)))),
        Cause::LogSync => ("commits that do not wait for the log", (Action::Settings, amdahl(0.0))),
        Cause::Read => ("a cache that holds all data", (Action::Settings, amdahl(0.0))),
        Cause::DataWrite => ("a cache that holds all data", (Action::Settings, amdahl(0.0))),
        Cause::Checkpoint => ("a log eight times as large", (Action::Settings, amdahl(0.125))),
        Cause::RowLock | Cause::Latch => ("half as many jobs", halved),
        Cause::Client => ("the client on processors of its own", (beyond("that takes another machine"), amdahl(0.0))),
        Cause::Network => {
            ("the loop inside the database (--drive database)", (Action::Drive(Drive::Database), amdahl(0.0)))
        }
        Cause::Neighbours => {
            ("without the other programs", (beyond("other programs are not ours to stop"), amdahl(0.0)))
        }
    };
    let ends_at_processors = matches!(limiter.cause, Cause::OneThread | Cause::Client | Cause::Network);
    let most = headroom(result).filter(|_| ends_at_processors).unwrap_or(f64::INFINITY);
    let capped = gain.map(|gain| gain.min(most));
    Experiment { change: Sentence::new(change), action, gain: capped }
}

const fn beyond(why: &'static str) -> Action {
    Action::Beyond(why)
}

impl Action {
    /// Another number of jobs, if it is another one.
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

/// Jobs that wait for one another do no work: with fewer of them only what is missing to those that do is lost.
fn gain_of_half(share: Option<f64>, result: &TestResult, half: u32) -> Option<f64> {
    let left = f64::from(half) / f64::from(result.jobs);
    share.map(|share| (left / (1.0 - share).max(1e-9)).min(1.0))
}

/// By how much the use of processors can grow: those of all jobs if more of them work, at least one.
fn headroom(result: &TestResult) -> Option<f64> {
    let used = used_processors(result).filter(|used| *used > 0.0)?;
    Some((usable_processors(result)? / used).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::ProcessorTime;

    fn gain(cause: Cause, share: f64, result: &TestResult) -> f64 {
        experiment(result, &Limiter { cause, share: Some(share), evidence: Sentence::default() }).gain.unwrap()
    }

    #[test]
    fn a_part_of_the_time_that_goes_brings_what_amdahl_says() {
        let result = fixture::result();
        assert_eq!(gain(Cause::LogSync, 0.5, &result), 2.0);
        assert!((gain(Cause::Checkpoint, 0.5, &result) - 16.0 / 9.0).abs() < 1e-12);
        assert_eq!(gain(Cause::OneThread, 1.0, &result), 1.5);
        assert_eq!(gain(Cause::RowLock, 0.75, &result), 1.0);
        assert!((gain(Cause::Latch, 0.2, &result) - 0.625).abs() < 1e-12);
        let unknown = Limiter { cause: Cause::Checkpoint, share: None, evidence: Sentence::default() };
        assert_eq!(experiment(&result, &unknown).gain, None);
    }

    #[test]
    fn a_gain_is_foretold_from_the_trials_before_the_change() {
        let result = fixture::result();
        let limiter = Limiter { cause: Cause::LogSync, share: Some(0.98), evidence: Sentence::default() };
        let foretold = |shares: &[f64]| {
            let trials: Vec<TimeShares> =
                shares.iter().map(|&cause| TimeShares { cause, goes: [cause, cause, cause + 0.1] }).collect();
            forecast(&result, &limiter, &trials).unwrap()
        };
        let few = foretold(&[0.5, 0.9, 0.75]);
        assert!((few.gain - 4.0).abs() < 1e-9 && few.span.is_none(), "{few:?}");
        assert!((foretold(&[]).gain - 50.0).abs() < 1e-9);
        let (low, high) = foretold(&[0.5, 0.6, 0.6, 0.7, 0.7, 0.8]).span.unwrap();
        assert!((low - 2.0).abs() < 1e-9 && (high - 10.0).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn the_kernels_work_goes_with_io_only() {
        let mut result = fixture::result(); // 10 s, 2 jobs
        result.window_counters = fixture::counters(&[("server_cpu_sys_s", 4.0)]);
        result.waits = Some(crate::model::Waits { samples: 10, sessions: 20, ..Default::default() });
        let goes = |result: &TestResult, cause| TimeShares::of(result, cause).unwrap().goes;
        assert_eq!((goes(&result, Cause::LogSync), goes(&result, Cause::RowLock)), ([0.0, 0.0, 0.2], [0.0; 3]));
        // As the kernel counted it: half of the time is work or waiting for a processor; three of four other samples are of the log.
        let event = |activity, samples| crate::model::EventCount {
            event: crate::model::Event { class: "c".into(), name: "n".into(), activity, background: false },
            samples,
            share: 0.0,
        };
        let waits = result.waits.as_mut().unwrap();
        waits.processors = Some(ProcessorTime { of_s: 20.0, user_s: 2.0, kernel_s: 6.0, queued_s: 2.0 });
        waits.events = vec![event(Activity::Cpu, 12), event(Activity::LogSync, 6), event(Activity::Latch, 2)];
        let shares = TimeShares::of(&result, Cause::LogSync).unwrap();
        assert!((shares.cause - 0.375).abs() < 1e-9, "{shares:?}");
        for (found, expected) in shares.goes.iter().zip([0.6, 0.675, 0.775]) {
            assert!((found - expected).abs() < 1e-9, "{shares:?}");
        }
        assert_eq!(goes(&result, Cause::Latch), [0.125; 3]);
        let limiter = Limiter { cause: Cause::LogSync, share: Some(0.375), evidence: Sentence::default() };
        assert!((experiment(&result, &limiter).gain.unwrap() - 1.0 / 0.325).abs() < 1e-9);
    }

    #[test]
    fn a_forecast_holds_from_half_to_twice_the_gain() {
        use ForecastOutcome::{Held, NotHeld, Undecided};
        let judge_forecast = |gain, span| judge_forecast(Forecast { gain, span: None }, span);
        let judged = |low, high| judge_forecast(2.0, Some((low, high)));
        assert_eq!([judged(1.5, 2.9), judged(1.9, 2.1), judged(1.48, 3.02)], [Held; 3]);
        assert_eq!([judged(0.9, 1.1), judged(1.2, 1.46), judged(3.1, 4.0)], [NotHeld; 3]);
        assert_eq!([judged(1.2, 1.6), judged(2.5, 3.5), judged(1.0, 4.0)], [Undecided; 3]);
        assert_eq!(judge_forecast(2.0, None), Undecided);
        let within =
            |low, high| super::judge_forecast(Forecast { gain: 2.0, span: Some((1.8, 2.4)) }, Some((low, high)));
        assert_eq!([within(1.8, 2.4), within(1.2, 1.7), within(2.3, 2.5)], [Held, NotHeld, Undecided]);
        // A loss that is foretold, and no change at all.
        let loss = |low, high| judge_forecast(0.6, Some((low, high)));
        assert_eq!([loss(0.55, 0.65), loss(0.9, 1.0), loss(0.7, 0.9)], [Held, NotHeld, Undecided]);
        let none = |low, high| judge_forecast(1.0, Some((low, high)));
        assert_eq!([none(0.98, 1.02), none(1.1, 1.2), none(0.99, 1.05)], [Held, NotHeld, Undecided]);
    }

    #[test]
    fn what_is_changed_is_another_number_of_jobs_or_beyond_us() {
        let action = |cause, jobs, parts: usize| {
            let limiter = Limiter { cause, share: Some(0.5), evidence: Sentence::default() };
            let base = fixture::result();
            let part = crate::model::PartFigures {
                workload: "W".into(),
                params: Default::default(),
                chosen: Default::default(),
                jobs: 1,
                tally: Default::default(),
                ops_per_s: 1.0,
                units_per_s: 1.0,
                latency: Default::default(),
            };
            experiment(&TestResult { jobs, parts: vec![part; parts], ..base }, &limiter).action
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
        result.window_counters =
            fixture::counters(&[("os_cpu_total_s", 40.0), ("server_cpu_s", 25.0), ("self_cpu_s", 0.0)]);
        assert_eq!(gain(Cause::Network, 0.9, &result), 1.6);
        assert!((gain(Cause::LogSync, 0.9, &result) - 10.0).abs() < 1e-9, "I/O costs processors, too");
        assert!(gain(Cause::Cpu, 0.9, &result) > 1.6, "more processors are the experiment");
    }
}
