//! Behavior of a cluster when a node fails: clients commit and keep a ledger, a node fails, and
//! what they could do and what is left of their commits is measured, several times, on a fresh
//! private cluster each time.

use std::time::{Duration, Instant};

use super::experiment::{self, Design, Execution, Experiment, OnlyPlatform};
use super::measured_run::{RunEnd, ended_by};
use super::prepare::OpenRun;
use super::{Event, Platform, Request, RunContext};
use crate::store::{self, Store};
use dbdyno_core::catalog::Catalog;
use dbdyno_core::error::{Error, Kind, Result};
use dbdyno_core::model::{How, Plan, RunStatus, Target};

mod faults;
mod node_audit;
mod record;
mod timed_session;
mod trial;
mod writers;

use trial::{Trial, interrupt_error};

/// Longest wait until an existing cluster that was repaired is whole.
const WHOLE: Duration = Duration::from_secs(300);
/// Interval between two checks of that.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Request of a failover test in addition to the target.
#[derive(Debug, Clone, PartialEq)]
pub struct FailoverOptions {
    /// Fault of a node of a private cluster.
    pub how: How,
    /// Commands of the user for an existing cluster.
    pub commands: Option<Commands>,
    /// Makes another node take writes, where the cluster does not do that itself; none on a private
    /// cluster = we do.
    pub promote: Option<String>,
    /// The node that is to fail; none = the first that takes writes.
    pub node: Option<String>,
    /// Number of clients that commit.
    pub jobs: u32,
    /// Load before the failure, and after it at most, in s.
    pub before_s: f64,
    /// Longest load after the failure, in s.
    pub after_s: f64,
    /// Client timeout: time in s after which a client gives up waiting for an answer.
    pub timeout_s: f64,
    /// Clients send an unanswered commit again.
    pub resends: bool,
    /// Number of failures, one after another.
    pub repetitions: u32,
}

/// Commands that make a node of an existing cluster fail, and make it whole again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commands {
    /// Command that makes the node fail.
    pub fault: String,
    /// Command that repairs the node.
    pub repair: String,
}

impl FailoverOptions {
    fn timeout(&self) -> Duration {
        Duration::from_secs_f64(self.timeout_s)
    }
}

/// The engine's statements.
struct Statements<'a> {
    drop: &'a str,
    create: &'a str,
    insert: &'a str,
    read: &'a str,
    member: &'a str,
    durability: &'a str,
    received: Option<&'a str>,
    promote: Option<&'a str>,
}

impl<'a> Statements<'a> {
    fn from_catalog(catalog: &'a Catalog, engine: &str) -> Result<Statements<'a>> {
        let none = || {
            Error::usage(
                "TARGET",
                format!("of {engine} no clusters are known whose nodes can fail"),
            )
        };
        let get = |name| catalog.failover(engine, name);
        let must = |name| get(name).ok_or_else(none);
        Ok(Statements {
            drop: must("drop")?,
            create: must("create")?,
            insert: must("insert")?,
            read: must("read")?,
            member: must("member")?,
            durability: must("durability")?,
            received: get("received"),
            promote: get("promote"),
        })
    }
}

/// The plan of a run that has nothing but repetitions of a failover.
pub fn plan(request: &Request) -> Plan {
    Plan {
        engine: request.target.engine().into(),
        suite: "failover".into(),
        seed: request.plan.seed,
        key_seed: request.plan.key_seed.unwrap_or(request.plan.seed),
        size_gb: 0.0,
        jobs_given: true,
        redo_disturbed: 0,
        note: None,
        tables: Vec::new(),
        selections: Vec::new(),
        left_out: Vec::new(),
        calibration: None,
    }
}

/// Measures all repetitions; each is stored before the next one starts.
///
/// # Errors
/// The target is no cluster, a command fails, of the target; interrupted.
pub fn run(
    context: &RunContext<'_>,
    options: &FailoverOptions,
    store: &mut Store,
) -> Result<RunEnd> {
    let engine = context.request.engine()?;
    let statements = Statements::from_catalog(context.catalog, engine.name())?;
    let mut failures = Failures { options, statements };
    let experiment = Experiment { arms: vec![*context], design: &mut failures };
    experiment::execute(experiment, store).map(RunEnd::from_experiment)
}

/// Failures of a cluster, one after another. They are no stages: each breaks its platform, and the
/// next one has another.
struct Failures<'a> {
    options: &'a FailoverOptions,
    statements: Statements<'a>,
}

