//! Key performance metrics: what is computed, its unit and its direction.

use serde::{Deserialize, Serialize};

/// Direction in which a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Higher is better, as of rates.
    Higher,
    /// Lower is better, as of times.
    Lower,
}

impl Better {
    /// Name as written in the catalog.
    pub fn name(self) -> &'static str {
        match self {
            Better::Higher => "higher",
            Better::Lower => "lower",
        }
    }

    /// True if `next` is better than `best`.
    pub fn beats(self, next: f64, best: f64) -> bool {
        match self {
            Better::Higher => next > best,
            Better::Lower => next < best,
        }
    }
}

/// Source of a KPM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KpmValue {
    /// Units of work per second (the workload's `work` per op).
    Units,
    /// Ops per second.
    Ops,
    /// Rows touched per second, as counted by the loop.
    Rows,
    /// Mean service time of one op, in seconds (jobs' own busy time / ops).
    ServiceTime,
    /// The named database counter per second (e.g. `logical_reads`).
    Counter(String),
    /// A database counter of blocks, in bytes per second: the counter per second times the fact
    /// `block_bytes`.
    CounterBlocks(String),
}

impl KpmValue {
    /// The counter of the database that it is computed from.
    pub fn counter(&self) -> Option<&str> {
        match self {
            KpmValue::Counter(name) | KpmValue::CounterBlocks(name) => Some(name),
            KpmValue::Units | KpmValue::Ops | KpmValue::Rows | KpmValue::ServiceTime => None,
        }
    }
}

/// A key performance metric: `value * scale`, printed with `unit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kpm {
    /// Value that is computed.
    pub value: KpmValue,
    /// The unit as printed: `qps`, `MB/s`, `Mops`, `ms`.
    pub unit: String,
    /// Direction that is better.
    pub better: Better,
    /// Factor from the base unit (per second, seconds) to `unit`: 1e-6 for Mops, 1000 for ms.
    #[serde(default = "one")]
    pub scale: f64,
}

fn one() -> f64 {
    1.0
}
