//! `make peers`: how fast dbdyno is beside its peers, as ratios.
//!
//! Ours and the peer run in turns, so that both meet the same machine; a pair in which the host or
//! other programs took processor time is dropped. Nothing here is a test: figures depend on the
//! machine, ratios less so.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool prints its tables")]
#![allow(clippy::unwrap_used, reason = "the proxy of the tests, which a peer shares")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use dbdyno::error::{Error, Result};

mod bare_client;
mod bare_duckdb;
mod bare_sqlite;
mod barest_routine;
mod commit;
mod connect;
mod drive;
mod driver;
mod fixed_work;
mod in_turns;
mod interrupt;
mod lab;
mod load;
mod lookup;
mod machine;
mod own_cost;
mod pairs;
#[allow(dead_code)] // the witness needs more of it
mod pgbench;
mod sysbench;
mod table;
mod tls;
#[path = "../../tests/it/ttc.rs"]
#[allow(dead_code)] // the tests need more of it
mod ttc;

use in_turns::InTurns;
use lab::Lab;
use pairs::{Outcome, Precision, Ramp, Rules};

/// Workloads with the peers' statements, laid over the catalog.
const MORE_WORKLOADS: Option<&str> = Some(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/catalog"));
/// A load takes much longer than a lookup's half.
const MAX_LOADS: usize = 3;

/// Compares dbdyno with pgbench, with sysbench, with a bare PL/pgSQL loop, with a bare client of
/// PostgreSQL and with bare loops over the C interfaces of SQLite and DuckDB.
#[derive(Debug, Parser)]
#[command(name = "peers")]
struct Args {
    /// Comparisons to make; all if none is named
    what: Vec<What>,
    /// Pairs to keep per comparison; those by processor time take as many as their precision needs
    #[arg(long, default_value_t = 5)]
    pairs: usize,
    /// Half width in percent of the 95 % interval of a ratio by processor time
    #[arg(long, default_value_t = 0.5)]
    half_width: f64,
    /// Pairs after which such a ratio is left as it is
    #[arg(long, default_value_t = 40)]
    most_pairs: usize,
    /// Seconds of each half of a pair
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Numbers of jobs of the comparisons with pgbench
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4])]
    jobs: Vec<u32>,
    /// Drop a pair if the host (steal) or other programs took more than this percentage of the
    /// processors
    #[arg(long, default_value_t = 3.0)]
    taken: f64,
    /// Nominal size in GB of the data set that is loaded
    #[arg(long, default_value_t = 1.0)]
    load_gb: f64,
    /// Directory in which the private databases are made; they are removed at the end [default:
    /// temporary files]
    #[arg(long)]
    data_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// PostgreSQL lookup in the database drive against pgbench
    Database,
    /// The generated routine against the barest PL/pgSQL loop
    Harness,
    /// PostgreSQL lookup in the client drive against pgbench and against a bare client
    Client,
    /// PostgreSQL lookup in the client drive against pgbench, both over TCP and TLS
    Tls,
    /// PostgreSQL and MariaDB lookup in both drives with all probes against without, by processor
    /// time
    OwnCost,
    /// The lookup of every engine and drive: fixed work against a window
    FixedWork,
    /// PostgreSQL lookup in the client drive beside a monitor against without
    Monitor,
    /// PostgreSQL lookup of 25 rows in the database drive against pgbench
    Rows25,
    /// PostgreSQL: one row changed and committed, one job, against pgbench
    Commit,
    /// PostgreSQL: connections opened, used once and closed, against pgbench -C
    Connect,
    /// SQLite lookup in our client loop against a bare loop
    Sqlite,
    /// DuckDB lookup and aggregate in our client loop against a bare loop, its load against COPY
    /// FROM CSV
    Duckdb,
    /// Our load against pgbench -i
    Load,
    /// MariaDB lookup in both drives against sysbench oltp_point_select
    Mariadb,
    /// Our load of MariaDB against sysbench prepare
    MariadbLoad,
    /// Oracle's driver on a stub that answers at once beside our MariaDB client: the client's
    /// processor time
    Driver,
}

