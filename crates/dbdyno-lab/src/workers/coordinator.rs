//! Coordinator of a run on several load generators.

use std::time::{Duration, Instant};

use super::{BUILD, Clock, Step, Task, ask, unreadable};
use crate::store::Place;
use crate::test_runner::{Edges, Stage, WorkerAssignment, WorkerLog, WorkerProgress, Workers};
use dbdyno_core::error::Result;
use dbdyno_engines::engine::results_backend::{ResultsBackend, SqlValue};
use dbdyno_engines::engine::{EngineError, ErrorClass};

/// From the word to the common start: every worker has heard it by then.
const LEAD_S: f64 = 0.5;
/// The load generators of a run.
pub struct WorkerPool {
    backend: Box<dyn ResultsBackend>,
    id: i64,
    count: u32,
    /// Number of the test.
    turn: i64,
    timeouts: WorkerTimeouts,
    given_at: Instant,
    clock: Clock,
    engine: String,
    url: Option<String>,
    sessions: Vec<u32>,
}

/// Timeouts of workers.
#[derive(Debug, Clone, Copy)]
pub struct WorkerTimeouts {
    /// To claim their shares.
    pub wait: Duration,
    /// Time without a message after which a worker is lost, whatever the state of its connection. A
    /// worker sends a message every second.
    pub silence: Duration,
}

impl WorkerPool {
    /// Calls for this many load generators through the results database; they connect to the target
    /// of this engine and URL.
    ///
    /// # Errors
    /// The results are in a file; the database cannot be reached or written.
    pub fn call(
        place: &Place,
        count: u32,
        timeouts: WorkerTimeouts,
        engine: &str,
        url: Option<&str>,
    ) -> Result<WorkerPool> {
        let mut backend = super::open_backend(place)?;
        let mut begin = || {
            ask(backend.as_mut(), "crew-clean", Vec::new())?;
            let begun =
                ask(backend.as_mut(), "crew-begin", vec![env!("CARGO_PKG_VERSION").into()])?;
            let id = begun
                .first()
                .and_then(|row| row.first()?.integer())
                .ok_or_else(|| unreadable("a number"))?;
            Ok((id, Clock::measure(backend.as_mut())?))
        };
        let (id, clock) =
            begin().map_err(|error: EngineError| error.at(place.path.display().to_string()))?;
        let (engine, url) = (engine.to_string(), url.map(str::to_string));
        Ok(WorkerPool {
            backend,
            id,
            count,
            turn: 0,
            timeouts,
            given_at: Instant::now(),
            clock,
            engine,
            url,
            sessions: Vec::new(),
        })
    }

    fn ask(&mut self, name: &str) -> Step<Vec<Vec<SqlValue>>> {
        ask(self.backend.as_mut(), name, vec![self.id.into(), self.turn.into()])
    }

    /// Progress of a part, and the data that its worker sent.
    fn progress_of(&self, row: &[SqlValue]) -> Step<WorkerProgress> {
        let points =
            row.get(5).and_then(SqlValue::text).and_then(|text| serde_json::from_str(text).ok());
        Ok(WorkerProgress { stage: self.stage(row)?, points: points.unwrap_or_default() })
    }

    fn stage(&self, row: &[SqlValue]) -> Step<Stage> {
        let text = |at: usize| row.get(at).and_then(SqlValue::text).unwrap_or_default();
        let lives = row.get(3).and_then(SqlValue::integer) == Some(1);
        let silent_s = row.get(4).and_then(SqlValue::real).unwrap_or(0.0);
        let most_s = self.timeouts.silence.as_secs_f64();
        let lost = |why: String| {
            EngineError::new(ErrorClass::WorkerLost, format!("worker {} is lost: {why}", text(0)))
                .advised("see how it ended; start it again")
        };
        let answer = || format!("worker {}: {}", text(0), text(2));
        match text(1) {
            "done" => Ok(Stage::Done),
            "failed" => Err(EngineError::new(ErrorClass::Other, answer())),
            "gone" => Err(lost(text(2).to_string())),
            "open" => Ok(Stage::Preparing),
            _ if !lives => Err(lost("its session has ended".into())),
            _ if silent_s > most_s => Err(lost(format!("nothing was heard of it for {most_s} s"))),
            "ready" => Ok(Stage::Ready),
            "satisfied" => Ok(Stage::Satisfied),
            _ => Ok(Stage::Preparing),
        }
    }

