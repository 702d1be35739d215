//! The tests of a plan, in order: each ramp step is measured, judged and stored before the next begins.

use std::time::{Duration, Instant, SystemTime};

use super::events::{Event, Sink};
use super::evict::Evictor;
use super::failed::failed_test;
use super::{estimate, probing::Probing};
use crate::analysis::{self, JudgeContext};
use crate::engine::Database;
use crate::error::{Error, Result};
use crate::model::rows::RowFunction;
use crate::model::{Facts, Plan, Reason, RunStatus, Selection, Status, TestResult, TestSpec, Verdict};
use crate::runner::{self, Interrupt, Outcome, TestContext};
use crate::store::Store;

/// What measuring needs.
pub struct Measuring<'a> {
    pub database: &'a dyn Database,
    pub plan: &'a Plan,
    /// Facts of the loaded data set as a selection sees them.
    pub facts: &'a dyn Fn(&Selection) -> Facts,
    pub rows: RowFunction,
    pub run_id: i64,
    pub interrupt: &'a Interrupt,
    /// True if the database runs inside our process.
    pub in_process: bool,
    /// Checks the answers of a workload and reads its tables into the cache, before its first test.
    /// Gives what keeps its other tables out of the operating system's cache.
    pub prepare: &'a dyn Fn(&Selection) -> Result<Evictor>,
    pub events: &'a Sink<'a>,
}

/// How one selection's ramp went on.
enum Step {
    GoOn,
    Stop(RunStatus),
}

