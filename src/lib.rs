//! dbdyno, a dynamometer for database platforms. `ARCHITECTURE.md` is the map of this crate.

// `print!` and `eprint!` panic where nobody reads; `cli::out` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod analysis;
pub mod campaign;
pub mod catalog;
pub mod cli;
pub mod dataset;
pub mod engine;
pub mod error;
pub mod export;
pub mod fit;
pub mod host;
pub mod import;
pub mod model;
pub mod monitor;
pub mod plan;
pub mod probe;
pub mod report;
pub mod runner;
pub mod serve;
pub mod server;
pub mod sql;
pub mod stats;
pub mod store;
pub mod workers;

/// Version of dbdyno.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
