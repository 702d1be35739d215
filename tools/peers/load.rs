//! Loading: from no tables to tables with rows, indexes and statistics.

use std::path::PathBuf;
use std::time::Instant;

use dbdyno::dataset::{self, Lock, Table};
use dbdyno::engine::RowLoad;
use dbdyno::error::Result;
use dbdyno::model::LoadResult;

use crate::failed;
use crate::lab::Lab;
use crate::pairs::{Comparison, Done, Outcome, Rules, interleave};
use crate::pgbench::Pgbench;

const TARGET: f64 = 2.0;
const DUCKDB_TARGET: f64 = 0.95;
/// 10^6 bytes of tables that pgbench makes per unit of its scale, about.
const PGBENCH_MB_PER_SCALE: f64 = 13.4;
/// 10^6 bytes of our tables per nominal GB, about.
const OUR_MB_PER_GB: f64 = 370.0;
const PGBENCH_BYTES: &str = "select coalesce(sum(pg_table_size(oid)), 0)::bigint from pg_class \
                             where relname like 'pgbench%' and relkind = 'r'";
const PGBENCH_DROP: &str = "drop table if exists pgbench_accounts, pgbench_branches, \
                            pgbench_history, pgbench_tellers; checkpoint";

/// Our load against `pgbench -i`, in 10^6 bytes of tables per second. Verifying our rows is not
/// counted: pgbench does not verify.
pub fn compare(lab: &Lab, rules: &Rules, size_gb: f64) -> Result<Outcome> {
    let pgbench = Pgbench::find(lab)?;
    let scale = (size_gb * OUR_MB_PER_GB / PGBENCH_MB_PER_SCALE).ceil().max(1.0) as u32;
    let comparison = Comparison {
        name: format!("PostgreSQL load, {size_gb} GB : pgbench -i -s {scale}"),
        unit: "MB/s",
        target: Some(TARGET),
        ours: &mut || ours(lab, size_gb),
        peer: &mut || peer(lab, &pgbench, scale),
    };
    interleave(rules, comparison)
}

fn ours(lab: &Lab, size_gb: f64) -> Result<Done> {
    let site = lab.site()?;
    dataset::drop_all(&site, &Lock::take(&site)?)?;
    lab.database
        .session()
        .and_then(|mut session| session.execute("create schema if not exists dbdyno; checkpoint"))
        .map_err(|error| error.at("load"))?;
    let loads = lab.load(&["small", "big"], size_gb)?.loads;
    let bytes: u64 = loads.iter().map(|load| load.table_bytes).sum();
    let sum = |seconds: fn(&LoadResult) -> f64| loads.iter().map(seconds).sum::<f64>();
    let phases = [sum(|load| load.rows_s), sum(|load| load.index_s), sum(|load| load.analyze_s)];
    eprintln!(
        "  ours: rows {:.2} s, indexes {:.2} s, vacuum and statistics {:.2} s",
        phases[0], phases[1], phases[2]
    );
    Ok(Done { rate: bytes as f64 / 1e6 / phases.iter().sum::<f64>(), ops: None })
}

fn peer(lab: &Lab, pgbench: &Pgbench, scale: u32) -> Result<Done> {
    let mut session = lab.database.session().map_err(|error| error.at("load"))?;
    session.execute(PGBENCH_DROP).map_err(|error| error.at("load"))?;
    let start = Instant::now();
    pgbench.initialise(scale)?;
    let elapsed_s = start.elapsed().as_secs_f64();
    let rows = session.query(PGBENCH_BYTES, &[]).map_err(|error| error.at("load"))?;
    let bytes: Option<f64> = rows.scalar().and_then(|text| text.parse().ok());
    let bytes = bytes.ok_or_else(|| failed("load", "no size of pgbench's tables"))?;
    Ok(Done { rate: bytes / 1e6 / elapsed_s, ops: None })
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
        Done { rate: self.table.rows.table_rows as f64 / start.elapsed().as_secs_f64(), ops: None }
    }
}
