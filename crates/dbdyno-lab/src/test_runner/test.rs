//! One test: setup, gate, jobs, window, snapshots, teardown.

use std::cell::LazyCell;
use std::sync::mpsc::{Receiver, channel};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::Interrupt;
use super::assemble::{assemble, test_facts};
use super::context::TestContext;
use super::coordinator::{Coordinator, JobsEnd, Progress, ReadProbes, Watchers};
use super::due::due_times;
use super::gate::Gate;
use super::job_group::{EndOnDrop, JobGroup, log_of, panic_log};
use super::local_job::{GroupJob, run_job};
use super::log::{JobLog, SecondsLog, Who};
use super::pacer::JobPacer;
use super::raw::Raw;
use super::remote_workers::{self, Workers};
use super::schedule::Schedule;
use super::sessions::{SessionLog, sample};
use dbdyno_core::model::params::{IDLE_SESSION_BYTES, IDLE_SESSIONS};
use dbdyno_core::model::vectors::VectorData;
use dbdyno_core::model::{Facts, Loop, SnapshotPoint, TestResult, TestSpec, WorkerResult};
use dbdyno_core::sql;
use dbdyno_engines::engine::{
    Database, EngineError, ErrorClass, JobPlacement, Session, cancellable, threads,
};

/// Way in which a test ended.
#[derive(Debug)]
pub enum Outcome {
    /// Complete, with its result.
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
    match run_to_end(context, spec, Watchers { probes, progress }) {
        Outcome::Failed(error) if context.is_of_interrupt(&error) => Outcome::Interrupted(None),
        outcome => outcome,
    }
}