impl Design for Failures<'_> {
    fn admit(&self, _: &[RunContext<'_>], platforms: &[Platform]) -> Result<()> {
        platforms.iter().try_for_each(check)
    }

    fn plan(&mut self, arm: &RunContext<'_>, _: &Platform) -> Result<Plan> {
        Ok(arm.plan.clone())
    }

    fn carry_out(&mut self, execution: &mut Execution<'_, '_>) -> Result<RunStatus> {
        let OnlyPlatform { context, platform, run } = execution.only_platform()?;
        let done = repetitions(&context, self.options, &self.statements, platform, run);
        match done.map_err(|error| ended_by(context.interrupt, error)) {
            Err(error) if error.kind == Kind::Interrupted => Ok(RunStatus::Interrupted),
            done => done.map(|()| RunStatus::Finished),
        }
    }

    fn clear(&mut self, arm: &RunContext<'_>, platform: &mut Platform) -> Result<()> {
        leave(arm, platform, self.statements.drop);
        Ok(())
    }
}

fn check(platform: &Platform) -> Result<()> {
    if platform.database.nodes().len() > 1 {
        return Ok(());
    }
    Err(Error::usage(platform.label(), "is not a cluster")
        .advise("name all its nodes: scheme://user@a,b,c/?nodes=all"))
}

/// Removes the ledger from an existing cluster, or says that it stays.
fn leave(context: &RunContext<'_>, platform: &mut Platform, drop_ledger: &str) {
    if !matches!(context.request.target, Target::Existing { .. }) {
        return;
    }
    let label = platform.label();
    let dropped = platform.reopen().and_then(|()| {
        let dropped =
            platform.database.session().and_then(|mut session| session.execute(drop_ledger));
        dropped.map_err(|error| error.at(label))
    });
    if let Err(error) = dropped {
        let left = format!("dbdyno.failover_ledger stays, 'dbdyno clean' removes it ({error})");
        return (context.events)(Event::LeftBehind(&left));
    }
    let note = "the ledger is removed; our schema stays, 'dbdyno clean' removes it";
    (context.events)(Event::Note(note));
}

fn repetitions(
    context: &RunContext<'_>,
    options: &FailoverOptions,
    statements: &Statements<'_>,
    platform: &mut Platform,
    run: OpenRun<'_>,
) -> Result<()> {
    let is_private = matches!(context.request.target, Target::Private { .. });
    let trial = Trial {
        options,
        statements,
        is_private,
        interrupt: context.interrupt,
        events: context.events,
    };
    for seq in 1..=options.repetitions {
        if seq > 1 {
            renew_cluster(context, platform)?;
        }
        (context.events)(Event::Step(&format!("repetition {seq} of {}", options.repetitions)));
        let started_at = store::now();
        let measured = trial.measure(platform)?;
        run.store.save_test(
            run.record.id,
            &record::result(seq, options.jobs, started_at, &measured, is_private),
        )?;
        measured.repaired?;
    }
    Ok(())
}

/// A cluster that is whole again: a private one is made anew, an existing one is waited for.
fn renew_cluster(context: &RunContext<'_>, platform: &mut Platform) -> Result<()> {
    if matches!(context.request.target, Target::Private { .. }) {
        return platform.renew(context.request, context.events);
    }
    (context.events)(Event::Step("waiting until all nodes answer again"));
    let (nodes, deadline) = (platform.database.nodes().len(), Instant::now() + WHOLE);
    loop {
        let whole = platform.reopen().and_then(|()| {
            let placement = platform
                .database
                .place_jobs(None, true)
                .map_err(|error| error.at(platform.label()))?;
            let is_whole = placement.missing.is_empty() && platform.database.nodes().len() == nodes;
            if is_whole {
                Ok(())
            } else {
                Err(Error::target(platform.label(), "not all nodes answer again"))
            }
        });
        match whole {
            Err(_) if context.interrupt.is_set() => return Err(interrupt_error()),
            Err(_) if Instant::now() < deadline => std::thread::sleep(POLL_INTERVAL),
            done => return done,
        }
    }
}
