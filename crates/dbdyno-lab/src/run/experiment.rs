//! An experiment: which platforms are measured by which plans, in which blocks of tests, and until
//! when; and the one way in which every experiment is carried out.
//!
//! The executor opens the platforms, begins a run for each arm, makes the platforms ready at every
//! start of their servers, lets the design measure its blocks, records how the runs ended, and
//! closes what it opened. A design decides only which tests a server start has, in which order, and
//! whether another one follows.

use std::borrow::Cow;

use super::explain::explain;
use super::measured_run::{
    RunContext, adapted, begin_run, ended_by, finish_run, fitting, status_of, warn_of_the_target,
};
use super::paired_blocks::PairedBlocks;
pub use super::paired_blocks::Pairs;
use super::planned_blocks::PlannedBlocks;
use super::platform::Platform;
use super::prepare::{OpenRun, Ready, prepared};
use super::probing::Probing;
use super::schedule::ServerStart;
use super::{Event, Sink};
use crate::store::Store;
use dbdyno_core::error::{Error, Kind, Result};
use dbdyno_core::model::{Plan, RunRecord, RunStatus};
use dbdyno_engines::engine::Access;

/// An experiment that is asked for.
pub struct Experiment<'a> {
    /// Platforms or plans that are varied, and who is told of each; each arm gets a run.
    pub arms: Vec<RunContext<'a>>,
    /// Blocks of tests and their order, and what ends the experiment.
    pub design: Design,
}

/// The design of an experiment, as plain data.
#[derive(Debug, Clone, PartialEq)]
pub enum Design {
    /// The plan of the only arm in blocks: as often as the plan repeats its tests, with the fresh
    /// starts and loads that its request asks for.
    Planned,
    /// Blocks of pairs of tests, one of either arm, until every figure is decided.
    Pairs(Pairs),
}

/// Way in which an experiment ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExperimentEnded {
    /// Numbers of the runs in the results file, one for each arm.
    pub runs: Vec<i64>,
    /// Finished, interrupted or failed, of all runs.
    pub status: RunStatus,
    /// Last messages of a private server, if one ended on its own.
    pub last_words: Option<String>,
}

/// The tests of an experiment, server start by server start.
pub(super) trait Blocks {
    /// The order of the tests in a sentence, if it is worth one.
    fn describe(&self) -> Option<String>;

    /// The next start of all servers on which tests are measured; none if there is nothing more to
    /// measure.
    fn next_server_start(&mut self) -> Option<ServerStart>;

    /// Measures the tests of this server start, and stores each; gives how the experiment ended,
    /// if it did.
    ///
    /// # Errors
    /// If a result cannot be stored, or the data not be dropped.
    fn measure(
        &mut self,
        arms: &mut [ReadyArm<'_, '_>],
        store: &mut Store,
    ) -> Result<Option<RunStatus>>;

    /// True if the steps by which platforms are made ready are reported of the first server start
    /// only.
    fn is_brief(&self) -> bool;
}

/// An arm whose platform is ready to be measured.
pub(super) struct ReadyArm<'r, 'p> {
    pub ready: &'r Ready<'r>,
    pub probing: &'r mut Probing<'p>,
}

/// An experiment under way.
struct Execution<'e, 'a> {
    platforms: &'e mut [Platform],
    /// Those whose runs have begun.
    arms: Vec<OpenArm<'a>>,
    store: &'e mut Store,
}

/// An arm whose run has begun.
struct OpenArm<'a> {
    context: RunContext<'a>,
    record: RunRecord,
    probing: Probing<'a>,
}

/// An arm that is about to be made ready.
struct UnreadyArm<'u, 'a> {
    context: RunContext<'u>,
    platform: &'u Platform,
    record: &'u mut RunRecord,
    probing: &'u mut Probing<'a>,
}

/// Carries out an experiment to its end. Whatever happens after the platforms are open, every run
/// is recorded with what was measured, and the platforms are closed.
///
/// # Errors
/// Of a target before anything is measured (of kind `NoPassword` before anything is done), of the
/// data set, or of the results file; of usage if the arms do not suit the design.
pub fn execute(experiment: &Experiment<'_>, store: &mut Store) -> Result<ExperimentEnded> {
    let arms = &experiment.arms;
    let mut platforms = open(arms)?;
    let ended = on_platforms(experiment, &mut platforms, store);
    let ended = with_last_words(ended, &mut platforms);
    let closed = close(arms, platforms);
    let ended = ended.map_err(|error| ended_by_any(arms, error))?;
    closed.map(|()| ended)
}