fn run_to_end(
    context: &TestContext<'_>,
    spec: &TestSpec<'_>,
    watchers: Watchers<'_, '_>,
) -> Outcome {
    let mut session = match context.database.session() {
        Ok(session) => session,
        Err(error) => return Outcome::Failed(error),
    };
    // Statements of a setup may take long.
    let set_up = cancellable(
        context.database,
        &context.interrupt.flag(),
        || (),
        || provision(session.as_mut(), spec, Phase::Setup, context.rows.seed),
    );
    let arranged = set_up.and_then(|()| Arrangement::make(context, spec));
    let outcome = match (arranged, context.workers) {
        (Ok(arranged), Some(workers)) => {
            measure_elsewhere(context, spec, workers, arranged, watchers)
        }
        (Ok(arranged), None) => measure(context, spec, arranged, watchers),
        (Err(error), _) => Outcome::Failed(error),
    };
    let torn_down = provision(session.as_mut(), spec, Phase::Teardown, context.rows.seed);
    match (torn_down, outcome) {
        (Err(error), Outcome::Done(_)) => Outcome::Failed(error),
        (_, outcome) => outcome,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Setup,
    Teardown,
}

/// Runs the setup or teardown statements of every part. A teardown goes on after an error and
/// reports the first.
fn provision(
    session: &mut dyn Session,
    spec: &TestSpec<'_>,
    phase: Phase,
    seed: u64,
) -> Result<(), EngineError> {
    let (mut first_error, mut done) = (Ok(()), Vec::new());
    let groups = JobGroup::all(spec);
    for (group, part) in
        groups.iter().flat_map(|group| group.selection.parts.iter().map(move |part| (group, part)))
    {
        let statements = if phase == Phase::Setup { part.setup_sql() } else { part.teardown_sql() };
        // Two that share a table make it once.
        let own = statements.iter().map(|sql| (sql::bind_late(sql, group.jobs), part.vectors));
        let own: Vec<_> = own.collect();
        let data = part.vectors.map(|set| LazyCell::new(move || VectorData::new(set, seed)));
        for (statement, key) in statements.iter().zip(&own) {
            if done.contains(key) {
                continue;
            }
            let vectors = data.as_ref().filter(|_| sql::sends_vectors(statement));
            for statement in sql::with_vectors(key.0.clone(), vectors.map(|data| &**data)) {
                match (session.execute(&statement).map(drop), phase) {
                    (Err(error), Phase::Setup) => return Err(error),
                    (result, _) => first_error = first_error.and(result),
                }
            }
        }
        done.extend(own);
    }
    first_error
}

/// Sessions that stay open, beside those of the jobs, while the jobs run.
struct HeldSessions {
    /// Sessions with an open transaction, and idle ones.
    sessions: Vec<Box<dyn Session>>,
    /// Facts about them.
    facts: Facts,
}

/// Arrangements for the jobs of a test, made before they start.
struct Arrangement {
    /// The node of each.
    placement: JobPlacement,
    held: HeldSessions,
}

impl Arrangement {
    fn make(context: &TestContext<'_>, spec: &TestSpec<'_>) -> Result<Arrangement, EngineError> {
        let held = hold(context.database, spec, context.interrupt)?;
        let placement =
            context.database.place_jobs(spec.selection.nodes, spec.selection.writes())?;
        Ok(Arrangement { placement, held })
    }
}

/// Opens a session for each part that wants something held, and those that are to do nothing.
fn hold(
    database: &dyn Database,
    spec: &TestSpec<'_>,
    interrupt: &Interrupt,
) -> Result<HeldSessions, EngineError> {
    let mut held = HeldSessions { sessions: Vec::new(), facts: Facts::new() };
    for group in JobGroup::all(spec) {
        for part in group.selection.parts.iter().filter(|part| !part.hold.is_empty()) {
            let mut session = database.session()?;
            for statement in &part.hold {
                session.query(&sql::bind_late(statement, group.jobs), &[])?;
            }
            held.sessions.push(session);
        }
    }
    open_idle(database, spec.selection.idle_sessions(), interrupt, &mut held)?;
    Ok(held)
}

/// Opens sessions that do nothing, and finds out what each takes of the server's memory.
fn open_idle(
    database: &dyn Database,
    count: u32,
    interrupt: &Interrupt,
    held: &mut HeldSessions,
) -> Result<(), EngineError> {
    if count == 0 {
        return Ok(());
    }
    let before = database.memory_bytes();
    for _ in 0..count {
        if interrupt.is_set() {
            return Err(EngineError::new(ErrorClass::Cancelled, "sessions were being opened"));
        }
        held.sessions.push(database.session()?);
    }
    held.facts.insert(IDLE_SESSIONS.into(), count.into());
    // Where the server gave back more meanwhile than the sessions took, nothing is known of them.
    let taken =
        before.zip(database.memory_bytes()).map(|(before, after)| after.checked_sub(before));
    if let Some(bytes) = taken.flatten().filter(|bytes| *bytes > 0) {
        held.facts.insert(IDLE_SESSION_BYTES.into(), bytes as f64 / f64::from(count));
    }
    Ok(())
}

/// Ends what was held: what is put off may be done then, and tables may be dropped.
///
/// # Errors
/// A session was lost, so that what it held did not last as long as the jobs.
fn release(held: HeldSessions) -> Result<(), EngineError> {
    let mut kept = Ok(());
    for mut session in held.sessions {
        // An engine may have nothing to end.
        let lost =
            session.execute("rollback").err().filter(|error| error.class == ErrorClass::Lost);
        kept = kept.and(lost.map_or(Ok(()), Err));
    }
    kept.map_err(|error| EngineError {
        message: format!(
            "a session that is to stay open while the jobs run was lost: {}",
            error.message
        ),
        ..error
    })
}

/// The outcome of a test, unless what was to be held all the time was not.
fn unless_lost(kept: Result<(), EngineError>, outcome: Outcome) -> Outcome {
    match (kept, outcome) {
        (Err(error), Outcome::Done(_)) => Outcome::Failed(error),
        (_, outcome) => outcome,
    }
}

/// Schedule of a test whose jobs run in our process.
fn schedule_of(spec: &TestSpec<'_>) -> Schedule {
    let schedule = Schedule::new(&spec.selection.window);
    match spec.selection.looping {
        Loop::Profile(..) => schedule.by_points(),
        _ => schedule,
    }
}

/// Context that all jobs of a test share which run in this process.
#[derive(Clone, Copy)]
struct SharedByJobs<'t> {
    context: &'t TestContext<'t>,
    spec: &'t TestSpec<'t>,
    gate: &'t Gate,
    schedule: &'t Schedule,
    facts: &'t Facts,
    placement: &'t JobPlacement,
}

impl SharedByJobs<'_> {
    /// Runs a job of a group (from 1) in this thread.
    fn run(&self, group: &JobGroup<'_>, log: &SecondsLog, number: u32) -> JobLog {
        let seed = self.context.test_seed(self.spec);
        let due = if group.is_background { None } else { due_times(self.spec, number, seed) };
        let who = Who { job: number, part: group.part(number) };
        let pacer = JobPacer::new(who, self.gate, log, self.schedule, group.selection.drive)
            .with_timing_cost(self.context.timing_costs.of(group.selection))
            .with_due_times(due);
        let node = self.placement.node(number);
        let job = GroupJob { group, number, node, seed, facts: self.facts };
        run_job(self.context, &job, pacer, self.gate)
    }
}

