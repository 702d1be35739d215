//! sysbench on MariaDB, over the same Unix socket.

use std::process::Command;
use std::time::Instant;

use dbdyno::error::Result;
use dbdyno::model::{Drive, LoadResult};

use crate::lab::Lab;
use crate::pairs::{CLIENT_AND_SERVER, Comparison, Done, Outcome, Ramp, Rules, interleave};
use crate::{drive, failed};

const DATABASE_TARGET: f64 = 1.5;
const CLIENT_TARGET: f64 = 1.0;
const LOAD_TARGET: f64 = 2.0;
/// Sysbench's statement in our drives (`tools/peers/catalog`), and ours.
const SAME_STATEMENT: &str = "SYSBENCH-POINT";
const WHOLE_ROW: &str = "SRV-QUERY1";
/// Rows of sysbench's table for look-ups: as many as ours has.
const LOOKUP_ROWS: u64 = 16_000;
/// 10^6 bytes of rows that sysbench makes per million rows, and we per nominal GB, about.
const SYSBENCH_MB_PER_MILLION: f64 = 240.0;
const OUR_MB_PER_GB: f64 = 380.0;
const TABLES: u32 = 2;
const DATABASE: &str = "sbtest";
const BYTES: &str = "select cast(sum(data_length + index_length) as signed) from \
                     information_schema.tables where table_schema = 'sbtest'";

/// Fails if it is not installed.
pub fn check() -> Result<()> {
    let advice = "install the package sysbench, or name comparisons that do without it";
    let run = Command::new("sysbench").arg("--version").output();
    run.map(drop)
        .map_err(|error| failed("sysbench", format!("cannot be run ({error})")).advise(advice))
}

/// Way to call it.
struct Sysbench<'a> {
    lab: &'a Lab,
    socket: String,
}

/// Our drives against oltp_point_select: with its own statement and table, which the targets are
/// for, and with SRV-QUERY1, which fetches all 11 columns of a row of 300 bytes where sysbench
/// fetches one of 120.
pub fn lookups(
    lab: &Lab,
    rules: &Rules,
    Ramp { jobs, seconds }: Ramp<'_>,
    outcomes: &mut Vec<Outcome>,
) -> Result<()> {
    let sysbench = Sysbench::new(lab)?;
    sysbench.recreate()?;
    sysbench.prepare(1, LOOKUP_ROWS, 1)?;
    let contests = [
        (SAME_STATEMENT, Drive::Database, Some(DATABASE_TARGET)),
        (SAME_STATEMENT, Drive::Client, Some(CLIENT_TARGET)),
        (WHOLE_ROW, Drive::Database, None),
        (WHOLE_ROW, Drive::Client, None),
    ];
    for (id, drive, target) in contests {
        let selection = drive::workload(lab, id, drive, seconds)?;
        for &jobs in jobs {
            let by_clock = interleave(
                rules,
                Comparison {
                    name: format!(
                        "MariaDB {id}, {} drive : sysbench oltp_point_select, {jobs} jobs",
                        drive.name()
                    ),
                    unit: "lookups/s",
                    target,
                    ours: &mut || drive::run(lab, &selection, jobs),
                    peer: &mut || sysbench.point_select(jobs, seconds),
                },
            )?;
            let by_processor = by_clock.by_processor(&CLIENT_AND_SERVER, "lookups/CPU s");
            outcomes.extend([by_clock, by_processor]);
        }
    }
    Ok(())
}

/// Our load against `sysbench oltp_read_write prepare` with two sessions each, in 10^6 bytes of
/// rows and indexes per second; indexes are built on both sides (three of ours, one of sysbench's).
/// Processor time is per 10^6 bytes.
pub fn load(lab: &Lab, rules: &Rules, size_gb: f64, outcomes: &mut Vec<Outcome>) -> Result<()> {
    let sysbench = Sysbench::new(lab)?;
    let rows = (size_gb * OUR_MB_PER_GB / SYSBENCH_MB_PER_MILLION * 1e6 / f64::from(TABLES)) as u64;
    let comparison = Comparison {
        name: format!("MariaDB load, {size_gb} GB : sysbench prepare, {TABLES} x {rows} rows"),
        unit: "MB/s",
        target: Some(LOAD_TARGET),
        ours: &mut || ours(lab, size_gb),
        peer: &mut || sysbench.load(rows),
    };
    let by_clock = interleave(rules, comparison)?;
    let by_processor = by_clock.by_processor(&CLIENT_AND_SERVER, "MB/CPU s");
    outcomes.extend([by_clock, by_processor]);
    Ok(())
}

