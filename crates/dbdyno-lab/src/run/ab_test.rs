//! An A/B test: blocks of trials of two sides in random order, until every figure is decided or the
//! time is over.
//!
//! A block takes the figures that are still open in an order drawn from the seed, and of each a
//! trial of A and one of B, right after each other, on private servers after a new start of both;
//! chance decides which comes first (A. Abedi, T. Brecht, "Conducting repeatable experiments in
//! highly variable cloud computing environments", ICPE 2017). Every trial is a test of its side's
//! run. A duet takes both at the same time, twice, on swapped halves of the processors.

use std::time::Instant;

use super::duet::{self, DuetSide};
use super::evict::Evictor;
use super::measure::{MeasureContext, Step, StoredTest};
use super::measured_run::{Ended, adapted, fitting, recorded};
use super::numbers::Numbers;
use super::platform::Platform;
use super::prepare::{OpenRun, prepared};
use super::probing::Probing;
use super::schedule::{Answers, ServerStart, shuffle};
use super::{Event, RunContext, Sink};
use crate::store::Store;
use dbdyno_core::analysis::ab_test::{Blocks, Outcome, Rule, Span, Trial};
use dbdyno_core::error::{Error, Kind, Result};
use dbdyno_core::model::{Better, Ramp, RunStatus, Selection, Sentence, Target, Verdict};
use dbdyno_core::stats::keys::KeyStream;
use dbdyno_engines::engine::Access;
use dbdyno_engines::host::Halves;

/// An A/B test that is asked for.
pub struct Trials<'a> {
    /// A and B, each with the label that says so.
    pub sides: [RunContext<'a>; 2],
    /// Ratios of B to A within 1/(1 + margin) to 1 + margin count as equal.
    pub margin: f64,
    /// No block begins later, in s from the first trial.
    pub most_s: f64,
    /// Both sides at the same time.
    pub duet: bool,
}

/// Way in which an A/B test ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialsEnded {
    /// Of A and B.
    pub runs: [i64; 2],
    /// Finished, interrupted or failed, of both runs.
    pub status: RunStatus,
    /// Last messages of a private server, if it ended.
    pub last_words: Option<String>,
}

/// One figure that is compared.
struct Figure {
    /// Index into the selections of the plans of A and B.
    selections: [usize; 2],
    jobs: u32,
    /// As messages call it.
    label: String,
    better: Better,
    blocks: Blocks,
}

/// Trials of a figure in a block: A (0) and B (1) in their order, and the seconds that the whole
/// A/B test has left.
struct PairTurn {
    order: [usize; 2],
    left_s: f64,
}

/// A side, whose trials are taken one after the other.
trait TrialSource {
    /// One test of the figure, which is stored; none if it failed.
    fn trial(
        &mut self,
        figure: &Figure,
        numbers: &mut Numbers,
        left_s: f64,
        store: &mut Store,
    ) -> Result<(Option<StoredTest>, Step)>;
}

/// A side that is ready.
struct Side<'a, 'm, 'p> {
    measuring: &'a MeasureContext<'m>,
    probing: &'a mut Probing<'p>,
    /// 0 for A, 1 for B.
    at: usize,
}

/// Progress of an A/B test.
struct AbTestProgress {
    figures: Vec<Figure>,
    /// Of the tests of A and B.
    numbers: [Numbers; 2],
    /// Number of the last block.
    block: u32,
    /// Of the first block.
    begin: Instant,
    /// CPUs of the two sides of a duet.
    halves: Option<Halves>,
}

impl AbTestProgress {
    /// Number of the start of a server for the next block.
    fn starts(&self, is_fresh: bool) -> u32 {
        if is_fresh { self.block + 1 } else { 1 }
    }
}

/// Opens both sides and measures blocks. Whatever happens then, both runs are recorded with what
/// was measured, and both sides are closed.
///
/// # Errors
/// As [`super::measured_run::execute`], of either side; no workload is in both plans.
pub fn run(trials: &Trials<'_>, store: &mut Store) -> Result<TrialsEnded> {
    if trials.duet {
        let (plans, halves) = duet::checked(&trials.sides)?;
        let [a, b] = trials.sides;
        let sides = [RunContext { plan: &plans[0], ..a }, RunContext { plan: &plans[1], ..b }];
        return opened(&Trials { sides, ..*trials }, Some(halves), store);
    }
    opened(trials, None, store)
}

