//! `make peers`: how fast dbdyno is beside its peers, as ratios.
//!
//! Ours and the peer run in turns, so that both meet the same machine; a pair in which the host or other programs
//! took processor time is dropped. Nothing here is a test: figures depend on the machine, ratios less so.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use dbdyno::error::{Error, Result};

mod bare_sqlite;
mod barest_routine;
mod commit;
mod drive;
mod lab;
mod load;
mod lookup;
mod machine;
mod pairs;
mod pgbench;
mod sysbench;
mod table;

use lab::Lab;
use pairs::{Outcome, Rules};

/// A load takes much longer than a lookup's half.
const MOST_LOADS: usize = 3;

/// Compares dbdyno with pgbench, with sysbench, with a bare PL/pgSQL loop and with a bare loop over SQLite's C interface.
#[derive(Debug, Parser)]
#[command(name = "peers")]
struct Args {
    /// What to compare; everything if nothing is named
    what: Vec<What>,
    /// Pairs to keep per comparison
    #[arg(long, default_value_t = 5)]
    pairs: usize,
    /// Seconds of each half of a pair
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Numbers of jobs of the comparisons with pgbench
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4])]
    jobs: Vec<u32>,
    /// Drop a pair if the host (steal) or other programs took more than this percentage of the processors
    #[arg(long, default_value_t = 3.0)]
    taken: f64,
    /// Nominal size in GB of the data set that is loaded
    #[arg(long, default_value_t = 1.0)]
    load_gb: f64,
    /// Directory in which the private databases are made; they are removed at the end [default: temporary files]
    #[arg(long)]
    data_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// PostgreSQL lookup in the database drive against pgbench
    Database,
    /// The generated routine against the barest PL/pgSQL loop
    Harness,
    /// PostgreSQL lookup in the client drive against pgbench
    Client,
    /// PostgreSQL lookup of 25 rows in the database drive against pgbench
    Rows25,
    /// PostgreSQL: one row changed and committed, one job, against pgbench
    Commit,
    /// SQLite lookup in our client loop against a bare loop
    Sqlite,
    /// Our load against pgbench -i
    Load,
    /// MariaDB lookup in both drives against sysbench oltp_point_select
    Mariadb,
    /// Our load of MariaDB against sysbench prepare
    MariadbLoad,
}

impl What {
    /// Needs the private PostgreSQL server.
    fn is_on_postgres(self) -> bool {
        !matches!(self, What::Sqlite | What::Mariadb | What::MariadbLoad)
    }
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peers: {error}");
            ExitCode::from(1)
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let directory = lab::directory(args.data_dir.as_deref())?;
    let mut versions = Vec::new();
    let mut outcomes = Vec::new();
    if args.what.iter().any(|what| what.is_on_postgres()) || args.what.is_empty() {
        let lab = Lab::postgres(directory.path())?;
        versions.push(format!("PostgreSQL {}", lab.database.version()));
        outcomes.extend(on_postgres(args, &lab)?);
        lab.close()?;
    }
    if args.wants(What::Sqlite) {
        let lab = Lab::sqlite(directory.path())?;
        versions.push(format!("SQLite {}", lab.database.version()));
        outcomes.extend(lookup::sqlite(&lab, &args.rules(args.pairs, None), args.seconds)?);
        lab.close()?;
    }
    if args.wants(What::Mariadb) || args.wants(What::MariadbLoad) {
        let lab = Lab::mariadb(directory.path())?;
        versions.push(format!("MariaDB {}", lab.database.version()));
        outcomes.extend(on_mariadb(args, &lab)?);
        lab.close()?;
    }
    println!("\n{}", table::render(&outcomes));
    println!("{}", table::footer(args.taken, &versions, &outcomes));
    Ok(())
}

fn on_postgres(args: &Args, lab: &Lab) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    let rules = args.rules(args.pairs, lab.server_pid());
    if args.wants(What::Database) {
        outcomes.extend(lookup::database(lab, &rules, &args.jobs, args.seconds)?);
    }
    if args.wants(What::Harness) {
        outcomes.extend(lookup::harness(lab, &rules, args.seconds)?);
    }
    if args.wants(What::Client) {
        outcomes.extend(lookup::client(lab, &rules, &args.jobs, args.seconds)?);
    }
    if args.wants(What::Rows25) {
        outcomes.extend(lookup::rows25(lab, &rules, &args.jobs, args.seconds)?);
    }
    if args.wants(What::Commit) {
        outcomes.push(commit::compare(lab, &rules, args.seconds)?);
    }
    // Last: it drops the rows of the lookups.
    if args.wants(What::Load) {
        let rules = args.rules(args.pairs.min(MOST_LOADS), lab.server_pid());
        outcomes.push(load::compare(lab, &rules, args.load_gb)?);
    }
    Ok(outcomes)
}

fn on_mariadb(args: &Args, lab: &Lab) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    if args.wants(What::Mariadb) {
        outcomes.extend(sysbench::lookups(lab, &args.rules(args.pairs, lab.server_pid()), &args.jobs, args.seconds)?);
    }
    if args.wants(What::MariadbLoad) {
        let rules = args.rules(args.pairs.min(MOST_LOADS), lab.server_pid());
        outcomes.extend(sysbench::load(lab, &rules, args.load_gb)?);
    }
    Ok(outcomes)
}

impl Args {
    fn wants(&self, what: What) -> bool {
        self.what.is_empty() || self.what.contains(&what)
    }
    fn rules(&self, pairs: usize, server_pid: Option<u32>) -> Rules {
        Rules { pairs, taken: self.taken / 100.0, server_pid }
    }
}

/// An error of the benchmark itself.
fn failed(place: &str, what: impl Into<String>) -> Error {
    Error::target(place, what)
}
