//! The arithmetic of dbdyno: pure functions over numbers, which know nothing of databases.
//!
//! Begin with [`moderated`], which estimates the figures of a comparison, and [`mean_interval()`],
//! which makes the interval of a single one. [`rows`], [`keys`], [`skew`] and [`vectors`] make the
//! data of workloads; [`LatencyHistogram`] and [`WeightedTimes`] hold the times of ops.

#![deny(missing_docs)]

pub mod arrivals;
pub mod cliffs;
pub mod histogram;
pub mod keys;
pub mod law_ranges;
mod least_squares;
pub mod mean_interval;
pub mod moderated;
pub mod paired;
pub mod rows;
pub mod scaling;
pub mod sequence;
pub mod skew;
pub mod steady;
pub mod summary;
pub mod vectors;
pub mod weighted;

pub use histogram::LatencyHistogram;
pub use mean_interval::{Interval, mean_interval};
pub use paired::Paired;
pub use steady::{Steadiness, steadiness};
pub use summary::{Quantiles, mean, median};
pub use weighted::WeightedTimes;
