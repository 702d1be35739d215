//! Several load generators with a results database between them: the coordinator of a run writes
//! assignments there ([`WorkerPool`]), and each load generator claims one ([`serve`]). There is no
//! protocol of our own: all of it is rows, which live as long as the run.

mod coordinator;
mod worker;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::store::{self, Place};
use crate::test_runner::WorkerAssignment;
use dbdyno_core::error::Result;
use dbdyno_engines::engine::results_backend::{ResultsBackend, SqlValue};
use dbdyno_engines::engine::{EngineError, ErrorClass};

pub use coordinator::{WorkerPool, WorkerTimeouts};
pub use worker::{WorkerOptions, serve};

/// Round trips by which a clock is compared.
const ROUND_TRIPS: u32 = 20;

/// Longest time between the common start of a test and the moment at which it is learned.
const MAX_START: Duration = Duration::from_secs(30);

type Step<T> = std::result::Result<T, EngineError>;

/// The build that we are, by its sources and its profile.
const BUILD: &str = env!("DBDYNO_BUILD");

/// Task that a load generator claims.
#[derive(Serialize, Deserialize)]
struct Task {
    /// The build of the coordinator.
    #[serde(default)]
    build: String,
    /// Registry name and URL of the target, one of those that each machine names for itself; the
    /// password is each machine's own.
    engine: String,
    url: Option<String>,
    share: WorkerAssignment,
}

/// The rows of a statement by its name.
fn ask(
    backend: &mut dyn ResultsBackend,
    name: &str,
    binds: Vec<SqlValue>,
) -> Step<Vec<Vec<SqlValue>>> {
    let sql = backend.sql_of(name, &[])?;
    backend.run(&sql, &[binds])
}

/// A session with the tables that load generators need.
fn open_backend(place: &Place) -> Result<Box<dyn ResultsBackend>> {
    let mut backend = store::open_backend(place)?;
    let make = |backend: &mut dyn ResultsBackend| {
        let rows = ask(backend, "crew-is-there", Vec::new())?;
        if rows.first().and_then(|row| row.first()?.integer()) == Some(1) {
            return Ok(());
        }
        let tables = backend.sql_of("crew-tables", &[])?;
        backend.execute(&tables)
    };
    make(backend.as_mut())
        .map_err(|error: EngineError| error.at(place.path.display().to_string()))?;
    Ok(backend)
}

fn unreadable(what: &str) -> EngineError {
    EngineError::new(ErrorClass::Other, format!("the database holds {what} that cannot be read"))
        .advised("use the same dbdyno everywhere")
}

/// Our clock and that of the database.
#[derive(Debug, Clone, Copy)]
struct Clock {
    /// A moment by our steady clock, and by the clock of the database in s since 1970.
    at: Instant,
    server_s: f64,
    /// Clock of the database less ours that tells the time of day.
    offset_s: f64,
    round_trip_s: f64,
}

impl Clock {
    /// Compares by the fastest of some round trips: its middle is known best.
    fn measure(backend: &mut dyn ResultsBackend) -> Step<Clock> {
        let mut best: Option<Clock> = None;
        for _ in 0..ROUND_TRIPS {
            let (at, wall) = (Instant::now(), SystemTime::now());
            let rows = ask(backend, "now", Vec::new())?;
            let round_trip_s = at.elapsed().as_secs_f64();
            let server_s = rows
                .first()
                .and_then(|row| row.first()?.real())
                .ok_or_else(|| unreadable("a time"))?;
            let wall_s = wall.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
                + round_trip_s / 2.0;
            let at = at + Duration::from_secs_f64(round_trip_s / 2.0);
            let clock = Clock { at, server_s, offset_s: server_s - wall_s, round_trip_s };
            if best.is_none_or(|best| round_trip_s < best.round_trip_s) {
                best = Some(clock);
            }
        }
        best.ok_or_else(|| unreadable("no time"))
    }

    /// Local moment of a common start by the database's clock, which is soon, or was just now.
    ///
    /// # Errors
    /// It is neither: somebody has set that clock since it was compared, and the start would be
    /// waited for as long.
    fn start(&self, server_s: f64) -> Step<Instant> {
        let (start, now) = (self.moment(server_s), Instant::now());
        let off = start.saturating_duration_since(now).max(now.saturating_duration_since(start));
        if off <= MAX_START {
            return Ok(start);
        }
        let what = "the clock of the results database was set during the test";
        Err(EngineError::new(ErrorClass::Other, what).advised("run it again"))
    }

    /// Local moment for a time of the database's clock.
    fn moment(&self, server_s: f64) -> Instant {
        let after_s = server_s - self.server_s;
        let by = Duration::from_secs_f64(after_s.abs().min(1e6));
        if after_s >= 0.0 { self.at + by } else { self.at.checked_sub(by).unwrap_or(self.at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_a_clock_was_set_away_from_is_not_waited_for() {
        let at = Instant::now();
        let clock = Clock { at, server_s: 1000.0, offset_s: 0.0, round_trip_s: 0.0 };
        assert_eq!(clock.start(1000.5).unwrap(), at + Duration::from_millis(500));
        for set in [4600.0, 900.0] {
            let error = clock.start(set).unwrap_err();
            assert!(error.message.contains("was set"), "{error}");
        }
    }
}
