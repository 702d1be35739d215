//! Arguments of `site`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueHint};

use crate::report::Language;

/// Runs that are compared, the first is the base.
#[derive(Debug, Clone)]
pub struct ComparedRuns(pub Vec<String>);

impl FromStr for ComparedRuns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let runs: Vec<String> = text.split(',').map(|run| run.trim().to_string()).collect();
        match runs.len() > 1 && runs.iter().all(|run| !run.is_empty()) {
            true => Ok(ComparedRuns(runs)),
            false => Err("give two runs or more: 3,5".into()),
        }
    }
}

/// Public name of a run.
#[derive(Debug, Clone)]
pub struct RunName {
    pub run: String,
    pub name: String,
}

impl FromStr for RunName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=').map(|(run, name)| (run.trim(), name.trim()));
        match parts.filter(|(run, name)| !run.is_empty() && !name.is_empty()) {
            Some((run, name)) => Ok(RunName { run: run.into(), name: name.into() }),
            None => Err("give RUN=TEXT: 3='Server of 2026'".into()),
        }
    }
}

/// Arguments of `site`.
#[derive(Debug, Args)]
pub struct SiteArgs {
    /// Directory to write to; empty, not there yet, or written by 'site' before
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Ids, names or 'last' [default: all runs that have ended]
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// Also write the comparison of these runs: RUN,RUN[,RUN]; the first is the base; may be given
    /// several times [default: the oldest measured run with each other one that has a test in
    /// common with it]
    #[arg(long, value_name = "RUNS")]
    pub compare: Vec<ComparedRuns>,
    /// Name of a platform on the site; may be given several times [default: A, B, C; the
    /// printed name of a platform of a known publication]
    #[arg(long, value_name = "RUN=TEXT")]
    pub name: Vec<RunName>,
    /// Title of the site
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Leave nothing out: names, hosts, users, paths and messages as stored, for readers inside
    #[arg(long)]
    pub internal: bool,
    /// Language of the pages: en or de; the catalog is always English
    #[arg(long, value_name = "LANGUAGE", default_value = "en")]
    pub language: Language,
}
