//! Blocks of pairs of tests of two sides in random order, until every figure is decided or the time
//! is over.
//!
//! A block takes the figures that are still open in an order drawn from the seed, and of each a
//! trial of A and one of B, right after each other, on private servers after a new start of both;
//! chance decides which comes first (A. Abedi, T. Brecht, "Conducting repeatable experiments in
//! highly variable cloud computing environments", ICPE 2017). Every trial is a test of its side's
//! run. A duet takes both at the same time, twice, on swapped halves of the processors.

use std::time::Instant;

use super::duet::{self, DuetSide};
use super::evict::Evictor;
use super::experiment::{
    Blocks, Design, Execution, ReadyArm, Servers, Stage, StageEvents, unsuitable,
};
use super::measure::{Bench, MeasureContext, NextTest, StoredTest, TestEnd};
use super::numbers::Numbers;
use super::probing::Probing;
use super::schedule::{Answers, ServerStart, shuffle};
use super::{Event, RunContext, Sink};
use crate::store::Store;
use dbdyno_core::analysis::ab_test::{self, Outcome, Rule, Span, Trial};
use dbdyno_core::error::{Error, Result};
use dbdyno_core::model::{Better, Ramp, RunStatus, Selection, Sentence, Target, Verdict};
use dbdyno_core::stats::keys::KeyStream;
use dbdyno_engines::host::Halves;

/// Pairs of tests of two arms, until every figure is decided: margin of the decision, and time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pairs {
    /// Ratios of B to A within 1/(1 + margin) to 1 + margin count as equal.
    pub margin: f64,
    /// No block begins later, in s from the first trial.
    pub most_s: f64,
    /// CPUs of the two sides of a duet, which are measured at the same time.
    pub halves: Option<Halves>,
}

impl Design for Pairs {
    fn carry_out(&mut self, execution: &mut Execution<'_, '_>) -> Result<RunStatus> {
        let [a, b] = &execution.arms[..] else { return Err(unsuitable(&execution.arms)) };
        let mut blocks = PairedBlocks::new(self, [a, b])?;
        execution.measure(&mut blocks)
    }
}

/// The blocks of an A/B test, and what they have shown so far.
pub(super) struct PairedBlocks<'a> {
    pairs: Pairs,
    /// Seed of the orders.
    seed: u64,
    events: &'a Sink<'a>,
    /// Each block is on a new start of the servers: two starts of equal servers differ.
    is_fresh: bool,
    figures: Vec<Figure>,
    /// Numbers of the tests of A and B.
    numbers: [Numbers; 2],
    /// Server starts so far.
    server_starts: u32,
    /// Number of the last block.
    block: u32,
    /// Start of the first block.
    begin: Instant,
}

/// One figure that is compared.
struct Figure {
    /// Index into the selections of the plans of A and B.
    selections: [usize; 2],
    jobs: u32,
    /// Name in messages.
    label: String,
    better: Better,
    blocks: ab_test::Blocks,
}

/// Trials of a figure in a block: A (0) and B (1) in their order, and the seconds that the whole
/// A/B test has left.
struct PairTurn {
    order: [usize; 2],
    left_s: f64,
}

/// A turn in which both sides are measured at the same time, each on half of the CPUs.
struct Duet<'h> {
    turn: PairTurn,
    halves: &'h Halves,
}

/// A side, whose trials are taken one after the other.
trait TrialSource {
    /// Measures one test of the figure and stores it.
    fn trial(
        &mut self,
        figure: &Figure,
        numbers: &mut Numbers,
        left_s: f64,
        store: &mut Store,
    ) -> Result<TestEnd>;
}

/// A side that is ready.
struct Side<'a, 'm, 'p> {
    measuring: &'a MeasureContext<'m>,
    probing: &'a mut Probing<'p>,
    /// 0 for A, 1 for B.
    at: usize,
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
            blocks: ab_test::Blocks::default(),
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