impl What {
    /// Needs the private PostgreSQL server.
    fn is_on_postgres(self) -> bool {
        matches!(self, What::FixedWork | What::OwnCost)
            || !matches!(self, What::Sqlite | What::Duckdb | What::Tls) && !self.is_on_mariadb()
    }
    fn is_against_pgbench(self) -> bool {
        self.is_on_postgres()
            && !matches!(self, What::Harness | What::OwnCost | What::FixedWork | What::Monitor)
    }
    /// Needs the private MariaDB server.
    fn is_on_mariadb(self) -> bool {
        self.is_against_sysbench() || matches!(self, What::Driver | What::FixedWork | What::OwnCost)
    }
    fn is_against_sysbench(self) -> bool {
        matches!(self, What::Mariadb | What::MariadbLoad)
    }
}

/// Measurements, and their place.
#[derive(Default)]
struct Measured {
    versions: Vec<String>,
    outcomes: Vec<Outcome>,
}

fn main() -> ExitCode {
    if driver::was_stub() {
        return ExitCode::SUCCESS;
    }
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peers: {error}");
            ExitCode::from(if interrupt::interrupt().is_set() { 130 } else { 1 })
        }
    }
}

fn run(args: &Args) -> Result<()> {
    interrupt::listen()?;
    if args.wants_any(What::is_against_sysbench) {
        sysbench::check()?;
    }
    let directory = lab::directory(args.data_dir.as_deref())?;
    let mut measured = Measured::default();
    let ended = measure(args, directory.path(), &mut measured);
    // What was measured before an error took minutes.
    if !measured.outcomes.is_empty() {
        println!("\n{}", table::render(&measured.outcomes));
        println!("{}", table::footer(args.taken, &measured.versions, &measured.outcomes));
    }
    ended
}

fn measure(args: &Args, directory: &Path, measured: &mut Measured) -> Result<()> {
    if args.wants_any(What::is_on_postgres) {
        let lab = Lab::postgres(directory)?;
        measured.versions.push(format!("PostgreSQL {}", lab.database.version()));
        on_postgres(args, &lab, &mut measured.outcomes)?;
        lab.close()?;
    }
    if args.wants(What::Harness) {
        let mut in_turns = InTurns::new(lookup::HARNESS_TARGET);
        let ended = harness_in_turns(args, directory, &mut in_turns);
        measured.outcomes.extend(in_turns.into_outcomes());
        ended?;
    }
    if args.wants(What::Tls) {
        let lab = Lab::postgres_over_tls(directory)?;
        let rules = args.rules(args.pairs, lab.server_pid());
        lookup::tls(&lab, &rules, args.ramp(), &mut measured.outcomes)?;
        lab.close()?;
    }
    if args.wants_any(|what| matches!(what, What::Sqlite | What::FixedWork)) {
        let lab = Lab::sqlite(directory)?;
        measured.versions.push(format!("SQLite {}", lab.database.version()));
        let rules = args.rules(args.pairs, None);
        if args.wants(What::Sqlite) {
            lookup::sqlite(&lab, &rules, args.seconds, &mut measured.outcomes)?;
        }
        fixed_work(args, &lab, &mut measured.outcomes)?;
        lab.close()?;
    }
    if args.wants_any(|what| matches!(what, What::Duckdb | What::FixedWork)) {
        let lab = Lab::duckdb(directory)?;
        measured.versions.push(format!("DuckDB {}", lab.database.version()));
        fixed_work(args, &lab, &mut measured.outcomes)?;
        if args.wants(What::Duckdb) {
            let rules = args.rules(args.pairs, None);
            lookup::duckdb(&lab, &rules, args.seconds, &mut measured.outcomes)?;
            let rules = args.rules(args.pairs.min(MAX_LOADS), None);
            measured.outcomes.push(load::duckdb(&lab, &rules, args.load_gb)?);
        }
        lab.close()?;
    }
    if args.wants_any(What::is_on_mariadb) {
        let lab = Lab::mariadb(directory)?;
        measured.versions.push(format!("MariaDB {}", lab.database.version()));
        on_mariadb(args, &lab, &mut measured.outcomes)?;
        lab.close()?;
    }
    Ok(())
}

