//! `make witness`: what dbdyno counts and times beside what others count and time of the same work.
//!
//! Counts are of fixed work, and witnesses must agree exactly or within what a stated reason
//! allows; times are medians of turns, and what is more than 3 % apart is explained below the
//! table.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool prints its tables")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use dbdyno::error::{Error, Result};

mod agreement;
mod breakpoints;
mod cases;
mod changes;
mod connections;
mod counts;
#[path = "../peers/drive.rs"]
#[allow(dead_code)] // peers need more of it
mod drive;
#[path = "../peers/interrupt.rs"]
#[allow(dead_code)]
mod interrupt;
mod keys;
#[path = "../peers/lab.rs"]
#[allow(dead_code)]
mod lab;
#[path = "../peers/machine.rs"]
#[allow(dead_code)]
mod machine;
mod mariadb;
mod mariadb_times;
#[path = "../peers/pairs.rs"]
#[allow(dead_code)]
mod pairs;
#[path = "../peers/pgbench.rs"]
#[allow(dead_code)]
mod pgbench;
mod postgres;
mod postgres_times;
mod recall;
mod script;
mod strace;
#[path = "../peers/sysbench.rs"]
#[allow(dead_code)]
mod sysbench;
mod table;
mod times;
#[path = "../peers/tls.rs"]
#[allow(dead_code)]
mod tls;
mod witnesses;

use agreement::Agreement;
use cases::{CASES, Case};
use counts::Extent;
use lab::Lab;
use times::{Clocks, Length};
use witnesses::{WITNESSES, Witness};

/// Workloads laid over the catalog.
const MORE_WORKLOADS: Option<&str> = Some(concat!(env!("CARGO_MANIFEST_DIR"), "/witness/catalog"));
const COUNTS: [&str; 6] =
    ["statements", "rows", "rows gone through", "commits", "blocks", "blocks read"];
const OTHERS: [&str; 11] = [
    "connections",
    "rows deleted",
    "rows updated",
    "draws",
    "hottest key",
    "hottest 10",
    "hottest 100",
    "chi-square",
    "truths",
    "neighbours found",
    "recall %",
];
const TIMES: [&str; 2] = ["mean us", "p99 us"];

/// Compares the counts and times of dbdyno with those of pgbench, sysbench, pg_stat_statements,
/// pg_waldump, performance_schema, the binary log, strace and perf.
#[derive(Debug, Parser)]
#[command(name = "witness")]
struct Args {
    /// Engines: postgres, mariadb, sqlite; all if none is named
    engine: Vec<String>,
    /// Only workloads whose name contains this
    #[arg(long, default_value = "")]
    workload: String,
    /// Turns of each side for the times; 0 = no times
    #[arg(long, default_value_t = 3)]
    turns: usize,
    /// Seconds of each turn
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Part of the usual number of ops that is counted
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Nominal size in GB of the data set
    #[arg(long, default_value_t = 0.5)]
    size_gb: f64,
    /// Directory in which the private databases are made; they are removed at the end [default:
    /// temporary files]
    #[arg(long)]
    data_dir: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let mut all = Vec::new();
    let ended = interrupt::listen().and_then(|()| run(&args, &mut all));
    // What was measured before an error took minutes.
    if !all.is_empty() {
        for figures in [&COUNTS[..], &OTHERS, &TIMES] {
            if all.iter().any(|one| figures.contains(&one.figure)) {
                println!("\n{}", table::render(&all, figures));
            }
        }
        println!("Machine: {}; dbdyno {}.", machine::describe(), dbdyno::VERSION);
    }
    let apart: Vec<&Agreement> = all.iter().filter(|one| !one.holds()).collect();
    for one in &apart {
        eprintln!("witness: {one:?}");
    }
    if let Err(error) = ended {
        eprintln!("witness: {error}");
        return ExitCode::from(if interrupt::interrupt().is_set() { 130 } else { 1 });
    }
    ExitCode::from(u8::from(!apart.is_empty()))
}

fn run(args: &Args, all: &mut Vec<Agreement>) -> Result<()> {
    let directory = lab::directory(args.data_dir.as_deref())?;
    for &witness in WITNESSES {
        let engine = witness.engine();
        if args.engine.is_empty() || args.engine.iter().any(|wanted| wanted == engine) {
            on_engine(args, witness, directory.path(), all)?;
        }
    }
    Ok(())
}

fn on_engine(
    args: &Args,
    witness: &dyn Witness,
    directory: &Path,
    all: &mut Vec<Agreement>,
) -> Result<()> {
    let is_traced = strace::is_there();
    if !is_traced {
        eprintln!("strace is not there or must not attach: the system is no witness");
    }
    let engine = witness.engine();
    let lab = counts::lab(engine, directory, args.size_gb)?;
    let extent = Extent { scale: args.scale, is_traced };
    let clocks = if args.turns > 0 { witness.clocks() } else { Clocks::None };
    let wanted = |case: &&Case| case.id.contains(&args.workload);
    let ended = CASES.iter().filter(wanted).try_for_each(|case| {
        counts::drives(&lab, case).into_iter().try_for_each(|drive| {
            interrupt::check()?;
            eprintln!("{} on {engine} in the {} drive", case.id, drive.name());
            all.extend(counts::agreements(&lab, case, drive, extent)?);
            if args.turns > 0 {
                let length = Length { turns: args.turns, seconds: args.seconds };
                all.extend(times::agreements(&lab, case, drive, length, &clocks)?);
            }
            Ok(())
        })
    });
    let ended = ended.and_then(|()| beside_programs(args, witness, &lab, extent, all));
    lab.close().and(ended)?;
    if witness.has_vectors() { vectors(args, engine, directory, extent, all) } else { Ok(()) }
}

/// The same work by other programs: connections, skewed keys, deletes and updates.
fn beside_programs(
    args: &Args,
    witness: &dyn Witness,
    lab: &Lab,
    extent: Extent,
    all: &mut Vec<Agreement>,
) -> Result<()> {
    for program in witness.programs() {
        interrupt::check()?;
        if program.name.contains(&args.workload) {
            eprintln!("{} on {}", program.name, witness.engine());
            all.extend((program.agreements)(lab, extent)?);
        }
    }
    Ok(())
}

/// Recall by another program, on a server with vectors.
fn vectors(
    args: &Args,
    engine: &str,
    directory: &Path,
    extent: Extent,
    all: &mut Vec<Agreement>,
) -> Result<()> {
    if !"VEC-SEARCH, VEC-EXACT".contains(&args.workload) {
        return Ok(());
    }
    let (Some(bin), Some(oracle)) = (recall::server_bin(), recall::oracle()) else {
        eprintln!(
            "no PostgreSQL with pgvector (scripts/vector-servers.sh) or no faiss \
             (scripts/test-dependencies.sh --peers): recall has no witness"
        );
        return Ok(());
    };
    eprintln!("VEC-SEARCH, VEC-EXACT beside faiss on {engine}");
    let lab = Lab::with_settings(engine, directory, Some(bin), &[])?;
    let counted = recall::agreements(&lab, &oracle, extent);
    let closed = lab.close();
    all.extend(counted?);
    closed
}

/// An error of the comparison itself.
fn failed(place: &str, what: impl Into<String>) -> Error {
    Error::target(place, what)
}