impl<'a> PairedBlocks<'a> {
    /// The pairs of the figures that both plans have.
    ///
    /// # Errors
    /// Of usage: no workload is in both plans, or its number of jobs is not known before.
    pub(super) fn new(pairs: &Pairs, [a, b]: [&RunContext<'a>; 2]) -> Result<PairedBlocks<'a>> {
        let is_private =
            |side: &RunContext<'_>| matches!(side.request.target, Target::Private { .. });
        Ok(PairedBlocks {
            pairs: pairs.clone(),
            seed: a.plan.seed,
            events: a.events,
            is_fresh: is_private(a) || is_private(b),
            figures: figures([a, b])?,
            numbers: Default::default(),
            server_starts: 0,
            block: 0,
            begin: Instant::now(),
        })
    }

    /// Measures one block; gives how the A/B test ended, if it did.
    fn block(
        &mut self,
        rule: &Rule,
        sides: &mut [Side<'_, '_, '_>; 2],
        store: &mut Store,
    ) -> Result<Option<RunStatus>> {
        self.block += 1;
        if self.block == 1 {
            self.begin = Instant::now();
        }
        // Both sides of a block draw the same keys, each on its own database.
        self.numbers.iter_mut().for_each(|numbers| numbers.begin(self.block, 1));
        let mut keys = KeyStream::numbered(self.seed, self.block);
        let mut open: Vec<usize> =
            (0..self.figures.len()).filter(|&at| self.figures[at].is_open(rule)).collect();
        shuffle(&mut open, &mut keys);
        for at in open {
            let left_s = self.pairs.most_s - self.begin.elapsed().as_secs_f64();
            if left_s <= 0.0 && self.block > 1 {
                return Ok(Some(RunStatus::Finished));
            }
            let order = if keys.key(2) == 1 { [0, 1] } else { [1, 0] };
            let turn = PairTurn { order, left_s };
            let (figure, numbers) = (&mut self.figures[at], &mut self.numbers);
            let status = match &self.pairs.halves {
                None => {
                    let [a, b] = &mut *sides;
                    Self::pair(figure, &turn, &mut [a, b], numbers, store)?
                }
                Some(halves) => Duet { turn, halves }.measure(figure, sides, numbers, store)?,
            };
            if status.is_some() {
                return Ok(status);
            }
            self.report_decision(&self.figures[at], rule);
        }
        self.report_open(rule);
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
                TestEnd::Measured(test) => kept[at] = Some(test),
                TestEnd::Failed => {}
                TestEnd::Stopped(status) => return Ok(Some(status)),
            }
        }
        figure.add(&[kept]);
        Ok(None)
    }

    /// Reports what a pair of trials has decided.
    fn report_decision(&self, figure: &Figure, rule: &Rule) {
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
        (self.events)(Event::Note(&text));
    }

    /// Reports after a block what is still open.
    fn report_open(&self, rule: &Rule) {
        let open: Vec<&Figure> =
            self.figures.iter().filter(|figure| figure.is_open(rule)).collect();
        let Some(first) = open.first() else { return };
        let more_s = open.iter().map(|figure| figure.blocks.more_s(rule)).sum::<Option<f64>>();
        let more = more_s
            .map_or(String::new(), |s| format!(", about {:.0} more s decide them all", s.ceil()));
        let example = format!("{}{}", first.label, first.ratio(rule));
        let (block, open, all) = (self.block, open.len(), self.figures.len());
        (self.events)(Event::Note(&format!(
            "block {block}: {open} of {all} figures open ({example}){more}"
        )));
    }
}

impl Duet<'_> {
    /// A trial of both sides at the same time, and one more on swapped halves; A has the half of
    /// this order first.
    fn measure(
        &self,
        figure: &mut Figure,
        sides: &mut [Side<'_, '_, '_>; 2],
        numbers: &mut [Numbers; 2],
        store: &mut Store,
    ) -> Result<Option<RunStatus>> {
        let Duet { turn, halves } = self;
        let mut rounds = Vec::new();
        let [first, second] = turn.order;
        for [a_on, b_on] in [[first, second], [second, first]] {
            let [a, b] = &mut *sides;
            let [numbers_a, numbers_b] = &mut *numbers;
            let duet_sides = [
                a.duet_side(figure, numbers_a, turn.left_s, &halves.halves[a_on]),
                b.duet_side(figure, numbers_b, turn.left_s, &halves.halves[b_on]),
            ];
            if duet_sides[0].measuring.interrupt.is_set() {
                return Ok(Some(RunStatus::Interrupted));
            }
            let ends = duet::measure_both(duet_sides, store)?;
            if let Some(status) = ends.iter().rev().find_map(TestEnd::stop_status) {
                return Ok(Some(status));
            }
            rounds.push(ends.map(TestEnd::into_result));
        }
        figure.add(&rounds);
        Ok(None)
    }
}

impl Blocks for PairedBlocks<'_> {
    fn next_stage(&mut self, _: &mut Store) -> Result<Option<Stage>> {
        self.server_starts += 1;
        let server_start =
            ServerStart { load: 1, server_start: self.server_starts, turns: Vec::new() };
        let reported = if self.server_starts == 1 { StageEvents::All } else { StageEvents::Tests };
        Ok(Some(Stage { server_start, servers: Servers::Anew, plan: None, reported }))
    }

