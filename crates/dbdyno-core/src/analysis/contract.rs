//! The contract: what must be true if the workload stressed what it claims to stress. Evaluated
//! from counters in every test.

use super::scope::{self, Scope, unchecked_note};
use crate::model::{Claim, Expr, Reason, ReasonCode, Sentence, TestResult};

/// A bound is broken only beyond this fraction of it: background work of the engine is not ours.
const TOLERANCE: f64 = 0.005;

/// Reasons that follow from the contract: `contract` (invalid), or the code that the claim states,
/// for a broken claim, and a note `unchecked` (valid) for a claim whose counter is missing. A claim
/// of `max` about nothing (0 / 0) holds.
///
/// In a contract `ops`, `rows`, `commits` and `units` are dbdyno's counts; other names are
/// counters, or else parameters.
pub fn judge(result: &TestResult, claims: &[Claim], engine: &str) -> Vec<Reason> {
    let scope = Scope::new(result);
    let applying = claims.iter().filter(|claim| scope.applies(claim, engine));
    applying.filter_map(|claim| check(&scope, claim)).collect()
}

/// The value that a claim is about, before it is divided.
pub(super) fn claim_value(scope: &Scope<'_>, claim: &Claim) -> Option<f64> {
    let counted = scope.own(&claim.what).or_else(|| scope.counter(&claim.what));
    counted.or_else(|| scope.parameter(&claim.what))
}

/// Reason that a claim gives; none if it holds.
pub(super) fn check(scope: &Scope<'_>, claim: &Claim) -> Option<Reason> {
    let missing = |name: &str| {
        let sentence = Sentence::new("contract not checked, {name} is not known here ({because})");
        unchecked_note(sentence.with("name", name).with("because", scope::because(claim)))
    };
    let Some(what) = claim_value(scope, claim) else {
        return Some(missing(&claim.what));
    };
    let per = claim.per.as_deref();
    match scope.divisor(per) {
        None => Some(missing(per.unwrap_or_default())),
        Some(0.0) if what == 0.0 && claim.min.is_none() => None,
        Some(0.0) if what == 0.0 => Some(unchecked_note(
            Sentence::new("contract not checked, {what} is 0 / 0").with("what", scope::name(claim)),
        )),
        Some(divisor) => bounds(scope, claim, what / divisor)
            .unwrap_or_else(|why| Some(unchecked_note(Sentence::quoted(why)))),
    }
}

/// Checks `min` and `max` of a claim; an infinite quotient (a divisor of 0) breaks any `max`.
fn bounds(scope: &Scope<'_>, claim: &Claim, quotient: f64) -> Result<Option<Reason>, String> {
    let bound =
        |expr: &Option<Expr>| expr.as_ref().map(|expr| scope.evaluate_bound(expr)).transpose();
    let max = bound(&claim.max)?.filter(|max| quotient > max + max.abs() * TOLERANCE);
    let min = bound(&claim.min)?.filter(|min| quotient < min - min.abs() * TOLERANCE);
    let sentence = match (max, min) {
        (Some(max), _) => {
            Sentence::new("{found}, must be at most {limit}: {because}").with("limit", max)
        }
        (None, Some(min)) => {
            Sentence::new("{found}, must be at least {limit}: {because}").with("limit", min)
        }
        (None, None) => return Ok(None),
    };
    let sentence =
        sentence.with("found", found(claim, quotient)).with("because", scope::because(claim));
    Ok(Some(scope::claim_reason(claim, ReasonCode::Contract, sentence)))
}