fn opened(trials: &Trials<'_>, halves: Option<Halves>, store: &mut Store) -> Result<TrialsEnded> {
    let [a, b] = &trials.sides;
    let mut first = Platform::open(a.request, Some(a.plan), Access::Provision, a.events)?;
    let mut second = match Platform::open(b.request, Some(b.plan), Access::Provision, b.events) {
        Ok(second) => second,
        Err(error) => return first.close(a.events).and(Err(error)),
    };
    first.heed(a.interrupt);
    second.heed(b.interrupt);
    let result = measured(trials, [&mut first, &mut second], halves, store).map(|ended| {
        let is_over = ended.status == RunStatus::Failed;
        let last_words =
            if is_over { first.last_words().or_else(|| second.last_words()) } else { None };
        TrialsEnded { last_words, ..ended }
    });
    let closed = [second.close(b.events), first.close(a.events)];
    let ended = result?;
    closed.into_iter().collect::<Result<()>>().map(|()| ended)
}

fn measured(
    trials: &Trials<'_>,
    [first, second]: [&mut Platform; 2],
    halves: Option<Halves>,
    store: &mut Store,
) -> Result<TrialsEnded> {
    know_each_other(trials, first, second);
    let [a, b] = trials.sides;
    let plan = |side: &RunContext<'_>, platform: &Platform| {
        adapted(side, platform)
            .and_then(|plan| fitting(plan, platform, side.events))
            .map(|plan| plan.into_owned())
    };
    let plans = [plan(&a, first)?, plan(&b, second)?];
    let (a, b) = (RunContext { plan: &plans[0], ..a }, RunContext { plan: &plans[1], ..b });
    let figures = figures([&a, &b])?;
    let mut progress = AbTestProgress {
        figures,
        numbers: Default::default(),
        block: 0,
        begin: Instant::now(),
        halves,
    };
    let is_fresh =
        [&a, &b].iter().any(|side| matches!(side.request.target, Target::Private { .. }));
    let mut other = None;
    let base = recorded(&a, first, store, |first, probing_a, run_a| {
        let ended: Ended = recorded(&b, second, run_a.store, |second, probing_b, run_b| {
            let mut probings = [probing_a, probing_b];
            loop {
                // Not of the blocks before: only what the tests do is told again and again.
                let block = progress.block;
                let events = |event: Event<'_>| forward_event(a.events, block, event);
                let (a, b) =
                    (RunContext { events: &events, ..a }, RunContext { events: &events, ..b });
                let server_start = ServerStart {
                    load: 1,
                    server_start: progress.starts(is_fresh),
                    turns: Vec::new(),
                };
                let [probing_a, probing_b] = &mut probings;
                let run_a = &mut OpenRun { record: run_a.record, store: run_b.store };
                let status = prepared(
                    &a,
                    first,
                    &server_start,
                    probing_a,
                    run_a,
                    |ready_a, probing_a, store| {
                        let run_b = &mut OpenRun { record: run_b.record, store };
                        prepared(
                            &b,
                            second,
                            &server_start,
                            probing_b,
                            run_b,
                            |ready_b, probing_b, store| {
                                let side_a = Side {
                                    measuring: &ready_a.measuring,
                                    probing: probing_a,
                                    at: 0,
                                };
                                let side_b = Side {
                                    measuring: &ready_b.measuring,
                                    probing: probing_b,
                                    at: 1,
                                };
                                trials.blocks(&mut progress, is_fresh, &mut [side_a, side_b], store)
                            },
                        )
                    },
                );
                match status {
                    Ok(Some(status)) => return Ok(status),
                    // Between two blocks: what was measured before is the result.
                    Err(error) if error.kind == Kind::Interrupted && progress.block > 0 => {
                        return Ok(RunStatus::Interrupted);
                    }
                    other => other?,
                };
                // Two starts of equal servers differ: each block has its own.
                first.restart(&|_| ())?;
                second.restart(&|_| ())?;
                know_each_other(trials, first, second);
                probings = [probing(&trials.sides[0], first)?, probing(&trials.sides[1], second)?];
            }
        })?;
        other = Some(ended.run_id);
        Ok(ended.status)
    })?;
    let runs = [base.run_id, other.unwrap_or_default()];
    Ok(TrialsEnded { runs, status: base.status, last_words: None })
}