/// Opens the platforms of all arms, or none.
fn open(arms: &[RunContext<'_>]) -> Result<Vec<Platform>> {
    let mut platforms: Vec<Platform> = Vec::new();
    for (at, arm) in arms.iter().enumerate() {
        match Platform::open(arm.request, Some(arm.plan), Access::Provision, arm.events) {
            Ok(mut platform) => {
                platform.heed(arm.interrupt);
                let is_known = |other: &RunContext<'_>| other.request.target == arm.request.target;
                if !arms[..at].iter().any(is_known) {
                    warn_of_the_target(arm, &platform);
                }
                platforms.push(platform);
            }
            Err(error) => {
                close(arms, platforms)?;
                return Err(ended_by(arm.interrupt, error));
            }
        }
    }
    Ok(platforms)
}

/// Closes all platforms, the last one first; the first error is told.
fn close(arms: &[RunContext<'_>], platforms: Vec<Platform>) -> Result<()> {
    let mut closed = Ok(());
    for (platform, arm) in platforms.into_iter().zip(arms).rev() {
        closed = closed.and(platform.close(arm.events));
    }
    closed
}

/// Meaning of an error after an interrupt of any arm.
fn ended_by_any(arms: &[RunContext<'_>], error: Error) -> Error {
    arms.iter().fold(error, |error, arm| ended_by(arm.interrupt, error))
}

/// Adds the last messages of a private server to a failure that its end caused.
fn with_last_words(
    ended: Result<ExperimentEnded>,
    platforms: &mut [Platform],
) -> Result<ExperimentEnded> {
    let mut last_words = || platforms.iter_mut().find_map(Platform::last_words);
    match ended {
        Ok(ended) if ended.status == RunStatus::Failed => {
            Ok(ExperimentEnded { last_words: last_words(), ..ended })
        }
        Err(error) if error.kind == Kind::Target => Err(match last_words() {
            Some(words) => Error { what: format!("{}: {words}", error.what), ..error },
            None => error,
        }),
        other => other,
    }
}

/// Measures on open platforms, and records the runs.
fn on_platforms(
    experiment: &Experiment<'_>,
    platforms: &mut [Platform],
    store: &mut Store,
) -> Result<ExperimentEnded> {
    note_each_other(platforms, experiment.arms.iter().any(|arm| arm.request.duet));
    let plan = |(arm, platform): (&RunContext<'_>, &Platform)| {
        fitting(adapted(arm, platform)?, platform, arm.events).map(Cow::into_owned)
    };
    let pairs = experiment.arms.iter().zip(&*platforms);
    let plans = pairs.map(plan).collect::<Result<Vec<Plan>>>()?;
    let arms = experiment.arms.iter().zip(&plans).map(|(arm, plan)| RunContext { plan, ..*arm });
    let arms: Vec<RunContext<'_>> = arms.collect();
    let mut blocks = blocks(&experiment.design, &arms)?;
    let mut execution = Execution { platforms, arms: Vec::new(), store };
    let outcome = execution
        .begin(&arms)
        .and_then(|()| execution.measure(blocks.as_mut()))
        .and_then(|status| execution.explain(status))
        .map_err(|error| ended_by_any(&arms, error));
    execution.finish(status_of(&outcome))?;
    outcome.map(|status| ExperimentEnded { runs: execution.runs(), status, last_words: None })
}

fn blocks<'a>(design: &Design, arms: &[RunContext<'a>]) -> Result<Box<dyn Blocks + 'a>> {
    match (design, arms) {
        (Design::Planned, [arm]) => Ok(Box::new(PlannedBlocks::new(arm))),
        (Design::Pairs(pairs), [a, b]) => Ok(Box::new(PairedBlocks::new(pairs, [a, b])?)),
        _ => Err(Error::usage("experiment", format!("{} arms do not suit it", arms.len()))),
    }
}

