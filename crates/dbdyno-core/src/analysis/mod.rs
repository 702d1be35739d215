//! Analysis: from what a test counted to KPMs, report columns, ramps and verdicts. Pure functions,
//! no I/O.

pub mod ab_test;
pub mod audit;
pub mod beside;
pub mod capacity;
pub mod changes;
pub mod claims;
pub mod compare;
pub mod complete;
pub mod contract;
pub mod cpu;
pub mod crosscheck;
pub mod derive;
pub mod durability;
pub mod errata;
pub mod failover;
pub mod figure;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixture;
pub mod heatmap;
pub mod interference;
pub mod interval;
pub mod kpm;
pub mod lasting;
pub mod layers;
pub mod limiter;
pub mod littles_law;
pub mod nodes;
pub mod noise;
pub mod parts;
pub mod price;
pub mod promise;
pub mod published;
pub mod ramp;
pub mod recall;
pub mod repetitions;
mod samples;
pub mod scaling;
pub mod scope;
pub mod selftest;
pub mod spread;
pub mod study;
pub mod sweep;
pub mod tiers;
pub mod time_model;
pub mod unsteady;
pub mod verdict;

pub use derive::{Derived, Detail, derive};
pub use kpm::{evaluate, fill, keep_threads, keep_volume};
pub use ramp::{is_saturated, next_jobs};
pub use tiers::keep_eviction;
pub use verdict::{JudgeContext, judge};
