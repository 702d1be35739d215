//! `make pairs`: what comparisons say of equal quick runs, and of losses of our own making.
//!
//! Each pair is two quick runs on fresh private servers. Beside the suite both run workloads of
//! this program, whose op counts a range of rows; in the second run the ranges are longer, by the
//! losses asked for. Of the suite nothing should be found, of the made losses as many as the
//! comparison says it would find.
//!
//! Three tables come of them: the pairs; every two of all these runs, whose suite is the same on
//! servers of their own, too; and each second run with up to ten others as its base.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool prints its tables")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Parser;
use comfy_table::Table;
use dbdyno::analysis::compare::{Comparison, Row};
use dbdyno::catalog::Catalog;
use dbdyno::error::{Error, Kind, Result};
use dbdyno::report::compare::comparisons;
use dbdyno::report::{Input, RunTests};
use dbdyno::serve::stored::{self, Chosen};
use dbdyno::stats::median;
use dbdyno::store::Store;

/// The suite that both runs of a pair measure.
const QUICK: &str = include_str!("../../catalog/suites/quick.toml");
/// Rows that an op of a made workload counts in the first run.
const ROWS: f64 = 4_000.0;
/// The group of the made workloads.
const GROUP: &str = "PAIRS";
/// The loss that the gate allows.
const LIMIT: f64 = 0.10;

/// Compares pairs of equal quick runs on fresh servers, with losses of our own making.
#[derive(Debug, Parser)]
#[command(name = "pairs")]
struct Args {
    /// Engines whose private servers are measured
    #[arg(default_values_t = ["sqlite", "postgres", "mariadb"].map(String::from))]
    engines: Vec<String>,
    /// Pairs of each engine; one takes four to nine minutes
    #[arg(long, default_value_t = 10)]
    pairs: u32,
    /// Multiple of the work that an op does in the second run
    #[arg(long, value_delimiter = ',', default_values_t = [1.10, 1.20, 1.50])]
    losses: Vec<f64>,
    /// Shortens the suite, to try this program
    #[arg(long, default_value_t = 1.0)]
    time_scale: f64,
    /// Directory of results and catalogs
    #[arg(long, default_value = "target/pairs")]
    dir: PathBuf,
    /// The program that measures
    #[arg(long, default_value = "target/release/dbdyno")]
    dbdyno: PathBuf,
}

/// Verdict of a comparison of a pair.
struct Judged {
    /// Figures of the suite, those of them that were found to differ, and those whose interval
    /// holds 1.
    figures: usize,
    found: usize,
    holding: usize,
    failing: usize,
    half_widths: Vec<f64>,
    made: Vec<Made>,
}

/// A loss of our own making.
struct Made {
    times: f64,
    is_found: bool,
    measured: f64,
    /// The loss from which the comparison said it would have found it.
    found_from: Option<f64>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pairs: {error}");
            ExitCode::from(error.kind.exit_code())
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let (base, other) = (overlay(args, true)?, overlay(args, false)?);
    for engine in &args.engines {
        let mut pairs = Vec::new();
        for number in 1..=args.pairs {
            let results = args.dir.join(format!("{engine}-{number}.db"));
            // A pair that was measured before is not measured again.
            if !results.exists() {
                let part = results.with_extension("part");
                let _ = fs::remove_file(&part);
                measure(args, engine, &base, "base", &part)?;
                measure(args, engine, &other, "other", &part)?;
                same_work(&part)?;
                fs::rename(&part, &results).map_err(|why| failed(&results, &why))?;
            }
            pairs.push(read(&results, number)?);
            println!("{}", table(&format!("{engine}: pairs"), args, &judge_pairs(args, &pairs)));
        }
        println!("{}", disturbances(engine, &pairs));
        if pairs.len() > 1 {
            let (every_two, many) = (judge_every_two(args, &pairs), judge_by_many(args, &pairs));
            println!("{}", table(&format!("{engine}: every two runs"), args, &every_two));
            let base = (2 * pairs.len() - 1).min(MAX_OF_BASE);
            let title = format!("{engine}: each second run, base of {base} runs");
            println!("{}", table(&title, args, &many));
        }
    }
    Ok(())
}

fn failed(path: &Path, why: &dyn std::fmt::Display) -> Error {
    Error::new(Kind::Target, path.display().to_string(), why.to_string())
}

