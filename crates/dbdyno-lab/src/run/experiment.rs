//! An experiment: which platforms are measured by which plans, in which order of tests, and until
//! when; and the one way in which every experiment is carried out.
//!
//! The executor opens the platforms, begins a run for each arm, records how the runs ended, and
//! closes what it opened. What is measured in between is up to the design. Most designs have
//! blocks, which say stage by stage what is measured on which servers; the executor makes those
//! ready.

use super::evict::EvictionNote;
use super::measured_run::{
    RunContext, adapt_plan, begin_run, ended_by, finish_run, fit_plan, status_of,
    warn_of_the_target,
};
use super::platform::Platform;
use super::prepare::{OpenRun, ReadyPlatform, UnreadyArm, with_ready_platform};
use super::probing::Probing;
use super::schedule::ServerStart;
use super::{Event, Sink};
use crate::server::Setup;
use crate::store::Store;
use dbdyno_core::error::{Error, Kind, Result};
use dbdyno_core::model::{Plan, RunRecord, RunStatus};
use dbdyno_engines::engine::Access;

/// An experiment that is asked for.
pub(super) struct Experiment<'a> {
    /// Platforms or plans that are varied, each with its receiver of events. Each arm gets a run.
    pub arms: Vec<RunContext<'a>>,
    /// Design: the tests of the arms, their order and their end. It keeps the findings that are not
    /// results of tests.
    pub design: &'a mut dyn Design,
}

/// Course of an experiment on its open platforms.
pub(super) trait Design {
    /// Checks the open platforms before anything is done on them. [`Design::clear`] follows only if
    /// they are admitted.
    ///
    /// # Errors
    /// If nothing may be measured on one of them.
    fn admit(&self, arms: &[RunContext<'_>], platforms: &[Platform]) -> Result<()> {
        for (at, (arm, platform)) in arms.iter().zip(platforms).enumerate() {
            let is_same = |other: &RunContext<'_>| other.request.target == arm.request.target;
            if !arms[..at].iter().any(is_same) {
                warn_of_the_target(arm, platform);
            }
        }
        Ok(())
    }

    /// The plan of an arm as far as its platform can run it.
    ///
    /// # Errors
    /// Nothing is left to run.
    fn plan(&mut self, arm: &RunContext<'_>, platform: &Platform) -> Result<Plan> {
        let plan = fit_plan(adapt_plan(arm, platform)?, platform, arm.events)?;
        Ok(plan.into_owned())
    }

    /// Measures everything and stores each test. Returns the status with which the experiment
    /// ended.
    ///
    /// # Errors
    /// The arms do not suit the design (before a run begins); errors of the data set or the results
    /// file.
    fn carry_out(&mut self, execution: &mut Execution<'_, '_>) -> Result<RunStatus>;

    /// Removes everything that the design created on a platform, also after an error.
    ///
    /// # Errors
    /// If that cannot be done.
    fn clear(&mut self, _: &RunContext<'_>, _: &mut Platform) -> Result<()> {
        Ok(())
    }
}

/// Runs of an experiment that has ended, and their status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExperimentEnd {
    /// Numbers of the runs in the results file, one for each arm.
    pub runs: Vec<i64>,
    /// Common status of all runs: finished, interrupted or failed.
    pub status: RunStatus,
    /// Last messages of a private server, if one ended on its own.
    pub last_words: Option<String>,
}

/// A part of an experiment in which the servers do not change.
pub(super) struct Stage {
    /// Server start and load that the tests belong to, and the tests as far as they are planned.
    pub server_start: ServerStart,
    pub servers: Servers,
    /// Plan in place of the plans of the arms; none if those apply.
    pub plan: Option<Plan>,
    pub reported: StageEvents,
}

/// Change of the private servers before a stage.
pub(super) enum Servers {
    /// The servers keep running.
    RunOn,
    /// The servers are restarted, except before the first stage: they have just been started.
    Anew,
    /// The servers are restarted in another setup, until a stage without it or the end.
    In(Setup),
}

/// Events of a stage that are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StageEvents {
    All,
    /// Events of tests only, without the preparation of the platforms.
    Tests,
    Nothing,
}

/// The tests of an experiment, stage by stage.
pub(super) trait Blocks {
    /// Sentence about the order of the tests; none if the order is the usual one.
    fn describe(&self) -> Option<String> {
        None
    }

    /// The next stage; none if there is nothing more to measure.
    ///
    /// # Errors
    /// A finding cannot be stored, or is not valid.
    fn next_stage(&mut self, store: &mut Store) -> Result<Option<Stage>>;

