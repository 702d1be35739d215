//! Values of the names in a claim, over a whole test (gate to end).

use super::tiers::{DEVICE_READ_BYTES, device_read_bytes};
use crate::model::{
    Activity, Claim, EventCount, Expr, Facts, Reason, ReasonCode, Sentence, SeriesPoint, Status,
    TestResult, Waits, Wire,
};
use crate::stats::mean;

/// dbdyno's own counts that a claim may name.
pub(super) const OWN: [&str; 5] = ["ops", "rows", "commits", "hits", "units"];

/// Sessions of jobs that were seen waiting for a row, summed over the samples.
const ROW_LOCKS_SEEN: &str = "row_locks_seen";

/// Ops per second of the last quarter of a test's seconds, of those of its first quarter.
const RATE_KEPT: &str = "rate_kept";
/// Minimum number of seconds that show how a rate falls.
const MIN_SECONDS: usize = 4;

/// Counters whose value counts, not its growth.
const GAUGES: [&str; 3] = ["durable", "instruments", "cache_lock"];

/// Names and values of one test: data set facts, numeric parameters, `jobs`, dbdyno's counts,
/// counters.
pub struct Scope<'a> {
    result: &'a TestResult,
    /// Data set facts, numeric parameters, `jobs`.
    given: Facts,
    /// dbdyno's counts.
    counted: Facts,
}

impl<'a> Scope<'a> {
    /// The scope of a result. Facts of the result win over parameters of the same name.
    pub fn new(result: &'a TestResult) -> Self {
        let number = |(name, text): (&String, &String)| Some((name.clone(), text.parse().ok()?));
        let mut given: Facts = result.params.iter().filter_map(number).collect();
        given.extend(result.facts.clone());
        given.insert("jobs".into(), f64::from(result.jobs));
        let scope = Scope { result, given, counted: Facts::new() };
        let counted =
            OWN.iter().filter_map(|&name| Some((name.to_string(), scope.own(name)?))).collect();
        Scope { counted, ..scope }
    }
    /// One of dbdyno's counts over the whole test.
    ///
    /// Units are counted in the window only; over the whole test they are taken per op of the
    /// window.
    pub fn own(&self, name: &str) -> Option<f64> {
        let (total, window) = (&self.result.total, &self.result.window);
        match name {
            "ops" => Some(total.ops as f64),
            "rows" => Some(total.rows as f64),
            "commits" => Some(total.commits as f64),
            "hits" => Some(total.hits as f64),
            "units" if window.ops > 0 => {
                Some(self.result.units / window.ops as f64 * total.ops as f64)
            }
            _ => None,
        }
    }
    /// A counter's difference over the whole test; a gauge's least value; else a fact of the test.
    pub fn counter(&self, name: &str) -> Option<f64> {
        if GAUGES.contains(&name) {
            let values =
                self.result.snapshots.iter().filter_map(|snapshot| snapshot.counters.get(name));
            return values.reduce(f64::min);
        }
        if name == DEVICE_READ_BYTES {
            return device_read_bytes(&self.result.counters);
        }
        if name == ROW_LOCKS_SEEN {
            return self.result.waits.as_ref().map(row_locks);
        }
        if name == RATE_KEPT {
            return rate_kept(&self.result.series);
        }
        self.result.counters.get(name).or_else(|| self.result.facts.get(name).copied())
    }
    /// A numeric parameter.
    pub fn parameter(&self, name: &str) -> Option<f64> {
        self.result.params.get(name)?.parse().ok()
    }
    /// Divisor of a claim: 1 if there is none; `s` seconds, `job_s` seconds times jobs, dbdyno's
    /// counts, counters.
    pub fn divisor(&self, per: Option<&str>) -> Option<f64> {
        match per {
            None => Some(1.0),
            Some("s") => Some(self.result.total_s),
            Some("job_s") => Some(self.result.total_s * f64::from(self.result.jobs)),
            Some(name) => self.own(name).or_else(|| self.counter(name)),
        }
    }
    /// Evaluates what a counter must equal: dbdyno's counts win over parameters of the same name.
    ///
    /// # Errors
    /// As `Expr::eval`.
    pub fn equals(&self, expr: &Expr) -> Result<f64, String> {
        let mut facts = self.given.clone();
        facts.extend(self.counted.clone());
        expr.eval(&facts)
    }
    /// Evaluates an expression over counters, dbdyno's counts and facts; none if one is missing.
    pub fn over_counters(&self, expr: &Expr) -> Option<f64> {
        let mut facts: Facts = self.result.counters.0.clone();
        facts.extend(self.given.clone());
        facts.extend(self.counted.clone());
        expr.eval(&facts).ok()
    }
    /// Evaluates a bound: parameters win over dbdyno's counts of the same name.
    ///
    /// # Errors
    /// As `Expr::eval`.
    pub fn evaluate_bound(&self, expr: &Expr) -> Result<f64, String> {
        let mut facts = self.counted.clone();
        facts.extend(self.given.clone());
        expr.eval(&facts)
    }
    /// True if the claim says something about this test on this engine.
    pub fn applies(&self, claim: &Claim, engine: &str) -> bool {
        let listed =
            |list: &[String], name: &str| list.is_empty() || list.iter().any(|entry| entry == name);
        let empty = claim
            .when
            .as_ref()
            .is_some_and(|name| self.own(name).or_else(|| self.counter(name)) == Some(0.0));
        let too_small = claim
            .if_positive
            .as_ref()
            .and_then(|expr| self.over_counters(expr))
            .is_some_and(|rest| rest <= 0.0);
        let value = |name: &str| {
            let given = self.result.params.get(name).map(String::as_str);
            given.or_else(|| Wire::usual(name))
        };
        let chosen = claim
            .params
            .iter()
            .all(|(name, named)| value(name).is_some_and(|is| Claim::names(named, is)));
        listed(&claim.engines, engine)
            && listed(&claim.drives, self.result.drive.name())
            && chosen
            && !empty
            && !too_small
    }
}

