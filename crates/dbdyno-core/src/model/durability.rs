//! Durability of a test's commits, and its deferred work.

use serde::{Deserialize, Serialize};

/// Durability of the commits of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Commits waited for the device as often as it can write.
    Durable,
    /// Commits did not wait, because of the settings.
    Relaxed,
    /// Commits waited for less time than the device needs.
    Implausible,
}

impl Durability {
    /// Name as stored and printed.
    pub fn name(self) -> &'static str {
        match self {
            Durability::Durable => "durable",
            Durability::Relaxed => "relaxed",
            Durability::Implausible => "implausible",
        }
    }
}

/// Sustained rate of a test whose database deferred work: blocks to be written, log that a recovery
/// would read, dead rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SustainedRate {
    /// State of the rate: it lasts, or not.
    pub state: SustainedState,
    /// Seconds in which the database finished its deferred work, as fast as it could; absent if
    /// there was none, or not all of it was finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pay_back_s: Option<f64>,
    /// The KPM, in its unit, if no op is done in the time of the pay-back: what lasts at least.
    /// Absent for a burst, and for times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kpm_value: Option<f64>,
}

/// Fate of a test's deferred work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SustainedState {
    /// Nothing worth mentioning was left at the end of the test.
    Sustained,
    /// Deferred work was finished after the test, and its time is known.
    Accounted,
    /// Deferred work was not finished: it is unknown how long the rate can be sustained.
    Burst,
}

impl SustainedState {
    /// Name as stored and printed.
    pub fn name(self) -> &'static str {
        match self {
            SustainedState::Sustained => "sustained",
            SustainedState::Accounted => "accounted",
            SustainedState::Burst => "burst",
        }
    }
}
