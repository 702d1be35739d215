//! Loading: from no tables to tables with rows, indexes and statistics.

use std::time::Instant;

use dbdyno::dataset::{self, Lock};
use dbdyno::error::Result;
use dbdyno::model::LoadResult;

use crate::failed;
use crate::lab::Lab;
use crate::pairs::{Comparison, Done, Outcome, Rules, interleave};
use crate::pgbench::Pgbench;

const TARGET: f64 = 2.0;
/// 10^6 bytes of tables that pgbench makes per unit of its scale, about.
const PGBENCH_MB_PER_SCALE: f64 = 13.4;
/// 10^6 bytes of our tables per nominal GB, about.
const OUR_MB_PER_GB: f64 = 370.0;
const PGBENCH_BYTES: &str = "select coalesce(sum(pg_table_size(oid)), 0)::bigint from pg_class \
                             where relname like 'pgbench%' and relkind = 'r'";
const PGBENCH_DROP: &str =
    "drop table if exists pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers; checkpoint";

/// Our load against `pgbench -i`, in 10^6 bytes of tables per second. Verifying our rows is not counted: pgbench does
/// not verify.
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
    eprintln!("  ours: rows {:.2} s, indexes {:.2} s, vacuum and statistics {:.2} s", phases[0], phases[1], phases[2]);
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
