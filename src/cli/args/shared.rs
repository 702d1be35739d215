//! Options that several commands have in common.

use std::path::PathBuf;

use clap::Args;

use super::DriveArg;
use crate::campaign::HostUrls;
use crate::cli::values::{Label, MetricsUrl, Percent, gigabytes};
use crate::error::{Error, Result, quote};
use crate::plan::DEFAULT_SEED;
use crate::report::Language;

/// Which data, and where they live.
#[derive(Debug, Clone, Default, Args)]
pub struct DataArgs {
    /// Nominal size in GB: big table = size x 1,000,000 rows [default: that of --profile, else the
    /// suite's]
    #[arg(long, value_name = "GB", value_parser = gigabytes, allow_hyphen_values = true)]
    pub size: Option<f64>,
    /// Size profile, XS to XL: settings of private servers [default: the suite's]
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Where private databases live: chooses the storage under test
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Seed of data, keys and shuffled orders
    #[arg(long, default_value_t = DEFAULT_SEED, value_name = "N")]
    pub seed: u32,
}

/// Which target, and how a private one is made.
#[derive(Debug, Clone, Default, Args)]
pub struct PlaceArgs {
    // Names, schemes and password sources are those of the engines that are compiled in.
    #[arg(default_value = crate::cli::target::usual(), help = crate::cli::target::help())]
    pub target: String,
    #[command(flatten)]
    pub data: DataArgs,
    /// Directory with the binaries of a private server, or with the library of an engine that loads
    /// one
    #[arg(long, value_name = "DIR")]
    pub server_bin: Option<PathBuf>,
    /// TCP port (on 127.0.0.1) of a private server [default: none, a Unix socket only; of 'layers'
    /// a free one]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Keep the private server or file, and print how to connect
    #[arg(long)]
    pub keep: bool,
}

/// Which workloads.
#[derive(Debug, Clone, Default, Args)]
pub struct SelectionArgs {
    /// Suite of workloads; may be given several times
    #[arg(long, value_name = "NAME")]
    pub suite: Vec<String>,
    /// Workload by id or alias, with parameters: ID[:param=value,...]; may be given several times
    #[arg(long, value_name = "ID")]
    pub workload: Vec<String>,
    /// Where the loop runs [default: the engine's]
    #[arg(long, value_enum)]
    pub drive: Option<DriveArg>,
}

/// What a run is called.
#[derive(Debug, Clone, Default, Args)]
pub struct NameArgs {
    /// Name of the run; those of a campaign are NAME-A and NAME-B
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// Label of the run; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub label: Vec<Label>,
}

/// What a comparison may find.
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

/// What is added to a report.
#[derive(Debug, Clone, Default, Args)]
pub struct DressArgs {
    /// With html and pdf: name, logo (PNG, JPEG, WebP or SVG, up to 200 kB), accent (#rrggbb) and
    /// footer of one's own (TOML)
    #[arg(long, value_name = "FILE")]
    pub brand: Option<PathBuf>,
    /// Paragraphs of one's own (TOML): [[text]] with section (title or number) and paragraphs; they
    /// are marked as added
    #[arg(long, value_name = "FILE")]
    pub text: Option<PathBuf>,
}

/// Where a report goes.
#[derive(Debug, Clone, Default, Args)]
pub struct OutputArgs {
    /// File to write [default: standard output]
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// Language of the report: en or de; csv and json are always English
    #[arg(long, value_name = "LANGUAGE", default_value = "en")]
    pub language: Language,
}

/// Who tells of the database's host.
#[derive(Debug, Clone, Default, Args)]
pub struct HostArgs {
    /// Figures of an existing server's host from a node_exporter or 'dbdyno probe' there, as
    /// http://db1:9100/metrics; its token, if it wants one, in DBDYNO_HOST_TOKEN. Of a cluster once
    /// for each node, as NODE=URL [default: this host if the server is on it, else what the server
    /// lets its user read]
    #[arg(long, value_name = "URL")]
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
