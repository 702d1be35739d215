//! Every claim of contract and cross-check with the values found, also of those that hold: for the
//! page of a test.

use super::scope::{self, Scope};
use super::{contract, crosscheck};
use crate::model::{Claim, Expr, Reason, Sentence, Status, TestResult};

/// Claim with its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// `physical_reads per ops`.
    pub what: String,
    /// Measured value; absent if a counter is unknown, or for 0 / 0.
    pub value: Option<f64>,
    /// `at most 0.05`, `120000 within 0.5 %`.
    pub required: Sentence,
    /// Result of the check.
    pub outcome: Outcome,
    /// Meaning of a claim that does not hold.
    pub because: String,
}

/// Result of checking a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The workload met it.
    Holds,
    /// The claim could not be judged.
    Unchecked,
    /// The claim lowered the verdict to this.
    Broken(Status),
}

/// The claims of a contract that say something about this test on this engine.
pub fn of_contract(result: &TestResult, claims: &[Claim], engine: &str) -> Vec<Checked> {
    let scope = Scope::new(result);
    let one = |claim: &Claim| {
        let value = contract::claim_value(&scope, claim)
            .zip(scope.divisor(claim.per.as_deref()))
            .map(|(what, divisor)| what / divisor);
        let known = value.filter(|value| !value.is_nan());
        checked(
            claim,
            known,
            bounds(&scope, claim),
            contract::check(&scope, claim),
            value.is_some(),
        )
    };
    claims.iter().filter(|claim| scope.applies(claim, engine)).map(one).collect()
}

/// The claims of a cross-check that say something about this test on this engine.
pub fn of_crosscheck(result: &TestResult, claims: &[Claim], engine: &str) -> Vec<Checked> {
    let scope = Scope::new(result);
    let one = |claim: &Claim| {
        let value = scope.counter(&claim.what);
        let required = crosscheck::expected_value(&scope, claim);
        let required = required.map_or_else(Sentence::quoted, |expected| {
            let below = crosscheck::tolerance_below(result, claim, engine);
            let sentence = if below > crosscheck::TOLERANCE {
                Sentence::new("{expected}, at most {tolerance%} above and {below%} below")
                    .with("below", below)
            } else {
                Sentence::new("{expected} within {tolerance%}")
            };
            sentence.with("expected", expected).with("tolerance", crosscheck::TOLERANCE)
        });
        let reason = crosscheck::judge_claim(result, &scope, claim, engine);
        checked(claim, value, required, reason, value.is_some())
    };
    let named = |checked: Checked, claim: &Claim| Checked { what: claim.what.clone(), ..checked };
    claims
        .iter()
        .filter(|claim| scope.applies(claim, engine))
        .map(|claim| named(one(claim), claim))
        .collect()
}

fn checked(
    claim: &Claim,
    value: Option<f64>,
    required: Sentence,
    reason: Option<Reason>,
    is_known: bool,
) -> Checked {
    let outcome = match reason {
        Some(reason) if reason.status > Status::Valid => Outcome::Broken(reason.status),
        None if is_known => Outcome::Holds,
        _ => Outcome::Unchecked,
    };
    Checked { what: scope::name(claim), value, required, outcome, because: claim.because.clone() }
}

/// The bounds in words, evaluated for this test.
fn bounds(scope: &Scope<'_>, claim: &Claim) -> Sentence {
    let bound = |word: &str, expr: &Option<Expr>| {
        let value = scope.evaluate_bound(expr.as_ref()?);
        Some(value.map_or_else(Sentence::quoted, |value| Sentence::new(word).with("limit", value)))
    };
    match (bound("at least {limit}", &claim.min), bound("at most {limit}", &claim.max)) {
        (Some(least), Some(most)) => {
            Sentence::new("{least}, {most}").with("least", least).with("most", most)
        }
        (one, other) => one.or(other).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;

    fn claim(what: &str) -> Claim {
        Claim { what: what.into(), because: "not cached".into(), ..Claim::default() }
    }

    #[test]
    fn a_contract_shows_its_value_also_where_it_holds() {
        let mut result = fixture::result();
        result.counters = fixture::counters(&[("physical_reads", 6000.0)]);
        let cached = |max: &str| Claim {
            per: Some("ops".into()),
            max: Some(Expr(max.into())),
            ..claim("physical_reads")
        };
        let found = of_contract(&result, &[cached("0.1"), cached("0.01"), claim("unknown")], "one");
        let outcomes: Vec<_> = found.iter().map(|checked| checked.outcome).collect();
        assert_eq!(
            outcomes,
            [Outcome::Holds, Outcome::Broken(Status::Invalid), Outcome::Unchecked]
        );
        assert_eq!(
            (found[0].what.as_str(), found[0].value),
            ("physical_reads per ops", Some(0.05))
        );
        assert_eq!(
            (found[0].required.to_string().as_str(), found[2].value),
            ("at most 0.100", None)
        );
    }

    #[test]
    fn a_claim_about_a_parameter_is_checked() {
        let mut result = fixture::result();
        result.params.insert("relaxed".into(), "1".into());
        let waited = Claim { max: Some(Expr("0".into())), ..claim("relaxed") };
        let found = of_contract(&result, &[waited], "one");
        assert_eq!(
            (found[0].value, found[0].outcome),
            (Some(1.0), Outcome::Broken(Status::Invalid))
        );
        result.params.insert("relaxed".into(), "0".into());
        let held = Claim { max: Some(Expr("0".into())), ..claim("relaxed") };
        assert_eq!(of_contract(&result, &[held], "one")[0].outcome, Outcome::Holds);
    }

    #[test]
    fn a_cross_check_shows_what_the_counter_must_be() {
        let mut result = fixture::result();
        result.counters = fixture::counters(&[("index_scans", 60_000.0)]);
        let lookups = |what: &str| Claim { equals: Some(Expr("ops".into())), ..claim(what) };
        let found = of_crosscheck(&result, &[lookups("index_scans"), lookups("unknown")], "one");
        assert_eq!(found[0].required.to_string(), "120000 within 0.500 %");
        let outcomes: Vec<_> =
            found.iter().map(|checked| (checked.value, checked.outcome)).collect();
        assert_eq!(
            outcomes,
            [(Some(60_000.0), Outcome::Broken(Status::Invalid)), (None, Outcome::Unchecked)]
        );
        let losing = Claim { counted_without_lock: vec!["one".into()], ..lookups("index_scans") };
        let required = of_crosscheck(&result, &[losing], "one").pop().unwrap().required;
        assert_eq!(required.to_string(), "120000, at most 0.500 % above and 20 % below");
        let elsewhere = Claim { engines: vec!["other".into()], ..lookups("index_scans") };
        assert_eq!(of_crosscheck(&result, &[elsewhere], "one"), []);
    }
}