fn ours(lab: &Lab, size_gb: f64) -> Result<Done> {
    let site = lab.site()?;
    for table in dbdyno::dataset::tables(&site.recipe, &lab.request(&["small", "big"], size_gb)) {
        site.execute(site.session()?.as_mut(), "drop", &table.values(&site.recipe))?;
    }
    let loads = lab.load(&["small", "big"], size_gb)?.loads;
    let bytes: u64 = loads.iter().map(|load| load.table_bytes + load.index_bytes).sum();
    let sum = |seconds: fn(&LoadResult) -> f64| loads.iter().map(seconds).sum::<f64>();
    let phases = [sum(|load| load.rows_s), sum(|load| load.index_s), sum(|load| load.analyze_s)];
    eprintln!(
        "  ours: rows {:.2} s, indexes {:.2} s, statistics {:.2} s",
        phases[0], phases[1], phases[2]
    );
    let mb = bytes as f64 / 1e6;
    Ok(Done { rate: mb / phases.iter().sum::<f64>(), ops: Some(mb) })
}

impl<'a> Sysbench<'a> {
    fn new(lab: &'a Lab) -> Result<Self> {
        let server = lab.server.as_ref().ok_or_else(|| failed("sysbench", "needs a server"))?;
        let url = server.url();
        let socket = url.split_once("socket=").and_then(|(_, rest)| rest.split('&').next());
        let socket =
            socket.ok_or_else(|| failed("sysbench", "the server has no socket"))?.to_owned();
        Ok(Sysbench { lab, socket })
    }

    /// An empty database for sysbench's tables.
    fn recreate(&self) -> Result<()> {
        let mut session = self.lab.database.session().map_err(|error| error.at("sysbench"))?;
        for sql in
            [format!("drop database if exists {DATABASE}"), format!("create database {DATABASE}")]
        {
            session.execute(&sql).map_err(|error| error.at("sysbench"))?;
        }
        Ok(())
    }

    fn prepare(&self, tables: u32, rows: u64, threads: u32) -> Result<()> {
        let sizes = [
            format!("--tables={tables}"),
            format!("--table-size={rows}"),
            format!("--threads={threads}"),
        ];
        self.run("oltp_read_write", &sizes, "prepare").map(drop)
    }

    fn point_select(&self, jobs: u32, seconds: f64) -> Result<Done> {
        let options = [
            format!("--threads={jobs}"),
            format!("--time={}", seconds.ceil()),
            format!("--table-size={LOOKUP_ROWS}"),
            "--tables=1".into(),
            "--rand-type=uniform".into(),
        ];
        let text = self.run("oltp_point_select", &options, "run")?;
        // "    transactions:                        93451  (31148.28 per sec.)"
        let line = text.lines().find(|line| line.trim_start().starts_with("transactions:"));
        let figures: Vec<f64> = line
            .into_iter()
            .flat_map(|line| {
                line.split(|c: char| !c.is_ascii_digit() && c != '.')
                    .filter_map(|word| word.parse().ok())
            })
            .collect();
        match figures[..] {
            [ops, rate, ..] => Ok(Done { rate, ops: Some(ops) }),
            _ => Err(failed("sysbench", "printed no rate")),
        }
    }

    fn load(&self, rows: u64) -> Result<Done> {
        self.recreate()?;
        let start = Instant::now();
        self.prepare(TABLES, rows, TABLES)?;
        let elapsed_s = start.elapsed().as_secs_f64();
        let mut session = self.lab.database.session().map_err(|error| error.at("sysbench"))?;
        for table in 1..=TABLES {
            let sql = format!("analyze table {DATABASE}.sbtest{table}");
            session.execute(&sql).map_err(|error| error.at("sysbench"))?;
        }
        let bytes = session.query(BYTES, &[]).map_err(|error| error.at("sysbench"))?;
        let bytes: Option<f64> = bytes.scalar().and_then(|text| text.parse().ok());
        let bytes = bytes.ok_or_else(|| failed("sysbench", "no size of its tables"))?;
        Ok(Done { rate: bytes / 1e6 / elapsed_s, ops: Some(bytes / 1e6) })
    }

    fn run(&self, test: &str, options: &[String], what: &str) -> Result<String> {
        let mut command = Command::new("sysbench");
        command.arg(test).args(["--db-driver=mysql", "--mysql-user=dbdyno", "--mysql-password="]);
        command
            .arg(format!("--mysql-socket={}", self.socket))
            .arg(format!("--mysql-db={DATABASE}"));
        let output = command.args(options).arg(what).output();
        let output =
            output.map_err(|error| failed("sysbench", format!("cannot be run ({error})")))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        match output.status.success() {
            true => Ok(text),
            false => Err(failed("sysbench", text.lines().last().unwrap_or("failed").to_owned())),
        }
    }
}
