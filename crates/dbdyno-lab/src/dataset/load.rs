//! Loads the rows of one table in chunks by several sessions, then builds its indexes side by side.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};

use crate::fit;
use dbdyno_core::error::Result;
use dbdyno_core::model::rows::ROW_BYTES;
use dbdyno_engines::engine::{EngineError, ErrorClass, RowLoad, threads};

use super::forecast::Forecast;
use super::{LoadEvent, Site, Table, Watch, chunks};

/// Minimum number of rows between two progress events.
const PROGRESS_ROWS: u64 = 20_000;

/// Sessions that really load: one where the engine has a single writer.
pub(super) fn sessions(site: &Site<'_>, wanted: u32) -> u32 {
    if site.recipe.capabilities.parallel_load { fitting_sessions(site, wanted) } else { 1 }
}

/// So many, or what the server still takes.
fn fitting_sessions(site: &Site<'_>, wanted: u32) -> u32 {
    fit::load_sessions(wanted, site.db.sessions_left().ok().flatten().as_ref())
}

/// Progress of the whole load.
pub(super) struct Pace {
    start: Instant,
    forecast: Mutex<Forecast>,
}

impl Pace {
    pub(super) fn new(forecast: Forecast) -> Self {
        Pace { start: Instant::now(), forecast: Mutex::new(forecast) }
    }

    fn forecast(&self) -> MutexGuard<'_, Forecast> {
        self.forecast.lock()
    }

    /// Seconds left over all tables and phases; infinite while nothing is known.
    pub(super) fn left_s(&self) -> f64 {
        self.forecast().left_s(self.start.elapsed().as_secs_f64()).unwrap_or(f64::INFINITY)
    }

    fn rows_loaded(&self, rows: u64) {
        self.forecast().rows_loaded(rows);
    }

    pub(super) fn next_phase(&self) {
        self.forecast().next_phase(self.start.elapsed().as_secs_f64());
    }
}

/// Loads chunks of a table, each in its own transaction that notes it. After a failure the other
/// sessions stop.
///
/// # Errors
/// Interrupted, or what the engine says.
pub(super) fn rows(
    site: &Site<'_>,
    id: &str,
    chunks: &[Range<u64>],
    sessions: u32,
    meter: &Meter<'_>,
) -> Result<()> {
    let full_name = meter.table.full_name(&site.recipe);
    let notes = chunks
        .iter()
        .map(|chunk| chunks::note(site, meter.table, id, chunk))
        .collect::<Result<Vec<_>>>()?;
    let made = chunks
        .iter()
        .map(|chunk| made_inside(site, meter.table, chunk))
        .collect::<Result<Vec<_>>>()?;
    in_parallel(chunks.len(), sessions, meter.watch.cancel, |at| {
        let (ids, note, in_database) =
            (chunks[at].clone(), notes[at].as_deref(), made[at].as_deref());
        let load = RowLoad { table: &full_name, rows: meter.table.rows, ids, note, in_database };
        let mut sent = 0;
        site.db.load_rows(&load, &mut |rows| {
            meter.note_sent(rows.saturating_sub(sent));
            sent = rows;
            !meter.watch.cancel.load(Relaxed)
        })?;
        meter.is_in(&chunks[at]);
        Ok(())
    })
    .map_err(|error| site.to_error(error))
}

/// The statement by which the database makes a chunk itself, for an engine that loads so.
fn made_inside(site: &Site<'_>, table: &Table, chunk: &Range<u64>) -> Result<Option<String>> {
    if !site.recipe.capabilities.loads_in_database {
        return Ok(None);
    }
    let mut values = table.values(&site.recipe);
    values.extend(
        [("lo", chunk.start), ("hi", chunk.end - 1)]
            .map(|(name, id)| (name.to_string(), id.to_string())),
    );
    let rows = site.recipe.sql("row-select", &values)?.unwrap_or_default();
    values.insert("row_select".into(), rows);
    site.recipe.sql("insert-select", &values)
}

