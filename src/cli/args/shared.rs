//! Options that several commands have in common.

use std::path::PathBuf;

use clap::builder::Resettable;
use clap::{Arg, Args, ValueHint};

use super::DriveArg;
use crate::cli::values::{Label, MetricsUrl, Percent, gigabytes};
use crate::error::{Error, Result, quote};
use crate::plan::DEFAULT_SEED;
use crate::report::Language;
use crate::run::HostUrls;

/// Headings of options that several commands have.
pub const WHAT: &str = "What to run";
pub const PRIVATE: &str = "Data and private server";
const OUTPUT: &str = "Output";
const MEASURING: &str = "Measuring";

/// Data, and the place where they live.
#[derive(Debug, Clone, Default, Args)]
pub struct DataArgs {
    /// Nominal size: 0.5 (GB), 500MB, 1GB [default: that of --profile, else the suite's]
    ///
    /// The big table has size in GB x 1,000,000 rows.
    #[arg(long, value_name = "SIZE", value_parser = gigabytes, allow_hyphen_values = true,
          help_heading = PRIVATE)]
    pub size: Option<f64>,
    /// Size profile, XS to XL: settings of private servers [default: the suite's]
    #[arg(long, value_name = "NAME", help_heading = PRIVATE)]
    pub profile: Option<String>,
    /// Directory of private databases: chooses the storage under test
    #[arg(long, value_name = "DIR", help_heading = PRIVATE)]
    pub data_dir: Option<PathBuf>,
    /// Seed of data, keys and shuffled orders
    #[arg(long, default_value_t = DEFAULT_SEED, value_name = "N", help_heading = PRIVATE)]
    pub seed: u32,
}

/// Data of a sealed run: its seed is that of the bundle, as another one is other work.
#[derive(Debug, Clone, Default, Args)]
pub struct SealedDataArgs {
    /// Nominal size: 0.5 (GB), 500MB, 1GB [default: that of the bundle]
    ///
    /// The big table has size in GB x 1,000,000 rows. With another size than the bundle's the work
    /// is another one.
    #[arg(long, value_name = "SIZE", value_parser = gigabytes, allow_hyphen_values = true,
          help_heading = PRIVATE)]
    pub size: Option<f64>,
    /// Size profile, XS to XL: settings of private servers [default: that of the bundle]
    #[arg(long, value_name = "NAME", help_heading = PRIVATE)]
    pub profile: Option<String>,
    /// Directory of private databases: chooses the storage under test
    #[arg(long, value_name = "DIR", help_heading = PRIVATE)]
    pub data_dir: Option<PathBuf>,
}

/// Target, and the settings of a private one.
#[derive(Debug, Clone, Default, Args)]
pub struct PlaceArgs<Data: Args = DataArgs> {
    // Names, schemes and password sources are those of the engines that are compiled in.
    #[arg(default_value = crate::cli::target::usual(), help = crate::cli::target::help())]
    pub target: String,
    #[command(flatten)]
    pub data: Data,
    /// Directory with the binaries of a private server, or with an engine's library
    #[arg(long, value_name = "DIR", help_heading = PRIVATE)]
    pub server_bin: Option<PathBuf>,
    /// TCP port of a private server on 127.0.0.1 [default: none; 'layers' takes a free one]
    ///
    /// Without it the server listens on a Unix socket only.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..),
          help_heading = PRIVATE)]
    pub port: Option<u16>,
    /// Keep the private server or file, and print how to connect
    #[arg(long, help_heading = PRIVATE)]
    pub keep: bool,
}

/// The argument TARGET of a command that a database in our own process has nothing for.
pub(super) fn of_servers(target: Arg) -> Arg {
    target
        .default_value(Resettable::Reset)
        .required(true)
        .help(crate::cli::target::help_of_servers())
}

/// The argument TARGET of a command for clusters.
pub(super) fn of_clusters(target: Arg) -> Arg {
    target
        .default_value(Resettable::Reset)
        .required(true)
        .help(crate::cli::target::help_of_clusters())
}