/// Makes each side's server known to the other, so that it does not count as another process.
fn know_each_other(trials: &Trials<'_>, first: &mut Platform, second: &mut Platform) {
    if trials.duet {
        first.note_concurrent(second);
        second.note_concurrent(first);
    }
}

fn probing<'a>(side: &RunContext<'a>, platform: &Platform) -> Result<Probing<'a>> {
    Probing::new(platform, side.catalog, side.events)
}

/// Forwards everything of the first block, of the others what their tests do.
fn forward_event(events: &Sink<'_>, block: u32, event: Event<'_>) {
    if block == 0
        || !matches!(event, Event::Step(_) | Event::Note(_) | Event::Load(_) | Event::Loaded(_))
    {
        events(event);
    }
}

/// The figures that both plans have; a line names the workloads that only one has.
fn figures([a, b]: [&RunContext<'_>; 2]) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (at, selection) in a.plan.selections.iter().enumerate() {
        let Some(other) = b.plan.selections.iter().position(|other| is_same(selection, other))
        else {
            (a.events)(Event::Note(&format!(
                "{} is left out: B cannot run it in the same way",
                selection.label()
            )));
            continue;
        };
        let jobs = match &selection.ramp {
            Ramp::Fixed(jobs) => jobs.clone(),
            Ramp::Auto { .. } => return Err(automatic()),
        };
        let new = |jobs| Figure {
            selections: [at, other],
            jobs,
            label: format!("{}, {}", selection.label(), Sentence::jobs(jobs)),
            better: selection.workload.kpm.better,
            blocks: Blocks::default(),
        };
        figures.extend(jobs.into_iter().map(new));
    }
    if figures.is_empty() {
        return Err(Error::usage("ab-test", "A and B have no workload in common")
            .advise("name another with --workload"));
    }
    Ok(figures)
}

/// The same work, driven in the same way.
fn is_same(a: &Selection, b: &Selection) -> bool {
    let key = |selection: &Selection| {
        (selection.workload.id.clone(), selection.asked_as.clone(), selection.drive)
    };
    key(a) == key(b) && a.chosen == b.chosen
}

fn automatic() -> Error {
    Error::usage("--jobs", "an automatic ramp cannot be compared trial by trial")
        .advise("give numbers, e.g. --jobs 1,cores")
}