/// Builds every index of the definition that is not there yet.
///
/// # Errors
/// As [`rows`].
pub(super) fn indexes(site: &Site<'_>, table: &Table, watch: Watch<'_>) -> Result<()> {
    let values = table.values(&site.recipe);
    let present = site.query(site.session()?.as_mut(), "indexes.present", &values)?;
    let is_there = |index: &&String| {
        (0..present.rows.len()).any(|row| present.get(row, "name") == Some(index.as_str()))
    };
    let missing = site.recipe.definition.indexes.iter().filter(|index| !is_there(index));
    let blocks = missing.map(|index| site.recipe.sql(&format!("index.{index}"), &values));
    let statements: Vec<String> =
        blocks.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    let prepare = site.recipe.sql("session.index", &values)?;
    // All at once rather than one per core: builds wait for reads and log writes, and their scans
    // of the table go along with one another (a fifth less time on 2 cores).
    let sessions = if site.recipe.capabilities.parallel_index {
        fitting_sessions(site, statements.len() as u32)
    } else {
        1
    };
    in_parallel(statements.len(), sessions, watch.cancel, |at| {
        let mut session = site.db.session()?;
        if let Some(sql) = &prepare {
            session.query(sql, &[])?;
        }
        session.execute(&statements[at]).map(|_| ())
    })
    .map_err(|error| site.to_error(error))?;
    site.execute(site.session()?.as_mut(), "finish", &values).map(|_| ())
}

/// Runs tasks `0..count` by `sessions` threads; stops handing them out after the first error or a
/// cancel.
fn in_parallel(
    count: usize,
    sessions: u32,
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
                first_error.lock().get_or_insert(error);
            }
        }
    };
    std::thread::scope(|scope| {
        let started = (0..sessions).filter(|_| threads::start(scope, work).is_ok()).count();
        // Where the system has no thread left it takes longer.
        if started == 0 {
            work();
        }
    });
    if cancel.load(Relaxed) {
        return Err(EngineError::new(ErrorClass::Cancelled, "interrupted"));
    }
    first_error.into_inner().map_or(Ok(()), Err)
}

/// Counter of the rows of all sessions, which reports them as events.
pub(super) struct Meter<'a> {
    table: &'a Table,
    watch: Watch<'a>,
    pace: &'a Pace,
    start: Instant,
    /// Rows that were in before.
    before: u64,
    sent: AtomicU64,
    /// Rows that are in: those of committed chunks.
    rows_in: &'a AtomicU64,
}

impl<'a> Meter<'a> {
    pub(super) fn new(
        table: &'a Table,
        watch: Watch<'a>,
        pace: &'a Pace,
        rows_in: &'a AtomicU64,
    ) -> Self {
        let before = rows_in.load(Relaxed);
        Meter {
            table,
            watch,
            pace,
            start: Instant::now(),
            before,
            sent: AtomicU64::new(0),
            rows_in,
        }
    }

    fn is_in(&self, chunk: &Range<u64>) {
        self.rows_in.fetch_add(chunk.end - chunk.start, Relaxed);
    }

    fn note_sent(&self, rows: u64) {
        let before = self.sent.fetch_add(rows, Relaxed);
        let (sent, missing) = (before + rows, self.table.rows.table_rows - self.before);
        if before / PROGRESS_ROWS == sent / PROGRESS_ROWS && sent < missing {
            return;
        }
        self.pace.rows_loaded(sent);
        let rows_per_s = sent as f64 / self.start.elapsed().as_secs_f64().max(1e-6);
        (self.watch.events)(LoadEvent::Progress {
            table: self.table.name.clone(),
            rows_done: self.before + sent,
            rows_total: self.table.rows.table_rows,
            mb_per_s: rows_per_s * ROW_BYTES as f64 / 1e6,
            left_s: self.pace.left_s(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