/// Workloads.
#[derive(Debug, Clone, Default, Args)]
pub struct SelectionArgs {
    /// Suite of workloads, see 'list suites'; may be given several times [default: quick, if no
    /// workload is named]
    #[arg(long, value_name = "NAME", help_heading = WHAT)]
    pub suite: Vec<String>,
    /// Workload by id or alias, with parameters: ID[:param=value,...]; may be given several times
    #[arg(long, value_name = "ID", help_heading = WHAT)]
    pub workload: Vec<String>,
    /// Drive: the loop runs inside the database or in this process [default: in the database, if
    /// the engine has stored routines]
    #[arg(long, value_enum, help_heading = WHAT)]
    pub drive: Option<DriveArg>,
}

/// Name and labels of a run.
#[derive(Debug, Clone, Default, Args)]
pub struct NameArgs {
    /// Name of the run; the sides of an A/B test are called NAME-A and NAME-B
    #[arg(long, value_name = "TEXT", help_heading = OUTPUT)]
    pub name: Option<String>,
    /// Label of the run; may be given several times
    #[arg(long, value_name = "KEY=VALUE", help_heading = OUTPUT)]
    pub label: Vec<Label>,
}

/// Limits of a comparison.
#[derive(Debug, Clone, Default, Args)]
pub struct LimitArgs {
    /// Exit with 1 if a figure is worse by more than this beyond the noise, invalid or lost: 5%.
    /// Undecided figures pass, and a line says how many
    #[arg(long, value_name = "PERCENT")]
    pub fail_below: Option<Percent>,
    /// Also write the result as JUnit XML, with the same limit [default limit: 0%]
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

/// Additions to a report.
#[derive(Debug, Clone, Default, Args)]
pub struct BrandingArgs {
    /// File (TOML) with your name, logo, accent color and footer (html and pdf)
    ///
    /// The logo is PNG, JPEG, WebP or SVG, up to 200 kB; the accent is written #rrggbb.
    #[arg(long, value_name = "FILE")]
    pub brand: Option<PathBuf>,
    /// File (TOML) with paragraphs to add to the report
    ///
    /// One [[text]] per section (title or number); they are marked as added.
    #[arg(long, alias = "text", value_name = "FILE")]
    pub notes: Option<PathBuf>,
}

/// Destination and language of a report.
#[derive(Debug, Clone, Default, Args)]
pub struct OutputArgs {
    /// File to write [default: standard output]
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// Language of the report: en or de; csv and json are always English
    #[arg(long, value_name = "LANGUAGE", default_value = "en")]
    pub language: Language,
}

/// Facts that somebody states of the platform.
#[derive(Debug, Clone, Default, Args)]
pub struct FactsArgs {
    /// File (TOML) with facts of the platform that dbdyno cannot read: storage array, memory,
    /// who paid
    ///
    /// 'dbdyno show facts' prints a template of it. They are kept with the run, shown in reports
    /// and compared.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = MEASURING)]
    pub facts: Option<PathBuf>,
}

/// Sources about the database's host.
#[derive(Debug, Clone, Default, Args)]
pub struct HostArgs {
    /// Metrics of an existing server's host, from a node_exporter or 'dbdyno host-exporter' there
    ///
    /// As http://db1:9100/metrics; its token, if it needs one, in DBDYNO_HOST_TOKEN. For a cluster
    /// once for each node, as NODE=URL [default: this host if the server is on it, else what the
    /// server lets its user read].
    #[arg(long, value_name = "URL", help_heading = MEASURING)]
    pub host_metrics: Vec<MetricsUrl>,
}

impl HostArgs {
    /// The addresses, by the name of the node.
    ///
    /// # Errors
    /// One is given twice.
    pub fn urls(&self) -> Result<HostUrls> {
        let mut urls = HostUrls::new();
        for MetricsUrl { node, url } in &self.host_metrics {
            let twice = urls.values().any(|known| known == url) || urls.contains_key(node);
            if twice || (node.is_empty() || urls.contains_key("")) && !urls.is_empty() {
                let what = format!("{} is one address too many for one host", quote(url));
                return Err(Error::usage("--host-metrics", what)
                    .advise("give one URL, or NODE=URL once for each node of a cluster"));
            }
            urls.insert(node.clone(), url.clone());
        }
        Ok(urls)
    }
}
