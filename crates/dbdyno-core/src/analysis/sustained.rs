//! Burst rate and sustained rate: a database answers first and does part of the work later. The
//! deferred work at a moment is in its gauges `debt_*`; the time in which it does that after a test
//! is `pay_back_s` (see docs/counters.md).

use super::kpm;
use crate::model::{Counters, KpmValue, SnapshotPoint, SustainedRate, SustainedState, TestResult};

/// Names of gauges begin so.
const DEBT: &str = "debt_";
/// Share of the deferred work of a test that may remain: a server at rest writes a little all the
/// time.
const LEFT: f64 = 0.02;
/// Share of the test, in time and in the counted amount, up to which a catch-up time is ignored.
const NEGLIGIBLE: f64 = 0.01;

/// Reading of one gauge: its name, and its value when the jobs began, when they had ended, and
/// after the catch-up.
#[derive(Debug, Clone, PartialEq)]
pub struct DeferredWork {
    /// Name of the gauge.
    pub name: String,
    /// Value when the jobs began.
    pub begin: f64,
    /// Value when the jobs had ended.
    pub end: f64,
    /// Value after the catch-up; none if there was none.
    pub paid: Option<f64>,
}

impl DeferredWork {
    /// True if the test added to it and that is not done yet at `now`.
    fn is_owed(&self, now: f64) -> bool {
        now - self.begin > LEFT * (self.end - self.begin) && self.end > self.begin
    }
}

/// The gauges that the database has.
pub fn debts(result: &TestResult) -> Vec<DeferredWork> {
    let (Some(begin), Some(end)) =
        (at(result, SnapshotPoint::Begin), at(result, SnapshotPoint::End))
    else {
        return Vec::new();
    };
    let paid = at(result, SnapshotPoint::CaughtUp);
    between(begin, end)
        .map(|debt| DeferredWork { paid: paid.and_then(|paid| paid.get(&debt.name)), ..debt })
        .collect()
}

/// True if a test added deferred work between `begin` and `end` that is not done at `now`; also if
/// no gauge shows it.
pub fn is_owed(begin: &Counters, end: &Counters, now: &Counters) -> bool {
    let known: Vec<DeferredWork> = between(begin, end).collect();
    known.is_empty()
        || known.iter().any(|debt| debt.is_owed(now.get(&debt.name).unwrap_or(debt.end)))
}

fn between<'a>(begin: &'a Counters, end: &'a Counters) -> impl Iterator<Item = DeferredWork> + 'a {
    let gauges = end.0.iter().filter(|(name, _)| name.starts_with(DEBT));
    gauges.filter_map(|(name, end)| {
        Some(DeferredWork { name: name.clone(), begin: begin.get(name)?, end: *end, paid: None })
    })
}

/// Sustained rate of the KPM; none where the database reports no deferred work and could not be
/// made to finish it.
pub(super) fn sustained_rate(result: &TestResult) -> Option<SustainedRate> {
    let debts = debts(result);
    let burst = SustainedRate { state: SustainedState::Burst, pay_back_s: None, kpm_value: None };
    let Some(pay_back_s) =
        at(result, SnapshotPoint::CaughtUp).and_then(|paid| paid.get("pay_back_s"))
    else {
        let lasts = SustainedRate {
            state: SustainedState::Sustained,
            kpm_value: result.kpm_value,
            ..burst
        };
        let is_owed = debts.iter().any(|debt| debt.is_owed(debt.end));
        return (!debts.is_empty()).then_some(if is_owed { burst } else { lasts });
    };
    if debts.iter().any(|debt| debt.is_owed(debt.paid.unwrap_or(debt.end))) {
        return Some(burst);
    }
    let is_short = pay_back_s <= NEGLIGIBLE * result.total_s;
    let negligible = is_short && !has_paid_much(result);
    let state = if negligible { SustainedState::Sustained } else { SustainedState::Accounted };
    let kpm_value = if negligible { result.kpm_value } else { with_pay_back(result, pay_back_s) };
    Some(SustainedRate { state, pay_back_s: Some(pay_back_s), kpm_value })
}

