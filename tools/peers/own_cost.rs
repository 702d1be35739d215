//! Cost of measuring: the lookup with all probes, both samplers (counters, sessions) and the watch
//! of the platform, against the lookup alone: by the processor time that client and server spend
//! per op, and by the kernel's account of the threads that measure; and the lookup beside a monitor
//! against the lookup alone.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use dbdyno::error::Result;
use dbdyno::host::thread_cpu_s;
use dbdyno::model::{Counters, Drive, Selection, Target};
use dbdyno::monitor::poller::{Poller, SAMPLE_INTERVAL};
use dbdyno::plan;
use dbdyno::probe::{ProbeContext, ProbeSet, SqlProbe, scheduled_s};
use dbdyno::run::sampler::Sampler;
use dbdyno::run::{Fresh, Keep, Request};
use dbdyno::sql::statement;
use dbdyno::test_runner::{Reading, SessionSource};

use crate::drive;
use crate::failed;
use crate::lab::Lab;
use crate::lab::PROFILE;
use crate::machine::Meter;
use crate::pairs::{
    CLIENT_AND_SERVER, Comparison, Done, Half, Outcome, Pair, Precision, Ramp, Rules, interleave,
    interleave_until,
};

/// Least part of the work per processor second that measuring must leave.
const TARGET: f64 = 0.99;
/// Least part that a monitor must leave.
const MONITOR_TARGET: f64 = 0.995;
/// A monitor's interval.
const INTERVAL: Duration = Duration::from_secs(1);

/// Both drives at every number of jobs.
pub fn compare(
    lab: &Lab,
    rules: &Rules,
    precision: Precision,
    Ramp { jobs, seconds }: Ramp<'_>,
    outcomes: &mut Vec<Outcome>,
) -> Result<()> {
    for (drive, name) in [(Drive::Database, "database"), (Drive::Client, "client")] {
        let selection = drive::lookup(lab, "", drive, seconds)?;
        for &jobs in jobs {
            let (mut probes, sampler) = (probes(lab)?, sampler(lab)?);
            let sessions = sampler.as_ref().map(|sampler| sampler as &Mutex<dyn SessionSource>);
            let name = format!(
                "{} lookup in the {name} drive with all probes against without, jobs {jobs}",
                lab.engine.name()
            );
            let left = RefCell::new(Vec::new());
            let comparison = Comparison {
                name: name.clone(),
                unit: "ops/s",
                target: Some(TARGET),
                ours: &mut || {
                    let (done, part) = measure_left(lab, &selection, jobs, &mut probes, sessions)?;
                    left.borrow_mut().extend(part);
                    Ok(done)
                },
                peer: &mut || {
                    drive::run_with_probes(
                        lab,
                        &selection,
                        jobs,
                        &mut |_| (Counters::default(), 0.0),
                        None,
                    )
                },
            };
            outcomes.extend(interleave_until(rules, precision, comparison)?);
            outcomes.extend(by_account(&name, left.take()));
        }
    }
    Ok(())
}

/// A test with all probes and samplers, and the part of the processor time of client and server
/// that was left to it; none if the kernel does not account for the sessions that measure. The
/// readings before the jobs start and after they ended take nothing from them.
fn measure_left(
    lab: &Lab,
    selection: &Selection,
    jobs: u32,
    probes: &mut Probes,
    sessions: Option<&Mutex<dyn SessionSource>>,
) -> Result<(Done, Option<f64>)> {
    let (own_s, session_s) = (Cell::new(0.0), Cell::new(Some(0.0)));
    let mut read = |reading| {
        if reading != Reading::AtOnce {
            let reading = probes.set.read();
            return (reading.counters, reading.cost_ms);
        }
        let (began_s, session_began_s) = (thread_cpu_s(), probes.session.and_then(scheduled_s));
        let reading = probes.set.read_beside_jobs();
        own_s.set(own_s.get() + thread_cpu_s() - began_s);
        let session_end_s = probes.session.and_then(scheduled_s);
        let taken_s = session_end_s.zip(session_began_s).map(|(end_s, begin_s)| end_s - begin_s);
        session_s.set(session_s.get().zip(taken_s).map(|(sum_s, taken_s)| sum_s + taken_s));
        (reading.counters, reading.cost_ms)
    };
    let (meter, began) = (Meter::start(lab.server_pid())?, Instant::now());
    let result = drive::test(lab, selection, jobs, &mut read, sessions)?;
    let usage = meter.usage()?;
    let cost = result.waits.as_ref().map(|waits| waits.cost);
    let measuring = session_s.get().zip(cost).and_then(|(session_s, cost)| {
        Some([own_s.get(), session_s, cost.own_cpu_s, cost.server_cpu_s?])
    });
    if let Some(parts) = measuring {
        let [probes, session, sampler, its_session] =
            parts.map(|seconds| 1e3 * seconds / began.elapsed().as_secs_f64());
        eprintln!(
            "    ms of CPU time a second: probes {probes:.2}, their session {session:.2}, \
             sampler {sampler:.2}, its session {its_session:.2}"
        );
    }
    let part =
        measuring.map(|parts| 1.0 - parts.iter().sum::<f64>() / (usage.client_s + usage.server_s));
    Ok((Done::new(result.ops_per_s, Some(result.total.ops as f64)), part))
}

