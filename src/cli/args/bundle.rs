//! Arguments of the commands on bundles: `bundle`, `audit`, `rerun`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{
    DataArgs, FactsArgs, HostArgs, NameArgs, OutputArgs, PlaceArgs, RunArgs, SealedDataArgs,
    TargetArgs,
};
use crate::cli::values::Nodes;
use crate::error::Result;
use crate::model::RunRecord;
use crate::plan::{self, DEFAULT_SEED};
use crate::report::Language;

/// Arguments of `bundle`.
#[derive(Debug, Args)]
pub struct BundleArgs {
    /// Id or name of a run, or 'last'
    #[arg(default_value = "last")]
    pub run: String,
    /// File to write [default: run-N.dbdyno]
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}

/// Arguments of `audit`.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// File that 'dbdyno bundle' wrote
    #[arg(value_hint = ValueHint::FilePath)]
    pub bundle: PathBuf,
    /// Digest that 'dbdyno bundle' printed, sha256:...: another bundle is refused
    #[arg(long, value_name = "DIGEST")]
    pub digest: Option<String>,
    /// Prices of the platform; may be given several times
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub price: Vec<PathBuf>,
    #[command(flatten)]
    pub out: OutputArgs,
}

/// Arguments of `rerun`.
#[derive(Debug, Args)]
pub struct RerunArgs {
    /// File that 'dbdyno bundle' wrote
    #[arg(value_hint = ValueHint::FilePath)]
    pub bundle: PathBuf,
    #[command(flatten)]
    pub place: PlaceArgs<SealedDataArgs>,
    #[command(flatten)]
    pub host: HostArgs,
    #[command(flatten)]
    pub stated: FactsArgs,
    /// Digest that 'dbdyno bundle' printed, sha256:...: another bundle is refused
    #[arg(long, value_name = "DIGEST")]
    pub digest: Option<String>,
    /// Pooler for the tests that went through one: scheme://user@host:port/db
    #[arg(long, value_name = "URL")]
    pub via: Option<String>,
    #[command(flatten)]
    pub naming: NameArgs,
    /// Language of the datasheet and of the comparison: en or de
    #[arg(long, value_name = "LANGUAGE", default_value = "en")]
    pub language: Language,
}

impl RerunArgs {
    /// The run on the target, with the size of the data set, the size profile and the numbers of
    /// nodes of the sealed run. A server that is named by URL has settings of its own.
    ///
    /// # Errors
    /// The sealed plan is not one of ours.
    pub fn run(&self, sealed: &RunRecord) -> Result<RunArgs> {
        let PlaceArgs { target, data, server_bin, port, keep } = self.place.clone();
        let is_ours = !target.contains("://");
        let profile = sealed.plan.profile().filter(|_| is_ours).map(String::from);
        let data = DataArgs {
            size: data.size.or(sealed.size_gb),
            profile: data.profile.or(profile),
            data_dir: data.data_dir,
            seed: sealed.seed.and_then(|seed| u32::try_from(seed).ok()).unwrap_or(DEFAULT_SEED),
        };
        let place = PlaceArgs { target, data, server_bin, port, keep };
        let nodes = plan::nodes(&sealed.plan)?;
        Ok(RunArgs {
            target: TargetArgs { place, ..TargetArgs::default() },
            nodes: (!nodes.is_empty()).then_some(Nodes(nodes)),
            host: self.host.clone(),
            stated: self.stated.clone(),
            naming: self.naming.clone(),
            via: self.via.clone(),
            language: self.language,
            ..RunArgs::default()
        })
    }
}
