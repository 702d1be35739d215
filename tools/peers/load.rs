//! Loading: from no tables to tables with rows, indexes and statistics.

use std::path::PathBuf;
use std::time::Instant;

use dbdyno::dataset::{self, Lock, Table};
use dbdyno::engine::RowLoad;
use dbdyno::error::Result;
use dbdyno::model::LoadResult;

use crate::failed;
use crate::lab::Lab;
use crate::pairs::{CLIENT_AND_SERVER, Comparison, Done, Outcome, Rules, interleave};
use crate::pgbench::Pgbench;
use crate::sysbench::{self, SYSBENCH, Sysbench};

const TARGET: f64 = 2.0;
const DUCKDB_TARGET: f64 = 0.95;
const MARIADB_TARGET: f64 = 2.0;
/// 10^6 bytes of tables that pgbench makes per unit of its scale, about.
const PGBENCH_MB_PER_SCALE: f64 = 13.4;
/// 10^6 bytes of our tables per nominal GB, about.
const OUR_MB_PER_GB: f64 = 370.0;
const PGBENCH_BYTES: &str = "select coalesce(sum(pg_table_size(oid)), 0)::bigint from pg_class \
                             where relname like 'pgbench%' and relkind = 'r'";
const PGBENCH_DROP: &str = "drop table if exists pgbench_accounts, pgbench_branches, \
                            pgbench_history, pgbench_tellers; checkpoint";
/// 10^6 bytes of rows that sysbench makes per million rows, and we on MariaDB per nominal GB,
/// about.
const SYSBENCH_MB_PER_MILLION: f64 = 240.0;
const OUR_MARIADB_MB_PER_GB: f64 = 380.0;
const SYSBENCH_TABLES: u32 = 2;
const SYSBENCH_BYTES: &str = "select cast(sum(data_length + index_length) as signed) from \
                              information_schema.tables where table_schema = 'sbtest'";

/// Our load against `pgbench -i`, in 10^6 bytes of tables per second. Verifying our rows is not
/// counted: pgbench does not verify.
pub fn compare(lab: &Lab, rules: &Rules, size_gb: f64) -> Result<Outcome> {
    let pgbench = Pgbench::find(lab)?;
    let scale = (size_gb * OUR_MB_PER_GB / PGBENCH_MB_PER_SCALE).ceil().max(1.0) as u32;
    let comparison = Comparison {
        name: format!("PostgreSQL load, {size_gb} GB : pgbench -i -s {scale}"),
        unit: "MB/s",
        target: Some(TARGET),
        ours: &mut || load_postgres(lab, size_gb),
        peer: &mut || load_by_pgbench(lab, &pgbench, scale),
    };
    interleave(rules, comparison)
}

fn load_postgres(lab: &Lab, size_gb: f64) -> Result<Done> {
    let site = lab.site()?;
    dataset::drop_all(&site, &Lock::take(&site)?)?;
    lab.session("load")?
        .execute("create schema if not exists dbdyno; checkpoint")
        .map_err(|error| error.at("load"))?;
    let loaded = time_load(lab, size_gb, "vacuum and statistics")?;
    Ok(Done::new(loaded.table_bytes as f64 / 1e6 / loaded.elapsed_s, None))
}

/// A load of our tables.
struct TimedLoad {
    table_bytes: u64,
    index_bytes: u64,
    /// Time of the rows, the indexes and the statistics, without the verification.
    elapsed_s: f64,
}

/// Loads our tables, which are not there, and prints how long each phase took.
fn time_load(lab: &Lab, size_gb: f64, last_phase: &str) -> Result<TimedLoad> {
    let loads = lab.load(&["small", "big"], size_gb)?.loads;
    let sum = |seconds: fn(&LoadResult) -> f64| loads.iter().map(seconds).sum::<f64>();
    let phases = [sum(|load| load.rows_s), sum(|load| load.index_s), sum(|load| load.analyze_s)];
    eprintln!(
        "  ours: rows {:.2} s, indexes {:.2} s, {last_phase} {:.2} s",
        phases[0], phases[1], phases[2]
    );
    Ok(TimedLoad {
        table_bytes: loads.iter().map(|load| load.table_bytes).sum(),
        index_bytes: loads.iter().map(|load| load.index_bytes).sum(),
        elapsed_s: phases.iter().sum(),
    })
}

fn load_by_pgbench(lab: &Lab, pgbench: &Pgbench, scale: u32) -> Result<Done> {
    let mut session = lab.session("load")?;
    session.execute(PGBENCH_DROP).map_err(|error| error.at("load"))?;
    let start = Instant::now();
    pgbench.initialise(scale)?;
    let elapsed_s = start.elapsed().as_secs_f64();
    let rows = session.query(PGBENCH_BYTES, &[]).map_err(|error| error.at("load"))?;
    let bytes: Option<f64> = rows.scalar().and_then(|text| text.parse().ok());
    let bytes = bytes.ok_or_else(|| failed("load", "no size of pgbench's tables"))?;
    Ok(Done::new(bytes / 1e6 / elapsed_s, None))
}