/// The same comparison by the kernel's account: what the threads and sessions that measure used
/// themselves. It is precise where rates are not, and does not see that they disturb the others.
fn by_account(name: &str, left: Vec<f64>) -> Option<Outcome> {
    let half = |part: f64| Half { rate: 1000.0 * part, client_us: None, server_us: None };
    let pair = |part| Pair { ours: half(part), peer: half(1.0) };
    let pairs: Vec<Pair> = left.into_iter().map(pair).collect();
    (!pairs.is_empty()).then(|| Outcome {
        name: format!("{name}: left by the threads and sessions that measure"),
        unit: "ms of a CPU second",
        target: Some(TARGET),
        pairs,
        dropped: 0,
        is_estimated: true,
        is_two_sided: false,
    })
}

/// The lookup in the client drive beside a monitor of the server at its usual interval.
pub fn monitor(
    lab: &Lab,
    rules: &Rules,
    Ramp { jobs, seconds }: Ramp<'_>,
    outcomes: &mut Vec<Outcome>,
) -> Result<()> {
    let selection = drive::lookup(lab, "", Drive::Client, seconds)?;
    let mut poller = Poller::open(&lab.catalog, &request(lab)?)?;
    for &jobs in jobs {
        let comparison = Comparison {
            name: format!("lookup beside a monitor against without, jobs {jobs}"),
            unit: "ops/s",
            target: Some(MONITOR_TARGET),
            ours: &mut || run_monitored(lab, &mut poller, &selection, jobs),
            peer: &mut || drive::run(lab, &selection, jobs),
        };
        let by_clock = interleave(rules, comparison)?;
        let by_processor = by_clock.by_processor(&CLIENT_AND_SERVER, "lookups/CPU s");
        outcomes.extend([by_clock, Outcome { target: Some(MONITOR_TARGET), ..by_processor }]);
    }
    Ok(())
}

fn run_monitored(lab: &Lab, poller: &mut Poller, selection: &Selection, jobs: u32) -> Result<Done> {
    let (running, ended) = channel();
    std::thread::scope(|scope| {
        let monitor = scope.spawn(move || poll(poller, &ended));
        let done = drive::run(lab, selection, jobs);
        drop(running);
        let observed = monitor.join().unwrap_or_else(|_| Err(failed("monitor", "panicked")));
        observed.and(done)
    })
}

/// Glances and looks as `dbdyno monitor` does, until the sender is dropped.
fn poll(poller: &mut Poller, ended: &Receiver<()>) -> Result<()> {
    let mut due = Instant::now() + INTERVAL;
    loop {
        poller.sample_sessions();
        if ended.recv_timeout(SAMPLE_INTERVAL) != Err(RecvTimeoutError::Timeout) {
            return Ok(());
        }
        if Instant::now() >= due {
            due += INTERVAL;
            poller.read()?;
        }
    }
}

/// The server of the lab as an existing one.
fn request(lab: &Lab) -> Result<Request> {
    Ok(Request {
        target: Target::Existing { engine: lab.engine.name().into(), url: lab.url.clone() },
        profile: lab.catalog.profile(PROFILE)?.clone(),
        size_is_of_profile: true,
        plan: plan::Request::new(lab.engine.name(), lab.engine.capabilities(), 1),
        keep: Keep::No,
        settings: BTreeMap::new(),
        fresh: Fresh::Nothing,
        is_sampled: true,
        repositories: Vec::new(),
        explain: None,
        margin: None,
        host_metrics: Default::default(),
        facts: BTreeMap::new(),
        duet: false,
        via: None,
        password: lab.password.clone(),
        name: None,
        labels: BTreeMap::new(),
        command: String::new(),
    })
}

/// Session sampler.
fn sampler(lab: &Lab) -> Result<Option<Mutex<Sampler>>> {
    let blocks = lab.catalog.probes(lab.engine.name(), &lab.database.version().0);
    let sampler = Sampler::open(lab.database.as_ref(), &blocks)
        .map_err(|error| error.at(lab.engine.name()))?;
    Ok(sampler.map(Mutex::new))
}

/// All that a run reads, and the thread or process of the server that answers it.
struct Probes {
    set: ProbeSet,
    session: Option<u32>,
}

fn probes(lab: &Lab) -> Result<Probes> {
    let (storage, server_pids) = (lab.database.storage_path(), lab.database.server_pids());
    let context = ProbeContext {
        storage: storage.as_deref(),
        server_pids: &server_pids,
        ..ProbeContext::default()
    };
    let mut set = ProbeSet::host(&context);
    let mut session = lab.session(lab.engine.name())?;
    let blocks = lab.catalog.probes(lab.engine.name(), &lab.database.version().0);
    let own = blocks.iter().find(|block| block.name == "sessions.own");
    let own = own.and_then(|block| session.query(statement(&block.text), &[]).ok());
    let number = own.as_ref().and_then(|rows| rows.scalar()?.parse().ok());
    set.push(Box::new(SqlProbe::new(session, &blocks)));
    Ok(Probes { set, session: number })
}
