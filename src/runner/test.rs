//! One test: setup, gate, jobs, window, snapshots, teardown.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::Interrupt;
use super::assemble::{Raw, assemble, test_facts};
use super::coordinator::{Coordinator, Ended, Progress, ReadProbes};
use super::gate::Gate;
use super::log::{JobLog, SecondsLog};
use super::pacer::JobPacer;
use super::schedule::Schedule;
use super::sessions::{SessionLog, SessionSource, sample};
use crate::engine::{Database, EngineError, ErrorClass, JobOrder, Session};
use crate::model::rows::RowFunction;
use crate::model::{Arrivals, Facts, Moment, TestResult, TestSpec};
use crate::sql;
use crate::stats::arrivals::DueTimes;

/// What a test needs from outside.
pub struct TestContext<'a> {
    pub database: &'a dyn Database,
    /// Facts of the loaded data set.
    pub facts: &'a Facts,
    /// Row function for bulk loads.
    pub rows: RowFunction,
    pub seed: u64,
    /// How long all jobs together may take to connect and prepare: [`super::CONNECT_TIMEOUT`], but for tests of ours.
    pub connect_timeout: Duration,
    pub interrupt: &'a Interrupt,
    /// What the sessions do is sampled from this.
    pub sessions: Option<&'a Mutex<dyn SessionSource>>,
}

/// How a test ended.
#[derive(Debug)]
pub enum Outcome {
    Done(Box<TestResult>),
    /// Interrupted; with the figures so far if the window had opened.
    Interrupted(Option<Box<TestResult>>),
    /// It could not run or broke; the run goes on if the target still answers.
    Failed(EngineError),
}

