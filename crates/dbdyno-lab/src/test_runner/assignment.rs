//! Assignment of a worker: the jobs of a test that a load generator runs, how it runs them, and
//! what it reports to the coordinator.
//!
//! Jobs keep the numbers that they would have in one driver (worker w of n has jobs w, w + n, ...),
//! and so their keys. Slices count from the moment at which all begin together.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::driver_cost::DriverCost;
use super::due::Due;
use super::gate::Gate;
use super::job_group::{EndOnDrop, JobGroup, log_of};
use super::log::{JobLog, Periods, SecondsLog, Who};
use super::pacer::JobPacer;
use super::schedule::{Edges, Schedule};
use super::timeline::Timeline;
use super::timing_cost::TimingCost;
use dbdyno_core::error::quote;
use dbdyno_core::model::rows::RowFunction;
use dbdyno_core::model::{Drive, DriverFigures, Facts, JobCode, TestSpec, Window, Wire};
use dbdyno_engines::engine::{Database, EngineError, ErrorClass, JobPlacement, JobSpec, threads};

/// Interval between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time after which statements that still run are cancelled, once the test is called off.
const STOP_TIMEOUT: Duration = Duration::from_millis(1200);

/// Part of a test that one load generator runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WorkerAssignment {
    /// Its jobs of the test, and of what runs beside it.
    pub own: AssignedJobs,
    /// Its jobs of the background workload; none without one.
    pub beside: Option<AssignedJobs>,
    /// Length of warm-up and measurement window.
    pub window: Window,
    /// Facts of the loaded data set, for bind expressions.
    pub facts: Facts,
    /// Row function for bulk loads.
    pub rows: RowFunction,
    /// Nodes of a cluster that the jobs of all shares are dealt to; see [`JobPlacement`].
    pub nodes: Vec<String>,
    /// Timeout for its jobs to connect and prepare.
    pub connect_s: f64,
}

/// Jobs of a selection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AssignedJobs {
    /// From 1.
    jobs: Vec<ShareJob>,
    /// The number of the first job of all shares, less 1; and of how many jobs the numbers are.
    after: u32,
    of_jobs: u32,
    parts: Vec<SharePart>,
    drive: Drive,
    wire: Wire,
    seed: u64,
    /// Cost of timing their ops; absent in what an older version wrote.
    #[serde(default)]
    timing_cost: Option<TimingCost>,
}

/// A job by its number, and when its ops are due.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ShareJob {
    number: u32,
    due: Option<Due>,
}

/// Jobs assigned to a part, and their code.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SharePart {
    code: JobCode,
    session: Vec<String>,
    facts: Facts,
}

impl WorkerAssignment {
    /// Its jobs of the test, and how many all shares have.
    pub fn jobs(&self) -> (usize, u32) {
        (self.own.jobs.len(), self.own.of_jobs)
    }

    /// Looks at a share that somebody else wrote.
    ///
    /// # Errors
    /// It has jobs without work, or job numbers that do not count from 1.
    pub fn check(&self) -> Result<(), EngineError> {
        let is_whole = |group: &AssignedJobs| {
            !group.parts.is_empty() && group.jobs.iter().all(|job| job.number >= 1)
        };
        if is_whole(&self.own) && self.beside.iter().all(is_whole) {
            return Ok(());
        }
        Err(EngineError::new(ErrorClass::Other, "the share has jobs without work or number"))
    }

    /// Times of its slices.
    fn schedule(&self) -> Schedule {
        let schedule = Schedule::new(&self.window);
        let mut due = self.own.jobs.iter().filter_map(|job| job.due.as_ref());
        if due.any(Due::is_over_time) { schedule.by_points() } else { schedule }
    }

    fn size(&self) -> u32 {
        (self.own.jobs.len() + self.beside.as_ref().map_or(0, |group| group.jobs.len())) as u32
    }
}

