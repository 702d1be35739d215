//! Analysis: from what a test counted to KPMs, report columns, ramps and verdicts. Pure functions, no I/O.

pub mod claims;
pub mod compare;
pub mod contract;
pub mod cpu;
pub mod crosscheck;
pub mod derive;
#[cfg(test)]
pub(crate) mod fixture;
pub mod heatmap;
pub mod kpm;
pub mod limiter;
pub mod little;
pub mod parts;
pub mod price;
pub mod published;
pub mod ramp;
pub mod rates;
mod samples;
pub mod scaling;
pub mod scope;
pub mod slips;
pub mod threads;
pub mod tiers;
pub mod verdict;
mod words;

pub use derive::{Derived, Figure, derive};
pub use kpm::{evaluate, fill};
pub use ramp::next_jobs;
pub use threads::keep_threads;
pub use tiers::keep_eviction;
pub use verdict::{JudgeContext, judge};
