//! Context of a test.

use std::time::Duration;

use parking_lot::Mutex;

use super::Interrupt;
use super::assemble::test_facts;
use super::assignment::{AssignedJobs, WorkerAssignment};
use super::job_group::JobGroup;
use super::remote_workers::Workers;
use super::sessions::SessionSource;
use super::timing_cost::TimingCosts;
use dbdyno_core::model::rows::RowFunction;
use dbdyno_core::model::{Facts, TestSpec};
use dbdyno_core::stats::keys;
use dbdyno_engines::engine::{Database, EngineError, ErrorClass, JobPlacement};

/// Context of a test.
pub struct TestContext<'a> {
    /// Open database that the test runs against.
    pub database: &'a dyn Database,
    /// Facts of the loaded data set.
    pub facts: &'a Facts,
    /// Row function for bulk loads.
    pub rows: RowFunction,
    /// Seed of the run.
    pub seed: u64,
    /// Timeout for all jobs together to connect and prepare: [`super::CONNECT_TIMEOUT`], but for
    /// tests of ours.
    pub connect_timeout: Duration,
    /// Flag by which the user ends the run.
    pub interrupt: &'a Interrupt,
    /// Source of session samples.
    pub sessions: Option<&'a Mutex<dyn SessionSource>>,
    /// Load generators that run the jobs; none = we do.
    pub workers: Option<&'a Mutex<dyn Workers>>,
    /// Costs of timing ops, by which their number is chosen where ops are slow.
    pub timing_costs: TimingCosts,
}

impl TestContext<'_> {
    /// Seed of a test's jobs: its own, since keys of an earlier test would be found in a cache.
    pub(super) fn test_seed(&self, spec: &TestSpec<'_>) -> u64 {
        keys::test_seed(self.seed, spec.draw)
    }

    /// True if an error is what an interrupt leads to: what ran was cancelled, and a server that
    /// was silent was given up.
    pub(super) fn is_of_interrupt(&self, error: &EngineError) -> bool {
        use ErrorClass::{Cancelled, Lost, Unreachable};
        self.interrupt.is_set() && matches!(error.class, Cancelled | Lost | Unreachable)
    }

    /// The assignments of a test for this many load generators.
    ///
    /// # Errors
    /// The test has too few jobs.
    pub(super) fn assignments(
        &self,
        spec: &TestSpec<'_>,
        placement: &JobPlacement,
        workers: u32,
    ) -> Result<Vec<WorkerAssignment>, EngineError> {
        if spec.jobs < workers {
            let what = format!("{} jobs for {workers} workers", spec.jobs);
            return Err(EngineError::new(ErrorClass::Usage, what)
                .advised("give --jobs as many, or fewer --workers"));
        }
        let groups = JobGroup::all(spec);
        let seed = self.test_seed(spec);
        let group = |at: usize, worker| {
            let group = groups.get(at)?;
            let timing_cost = self.timing_costs.of(group.selection);
            let jobs = AssignedJobs::new(group, worker, workers, spec, seed);
            Some(jobs.with_timing_cost(timing_cost))
        };
        let share = |worker| {
            Some(WorkerAssignment {
                own: group(0, worker)?,
                beside: group(1, worker),
                window: spec.selection.window,
                facts: test_facts(self.facts, spec.jobs),
                rows: self.rows,
                nodes: placement.nodes.clone(),
                connect_s: self.connect_timeout.as_secs_f64(),
            })
        };
        Ok((1..=workers).filter_map(share).collect())
    }
}
