//! Prediction for an experiment, from trials before the change, and the check of it. Pure.

use super::remedy::{Action, ways};
use super::{Bottleneck, Cause, activity_share, around_waits, remedies, share_of};
use crate::model::{Activity, Bound, ForecastOutcome, TestResult};
use crate::stats::{median, summary::median_sequence};

/// Factor by which the measured gain may exceed the predicted one, or fall below it, to agree with
/// a prediction without an interval. Shares of time are estimates, and what is saved takes other
/// work with it or makes room for another wait.
const AGREES: f64 = 2.0;
/// A smaller change of throughput does not count.
const NOTHING: f64 = 0.03;

/// Throughput after an experiment over that before it, as predicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// Predicted ratio: 1 = no change.
    pub gain: f64,
    /// Kind of the prediction: an estimate, a minimum or a maximum.
    pub bound: Bound,
    /// 95 % interval, if there are enough trials. The upper end of a minimum is infinite, the lower
    /// end of a maximum is 1.
    pub span: Option<GainSpan>,
}

/// The interval of a gain, which is a ratio of throughputs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GainSpan {
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl GainSpan {
    /// Interval between two gains, whichever of them is greater.
    fn between(one: f64, other: f64) -> GainSpan {
        GainSpan { low: one.min(other), high: one.max(other) }
    }

    /// Interval of the gains that agree with a prediction of this kind.
    fn for_bound(self, bound: Bound) -> GainSpan {
        match bound {
            Bound::About => self,
            Bound::AtLeast => GainSpan { high: f64::INFINITY, ..self },
            Bound::AtMost => GainSpan { low: 1.0, ..self },
        }
    }
}

/// The time of the jobs that a trial without the change shows, in shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeShares {
    /// The cause takes this.
    pub cause: f64,
    /// Share that is saved together with the cause; a minimum for I/O.
    pub goes: f64,
}

impl TimeShares {
    /// Shares of a test; none if the time of the cause is unknown.
    pub fn from_result(result: &TestResult, cause: Cause, action: Action) -> Option<TimeShares> {
        share_of(result, cause).map(|share| TimeShares::with(result, cause, action, share))
    }

    /// Shares of a test whose cause takes `share` of session time.
    ///
    /// With I/O, the kernel's work for it is saved as well: the part of the kernel time, if that
    /// was counted, that corresponds to the cause's part of all waits. This is a minimum, because
    /// no counter shows the rest: sessions that do not sleep are not woken late, their client sends
    /// the next statement while they work on this one, and their own code finds its data in the
    /// CPU's caches (seen with 2 jobs of LGWR-LAT: 83 us of user time per op before, 40 us for the
    /// whole op after). With a log in memory the kernel does the same work as before, only faster.
    pub(super) fn with(
        result: &TestResult,
        cause: Cause,
        action: Action,
        share: f64,
    ) -> TimeShares {
        let is_spared = cause.is_io() && action != Action::LogInMemory;
        let kernel = around_waits(result).filter(|_| is_spared).map_or(0.0, |around| {
            let waits = 1.0 - activity_share(result, Activity::Cpu).unwrap_or(0.0);
            if waits > 0.0 { around.kernel * (share / waits).min(1.0) } else { 0.0 }
        });
        TimeShares { cause: share, goes: (share + kernel).min(1.0) }
    }
}

/// The gain of this experiment that is predicted from all trials before the change (median, with an
/// interval that may be looked at after every block): the samples of one test alone say too little
/// of a cause that takes nearly all of its time.
pub fn forecast(
    result: &TestResult,
    bottleneck: &Bottleneck,
    action: Action,
    trials: &[TimeShares],
) -> Option<Forecast> {
    let way = ways(result, bottleneck.cause).into_iter().find(|way| way.action == action)?;
    let gain = |goes: f64| way.remedy(result, bottleneck.cause, Some(goes)).gain;
    let now =
        || remedies(result, bottleneck).into_iter().find(|remedy| remedy.action == action)?.gain;
    let goes: Vec<f64> = trials.iter().map(|trial| trial.goes).collect();
    let bound = way.remedy(result, bottleneck.cause, None).bound;
    let ends = median_sequence(&goes).and_then(|(least, most)| gain(least).zip(gain(most)));
    let span = ends.map(|(one, other)| GainSpan::between(one, other).for_bound(bound));
    Some(Forecast { gain: median(&goes).map_or_else(now, gain)?, bound, span })
}