/// Runs a test from gate to end whose jobs are in our process.
fn measure(
    context: &TestContext<'_>,
    spec: &TestSpec<'_>,
    Arrangement { placement, held }: Arrangement,
    watchers: Watchers<'_, '_>,
) -> Outcome {
    let schedule = schedule_of(spec);
    let groups = JobGroup::all(spec);
    let gate = Gate::new(groups.iter().map(|group| group.size).sum());
    let logs: Vec<SecondsLog> = groups.iter().map(|group| SecondsLog::new(group.size)).collect();
    let seconds = &logs[0];
    let facts = test_facts(context.facts, spec.jobs);
    let (gate, schedule) = (&gate, &schedule);
    let shared =
        SharedByJobs { context, spec, gate, schedule, facts: &facts, placement: &placement };
    let started_at = jiff::Timestamp::now().to_string();
    let mut coordinator =
        Coordinator::new(gate, schedule, seconds, context.connect_timeout, watchers);
    let (running, has_ended) = channel();
    let (mut jobs, ended, sessions) = std::thread::scope(|scope| {
        let sampler = threads::start(scope, || sample_sessions(context, gate, has_ended));
        let each = groups
            .iter()
            .zip(&logs)
            .flat_map(|(group, log)| (1..=group.size).map(move |job| (group, log, job)));
        let threads: Vec<_> = each
            .map(|(group, log, job)| {
                let ended = EndOnDrop(gate);
                let thread = threads::start(scope, move || {
                    let _ended = ended;
                    shared.run(group, log, job)
                });
                (group.part(job), thread)
            })
            .collect();
        let ended = coordinator.supervise(context.interrupt, &|| context.database.cancel());
        drop(running);
        let jobs = threads.into_iter().map(|(part, thread)| (part, log_of(thread)));
        let jobs: Vec<_> = jobs.collect();
        (jobs, ended, sampler.map_or_else(|_| SessionLog::default(), join_sampler))
    });
    let AtEnd { raw, kept } = read_at_end(coordinator, spec, held, &ended);
    let points = seconds.points(schedule.open_s(), schedule.close_s());
    let (seconds, timeline) =
        logs.into_iter().next().map(SecondsLog::into_seconds).unwrap_or_default();
    let raw = Raw {
        background: jobs.split_off(spec.jobs as usize),
        jobs,
        edges: schedule.edges(),
        points,
        seconds,
        timeline,
        sessions,
        started_at,
        facts: facts.into_iter().chain(raw.facts).collect(),
        placement,
        ..raw
    };
    unless_lost(kept, conclude(context, spec, raw, &ended))
}

/// State of a test when its jobs have ended.
struct AtEnd {
    /// Snapshots, and facts about the sessions that stayed open beside the jobs.
    raw: Raw,
    /// Error of a session that was to stay open for the whole test and was lost.
    kept: Result<(), EngineError>,
}

/// Reads the counters after the jobs, ends what was held beside them, and reads once more when the
/// database has caught up with what they left.
fn read_at_end(
    mut coordinator: Coordinator<'_, '_>,
    spec: &TestSpec<'_>,
    held: HeldSessions,
    ended: &JobsEnd,
) -> AtEnd {
    let (driver, facts) = (coordinator.driver(), held.facts.clone());
    coordinator.snapshot(SnapshotPoint::End, ended.total_s);
    let kept = release(held);
    // Before the teardown: a table that is dropped takes with it what is still to be done for it.
    if spec.selection.parts.iter().any(|part| part.commits) && ended.opened && !ended.interrupted {
        coordinator.snapshot(SnapshotPoint::CaughtUp, ended.total_s);
    }
    let (snapshots, samples) = coordinator.into_readings();
    let total_s = ended.total_s;
    AtEnd { raw: Raw { snapshots, samples, total_s, facts, driver, ..Raw::default() }, kept }
}

