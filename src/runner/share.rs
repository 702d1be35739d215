//! The share that a load machine runs of a test: what it is told, how it runs it, what it tells of it.
//!
//! Jobs keep the numbers that they would have in one driver (worker w of n has jobs w, w + n, ...), and so their keys. Slices
//! count from the moment at which all begin together.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::gate::Gate;
use super::log::{JobLog, SecondsLog, Times};
use super::pacer::JobPacer;
use super::schedule::Schedule;
use super::test::{EndOnDrop, TestContext, panicked};
use crate::engine::{Database, Deal, EngineError, ErrorClass, JobOrder};
use crate::model::rows::RowFunction;
use crate::model::{Drive, Facts, JobCode, TestSpec, Window, Wire};

/// How often somebody looks.
const ATTENTION: Duration = Duration::from_millis(100);
/// Statements that go on for so long after all is called off are cancelled.
const PATIENCE: Duration = Duration::from_millis(1200);

/// What one load machine runs of a test.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Share {
    /// Numbers of its jobs, from 1, and of how many.
    pub jobs: Vec<u32>,
    pub of_jobs: u32,
    pub parts: Vec<SharePart>,
    pub drive: Drive,
    pub wire: Wire,
    pub warmup_s: f64,
    /// Of fixed time.
    pub duration_s: Option<f64>,
    /// Of fixed work.
    pub ops_per_job: Option<u64>,
    pub seed: u64,
    pub facts: Facts,
    pub rows: RowFunction,
    /// Nodes of a cluster that the jobs of all shares are dealt to; see [`Deal`].
    pub nodes: Vec<String>,
    /// How long its jobs may take to connect and prepare.
    pub connect_s: f64,
}

/// What the jobs dealt to a part run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SharePart {
    pub code: JobCode,
    pub session: Vec<String>,
    pub facts: Facts,
}

impl Share {
    /// The shares of a test for so many load machines.
    ///
    /// # Errors
    /// The test cannot be shared: it offers a rate, ends when its figure is known, runs beside another, or has too few jobs.
    pub fn all(
        spec: &TestSpec<'_>,
        context: &TestContext<'_>,
        deal: &Deal,
        workers: u32,
    ) -> Result<Vec<Share>, EngineError> {
        check(spec, workers)?;
        let selection = spec.selection;
        let parts = selection.parts.iter().map(|part| SharePart {
            code: part.code.clone(),
            session: part.session.clone(),
            facts: part.facts.clone(),
        });
        let all = Share {
            jobs: Vec::new(),
            of_jobs: spec.jobs,
            parts: parts.collect(),
            drive: selection.drive,
            wire: selection.wire,
            warmup_s: selection.window.warmup_s,
            duration_s: selection.window.duration_s(),
            ops_per_job: selection.window.ops_per_job(),
            seed: context.seed,
            facts: super::assemble::test_facts(context.facts, spec.jobs),
            rows: context.rows,
            nodes: deal.nodes.clone(),
            connect_s: context.connect_timeout.as_secs_f64(),
        };
        let share =
            |worker: u32| Share { jobs: (worker..=spec.jobs).step_by(workers as usize).collect(), ..all.clone() };
        Ok((1..=workers).map(share).collect())
    }

    /// Index of the part that a job (from 1) runs.
    pub fn part(&self, job: u32) -> usize {
        (job as usize - 1) % self.parts.len()
    }

    fn window(&self) -> Window {
        let time = || Window::time(self.warmup_s, self.duration_s.unwrap_or_default());
        self.ops_per_job.map_or_else(time, Window::ops)
    }

    fn order<'a>(&'a self, job: u32, facts: &'a Facts) -> JobOrder<'a> {
        let part = &self.parts[self.part(job)];
        JobOrder {
            job,
            jobs: self.of_jobs,
            code: &part.code,
            session: &part.session,
            seed: self.seed,
            facts,
            rows: self.rows,
            wire: self.wire,
            node: Deal::node_of(&self.nodes, job),
        }
    }
}

fn check(spec: &TestSpec<'_>, workers: u32) -> Result<(), EngineError> {
    let selection = spec.selection;
    let cannot = |what: &str, advice: &str| Err(EngineError::new(ErrorClass::Usage, what).advised(advice));
    if spec.offer.is_some() || selection.window.precision().is_some() || selection.background.is_some() {
        return cannot(
            "several workers run closed loops of a given length only",
            "leave --rate, --precision and --beside out",
        );
    }
    match spec.jobs < workers {
        true => cannot(&format!("{} jobs for {workers} workers", spec.jobs), "give --jobs as many, or fewer --workers"),
        false => Ok(()),
    }
}

