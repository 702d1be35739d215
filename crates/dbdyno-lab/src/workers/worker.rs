//! A load generator: claims shares of tests and runs them.

use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::{BUILD, Clock, Step, Task, ask};
use crate::store::Place;
use crate::test_runner::{
    CoordinatorLink, CoordinatorUpdate, Edges, Interrupt, SecondsLog, WorkerAssignment, WorkerLog,
    run_assignment,
};
use dbdyno_core::error::{Result, quote};
use dbdyno_core::model::Target;
use dbdyno_engines::engine::results_backend::{ResultsBackend, SqlValue};
use dbdyno_engines::engine::{self, Access, ConnectTo, Database, EngineError, ErrorClass};

/// Interval at which an idle worker asks for a part.
const ASKING: Duration = Duration::from_millis(200);
/// Interval at which a worker that waits for the start looks.
const LISTENING: Duration = Duration::from_millis(50);
/// Interval at which the worker reports to the database, also about a part whose window ends when
/// its figure is known.
const HEARD: Duration = Duration::from_secs(1);
const HEARD_OFTEN: Duration = Duration::from_millis(250);

/// Options of a worker.
pub struct WorkerOptions<'a> {
    /// Results database through which coordinator and workers communicate.
    pub place: &'a Place,
    /// Targets that the owner of this machine named, the only ones that it opens. The coordinator
    /// chooses among them, and nothing else.
    pub targets: &'a [Target],
    /// Host and process.
    pub name: String,
    /// Time without an assignment after which the worker ends; none if it only ends by an
    /// interrupt.
    pub idle: Option<Duration>,
    /// Flag by which the owner of the machine ends the worker.
    pub interrupt: &'a Interrupt,
    /// Told of each share, and of what went wrong.
    pub tell: &'a dyn Fn(&str),
}

/// Claims and runs shares until it is interrupted, or nothing was there to do for long enough.
///
/// # Errors
/// The results are in a file, or the database cannot be reached at first; later it is tried again.
pub fn serve(options: &WorkerOptions<'_>) -> Result<()> {
    let mut backend = Some(open_held(options)?);
    let mut target = Opened::default();
    let mut busy_at = Instant::now();
    while !options.interrupt.is_set() && options.idle.is_none_or(|idle| busy_at.elapsed() < idle) {
        let Some(open) = backend.take() else {
            std::thread::sleep(HEARD);
            backend = open_held(options).ok();
            continue;
        };
        match run_next(options, open, &mut target) {
            Ok((open, was_busy)) => {
                backend = Some(open);
                if was_busy {
                    busy_at = Instant::now();
                } else {
                    std::thread::sleep(ASKING);
                }
            }
            Err(error) => {
                (options.tell)(&error.at(options.place.path.display().to_string()).to_string())
            }
        }
    }
    Ok(())
}

/// A session whose end shows that we are gone.
fn open_held(options: &WorkerOptions<'_>) -> Result<Box<dyn ResultsBackend>> {
    let mut backend = super::open_backend(options.place)?;
    backend.heed(options.interrupt.flag());
    let held = ask(backend.as_mut(), "worker-hold", Vec::new());
    held.map_err(|error| error.at(options.place.path.display().to_string()))?;
    Ok(backend)
}

/// Claims a share and runs it; gives the session back, and whether there was one.
fn run_next(
    options: &WorkerOptions<'_>,
    mut backend: Box<dyn ResultsBackend>,
    target: &mut Opened,
) -> Step<(Box<dyn ResultsBackend>, bool)> {
    let me = vec![options.name.as_str().into(), env!("CARGO_PKG_VERSION").into()];
    let claimed = ask(backend.as_mut(), "worker-claim", me)?;
    let Some(row) = claimed.into_iter().next() else { return Ok((backend, false)) };
    let task = row
        .get(3)
        .and_then(SqlValue::text)
        .and_then(|text| serde_json::from_str::<Task>(text).ok());
    let clock = Clock::measure(backend.as_mut())?;
    let key = row[..3].to_vec();
    let is_precise = task.as_ref().is_some_and(|task| task.share.window.precision().is_some());
    let heard = if is_precise { HEARD_OFTEN } else { HEARD };
    let client = CoordinatorClient {
        backend: Mutex::new((backend, Instant::now())),
        key,
        clock,
        heard,
        interrupt: options.interrupt,
    };
    let done = task.ok_or_else(|| super::unreadable("a share")).and_then(|task| {
        check_build(&task)?;
        let named = find_target(options.targets, &task)?;
        task.share.check()?;
        let (own, all) = task.share.jobs();
        (options.tell)(&format!("jobs {}: {own} of {all}", row[1].integer().unwrap_or_default()));
        client.run(target.database(named, options.interrupt)?, &task.share)
    });
    match done {
        Ok(log) => {
            let log = WorkerLog { name: options.name.clone(), ..log };
            let text = serde_json::to_string(&log)
                .map_err(|error| EngineError::new(ErrorClass::Other, error.to_string()))?;
            client.send_stage("done", None, Some(text))?;
        }
        // Whoever is interrupted is lost to the test, as if it had been killed.
        Err(error) if options.interrupt.is_set() => {
            client.send_stage("gone", Some(format!("interrupted ({error})")), None)?
        }
        Err(error) => {
            (options.tell)(&error.message);
            client.send_stage("failed", Some(error.message), None)?;
        }
    }
    let (backend, _) = client.backend.into_inner();
    Ok((backend, true))
}

