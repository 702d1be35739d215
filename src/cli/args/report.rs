//! Arguments of what reads results: `report`, `compare`, `capacity`.

use std::path::PathBuf;

use clap::Args;

use super::{BrandingArgs, LimitArgs, OutputArgs};

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Kind of report, see 'dbdyno list reports'
    pub kind: String,
    /// Ids, names or 'last'; RUN:SEQ is one test of a run [default: last]
    pub runs: Vec<String>,
    /// Only the test with this number
    #[arg(long, value_name = "N")]
    pub test: Option<u32>,
    /// Another run that the figures are shown against, by 'html', 'datasheet', 'heatmap', 'summary'
    /// and 'workbook'
    ///
    /// A published run stands beside measured ones in every form of these reports, in 'datasheet'
    /// on its page (html, pdf). Two measured runs, or two published ones, are shown against one
    /// another on the page of 'html' and 'datasheet' only; 'dbdyno compare' has every other form.
    #[arg(long, alias = "against", value_name = "RUN")]
    pub baseline: Option<String>,
    #[command(flatten)]
    pub out: OutputArgs,
    #[command(flatten)]
    pub branding: BrandingArgs,
    /// Licenses and prices of a platform (docs/price.md), for 'price', 'summary' and 'workbook';
    /// may be given several times
    #[arg(long, value_name = "FILE")]
    pub price: Vec<PathBuf>,
    /// Write the service time beside each point of ramp charts (html, pdf)
    #[arg(long)]
    pub point_labels: bool,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Ids, names or 'last'; the first is the base
    #[arg(required = true, num_args = 1.., value_name = "RUN")]
    pub runs: Vec<String>,
    /// Compare one run with the mean of earlier runs of its platform instead: last:10, or those
    /// with a label, KEY=VALUE (the last 10 of them)
    #[arg(long, value_name = "BASE")]
    pub baseline: Option<String>,
    /// Compare only this workload, by id or code; may be repeated [default: all]
    #[arg(long, value_name = "ID")]
    pub workload: Vec<String>,
    /// Measure what differs (by its own interval) again in both runs, five times in a new run of
    /// each (on a fresh server with fresh data where it is private), and judge by the new figures
    /// alone
    #[arg(long, conflicts_with = "baseline")]
    pub confirm: bool,
    #[command(flatten)]
    pub limit: LimitArgs,
    /// Licenses and prices of a platform (TOML, docs/price.md): ratios per price and license; may
    /// be repeated
    #[arg(long, value_name = "FILE")]
    pub price: Vec<PathBuf>,
    #[command(flatten)]
    pub out: OutputArgs,
    #[command(flatten)]
    pub branding: BrandingArgs,
}

/// Arguments of `capacity`.
#[derive(Debug, Args)]
pub struct CapacityArgs {
    /// Ids, names or 'last': the platforms
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// Required load: WORKLOAD RATE UNIT, then parameters and an SLO, as "TP-LIGHT 8000 tps
    /// update_pct=20 p99<5ms"; may be repeated: the platform must carry all at the same time
    #[arg(
        long,
        alias = "need",
        value_name = "NEED",
        required_unless_present = "requirements",
        allow_hyphen_values = true
    )]
    pub requirement: Vec<String>,
    /// File (TOML) with requirements: each [[need]] has workload, rate and unit; params and promise
    /// (the SLO) are optional; may be repeated
    #[arg(long, alias = "needs", value_name = "FILE")]
    pub requirements: Vec<PathBuf>,
    /// Licenses and prices of a platform (docs/price.md): which is the cheapest; may be repeated
    #[arg(long, value_name = "FILE")]
    pub price: Vec<PathBuf>,
    #[command(flatten)]
    pub out: OutputArgs,
    #[command(flatten)]
    pub branding: BrandingArgs,
}