/// Rate of the last quarter of the seconds as a ratio to that of the first quarter; none with too
/// few seconds. The seconds before the window count, too: a collapse may be over when the window
/// opens.
fn rate_kept(series: &[SeriesPoint]) -> Option<f64> {
    let whole = series.iter().filter(|point| point.interval_s > 0.5);
    let rates: Vec<f64> = whole.map(|point| point.ops / point.interval_s).collect();
    let quarter = rates.len() / 4;
    if rates.len() < MIN_SECONDS {
        return None;
    }
    let (first, last) = (mean(&rates[..quarter])?, mean(&rates[rates.len() - quarter..])?);
    (first > 0.0).then(|| last / first)
}

fn row_locks(waits: &Waits) -> f64 {
    let waiting =
        |seen: &&EventCount| seen.event.activity == Activity::RowLock && !seen.event.background;
    waits.events.iter().filter(waiting).map(|seen| seen.samples as f64).sum()
}

/// The claim's quotient in words: `physical_reads per ops`.
pub fn name(claim: &Claim) -> String {
    match &claim.per {
        Some(per) => format!("{} per {per}", claim.what),
        None => claim.what.clone(),
    }
}

/// The reason of a claim that does not hold; the code is `code` unless the claim has its own.
pub fn claim_reason(claim: &Claim, code: ReasonCode, sentence: Sentence) -> Reason {
    Reason::new(
        claim.status.unwrap_or(Status::Invalid),
        claim.code.clone().unwrap_or(code),
        sentence,
    )
}

/// Sentence for a claim that does not hold.
pub fn because(claim: &Claim) -> Sentence {
    Sentence::new(claim.because.as_str())
}