    /// Measures and stores the tests of this stage. Returns a status if the experiment ends with
    /// it.
    ///
    /// # Errors
    /// A result cannot be stored, or the data cannot be dropped.
    fn measure(
        &mut self,
        arms: &mut [ReadyArm<'_, '_>],
        store: &mut Store,
    ) -> Result<Option<RunStatus>>;

    /// Handles the error that ended a stage. Returns a status if the experiment ends with it.
    ///
    /// # Errors
    /// The given error, if it also ends the experiment.
    fn handle_error(&mut self, error: Error) -> Result<Option<RunStatus>> {
        Err(error)
    }
}

/// An arm whose platform is ready to be measured.
pub(super) struct ReadyArm<'r, 'p> {
    pub ready: &'r ReadyPlatform<'r>,
    pub probing: &'r mut Probing<'p>,
}

/// An experiment under way, on open platforms.
pub(super) struct Execution<'e, 'a> {
    /// The arms with the plans that their platforms can run.
    pub arms: Vec<RunContext<'a>>,
    platforms: &'e mut [Platform],
    /// The runs of the arms, which begin with the first measurement.
    runs: Vec<BegunRun<'a>>,
    store: &'e mut Store,
    has_measured: bool,
    /// True while private servers run in another setup than the one they were opened with.
    is_set_up_otherwise: bool,
}

/// The run of an arm.
struct BegunRun<'a> {
    record: RunRecord,
    /// Probes that the disclosure of the platform opened, for the first stage; none afterwards.
    probing: Option<Probing<'a>>,
    eviction_note: EvictionNote,
}

/// The only platform of an experiment, with its run.
pub(super) struct OnlyPlatform<'x, 'a> {
    pub context: RunContext<'a>,
    pub platform: &'x mut Platform,
    pub run: OpenRun<'x>,
}

/// Carries out an experiment to its end. Whatever happens after the platforms are open, every run
/// that began is recorded with what was measured, and the platforms are closed.
///
/// # Errors
/// Of a target before anything is measured (of kind `NoPassword` before anything is done), of the
/// data set, or of the results file; those of the design.
pub(super) fn execute(experiment: Experiment<'_>, store: &mut Store) -> Result<ExperimentEnd> {
    let Experiment { arms, design } = experiment;
    for arm in &arms {
        store.heed(arm.interrupt.flag());
        if let Some(workers) = arm.workers {
            workers.lock().heed(arm.interrupt.flag());
        }
    }
    let mut platforms = open(&arms)?;
    let ended = on_platforms(&arms, design, &mut platforms, store);
    let ended = with_last_words(ended, &mut platforms);
    let closed = close(&arms, platforms);
    let ended = ended.map_err(|error| {
        tell_what_stays(&arms, &closed);
        ended_by_any(&arms, error)
    })?;
    closed.map(|()| ended)
}

