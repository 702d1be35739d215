//! Cost of driving a test for our own process: time until its jobs are ready, memory for their
//! sessions, CPU time.

use std::time::Instant;

use parking_lot::Mutex;
use procfs::process::Process;

use dbdyno_core::model::DriverFigures;
use dbdyno_engines::host::process_cpu_s;

/// Resident bytes before the first jobs of this process, and the most jobs since.
static BEFORE: Mutex<Option<(u64, u32)>> = Mutex::new(None);

/// Measurement of our own process from the start of the jobs' threads on.
#[derive(Debug)]
pub(super) struct DriverCost {
    /// Number of jobs of this process; none if the jobs are elsewhere.
    jobs: Option<u32>,
    began: Instant,
    /// Resident memory before the jobs start, if it can be read.
    before_bytes: Option<u64>,
    /// State when all jobs were ready.
    ready: Option<ReadyState>,
}

#[derive(Debug)]
struct ReadyState {
    at: Instant,
    cpu_s: f64,
    memory_bytes: Option<u64>,
}

impl DriverCost {
    /// Starts the measurement before this many jobs are started.
    pub(super) fn start(jobs: u32) -> DriverCost {
        DriverCost {
            jobs: Some(jobs),
            began: Instant::now(),
            before_bytes: before(jobs),
            ready: None,
        }
    }

    /// The jobs are somebody else's.
    pub(super) fn elsewhere(self) -> DriverCost {
        DriverCost { jobs: None, ..self }
    }

    /// All jobs wait at their gate.
    pub(super) fn ready(&mut self) {
        self.ready = Some(ReadyState {
            at: Instant::now(),
            cpu_s: process_cpu_s(),
            memory_bytes: resident_bytes(),
        });
    }

    /// Cost until now; none if the jobs were never ready.
    pub(super) fn figures(&self) -> Option<DriverFigures> {
        let ready = self.ready.as_ref()?;
        let came = || {
            Some(
                ready.memory_bytes?.saturating_sub(self.before_bytes?) as f64
                    / f64::from(self.jobs?),
            )
        };
        Some(DriverFigures {
            connect_s: ready.at.duration_since(self.began).as_secs_f64(),
            memory_bytes_per_session: came(),
            processors: (process_cpu_s() - ready.cpu_s)
                / ready.at.elapsed().as_secs_f64().max(1e-9),
        })
    }
}

/// Resident bytes before the first jobs of this process; none if there were more jobs in the
/// meantime than now, whose memory may still be resident.
fn before(jobs: u32) -> Option<u64> {
    let now = resident_bytes()?;
    let mut before = BEFORE.lock();
    let (bytes, most) = before.get_or_insert((now, jobs));
    let is_told = jobs >= *most;
    *most = jobs.max(*most);
    is_told.then_some(*bytes)
}

/// Resident memory of our process, if the kernel reports it.
fn resident_bytes() -> Option<u64> {
    Some(Process::myself().ok()?.statm().ok()?.resident * procfs::page_size())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_jobs_is_told_of_the_most_jobs_only() {
        const BYTES: usize = 1 << 26;
        let (most, mut many) = (1 << 20, DriverCost::start(1 << 20));
        let kept = vec![1_u8; BYTES];
        many.ready();
        let bytes = many.figures().unwrap().memory_bytes_per_session.unwrap() * f64::from(most);
        assert!(bytes >= 0.9 * BYTES as f64, "{bytes}");
        assert!(kept.iter().all(|byte| *byte == 1));
        let mut few = DriverCost::start(1);
        assert_eq!(few.figures(), None);
        few.ready();
        let told = few.figures().unwrap();
        assert_eq!(told.memory_bytes_per_session, None);
        assert!(told.connect_s >= 0.0 && told.processors >= 0.0);
    }
}