fn on_postgres(args: &Args, lab: &Lab, outcomes: &mut Vec<Outcome>) -> Result<()> {
    if args.wants_any(What::is_against_pgbench) {
        // It is beside the server's programs; missed now, not after minutes.
        pgbench::Pgbench::find(lab)?;
    }
    let rules = args.rules(args.pairs, lab.server_pid());
    if args.wants(What::Database) {
        lookup::database(lab, &rules, args.ramp(), outcomes)?;
    }
    if args.wants(What::Harness) {
        lookup::harness(lab, &rules, args.seconds, outcomes)?;
    }
    if args.wants(What::Client) {
        lookup::client(lab, &rules, args.ramp(), outcomes)?;
    }
    own_cost(args, lab, outcomes)?;
    fixed_work(args, lab, outcomes)?;
    if args.wants(What::Monitor) {
        own_cost::monitor(lab, &rules, args.ramp(), outcomes)?;
    }
    if args.wants(What::Rows25) {
        lookup::rows25(lab, &rules, args.ramp(), outcomes)?;
    }
    if args.wants(What::Commit) {
        outcomes.push(commit::compare(lab, &rules, args.seconds)?);
    }
    if args.wants(What::Connect) {
        outcomes.push(connect::compare(lab, &rules, args.seconds)?);
    }
    // Last: it drops the rows of the lookups.
    if args.wants(What::Load) {
        let rules = args.rules(args.pairs.min(MAX_LOADS), lab.server_pid());
        outcomes.push(load::compare(lab, &rules, args.load_gb)?);
    }
    Ok(())
}

/// The harness on several servers, one after the other.
fn harness_in_turns(args: &Args, directory: &Path, in_turns: &mut InTurns) -> Result<()> {
    for _ in 0..in_turns::SERVERS {
        let lab = Lab::postgres(directory)?;
        in_turns.measure(&lab, &args.rules(args.pairs, lab.server_pid()))?;
        lab.close()?;
    }
    Ok(())
}

/// The engine's part of it, if it is wanted.
fn own_cost(args: &Args, lab: &Lab, outcomes: &mut Vec<Outcome>) -> Result<()> {
    if !args.wants(What::OwnCost) {
        return Ok(());
    }
    let rules = args.rules(args.pairs, lab.server_pid());
    own_cost::compare(lab, &rules, args.precision(), args.ramp(), outcomes)
}

/// The engine's part of it, if it is wanted.
fn fixed_work(args: &Args, lab: &Lab, outcomes: &mut Vec<Outcome>) -> Result<()> {
    if !args.wants(What::FixedWork) {
        return Ok(());
    }
    let rules = args.rules(args.pairs, lab.server_pid());
    fixed_work::compare(lab, &rules, args.precision(), args.seconds, outcomes)
}

fn on_mariadb(args: &Args, lab: &Lab, outcomes: &mut Vec<Outcome>) -> Result<()> {
    if args.wants(What::Driver) {
        outcomes.push(driver::compare(
            lab,
            &args.rules(args.pairs, lab.server_pid()),
            args.seconds,
        )?);
    }
    own_cost(args, lab, outcomes)?;
    fixed_work(args, lab, outcomes)?;
    if args.wants(What::Mariadb) {
        let rules = args.rules(args.pairs, lab.server_pid());
        lookup::mariadb(lab, &rules, args.ramp(), outcomes)?;
    }
    if args.wants(What::MariadbLoad) {
        let rules = args.rules(args.pairs.min(MAX_LOADS), lab.server_pid());
        load::mariadb(lab, &rules, args.load_gb, outcomes)?;
    }
    Ok(())
}

impl Args {
    fn wants(&self, what: What) -> bool {
        self.what.is_empty() || self.what.contains(&what)
    }
    fn wants_any(&self, is_one: fn(What) -> bool) -> bool {
        self.what.is_empty() || self.what.iter().any(|what| is_one(*what))
    }
    fn precision(&self) -> Precision {
        Precision { half_width: self.half_width / 100.0, most_pairs: self.most_pairs }
    }
    fn ramp(&self) -> Ramp<'_> {
        Ramp { jobs: &self.jobs, seconds: self.seconds }
    }
    fn rules(&self, pairs: usize, server_pid: Option<u32>) -> Rules {
        Rules { pairs, taken: self.taken / 100.0, server_pid }
    }
}

/// An error of the benchmark itself.
fn failed(place: &str, what: impl Into<String>) -> Error {
    Error::target(place, what)
}
