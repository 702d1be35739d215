//! The laboratory of dbdyno: it starts servers, loads data, runs tests and keeps their results.
//!
//! Begin with [`run`], which does a whole run from a request of plain data and reports events
//! on the way. [`test_runner`] does one test, [`dataset`] loads what it works on, [`server`] keeps
//! private servers, [`store`] the results. [`fit`] answers every "does it fit" before.

#![deny(missing_docs)]

pub mod dataset;
pub mod export;
pub mod fit;
pub mod import;
pub mod monitor;
pub mod run;
pub mod server;
pub mod store;
pub mod test_runner;
pub mod workers;
