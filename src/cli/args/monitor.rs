//! Options of `monitor`.

use std::path::PathBuf;

use clap::Args;

use super::HostArgs;
use crate::cli::values::{Listen, Seconds};

/// Arguments of `monitor`.
#[derive(Debug, Args)]
pub struct MonitorArgs {
    /// URL of an existing server, as of 'run'. A role that may read the statistics is enough (of
    /// pg_monitor, or with the right PROCESS)
    #[arg(required_unless_present = "replay", conflicts_with = "replay")]
    pub target: Option<String>,
    #[command(flatten)]
    pub host: HostArgs,
    /// Tell each rate as a share of what this run of the results file measured, which must be of
    /// the same platform
    #[arg(long, alias = "against", value_name = "RUN", conflicts_with = "replay")]
    pub baseline: Option<String>,
    /// Length of an interval, 250ms at least
    #[arg(long, value_name = "TIME", default_value = "1s", allow_hyphen_values = true)]
    pub interval: Seconds,
    /// End after this time [default: when interrupted]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<Seconds>,
    /// Show one interval and end
    #[arg(long)]
    pub once: bool,
    /// Also keep every interval in this results file, as a run for 'report' and --replay
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// With --record: name of the run
    #[arg(long, value_name = "TEXT", requires = "record")]
    pub name: Option<String>,
    /// Show a recording, a run of the results file (--results), instead of a server
    #[arg(long, value_name = "RUN")]
    pub replay: Option<String>,
    /// Serve the last interval as OpenMetrics at http://ADDRESS/metrics: a port of 127.0.0.1, or
    /// ADDRESS:PORT
    #[arg(long, value_name = "ADDRESS", conflicts_with = "replay")]
    pub metrics: Option<Listen>,
}