    /// Says who did not come, once that was waited for.
    fn check_all_came(&self, rows: &[Vec<SqlValue>]) -> Step<()> {
        let missing =
            rows.iter().filter(|row| row.get(1).and_then(SqlValue::text) == Some("open")).count();
        if missing == 0 || self.given_at.elapsed() < self.timeouts.wait {
            return Ok(());
        }
        let (came, all, wait_s) =
            (rows.len() - missing, rows.len(), self.timeouts.wait.as_secs_f64());
        Err(EngineError::new(
            ErrorClass::WorkerLost,
            format!("{came} of {all} workers came within {wait_s} s"),
        )
        .advised(
            "start 'dbdyno worker RESULTS TARGET' with the URLs of these results and of this \
             target on each load generator, or give a longer --worker-join-timeout",
        ))
    }
}

impl Workers for WorkerPool {
    fn count(&self) -> u32 {
        self.count
    }

    fn assign(&mut self, shares: &[WorkerAssignment]) -> Step<()> {
        self.turn += 1;
        self.sessions.clear();
        self.clock = Clock::measure(self.backend.as_mut())?;
        self.ask("crew-turn")?;
        let task = |share: &WorkerAssignment| {
            let task = Task {
                build: BUILD.into(),
                engine: self.engine.clone(),
                url: self.url.clone(),
                share: share.clone(),
            };
            serde_json::to_string(&task)
                .map_err(|error| EngineError::new(ErrorClass::Other, error.to_string()))
        };
        let row = |(position, share): (i64, &WorkerAssignment)| {
            Ok(vec![self.id.into(), self.turn.into(), position.into(), task(share)?.into()])
        };
        let rows = (1..).zip(shares).map(row).collect::<Step<Vec<_>>>()?;
        let sql = self.backend.sql_of("crew-share", &[])?;
        self.backend.run(&sql, &rows)?;
        self.given_at = Instant::now();
        Ok(())
    }

    fn poll(&mut self) -> Step<Vec<WorkerProgress>> {
        let rows = self.ask("crew-look")?;
        self.check_all_came(&rows)?;
        let come = rows.iter().map(|row| self.progress_of(row)).collect::<Step<Vec<_>>>()?;
        if self.sessions.is_empty() && come.iter().all(|come| come.stage == Stage::Ready) {
            let answer = rows
                .iter()
                .filter_map(|row| serde_json::from_str::<Vec<u32>>(row.get(2)?.text()?).ok());
            self.sessions = answer.flatten().collect();
        }
        Ok(come)
    }

    fn set_window(&mut self, edges: Edges) -> Step<()> {
        let binds = vec![self.id.into(), edges.open_s.into(), edges.close_s.into()];
        ask(self.backend.as_mut(), "crew-edges", binds).map(drop)
    }

    fn start(&mut self) -> Step<Instant> {
        let answer = ask(self.backend.as_mut(), "crew-start", vec![self.id.into(), LEAD_S.into()])?;
        let start_s = answer
            .first()
            .and_then(|row| row.first()?.real())
            .ok_or_else(|| unreadable("a start"))?;
        let start = self.clock.moment(start_s);
        std::thread::sleep(start.saturating_duration_since(Instant::now()));
        Ok(start)
    }

    fn stop(&mut self) -> Step<()> {
        let sql = self.backend.sql_of("crew-stop", &[])?;
        self.backend.run(&sql, &[vec![self.id.into()]]).map(drop)
    }

    fn collect(&mut self) -> Step<Vec<WorkerLog>> {
        let rows = self.ask("crew-logs")?;
        let log = |row: &Vec<SqlValue>| serde_json::from_str(row.first()?.text()?).ok();
        let logs: Option<Vec<WorkerLog>> = rows.iter().map(log).collect();
        self.ask("crew-forget")?;
        logs.ok_or_else(|| unreadable("what a worker did"))
    }

    fn sessions(&self) -> Vec<u32> {
        self.sessions.clone()
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        let end = self.backend.sql_of("crew-end", &[]);
        // Rows that stay are those of a run that is gone: the next one takes them away.
        let _ = end.and_then(|sql| self.backend.run(&sql, &[vec![self.id.into()]]));
    }
}
