//! A test whose jobs run on several load generators, as its coordinator sees it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::assignment::{WorkerAssignment, WorkerLog};
use super::gate::Gate;
use super::job_group::JobGroup;
use super::log::{JobLog, Periods, Points, SecondsLog};
use super::raw::Raw;
use super::schedule::{Edges, Schedule};
use dbdyno_core::model::{TestResult, TestSpec, WorkerResult};
use dbdyno_engines::engine::{EngineError, ErrorClass};

/// Interval at which the workers are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

const OTHER_SHARES: &str = "the shares in the results database are not those that were laid out";

/// Load generators that run the jobs of a test.
pub trait Workers: Send {
    /// Number of workers.
    fn count(&self) -> u32;
    /// From now on nobody waits long for results that are silent once this flag is set. The first
    /// flag counts.
    fn heed(&self, interrupt: Arc<AtomicBool>);
    /// Lays out the shares of a test, to be claimed.
    ///
    /// # Errors
    /// If nobody can be told.
    fn assign(&mut self, shares: &[WorkerAssignment]) -> Result<(), EngineError>;
    /// Progress of each part.
    ///
    /// # Errors
    /// A worker is lost, has failed, or did not come in time; or nothing can be learned.
    fn poll(&mut self) -> Result<Vec<WorkerProgress>, EngineError>;
    /// The window opens and closes then, in s since the common start.
    ///
    /// # Errors
    /// If nobody can be told.
    fn set_window(&mut self, edges: Edges) -> Result<(), EngineError>;
    /// Lets all begin together, soon; gives when, by our clock, after that moment.
    ///
    /// # Errors
    /// If nobody can be told.
    fn start(&mut self) -> Result<Instant, EngineError>;
    /// No more slices.
    ///
    /// # Errors
    /// If nobody can be told.
    fn stop(&mut self) -> Result<(), EngineError>;
    /// Logs of the workers.
    ///
    /// # Errors
    /// If that cannot be read.
    fn collect(&mut self) -> Result<Vec<WorkerLog>, EngineError>;
    /// Sessions of the database in which their jobs are.
    fn sessions(&self) -> Vec<u32>;
}

/// Progress of a part, and the last report of its jobs.
#[derive(Debug, Clone)]
pub struct WorkerProgress {
    /// Stage that the part has reached.
    pub stage: Stage,
    /// Ops of its jobs since the report before.
    pub points: Points,
}

/// Stage of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Nobody has it, or its jobs connect.
    Preparing,
    /// All its jobs wait at their gate.
    Ready,
    /// All its jobs have what the window needs.
    Satisfied,
    /// Its jobs have ended, and it has sent their logs.
    Done,
}

/// Represents the workers at the start gate, which counts each of them as one job, until all have
/// finished; returns their logs. Copies their progress into the log and sends them changes of the
/// window.
///
/// # Errors
/// Those of the workers; then the gate counts all of them as ended.
pub(super) fn represent_workers(
    workers: &Mutex<dyn Workers>,
    shares: &[WorkerAssignment],
    gate: &Gate,
    schedule: &Schedule,
    log: &SecondsLog,
) -> Result<Vec<WorkerLog>, EngineError> {
    let (seen, edges) = (vec![Stage::Preparing; shares.len()], schedule.edges());
    let mut proxy = WorkerProxy { gate, schedule, log, seen, edges, is_stopped: false };
    let followed = proxy.follow(workers, shares);
    if followed.is_err() && !proxy.is_stopped {
        let _ = workers.lock().stop(); // those that are left; what failed says more
    }
    let ended = proxy.seen.iter().filter(|stage| **stage == Stage::Done).count();
    (ended..shares.len()).for_each(|_| gate.note_end());
    followed
}

struct WorkerProxy<'a> {
    gate: &'a Gate,
    schedule: &'a Schedule,
    log: &'a SecondsLog,
    seen: Vec<Stage>,
    /// Edges of the window that the workers know.
    edges: Edges,
    is_stopped: bool,
}

impl WorkerProxy<'_> {
    fn follow(
        &mut self,
        workers: &Mutex<dyn Workers>,
        shares: &[WorkerAssignment],
    ) -> Result<Vec<WorkerLog>, EngineError> {
        let began = Instant::now();
        workers.lock().assign(shares)?;
        while self.seen.iter().any(|stage| *stage != Stage::Done) {
            std::thread::sleep(POLL_INTERVAL);
            if self.gate.is_stopped() && !self.is_stopped {
                self.is_stopped = true;
                workers.lock().stop()?;
                if !self.gate.is_open() {
                    return Ok(Vec::new());
                }
            }
            let edges = self.schedule.edges();
            if edges != self.edges {
                workers.lock().set_window(edges)?;
                self.edges = edges;
            }
            let now = workers.lock().poll()?;
            if now.len() != shares.len() {
                return Err(impossible(OTHER_SHARES));
            }
            if !now.iter().all(|come| come.points.fits(most_s(began))) {
                return Err(impossible("a worker reports ops of a time that is not over"));
            }
            now.iter()
                .zip(1..)
                .for_each(|(come, worker)| self.log.take_points(worker, &come.points));
            now.iter().enumerate().for_each(|(at, come)| self.advance(at, come.stage));
        }
        let logs = workers.lock().collect()?;
        if logs.len() != shares.len() {
            return Err(impossible(OTHER_SHARES));
        }
        for (log, share) in logs.iter().zip(shares) {
            log.check(share, most_s(began))?;
        }
        Ok(logs)
    }

    /// Tells the gate of every stage between the one that was seen last and this.
    fn advance(&mut self, at: usize, stage: Stage) {
        for next in [Stage::Ready, Stage::Satisfied, Stage::Done] {
            if self.seen[at] < next && next <= stage {
                match next {
                    Stage::Ready => self.gate.note_arrival(),
                    Stage::Satisfied => self.gate.note_satisfied(),
                    _ => self.gate.note_end(),
                }
                self.seen[at] = next;
            }
        }
    }
}

