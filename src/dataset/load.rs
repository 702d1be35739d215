//! Loads the rows of one table in chunks by several sessions, then builds its indexes side by side.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use crate::engine::{EngineError, ErrorClass, RowLoad};
use crate::error::Result;
use crate::model::rows::ROW_BYTES;

use super::{LoadEvent, Site, Table, Watch};

/// Chunks per session: enough that all end at about the same time.
const CHUNKS_PER_SESSION: u64 = 4;
/// A progress event at most every so many rows.
const PROGRESS_ROWS: u64 = 20_000;

/// Sessions that really load: one where the engine has a single writer.
pub(super) fn sessions(site: &Site<'_>, wanted: u32) -> u32 {
    if site.capabilities.parallel_load { wanted.max(1) } else { 1 }
}

/// Loads all rows; each chunk is its own transaction. After a failure the other sessions stop.
///
/// # Errors
/// Interrupted, or what the engine says.
pub(super) fn rows(site: &Site<'_>, table: &Table, sessions: u32, watch: Watch<'_>) -> Result<()> {
    let chunks =
        chunks(table.rows.table_rows, if sessions == 1 { 1 } else { u64::from(sessions) * CHUNKS_PER_SESSION });
    let meter = Meter::new(table, watch);
    let full_name = table.full_name(site);
    in_parallel(chunks.len(), sessions, watch.cancel, |at| {
        let load = RowLoad { table: &full_name, rows: table.rows, ids: chunks[at].clone() };
        let mut sent = 0;
        site.db.load_rows(&load, &mut |rows| {
            meter.add(rows.saturating_sub(sent));
            sent = rows;
            !watch.cancel.load(Relaxed)
        })
    })
    .map_err(|error| site.failed(error))
}

/// Builds every index of the definition.
///
/// # Errors
/// As [`rows`].
pub(super) fn indexes(site: &Site<'_>, table: &Table, watch: Watch<'_>) -> Result<()> {
    let values = table.values(site);
    let blocks = site.definition.indexes.iter().map(|index| site.sql(&format!("index.{index}"), &values));
    let statements: Vec<String> = blocks.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    let prepare = site.sql("session.index", &values)?;
    // All at once rather than one per core: builds wait for reads and log writes, and their scans of the table go along
    // with one another (a fifth less time on 2 cores).
    let sessions = if site.capabilities.parallel_index { statements.len() as u32 } else { 1 };
    in_parallel(statements.len(), sessions, watch.cancel, |at| {
        let mut session = site.db.session()?;
        if let Some(sql) = &prepare {
            session.query(sql, &[])?;
        }
        session.execute(&statements[at]).map(|_| ())
    })
    .map_err(|error| site.failed(error))?;
    site.execute(site.session()?.as_mut(), "finish", &values).map(|_| ())
}

/// Runs tasks `0..count` by `threads` threads; stops handing them out after the first error or a cancel.
fn in_parallel(
    count: usize,
    threads: u32,
    cancel: &AtomicBool,
    task: impl Fn(usize) -> std::result::Result<(), EngineError> + Sync,
) -> std::result::Result<(), EngineError> {
    let (next, first_error) = (AtomicUsize::new(0), Mutex::new(None));
    let work = || {
        while !cancel.load(Relaxed) {
            let at = next.fetch_add(1, Relaxed);
            if at >= count {
                break;
            }
            if let Err(error) = task(at) {
                next.store(count, Relaxed);
                first_error.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(error);
            }
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    if cancel.load(Relaxed) {
        return Err(EngineError::new(ErrorClass::Cancelled, "interrupted"));
    }
    first_error.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).map_or(Ok(()), Err)
}

/// Rows 1..=rows cut into `count` stretches of about equal length.
fn chunks(rows: u64, count: u64) -> Vec<Range<u64>> {
    let count = count.clamp(1, rows.max(1));
    (0..count).map(|n| 1 + rows * n / count..1 + rows * (n + 1) / count).collect()
}

/// Counts rows over all sessions and tells about them.
struct Meter<'a> {
    table: &'a Table,
    watch: Watch<'a>,
    start: Instant,
    done: AtomicU64,
}

impl<'a> Meter<'a> {
    fn new(table: &'a Table, watch: Watch<'a>) -> Self {
        Meter { table, watch, start: Instant::now(), done: AtomicU64::new(0) }
    }

    fn add(&self, rows: u64) {
        let before = self.done.fetch_add(rows, Relaxed);
        let (done, total) = (before + rows, self.table.rows.table_rows);
        if before / PROGRESS_ROWS == done / PROGRESS_ROWS && done < total {
            return;
        }
        let rows_per_s = done as f64 / self.start.elapsed().as_secs_f64().max(1e-6);
        (self.watch.events)(LoadEvent::Progress {
            table: self.table.name.clone(),
            rows_done: done,
            rows_total: total,
            mb_per_s: rows_per_s * ROW_BYTES as f64 / 1e6,
            left_s: total.saturating_sub(done) as f64 / rows_per_s.max(1.0),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_every_row_once() {
        assert_eq!(chunks(10, 3), [1..4, 4..7, 7..11]);
        assert_eq!(chunks(2, 8).len(), 2);
    }

    #[test]
    fn after_an_error_no_more_tasks_are_handed_out() {
        let (started, cancel) = (AtomicUsize::new(0), AtomicBool::new(false));
        let failed = in_parallel(100, 1, &cancel, |at| {
            started.fetch_add(1, Relaxed);
            if at == 2 { Err(EngineError::new(ErrorClass::DiskFull, "full")) } else { Ok(()) }
        });
        assert_eq!(failed.map_err(|error| error.class), Err(ErrorClass::DiskFull));
        assert_eq!(started.load(Relaxed), 3);
    }
}
