//! Live figures: a run under way as metrics, and a database at work beside what its platform was
//! measured to do. Prints nothing.

pub mod baseline;
pub mod host_metrics;
pub mod live_metrics;
pub mod open_metrics;
pub mod poller;
pub mod rates;
pub mod recording;
mod run_metrics;

pub use run_metrics::{FAMILIES as RUN_FAMILIES, RunMetrics};