/// Our load of MariaDB against `sysbench oltp_read_write prepare` with two sessions each, in 10^6
/// bytes of rows and indexes per second; indexes are built on both sides (three of ours, one of
/// sysbench's). Processor time is per 10^6 bytes.
pub fn mariadb(lab: &Lab, rules: &Rules, size_gb: f64, outcomes: &mut Vec<Outcome>) -> Result<()> {
    let sysbench = Sysbench::on(lab, sysbench::DATABASE)?;
    let millions = size_gb * OUR_MARIADB_MB_PER_GB / SYSBENCH_MB_PER_MILLION;
    let rows = (millions * 1e6 / f64::from(SYSBENCH_TABLES)) as u64;
    let comparison = Comparison {
        name: format!(
            "MariaDB load, {size_gb} GB : sysbench prepare, {SYSBENCH_TABLES} x {rows} rows"
        ),
        unit: "MB/s",
        target: Some(MARIADB_TARGET),
        ours: &mut || load_mariadb(lab, size_gb),
        peer: &mut || load_by_sysbench(lab, &sysbench, rows),
    };
    let by_clock = interleave(rules, comparison)?;
    let by_processor = by_clock.by_processor(&CLIENT_AND_SERVER, "MB/CPU s");
    outcomes.extend([by_clock, by_processor]);
    Ok(())
}

fn load_mariadb(lab: &Lab, size_gb: f64) -> Result<Done> {
    let site = lab.site()?;
    for table in dataset::tables(&site.recipe, &lab.request(&["small", "big"], size_gb)) {
        site.execute(site.session()?.as_mut(), "drop", &table.values(&site.recipe))?;
    }
    let loaded = time_load(lab, size_gb, "statistics")?;
    let mb = (loaded.table_bytes + loaded.index_bytes) as f64 / 1e6;
    Ok(Done::new(mb / loaded.elapsed_s, Some(mb)))
}

fn load_by_sysbench(lab: &Lab, sysbench: &Sysbench, rows: u64) -> Result<Done> {
    sysbench::recreate(lab)?;
    let start = Instant::now();
    sysbench.prepare(SYSBENCH_TABLES, rows, SYSBENCH_TABLES)?;
    let elapsed_s = start.elapsed().as_secs_f64();
    let mut session = lab.session(SYSBENCH)?;
    for table in 1..=SYSBENCH_TABLES {
        let sql = format!("analyze table {}.sbtest{table}", sysbench::DATABASE);
        session.execute(&sql).map_err(|error| error.at(SYSBENCH))?;
    }
    let bytes = session.query(SYSBENCH_BYTES, &[]).map_err(|error| error.at(SYSBENCH))?;
    let bytes: Option<f64> = bytes.scalar().and_then(|text| text.parse().ok());
    let mb = bytes.ok_or_else(|| failed(SYSBENCH, "no size of its tables"))? / 1e6;
    Ok(Done::new(mb / elapsed_s, Some(mb)))
}

/// Our load of DuckDB against its own `COPY FROM` of the same rows in CSV, each into a new table of
/// the data set's form, in one transaction: rows per second.
pub fn duckdb(lab: &Lab, rules: &Rules, size_gb: f64) -> Result<Outcome> {
    let big = dataset::tables(&lab.site()?.recipe, &lab.request(&["big"], size_gb)).swap_remove(0);
    let rows = NewRows {
        lab,
        table: Table { name: "peer".into(), ..big },
        csv: lab.directory.join("rows.csv"),
    };
    // The look-ups before ran in one thread.
    rows.execute("reset threads")?;
    rows.append()?;
    rows.execute(&format!("copy peer to {}", rows.file()))?;
    let comparison = Comparison {
        name: format!("DuckDB load by its appender, {size_gb} GB : COPY FROM CSV"),
        unit: "rows/s",
        target: Some(DUCKDB_TARGET),
        ours: &mut || rows.append(),
        peer: &mut || rows.copy(),
    };
    interleave(rules, comparison)
}

/// The rows of a table that is made anew for each load.
struct NewRows<'a> {
    lab: &'a Lab,
    table: Table,
    csv: PathBuf,
}

impl NewRows<'_> {
    fn execute(&self, sql: &str) -> Result<u64> {
        self.lab.site()?.session()?.execute(sql).map_err(|error| error.at("load"))
    }

    fn file(&self) -> String {
        format!("'{}' (header false)", self.csv.display().to_string().replace('\'', "''"))
    }

    fn make_anew(&self) -> Result<()> {
        let site = self.lab.site()?;
        let (mut session, values) = (site.session()?, self.table.values(&site.recipe));
        ["drop", "create"]
            .iter()
            .try_for_each(|block| site.execute(session.as_mut(), block, &values).map(drop))
    }

    fn append(&self) -> Result<Done> {
        self.make_anew()?;
        let (rows, start) = (self.table.rows, Instant::now());
        let load = RowLoad {
            table: &self.table.name,
            rows,
            ids: 1..rows.table_rows + 1,
            note: None,
            in_database: None,
        };
        self.lab.database.load_rows(&load, &mut |_| true).map_err(|error| error.at("load"))?;
        Ok(self.rate(start))
    }

    fn copy(&self) -> Result<Done> {
        self.make_anew()?;
        let start = Instant::now();
        self.execute(&format!("copy peer from {}", self.file()))?;
        Ok(self.rate(start))
    }

    fn rate(&self, start: Instant) -> Done {
        Done::new(self.table.rows.table_rows as f64 / start.elapsed().as_secs_f64(), None)
    }
}
