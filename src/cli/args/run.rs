//! The options of `run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::shared::{PRIVATE, WHAT};
use super::{FactsArgs, HostArgs, NameArgs, TargetArgs};
use crate::cli::values::{Listen, Nodes, Seconds};
use crate::model::{AskedRamp, AskedRate, Precision, RateProfile, Slo};
use crate::report::Language;

/// More ops per job are a typing error.
const MAX_OPS: u64 = 1_000_000_000_000_000;

/// The part that is made anew for each block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FreshArg {
    Server,
    Data,
}

/// The distribution of the scheduled starts of an open loop.
#[derive(Default, Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ArrivalsArg {
    /// Independent of one another
    #[default]
    Poisson,
    /// At equal distances
    Uniform,
}

/// Headings of the options of `run`, in the order of its help.
const HOW_LONG: &str = "How long";
const LOAD: &str = "Load";
const WORKERS: &str = "Load generators";
const MEASURING: &str = "Measuring";
const OUTPUT: &str = "Output";

/// Examples below the long help of `run`; a file of words, as they name engines.
pub const EXAMPLES: &str = include_str!("../../../docs/guide/run-examples.txt");

/// Arguments of `run`.
#[derive(Debug, Clone, Default, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    /// Long options that were typed, of a command line.
    #[arg(skip)]
    pub given: Vec<String>,
    /// Numbers of jobs: 1,2,4 or 1..8 (doubling) or 1..auto or 2*cores or 32*nodes
    ///
    /// 1..auto doubles until throughput gains less than 5 % twice. 32*nodes is for clusters.
    #[arg(long, value_name = "RAMP", allow_hyphen_values = true, help_heading = WHAT)]
    pub jobs: Option<AskedRamp>,
    /// Number of nodes to use in each test: 3, 1,2,4 or 1..3 (clusters only) [default: all]
    #[arg(long, value_name = "N", help_heading = WHAT)]
    pub nodes: Option<Nodes>,
    /// Emulate a network with this one-way delay between nodes: 0.5ms (private clusters only)
    ///
    /// Needs root. The resulting round trip is measured and reported.
    #[arg(long, alias = "link-delay", value_name = "TIME", allow_hyphen_values = true,
          help_heading = PRIVATE)]
    pub network_delay: Option<Seconds>,
    /// Length of the measurement window: 10s, 500ms, 2m
    #[arg(long, value_name = "TIME", conflicts_with = "ops", allow_hyphen_values = true,
          help_heading = HOW_LONG)]
    pub duration: Option<Seconds>,
    /// Run each test until its result is accurate to +-P %, instead of for a fixed time
    ///
    /// The window ends when the 95 % confidence interval of the mean is within +-P %. The warm-up
    /// ends when throughput stops rising.
    #[arg(long, value_name = "P%", conflicts_with_all = ["ops", "duration"],
          allow_hyphen_values = true, help_heading = HOW_LONG)]
    pub precision: Option<Precision>,
    /// With --precision: the longest window [default: the suite's, else 60s]
    #[arg(long, value_name = "TIME", requires = "precision", allow_hyphen_values = true,
          help_heading = HOW_LONG)]
    pub max_duration: Option<Seconds>,
    /// Fixed work instead of fixed time: ops per job
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_OPS),
          help_heading = HOW_LONG)]
    pub ops: Option<u64>,
    /// Warm-up, dropped before the window; with --precision the shortest
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = HOW_LONG)]
    pub warmup: Option<Seconds>,
    /// Factor for the windows and the fixed work of the suites: 0.1 = a tenth of the time
    #[arg(long, value_name = "FACTOR", allow_hyphen_values = true, help_heading = HOW_LONG)]
    pub time_scale: Option<f64>,
    /// Run every test N times, in shuffled blocks [default: the suite's, else 1]
    ///
    /// A block runs each test once, in an order shuffled by the seed, before any repeats.
    /// Repetitions count by the mean of their logarithms, which one wild one cannot move far; from
    /// 3 on the range of a further equal test is shown as well.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000),
          help_heading = HOW_LONG)]
    pub repeat: Option<u32>,
    /// With --repeat: start the private server, or load the data, anew for each block
    ///
    /// Shows the variance components. A block then runs every test two or three times.
    #[arg(long, value_enum, value_name = "WHAT", help_heading = HOW_LONG)]
    pub fresh: Option<FreshArg>,
    /// Repeat a test up to N times if others disturbed it [default N: 2]
    ///
    /// Disturbed is a test against which only steal time, other processes or a slowed CPU speak.
    /// All attempts are stored; results come from those with the best verdict.
    #[arg(long, alias = "redo-disturbed", value_name = "N", num_args = 0..=1, require_equals = true,
          default_missing_value = "2", value_parser = clap::value_parser!(u32).range(1..=100),
          help_heading = HOW_LONG)]
    pub retry_disturbed: Option<u32>,
    /// Open loop: start ops at this rate per second, over all jobs; 'auto' searches the highest
    ///
    /// Ops start at their scheduled time, whether or not earlier ops have finished (client drive).
    /// A list runs one test per rate; 'auto' finds the highest rate that meets --slo.
    #[arg(long, value_name = "OPS/S", conflicts_with_all = ["ops", "precision"],
          allow_hyphen_values = true, group = "offered", help_heading = LOAD)]
    pub rate: Option<AskedRate>,
    /// Load over time (open loop): 'ramp 100..2000 60s; hold 2000 60s; spike 6000 5s; hold 2000
    /// 60s'
    ///
    /// Phases (ramp, hold, spike, day) with ';' between them, in ops per second over all jobs; 'day
    /// 200..2000 10m' is half a sine from night over noon to night. The window is as long as the
    /// phases, the warm-up has the rate of the start. Each phase is reported separately, with the
    /// time to recover from it.
    #[arg(long, value_name = "PHASES", group = "offered", help_heading = LOAD,
          conflicts_with_all = ["rate", "ops", "precision", "slo"])]
    pub rate_profile: Option<RateProfile>,
    /// Closed loop of users who think for this time on average before each op: 50ms (client drive)
    ///
    /// Exponential. jobs = throughput x (service time + think time) is checked.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["rate", "rate_profile"],
          allow_hyphen_values = true, help_heading = LOAD)]
    pub think: Option<Seconds>,
    /// With --rate or --rate-profile: distribution of the scheduled starts
    #[arg(long, value_enum, value_name = "HOW", default_value = "poisson",
          requires = "offered", help_heading = LOAD)]
    pub arrivals: ArrivalsArg,
    /// With --rate auto: the SLO, quoted for the shell: 'p99<5ms'
    ///
    /// One of p50, p90, p95, p99 and p99.9 of the response time.
    #[arg(long, value_name = "SLO", requires = "rate", help_heading = LOAD)]
    pub slo: Option<Slo>,
    /// Run a background workload during every test, on the same server: ID[:param=value,...]
    ///
    /// Its rate is measured, too; results of tests with a background workload are conditional.
    #[arg(long, alias = "beside", value_name = "ID", conflicts_with = "ops", help_heading = LOAD)]
    pub background: Option<String>,
    /// With --background: jobs of the background workload [default: 1]
    #[arg(long, alias = "beside-jobs", value_name = "N", requires = "background",
          value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = LOAD)]
    pub background_jobs: Option<u32>,
    /// Seed of the keys that jobs draw, to draw those of an earlier run again (its key_seed)
    ///
    /// Each run draws others by default: what an earlier one has read may still be cached.
    #[arg(long, value_name = "N", help_heading = LOAD)]
    pub key_seed: Option<u32>,
    /// Run each test of the client drive directly and through this pooler:
    /// scheme://user@host:port/db
    ///
    /// TARGET is the server itself: setup, counters and other control sessions go there. What the
    /// pooler does not keep is found out and printed; 'report layers' shows its cost per op.
    #[arg(long, value_name = "URL", conflicts_with = "workers", help_heading = LOAD)]
    pub via: Option<String>,
    /// Run the jobs on N load generators, each with 'dbdyno worker RESULTS TARGET'
    ///
    /// RESULTS is the URL of --results. Worker w has jobs w, w + N, and so on. For existing
    /// servers, and for 'null', whose sessions only wait.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000),
          help_heading = WORKERS)]
    pub workers: Option<u32>,
    /// With --workers: how long a test waits for all of them to join [default: 60s]
    #[arg(long, alias = "worker-wait", value_name = "TIME", requires = "workers",
          allow_hyphen_values = true, help_heading = WORKERS)]
    pub worker_join_timeout: Option<Seconds>,
    /// With --workers: give up on a worker that has sent nothing for this long [default: 10s]
    #[arg(long, alias = "worker-silence", value_name = "TIME", requires = "workers",
          allow_hyphen_values = true, help_heading = WORKERS)]
    pub worker_timeout: Option<Seconds>,
    #[command(flatten)]
    pub host: HostArgs,
    #[command(flatten)]
    pub stated: FactsArgs,
    /// After the tests, try to remove each workload's bottleneck, in at most N blocks [default N:
    /// 12]
    ///
    /// Changes settings of a private server, the number of jobs or the drive, and checks the
    /// predicted gain. A block is one trial without and one with the change.
    #[arg(long, alias = "explain", value_name = "N", num_args = 0..=1, require_equals = true,
          default_missing_value = "12", value_parser = clap::value_parser!(u32).range(1..=1000),
          conflicts_with_all = ["rate", "no_sampler"], help_heading = MEASURING)]
    pub test_bottleneck: Option<u32>,
    /// Do not sample sessions during tests; reports then have no wait events
    #[arg(long, help_heading = MEASURING)]
    pub no_sampler: bool,
    /// Take an AWR snapshot before and after each test, and keep the report between them (Oracle)
    ///
    /// 'report test' shows the text. With this you state that the Diagnostics Pack is licensed for
    /// the database.
    #[arg(long, help_heading = MEASURING)]
    pub awr: bool,
    /// Take a Statspack snapshot before and after each test (Oracle; needs no license)
    #[arg(long, help_heading = MEASURING)]
    pub statspack: bool,
    #[command(flatten)]
    pub naming: NameArgs,
    /// Also write a report to this file: .html (a page), .md, .csv, .json or .txt
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub report: Option<PathBuf>,
    /// Language of the datasheet and of reports: en or de; csv and json are always English
    #[arg(long, value_name = "LANGUAGE", default_value = "en", help_heading = OUTPUT)]
    pub language: Language,
    /// Exit with 1 if any KPM is invalid
    #[arg(long, help_heading = OUTPUT)]
    pub strict: bool,
    /// Do not draw the ramp chart below the progress bar
    #[arg(long, alias = "plain", help_heading = OUTPUT)]
    pub no_chart: bool,
    /// Serve progress and results so far as OpenMetrics at http://ADDRESS/metrics
    ///
    /// ADDRESS is a port of 127.0.0.1, or ADDRESS:PORT.
    #[arg(long, value_name = "ADDRESS", help_heading = OUTPUT)]
    pub metrics: Option<Listen>,
}