/// Tells what could not be removed, where the error to report is another one.
fn tell_what_stays(arms: &[RunContext<'_>], closed: &Result<()>) {
    if let (Some(arm), Err(stays)) = (arms.first(), closed) {
        (arm.events)(Event::LeftBehind(&stays.to_string()));
    }
}

/// Opens the platforms of all arms, or none.
fn open(arms: &[RunContext<'_>]) -> Result<Vec<Platform>> {
    let mut platforms: Vec<Platform> = Vec::new();
    for arm in arms {
        let RunContext { request, plan, interrupt, events, .. } = *arm;
        match Platform::open(request, Some(plan), Access::Provision, interrupt, events) {
            Ok(platform) => platforms.push(platform),
            Err(error) => {
                tell_what_stays(arms, &close(arms, platforms));
                return Err(ended_by(interrupt, error));
            }
        }
    }
    Ok(platforms)
}

/// Closes all platforms, the last one first, and returns the first error; further ones are told.
fn close(arms: &[RunContext<'_>], platforms: Vec<Platform>) -> Result<()> {
    let mut closed = Ok(());
    for (platform, arm) in platforms.into_iter().zip(arms).rev() {
        let this = platform.close(arm.events);
        if closed.is_err() {
            tell_what_stays(arms, &this);
        }
        closed = closed.and(this);
    }
    closed
}

/// Meaning of an error after an interrupt of any arm.
fn ended_by_any(arms: &[RunContext<'_>], error: Error) -> Error {
    arms.iter().fold(error, |error, arm| ended_by(arm.interrupt, error))
}

/// Adds the last messages of a private server to a failure that its end caused.
fn with_last_words(
    ended: Result<ExperimentEnd>,
    platforms: &mut [Platform],
) -> Result<ExperimentEnd> {
    let mut last_words = || platforms.iter_mut().find_map(Platform::last_words);
    match ended {
        Ok(ended) if ended.status == RunStatus::Failed => {
            Ok(ExperimentEnd { last_words: last_words(), ..ended })
        }
        Err(error) if error.kind == Kind::Target => Err(match last_words() {
            Some(words) => Error { what: format!("{}: {words}", error.what), ..error },
            None => error,
        }),
        other => other,
    }
}

/// Measures on open platforms, and clears them.
fn on_platforms(
    arms: &[RunContext<'_>],
    design: &mut dyn Design,
    platforms: &mut [Platform],
    store: &mut Store,
) -> Result<ExperimentEnd> {
    design.admit(arms, platforms)?;
    note_each_other(platforms, arms.iter().any(|arm| arm.request.duet));
    let ended = measure_arms(arms, design, platforms, store);
    let mut cleared = Ok(());
    for (arm, platform) in arms.iter().zip(platforms) {
        cleared = cleared.and(design.clear(arm, platform));
    }
    let ended = ended?;
    cleared.map(|()| ended)
}

/// Measures what the design says, and records the runs.
fn measure_arms(
    arms: &[RunContext<'_>],
    design: &mut dyn Design,
    platforms: &mut [Platform],
    store: &mut Store,
) -> Result<ExperimentEnd> {
    let plan = |(arm, platform)| design.plan(arm, platform);
    let plans = arms.iter().zip(&*platforms).map(plan).collect::<Result<Vec<Plan>>>()?;
    let planned = arms.iter().zip(&plans).map(|(arm, plan)| RunContext { plan, ..*arm });
    let mut execution = Execution {
        arms: planned.collect(),
        platforms,
        runs: Vec::new(),
        store,
        has_measured: false,
        is_set_up_otherwise: false,
    };
    let outcome = design.carry_out(&mut execution).map_err(|error| ended_by_any(arms, error));
    let finished = execution.finish(status_of(&outcome));
    let runs = execution.runs.iter().map(|run| run.record.id).collect();
    match outcome {
        // The first error of the results tells what is missing there.
        Err(error) if error.kind == Kind::Results => Err(error),
        outcome => {
            finished?;
            outcome.map(|status| ExperimentEnd { runs, status, last_words: None })
        }
    }
}

impl<'a> Execution<'_, 'a> {
    /// Measures the blocks stage after stage. Servers that were started in another setup have their
    /// own again afterwards.
    ///
    /// # Errors
    /// Errors of a stage that the blocks do not handle; a server does not start.
    pub(super) fn measure(&mut self, blocks: &mut dyn Blocks) -> Result<RunStatus> {
        self.begin()?;
        if let (Some(order), Some(first)) = (blocks.describe(), self.arms.first()) {
            (first.events)(Event::Note(&order));
        }
        let ended = self.stages(blocks);
        match self.set_up_as_before() {
            // They are in their own setup, and nobody needs to wait until they answer.
            Err(error) if error.kind == Kind::Interrupted => ended.map(|_| RunStatus::Interrupted),
            restored => restored.and(ended),
        }
    }

    /// The only platform as it is, for what a design does there without stages: its probes are
    /// closed.
    ///
    /// # Errors
    /// There are several; the run cannot begin.
    pub(super) fn only_platform(&mut self) -> Result<OnlyPlatform<'_, 'a>> {
        self.begin()?;
        let several = unsuitable(&self.arms);
        match (self.arms.as_slice(), &mut *self.platforms, self.runs.as_mut_slice()) {
            ([context], [platform], [BegunRun { record, probing, .. }]) => {
                *probing = None;
                let run = OpenRun { record, store: self.store };
                Ok(OnlyPlatform { context: *context, platform, run })
            }
            _ => Err(several),
        }
    }

    /// Begins the run of each arm, if that has not been done.
    fn begin(&mut self) -> Result<()> {
        for (arm, platform) in self.arms.iter().zip(&*self.platforms).skip(self.runs.len()) {
            let (record, probing) = begin_run(arm, platform, self.store)?;
            let (probing, eviction_note) = (Some(probing), EvictionNote::default());
            self.runs.push(BegunRun { record, probing, eviction_note });
        }
        Ok(())
    }

    fn stages(&mut self, blocks: &mut dyn Blocks) -> Result<RunStatus> {
        while let Some(stage) = blocks.next_stage(self.store)? {
            let ended = self.on_stage(blocks, &stage);
            let is_first = !std::mem::replace(&mut self.has_measured, true);
            let ended = match ended {
                // Between two stages: what was measured before is the result.
                Err(error) if error.kind == Kind::Interrupted && !is_first => {
                    Some(RunStatus::Interrupted)
                }
                Err(error) => blocks.handle_error(error)?,
                Ok(ended) => ended,
            };
            if let Some(status) = ended {
                return Ok(status);
            }
        }
        Ok(RunStatus::Finished)
    }

    /// Makes all platforms ready and measures the tests of a stage.
    fn on_stage(&mut self, blocks: &mut dyn Blocks, stage: &Stage) -> Result<Option<RunStatus>> {
        self.start(stage)?;
        let sinks: Vec<_> = self.arms.iter().map(|arm| sink(arm.events, stage.reported)).collect();
        let mut probings = self.probings(stage.reported)?;
        let platforms = self.arms.iter().zip(&*self.platforms);
        let runs = self.runs.iter_mut().zip(&mut probings);
        let arms = platforms.zip(runs).zip(&sinks);
        let unready = arms.map(|(((arm, platform), (run, probing)), sink)| {
            let plan = stage.plan.as_ref().unwrap_or(arm.plan);
            let context = RunContext { plan, events: sink, ..*arm };
            let (record, eviction_note) = (&mut run.record, &run.eviction_note);
            UnreadyArm { context, platform, record, probing, eviction_note }
        });
        let mut unready: Vec<UnreadyArm<'_, '_>> = unready.collect();
        let mut work =
            |arms: &mut [ReadyArm<'_, '_>], store: &mut Store| blocks.measure(arms, store);
        with_ready(&mut unready, Vec::new(), &stage.server_start, self.store, &mut work)
    }

    /// Changes the servers as the stage requires.
    fn start(&mut self, stage: &Stage) -> Result<()> {
        match &stage.servers {
            Servers::RunOn => self.set_up_as_before(),
            Servers::Anew if !self.has_measured => Ok(()),
            Servers::Anew => self.start_anew(stage.reported),
            Servers::In(setup) => {
                self.is_set_up_otherwise = true;
                self.platforms.iter_mut().try_for_each(|platform| platform.restart_with(setup))
            }
        }
    }

    fn start_anew(&mut self, reported: StageEvents) -> Result<()> {
        for (platform, arm) in self.platforms.iter_mut().zip(&self.arms) {
            platform.restart(&sink(arm.events, reported))?;
        }
        note_each_other(self.platforms, self.arms.iter().any(|arm| arm.request.duet));
        Ok(())
    }

    /// Starts the servers in the setup that they were opened with, if they are in another one.
    fn set_up_as_before(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.is_set_up_otherwise) {
            return Ok(());
        }
        let own = Setup::default();
        let mut restored = Ok(());
        for platform in &mut *self.platforms {
            restored = restored.and(platform.restart_with(&own));
        }
        restored
    }

    /// Probes of all platforms as they are now.
    fn probings(&mut self, reported: StageEvents) -> Result<Vec<Probing<'a>>> {
        let silent: &Sink<'a> = &|_| ();
        let probing =
            |((arm, platform), run): ((&RunContext<'a>, &Platform), &mut BegunRun<'a>)| {
                let events = if reported == StageEvents::Nothing { silent } else { arm.events };
                let opened = run.probing.take();
                opened.map_or_else(|| Probing::new(platform, arm.catalog, events), Ok)
            };
        let platforms = self.arms.iter().zip(&*self.platforms);
        platforms.zip(&mut self.runs).map(probing).collect()
    }

    /// Records how the runs that have begun ended.
    fn finish(&mut self, status: RunStatus) -> Result<()> {
        self.runs.iter().try_for_each(|run| finish_run(run.record.id, status, self.store))
    }
}

/// Error of a design for another number of arms.
pub(super) fn unsuitable(arms: &[RunContext<'_>]) -> Error {
    Error::usage("experiment", format!("{} arms do not suit it", arms.len()))
}

/// Makes the servers of a duet known to each other, so that neither counts as another process.
fn note_each_other(platforms: &mut [Platform], is_duet: bool) {
    if let ([first, second], true) = (platforms, is_duet) {
        first.note_concurrent(second);
        second.note_concurrent(first);
    }
}

/// Receiver of the events of a stage.
fn sink<'a>(events: &'a Sink<'a>, reported: StageEvents) -> impl Fn(Event<'_>) + Sync + 'a {
    move |event: Event<'_>| {
        let is_preparation =
            matches!(event, Event::Step(_) | Event::Note(_) | Event::Load(_) | Event::Loaded(_));
        if reported == StageEvents::All || reported == StageEvents::Tests && !is_preparation {
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
    with_ready_platform(arm, server_start, store, |ready, probing, store| {
        let mut all: Vec<ReadyArm<'_, 'p>> = all;
        all.push(ReadyArm { ready, probing });
        with_ready(rest, all, server_start, store, work)
    })
}
