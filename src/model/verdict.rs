//! Verdicts: whether a number means what it says, with the reasons.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How far a KPM can be trusted. Ordered: the worst reason decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Valid,
    Conditional,
    Invalid,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Status::Valid => "valid",
            Status::Conditional => "conditional",
            Status::Invalid => "invalid",
        })
    }
}

/// One reason of a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// What the verdict is because of this reason alone.
    pub status: Status,
    /// Stable short code: `crosscheck`, `contract`, `errors`, `steal`, `client-limit`, `little`, `samples`, `not-steady`,
    /// `clock-step`, `unchecked`.
    pub code: String,
    /// One sentence with the figures.
    pub text: String,
}

impl Reason {
    /// A reason; its text is one sentence with the figures.
    pub fn new(status: Status, code: &str, text: impl Into<String>) -> Self {
        Reason { status, code: code.into(), text: text.into() }
    }
}

/// The verdict on a test's KPMs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub status: Status,
    /// Reasons that lowered the verdict, worst first; then notes (status valid) that did not.
    pub reasons: Vec<Reason>,
}

impl Verdict {
    /// The verdict that follows from `reasons`: the worst of them; valid if there are none.
    pub fn from_reasons(mut reasons: Vec<Reason>) -> Self {
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.status));
        let status = reasons.first().map_or(Status::Valid, |worst| worst.status);
        Verdict { status, reasons }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_reason_decides_and_stands_first() {
        let reason = |status, code: &str| Reason::new(status, code, "");
        let verdict = Verdict::from_reasons(vec![
            reason(Status::Valid, "note"),
            reason(Status::Invalid, "errors"),
            reason(Status::Conditional, "steal"),
        ]);
        assert_eq!(verdict.status, Status::Invalid);
        assert_eq!(verdict.reasons[0].code, "errors");
        assert_eq!(Verdict::from_reasons(vec![]).status, Status::Valid);
    }
}