/// Compares the measured ratio with the predicted one: they agree if the interval of the measured
/// ratio lies within the predicted one (if it has none, within half to twice the gain or loss), +-
/// 3 % of the throughput, it held; outside of that it did not.
pub fn judge_forecast(forecast: Forecast, measured: Option<GainSpan>) -> ForecastOutcome {
    let Some(GainSpan { low, high }) = measured else { return ForecastOutcome::Undecided };
    let times = |factor: f64| 1.0 + (forecast.gain - 1.0) * factor;
    let around = || GainSpan::between(times(AGREES), times(1.0 / AGREES)).for_bound(forecast.bound);
    let predicted = forecast.span.unwrap_or_else(around);
    let (least, most) = (predicted.low - NOTHING, predicted.high + NOTHING);
    match (low >= least && high <= most, high < least || low > most) {
        (true, _) => ForecastOutcome::Held,
        (_, true) => ForecastOutcome::NotHeld,
        _ => ForecastOutcome::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::{ProcessorTime, Sentence};

    #[test]
    fn a_gain_is_foretold_from_the_trials_before_the_change() {
        let result = fixture::result();
        let foretold = |cause, shares: &[f64]| {
            let bottleneck = Bottleneck { cause, share: Some(0.98), evidence: Sentence::default() };
            let trials: Vec<TimeShares> =
                shares.iter().map(|&cause| TimeShares { cause, goes: cause }).collect();
            forecast(&result, &bottleneck, Action::Settings, &trials).unwrap()
        };
        let few = foretold(Cause::LogSync, &[0.5, 0.9, 0.75]);
        assert!(
            (few.gain - 4.0).abs() < 1e-9 && few.span.is_none() && few.bound == Bound::AtLeast,
            "{few:?}"
        );
        assert!((foretold(Cause::LogSync, &[]).gain - 50.0).abs() < 1e-9);
        let many = [0.5, 0.6, 0.6, 0.65, 0.7, 0.7, 0.8];
        let rounded = |cause| {
            let span = foretold(cause, &many).span.unwrap();
            GainSpan { low: span.low.round(), high: span.high.round() }
        };
        assert_eq!(rounded(Cause::LogSync), GainSpan { low: 2.0, high: f64::INFINITY });
        assert_eq!(rounded(Cause::LogBuffer), GainSpan { low: 1.0, high: 5.0 });
        let GainSpan { low, high } = foretold(Cause::Checkpoint, &many).span.unwrap();
        assert!(
            (low - 16.0 / 9.0).abs() < 1e-9 && (high - 10.0 / 3.0).abs() < 1e-9,
            "{low} {high}"
        );
        let bottleneck =
            Bottleneck { cause: Cause::LogBuffer, share: Some(0.5), evidence: Sentence::default() };
        assert_eq!(
            forecast(&result, &bottleneck, Action::Jobs(1), &[]),
            None,
            "not an experiment for it"
        );
    }

    #[test]
    fn the_kernels_work_goes_with_io_only() {
        let mut result = fixture::result(); // 10 s, 2 jobs
        result.waits =
            Some(crate::model::Waits { samples: 10, sessions: 20, ..Default::default() });
        let goes = |result: &TestResult, cause, action| {
            TimeShares::from_result(result, cause, action).unwrap().goes
        };
        assert_eq!(goes(&result, Cause::LogSync, Action::Settings), 0.0);
        // As the kernel counted it: half of the time is work or waiting for a processor; three of
        // four other samples are of the log.
        let event = |activity, samples| crate::model::EventCount {
            event: crate::model::Event {
                class: "c".into(),
                name: "n".into(),
                activity,
                background: false,
            },
            samples,
            share: 0.0,
        };
        let waits = result.waits.as_mut().unwrap();
        waits.processors =
            Some(ProcessorTime { of_s: 20.0, user_s: 2.0, kernel_s: 6.0, queued_s: 2.0 });
        waits.events =
            vec![event(Activity::Cpu, 12), event(Activity::LogSync, 6), event(Activity::Latch, 2)];
        let shares = TimeShares::from_result(&result, Cause::LogSync, Action::Settings).unwrap();
        assert!(
            (shares.cause - 0.375).abs() < 1e-9 && (shares.goes - 0.6).abs() < 1e-9,
            "{shares:?}"
        );
        assert!((goes(&result, Cause::LogSync, Action::LogInMemory) - 0.375).abs() < 1e-9);
        assert_eq!(goes(&result, Cause::Latch, Action::Jobs(1)), 0.125);
        let bottleneck =
            Bottleneck { cause: Cause::LogSync, share: Some(0.375), evidence: Sentence::default() };
        let gains: Vec<f64> =
            remedies(&result, &bottleneck).iter().map(|found| found.gain.unwrap()).collect();
        assert!((gains[0] - 2.5).abs() < 1e-9 && (gains[1] - 1.6).abs() < 1e-9, "{gains:?}");
    }

    #[test]
    fn a_forecast_holds_from_half_to_twice_the_gain() {
        use ForecastOutcome::{Held, NotHeld, Undecided};
        let judge_forecast =
            |gain, span| judge_forecast(Forecast { gain, bound: Bound::About, span: None }, span);
        let judged = |low, high| judge_forecast(2.0, Some(GainSpan { low, high }));
        assert_eq!([judged(1.5, 2.9), judged(1.9, 2.1), judged(1.48, 3.02)], [Held; 3]);
        assert_eq!([judged(0.9, 1.1), judged(1.2, 1.46), judged(3.1, 4.0)], [NotHeld; 3]);
        assert_eq!([judged(1.2, 1.6), judged(2.5, 3.5), judged(1.0, 4.0)], [Undecided; 3]);
        assert_eq!(judge_forecast(2.0, None), Undecided);
        let within = |low, high| {
            let span = Some(GainSpan { low: 1.8, high: 2.4 });
            super::judge_forecast(
                Forecast { gain: 2.0, bound: Bound::About, span },
                Some(GainSpan { low, high }),
            )
        };
        assert_eq!(
            [within(1.8, 2.4), within(1.2, 1.7), within(2.3, 2.5)],
            [Held, NotHeld, Undecided]
        );
        // A loss that is predicted, and no change at all.
        let loss = |low, high| judge_forecast(0.6, Some(GainSpan { low, high }));
        assert_eq!([loss(0.55, 0.65), loss(0.9, 1.0), loss(0.7, 0.9)], [Held, NotHeld, Undecided]);
        let none = |low, high| judge_forecast(1.0, Some(GainSpan { low, high }));
        assert_eq!(
            [none(0.98, 1.02), none(1.1, 1.2), none(0.99, 1.05)],
            [Held, NotHeld, Undecided]
        );
        let least = |low, high| {
            let span = Some(GainSpan { low: 2.0, high: f64::INFINITY });
            let at_least = Forecast { gain: 3.0, bound: Bound::AtLeast, span };
            super::judge_forecast(at_least, Some(GainSpan { low, high }))
        };
        assert_eq!(
            [least(15.0, 20.0), least(1.2, 1.9), least(1.5, 9.0)],
            [Held, NotHeld, Undecided]
        );
        let few = |bound, low, high| {
            let forecast = Forecast { gain: 3.0, bound, span: None };
            super::judge_forecast(forecast, Some(GainSpan { low, high }))
        };
        assert_eq!(
            [few(Bound::AtLeast, 2.0, 99.0), few(Bound::AtLeast, 1.1, 1.2)],
            [Held, NotHeld]
        );
        assert_eq!([few(Bound::AtMost, 1.0, 1.1), few(Bound::AtMost, 0.8, 0.9)], [Held, NotHeld]);
    }
}
