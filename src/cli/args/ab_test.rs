//! The arguments of `ab-test`.

use std::path::PathBuf;

use clap::Args;

use super::{DataArgs, FactsArgs, LimitArgs, NameArgs, OutputArgs, SelectionArgs};
use crate::cli::values::{Percent, Seconds, Setting};
use crate::model::AskedRamp;

/// Arguments of `ab-test`.
#[derive(Debug, Clone, Args)]
pub struct AbTestArgs {
    /// A, the base: an engine or the URL of an existing server, as the TARGET of 'run'
    pub a: String,
    /// B
    pub b: String,
    /// A setting of both sides instead of the profile's, by the engine's name of it; not of an
    /// existing server
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<Setting>,
    /// A setting of A, as --set-a shared_buffers=64MB
    #[arg(long, value_name = "NAME=VALUE")]
    pub set_a: Vec<Setting>,
    /// A setting of B
    #[arg(long, value_name = "NAME=VALUE")]
    pub set_b: Vec<Setting>,
    /// Directory with the binaries of the private server A
    #[arg(long, value_name = "DIR")]
    pub server_bin_a: Option<PathBuf>,
    /// Directory with the binaries of the private server B
    #[arg(long, value_name = "DIR")]
    pub server_bin_b: Option<PathBuf>,
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub stated: FactsArgs,
    /// Numbers of jobs: 1,2,4 or 1..8 (doubling); each is a figure
    #[arg(long, value_name = "RAMP", default_value = "1,cores", allow_hyphen_values = true)]
    pub jobs: AskedRamp,
    /// Length of a trial: its measured window
    #[arg(long, value_name = "TIME", default_value = "2s", allow_hyphen_values = true)]
    pub duration: Seconds,
    /// Time dropped before the window of a trial
    #[arg(long, value_name = "TIME", default_value = "500ms", allow_hyphen_values = true)]
    pub warmup: Seconds,
    /// Seed of the keys that jobs draw, on both sides the same [default: another one for each run]
    #[arg(long, value_name = "N")]
    pub key_seed: Option<u32>,
    /// No trial begins later, counted from the first
    #[arg(long, value_name = "TIME", default_value = "10m", allow_hyphen_values = true)]
    pub max_duration: Seconds,
    /// Ratios this close to 1 count as equal
    #[arg(long, value_name = "PERCENT", default_value = "3%", allow_hyphen_values = true)]
    pub margin: Percent,
    /// Run both sides at the same time, each on half of the CPUs, and swap them within every block:
    /// a disturbance affects both alike (private databases, workloads that need no device)
    #[arg(long)]
    pub duet: bool,
    #[command(flatten)]
    pub limit: LimitArgs,
    #[command(flatten)]
    pub naming: NameArgs,
    #[command(flatten)]
    pub out: OutputArgs,
}
