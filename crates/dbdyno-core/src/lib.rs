//! The core of dbdyno: the catalog, the plan, the statistics, and what tests say. It is pure:
//! it opens no connection, reads no clock, starts no process. Its tests take milliseconds.
//!
//! Begin with [`model`], which has the field's words as types: a workload, a plan, a test with its
//! figures, a verdict. [`catalog`] turns files of TOML and SQL into a checked catalog, [`plan`]
//! turns a selection of it into a closed plan, which holds every statement that will run.
//! [`stats`] has the estimators, [`analysis`] the verdict on a test and the answers from many.

#![deny(missing_docs)]

pub mod analysis;
pub mod catalog;
pub mod error;
pub mod model;
pub mod plan;
pub mod sql;

pub use dbdyno_stats as stats;