impl Measuring<'_> {
    /// Measures every selection; returns how the run ended.
    ///
    /// # Errors
    /// If a result cannot be stored.
    pub fn all(&self, probing: &mut Probing<'_>, store: &mut Store) -> Result<RunStatus> {
        let mut seq = 0;
        for (index, selection) in self.plan.selections.iter().enumerate() {
            let after_s = estimate::selections_s(&self.plan.selections[index + 1..]);
            if let Step::Stop(status) = self.ramp(selection, &mut seq, after_s, probing, store)? {
                return Ok(status);
            }
        }
        Ok(RunStatus::Finished)
    }

    fn ramp(
        &self,
        selection: &Selection,
        seq: &mut u32,
        after_s: f64,
        probing: &mut Probing<'_>,
        store: &mut Store,
    ) -> Result<Step> {
        let mut done: Vec<(u32, f64)> = Vec::new();
        let prepared = (self.prepare)(selection);
        if self.interrupt.is_set() {
            return Ok(Step::Stop(RunStatus::Interrupted));
        }
        while let Some(jobs) = analysis::next_jobs(&selection.ramp, &done) {
            *seq += 1;
            let left = estimate::tests(&selection.ramp).saturating_sub(done.len() as u32 + 1);
            let after_s = after_s + f64::from(left) * estimate::test_s(selection);
            let run_left_s = after_s + estimate::test_s(selection);
            (self.events)(Event::TestStarted { seq: *seq, selection, jobs, run_left_s });
            let spec = TestSpec { selection, jobs, seq: *seq };
            let evictor = match &prepared {
                Ok(evictor) => evictor,
                Err(error) => return self.failed(&spec, jiff::Timestamp::now().to_string(), error, store),
            };
            match self.one(&spec, evictor, after_s, probing, store)? {
                (Some(throughput), Step::GoOn) => done.push((jobs, throughput)),
                (None, Step::GoOn) => return Ok(Step::GoOn),
                (_, stop) => return Ok(stop),
            }
        }
        Ok(Step::GoOn)
    }

    /// One test; gives its throughput in ops per second unless it failed.
    fn one(
        &self,
        spec: &TestSpec<'_>,
        evictor: &Evictor,
        after_s: f64,
        probing: &mut Probing<'_>,
        store: &mut Store,
    ) -> Result<(Option<f64>, Step)> {
        let started_at = jiff::Timestamp::now().to_string();
        let clock = ClockCheck::start();
        let facts = (self.facts)(spec.selection);
        let context = TestContext {
            database: self.database,
            facts: &facts,
            rows: self.rows,
            seed: self.plan.seed,
            connect_timeout: runner::CONNECT_TIMEOUT,
            interrupt: self.interrupt,
        };
        let events = self.events;
        let mut progress = |progress: runner::Progress| {
            let run_left_s = after_s + if progress.left_s.is_finite() { progress.left_s } else { 0.0 };
            events(Event::TestProgress { test_left_s: progress.left_s, run_left_s });
        };
        let run = || runner::run_test(&context, spec, &mut |reading| probing.read(reading), &mut progress);
        let (outcome, evicted) = evictor.around(run);
        let tell = |result: &mut TestResult| {
            if !spec.selection.workload.evict.is_empty() {
                analysis::keep_eviction(result, evicted);
            }
        };
        match outcome {
            Outcome::Done(mut result) => {
                tell(&mut result);
                let throughput = result.ops_per_s;
                self.keep(*result, spec.selection, clock.step_s(), store)?;
                Ok((Some(throughput), Step::GoOn))
            }
            Outcome::Interrupted(partial) => {
                if let Some(mut result) = partial {
                    tell(&mut result);
                    self.keep_partial(*result, spec.selection, clock.step_s(), store)?;
                }
                Ok((None, Step::Stop(RunStatus::Interrupted)))
            }
            Outcome::Failed(error) => {
                let error = error.at(spec.selection.workload.id.clone());
                Ok((None, self.failed(spec, started_at, &error, store)?))
            }
        }
    }

    fn judged(&self, mut result: TestResult, selection: &Selection, clock_step_s: f64) -> TestResult {
        analysis::fill(&mut result);
        analysis::keep_threads(&mut result, selection.workload.threads.as_ref());
        let context = JudgeContext {
            engine: &self.plan.engine,
            in_process: self.in_process,
            host_cpus: host_cpus(),
            clock_step_s,
        };
        let workload = &selection.workload;
        let mut reasons = analysis::judge(&result, &workload.contract, &workload.crosscheck, &context).reasons;
        reasons.extend(analysis::parts::judge(&result, &selection.parts, &self.plan.engine));
        result.verdict = Verdict::from_reasons(reasons);
        result
    }

    fn keep(&self, result: TestResult, selection: &Selection, clock_step_s: f64, store: &mut Store) -> Result<()> {
        let result = self.judged(result, selection, clock_step_s);
        store.save_test(self.run_id, &result)?;
        (self.events)(Event::TestDone(&result));
        Ok(())
    }

    fn keep_partial(&self, result: TestResult, selection: &Selection, step_s: f64, store: &mut Store) -> Result<()> {
        let mut result = self.judged(result, selection, step_s);
        let text = format!("interrupted: the window was cut short after {:.1} s", result.window_s);
        let mut reasons = result.verdict.reasons;
        reasons.push(Reason::new(Status::Conditional, "interrupted", text));
        result.verdict = Verdict::from_reasons(reasons);
        store.save_test(self.run_id, &result)?;
        (self.events)(Event::TestDone(&result));
        Ok(())
    }

    /// Stores the failure; the run goes on if the database still answers.
    fn failed(&self, spec: &TestSpec<'_>, started_at: String, error: &Error, store: &mut Store) -> Result<Step> {
        let result = failed_test(spec, started_at, error);
        store.save_test(self.run_id, &result)?;
        (self.events)(Event::TestFailed { selection: spec.selection, jobs: spec.jobs, error });
        let answers = self.database.session().is_ok();
        Ok(if answers { Step::GoOn } else { Step::Stop(RunStatus::Failed) })
    }
}

/// Logical CPUs of this host that we may use.
pub fn host_cpus() -> u32 {
    std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32)
}

/// Notices when somebody sets the system clock during a test.
struct ClockCheck {
    steady: Instant,
    wall: SystemTime,
}

impl ClockCheck {
    fn start() -> Self {
        ClockCheck { steady: Instant::now(), wall: SystemTime::now() }
    }

    /// Seconds by which the wall clock moved against the steady clock.
    fn step_s(&self) -> f64 {
        let wall_s = self.wall.elapsed().unwrap_or(Duration::ZERO).as_secs_f64();
        (wall_s - self.steady.elapsed().as_secs_f64()).abs()
    }
}
