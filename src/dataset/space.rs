//! Is there room for the rows, before anything is created.

use crate::error::{Error, Result};
use crate::model::rows::{ROW_BYTES, table_rows};

use super::{Request, Site, Table};

/// Stored bytes per byte of row data: indexes, log, sort files of index builds.
const OVERHEAD: f64 = 2.2;
/// Left free in any case, bytes.
const MARGIN: u64 = 200_000_000;

/// Bytes that loading these tables needs at most.
fn needed_bytes<'a>(tables: impl Iterator<Item = &'a Table>) -> u64 {
    let rows: u64 = tables.map(|table| table.rows.table_rows).sum();
    needed_for_rows(rows)
}

/// Bytes that loading the tables of `request` needs at most.
pub fn needed_for(request: &Request) -> u64 {
    let rows: u64 = request.tables.iter().map(|table| table_rows(&table.kind, request.size_gb)).sum();
    needed_for_rows(rows)
}

fn needed_for_rows(rows: u64) -> u64 {
    (rows as f64 * ROW_BYTES as f64 * OVERHEAD) as u64 + MARGIN
}

/// Fails if the device of the database has too little space; passes if it is not on this host.
///
/// # Errors
/// A target error with both figures.
pub(super) fn check<'a>(site: &Site<'_>, tables: impl Iterator<Item = &'a Table>) -> Result<()> {
    let Some(path) = site.db.storage_path() else { return Ok(()) };
    let Ok(stat) = rustix::fs::statvfs(&path) else { return Ok(()) };
    let (needed, free) = (needed_bytes(tables), stat.f_bavail * stat.f_frsize);
    if needed <= free {
        return Ok(());
    }
    let mb = |bytes: u64| bytes / 1_000_000;
    let what = format!("loading needs {} MB, {} has {} MB free", mb(needed), path.display(), mb(free));
    Err(Error::target(site.label, what).advise("choose a smaller --size or another --data-dir"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::rows::RowFunction;

    #[test]
    fn a_million_rows_need_660_mb_and_the_margin() {
        let rows = RowFunction { table_rows: 1_000_000, seed: 1 };
        let table = Table { kind: "big".into(), name: "big".into(), org: "heap".into(), rows };
        assert_eq!(needed_bytes([&table].into_iter()), 860_000_000);
    }
}