impl AssignedJobs {
    /// Jobs of a worker (from 1) out of this many workers.
    pub(super) fn new(
        group: &JobGroup<'_>,
        worker: u32,
        workers: u32,
        spec: &TestSpec<'_>,
        seed: u64,
    ) -> AssignedJobs {
        let parts = group.selection.parts.iter().map(|part| SharePart {
            code: part.code.clone(),
            session: part.session.clone(),
            facts: part.facts.clone(),
        });
        // What runs beside a test loops.
        let due = |job| if group.is_background { None } else { Due::for_job(spec, job, seed) };
        let jobs = (worker..=group.size).step_by(workers as usize);
        AssignedJobs {
            jobs: jobs.map(|number| ShareJob { number, due: due(number) }).collect(),
            after: group.after,
            of_jobs: group.jobs,
            parts: parts.collect(),
            drive: group.selection.drive,
            wire: group.selection.wire,
            seed: group.seed(seed),
            timing_cost: None,
        }
    }

    /// The same jobs with what it costs to time their ops, if that is known.
    pub(super) fn with_timing_cost(self, timing_cost: Option<TimingCost>) -> AssignedJobs {
        AssignedJobs { timing_cost, ..self }
    }

    /// Index of the part that a job (from 1) runs.
    fn part_of(&self, job: u32) -> usize {
        (job as usize - 1) % self.parts.len()
    }

    /// Numbers of its jobs.
    fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.jobs.iter().map(|job| job.number)
    }

    fn part(&self, job: u32) -> &SharePart {
        &self.parts[self.part_of(job)]
    }

    fn order<'a>(&'a self, share: &'a WorkerAssignment, job: u32, facts: &'a Facts) -> JobSpec<'a> {
        let part = self.part(job);
        JobSpec {
            job: self.after + job,
            jobs: self.of_jobs,
            code: &part.code,
            session: &part.session,
            seed: self.seed,
            facts,
            rows: share.rows,
            wire: self.wire,
            node: JobPlacement::node_of(&share.nodes, job),
        }
    }
}

/// Log that a load generator returns for its part.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct WorkerLog {
    /// Host and process.
    pub name: String,
    /// Clock of the results database less its own, and the round trip in which that was measured.
    pub clock_offset_s: f64,
    /// Round trip in which the offset was measured, in s.
    pub round_trip_s: f64,
    /// Time from the common start to the opening of its gate.
    pub late_s: f64,
    /// Resources that it used on its host.
    pub driver: Option<DriverFigures>,
    /// Number of each job and what it did; the same of what ran beside them.
    pub jobs: Vec<(u32, JobLog)>,
    /// Number of each job of the background workload and what it did.
    pub beside: Vec<(u32, JobLog)>,
    /// Times of each second since its gate opened.
    pub seconds: Periods,
    /// Timeline of its jobs since then.
    pub timeline: Timeline,
}

impl WorkerLog {
    /// Checks a log that somebody else wrote, of a share that was laid out `since_s` ago: sums
    /// of what is not possible would end the run, or take for ever.
    ///
    /// # Errors
    /// It is not of the jobs of the share, or has times or counts that they cannot have reached.
    pub fn check(&self, share: &WorkerAssignment, since_s: f64) -> Result<(), EngineError> {
        let numbers = |jobs: &[(u32, JobLog)]| -> Vec<u32> {
            jobs.iter().map(|(number, _)| *number).collect()
        };
        let beside: Vec<u32> = share.beside.iter().flat_map(AssignedJobs::numbers).collect();
        let is_possible = numbers(&self.jobs) == share.own.numbers().collect::<Vec<u32>>()
            && numbers(&self.beside) == beside
            && (0.0..=since_s).contains(&self.late_s)
            && self.jobs.iter().chain(&self.beside).all(|(_, job)| job.fits(since_s))
            && self.seconds.fits(since_s)
            && self.timeline.fits(share.own.parts.len(), since_s);
        if is_possible {
            return Ok(());
        }
        let what = format!("worker {} reports what its jobs cannot have done", quote(&self.name));
        Err(EngineError::new(ErrorClass::Other, what)
            .advised("see who may write to the shared results"))
    }
}

/// Update for the jobs of a part while they loop.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CoordinatorUpdate {
    /// No more slices.
    pub is_stopped: bool,
    /// New opening and closing of the window, in s since the common start, if they were moved.
    pub edges: Option<Edges>,
}