impl<'a> Execution<'_, 'a> {
    /// Begins the run of each arm.
    fn begin(&mut self, arms: &[RunContext<'a>]) -> Result<()> {
        for (arm, platform) in arms.iter().zip(&*self.platforms) {
            let (record, probing) = begin_run(arm, platform, self.store)?;
            self.arms.push(OpenArm { context: *arm, record, probing });
        }
        Ok(())
    }

    /// Measures the blocks on server start after server start.
    fn measure(&mut self, blocks: &mut dyn Blocks) -> Result<RunStatus> {
        if let (Some(order), Some(first)) = (blocks.describe(), self.arms.first()) {
            (first.context.events)(Event::Note(&order));
        }
        let mut is_first = true;
        while let Some(server_start) = blocks.next_server_start() {
            let is_brief = blocks.is_brief() && !is_first;
            if !is_first {
                self.start_anew(is_brief)?;
            }
            match self.on_server_start(blocks, &server_start, is_brief) {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => {}
                // Between two server starts: what was measured before is the result.
                Err(error) if error.kind == Kind::Interrupted && !is_first => {
                    return Ok(RunStatus::Interrupted);
                }
                Err(error) => return Err(error),
            }
            is_first = false;
        }
        Ok(RunStatus::Finished)
    }

    /// Starts the servers of all arms anew, as far as they are ours.
    fn start_anew(&mut self, is_brief: bool) -> Result<()> {
        for (platform, arm) in self.platforms.iter_mut().zip(&self.arms) {
            platform.restart(&sink(arm.context.events, is_brief))?;
        }
        let is_duet = self.arms.iter().any(|arm| arm.context.request.duet);
        note_each_other(self.platforms, is_duet);
        for (arm, platform) in self.arms.iter_mut().zip(&*self.platforms) {
            arm.probing = Probing::new(platform, arm.context.catalog, arm.context.events)?;
        }
        Ok(())
    }

    /// Makes all platforms ready and measures the tests of a server start.
    fn on_server_start(
        &mut self,
        blocks: &mut dyn Blocks,
        server_start: &ServerStart,
        is_brief: bool,
    ) -> Result<Option<RunStatus>> {
        let sinks: Vec<_> =
            self.arms.iter().map(|arm| sink(arm.context.events, is_brief)).collect();
        let arms = self.arms.iter_mut().zip(&*self.platforms).zip(&sinks);
        let unready = arms.map(|((arm, platform), sink)| {
            let OpenArm { context, record, probing } = arm;
            let context = RunContext { events: sink, ..*context };
            UnreadyArm { context, platform, record, probing }
        });
        let mut unready: Vec<UnreadyArm<'_, '_>> = unready.collect();
        let mut work =
            |arms: &mut [ReadyArm<'_, '_>], store: &mut Store| blocks.measure(arms, store);
        with_ready(&mut unready, Vec::new(), server_start, self.store, &mut work)
    }

    /// Tries out what limits the tests of a run that has finished, if that is asked for.
    fn explain(&mut self, status: RunStatus) -> Result<RunStatus> {
        let ([arm], [platform]) = (self.arms.as_mut_slice(), &mut *self.platforms) else {
            return Ok(status);
        };
        match arm.context.request.explain.filter(|_| status == RunStatus::Finished) {
            None => Ok(status),
            Some(most_blocks) => {
                let run = OpenRun { record: &mut arm.record, store: self.store };
                explain(&arm.context, platform, run, most_blocks)
            }
        }
    }

    /// Records how the runs that have begun ended.
    fn finish(&mut self, status: RunStatus) -> Result<()> {
        self.arms.iter().try_for_each(|arm| finish_run(arm.record.id, status, self.store))
    }

    /// Numbers of the runs in the results file.
    fn runs(&self) -> Vec<i64> {
        self.arms.iter().map(|arm| arm.record.id).collect()
    }
}

/// Makes the servers of a duet known to each other, so that neither counts as another process.
fn note_each_other(platforms: &mut [Platform], is_duet: bool) {
    if let ([first, second], true) = (platforms, is_duet) {
        first.note_concurrent(second);
        second.note_concurrent(first);
    }
}

/// Receiver of the events of a server start; a brief one does not report again how platforms are
/// made ready.
fn sink<'a>(events: &'a Sink<'a>, is_brief: bool) -> impl Fn(Event<'_>) + Sync + 'a {
    move |event: Event<'_>| {
        let is_preparation =
            matches!(event, Event::Step(_) | Event::Note(_) | Event::Load(_) | Event::Loaded(_));
        if !(is_brief && is_preparation) {
            events(event);
        }
    }
}

/// Work on arms that are all ready.
type Work<'w, 'p> =
    dyn FnMut(&mut [ReadyArm<'_, 'p>], &mut Store) -> Result<Option<RunStatus>> + 'w;

/// Makes the `unready` arms ready, one after the other, and gives all to `work`.
fn with_ready<'p>(
    unready: &mut [UnreadyArm<'_, 'p>],
    ready: Vec<ReadyArm<'_, 'p>>,
    server_start: &ServerStart,
    store: &mut Store,
    work: &mut Work<'_, 'p>,
) -> Result<Option<RunStatus>> {
    let mut all = ready;
    let Some((arm, rest)) = unready.split_first_mut() else { return work(&mut all, store) };
    let run = &mut OpenRun { record: arm.record, store };
    prepared(&arm.context, arm.platform, server_start, arm.probing, run, |ready, probing, store| {
        let mut all: Vec<ReadyArm<'_, 'p>> = all;
        all.push(ReadyArm { ready, probing });
        with_ready(rest, all, server_start, store, work)
    })
}
