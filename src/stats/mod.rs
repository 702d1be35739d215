//! Statistics of measuring: pure functions over numbers.

pub mod histogram;
pub mod keys;

pub use histogram::LatencyHistogram;
