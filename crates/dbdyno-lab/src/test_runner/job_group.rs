//! Jobs that run a selection, those of the test and those beside them, and their threads.

use std::thread::ScopedJoinHandle;

use super::gate::Gate;
use super::log::JobLog;
use dbdyno_core::model::{Selection, TestSpec};
use dbdyno_engines::engine::{EngineError, ErrorClass};

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

/// Tells the gate that the job ended, also when it panics or its thread cannot be started.
pub(super) struct EndOnDrop<'a>(pub &'a Gate);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.note_end();
    }
}

/// Log of a job's thread, or the reason why there is none.
pub(super) fn log_of(thread: Result<ScopedJoinHandle<'_, JobLog>, EngineError>) -> JobLog {
    match thread {
        Ok(thread) => thread.join().unwrap_or_else(|_| panic_log()),
        Err(refused) => JobLog { failure: Some(refused), ..JobLog::default() },
    }
}

/// A job thread that panicked: our own bug, reported as a failure of the test, not of the process.
pub(super) fn panic_log() -> JobLog {
    let failure = EngineError::new(ErrorClass::Other, "a job thread panicked (a bug in dbdyno)");
    JobLog { failure: Some(failure), ..JobLog::default() }
}
