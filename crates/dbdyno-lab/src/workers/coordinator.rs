//! Coordinator of a run on several load generators.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
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
    /// The session with the results was lost, and with it the lock by which workers see that the
    /// run lives.
    is_lost: bool,
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
            Ok((begin_crew(backend.as_mut())?, Clock::measure(backend.as_mut())?))
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
            is_lost: false,
        })
    }

    /// The rows of a statement by its name, about the test.
    fn ask(&mut self, name: &str) -> Step<Vec<Vec<SqlValue>>> {
        self.ask_with(name, vec![self.id.into(), self.turn.into()])
    }

    /// The rows of a statement by its name, with these binds.
    fn ask_with(&mut self, name: &str, binds: Vec<SqlValue>) -> Step<Vec<Vec<SqlValue>>> {
        let answer = ask(self.backend.as_mut(), name, binds);
        self.note_loss(answer)
    }

    /// Tells the loss of the results from one of the target, and notes it: the workers of the test
    /// are called off then, and the next one needs another session.
    fn note_loss<T>(&mut self, answer: Step<T>) -> Step<T> {
        answer.map_err(|error| {
            if !matches!(error.class, ErrorClass::Lost | ErrorClass::Unreachable) {
                return error;
            }
            self.is_lost = true;
            let what = format!(
                "the workers are lost with the session in the results database ({})",
                error.message
            );
            EngineError::new(ErrorClass::WorkerLost, what)
                .advised("see why the results database ended it")
        })
    }

    /// Calls for the workers anew, in another session in place of the lost one.
    fn begin_again(&mut self) -> Step<()> {
        let lost = self.id;
        let begun = self.reconnect();
        self.id = self.note_loss(begun)?;
        self.is_lost = false;
        // Workers of a session whose end the server has not noticed would go on.
        self.ask_with("crew-end", vec![lost.into()]).map(drop)
    }

    /// Opens another session; gives the number of the crew that it begins.
    fn reconnect(&mut self) -> Step<i64> {
        self.backend.reconnect()?;
        if !self.backend.prove()? {
            return Err(EngineError::new(ErrorClass::Other, "the schema of the results is gone"));
        }
        begin_crew(self.backend.as_mut())
    }

    /// Lays out the shares of the next test.
    fn lay_out(&mut self, shares: &[WorkerAssignment]) -> Step<()> {
        self.turn += 1;
        self.sessions.clear();
        let clock = Clock::measure(self.backend.as_mut());
        self.clock = self.note_loss(clock)?;
        self.ask("crew-turn")?;
        let rows = self.rows_of(shares)?;
        let sql = self.backend.sql_of("crew-share", &[])?;
        let laid_out = self.backend.run(&sql, &rows);
        self.note_loss(laid_out)?;
        self.given_at = Instant::now();
        Ok(())
    }

    /// A row for each share: crew, test, position, task.
    fn rows_of(&self, shares: &[WorkerAssignment]) -> Step<Vec<Vec<SqlValue>>> {
        let mut rows = Vec::new();
        for (position, share) in (1_i64..).zip(shares) {
            let task = Task {
                build: BUILD.into(),
                engine: self.engine.clone(),
                url: self.url.clone(),
                share: share.clone(),
            };
            let task = serde_json::to_string(&task)
                .map_err(|error| EngineError::new(ErrorClass::Other, error.to_string()))?;
            rows.push(vec![self.id.into(), self.turn.into(), position.into(), task.into()]);
        }
        Ok(rows)
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

    fn heed(&self, interrupt: Arc<AtomicBool>) {
        self.backend.heed(interrupt);
    }

    fn assign(&mut self, shares: &[WorkerAssignment]) -> Step<()> {
        if !self.is_lost {
            let laid_out = self.lay_out(shares);
            if laid_out.is_ok() || !self.is_lost {
                return laid_out;
            }
        }
        // Nobody has begun: what was lost between two tests costs none.
        self.begin_again()?;
        self.lay_out(shares)
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
        self.ask_with("crew-edges", binds).map(drop)
    }

    fn start(&mut self) -> Step<Instant> {
        let answer = self.ask_with("crew-start", vec![self.id.into(), LEAD_S.into()])?;
        let start_s = answer
            .first()
            .and_then(|row| row.first()?.real())
            .ok_or_else(|| unreadable("a start"))?;
        let start = self.clock.start(start_s)?;
        std::thread::sleep(start.saturating_duration_since(Instant::now()));
        Ok(start)
    }

    fn stop(&mut self) -> Step<()> {
        self.ask_with("crew-stop", vec![self.id.into()]).map(drop)
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
        // Rows that stay are those of a run that is gone: the next one takes them away.
        let _ = self.ask_with("crew-end", vec![self.id.into()]);
    }
}

/// Begins a crew, which lives as long as the session; gives its number.
fn begin_crew(backend: &mut dyn ResultsBackend) -> Step<i64> {
    let begun = ask(backend, "crew-begin", vec![env!("CARGO_PKG_VERSION").into()])?;
    begun.first().and_then(|row| row.first()?.integer()).ok_or_else(|| unreadable("a number"))
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;
    use crate::store::fake_backend::{FakeBackend, FakeDatabase};

    fn pool(results: &Arc<Mutex<FakeDatabase>>) -> WorkerPool {
        let mut backend = FakeBackend(Arc::clone(results));
        let id = begin_crew(&mut backend).unwrap();
        let clock = Clock::measure(&mut backend).unwrap();
        WorkerPool {
            backend: Box::new(backend),
            id,
            count: 1,
            turn: 0,
            timeouts: WorkerTimeouts { wait: Duration::ZERO, silence: Duration::ZERO },
            given_at: Instant::now(),
            clock,
            engine: "null".into(),
            url: None,
            sessions: Vec::new(),
            is_lost: false,
        }
    }

    #[test]
    fn a_session_that_is_lost_costs_its_test_and_the_next_one_has_another() {
        let results = FakeDatabase::default().shared();
        let mut pool = pool(&results);
        pool.assign(&[]).unwrap();
        results.lock().is_lost = true;
        let error = pool.poll().unwrap_err();
        assert_eq!(error.class, ErrorClass::WorkerLost, "{error}: the target is not lost");
        assert!(error.message.contains("the session has ended"), "{error}");
        // Whatever answers late is not taken for the answer to something else.
        results.lock().is_lost = false;
        results.lock().statements.clear();
        pool.assign(&[]).unwrap();
        let asked = std::mem::take(&mut results.lock().statements);
        assert_eq!(asked[0].0, "crew-begin", "{asked:?}");
        assert_eq!(asked[1], ("crew-end".into(), Some(1)), "the workers of the lost one go on");
        pool.poll().unwrap();
        assert_eq!(results.lock().statements.last(), Some(&("crew-look".into(), Some(2))));
    }

    #[test]
    fn a_session_that_is_lost_between_two_tests_costs_none() {
        let results = FakeDatabase::default().shared();
        let mut pool = pool(&results);
        results.lock().is_lost = true;
        pool.assign(&[]).unwrap();
        assert_eq!((pool.id, results.lock().crews), (2, 2));
    }
}
