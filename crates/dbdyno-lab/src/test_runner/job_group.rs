//! Jobs that run a selection, those of the test and those beside them, and their threads.

use std::thread::ScopedJoinHandle;

use super::gate::Gate;
use super::log::JobLog;
use super::pacer::JobPacer;
use super::test::{TestContext, is_of_interrupt};
use dbdyno_core::model::{Facts, Selection, TestSpec};
use dbdyno_engines::engine::{EngineError, ErrorClass, JobSpec};

/// Difference between the seed of a background workload's keys and the test's.
const BACKGROUND_SEED: u64 = 0x5eed;

/// Jobs that run a selection: those of the test, or those beside them.
pub(super) struct JobGroup<'a> {
    pub selection: &'a Selection,
    pub size: u32,
    /// The number of its first job, less 1; and the jobs that the numbers are of. A workload beside
    /// itself goes on counting.
    pub after: u32,
    pub jobs: u32,
    pub is_background: bool,
}

impl<'a> JobGroup<'a> {
    pub(super) fn all(spec: &TestSpec<'a>) -> Vec<JobGroup<'a>> {
        let (selection, size) = (spec.selection, spec.jobs);
        let shared = if selection.is_beside_itself() { selection.background_jobs() } else { 0 };
        let own = JobGroup { selection, size, after: 0, jobs: size + shared, is_background: false };
        let background = selection.background.as_ref().map(|background| JobGroup {
            selection: &background.selection,
            size: background.jobs,
            after: if shared > 0 { size } else { 0 },
            jobs: if shared > 0 { size + shared } else { background.jobs },
            is_background: true,
        });
        std::iter::once(own).chain(background).collect()
    }

    /// Index of the part that a job (from 1) runs.
    pub(super) fn part(&self, job: u32) -> usize {
        (job as usize - 1) % self.selection.parts.len()
    }

    /// Seed of its keys: another workload must not draw the same in the same order.
    pub(super) fn seed(&self, seed: u64) -> u64 {
        seed ^ if self.is_background { BACKGROUND_SEED } else { 0 }
    }
}

/// A job of a group.
pub(super) struct GroupJob<'a> {
    pub(super) group: &'a JobGroup<'a>,
    /// Number of the job within the group, from 1.
    pub(super) number: u32,
    /// Node of the cluster that it works on.
    pub(super) node: Option<&'a str>,
    /// Seed of the test.
    pub(super) seed: u64,
    pub(super) facts: &'a Facts,
}

/// Runs a job in this thread until its gate stops it; its log holds what ended it, if that was not
/// an interrupt.
pub(super) fn run_job(
    context: &TestContext<'_>,
    job: &GroupJob<'_>,
    mut pacer: JobPacer<'_>,
    gate: &Gate,
) -> JobLog {
    let GroupJob { group, number, node, seed, facts } = *job;
    let part = &group.selection.parts[group.part(number)];
    let mut facts = facts.clone();
    facts.extend(part.facts.clone());
    let order = JobSpec {
        job: group.after + number,
        jobs: group.jobs,
        code: &part.code,
        session: &part.session,
        seed: group.seed(seed),
        facts: &facts,
        rows: context.rows,
        wire: group.selection.wire,
        node,
    };
    let result = context.database.run_job(&order, &mut pacer);
    let mut log = pacer.into_log();
    // After an interrupt the statement under way was cancelled by us: no failure.
    let is_ours = |error: &EngineError| {
        error.class == ErrorClass::Cancelled && gate.is_stopped()
            || is_of_interrupt(error, context.interrupt)
    };
    log.failure = result.err().filter(|error| !is_ours(error));
    log
}

/// Tells the gate that the job ended, also when it panics or its thread cannot be started.
pub(super) struct EndOnDrop<'a>(pub &'a Gate);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.ended();
    }
}

/// Log of a job's thread, or the reason why there is none.
pub(super) fn log_of(thread: Result<ScopedJoinHandle<'_, JobLog>, EngineError>) -> JobLog {
    match thread {
        Ok(thread) => thread.join().unwrap_or_else(|_| panicked()),
        Err(refused) => JobLog { failure: Some(refused), ..JobLog::default() },
    }
}

/// A job thread that panicked: our own bug, reported as a failure of the test, not of the process.
pub(super) fn panicked() -> JobLog {
    let failure = EngineError::new(ErrorClass::Other, "a job thread panicked (a bug in dbdyno)");
    JobLog { failure: Some(failure), ..JobLog::default() }
}