/// The KPM as if the jobs had waited for the catch-up: the amount of the whole test over its time
/// plus the catch-up time. If the KPM counts the database's own work, the work during the catch-up
/// counts, too: it was caused by the test, so that the sustained rate can exceed the burst rate.
fn with_pay_back(result: &TestResult, pay_back_s: f64) -> Option<f64> {
    let share = result.total_s / (result.total_s + pay_back_s);
    let counted = |name: &str| {
        Some(share * (result.counters.get(name)? + paid(result, name)) / result.total_s)
    };
    let value = match &result.kpm.value {
        KpmValue::ServiceTime => return None,
        KpmValue::Counter(name) => counted(name)?,
        KpmValue::CounterBlocks(name) => counted(name)? * result.facts.get("block_bytes")?,
        KpmValue::Units | KpmValue::Ops | KpmValue::Rows => {
            return Some(share * kpm::evaluate(&result.kpm, result)?);
        }
    };
    Some(value * result.kpm.scale)
}

/// True if the KPM counts the database's work and a relevant part of it was done during the
/// catch-up, however short that was: then the rate of the test alone cannot be sustained.
fn has_paid_much(result: &TestResult) -> bool {
    let Some(name) = result.kpm.value.counter() else { return false };
    let counted = result.counters.get(name).unwrap_or(0.0);
    paid(result, name) > NEGLIGIBLE * counted
}

/// True if the sustained rate of the test is a lower bound: as if nothing else could be done during
/// the catch-up. A KPM that counts the database's own work counts that of the catch-up, too.
pub fn is_lower_bound(result: &TestResult) -> bool {
    let is_accounted = |lasting: SustainedRate| {
        lasting.state == SustainedState::Accounted && lasting.kpm_value.is_some()
    };
    result.lasting.is_some_and(is_accounted) && result.kpm.value.counter().is_none()
}

/// Growth of a counter during the catch-up.
fn paid(result: &TestResult, name: &str) -> f64 {
    let of = |moment| at(result, moment)?.get(name);
    of(SnapshotPoint::CaughtUp).zip(of(SnapshotPoint::End)).map_or(0.0, |(paid, end)| paid - end)
}

