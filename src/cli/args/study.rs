//! Arguments of studies, of blocks (`layers`, `interference`, `sweep`) and of a moment
//! (`selftest`).

use std::path::PathBuf;

use clap::Args;

use super::{
    DriveArg, FactsArgs, HostArgs, NameArgs, OutputArgs, PlaceArgs, RunArgs, SelectionArgs,
    TargetArgs,
};
use crate::cli::values::Seconds;
use crate::model::AskedRamp;

/// Target, blocks and output of a study.
#[derive(Debug, Clone, Args)]
pub struct StudyArgs {
    #[command(flatten)]
    pub place: PlaceArgs,
    #[command(flatten)]
    pub host: HostArgs,
    #[command(flatten)]
    pub stated: FactsArgs,
    /// Numbers of jobs [default: the study's]
    #[arg(long, value_name = "RAMP", allow_hyphen_values = true)]
    pub jobs: Option<AskedRamp>,
    /// Every test once in each of N blocks, in random order; fewer than 6 have no interval
    /// [default: the study's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub blocks: Option<u32>,
    /// Length of each measured window [default: the study's]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<Seconds>,
    /// Time dropped before each window [default: the study's]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub warmup: Option<Seconds>,
    #[command(flatten)]
    pub naming: NameArgs,
    #[command(flatten)]
    pub out: OutputArgs,
}

impl StudyArgs {
    /// The run that measures it: tests of a suite.
    pub fn run(&self, suite: &str) -> RunArgs {
        RunArgs {
            target: TargetArgs {
                place: self.place.clone(),
                selection: SelectionArgs {
                    suite: vec![suite.to_string()],
                    ..SelectionArgs::default()
                },
                ..TargetArgs::default()
            },
            host: self.host.clone(),
            stated: self.stated.clone(),
            jobs: self.jobs.clone(),
            duration: self.duration,
            warmup: self.warmup,
            repeat: self.blocks,
            naming: self.naming.clone(),
            ..RunArgs::default()
        }
    }
}

/// Arguments of `interference`.
#[derive(Debug, Clone, Args)]
pub struct InterferenceArgs {
    #[command(flatten)]
    pub study: StudyArgs,
    /// Workloads by id or alias, with parameters: A,B:param=value,C [default: those of the suite
    /// 'interference']
    #[arg(long, value_name = "LIST")]
    pub workloads: Option<String>,
}

impl InterferenceArgs {
    /// The workloads that are named: a piece without an id is a further parameter of the one before
    /// it.
    pub fn names(&self) -> Vec<String> {
        let mut named: Vec<String> = Vec::new();
        for piece in self.workloads.iter().flat_map(|list| list.split(',')).map(str::trim) {
            match named.last_mut() {
                Some(last) if piece.contains('=') && !piece.contains(':') => {
                    *last = format!("{last},{piece}")
                }
                _ => named.push(piece.to_string()),
            }
        }
        named
    }
}

/// Arguments of `sweep`.
#[derive(Debug, Clone, Args)]
pub struct SweepArgs {
    #[command(flatten)]
    pub study: StudyArgs,
    /// Another workload with the parameter active_rows, with further parameters:
    /// ID[:param=value,...] [default: those of the suite 'sweep']
    #[arg(long, value_name = "ID")]
    pub workload: Option<String>,
}

/// Arguments of `selftest`.
#[derive(Debug, Clone, Args)]
pub struct SelftestArgs {
    #[command(flatten)]
    pub place: PlaceArgs,
    #[command(flatten)]
    pub host: HostArgs,
    /// Only this workload, by id or alias; may be given several times
    #[arg(long, value_name = "ID")]
    pub workload: Vec<String>,
    /// Only this drive
    #[arg(long, value_enum)]
    pub drive: Option<DriveArg>,
    /// File to write, as JSON [default: dbdyno-selftest-ENGINE.json]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write names of hosts, users and paths, too
    #[arg(long)]
    pub with_names: bool,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn commas_part_workloads_and_their_parameters() {
        #[derive(Parser)]
        struct Alone {
            #[command(flatten)]
            args: InterferenceArgs,
        }
        let named = |list: &str| Alone::parse_from(["x", "null", "--workloads", list]).args.names();
        assert_eq!(named("A, B:x=1,y=2,C"), ["A", "B:x=1,y=2", "C"]);
        assert_eq!(named("A,,B"), ["A", "", "B"], "an empty one is refused as an unknown workload");
    }
}
