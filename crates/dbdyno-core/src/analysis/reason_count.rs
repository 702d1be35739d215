//! Reasons of several tests, each with their number.

use serde::{Serialize, Serializer};

use crate::model::ReasonCode;

/// A reason of trials, and how many of them have it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReasonCount {
    /// The reason.
    #[serde(serialize_with = "as_code")]
    pub code: ReasonCode,
    /// Number of trials that have it.
    pub trials: usize,
}

fn as_code<S: Serializer>(code: &ReasonCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(code.as_str())
}

/// Counts one more trial with this reason.
pub(super) fn count(counted: &mut Vec<ReasonCount>, code: ReasonCode) {
    match counted.iter_mut().find(|known| known.code == code) {
        Some(known) => known.trials += 1,
        None => counted.push(ReasonCount { code, trials: 1 }),
    }
}
