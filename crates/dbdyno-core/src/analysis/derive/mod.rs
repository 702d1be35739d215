//! The columns of the KPM reports, derived from a result's counters. MB = 10^6 bytes. A figure that
//! cannot be had carries the reason, for a footnote; it is never 0.

mod definitions;
mod formulas;

use super::published;
use crate::model::{Sentence, Test, TestResult};
use definitions::DEFINITIONS;

/// Fact with the size of a database block in bytes, for MB/s from block counts.
pub const BLOCK_BYTES: &str = "block_bytes";

/// A value, or why it cannot be had.
type Value = Result<f64, Sentence>;

/// One derived figure, of many that a test has.
#[derive(Debug, Clone, PartialEq)]
pub struct Detail {
    /// Stable name with its unit, as in JSON: `cpu_busy_pct`.
    pub id: &'static str,
    /// Column header: `CPU busy`.
    pub title: &'static str,
    /// Unit as printed: `%`.
    pub unit: &'static str,
    /// The value, or the reason for its absence (for a footnote).
    pub value: Result<f64, Sentence>,
}

/// All derived figures of a result, in the order of the reports.
#[derive(Debug, Clone, PartialEq)]
pub struct Derived(pub Vec<Detail>);

impl Derived {
    /// The figure of this id.
    pub fn figure(&self, id: &str) -> Option<&Detail> {
        self.0.iter().find(|figure| figure.id == id)
    }
    /// The value of this id, if it can be had.
    pub fn get(&self, id: &str) -> Option<f64> {
        self.figure(id)?.value.clone().ok()
    }
    /// Reason why the value of this id is absent.
    pub fn missing(&self, id: &str) -> Option<String> {
        self.figure(id)?.value.as_ref().err().map(ToString::to_string)
    }
}

/// The definition of a derived figure.
struct Definition {
    /// Stable name with its unit, as in JSON.
    id: &'static str,
    /// Column header.
    title: &'static str,
    /// Unit as printed.
    unit: &'static str,
    /// The value of a measured test, or why it cannot be had.
    formula: fn(&TestResult) -> Value,
}

impl Definition {
    /// The figure of a test: of a measured one from its counters, of a published one from its
    /// printed figures.
    fn detail(&self, test: &Test) -> Detail {
        let value = match test {
            Test::Measured(result) => (self.formula)(result),
            Test::Published(test) => published::derive(&test.published, self.id),
        };
        Detail { id: self.id, title: self.title, unit: self.unit, value: value.and_then(finite) }
    }
}

/// A value that is a finite number; a division by 0 gives none.
fn finite(value: f64) -> Value {
    if value.is_finite() { Ok(value) } else { Err("nothing to divide by".into()) }
}

/// Derives every figure: of a measured test from its counters, of a published one from its printed
/// figures.
pub fn derive(test: &Test) -> Derived {
    Derived(DEFINITIONS.iter().map(|definition| definition.detail(test)).collect())
}