/// A catalog with the suite and the made workloads, whose ops do more in the second run.
fn overlay(args: &Args, is_base: bool) -> Result<PathBuf> {
    let dir = args.dir.join(if is_base { "catalog-base" } else { "catalog-other" });
    let (suites, group) = (dir.join("suites"), dir.join("workloads/pairs"));
    for dir in [&suites, &group] {
        fs::create_dir_all(dir).map_err(|why| failed(dir, &why))?;
    }
    let mut suite = QUICK.replacen("id = \"quick\"", "id = \"pairs\"", 1);
    let mut toml =
        format!("id = \"{GROUP}\"\ntitle = \"made losses\"\nabout = \"Ranges of rows.\"\n");
    let mut sql = String::new();
    for times in &args.losses {
        let (id, rows) = (id(*times), if is_base { ROWS } else { ROWS * times });
        let _ = write!(
            toml,
            "\n[[workload]]\nid = \"{id}\"\ntitle = \"count a range of rows\"\nabout = \"A loss of \
             our own making.\"\nrevision = 1\ntables = [\"small\"]\nwarm = [\"small\"]\nkpm = {{ \
             value = \"ops\", unit = \"qps\", better = \"higher\" }}\nclient = [{{ steps = \
             [\"count\"] }}]\nundrivable = {{ database = \"a client counts\" }}\ncontract = \
             []\nanswer = {{ step = \"count\", rows = 1 }}\n"
        );
        let _ = write!(
            sql,
            "-- name: {id}.count\nselect count(*) as n from {{{{small}}}} where id between 1 and \
             {rows:.0}\n\n"
        );
        let _ = write!(suite, "\n[[entry]]\nworkload = \"{id}\"\n");
    }
    let files = [
        (suites.join("pairs.toml"), suite),
        (group.join("group.toml"), toml),
        (group.join("common.sql"), sql),
    ];
    for (path, text) in files {
        fs::write(&path, text).map_err(|why| failed(&path, &why))?;
    }
    Ok(dir)
}

/// `PAIRS-150`: half as much work again.
fn id(times: f64) -> String {
    format!("{GROUP}-{:.0}", 100.0 * times)
}

/// One run on a fresh private server.
fn measure(args: &Args, engine: &str, catalog: &Path, name: &str, results: &Path) -> Result<()> {
    let mut command = Command::new(&args.dbdyno);
    command.arg("--catalog").arg(catalog).arg("--results").arg(results);
    command.args(["run", engine, "--suite", "pairs", "--name", name]);
    command.arg("--time-scale").arg(args.time_scale.to_string());
    command.stdout(std::process::Stdio::null());
    let status = command.status().map_err(|why| failed(&args.dbdyno, &why))?;
    match status.success() {
        true => Ok(()),
        false => {
            Err(Error::new(Kind::Target, engine, format!("the run {name} ended with {status}")))
        }
    }
}

/// Gives the made workloads of both runs one identity: a comparison is to take their losses for
/// those of a database, not for another text.
fn same_work(results: &Path) -> Result<()> {
    let connection = rusqlite::Connection::open(results).map_err(|why| failed(results, &why))?;
    let sql = "update test set hash = workload where workload_group = ?1";
    connection.execute(sql, [GROUP]).map_err(|why| failed(results, &why))?;
    Ok(())
}

/// The two runs of a pair, and what a comparison needs beside runs.
struct Pair {
    base: RunTests,
    other: RunTests,
    rest: Input,
}

/// Reads a pair, whose runs get ids that no run of another pair has.
fn read(results: &Path, number: u32) -> Result<Pair> {
    let store = Store::open_read_only(results)?;
    let chosen = |run: &str| Chosen { run: run.into(), test: None };
    let catalog = Catalog::embedded()?;
    let chosen = [chosen("base"), chosen("other")];
    let mut input = stored::input(&store, &catalog, &chosen, false, String::new())?;
    let [mut base, mut other] = <[RunTests; 2]>::try_from(std::mem::take(&mut input.runs))
        .map_err(|_| failed(results, &"no pair of runs"))?;
    base.run.id = 2 * i64::from(number) - 1;
    other.run.id = 2 * i64::from(number);
    Ok(Pair { base, other, rest: Input { catalog, ..input } })
}

/// Verdict of comparisons of two runs: of the suite alone, and if `is_made` of the suite with each
/// loss of our own making, which is real, so that it eases the step-up for all others.
fn judge(args: &Args, rest: &Input, runs: [&RunTests; 2], is_made: bool) -> Option<Judged> {
    let compared = |made: Option<&str>| {
        let runs = runs.map(|run| with_made(run, made)).to_vec();
        let input = Input { runs, is_gate: true, fail_below: LIMIT, ..rest.clone() };
        comparisons(&input).into_iter().next()
    };
    let losses: &[f64] = if is_made { &args.losses } else { &[] };
    let made = losses.iter().filter_map(|times| {
        let id = id(*times);
        Made::new(*times, &compared(Some(&id))?)
    });
    let made = made.collect();
    compared(None).map(|comparison| Judged { made, ..Judged::new(&comparison) })
}

/// The suite of a run, and of the made workloads this one.
fn with_made(run: &RunTests, made: Option<&str>) -> RunTests {
    let mut run = run.clone();
    run.tests.retain(|test| test.group() != GROUP || made == Some(test.workload()));
    run
}

fn judge_pairs(args: &Args, pairs: &[Pair]) -> Vec<Judged> {
    let judge = |pair: &Pair| judge(args, &pair.rest, [&pair.base, &pair.other], true);
    pairs.iter().filter_map(judge).collect()
}

