//! An A/B test that measures both sides at the same time, each on its half of the processors: what
//! disturbs the machine then disturbs both alike (L. Bulej et al., "Duet benchmarking: improving
//! measurement accuracy in the cloud", ICPE 2020).

use parking_lot::{Condvar, Mutex};

use super::measure::{MeasureContext, TestEnd};
use super::measured_run::RunContext;
use super::probing::Probing;
use super::test_execution::{TestExecution, UnjudgedTest};
use super::{Event, Sink};
use crate::store::Store;
use dbdyno_core::error::{Error, Result};
use dbdyno_core::model::{Plan, RunStatus, Selection, Target, TestSpec};
use dbdyno_engines::engine::{Database, threads};
use dbdyno_engines::host::{Halves, keep_processes_on, keep_thread_on};

/// Prefix of messages.
const PLACE: &str = "--duet";

/// Device that a selection shares with the other side: then half of the CPUs is not half of what
/// limits it.
fn shared_device(selection: &Selection) -> Option<&'static str> {
    let workload = &selection.workload;
    let is_cached = workload.tables.iter().all(|table| workload.warm.contains(table));
    match () {
        () if workload.commits
            || workload.bulk
            || selection.parts.iter().any(|part| part.commits) =>
        {
            Some("its commits wait for a device that both sides share")
        }
        () if !workload.evict.is_empty() => Some("it reads from a device that both sides share"),
        () if !is_cached => {
            Some("its tables are not held in the cache, and both sides share the device")
        }
        () => None,
    }
}

/// The plan without what a shared device may limit; notes say so.
fn without_devices(plan: &Plan, events: &Sink<'_>) -> Result<Plan> {
    let (shared, left): (Vec<_>, Vec<_>) =
        plan.selections.iter().cloned().partition(|selection| shared_device(selection).is_some());
    let why = |selection: &Selection| {
        format!(
            "{} cannot be measured: {}",
            selection.label(),
            shared_device(selection).unwrap_or_default()
        )
    };
    match (shared.first(), left.is_empty()) {
        (Some(first), true) => {
            Err(Error::usage(PLACE, why(first)).advise("measure it without --duet"))
        }
        _ => {
            shared
                .iter()
                .for_each(|selection| events(Event::Note(&format!("{PLACE}: {}", why(selection)))));
            Ok(Plan { selections: left, ..plan.clone() })
        }
    }
}

/// Plans of two sides that can be measured at the same time, and the halves of the CPUs for them.
pub(super) struct DuetSetup {
    pub plans: [Plan; 2],
    pub halves: Halves,
}

/// Checks that two sides can be measured at the same time; notes say which tests are left out.
///
/// # Errors
/// Of usage: a side is not ours to place, there is one processor, nothing is left to measure.
pub(super) fn check_sides(sides: &[RunContext<'_>; 2]) -> Result<DuetSetup> {
    for side in sides {
        let target = &side.request.target;
        let what = match target {
            Target::Existing { .. } => {
                "is an existing server, whose processes are not ours to place"
            }
            _ if side.request.engine()?.capabilities().own_threads => {
                "starts threads that cannot be placed"
            }
            _ => continue,
        };
        let error = Error::usage(PLACE, format!("{} {what}", target.label()));
        return Err(error.advise("leave --duet out, or name an engine with private servers"));
    }
    let halves = Halves::here().ok_or_else(|| {
        Error::usage(PLACE, "the host has only one CPU, which cannot be halved")
            .advise("leave --duet out")
    })?;
    if halves.share_core {
        let line = "--duet: both halves are threads of one core; swapping them removes what \
                    differs, not what they share";
        (sides[0].events)(Event::Note(line));
    }
    let other = |event: Event<'_>| {
        if !matches!(event, Event::Note(_)) {
            (sides[1].events)(event)
        }
    };
    let plan_a = without_devices(sides[0].plan, sides[0].events)?;
    let plan_b = without_devices(sides[1].plan, &other)?;
    Ok(DuetSetup { plans: [plan_a, plan_b], halves })
}

/// Barrier for the two sides of a duet before their gates open. A side that fails leaves, so that
/// the other one does not wait forever.
#[derive(Default)]
struct Rendezvous {
    arrived: Mutex<usize>,
    changed: Condvar,
}

/// Part of a side in the rendezvous. A guard that is dropped counts as arrived.
struct RendezvousGuard<'a> {
    rendezvous: &'a Rendezvous,
    has_arrived: Mutex<bool>,
}

impl RendezvousGuard<'_> {
    fn arrive(&self) {
        let mut has_arrived = self.has_arrived.lock();
        if !std::mem::replace(&mut *has_arrived, true) {
            *self.rendezvous.arrived.lock() += 1;
            self.rendezvous.changed.notify_all();
        }
    }

    /// Returns when the other side has arrived, too.
    fn wait(&self) {
        self.arrive();
        let mut arrived = self.rendezvous.arrived.lock();
        while *arrived < 2 {
            self.rendezvous.changed.wait(&mut arrived);
        }
    }
}

