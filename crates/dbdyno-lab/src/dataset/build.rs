//! Loads one table: its missing rows, indexes, statistics, check. What broke off is kept if a later
//! load can go on.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use dbdyno_core::error::{Error, Kind, Result};
use dbdyno_core::model::LoadResult;
use dbdyno_engines::engine;

use super::forecast::Forecast;
use super::load::{self, Meter, Pace};
use super::state::{self, VerifiedTable};
use super::{Checksum, LoadEvent, Site, Table, Watch, chunks};

/// Interval at which a phase that counts nothing reports the time left.
const NEWS: Duration = Duration::from_secs(1);

/// Rows of a table left by an earlier load: ascending stretches of ids.
#[derive(Debug, Clone, Default)]
pub(super) struct Begun {
    pub done: Vec<Range<u64>>,
}

/// The load of a table under way.
struct TableLoad<'a> {
    table: &'a Table,
    /// Identifies its rows.
    id: &'a str,
    begun: &'a Begun,
    rows_in: AtomicU64,
    phase: Mutex<&'static str>,
}

/// Loads the tables of a request, one after the other.
pub(super) struct Builder<'a> {
    site: &'a Site<'a>,
    sessions: u32,
    watch: Watch<'a>,
    pace: Pace,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        site: &'a Site<'a>,
        sessions: u32,
        watch: Watch<'a>,
        forecast: Forecast,
    ) -> Self {
        Builder { site, sessions, watch, pace: Pace::new(forecast) }
    }

    /// Loads a table from where it is; `id` identifies its rows.
    ///
    /// # Errors
    /// Of the engine, interrupted, wrong rows; the line says what became of the table.
    pub(super) fn load(&self, table: &Table, id: &str, begun: &Begun) -> Result<LoadResult> {
        let rows_in = AtomicU64::new(chunks::rows_in(&begun.done));
        if begun.done.is_empty() {
            self.forget(table)?;
        } else {
            let (rows_done, rows_total) = (rows_in.load(Relaxed), table.rows.table_rows);
            (self.watch.events)(LoadEvent::Resumed {
                table: table.name.clone(),
                rows_done,
                rows_total,
            });
        }
        let load = TableLoad { table, id, begun, rows_in, phase: Mutex::new("rows") };
        let loaded = self.run_watched(&load, || self.build(&load));
        let loaded =
            loaded.map_err(|error| self.broke_off(table, load.rows_in.load(Relaxed), error))?;
        (self.watch.events)(LoadEvent::Loaded(loaded.clone()));
        Ok(loaded)
    }

    fn forget(&self, table: &Table) -> Result<()> {
        let (mut session, values) = (self.site.session()?, table.values(&self.site.recipe));
        for block in ["state.forget", "chunks.forget", "drop"] {
            self.site.execute(session.as_mut(), block, &values)?;
        }
        Ok(())
    }

    /// Runs `work`. Meanwhile the time left is told in phases that count nothing, and once the
    /// watcher cancels, statements that run are cancelled until `work` returns.
    fn run_watched<T>(&self, load: &TableLoad<'_>, work: impl FnOnce() -> T) -> T {
        let mut reported_at = Instant::now();
        let look = || {
            let phase = *load.phase.lock();
            if phase != "rows" && reported_at.elapsed() >= NEWS {
                reported_at = Instant::now();
                let (table, left_s) = (load.table.name.clone(), self.pace.left_s());
                (self.watch.events)(LoadEvent::Left { table, phase, left_s });
            }
        };
        engine::cancellable(self.site.db, self.watch.cancel, look, work)
    }

    fn build(&self, load: &TableLoad<'_>) -> Result<LoadResult> {
        let TableLoad { table, id, begun, rows_in, phase } = load;
        let (site, values) = (self.site, table.values(&self.site.recipe));
        let enter = |name: &'static str| {
            if name != "rows" {
                self.pace.next_phase();
            }
            *phase.lock() = name;
            (self.watch.events)(LoadEvent::Phase { table: table.name.clone(), phase: name });
        };
        if begun.done.is_empty() {
            // No session of ours stays open beside the load: an engine may want the file for
            // itself.
            site.execute(site.session()?.as_mut(), &format!("create.{}", table.org), &values)?;
        }
        enter("rows");
        let meter = Meter::new(table, self.watch, &self.pace, rows_in);
        let missing = chunks::missing(table.rows.table_rows, &begun.done, self.sessions);
        let rows_s = measure_s(|| load::rows(site, id, &missing, self.sessions, &meter))?;
        enter("indexes");
        let index_s = measure_s(|| load::indexes(site, table, self.watch))?;
        enter("statistics");
        let mut session = site.session()?;
        let session = session.as_mut();
        let analyze_s = measure_s(|| site.execute(session, "analyze", &values).map(|_| ()))?;
        enter("verify");
        let checksum = Checksum::of_table(table.rows, u64::from(self.sessions));
        super::checksum::check_rows(site, session, table, &checksum, true)?;
        self.stop_if_cancelled()?;
        let (table_bytes, index_bytes) = state::sizes(site, session, table)?;
        let load = LoadResult {
            table: table.name.clone(),
            rows: table.rows.table_rows,
            table_bytes,
            index_bytes,
            rows_s,
            index_s,
            analyze_s,
            method: site.db.load_method().to_string(),
            sessions: self.sessions,
            loaded: true,
            resumed_rows: chunks::rows_in(&begun.done),
        };
        let verified = VerifiedTable { table, id, checksum: &checksum, load: &load };
        state::remember(site, session, &verified)?;
        site.execute(session, "chunks.forget", &values)?;
        self.pace.next_phase();
        Ok(load)
    }

    fn stop_if_cancelled(&self) -> Result<()> {
        if self.watch.cancel.load(Relaxed) {
            return Err(Error::new(Kind::Interrupted, self.site.label, "load interrupted"));
        }
        Ok(())
    }

    /// Fate of a table whose load failed: chunks that are in stay if the database does and they are
    /// right, else the table is dropped. The error says which.
    fn broke_off(&self, table: &Table, rows_in: u64, error: Error) -> Error {
        let (kind, what) = match self.watch.cancel.load(Relaxed) {
            true => (Kind::Interrupted, "load interrupted".to_string()),
            false => (error.kind, format!("loading {} failed: {}", table.name, error.what)),
        };
        let name = table.full_name(&self.site.recipe);
        if self.site.lasting && rows_in > 0 && error.kind != Kind::Check {
            let what = format!(
                "{what}; {rows_in} of {} rows of table {name} are in and stay",
                table.rows.table_rows
            );
            let go_on = "run it again to resume, or remove them with 'dbdyno clean'";
            let advice = [error.advice.as_str(), go_on].into_iter().filter(|text| !text.is_empty());
            return Error::new(kind, error.place, what)
                .advise(advice.collect::<Vec<_>>().join("; then "));
        }
        let fate = if self.forget(table).is_ok() { "was dropped" } else { "could not be dropped" };
        Error::new(kind, error.place, format!("{what}; table {name} {fate}")).advise(error.advice)
    }
}

/// Seconds that `step` took.
fn measure_s(step: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    step().map(|()| start.elapsed().as_secs_f64())
}
