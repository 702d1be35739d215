//! The cross-check: dbdyno's counts against the database's counters, over the whole test (gate to
//! end).

use serde::Serialize;

use super::scope::{self, Scope, unchecked_note};
use crate::model::{Claim, Drive, Reason, ReasonCode, Sentence, Status, TestResult};

/// Before the name of a counter that the sessions of jobs read themselves (block `session-counts`
/// of the probes).
pub const OF_JOBS: &str = "job_";
/// Largest difference as a fraction of the expected value.
pub const TOLERANCE: f64 = 0.005;
/// Events that any counter may have missed.
const MISSED_EVENTS: f64 = 2.0;
/// Largest fraction of the events that a counter without a lock may lose while several jobs work: a
/// thread that is interrupted between reading and writing the counter reverts what the others
/// counted in between. The limit is chosen, not measured: 0.5 % has been seen on two CPUs.
const LOST_WITHOUT_LOCK: f64 = 0.2;
/// Number of events that one reading of the probe may cause in a counter between begin and end (its
/// own statements, rows and index lookups in the system catalog).
const EVENTS_PER_READING: f64 = 10.0;
/// Events of any counter that one job may cause per second beside its ops (the call of a slice, its
/// end).
const EVENTS_PER_JOB_SECOND: f64 = 2.0;

/// Longest slice of the database drive, in seconds; with room for a rate that varies by half.
const MAX_SLICE_S: f64 = 1.5;

/// Transactions that the sessions of a test cause beside its ops: connecting, preparing, setting
/// up. A server may count them late, when the test has begun.
const SESSION_TRANSACTIONS: f64 = 40.0;
const TRANSACTIONS_PER_JOB: f64 = 20.0;

/// The reasons that follow from the cross-checks: `crosscheck` (invalid) if a counter differs. One
/// note `unchecked` (valid) if none could be made; engines count different things, so one that was
/// made is enough.
///
/// `what` of a claim is the database's counter (also `commits`); `per` and the names in `equals`
/// are dbdyno's counts. The counter may differ by 0.5 %, or by two events; where the engine counts
/// without a lock and several jobs work, it may be 20 % below. It may exceed the expected value
/// further by what is not ops: statements of the probe and of slices, failed ops that got part of
/// the way, and slices that an error ended (see [`lost_ops`]).
pub fn judge(result: &TestResult, claims: &[Claim], engine: &str) -> Vec<Reason> {
    let scope = Scope::new(result);
    let applying = claims.iter().filter(|claim| scope.applies(claim, engine));
    let judged = applying.map(|claim| check(result, &scope, claim, engine));
    let checks: Vec<Check> = judged.collect();
    let made = checks.iter().any(|check| matches!(check, Check::Made(_)));
    let missing: Vec<&str> = checks.iter().filter_map(Check::missing).collect();
    let sentence = Sentence::new("nothing could be cross-checked, not known here: {names}");
    let note = (!made && !missing.is_empty())
        .then(|| unchecked_note(sentence.with("names", missing.join(", "))));
    checks.into_iter().filter_map(Check::reason).chain(note).collect()
}

/// Result of checking a claim.
enum Check<'a> {
    /// Compared, with the reason if they differ.
    Made(Option<Reason>),
    /// The counter of this name is missing.
    Missing(&'a str),
    /// The claim itself is wrong.
    Unusable(Sentence),
}

impl<'a> Check<'a> {
    fn missing(&self) -> Option<&'a str> {
        match self {
            Check::Missing(name) => Some(name),
            Check::Made(_) | Check::Unusable(_) => None,
        }
    }
    fn reason(self) -> Option<Reason> {
        match self {
            Check::Made(reason) => reason,
            Check::Missing(_) => None,
            Check::Unusable(sentence) => Some(unchecked_note(sentence)),
        }
    }
}

/// Counter of the database, with its value as counted and as dbdyno's counts require it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedCounter {
    /// Name of the counter.
    pub counter: String,
    /// Growth of the counter.
    pub counted: f64,
    /// Growth that dbdyno's counts predict.
    pub expected: f64,
}