/// The note of a claim that cannot be checked.
pub fn unchecked_note(sentence: impl Into<Sentence>) -> Reason {
    Reason::new(Status::Valid, ReasonCode::Unchecked, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::{Event, Snapshot, SnapshotPoint};

    #[test]
    fn names_stand_for_the_whole_test() {
        let mut result = fixture::result();
        result.units = 3_800_000.0;
        result.params.insert("rpt".into(), "2".into());
        result.counters = fixture::counters(&[("wal_syncs", 7.0)]);
        let scope = Scope::new(&result);
        assert_eq!(scope.equals(&Expr("ops * rpt + jobs + small_rows".into())), Ok(272_002.0));
        assert_eq!(scope.own("units"), Some(4_560_000.0));
        assert_eq!((scope.divisor(None), scope.divisor(Some("s"))), (Some(1.0), Some(12.0)));
        assert_eq!(
            (scope.divisor(Some("job_s")), scope.divisor(Some("wal_syncs"))),
            (Some(24.0), Some(7.0))
        );
        assert_eq!(scope.divisor(Some("unknown")), None);
    }

    #[test]
    fn a_parameter_wins_in_bounds_and_a_count_in_what_a_counter_equals() {
        let mut result = fixture::result();
        result.params.insert("rows".into(), "320".into());
        let scope = Scope::new(&result);
        assert_eq!(scope.evaluate_bound(&Expr("rows".into())), Ok(320.0));
        assert_eq!(scope.evaluate_bound(&Expr("ops".into())), Ok(120_000.0));
        assert_eq!(scope.equals(&Expr("rows".into())), Ok(120_000.0));
    }

    #[test]
    fn sessions_seen_at_a_row_lock_are_those_of_jobs() {
        let mut result = fixture::result();
        assert_eq!(Scope::new(&result).counter(ROW_LOCKS_SEEN), None);
        let seen = |activity, background, samples| EventCount {
            event: Event { class: "Lock".into(), name: "tuple".into(), activity, background },
            samples,
            share: 0.1,
        };
        let events = vec![
            seen(Activity::RowLock, false, 5),
            seen(Activity::RowLock, true, 7),
            seen(Activity::LogSync, false, 11),
            seen(Activity::RowLock, false, 2),
        ];
        result.waits = Some(Waits { events, ..Waits::default() });
        assert_eq!(Scope::new(&result).counter(ROW_LOCKS_SEEN), Some(7.0));
    }

    #[test]
    fn a_rate_that_falls_is_told_by_its_seconds() {
        let mut result = fixture::result();
        let mut kept = |rates: &[f64]| {
            let point = |(at, ops): (usize, &f64)| SeriesPoint {
                t_s: at as f64 + 1.0,
                interval_s: 1.0,
                ops: *ops,
                units: *ops,
                errors: 0,
                p50_us: None,
                p99_us: None,
                max_us: None,
                response_p99_us: None,
                response_max_us: None,
                offered_per_s: None,
                behind: None,
                in_window: at > 1,
                metrics: Default::default(),
                sessions: Default::default(),
            };
            result.series = rates.iter().enumerate().map(point).collect();
            Scope::new(&result).counter(RATE_KEPT)
        };
        assert_eq!(kept(&[9000.0, 3000.0, 1000.0]), None);
        assert_eq!(
            kept(&[8500.0, 9500.0, 3000.0, 2000.0, 2000.0, 2000.0, 1000.0, 800.0]),
            Some(0.1)
        );
        assert_eq!(kept(&[500.0; 12]), Some(1.0));
        assert_eq!(kept(&[0.0; 12]), None);
    }

    #[test]
    fn a_gauge_is_its_least_value_and_what_is_0_makes_a_claim_moot() {
        let mut result = fixture::result();
        let durable = Claim { when: Some("durable".into()), ..Claim::default() };
        assert!(Scope::new(&result).applies(&durable, "one"));
        for (moment, value) in [(SnapshotPoint::Begin, 1.0), (SnapshotPoint::End, 0.0)] {
            let counters = fixture::counters(&[("durable", value)]);
            result.snapshots.push(Snapshot { moment, t_s: 0.0, counters, cost_ms: 0.0 });
        }
        let scope = Scope::new(&result);
        assert_eq!(scope.counter("durable"), Some(0.0));
        assert!(!scope.applies(&durable, "one"));
        assert!(scope.applies(&Claim::default(), "one"));
    }

    #[test]
    fn a_share_that_is_too_small_makes_a_claim_moot_and_one_that_is_unknown_does_not() {
        let mut result = fixture::result();
        let share = Some(Expr("physical_reads - 0.05 * logical_reads".into()));
        let from_device = Claim { if_positive: share, ..Claim::default() };
        for (physical_reads, applies) in [(3.0, false), (50.0, false), (51.0, true)] {
            result.counters =
                fixture::counters(&[("physical_reads", physical_reads), ("logical_reads", 1000.0)]);
            assert_eq!(Scope::new(&result).applies(&from_device, "one"), applies);
        }
        // An engine that does not count the reads of its cache.
        result.counters = fixture::counters(&[("physical_reads", 3.0)]);
        assert!(Scope::new(&result).applies(&from_device, "one"));
    }
}