impl Drop for RendezvousGuard<'_> {
    fn drop(&mut self) {
        self.arrive();
    }
}

/// A side in one round of a duet.
pub(super) struct DuetSide<'a, 'm, 'p> {
    pub measuring: &'a MeasureContext<'m>,
    pub probing: &'a mut Probing<'p>,
    pub spec: TestSpec<'a>,
    /// Evictor that keeps its tables out of the cache, if it could be prepared.
    pub prepared: Result<super::evict::Evictor>,
    /// Half of the CPUs that the side runs on.
    pub processors: &'a [usize],
}

/// Executes one test of each side at the same time, then judges and stores both. The failure of a
/// side is stored as such.
pub(super) fn measure_both(
    sides: [DuetSide<'_, '_, '_>; 2],
    store: &mut Store,
) -> Result<[TestEnd; 2]> {
    let rendezvous = Rendezvous::default();
    let unjudged = std::thread::scope(|scope| {
        let threads = sides.map(|side| {
            let DuetSide { measuring, probing, spec, prepared, processors } = side;
            let guard = RendezvousGuard { rendezvous: &rendezvous, has_arrived: Mutex::new(false) };
            let execution = measuring.test_execution(spec.selection);
            let test = spec.clone();
            let thread = threads::start(scope, move || {
                let evictor = prepared?;
                place_on(execution.database, processors)?;
                let execution = TestExecution { at_gate: &|| guard.wait(), ..execution };
                Ok(execution.execute(&test, &evictor, 0.0, probing))
            });
            (measuring, spec, thread)
        });
        threads.map(|(measuring, spec, thread)| {
            let panicked = |_| Err(Error::target(PLACE, "a thread panicked (a bug in dbdyno)"));
            let unjudged = match thread {
                Ok(thread) => thread.join().unwrap_or_else(panicked),
                Err(refused) => Err(refused.at(PLACE)),
            };
            (measuring, spec, unjudged)
        })
    });
    let [first, second] =
        unjudged.map(|(measuring, spec, unjudged)| store_test(measuring, &spec, unjudged, store));
    Ok([first?, second?])
}

fn store_test(
    measuring: &MeasureContext<'_>,
    spec: &TestSpec<'_>,
    unjudged: Result<UnjudgedTest>,
    store: &mut Store,
) -> Result<TestEnd> {
    match unjudged {
        Ok(unjudged) => measuring.judge_and_store(unjudged, spec, store),
        Err(_) if measuring.interrupt.is_set() => Ok(TestEnd::Stopped(RunStatus::Interrupted)),
        Err(error) => {
            let now = jiff::Timestamp::now().to_string();
            measuring.store_failure(spec, now, &error, store).map(TestEnd::without_result)
        }
    }
}

/// Puts this thread, which starts the jobs, and the server on these processors.
fn place_on(database: &dyn Database, processors: &[usize]) -> Result<()> {
    let put = keep_thread_on(processors)
        .and_then(|()| keep_processes_on(&database.server_pids(), processors));
    put.map_err(|error| {
        Error::target(PLACE, format!("the server cannot be put on half of the CPUs: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::overhead;
    use dbdyno_core::model::Window;

    #[test]
    fn who_fails_is_not_waited_for() {
        let rendezvous = Rendezvous::default();
        let guard = || RendezvousGuard { rendezvous: &rendezvous, has_arrived: Mutex::new(false) };
        std::thread::scope(|scope| {
            let (stays, fails) = (guard(), guard());
            let waits = scope.spawn(move || stays.wait());
            drop(fails);
            waits.join().unwrap();
        });
        assert_eq!(*rendezvous.arrived.lock(), 2, "each counts once");
    }

    #[test]
    fn what_waits_for_a_device_is_left_out_and_alone_refused() {
        let plan =
            |selections: Vec<Selection>| Plan { selections, ..crate::run::fixture::plan(&[1], 1) };
        let selection = |change: &dyn Fn(&mut dbdyno_core::model::Workload)| {
            let mut selection = overhead::selection(0, 1.0);
            selection.window = Window::time(0.0, 1.0);
            change(&mut selection.workload);
            selection
        };
        let (free, commits) = (selection(&|_| ()), selection(&|workload| workload.commits = true));
        let scans = selection(&|workload| workload.evict = vec!["big".into()]);
        let cached = selection(&|workload| {
            (workload.tables, workload.warm) = (vec!["small".into()], vec!["small".into()])
        });
        let large = selection(&|workload| workload.tables = vec!["big".into()]);
        let told = Mutex::new(0);
        let events = |_: Event<'_>| *told.lock() += 1;
        let left =
            without_devices(&plan(vec![free, commits.clone(), scans, cached, large]), &events)
                .unwrap();
        assert_eq!((left.selections.len(), *told.lock()), (2, 3));
        let error = without_devices(&plan(vec![commits]), &events).unwrap_err();
        assert!(error.to_string().contains("its commits wait for a device"), "{error}");
    }
}
