//! dbdyno, a dynamometer for database platforms. `ARCHITECTURE.md` is the map of this crate.

pub mod cli;
pub mod serve;

pub use dbdyno_core::{analysis, catalog, error, model, plan, sql, stats};
pub use dbdyno_engines::{engine, host, probe};
pub use dbdyno_lab::{
    dataset, export, fit, import, monitor, run, server, store, test_runner, workers,
};
pub use dbdyno_report as report;

/// Version of dbdyno.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
