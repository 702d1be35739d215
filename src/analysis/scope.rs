//! What the names in a claim stand for, over a whole test (gate to end).

use crate::model::{Claim, Expr, Facts, Reason, Status, TestResult};

/// Our own counts that a claim may name.
const OWN: [&str; 4] = ["ops", "rows", "commits", "units"];

/// The names of one test: data set facts, numeric parameters, `jobs`, our own counts, counters.
pub struct Scope<'a> {
    result: &'a TestResult,
    facts: Facts,
}

impl<'a> Scope<'a> {
    /// The scope of a result. Facts of the result win over parameters of the same name.
    pub fn new(result: &'a TestResult) -> Self {
        let number = |(name, text): (&String, &String)| Some((name.clone(), text.parse().ok()?));
        let mut facts: Facts = result.params.iter().filter_map(number).collect();
        facts.extend(result.facts.clone());
        facts.insert("jobs".into(), f64::from(result.jobs));
        let scope = Scope { result, facts: Facts::new() };
        facts.extend(OWN.iter().filter_map(|&name| Some((name.to_string(), scope.own(name)?))));
        Scope { facts, ..scope }
    }
    /// One of our own counts over the whole test.
    ///
    /// Units are counted in the window only; over the whole test they are taken per op of the window.
    pub fn own(&self, name: &str) -> Option<f64> {
        let (total, window) = (&self.result.total, &self.result.window);
        match name {
            "ops" => Some(total.ops as f64),
            "rows" => Some(total.rows as f64),
            "commits" => Some(total.commits as f64),
            "units" if window.ops > 0 => Some(self.result.units / window.ops as f64 * total.ops as f64),
            _ => None,
        }
    }
    /// A counter's difference over the whole test.
    pub fn counter(&self, name: &str) -> Option<f64> {
        self.result.counters.get(name)
    }
    /// The divisor of a claim: 1 if there is none; `s` seconds, `job_s` seconds times jobs, our own counts, counters.
    pub fn divisor(&self, per: Option<&str>) -> Option<f64> {
        match per {
            None => Some(1.0),
            Some("s") => Some(self.result.total_s),
            Some("job_s") => Some(self.result.total_s * f64::from(self.result.jobs)),
            Some(name) => self.own(name).or_else(|| self.counter(name)),
        }
    }
    /// Evaluates an expression over the facts and our own counts.
    ///
    /// # Errors
    /// As `Expr::eval`.
    pub fn eval(&self, expr: &Expr) -> Result<f64, String> {
        expr.eval(&self.facts)
    }
}

/// True if the claim holds for this engine and the test's drive.
pub fn applies(claim: &Claim, result: &TestResult, engine: &str) -> bool {
    let listed = |list: &[String], name: &str| list.is_empty() || list.iter().any(|entry| entry == name);
    listed(&claim.engines, engine) && listed(&claim.drives, result.drive.name())
}

/// The claim's quotient in words: `physical_reads per ops`.
pub fn name(claim: &Claim) -> String {
    match &claim.per {
        Some(per) => format!("{} per {per}", claim.what),
        None => claim.what.clone(),
    }
}

/// The note of a claim that cannot be checked.
pub fn unchecked(text: String) -> Reason {
    Reason { status: Status::Valid, code: "unchecked".into(), text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;

    #[test]
    fn names_stand_for_the_whole_test() {
        let mut result = fixture::result();
        result.units = 3_800_000.0;
        result.params.insert("rpt".into(), "2".into());
        result.counters = fixture::counters(&[("wal_syncs", 7.0)]);
        let scope = Scope::new(&result);
        assert_eq!(scope.eval(&Expr("ops * rpt + jobs + small_rows".into())), Ok(272_002.0));
        assert_eq!(scope.own("units"), Some(4_560_000.0));
        assert_eq!((scope.divisor(None), scope.divisor(Some("s"))), (Some(1.0), Some(12.0)));
        assert_eq!((scope.divisor(Some("job_s")), scope.divisor(Some("wal_syncs"))), (Some(24.0), Some(7.0)));
        assert_eq!(scope.divisor(Some("unknown")), None);
    }
}
