//! Analysis: from what a test counted to KPMs, report columns, ramps and verdicts. Pure functions,
//! no I/O.
//!
//! # Judges of a test
//!
//! - `judgement`: all judges of a test in order, for tests of dbdyno and for those of scripts.
//! - `verdict`: the judges of a result that need no other part.
//! - `circumstances`: reasons that follow from how a test came about.
//! - `contract`, `crosscheck`: claims of the workload, and dbdyno's counts compared with the
//!   database's counters.
//! - `resets`: counters that somebody reset meanwhile.
//! - `samples`, `littles_law`: whether there were enough ops, and whether their times add up.
//! - `cpu_quota`, `cpu_speed`, `durability`, `nodes`, `parts`: quotas of CPUs and their clock rate,
//!   commits, the nodes of a cluster, and the parts of a mixed workload.
//! - `cpu_distance`, `device_speed`, `fixed_work`: whether the platform was as fast in one run as
//!   in the other.
//! - `repetitions`: whether the repetitions of a test agree.
//! - `claims`, `scope`: every claim with its values, and the values of its names.
//!
//! # Values of a test
//!
//! - `kpm`: the KPMs, counters per second, and the data that an op goes through.
//! - `derive`: the columns of the KPM reports.
//! - `cpu`, `tiers`, `time_model`: CPU time, sources of reads, and the distribution of time.
//! - `sustained`: burst rate and sustained rate.
//! - `missing`: the reason for a value that cannot be had.
//!
//! # Figures of a run
//!
//! - `figure`: one point in one metric, with its verdict and its interval.
//! - `repeats`, `interval`, `spread`: repetitions together, the interval, and its sources of
//!   variation.
//! - `group`, `ramp`, `best`, `scaling`: tests of one ramp, its figures, the best of them, and the
//!   law that it follows.
//! - `ratio`, `reason_count`: the ratio of two figures, and reasons of several tests.
//! - `price`, `unit_costs`: what a unit of throughput costs, and where it costs least.
//!
//! # Answers from many tests
//!
//! - `bottleneck`: the causes that limit a test, and the remedies that an experiment can try.
//! - `capacity`: whether a platform carries its requirements.
//! - `compare`, `heatmap`: two runs, and several, side by side.
//! - `changes`, `noise`: change points of a series, and the spread that a calibration measured.
//! - `slo_search`: the highest rate at which an SLO is met.
//! - `recall`: approximate searches, with the share that they find.
//! - `beside`, `published`, `published_checks`: measured figures next to published ones, and how
//!   far these can be trusted.
//! - `audit`, `complete`, `command`: the facts that a reader needs to trust a run, the missing
//!   ones, and the commands that measure them again.
//!
//! # Studies
//!
//! - `study`: common parts of studies in blocks.
//! - `ab_test`: whether B differs from A.
//! - `interference`, `layers`, `sweep`: workloads on one server, layers between client and
//!   database, and caches by a growing active set.
//! - `failover`: the fate of clients and their commits when a node fails.
//! - `selftest`: whether an engine, its counters and dbdyno's clock agree.

pub mod ab_test;
pub mod audit;
pub mod beside;
mod best;
pub mod best_share;
pub mod bottleneck;
pub mod capacity;
pub mod changes;
pub mod circumstances;
pub mod claims;
pub mod command;
pub mod compare;
pub mod complete;
pub mod contract;
pub mod cpu;
pub mod cpu_distance;
pub mod cpu_quota;
pub mod cpu_speed;
pub mod crosscheck;
pub mod derive;
pub mod device_speed;
pub mod durability;
pub mod failover;
pub mod figure;
mod fixed_work;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixture;
mod group;
pub mod heatmap;
pub mod interference;
pub mod interval;
mod judgement;
pub mod kpm;
pub mod layers;
pub mod littles_law;
mod missing;
pub mod nodes;
pub mod noise;
mod parts;
pub mod price;
pub mod published;
pub mod published_checks;
pub mod ramp;
mod ratio;
mod reason_count;
pub mod recall;
pub mod repeats;
pub mod repetitions;
mod resets;
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
pub mod unit_costs;
mod verdict;

pub use derive::{Derived, Detail, derive};
pub use judgement::{ScriptFacts, TestFacts, judge_scripts, judge_test};
pub use kpm::{evaluate, fill};
pub use ramp::{MeasuredStep, is_saturated, next_jobs};
pub use reason_count::ReasonCount;
pub use tiers::keep_eviction;
pub use verdict::{JudgeContext, judge};