/// Counters that can be compared, each with its expected value.
pub(super) fn compared_counters(
    result: &TestResult,
    claims: &[Claim],
    engine: &str,
) -> Vec<ComparedCounter> {
    let scope = Scope::new(result);
    let applying = claims.iter().filter(|claim| scope.applies(claim, engine));
    let one = |claim: &Claim| {
        let (counted, expected) =
            (scope.counter(&claim.what)?, expected_value(&scope, claim).ok()?);
        Some(ComparedCounter { counter: claim.what.clone(), counted, expected })
    };
    applying.filter_map(one).collect()
}

/// Reason that a claim with a known counter gives; none if it holds.
pub(super) fn judge_claim(
    result: &TestResult,
    scope: &Scope<'_>,
    claim: &Claim,
    engine: &str,
) -> Option<Reason> {
    check(result, scope, claim, engine).reason()
}

fn check<'a>(result: &TestResult, scope: &Scope<'_>, claim: &'a Claim, engine: &str) -> Check<'a> {
    let Some(counted) = scope.counter(&claim.what) else {
        return Check::Missing(&claim.what);
    };
    match expected_value(scope, claim) {
        Err(why) => {
            let sentence = Sentence::new("cross-check of {what} not made: {why}");
            Check::Unusable(sentence.with("what", claim.what.as_str()).with("why", why))
        }
        Ok(expected) => {
            let least = 1.0 - tolerance_below(result, claim, engine);
            let is_lost = counted < expected && counted >= expected * least;
            let is_broken = !is_lost && differs(result, &claim.what, counted, expected);
            Check::Made(is_broken.then(|| {
                of_others(result, claim, counted, expected)
                    .unwrap_or_else(|| broken(claim, counted, expected))
            }))
        }
    }
}

/// Fraction of the expected events that may be missing in the counter of a claim.
pub(super) fn tolerance_below(result: &TestResult, claim: &Claim, engine: &str) -> f64 {
    let loses = claim.counted_without_lock.iter().any(|name| name == engine);
    if loses && result.jobs > 1 { LOST_WITHOUT_LOCK } else { TOLERANCE }
}

/// Expected value of the counter: `equals` times the divisor.
pub(super) fn expected_value(scope: &Scope<'_>, claim: &Claim) -> Result<f64, String> {
    let equals = claim.equals.as_ref().ok_or("the claim has no 'equals'")?;
    let per = claim.per.as_deref();
    let divisor = scope
        .divisor(per)
        .ok_or_else(|| format!("{} is not known here", per.unwrap_or_default()))?;
    Ok(scope.equals(equals)? * divisor)
}

/// Reason if the jobs' own sessions counted the expected value and the database more: other
/// sessions work in it, too.
fn of_others(result: &TestResult, claim: &Claim, counted: f64, expected: f64) -> Option<Reason> {
    let own = result.counters.get(&format!("{OF_JOBS}{}", claim.what))?;
    let is_others = counted > own && !differs(result, &claim.what, own, expected);
    let sentence = Sentence::new(
        "other sessions made {others} of the {counted} {what} that the database \
                       counted, ours {own}",
    )
    .with("others", counted - own)
    .with("counted", counted)
    .with("what", claim.what.as_str())
    .with("own", own);
    is_others.then(|| Reason::new(Status::Conditional, ReasonCode::ForeignLoad, sentence))
}

fn differs(result: &TestResult, what: &str, counted: f64, expected: f64) -> bool {
    let relative = expected.abs() * TOLERANCE;
    let sessions = if what == "commits" {
        SESSION_TRANSACTIONS + TRANSACTIONS_PER_JOB * f64::from(result.jobs)
    } else {
        0.0
    };
    counted < expected - relative.max(MISSED_EVENTS)
        || counted > expected + relative + slack(result, expected) + sessions
}