/// What a load machine tells of its share.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ShareLog {
    /// Host and process.
    pub name: String,
    /// Clock of the results database less its own, and the round trip in which that was measured.
    pub clock_offset_s: f64,
    pub round_trip_s: f64,
    /// Its gate opened so long after the common start.
    pub late_s: f64,
    /// Number of each job and what it did.
    pub jobs: Vec<(u32, JobLog)>,
    /// Of each second since its gate opened.
    pub seconds: Vec<Times>,
}

/// Whom a share's jobs wait for.
pub trait Foreman: Sync {
    /// All jobs wait at their gate, in these sessions of the database: gives the common start; none if the test is off.
    fn start(&self, sessions: &[u32]) -> Option<Instant>;
    /// All jobs have what the window needs.
    fn satisfied(&self);
    /// No more slices.
    fn is_stopped(&self) -> bool;
}

/// Runs a share.
///
/// # Errors
/// Of the first job that failed; the jobs did not come to their gate in time, or the test was called off.
pub fn run_share(database: &dyn Database, share: &Share, foreman: &dyn Foreman) -> Result<ShareLog, EngineError> {
    let window = share.window();
    let (schedule, gate) = (Schedule::new(&window), Gate::new(share.jobs.len() as u32));
    let log = SecondsLog::keeping(share.jobs.len() as u32);
    let (late_s, jobs) = std::thread::scope(|scope| {
        let (schedule, gate, log) = (&schedule, &gate, &log);
        let job = |(at, job): (u32, &u32)| {
            let job = *job;
            scope.spawn(move || {
                let pacer = JobPacer::new(at, gate, log, schedule, (share.drive, None));
                (job, run_job(database, share, job, pacer, gate))
            })
        };
        let threads: Vec<_> = (1..).zip(&share.jobs).map(job).collect();
        let late_s = conduct(database, share, foreman, gate);
        let jobs = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| (0, panicked())));
        (late_s, jobs.collect::<Vec<_>>())
    });
    match (jobs.iter().find_map(|(_, log)| log.failure.clone()), late_s) {
        (Some(failure), _) => Err(failure),
        (None, None) => Err(EngineError::new(ErrorClass::Cancelled, "the test was called off")),
        (None, Some(late_s)) => Ok(ShareLog { late_s, jobs, seconds: log.into_times(), ..ShareLog::default() }),
    }
}

fn run_job(database: &dyn Database, share: &Share, job: u32, mut pacer: JobPacer<'_>, gate: &Gate) -> JobLog {
    let _ended = EndOnDrop(gate);
    let mut facts = share.facts.clone();
    facts.extend(share.parts[share.part(job)].facts.clone());
    let result = database.run_job(&share.order(job, &facts), &mut pacer);
    let mut log = pacer.into_log();
    log.failure = result.err().filter(|error| error.class != ErrorClass::Cancelled || !gate.is_stopped());
    log
}

/// From the gate to the end of the last job; gives how late the gate opened, if it did.
fn conduct(database: &dyn Database, share: &Share, foreman: &dyn Foreman, gate: &Gate) -> Option<f64> {
    let start = all_came(share, foreman, gate).then(|| foreman.start(&database.job_sessions())).flatten();
    let late_s = start.map(|start| {
        std::thread::sleep(start.saturating_duration_since(Instant::now()));
        gate.open().saturating_duration_since(start).as_secs_f64()
    });
    if late_s.is_none() {
        gate.stop();
    }
    let (mut is_told, mut stopped) = (false, None);
    while !gate.all_ended(ATTENTION) {
        if !is_told && late_s.is_some() && gate.all_satisfied(Duration::ZERO) {
            foreman.satisfied();
            is_told = true;
        }
        if stopped.is_none() && (late_s.is_none() || foreman.is_stopped()) {
            gate.stop();
            stopped = Some(Instant::now());
        }
        // Whoever has what the window needs ends by himself.
        if !is_told && stopped.is_some_and(|at| at.elapsed() > PATIENCE) {
            database.cancel();
        }
    }
    late_s
}

fn all_came(share: &Share, foreman: &dyn Foreman, gate: &Gate) -> bool {
    let began = Instant::now();
    while began.elapsed().as_secs_f64() < share.connect_s {
        match gate.all_waiting(ATTENTION) {
            Some(all_came) => return all_came,
            None if foreman.is_stopped() => return false,
            None => {}
        }
    }
    false
}
