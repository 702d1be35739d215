//! Is there room for the rows, before anything is created.

use std::path::Path;

use crate::error::{Error, Result};
use crate::model::rows::{ROW_BYTES, table_rows};

use super::{Request, Site};

/// Stored bytes per byte of row data: indexes, log, sort files of index builds.
const OVERHEAD: f64 = 2.2;
/// Left free in any case, bytes.
const MARGIN: u64 = 200_000_000;

/// What is free, in bytes, on a device that a load has filled: what a server gives back when it ends.
const USED_UP: u64 = 16_000_000;

/// True if nothing to speak of is free where the database's files are; false if that is not known.
pub(super) fn is_used_up(storage: Option<&Path>) -> bool {
    storage.and_then(free_bytes).is_some_and(|free| free < USED_UP)
}

fn free_bytes(path: &Path) -> Option<u64> {
    rustix::fs::statvfs(path).ok().map(|stat| stat.f_bavail * stat.f_frsize)
}

/// Bytes that loading the tables of `request` needs at most.
pub fn needed_for(request: &Request) -> u64 {
    let rows: u64 = request.tables.iter().map(|table| table_rows(&table.kind, request.size_gb)).sum();
    needed_for_rows(rows)
}

fn needed_for_rows(rows: u64) -> u64 {
    (rows as f64 * ROW_BYTES as f64 * OVERHEAD) as u64 + MARGIN
}

/// Fails if the device of the database has too little space for so many rows; passes if it is not on this host.
///
/// # Errors
/// A target error with both figures.
pub(super) fn check(site: &Site<'_>, rows: u64) -> Result<()> {
    let Some(path) = site.db.storage_path() else { return Ok(()) };
    let Some(free) = free_bytes(&path) else { return Ok(()) };
    let needed = needed_for_rows(rows);
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

    #[test]
    fn a_million_rows_need_660_mb_and_the_margin() {
        assert_eq!(needed_for_rows(1_000_000), 860_000_000);
    }
}