/// Events beyond the expected ones that are not ops.
fn slack(result: &TestResult, expected: f64) -> f64 {
    let readings = (result.snapshots.len() + result.series.len()) as f64;
    let per_op = if result.total.ops > 0 { expected.abs() / result.total.ops as f64 } else { 1.0 };
    EVENTS_PER_READING * readings
        + EVENTS_PER_JOB_SECOND * f64::from(result.jobs) * (result.total_s + 1.0)
        + lost_ops(result) * per_op
}

/// Maximum number of ops that the database may have counted and dbdyno did not: the failed ones
/// and, on the in-database drive, whole slices, since a routine that ends in an error cannot report
/// what it did before. A slice is assumed to be as long as slices can be.
fn lost_ops(result: &TestResult) -> f64 {
    let errors = result.total.error_count() as f64;
    match result.drive {
        Drive::Database if result.total.busy_s > 0.0 => {
            errors * (1.0 + MAX_SLICE_S * result.total.ops as f64 / result.total.busy_s)
        }
        Drive::Client | Drive::Database => errors,
    }
}

fn broken(claim: &Claim, counted: f64, expected: f64) -> Reason {
    let sentence = match expected {
        0.0 => "the database counted {counted} {what}, we expect {expected}: {because}",
        _ => {
            "the database counted {counted} {what}, we expect {expected} ({difference%}): {because}"
        }
    };
    let sentence = Sentence::new(sentence)
        .with("counted", counted)
        .with("what", claim.what.as_str())
        .with("expected", expected)
        .with("difference", counted / expected - 1.0)
        .with("because", scope::because(claim));
    scope::claim_reason(claim, ReasonCode::Crosscheck, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::{Expr, Status};

    fn claim(what: &str, per: Option<&str>, equals: &str) -> Claim {
        Claim {
            what: what.into(),
            per: per.map(String::from),
            equals: Some(Expr(equals.into())),
            because: "ops were lost".into(),
            ..Claim::default()
        }
    }

    fn status(counted: f64, claim: &Claim, errors: u64) -> Option<(Status, String)> {
        let mut result = fixture::result();
        result.total.commits = 120_000;
        result.total.errors.insert("deadlock".into(), errors);
        result.counters = fixture::counters(&[(&claim.what, counted)]);
        let reason = judge(&result, std::slice::from_ref(claim), "one").pop()?;
        Some((reason.status, format!("{}: {}", reason.code, reason.text)))
    }

    #[test]
    fn half_a_percent_below_and_the_slack_above_are_allowed() {
        // 120000 ops: 600 of tolerance; slack 12 readings x 10 + 2 jobs x 13 s x 2 = 172.
        let lookups = claim("index_scans", None, "ops");
        for (counted, fine) in
            [(119_400.0, true), (119_399.0, false), (120_772.0, true), (120_773.0, false)]
        {
            assert_eq!(status(counted, &lookups, 0).is_none(), fine, "{counted}");
        }
        let (invalid, text) = status(60_000.0, &lookups, 0).unwrap();
        assert_eq!(invalid, Status::Invalid);
        let expected = "crosscheck: the database counted 60000 index_scans, we expect 120000 (-50 \
                        %): ops were lost";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_counter_without_a_lock_may_lose_events_where_several_jobs_work() {
        let commits =
            Claim { counted_without_lock: vec!["one".into()], ..claim("commits", None, "commits") };
        // Of 120000 events 20 % may be lost; too many are as wrong as for other counters.
        for (counted, fine) in [(96_000.0, true), (95_999.0, false), (121_000.0, false)] {
            assert_eq!(status(counted, &commits, 0).is_none(), fine, "{counted}");
        }
        let mut result = fixture::result();
        (result.jobs, result.total.commits) = (1, 120_000);
        result.counters = fixture::counters(&[("commits", 119_000.0)]);
        let lost = |result: &TestResult, engine| {
            !judge(result, std::slice::from_ref(&commits), engine).is_empty()
        };
        assert!(lost(&result, "one"), "one job alone loses nothing");
        result.jobs = 2;
        assert!(!lost(&result, "one"));
        assert!(lost(&result, "other"), "another engine has a lock");
    }

    #[test]
    fn what_other_sessions_did_is_told_apart_where_the_jobs_count_themselves() {
        let lookups = claim("index_scans", None, "ops");
        let judge_counts = |all: f64, of_jobs: f64| {
            let mut result = fixture::result();
            result.counters =
                fixture::counters(&[("index_scans", all), ("job_index_scans", of_jobs)]);
            judge(&result, std::slice::from_ref(&lookups), "one").pop()
        };
        assert_eq!(judge_counts(120_100.0, 120_000.0), None);
        let reason = judge_counts(180_000.0, 120_010.0).unwrap();
        assert_eq!((reason.status, reason.code), (Status::Conditional, ReasonCode::ForeignLoad));
        assert_eq!(
            reason.text,
            "other sessions made 59990 of the 180000 index_scans that the database counted, ours \
             120010"
        );
        for (all, of_jobs) in [(180_000.0, 180_000.0), (60_000.0, 120_000.0)] {
            assert_eq!(
                judge_counts(all, of_jobs).unwrap().code,
                ReasonCode::Crosscheck,
                "{all} {of_jobs}"
            );
        }
    }

    #[test]
    fn two_events_may_be_missed_of_however_few() {
        let mut result = fixture::result();
        (result.total.ops, result.total.commits) = (169, 169);
        let is_fine = |counted| judged_at(&result, counted).is_none();
        assert_eq!([169.0, 167.0, 166.0].map(is_fine), [true, true, false]);
    }

    fn judged_at(result: &TestResult, counted: f64) -> Option<Reason> {
        let result =
            TestResult { counters: fixture::counters(&[("commits", counted)]), ..result.clone() };
        judge(&result, &[claim("commits", None, "commits")], "one").pop()
    }

    #[test]
    fn commits_are_the_databases_against_ours_and_failed_ops_may_be_counted() {
        let commits = claim("commits", None, "commits");
        assert!(status(120_900.0, &commits, 0).is_some());
        assert_eq!(status(120_900.0, &commits, 200), None);
        assert!(status(119_000.0, &commits, 2000).is_some());
    }

    #[test]
    fn a_lost_slice_hides_at_most_its_ops() {
        let mut result = fixture::result();
        result.drive = Drive::Database;
        (result.total.ops, result.total.busy_s) = (120_000, 24.0);
        assert_eq!(lost_ops(&result), 0.0);
        result.total.errors.insert("deadlock".into(), 2);
        // 5000 ops per second and job: two slices of 1.5 s and the two failed ops.
        assert_eq!(lost_ops(&result), 15_002.0);
        result.drive = Drive::Client;
        assert_eq!(lost_ops(&result), 2.0);
    }

    #[test]
    fn a_divisor_multiplies_what_is_expected() {
        // 25 rows per op: 3,000,000.
        assert_eq!(status(3_000_000.0, &claim("rows_fetched", Some("ops"), "25"), 0), None);
        assert!(status(2_900_000.0, &claim("rows_fetched", Some("ops"), "25"), 0).is_some());
    }

    #[test]
    fn one_note_says_that_nothing_could_be_checked() {
        let mut result = fixture::result();
        let claims = [claim("index_scans", None, "ops"), claim("statements_run", None, "ops")];
        let note = judge(&result, &claims, "other").pop().unwrap();
        let text = "nothing could be cross-checked, not known here: index_scans, statements_run";
        assert_eq!(
            (note.status, note.code.as_str(), note.text.as_str()),
            (Status::Valid, "unchecked", text)
        );
        result.counters = fixture::counters(&[("statements_run", 120_000.0)]);
        assert_eq!(judge(&result, &claims, "other"), []);
        let (valid, text) = status(1.0, &claim("index_scans", None, "nothing"), 0).unwrap();
        assert!(valid == Status::Valid && text.contains("'nothing'"), "{text}");
    }
}
