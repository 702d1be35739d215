//! What `campaign` is told.

use std::path::PathBuf;

use clap::Args;

use super::DriveArg;
use crate::cli::values::{Label, Percent, Seconds, Setting};
use crate::model::AskedRamp;
use crate::plan::DEFAULT_SEED;
use crate::report::Language;

/// Arguments of `campaign`.
#[derive(Debug, Clone, Args)]
pub struct CampaignArgs {
    /// A, the base: an engine or the URL of an existing server, as the TARGET of 'run'
    pub a: String,
    /// B
    pub b: String,
    /// A setting of both sides instead of the profile's, by the engine's name of it; not of an existing server
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
    /// Nominal size in GB: big table = size x 1,000,000 rows [default: that of --profile, else the suite's]
    #[arg(long, value_name = "GB", allow_hyphen_values = true)]
    pub size: Option<f64>,
    /// Size profile, XS to XL: settings of private servers; both must fit [default: the suite's]
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Where private databases live: chooses the storage under test
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Seed of data, keys and the order of trials
    #[arg(long, default_value_t = DEFAULT_SEED, value_name = "N")]
    pub seed: u32,
    /// Suite of workloads; may be given several times
    #[arg(long, value_name = "NAME")]
    pub suite: Vec<String>,
    /// Workload by id or alias, with parameters: ID[:param=value,...]; may be given several times
    #[arg(long, value_name = "ID")]
    pub workload: Vec<String>,
    /// Where the loop runs [default: the engine's]
    #[arg(long, value_enum)]
    pub drive: Option<DriveArg>,
    /// Numbers of jobs: 1,2,4 or 1..8 (doubling); each is a figure
    #[arg(long, value_name = "RAMP", default_value = "1,cores", allow_hyphen_values = true)]
    pub jobs: AskedRamp,
    /// Length of a trial: its measured window
    #[arg(long, value_name = "TIME", default_value = "2s", allow_hyphen_values = true)]
    pub duration: Seconds,
    /// Time dropped before the window of a trial
    #[arg(long, value_name = "TIME", default_value = "500ms", allow_hyphen_values = true)]
    pub warmup: Seconds,
    /// No trial begins later, counted from the first
    #[arg(long, value_name = "TIME", default_value = "10m", allow_hyphen_values = true)]
    pub max_duration: Seconds,
    /// Ratios this close to 1 count as equal
    #[arg(long, value_name = "PERCENT", default_value = "3%", allow_hyphen_values = true)]
    pub margin: Percent,
    /// Exit with 1 if a figure of B is worse by more than this: 5%. Undecided figures pass, and a line says how many
    #[arg(long, value_name = "PERCENT")]
    pub fail_below: Option<Percent>,
    /// Also write the result as JUnit XML, with the same limit [default limit: 0%]
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Name of the campaign: its runs are NAME-A and NAME-B
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// Label of both runs; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub label: Vec<Label>,
    /// File to write [default: standard output]
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// Language: en or de; csv and json are always English
    #[arg(long, value_name = "LANGUAGE", default_value = "en")]
    pub language: Language,
}