/// Link of an assignment to the coordinator, which the jobs wait for.
pub trait CoordinatorLink: Sync {
    /// Reports that all jobs wait at their gate, in these sessions of the database, and returns the
    /// common start; none if the test was called off.
    fn start(&self, sessions: &[u32]) -> Option<Instant>;
    /// Reports that all jobs have everything that the window needs.
    fn report_satisfied(&self);
    /// Sends the progress of the jobs, and returns the update of the coordinator.
    fn update(&self, log: &SecondsLog) -> CoordinatorUpdate;
}

/// Runs a share.
///
/// # Errors
/// Of the first job that failed; the jobs did not come to their gate in time, or the test was
/// called off.
pub fn run_assignment(
    database: &dyn Database,
    share: &WorkerAssignment,
    coordinator: &dyn CoordinatorLink,
) -> Result<WorkerLog, EngineError> {
    let (schedule, gate) = (share.schedule(), Gate::new(share.size()));
    let groups: Vec<&AssignedJobs> = std::iter::once(&share.own).chain(&share.beside).collect();
    let logs: Vec<SecondsLog> =
        groups.iter().map(|group| SecondsLog::with_histograms(group.jobs.len() as u32)).collect();
    let mut driver_cost = DriverCost::start(share.size());
    let (late_s, driver, mut jobs) = std::thread::scope(|scope| {
        let (schedule, gate) = (&schedule, &gate);
        let each = groups
            .iter()
            .zip(&logs)
            .flat_map(|(group, log)| group.jobs.iter().zip(1..).map(move |job| (group, log, job)));
        let threads: Vec<_> = each
            .map(|(group, log, (job, at))| {
                let ended = EndOnDrop(gate);
                let thread = threads::start(scope, move || {
                    let _ended = ended;
                    let due = job.due.as_ref();
                    let due = due.map(|due| due.times(job.number, group.of_jobs));
                    let who = Who { job: at, part: group.part_of(job.number) };
                    let pacer = JobPacer::new(who, gate, log, schedule, group.drive)
                        .with_timing_cost(group.timing_cost)
                        .with_due_times(due);
                    AssignedJob { share, group, number: job.number }.run(database, pacer, gate)
                });
                (job.number, thread)
            })
            .collect();
        let supervisor =
            AssignmentSupervisor { database, share, coordinator, gate, schedule, log: &logs[0] };
        let late_s = supervisor.supervise(&mut driver_cost);
        let driver = driver_cost.figures();
        let jobs = threads.into_iter().map(|(number, thread)| (number, log_of(thread)));
        (late_s, driver, jobs.collect::<Vec<_>>())
    });
    if let Some(failure) = jobs.iter().find_map(|(_, log)| log.failure.clone()) {
        return Err(failure);
    }
    let late_s =
        late_s.ok_or_else(|| EngineError::new(ErrorClass::Cancelled, "the test was called off"))?;
    let beside = jobs.split_off(share.own.jobs.len());
    let (seconds, timeline) =
        logs.into_iter().next().map(SecondsLog::into_times).unwrap_or_default();
    Ok(WorkerLog { late_s, driver, jobs, beside, seconds, timeline, ..WorkerLog::default() })
}

/// A job of a share.
struct AssignedJob<'a> {
    share: &'a WorkerAssignment,
    group: &'a AssignedJobs,
    number: u32,
}

impl AssignedJob<'_> {
    /// Runs it in this thread until its gate stops it.
    fn run(&self, database: &dyn Database, mut pacer: JobPacer<'_>, gate: &Gate) -> JobLog {
        let AssignedJob { share, group, number } = *self;
        let mut facts = share.facts.clone();
        facts.extend(group.part(number).facts.clone());
        let result = database.run_job(&group.order(share, number, &facts), &mut pacer);
        let mut log = pacer.into_log();
        log.failure =
            result.err().filter(|error| error.class != ErrorClass::Cancelled || !gate.is_stopped());
        log
    }
}

/// Everything that a share is conducted with.
struct AssignmentSupervisor<'a> {
    database: &'a dyn Database,
    share: &'a WorkerAssignment,
    coordinator: &'a dyn CoordinatorLink,
    gate: &'a Gate,
    schedule: &'a Schedule,
    /// Log of the jobs of the test.
    log: &'a SecondsLog,
}

