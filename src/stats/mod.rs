//! Statistics of measuring: pure functions over numbers.

pub mod arrivals;
pub mod batch_means;
pub mod cliffs;
pub mod histogram;
pub mod keys;
mod least_squares;
pub mod paired;
pub mod scaling;
pub mod sequence;
pub mod steady;
pub mod summary;
pub mod weighted;

pub use batch_means::{Interval, mean_interval};
pub use histogram::LatencyHistogram;
pub use paired::Paired;
pub use steady::{Steadiness, steadiness};
pub use summary::{Quantiles, mean, median};
pub use weighted::WeightedTimes;