    /// Measures a block, or without fresh servers all blocks, until nothing is open, the time is
    /// over or somebody asks to stop.
    fn measure(
        &mut self,
        arms: &mut [ReadyArm<'_, '_>],
        store: &mut Store,
    ) -> Result<Option<RunStatus>> {
        let [a, b] = arms else { return Ok(Some(RunStatus::Finished)) };
        let mut sides = [Side::new(a, 0), Side::new(b, 1)];
        let rule = Rule { margin: self.pairs.margin, figures: self.figures.len() };
        loop {
            let status = self.block(&rule, &mut sides, store)?;
            let is_over =
                status.is_some() || !self.figures.iter().any(|figure| figure.is_open(&rule));
            if is_over || self.is_fresh {
                return Ok(status.or(is_over.then_some(RunStatus::Finished)));
            }
        }
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

impl<'a, 'm, 'p> Side<'a, 'm, 'p> {
    fn new(arm: &'a mut ReadyArm<'m, 'p>, at: usize) -> Side<'a, 'm, 'p> {
        Side { measuring: &arm.ready.measuring, probing: arm.probing, at }
    }

    fn selection(&self, figure: &Figure) -> &'m Selection {
        &self.measuring.plan.selections[figure.selections[self.at]]
    }

    /// Prepares the tables of the selection; the first time its answers are checked, too.
    fn prepare(&self, figure: &Figure) -> Result<Evictor> {
        let is_first = figure.blocks.count() + figure.blocks.left_out == 0;
        let answers = if is_first { Answers::Check } else { Answers::Known };
        (self.measuring.prepare)(self.selection(figure), answers)
    }

    /// The side as it takes part in a round of a duet.
    fn duet_side<'s>(
        &'s mut self,
        figure: &Figure,
        numbers: &mut Numbers,
        left_s: f64,
        processors: &'s [usize],
    ) -> DuetSide<'s, 'm, 'p> {
        let (selection, prepared) = (self.selection(figure), self.prepare(figure));
        let next = NextTest { selection, jobs: figure.jobs, offer: None, after_s: left_s };
        let spec = self.measuring.announce_test(&next, numbers);
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
    ) -> Result<TestEnd> {
        let (selection, prepared) = (self.selection(figure), self.prepare(figure));
        if self.measuring.interrupt.is_set() {
            return Ok(TestEnd::Stopped(RunStatus::Interrupted));
        }
        let next = NextTest { selection, jobs: figure.jobs, offer: None, after_s: left_s };
        let spec = self.measuring.announce_test(&next, numbers);
        match prepared {
            Ok(evictor) => {
                let mut bench = Bench { numbers, probing: self.probing, store };
                self.measuring.execute_test(&spec, &evictor, left_s, &mut bench)
            }
            Err(error) => {
                let now = jiff::Timestamp::now().to_string();
                self.measuring.store_failure(&spec, now, &error, store).map(TestEnd::without_result)
            }
        }
    }
}

#[cfg(test)]
mod tests;