/// Refuses a share of another build: the same op may be another one there, or be timed otherwise.
fn check_build(task: &Task) -> Step<()> {
    if task.build == BUILD {
        return Ok(());
    }
    let theirs = if task.build.is_empty() { "an older one" } else { &task.build };
    let what = format!(
        "this load generator runs another build of dbdyno ({BUILD}) than the coordinator of the \
         run ({})",
        quote(theirs)
    );
    Err(EngineError::new(ErrorClass::Other, what).advised("use the same dbdyno everywhere"))
}

/// The target of a share, as it was named on this machine.
///
/// # Errors
/// It was not named here: nothing is sent to a host that somebody else names.
fn find_target<'a>(targets: &'a [Target], task: &Task) -> Step<&'a Target> {
    let is_it =
        |target: &&Target| target.engine() == task.engine && target.url() == task.url.as_deref();
    targets.iter().find(is_it).ok_or_else(|| {
        let wanted = task.url.as_ref().unwrap_or(&task.engine);
        let what = format!("the target {} is not named on this load generator", quote(wanted));
        EngineError::new(ErrorClass::Denied, what)
            .advised("start 'dbdyno worker RESULTS TARGET' there, TARGET as 'run' has it")
    })
}

/// The target that was opened last.
#[derive(Default)]
struct Opened(Option<(Target, Box<dyn Database>)>);

impl Opened {
    fn database(&mut self, target: &Target, interrupt: &Interrupt) -> Step<&dyn Database> {
        if self.0.as_ref().is_some_and(|(open, _)| open != target) {
            self.0 = None;
        }
        let opened = match self.0.take() {
            Some(opened) => opened,
            None => (target.clone(), open(target, interrupt)?),
        };
        Ok(self.0.insert(opened).1.as_ref())
    }
}

fn open(target: &Target, interrupt: &Interrupt) -> Step<Box<dyn Database>> {
    let name = target.engine();
    let lacking =
        || EngineError::new(ErrorClass::Other, format!("this build has no engine '{name}'"));
    let engine = engine::find(name).ok_or_else(lacking)?;
    let to = ConnectTo {
        url: target.url().map(str::to_owned),
        interrupt: interrupt.flag(),
        ..ConnectTo::new(target.clone())
    };
    engine.open(&to, Access::Provision)
}

/// Connection through which a worker and the coordinator exchange their progress.
struct CoordinatorClient<'a> {
    /// Connection to the results, and the time of the last report.
    backend: Mutex<(Box<dyn ResultsBackend>, Instant)>,
    /// Crew, turn, position.
    key: Vec<SqlValue>,
    clock: Clock,
    /// Interval of reports.
    heard: Duration,
    interrupt: &'a Interrupt,
}

impl CoordinatorClient<'_> {
    fn run(&self, database: &dyn Database, share: &WorkerAssignment) -> Step<WorkerLog> {
        let log = run_assignment(database, share, self)?;
        Ok(WorkerLog {
            clock_offset_s: self.clock.offset_s,
            round_trip_s: self.clock.round_trip_s,
            ..log
        })
    }

    fn lock(&self) -> MutexGuard<'_, (Box<dyn ResultsBackend>, Instant)> {
        self.backend.lock()
    }

    fn send_stage(&self, stage: &str, detail: Option<String>, log: Option<String>) -> Step<()> {
        let binds = [self.key.clone(), vec![stage.into(), detail.into(), log.into()]].concat();
        ask(self.lock().0.as_mut(), "worker-tell", binds).map(drop)
    }

    /// Reads the state of the test, and writes the progress of the own jobs; none if the test was
    /// called off, or the results database does not answer.
    fn exchange(&self, log: Option<&SecondsLog>) -> Option<TestState> {
        let mut guard = self.lock();
        let (backend, heard_at) = &mut *guard;
        if heard_at.elapsed() >= self.heard {
            let points = log.and_then(|log| serde_json::to_string(&log.last_points()).ok());
            ask(backend.as_mut(), "worker-seen", [self.key.clone(), vec![points.into()]].concat())
                .ok()?;
            *heard_at = Instant::now();
        }
        let rows = ask(backend.as_mut(), "worker-look", self.key[..2].to_vec()).ok()?;
        let [start_s, stopped, open_s, close_s] = rows.first()?.as_slice() else { return None };
        let update = CoordinatorUpdate {
            is_stopped: stopped.integer() != Some(0),
            edges: open_s
                .real()
                .zip(close_s.real())
                .map(|(open_s, close_s)| Edges { open_s, close_s }),
        };
        Some(TestState { start_s: start_s.real(), update })
    }
}

/// State of a test as the coordinator has written it.
struct TestState {
    /// Common start by the clock of the results database; none before all jobs are ready.
    start_s: Option<f64>,
    update: CoordinatorUpdate,
}

impl CoordinatorLink for CoordinatorClient<'_> {
    fn start(&self, sessions: &[u32]) -> Option<Instant> {
        self.send_stage("ready", serde_json::to_string(sessions).ok(), None).ok()?;
        loop {
            let TestState { start_s, update } = self.exchange(None)?;
            if self.interrupt.is_set() || update.is_stopped {
                return None;
            }
            match start_s {
                Some(start_s) => return self.clock.start(start_s).ok(),
                None => std::thread::sleep(LISTENING),
            }
        }
    }

    fn report_satisfied(&self) {
        // If this fails, the next exchange shows it.
        let _ = self.send_stage("satisfied", None, None);
    }

    fn update(&self, log: &SecondsLog) -> CoordinatorUpdate {
        let off = CoordinatorUpdate { is_stopped: true, ..CoordinatorUpdate::default() };
        let state = self.exchange(Some(log)).filter(|_| !self.interrupt.is_set());
        state.map_or(off, |state| state.update)
    }
}