/// Seconds from a moment on that no clock can have exceeded, of whatever machine.
fn most_s(began: Instant) -> f64 {
    1.001 * began.elapsed().as_secs_f64() + 1.0
}

/// The failure of a test whose rows somebody else has changed.
fn impossible(what: &str) -> EngineError {
    EngineError::new(ErrorClass::Other, what).advised("see who may write to the shared results")
}

/// Puts what the workers did together as if it had been one driver: nothing is averaged. Seconds
/// count from the common start.
pub(super) fn merge(logs: Vec<WorkerLog>, raw: &mut Raw, spec: &TestSpec<'_>) -> Vec<WorkerResult> {
    let figures = logs.iter().map(figures).collect();
    let (mut jobs, mut beside, mut periods) = (Vec::new(), Vec::new(), Periods::default());
    for log in logs {
        periods.merge(log.seconds);
        raw.timeline.merge(&log.timeline, log.late_s);
        jobs.extend(shift(log.jobs, log.late_s));
        beside.extend(shift(log.beside, log.late_s));
    }
    let groups = JobGroup::all(spec);
    let of_group =
        |at: usize, jobs| groups.get(at).map(|group| in_order(jobs, group)).unwrap_or_default();
    (raw.jobs, raw.background) = (of_group(0, jobs), of_group(1, beside));
    raw.seconds = periods.seconds();
    raw.points = raw.timeline.points(raw.edges.open_s, raw.edges.close_s);
    figures
}

/// Logs of jobs with their slices moved by this many seconds.
fn shift(jobs: Vec<(u32, JobLog)>, by_s: f64) -> impl Iterator<Item = (u32, JobLog)> {
    jobs.into_iter().map(move |(job, log)| (job, log.later_by(by_s)))
}

/// Jobs in the order of their numbers, each with the index of its part.
fn in_order(mut jobs: Vec<(u32, JobLog)>, group: &JobGroup<'_>) -> Vec<(usize, JobLog)> {
    jobs.sort_by_key(|(job, _)| *job);
    jobs.into_iter().map(|(job, log)| (group.part(job), log)).collect()
}

/// Figures of one worker.
fn figures(log: &WorkerLog) -> WorkerResult {
    let mut service = dbdyno_core::stats::WeightedTimes::default();
    log.jobs.iter().for_each(|(_, job)| service.merge(&job.times.service));
    let counted = log.jobs.iter().filter_map(|(_, job)| job.counted.as_ref());
    let seconds = log.seconds.seconds();
    WorkerResult {
        name: log.name.clone(),
        jobs: log.jobs.len() as u32,
        clock_offset_s: log.clock_offset_s,
        round_trip_s: log.round_trip_s,
        late_s: log.late_s,
        driver: log.driver,
        ops: counted.map(|counted| counted.tally.ops).sum(),
        buckets: service.buckets(),
        ops_by_second: log.timeline.by_second(seconds.len()),
        p99_us_by_second: seconds.iter().map(|second| second.p99_us).collect(),
    }
}

/// The result with what each worker did.
pub(super) fn with_workers(result: TestResult, workers: Vec<WorkerResult>) -> TestResult {
    TestResult { workers, ..result }
}

#[cfg(test)]
mod tests {
    use super::super::assignment::tests::share;
    use super::*;
    use dbdyno_core::model::Window;

    /// Workers whose rows somebody else has deleted, or of whom one is further than time is.
    struct Tampered {
        rows: Vec<WorkerProgress>,
    }

    impl Workers for Tampered {
        fn count(&self) -> u32 {
            1
        }
        fn heed(&self, _: Arc<AtomicBool>) {}
        fn assign(&mut self, _: &[WorkerAssignment]) -> Result<(), EngineError> {
            Ok(())
        }
        fn poll(&mut self) -> Result<Vec<WorkerProgress>, EngineError> {
            Ok(self.rows.clone())
        }
        fn set_window(&mut self, _: Edges) -> Result<(), EngineError> {
            Ok(())
        }
        fn start(&mut self) -> Result<Instant, EngineError> {
            Ok(Instant::now())
        }
        fn stop(&mut self) -> Result<(), EngineError> {
            Ok(())
        }
        fn collect(&mut self) -> Result<Vec<WorkerLog>, EngineError> {
            Ok(Vec::new())
        }
        fn sessions(&self) -> Vec<u32> {
            Vec::new()
        }
    }

    fn failure_of(rows: Vec<WorkerProgress>) -> String {
        let schedule = Schedule::new(&Window::time(0.0, 1.0));
        let (gate, log) = (Gate::new(1), SecondsLog::new(1));
        let workers = Mutex::new(Tampered { rows });
        represent_workers(&workers, &[share()], &gate, &schedule, &log).unwrap_err().message
    }

    #[test]
    fn rows_that_somebody_else_changed_end_the_test_and_not_the_run() {
        assert_eq!(failure_of(Vec::new()), OTHER_SHARES, "nobody waits for rows that are gone");
        let row = |stage, points| WorkerProgress { stage, points };
        let done = row(Stage::Done, Points::default());
        assert_eq!(failure_of(vec![done.clone(), done.clone()]), OTHER_SHARES);
        assert_eq!(failure_of(vec![done]), OTHER_SHARES, "a log is missing");
        let early = Points { from: usize::MAX, ops: vec![1.0] };
        let said = failure_of(vec![row(Stage::Preparing, early)]);
        assert!(said.contains("a time that is not over"), "{said}");
    }
}
