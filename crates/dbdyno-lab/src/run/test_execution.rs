//! Runs one test and collects its server-side evidence. Everything here is `Send`, so that a duet
//! can run two tests at once.

use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use super::deferred_work::CatchUp;
use super::evict::{Eviction, EvictionNote, Evictor};
use super::probing::Probing;
use super::server_evidence::ServerEvidence;
use super::{Event, Sink};
use crate::test_runner::{
    self, Interrupt, Outcome, SessionSource, TestContext, TimingCosts, Workers,
};
use dbdyno_core::analysis;
use dbdyno_core::model::rows::RowFunction;
use dbdyno_core::model::{Counters, Facts, TestSpec};
use dbdyno_engines::engine::Database;

/// Context for executing a test.
pub(super) struct TestExecution<'a> {
    pub database: &'a dyn Database,
    /// Facts of the loaded data set as the test's selection sees them.
    pub facts: Facts,
    pub rows: RowFunction,
    pub seed: u64,
    pub interrupt: &'a Interrupt,
    /// Catch-up after the test.
    pub catch_up: Option<&'a CatchUp<'a>>,
    pub evidence: &'a ServerEvidence,
    /// Note of the run on files that could not be evicted.
    pub eviction_note: &'a EvictionNote,
    pub events: &'a Sink<'a>,
    /// Done when all jobs wait at the gate, before it opens.
    pub at_gate: &'a (dyn Fn() + Sync),
    /// Load generators that run the jobs.
    pub workers: Option<&'a Mutex<dyn Workers>>,
    /// Costs of timing ops.
    pub timing_costs: TimingCosts,
}

/// A test that was executed, not yet judged.
pub(super) struct UnjudgedTest {
    pub outcome: Outcome,
    pub started_at: String,
    /// Step of the clock, see [`ClockCheck::step_s`].
    pub clock_step_s: f64,
}

impl TestExecution<'_> {
    /// Executes the test and collects its evidence. `after_s` is the expected time of the run after
    /// it.
    pub fn execute(
        &self,
        spec: &TestSpec<'_>,
        evictor: &Evictor,
        after_s: f64,
        probing: &mut Probing<'_>,
    ) -> UnjudgedTest {
        let started_at = jiff::Timestamp::now().to_string();
        let clock = ClockCheck::start();
        let outcome = self.run(spec, evictor, after_s, probing);
        UnjudgedTest { outcome, started_at, clock_step_s: clock.step_s() }
    }

    fn run(
        &self,
        spec: &TestSpec<'_>,
        evictor: &Evictor,
        after_s: f64,
        probing: &mut Probing<'_>,
    ) -> Outcome {
        let sampler = probing.sampler();
        let context = TestContext {
            database: self.database,
            facts: &self.facts,
            rows: self.rows,
            seed: self.seed,
            connect_timeout: test_runner::CONNECT_TIMEOUT,
            interrupt: self.interrupt,
            sessions: sampler.as_deref().map(|sampler| sampler as &Mutex<dyn SessionSource>),
            workers: self.workers,
            timing_costs: self.timing_costs,
        };
        let mut progress = |progress: test_runner::Progress| {
            let run_left_s =
                after_s + if progress.left_s.is_finite() { progress.left_s } else { 0.0 };
            (self.events)(Event::TestProgress {
                test_left_s: progress.left_s,
                run_left_s,
                now: progress.now,
            });
        };
        // What the database does after the test is not the test's.
        let mut after = None;
        let before = self.evidence.mark(sampler.as_deref());
        // While jobs run the sampler's session is at work: its counts are known before and after.
        // Each time last of what it asks, so that what asking adds is in both.
        let own =
            || sampler.as_deref().map_or_else(Counters::default, |sampler| sampler.lock().counts());
        let mut begin = Some(own());
        let mut read = |reading| {
            if reading == test_runner::Reading::CaughtUp {
                after = Some(self.evidence.mark(sampler.as_deref()));
            }
            let is_first = begin.is_some();
            let own =
                (reading != test_runner::Reading::AtOnce).then(|| begin.take().unwrap_or_else(own));
            let (mut counters, cost_ms) = probing.read(reading, self.catch_up);
            own.iter().for_each(|own| counters.subtract(own));
            if is_first {
                (self.at_gate)();
            }
            (counters, cost_ms)
        };
        let run = || test_runner::run_test(&context, spec, &mut read, &mut progress);
        let (mut outcome, eviction) = evictor.around(run);
        if let Eviction::Failed(why) = &eviction {
            self.eviction_note.give(why, self.events);
        }
        if let Outcome::Done(result) | Outcome::Interrupted(Some(result)) = &mut outcome {
            let after = after.unwrap_or_else(|| self.evidence.mark(sampler.as_deref()));
            self.evidence.add_to(&before, after, result);
            if !spec.selection.workload.evict.is_empty() {
                analysis::keep_eviction(result, eviction.is_done());
            }
        }
        outcome
    }
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