/// Runs one test to its end and cleans up after it.
pub fn run_test(
    context: &TestContext<'_>,
    spec: &TestSpec<'_>,
    probes: &mut ReadProbes<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Outcome {
    let mut session = match context.database.session() {
        Ok(session) => session,
        Err(error) => return Outcome::Failed(error),
    };
    let set_up = provision(session.as_mut(), spec, Phase::Setup);
    let outcome = match set_up {
        Ok(()) => measure(context, spec, probes, progress),
        Err(error) => Outcome::Failed(error),
    };
    match (provision(session.as_mut(), spec, Phase::Teardown), outcome) {
        (Err(error), Outcome::Done(_)) => Outcome::Failed(error),
        (_, outcome) => outcome,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Setup,
    Teardown,
}

/// Runs the setup or teardown statements of every part. A teardown goes on after an error and reports the first.
fn provision(session: &mut dyn Session, spec: &TestSpec<'_>, phase: Phase) -> Result<(), EngineError> {
    let mut first_error = Ok(());
    for part in &spec.selection.parts {
        let statements = if phase == Phase::Setup { part.setup_sql() } else { part.teardown_sql() };
        for statement in statements {
            let result = session.execute(&sql::bind_late(&statement, spec.jobs)).map(drop);
            match (result, phase) {
                (Err(error), Phase::Setup) => return Err(error),
                (result, _) => first_error = first_error.and(result),
            }
        }
    }
    first_error
}

/// Gate to end.
fn measure(
    context: &TestContext<'_>,
    spec: &TestSpec<'_>,
    probes: &mut ReadProbes<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Outcome {
    let schedule = Schedule::new(&spec.selection.window);
    let gate = Gate::new(spec.jobs);
    let seconds = SecondsLog::new(spec.jobs);
    let facts = test_facts(context.facts, spec.jobs);
    let started_at = jiff::Timestamp::now().to_string();
    let mut coordinator = Coordinator::new(&gate, &schedule, &seconds, context.connect_timeout, probes, progress);
    let (running, has_ended) = channel();
    let (jobs, ended, sessions) = std::thread::scope(|scope| {
        let sampler = scope.spawn(|| sampled(context, &gate, has_ended));
        let threads: Vec<_> = (1..=spec.jobs)
            .map(|job| {
                let (gate, seconds, schedule, facts) = (&gate, &seconds, &schedule, &facts);
                scope.spawn(move || {
                    let due = due_times(spec, job, context.seed);
                    let pacer = JobPacer::new(job, gate, seconds, schedule, (spec.selection.drive, due));
                    run_job(context, spec, job, facts, pacer, gate)
                })
            })
            .collect();
        let ended = coordinator.conduct(context.interrupt, &|| context.database.cancel());
        drop(running);
        let jobs = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| panicked())).collect::<Vec<_>>();
        (jobs, ended, sampler.join().unwrap_or_default())
    });
    coordinator.snapshot(Moment::End, ended.total_s);
    // Before the teardown: a table that is dropped takes with it what is still to be done for it.
    if spec.selection.parts.iter().any(|part| part.commits) && ended.opened && !ended.interrupted {
        coordinator.snapshot(Moment::Paid, ended.total_s);
    }
    let (snapshots, samples) = coordinator.into_readings();
    let raw = Raw {
        jobs: jobs.into_iter().enumerate().map(|(index, log)| (index % spec.selection.parts.len(), log)).collect(),
        points: seconds.points(schedule.open_s(), schedule.close_s()),
        seconds: seconds.into_seconds(),
        snapshots,
        samples,
        sessions,
        started_at,
        total_s: ended.total_s,
        facts,
    };
    conclude(context, spec, raw, &ended)
}

/// What the sessions did, from the gate to the end; nothing without a source.
fn sampled(context: &TestContext<'_>, gate: &Gate, ended: Receiver<()>) -> SessionLog {
    let Some(source) = context.sessions else { return SessionLog::default() };
    let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
    sample(&mut *source, gate, &|| context.database.job_sessions(), &ended)
}

/// When the ops of a job are due, in an open loop.
fn due_times(spec: &TestSpec<'_>, job: u32, seed: u64) -> Option<DueTimes> {
    let offer = spec.offer?;
    let per_s = offer.per_s / f64::from(spec.jobs);
    Some(match offer.arrivals {
        Arrivals::Uniform => DueTimes::uniform(per_s, job, spec.jobs),
        // Tests that repeat one another have other arrivals.
        Arrivals::Poisson => DueTimes::poisson(per_s, seed ^ (u64::from(spec.seq) << 40), job),
    })
}

/// A job thread that panicked: our own bug, reported as a failure of the test, not of the process.
fn panicked() -> JobLog {
    let failure = EngineError::new(ErrorClass::Other, "a job thread panicked (a bug in dbdyno)");
    JobLog { failure: Some(failure), ..JobLog::default() }
}

fn run_job(
    context: &TestContext<'_>,
    spec: &TestSpec<'_>,
    job: u32,
    facts: &Facts,
    mut pacer: JobPacer<'_>,
    gate: &Gate,
) -> JobLog {
    let part = &spec.selection.parts[(job as usize - 1) % spec.selection.parts.len()];
    let mut facts = facts.clone();
    facts.extend(part.facts.clone());
    let order = JobOrder {
        job,
        jobs: spec.jobs,
        code: &part.code,
        session: &part.session,
        seed: context.seed,
        facts: &facts,
        rows: context.rows,
    };
    let _ended = EndOnDrop(gate);
    let result = context.database.run_job(&order, &mut pacer);
    let mut log = pacer.into_log();
    // After an interrupt the statement under way was cancelled by us: no failure.
    log.failure = result.err().filter(|error| error.class != ErrorClass::Cancelled || !gate.is_stopped());
    log
}

/// Tells the gate that the job ended, also when it panics.
struct EndOnDrop<'a>(&'a Gate);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.ended();
    }
}

/// Figures if jobs looped; else why they did not.
fn conclude(context: &TestContext<'_>, spec: &TestSpec<'_>, raw: Raw, ended: &Ended) -> Outcome {
    if let Some(failure) = raw.jobs.iter().find_map(|(_, log)| log.failure.clone()) {
        return Outcome::Failed(failure);
    }
    let window_opened = raw.snapshots.iter().any(|snapshot| snapshot.moment == Moment::WindowOpen);
    if ended.interrupted && !window_opened {
        return Outcome::Interrupted(None);
    }
    if !ended.opened {
        return Outcome::Failed(too_slow(spec.jobs, context.connect_timeout));
    }
    match assemble(spec, raw) {
        Ok(result) if ended.interrupted => Outcome::Interrupted(Some(Box::new(result))),
        Ok(result) => Outcome::Done(Box::new(result)),
        Err(message) => Outcome::Failed(EngineError::new(ErrorClass::Statement, message)),
    }
}

/// The gate stayed shut though no job failed.
fn too_slow(jobs: u32, connect_timeout: Duration) -> EngineError {
    let within_s = connect_timeout.as_secs_f64();
    let who = if jobs == 1 { "the job was not".to_string() } else { format!("not all of {jobs} jobs were") };
    let message = format!("{who} connected and prepared within {within_s} s");
    EngineError::new(ErrorClass::Unreachable, message).advised("use fewer --jobs, or see what the server waits for")
}