impl AssignmentSupervisor<'_> {
    /// From the gate to the end of the last job; gives how late the gate opened, if it did.
    fn supervise(&self, driver_cost: &mut DriverCost) -> Option<f64> {
        let AssignmentSupervisor { database, coordinator, gate, .. } = *self;
        let came = self.all_came();
        if came {
            driver_cost.ready();
        }
        let start = came.then(|| coordinator.start(&database.job_sessions())).flatten();
        let late_s = start.map(|start| {
            std::thread::sleep(start.saturating_duration_since(Instant::now()));
            gate.open().saturating_duration_since(start).as_secs_f64()
        });
        if late_s.is_none() {
            gate.stop();
        }
        let (mut is_reported, mut stopped) = (false, None);
        while !gate.await_end(POLL_INTERVAL) {
            let update = coordinator.update(self.log);
            if let Some(edges) = update.edges {
                self.schedule.set_edges(edges);
            }
            if !is_reported && late_s.is_some() && gate.await_satisfied(Duration::ZERO) {
                coordinator.report_satisfied();
                is_reported = true;
            }
            if stopped.is_none() && (late_s.is_none() || update.is_stopped) {
                gate.stop();
                stopped = Some(Instant::now());
            }
            // Whoever has what the window needs ends by himself.
            if !is_reported && stopped.is_some_and(|at| at.elapsed() > STOP_TIMEOUT) {
                database.cancel();
            }
        }
        late_s
    }

    fn all_came(&self) -> bool {
        let began = Instant::now();
        while began.elapsed().as_secs_f64() < self.share.connect_s {
            match self.gate.await_arrivals(POLL_INTERVAL) {
                Some(all_came) => return all_came,
                None if self.coordinator.update(self.log).is_stopped => return false,
                None => {}
            }
        }
        false
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The share of the first of two workers, of three jobs.
    pub(in crate::test_runner) fn share() -> WorkerAssignment {
        let job = |number| ShareJob { number, due: None };
        let own = AssignedJobs {
            jobs: vec![job(1), job(3)],
            after: 0,
            of_jobs: 3,
            parts: Vec::new(),
            drive: Drive::Client,
            wire: Wire::default(),
            seed: 0,
            timing_cost: None,
        };
        WorkerAssignment {
            own,
            beside: None,
            window: Window::time(0.0, 1.0),
            facts: Facts::default(),
            rows: RowFunction { table_rows: 8000, seed: 1 },
            nodes: Vec::new(),
            connect_s: 1.0,
        }
    }

    #[test]
    fn a_log_that_is_not_possible_is_refused() {
        let job = || JobLog { span_s: Some((0.0, 2.0)), ..JobLog::default() };
        let log = || WorkerLog { jobs: vec![(1, job()), (3, job())], ..WorkerLog::default() };
        log().check(&share(), 3.0).unwrap();
        let refused = |what: &str, change: &dyn Fn(&mut WorkerLog)| {
            let mut log = log();
            change(&mut log);
            let error = log.check(&share(), 3.0).expect_err(what);
            assert!(error.message.contains("cannot have done"), "{what}: {error}");
        };
        refused("the job of another worker", &|log| log.jobs[1].0 = 2);
        refused("no job", &|log| log.jobs[0].0 = 0);
        refused("a job that is missing", &|log| drop(log.jobs.pop()));
        refused("a background that was not asked for", &|log| log.beside.push((1, job())));
        refused("a start after the end", &|log| log.late_s = 1e300);
        refused("a start before the beginning", &|log| log.late_s = -1e300);
        refused("a job of centuries", &|log| log.jobs[0].1.span_s = Some((0.0, 1e10)));
        refused("a sum that is none", &|log| log.jobs[0].1.total.ops = u64::MAX);
        refused("a part that is none", &|log| log.timeline.ops.push(vec![1.0]));
        refused("errors of an hour", &|log| log.timeline.errors = vec![0; 4 * 3600]);
        let periods = |text: &str| serde_json::from_str::<Periods>(text).unwrap();
        for text in [
            r#"{ "seconds_each": 0, "seconds": 1, "times": [] }"#,
            r#"{ "seconds_each": 3, "seconds": 3, "times": [] }"#,
            r#"{ "seconds_each": 1, "seconds": 1000000000000, "times": [] }"#,
        ] {
            refused(text, &|log| log.seconds = periods(text));
        }
    }
}