impl Trials<'_> {
    /// Measures blocks until nothing is open, the time is over or somebody asks to stop; none if
    /// another one needs new servers.
    fn blocks(
        &self,
        progress: &mut AbTestProgress,
        is_fresh: bool,
        sides: &mut [Side<'_, '_, '_>; 2],
        store: &mut Store,
    ) -> Result<Option<RunStatus>> {
        let rule = Rule { margin: self.margin, figures: progress.figures.len() };
        loop {
            let status = self.block(progress, &rule, sides, store)?;
            let is_over =
                status.is_some() || !progress.figures.iter().any(|figure| figure.is_open(&rule));
            if is_over || is_fresh {
                return Ok(status.or(is_over.then_some(RunStatus::Finished)));
            }
        }
    }

    /// Measures one block; gives how the A/B test ended, if it did.
    fn block(
        &self,
        progress: &mut AbTestProgress,
        rule: &Rule,
        sides: &mut [Side<'_, '_, '_>; 2],
        store: &mut Store,
    ) -> Result<Option<RunStatus>> {
        progress.block += 1;
        if progress.block == 1 {
            progress.begin = Instant::now();
        }
        // Both sides of a block draw the same keys, each on its own database.
        progress.numbers.iter_mut().for_each(|numbers| numbers.begin(progress.block, 1));
        let mut keys = KeyStream::numbered(self.sides[0].plan.seed, progress.block);
        let mut open: Vec<usize> =
            (0..progress.figures.len()).filter(|&at| progress.figures[at].is_open(rule)).collect();
        shuffle(&mut open, &mut keys);
        for at in open {
            let left_s = self.most_s - progress.begin.elapsed().as_secs_f64();
            if left_s <= 0.0 && progress.block > 1 {
                return Ok(Some(RunStatus::Finished));
            }
            let order = if keys.key(2) == 1 { [0, 1] } else { [1, 0] };
            let turn = PairTurn { order, left_s };
            let (figure, numbers) = (&mut progress.figures[at], &mut progress.numbers);
            let status = match &progress.halves {
                None => {
                    let [a, b] = &mut *sides;
                    Trials::pair(figure, &turn, &mut [a, b], numbers, store)?
                }
                Some(halves) => Trials::duet(figure, &turn, halves, sides, numbers, store)?,
            };
            if status.is_some() {
                return Ok(status);
            }
            self.report_decided(&progress.figures[at], rule);
        }
        self.report_open(progress.block, &progress.figures, rule);
        Ok(None)
    }

    /// A trial of each side in this order; gives how the A/B test ended, if it did.
    fn pair(
        figure: &mut Figure,
        turn: &PairTurn,
        sides: &mut [&mut dyn TrialSource; 2],
        numbers: &mut [Numbers; 2],
        store: &mut Store,
    ) -> Result<Option<RunStatus>> {
        let mut kept: [Option<StoredTest>; 2] = [None, None];
        for at in turn.order {
            match sides[at].trial(figure, &mut numbers[at], turn.left_s, store)? {
                (result, Step::GoOn) => kept[at] = result,
                (_, Step::Stop(status)) => return Ok(Some(status)),
            }
        }
        figure.add(&[kept]);
        Ok(None)
    }

    /// A trial of both sides at the same time, and one more on swapped halves; A has the half of
    /// this order first.
    fn duet(
        figure: &mut Figure,
        turn: &PairTurn,
        halves: &Halves,
        sides: &mut [Side<'_, '_, '_>; 2],
        numbers: &mut [Numbers; 2],
        store: &mut Store,
    ) -> Result<Option<RunStatus>> {
        let mut rounds = Vec::new();
        let [first, second] = turn.order;
        for [a_on, b_on] in [[first, second], [second, first]] {
            let [a, b] = &mut *sides;
            let [numbers_a, numbers_b] = &mut *numbers;
            let players = [
                a.player(figure, numbers_a, turn.left_s, &halves.halves[a_on]),
                b.player(figure, numbers_b, turn.left_s, &halves.halves[b_on]),
            ];
            if players[0].measuring.interrupt.is_set() {
                return Ok(Some(RunStatus::Interrupted));
            }
            match duet::together(players, store)? {
                (kept, Step::GoOn) => rounds.push(kept),
                (_, Step::Stop(status)) => return Ok(Some(status)),
            }
        }
        figure.add(&rounds);
        Ok(None)
    }

    /// Reports what a pair of trials has decided.
    fn report_decided(&self, figure: &Figure, rule: &Rule) {
        let blocks = Sentence::count(figure.blocks.count(), "1 block", "{count} blocks");
        let text = match (figure.outcome(rule), figure.blocks.is_hopeless()) {
            (Outcome::Undecided, false) => return,
            (Outcome::Undecided, true) => match figure.blocks.invalid_side() {
                Some(side) => format!("{}: trials of {} are invalid", figure.label, side.name()),
                None => format!("{}: no trial can be used", figure.label),
            },
            (outcome, _) => {
                format!("{}: {}{} after {blocks}", figure.label, outcome.name(), figure.ratio(rule))
            }
        };
        (self.sides[0].events)(Event::Note(&text));
    }

    /// Reports after a block what is still open.
    fn report_open(&self, block: u32, figures: &[Figure], rule: &Rule) {
        let open: Vec<&Figure> = figures.iter().filter(|figure| figure.is_open(rule)).collect();
        let Some(first) = open.first() else { return };
        let more_s = open.iter().map(|figure| figure.blocks.more_s(rule)).sum::<Option<f64>>();
        let more = more_s
            .map_or(String::new(), |s| format!(", about {:.0} more s decide them all", s.ceil()));
        let example = format!("{}{}", first.label, first.ratio(rule));
        let (open, all) = (open.len(), figures.len());
        (self.sides[0].events)(Event::Note(&format!(
            "block {block}: {open} of {all} figures open ({example}){more}"
        )));
    }
}

impl Figure {
    /// A block of these rounds, with the trials of A and B that were measured.
    fn add(&mut self, rounds: &[[Option<StoredTest>; 2]]) {
        let failed = Verdict::from_reasons(Vec::new());
        let rounds: Vec<_> = rounds
            .iter()
            .map(|round| round.each_ref().map(|kept| trial(kept.as_ref(), &failed)))
            .collect();
        self.blocks.add(&rounds);
    }

    fn outcome(&self, rule: &Rule) -> Outcome {
        self.blocks.outcome(rule, self.better)
    }

    fn is_open(&self, rule: &Rule) -> bool {
        self.outcome(rule) == Outcome::Undecided && !self.blocks.is_hopeless()
    }

    /// ` x1.21 (x1.18 to x1.24)`, as far as it is known.
    fn ratio(&self, rule: &Rule) -> String {
        let ends = |span: Span| format!(" (x{:.3} to x{:.3})", span.low, span.high);
        let ends = self.blocks.span(rule).map(ends).unwrap_or_default();
        self.blocks.ratio().map(|ratio| format!(" x{ratio:.3}{ends}")).unwrap_or_default()
    }
}

/// Trial from a stored test; empty for a trial that failed.
fn trial<'t>(kept: Option<&'t StoredTest>, failed: &'t Verdict) -> Trial<'t> {
    let (value, total_s) = kept.map_or((None, 0.0), |kept| (kept.kpm_value, kept.total_s));
    Trial { value, verdict: kept.map_or(failed, |kept| &kept.verdict), total_s }
}

impl<'m, 'p> Side<'_, 'm, 'p> {
    /// The selection of the figure, prepared.
    fn prepared(&self, figure: &Figure) -> (&'m Selection, Result<Evictor>) {
        let selection = &self.measuring.plan.selections[figure.selections[self.at]];
        let is_first = figure.blocks.count() + figure.blocks.left_out == 0;
        (
            selection,
            (self.measuring.prepare)(
                selection,
                if is_first { Answers::Check } else { Answers::Known },
            ),
        )
    }

    /// Ready for a round of a duet.
    fn player<'s>(
        &'s mut self,
        figure: &Figure,
        numbers: &mut Numbers,
        left_s: f64,
        processors: &'s [usize],
    ) -> DuetSide<'s, 'm, 'p> {
        let (selection, prepared) = self.prepared(figure);
        let spec = self.measuring.announced(selection, figure.jobs, None, numbers, left_s);
        DuetSide {
            measuring: self.measuring,
            probing: &mut *self.probing,
            spec,
            prepared,
            processors,
        }
    }
}

impl TrialSource for Side<'_, '_, '_> {
    fn trial(
        &mut self,
        figure: &Figure,
        numbers: &mut Numbers,
        left_s: f64,
        store: &mut Store,
    ) -> Result<(Option<StoredTest>, Step)> {
        let (selection, prepared) = self.prepared(figure);
        if self.measuring.interrupt.is_set() {
            return Ok((None, Step::Stop(RunStatus::Interrupted)));
        }
        let spec = self.measuring.announced(selection, figure.jobs, None, numbers, left_s);
        match prepared {
            Ok(evictor) => self.measuring.one(&spec, &evictor, left_s, self.probing, store),
            Err(error) => {
                let now = jiff::Timestamp::now().to_string();
                self.measuring.failed(&spec, now, &error, store).map(|step| (None, step))
            }
        }
    }
}

#[cfg(test)]
mod tests;
