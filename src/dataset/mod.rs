//! Provisions, loads, verifies and drops the data set.

mod checksum;

pub use checksum::Checksum;
