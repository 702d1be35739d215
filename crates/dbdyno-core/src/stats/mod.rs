//! Statistics of measuring: pure functions over numbers.

pub mod arrivals;
pub(crate) mod cliffs;
pub(crate) mod histogram;
pub mod keys;
pub mod law_ranges;
mod least_squares;
pub mod mean_interval;
pub mod moderated;
pub(crate) mod paired;
pub mod scaling;
pub mod sequence;
pub mod skew;
pub(crate) mod steady;
pub mod summary;
pub mod weighted;

pub use histogram::LatencyHistogram;
pub use mean_interval::{Interval, mean_interval};
pub use paired::Paired;
pub use steady::{Steadiness, steadiness};
pub use summary::{Quantiles, mean, median};
pub use weighted::WeightedTimes;