fn at(result: &TestResult, moment: SnapshotPoint) -> Option<&Counters> {
    result
        .snapshots
        .iter()
        .find(|snapshot| snapshot.moment == moment)
        .map(|snapshot| &snapshot.counters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::{Better, Snapshot};

    /// 12 s at 10,000 ops/s with these counters at begin, end and after the pay-back.
    fn test(readings: &[&[(&str, f64)]]) -> TestResult {
        let moments = [SnapshotPoint::Begin, SnapshotPoint::End, SnapshotPoint::CaughtUp];
        let snapshot = |(moment, pairs): (SnapshotPoint, &&[(&str, f64)])| Snapshot {
            moment,
            t_s: 0.0,
            counters: fixture::counters(pairs),
            cost_ms: 0.0,
        };
        TestResult {
            snapshots: moments.into_iter().zip(readings).map(snapshot).collect(),
            ..fixture::result()
        }
    }

    fn found(readings: &[&[(&str, f64)]]) -> Option<(SustainedState, Option<f64>, Option<f64>)> {
        sustained_rate(&test(readings))
            .map(|lasting| (lasting.state, lasting.pay_back_s, lasting.kpm_value))
    }

    #[test]
    fn a_debt_that_was_paid_back_lowers_what_lasts() {
        let (begin, end) = ([("debt_dirty_blocks", 10.0)], [("debt_dirty_blocks", 5010.0)]);
        let paid = [("debt_dirty_blocks", 90.0), ("pay_back_s", 4.0)];
        // 12 s of work and 4 s of pay-back: three quarters.
        assert_eq!(
            found(&[&begin, &end, &paid]),
            Some((SustainedState::Accounted, Some(4.0), Some(7500.0)))
        );
        let quick = [("debt_dirty_blocks", 10.0), ("pay_back_s", 0.1)];
        assert_eq!(
            found(&[&begin, &end, &quick]),
            Some((SustainedState::Sustained, Some(0.1), Some(10_000.0)))
        );
    }

    #[test]
    fn a_debt_that_is_left_is_a_burst() {
        let (begin, end) = ([("debt_undo", 0.0)], [("debt_undo", 100.0)]);
        let burst = Some((SustainedState::Burst, None, None));
        assert_eq!(found(&[&begin, &end]), burst, "nobody could make the server do it");
        assert_eq!(found(&[&begin, &end, &[("debt_undo", 3.0), ("pay_back_s", 9.0)]]), burst);
    }

    #[test]
    fn without_debt_the_figure_lasts_and_without_gauges_only_the_pay_back_tells() {
        let none = [("debt_undo", 7.0)];
        assert_eq!(found(&[&none, &none]), Some((SustainedState::Sustained, None, Some(10_000.0))));
        assert_eq!(found(&[&[], &[]]), None);
        assert_eq!(
            found(&[&[], &[], &[("pay_back_s", 12.0)]]),
            Some((SustainedState::Accounted, Some(12.0), Some(5000.0)))
        );
    }

    #[test]
    fn blocks_that_the_pay_back_wrote_count_and_times_have_no_rate() {
        let mut result = test(&[
            &[],
            &[("blocks_written", 900.0)],
            &[("blocks_written", 1500.0), ("pay_back_s", 3.0)],
        ]);
        result.kpm =
            fixture::kpm(KpmValue::Counter("blocks_written".into()), "dbps", Better::Higher);
        result.counters = fixture::counters(&[("blocks_written", 900.0)]);
        assert_eq!(sustained_rate(&result).unwrap().kpm_value, Some(100.0), "1500 blocks in 15 s");
        result.kpm = fixture::kpm(KpmValue::ServiceTime, "s", Better::Lower);
        let found = sustained_rate(&result).unwrap();
        assert_eq!((found.state, found.kpm_value), (SustainedState::Accounted, None));
    }

    #[test]
    fn equal_tests_do_not_differ_by_how_many_milliseconds_a_checkpoint_took() {
        // As measured: 773 blocks in the test, some 650 in a pay-back of 0.305 or 0.102 s; the
        // shorter is less than a hundredth of the 12 s.
        let of = |pay_back_s: f64| {
            let mut result = test(&[
                &[],
                &[("blocks_written", 773.0)],
                &[("blocks_written", 1422.0), ("pay_back_s", pay_back_s)],
            ]);
            result.kpm =
                fixture::kpm(KpmValue::Counter("blocks_written".into()), "dbps", Better::Higher);
            result.counters = fixture::counters(&[("blocks_written", 773.0)]);
            sustained_rate(&result).unwrap()
        };
        let [long, short] = [0.305, 0.102].map(of);
        assert_eq!([long.state, short.state], [SustainedState::Accounted; 2]);
        let ratio = short.kpm_value.unwrap() / long.kpm_value.unwrap();
        assert!((ratio - 12.305 / 12.102).abs() < 1e-9, "{ratio}");
    }

    #[test]
    fn a_rate_less_the_catch_up_is_a_lower_bound_unless_the_work_of_the_catch_up_counts() {
        let (begin, end) = ([("debt_undo", 0.0)], [("debt_undo", 100.0)]);
        let is_bound = |paid: &[(&str, f64)], value: KpmValue| {
            let mut result = test(&[&begin, &end, paid]);
            result.kpm = fixture::kpm(value, "x", Better::Higher);
            result.counters = fixture::counters(&[("blocks_written", 900.0)]);
            result.lasting = sustained_rate(&result);
            is_lower_bound(&result)
        };
        let (paid, left) = ([("pay_back_s", 4.0), ("debt_undo", 0.0)], [("debt_undo", 100.0)]);
        let counter = || KpmValue::Counter("blocks_written".into());
        assert!(is_bound(&paid, KpmValue::Ops));
        assert!(!is_bound(&paid, counter()), "the blocks of the catch-up are in it");
        assert!(!is_bound(&paid, KpmValue::ServiceTime), "a time has no rate");
        assert!(!is_bound(&left, KpmValue::Ops), "a burst has no rate that lasts");
        let short = [("pay_back_s", 0.01), ("debt_undo", 0.0)];
        assert!(!is_bound(&short, KpmValue::Ops), "it took no time worth mentioning");
    }

    #[test]
    fn what_is_owed_is_asked_of_every_gauge() {
        let reading =
            |dirty, undo| fixture::counters(&[("debt_dirty_blocks", dirty), ("debt_undo", undo)]);
        let (begin, end) = (reading(0.0, 5.0), reading(100.0, 5.0));
        assert!(is_owed(&begin, &end, &end) && is_owed(&begin, &end, &reading(3.0, 5.0)));
        assert!(!is_owed(&begin, &end, &reading(2.0, 900.0)), "undo did not grow in the test");
        assert!(
            is_owed(&Counters::default(), &Counters::default(), &Counters::default()),
            "nobody knows"
        );
    }
}
