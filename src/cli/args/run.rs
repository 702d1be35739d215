//! The options of `run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{HostArgs, NameArgs, TargetArgs};
use crate::cli::values::{Listen, Nodes, Seconds};
use crate::model::{AskedRamp, AskedRate, Precision, Promise};
use crate::report::Language;

/// More ops per job are a typing error.
const MOST_OPS: u64 = 1_000_000_000_000_000;

/// The part that is made anew for each block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FreshArg {
    Server,
    Data,
}

/// The distribution of the times at which the ops of an open loop are due.
#[derive(Default, Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ArrivalsArg {
    /// Independent of one another
    #[default]
    Poisson,
    /// At equal distances
    Uniform,
}

/// Arguments of `run`.
#[derive(Debug, Clone, Default, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub host: HostArgs,
    /// Numbers of jobs: 1,2,4 or 1..8 (doubling) or 1..auto (until throughput gains less than 5 %
    /// twice) or 2*cores or 32*nodes (of a cluster)
    #[arg(long, value_name = "RAMP", allow_hyphen_values = true)]
    pub jobs: Option<AskedRamp>,
    /// Of a cluster: run every test on so many of its nodes: 3, 1,2,4 or 1..3 (each) [default: all]
    #[arg(long, value_name = "N")]
    pub nodes: Option<Nodes>,
    /// Of a private cluster: the nodes have networks of their own, and a packet takes so long from
    /// one to another: 0.5ms (needs root; a round trip takes two, and is measured)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub link_delay: Option<Seconds>,
    /// Length of the measured window: 10s, 500ms, 2m
    #[arg(long, value_name = "TIME", conflicts_with = "ops", allow_hyphen_values = true)]
    pub duration: Option<Seconds>,
    /// Until the 95 % interval of the mean is +-P%, instead of a fixed time; the warm-up ends when
    /// throughput climbs no more
    #[arg(long, value_name = "P%", conflicts_with_all = ["ops", "duration"], allow_hyphen_values = true)]
    pub precision: Option<Precision>,
    /// With --precision: the longest window [default: the suite's, else 60s]
    #[arg(long, value_name = "TIME", requires = "precision", allow_hyphen_values = true)]
    pub max_duration: Option<Seconds>,
    /// Fixed work instead of fixed time: ops per job
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_OPS))]
    pub ops: Option<u64>,
    /// Open loop, client drive: ops per second of all jobs together that start when they are due. A
    /// list gives a test for each rate; 'auto' finds the highest that keeps the promise of --slo
    #[arg(long, value_name = "OPS/S", conflicts_with_all = ["ops", "precision"], allow_hyphen_values = true)]
    pub rate: Option<AskedRate>,
    /// With --rate: when ops are due
    #[arg(long, value_enum, value_name = "HOW", default_value = "poisson", requires = "rate")]
    pub arrivals: ArrivalsArg,
    /// With --rate auto: the promise, p99<5ms (p50, p90, p95, p99, p99.9 of the response time)
    #[arg(long, value_name = "PROMISE", requires = "rate")]
    pub slo: Option<Promise>,
    /// Run a workload beside every test, on the same server: ID[:param=value,...]. Its rate is
    /// measured, too; figures of tests beside another workload are conditional
    #[arg(long, value_name = "ID", conflicts_with = "ops")]
    pub beside: Option<String>,
    /// With --beside: its jobs [default: 1]
    #[arg(long, value_name = "N", requires = "beside", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub beside_jobs: Option<u32>,
    /// Run every test N times: each once, in an order shuffled by the seed, before any repeats. The
    /// median counts; from 3 on the interval is that of a further equal test [default: the suite's,
    /// else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: Option<u32>,
    /// Seed of the keys that jobs draw, for a run that is to draw those of an earlier one again
    /// (its key_seed). Each run draws others by default: what an earlier one has read may still be
    /// cached
    #[arg(long, value_name = "N")]
    pub key_seed: Option<u32>,
    /// With --repeat: start the private server anew for each block, or load the data anew as well.
    /// Tells the parts of the spread; a block then runs every test two or three times
    #[arg(long, value_enum, value_name = "WHAT")]
    pub fresh: Option<FreshArg>,
    /// Measure a test again, at most N times, if only steal, other programs or a slow processor
    /// lower its verdict. All are kept; figures are taken from those of the best verdict [default
    /// N: 2]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "2",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub redo_disturbed: Option<u32>,
    /// After the tests carry out the experiment that should lift each workload's limit (other
    /// settings of a private server, other jobs, the other drive), in at most N blocks of a trial
    /// before and after the change: does the forecast hold [default N: 12]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "12",
          value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with_all = ["rate", "no_sampler"])]
    pub explain: Option<u32>,
    /// Time dropped before the window; with --precision at least
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub warmup: Option<Seconds>,
    /// Factor for the windows and the fixed work of the suites: 0.1 = a tenth of the time
    #[arg(long, value_name = "FACTOR", allow_hyphen_values = true)]
    pub time_scale: Option<f64>,
    /// The jobs run on N load machines, of which each runs 'dbdyno worker RESULTS TARGET' with
    /// the URL of --results: worker w has jobs w, w + N, and so on. For existing servers, and for 'null',
    /// whose sessions only wait
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub workers: Option<u32>,
    /// With --workers: how long a test waits for all of them [default: 60s]
    #[arg(long, value_name = "TIME", requires = "workers", allow_hyphen_values = true)]
    pub worker_wait: Option<Seconds>,
    /// With --workers: one of which nothing is heard for so long is lost [default: 10s]
    #[arg(long, value_name = "TIME", requires = "workers", allow_hyphen_values = true)]
    pub worker_silence: Option<Seconds>,
    /// Do not look at what the sessions do while tests run: their waits stay unknown
    #[arg(long)]
    pub no_sampler: bool,
    /// Take a snapshot of the Automatic Workload Repository before and after each test and note
    /// their numbers; with this you state that the Diagnostics Pack is licensed for the database
    /// (Oracle)
    #[arg(long)]
    pub awr: bool,
    /// The same with Statspack, which needs no licence and must be installed (Oracle)
    #[arg(long)]
    pub statspack: bool,
    #[command(flatten)]
    pub naming: NameArgs,
    /// Also write a report to this file: a page (.html), or datasheet and KPM report (.md, .csv,
    /// .json, .txt)
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Language of the datasheet and of reports: en or de; csv and json are always English
    #[arg(long, value_name = "LANGUAGE", default_value = "en")]
    pub language: Language,
    /// Exit with 1 if any KPM is invalid
    #[arg(long)]
    pub strict: bool,
    /// On a terminal no chart of the ramp below the bar
    #[arg(long)]
    pub plain: bool,
    /// Serve what runs, its rate and times, and the figures so far as OpenMetrics at
    /// http://ADDRESS/metrics: a port of
    /// 127.0.0.1, or ADDRESS:PORT
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<Listen>,
}