fn found(claim: &Claim, quotient: f64) -> Sentence {
    let sentence = match claim.per.as_deref() {
        Some("wal_syncs") if quotient.is_infinite() => Sentence::new(
            "{what} but not one log sync counted (fsync is off, or the engine does not count its \
             syncs)",
        ),
        Some(per) if quotient.is_infinite() => {
            Sentence::new("{what} but no {per} at all").with("per", per)
        }
        Some(per) => Sentence::new("{what} per {per} = {quotient}")
            .with("per", per)
            .with("quotient", quotient),
        None => Sentence::new("{what} = {quotient}").with("quotient", quotient),
    };
    sentence.with("what", claim.what.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::Status;

    #[test]
    fn a_claim_may_be_about_a_parameter() {
        let mut result = fixture::result();
        result.params.insert("relaxed".into(), "1".into());
        let relaxed = claim("relaxed", None, None, Some("0"));
        let found = judge(&result, std::slice::from_ref(&relaxed), "one");
        assert_eq!(found[0].text, "relaxed = 1, must be at most 0: the table was not cached");
        result.params.insert("relaxed".into(), "0".into());
        assert_eq!(judge(&result, &[relaxed], "one"), []);
    }

    fn claim(what: &str, per: Option<&str>, min: Option<&str>, max: Option<&str>) -> Claim {
        Claim {
            what: what.into(),
            per: per.map(String::from),
            min: min.map(|text| Expr(text.into())),
            max: max.map(|text| Expr(text.into())),
            because: "the table was not cached".into(),
            ..Claim::default()
        }
    }

    fn reasons(counters: &[(&str, f64)], claim: Claim) -> Vec<(Status, String)> {
        let mut result = fixture::result();
        result.total.commits = 120_000;
        result.counters = fixture::counters(counters);
        let found = judge(&result, &[claim], "one");
        found
            .into_iter()
            .map(|reason| (reason.status, format!("{}: {}", reason.code, reason.text)))
            .collect()
    }

    #[test]
    fn a_quotient_over_its_maximum_breaks_the_contract() {
        let cached = || claim("physical_reads", Some("ops"), None, Some("0.05"));
        // 6000 / 120000 ops = 0.05 is just allowed, 6600 is 0.055.
        assert_eq!(reasons(&[("physical_reads", 6000.0)], cached()), []);
        let broken = reasons(&[("physical_reads", 6600.0)], cached());
        let text = "contract: physical_reads per ops = 0.055, must be at most 0.050: the table was \
                    not cached";
        assert_eq!(broken, [(Status::Invalid, text.to_string())]);
    }

    #[test]
    fn a_quotient_under_its_minimum_breaks_the_contract() {
        let read = || claim("os_disk_reads", Some("s"), Some("small_rows / 320"), None);
        assert_eq!(reasons(&[("os_disk_reads", 1200.0)], read()), []);
        assert_eq!(reasons(&[("os_disk_reads", 1100.0)], read())[0].0, Status::Invalid);
    }

    #[test]
    fn a_missing_counter_is_a_note() {
        for per in [Some("ops"), Some("logical_reads")] {
            let what = if per == Some("ops") { "physical_reads" } else { "ops" };
            let notes = reasons(&[], claim(what, per, None, Some("1")));
            assert_eq!(notes[0].0, Status::Valid);
            assert!(notes[0].1.starts_with("unchecked: contract not checked"), "{notes:?}");
        }
        let notes = reasons(
            &[("physical_reads", 1.0)],
            claim("physical_reads", None, None, Some("no_fact")),
        );
        assert!(notes[0].0 == Status::Valid && notes[0].1.contains("no_fact"), "{notes:?}");
    }

    #[test]
    fn commits_per_log_sync_are_limited_by_the_jobs() {
        let durable = || claim("commits", Some("wal_syncs"), None, Some("jobs"));
        assert_eq!(reasons(&[("wal_syncs", 60_000.0)], durable()), []);
        assert_eq!(reasons(&[("wal_syncs", 50_000.0)], durable())[0].0, Status::Invalid);
        let unsynced = reasons(&[("wal_syncs", 0.0)], durable());
        assert!(
            unsynced[0].0 == Status::Invalid && unsynced[0].1.contains("not one log sync"),
            "{unsynced:?}"
        );
    }

    #[test]
    fn zero_per_zero_and_other_engines_or_drives_break_nothing() {
        let nothing = [("a", 0.0), ("b", 0.0)];
        assert_eq!(reasons(&nothing, claim("a", Some("b"), None, Some("1"))), []);
        assert_eq!(reasons(&nothing, claim("a", Some("b"), Some("1"), None))[0].0, Status::Valid);
        let elsewhere =
            Claim { engines: vec!["other".into()], ..claim("ops", None, None, Some("0")) };
        assert_eq!(reasons(&[], elsewhere), []);
        let inside =
            Claim { drives: vec!["database".into()], ..claim("ops", None, None, Some("0")) };
        assert_eq!(reasons(&[], inside), []);
    }

    #[test]
    fn a_claim_may_lower_the_verdict_less_and_under_a_code_of_its_own() {
        let burst = Claim {
            status: Some(Status::Conditional),
            code: Some(ReasonCode::Burst),
            ..claim("checkpoints", None, Some("1"), None)
        };
        let found = reasons(&[("checkpoints", 0.0)], burst.clone());
        assert!(
            found[0].0 == Status::Conditional && found[0].1.starts_with("burst: checkpoints = 0"),
            "{found:?}"
        );
        assert_eq!(reasons(&[("checkpoints", 1.0)], burst), []);
    }
}