/// Runs a test from gate to end whose jobs are on several load generators: coordinates them and
/// reads the probes.
fn measure_elsewhere(
    context: &TestContext<'_>,
    spec: &TestSpec<'_>,
    workers: &Mutex<dyn Workers>,
    Arrangement { placement, held }: Arrangement,
    watchers: Watchers<'_, '_>,
) -> Outcome {
    let shares = match context.assignments(spec, &placement, workers.lock().count()) {
        Ok(shares) => shares,
        Err(error) => return Outcome::Failed(error),
    };
    let schedule = Schedule::new(&spec.selection.window);
    // Who runs a share stands there for its jobs.
    let count = shares.len() as u32;
    let (gate, seconds) = (Gate::new(count), SecondsLog::new(count));
    let started_at = jiff::Timestamp::now().to_string();
    // Workers that do not get their assignment never begin; the next poll of them reports why.
    let start = || workers.lock().start().unwrap_or_else(|_| Instant::now());
    let timeout = context.connect_timeout * 2;
    let mut coordinator =
        Coordinator::new(&gate, &schedule, &seconds, timeout, watchers).with_start(&start);
    let (running, has_ended) = channel();
    let (followed, ended, sessions) = std::thread::scope(|scope| {
        let sampler = threads::start(scope, || sample_sessions(context, &gate, has_ended));
        let proxy = threads::start(scope, || {
            remote_workers::represent_workers(workers, &shares, &gate, &schedule, &seconds)
        });
        if proxy.is_err() {
            (0..count).for_each(|_| gate.note_end()); // nobody else will tell
        }
        let ended = coordinator.supervise(context.interrupt, &|| ());
        drop(running);
        let died = |_| Err(panic_log().failure.unwrap_or_else(lost_thread_error));
        let followed = proxy.and_then(|proxy| proxy.join().unwrap_or_else(died));
        (followed, ended, sampler.map_or_else(|_| SessionLog::default(), join_sampler))
    });
    let AtEnd { raw, kept } = read_at_end(coordinator, spec, held, &ended);
    let logs = match followed {
        Ok(logs) => logs,
        Err(_) if ended.interrupted => return Outcome::Interrupted(None),
        Err(error) => return Outcome::Failed(error),
    };
    let mut raw = Raw {
        edges: schedule.edges(),
        sessions,
        started_at,
        facts: test_facts(context.facts, spec.jobs).into_iter().chain(raw.facts).collect(),
        placement,
        ..raw
    };
    let figures = remote_workers::merge(logs, &mut raw, spec);
    with_workers(unless_lost(kept, conclude(context, spec, raw, &ended)), figures)
}

/// The outcome with what each load generator did.
fn with_workers(outcome: Outcome, workers: Vec<WorkerResult>) -> Outcome {
    let with_them =
        |result: Box<TestResult>| Box::new(remote_workers::with_workers(*result, workers));
    match outcome {
        Outcome::Done(result) => Outcome::Done(with_them(result)),
        Outcome::Interrupted(Some(result)) => Outcome::Interrupted(Some(with_them(result))),
        other => other,
    }
}

fn lost_thread_error() -> EngineError {
    EngineError::new(ErrorClass::Other, "a thread ended early")
}

/// Session log from the gate to the end; empty without a source.
fn sample_sessions(context: &TestContext<'_>, gate: &Gate, ended: Receiver<()>) -> SessionLog {
    let Some(source) = context.sessions else { return SessionLog::default() };
    let mut source = source.lock();
    let jobs = || match context.workers {
        Some(workers) => [(String::new(), workers.lock().sessions())].into(),
        None => context.database.node_job_sessions(),
    };
    sample(&mut *source, gate, &jobs, &ended)
}

/// The samples of a test; without a thread to take them there are none.
fn join_sampler(sampler: ScopedJoinHandle<'_, SessionLog>) -> SessionLog {
    sampler.join().unwrap_or_default()
}

/// Figures if jobs looped; else why they did not.
fn conclude(context: &TestContext<'_>, spec: &TestSpec<'_>, raw: Raw, ended: &JobsEnd) -> Outcome {
    if let Some(failure) = raw.jobs.iter().find_map(|(_, log)| log.failure.clone()) {
        return Outcome::Failed(failure);
    }
    if let Some(failure) = raw.background.iter().find_map(|(_, log)| log.failure.clone()) {
        return Outcome::Failed(EngineError {
            message: format!("what ran beside it: {}", failure.message),
            ..failure
        });
    }
    let window_opened =
        raw.snapshots.iter().any(|snapshot| snapshot.moment == SnapshotPoint::WindowOpen);
    if ended.interrupted && !window_opened {
        return Outcome::Interrupted(None);
    }
    if !ended.opened {
        return Outcome::Failed(too_slow(spec.jobs, context.connect_timeout));
    }
    match assemble(spec, raw) {
        Ok(result) => {
            let key_seed = Some(context.test_seed(spec));
            let result = Box::new(TestResult { key_seed, ..result });
            if ended.interrupted {
                Outcome::Interrupted(Some(result))
            } else {
                Outcome::Done(result)
            }
        }
        Err(_) if ended.interrupted => Outcome::Interrupted(None),
        Err(message) => Outcome::Failed(EngineError::new(ErrorClass::Statement, message)),
    }
}

/// The gate stayed shut though no job failed.
fn too_slow(jobs: u32, connect_timeout: Duration) -> EngineError {
    let within_s = connect_timeout.as_secs_f64();
    let who = if jobs == 1 {
        "the job was not".to_string()
    } else {
        format!("not all of {jobs} jobs were")
    };
    let message = format!("{who} connected and prepared within {within_s} s");
    EngineError::new(ErrorClass::Unreachable, message)
        .advised("use fewer --jobs, or see what the server waits for")
}
