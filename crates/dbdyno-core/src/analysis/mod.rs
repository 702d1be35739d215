//! Analysis: from what a test counted to KPMs, report columns, ramps and verdicts. Pure functions,
//! no I/O.

pub mod ab_test;
pub mod audit;
pub mod beside;
mod best;
pub mod bottleneck;
pub mod capacity;
pub mod changes;
pub mod circumstances;
pub mod claims;
mod command;
pub mod compare;
pub mod complete;
pub mod contract;
pub mod cpu;
pub mod cpu_speed;
pub mod crosscheck;
pub mod derive;
pub mod durability;
pub mod failover;
pub mod figure;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixture;
pub mod heatmap;
pub mod interference;
pub mod interval;
pub mod kpm;
pub mod layers;
pub mod littles_law;
pub mod nodes;
pub mod noise;
pub mod parts;
pub mod price;
pub mod published;
pub mod published_checks;
pub mod ramp;
pub mod recall;
pub mod repetitions;
mod samples;
pub mod scaling;
pub mod scope;
pub mod selftest;
pub mod slo_search;
pub mod spread;
pub mod study;
pub mod sustained;
pub mod sweep;
pub mod tiers;
pub mod time_model;
pub mod verdict;

pub use derive::{Derived, Detail, derive};
pub use kpm::{evaluate, fill, keep_threads, keep_volume};
pub use ramp::{is_saturated, next_jobs};
pub use tiers::keep_eviction;
pub use verdict::{JudgeContext, judge};