/// Every two of all runs, the earlier one as the base.
fn judge_every_two(args: &Args, pairs: &[Pair]) -> Vec<Judged> {
    let mut judged = Vec::new();
    for (at, later) in pairs.iter().enumerate() {
        judged.extend(judge(args, &later.rest, [&later.base, &later.other], true));
        for earlier in &pairs[..at] {
            let rest = &later.rest;
            judged.extend(judge(args, rest, [&earlier.base, &later.base], false));
            judged.extend(judge(args, rest, [&earlier.base, &later.other], true));
            // The later run does less: no loss, so that nothing is said of what was made.
            judged.extend(judge(args, rest, [&earlier.other, &later.base], false));
            judged.extend(judge(args, rest, [&earlier.other, &later.other], false));
        }
    }
    judged
}

/// Most runs of a base.
const MAX_OF_BASE: usize = 10;

/// Each second run, by a base of the first runs and the other second ones, of which the suite alone
/// counts.
fn judge_by_many(args: &Args, pairs: &[Pair]) -> Vec<Judged> {
    let judge = |(at, pair): (usize, &Pair)| {
        let others = pairs.iter().enumerate().filter(|(other, _)| *other != at);
        let of_suite = others.map(|(_, pair)| {
            let mut run = pair.other.clone();
            run.tests.retain(|test| test.group() != GROUP);
            run
        });
        let firsts = pairs.iter().map(|pair| pair.base.clone());
        let history: Vec<RunTests> = firsts.chain(of_suite).take(MAX_OF_BASE).collect();
        let newest = history[0].clone();
        let rest = Input { history, is_base_of_many: true, ..pair.rest.clone() };
        judge(args, &rest, [&newest, &pair.other], true)
    };
    pairs.iter().enumerate().filter_map(judge).collect()
}

/// State of the machine while the pairs were measured.
fn disturbances(engine: &str, pairs: &[Pair]) -> String {
    let runs = pairs.iter().flat_map(|pair| [&pair.base, &pair.other]);
    let tests: Vec<_> = runs.flat_map(|data| &data.tests).collect();
    let disturbed = tests.iter().filter(|test| test.verdict().is_disturbed()).count();
    format!("{engine}: {disturbed} of {} tests disturbed", tests.len())
}

impl Judged {
    /// Verdict of a comparison of the suite, without made losses.
    fn new(comparison: &Comparison) -> Judged {
        let rows = comparison.kpms.iter();
        let known: Vec<&Row> = rows.filter(|row| row.ratio.span.is_ok()).collect();
        let spans = || known.iter().filter_map(|row| row.ratio.span.ok());
        Judged {
            figures: known.len(),
            found: known.iter().filter(|row| row.stands).count(),
            holding: spans().filter(|span| span.low <= 1.0 && span.high >= 1.0).count(),
            failing: known.iter().filter(|row| row.is_failure(LIMIT)).count(),
            half_widths: spans().map(|span| (span.high / span.low).ln() / 2.0).collect(),
            made: Vec::new(),
        }
    }
}

impl Made {
    /// Verdict of a comparison on the made workload with this loss.
    fn new(times: f64, comparison: &Comparison) -> Option<Made> {
        let row = comparison.kpms.iter().find(|row| row.subject.group == GROUP)?;
        Some(Made {
            times,
            is_found: row.stands,
            measured: 1.0 / row.ratio.value,
            found_from: row.detectable_loss,
        })
    }
}

/// Table of the verdicts of comparisons.
fn table(title: &str, args: &Args, judged: &[Judged]) -> String {
    let mut table = Table::new();
    table.set_header(["", title]);
    let pairs = judged.len();
    let sum = |of: fn(&Judged) -> usize| judged.iter().map(of).sum::<usize>();
    let with = |of: fn(&Judged) -> usize| judged.iter().filter(|one| of(one) > 0).count();
    let widths: Vec<f64> = judged.iter().flat_map(|one| one.half_widths.clone()).collect();
    let (figures, holding) = (sum(|one| one.figures), sum(|one| one.holding));
    let share = 100.0 * holding as f64 / figures as f64;
    let width = 100.0 * median(&widths).unwrap_or(f64::NAN);
    let mut row = |what: &str, said: String| {
        table.add_row([what.to_string(), said]);
    };
    row("equal pairs with a finding", format!("{} of {pairs}", with(|one| one.found)));
    row(
        "equal pairs in which a figure fails at 10 %",
        format!("{} of {pairs}", with(|one| one.failing)),
    );
    row("intervals that hold 1", format!("{holding} of {figures} ({share:.1} %)"));
    row("median half width", format!("{width:.1} %"));
    for times in &args.losses {
        let of_loss =
            || judged.iter().flat_map(|one| &one.made).filter(|made| made.times == *times);
        let found = of_loss().filter(|made| made.is_found).count();
        let all = of_loss().count();
        let measured: Vec<f64> = of_loss().map(|made| made.measured).collect();
        let from: Vec<f64> = of_loss().filter_map(|made| made.found_from).collect();
        let measured = median(&measured).unwrap_or(f64::NAN);
        let from = match median(&from) {
            Some(from) => format!("said to be found from {:.0} % on", 100.0 * from),
            None => "valid in no pair, so that nothing is said".into(),
        };
        let said = format!("{found} of {all} found (median x{measured:.2} as long; {from})");
        row(&format!("{times:.2} times the work"), said);
    }
    table.to_string()
}
