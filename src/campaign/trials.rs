//! A campaign: blocks of trials of two sides in random order, until every figure is decided or the time is over.
//!
//! A block takes the figures that are still open in an order drawn from the seed, and of each a trial of A and one of B, right
//! after each other; chance decides which comes first (A. Abedi, T. Brecht, "Conducting repeatable experiments in highly variable
//! cloud computing environments", ICPE 2017). Every trial is a test of its side's run.

use std::time::Instant;

use super::measure::{Kept, Measuring, Step};
use super::platform::Platform;
use super::prepare::prepared;
use super::probing::Probing;
use super::run::{Ended, adapted, fitting, recorded};
use super::schedule::{Answers, Leg, shuffle};
use super::{Campaign, Event};
use crate::analysis::trials::{Blocks, Outcome, Rule, Span, Trial};
use crate::engine::Access;
use crate::error::{Error, Result};
use crate::model::{Better, Ramp, RunStatus, Selection, Sentence, Verdict};
use crate::stats::keys::KeyStream;
use crate::store::Store;

/// A campaign that is asked for.
pub struct Trials<'a> {
    /// A and B, each with the label that says so.
    pub sides: [Campaign<'a>; 2],
    pub margin: f64,
    /// No block begins later, in s from the first trial.
    pub most_s: f64,
}

/// How a campaign ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialsEnded {
    /// Of A and B.
    pub runs: [i64; 2],
    pub status: RunStatus,
    /// How a private server ended, if it did.
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

/// A side, whose trials are taken one after the other.
trait Tried {
    /// One test of the figure, which is stored; none if it failed.
    fn trial(&mut self, figure: &Figure, left_s: f64, store: &mut Store) -> Result<(Option<Kept>, Step)>;
}

/// A side that is ready.
struct Side<'a, 'm, 'p> {
    measuring: &'a Measuring<'m>,
    probing: &'a mut Probing<'p>,
    /// 0 for A, 1 for B.
    at: usize,
    /// Number of its last test.
    seq: u32,
}

/// Opens both sides and measures blocks. Whatever happens then, both runs are recorded with what was measured, and both sides
/// are closed.
///
/// # Errors
/// As [`super::run::run`], of either side; no workload is in both plans.
pub fn run(trials: &Trials<'_>, store: &mut Store) -> Result<TrialsEnded> {
    let [a, b] = &trials.sides;
    let mut first = Platform::open(a.request, Some(a.plan), Access::Provision, a.events)?;
    let mut second = match Platform::open(b.request, Some(b.plan), Access::Provision, b.events) {
        Ok(second) => second,
        Err(error) => return first.close(a.events).and(Err(error)),
    };
    let result = measured(trials, [&mut first, &mut second], store).map(|ended| {
        let is_over = ended.status == RunStatus::Failed;
        let last_words = if is_over { first.last_words().or_else(|| second.last_words()) } else { None };
        TrialsEnded { last_words, ..ended }
    });
    let closed = [second.close(b.events), first.close(a.events)];
    let ended = result?;
    closed.into_iter().collect::<Result<()>>().map(|()| ended)
}

fn measured(trials: &Trials<'_>, [first, second]: [&mut Platform; 2], store: &mut Store) -> Result<TrialsEnded> {
    let [a, b] = trials.sides;
    let plan = |side: &Campaign<'_>, platform: &Platform| {
        adapted(side, platform).and_then(|plan| fitting(plan, platform, side.events)).map(|plan| plan.into_owned())
    };
    let plans = [plan(&a, first)?, plan(&b, second)?];
    let (a, b) = (Campaign { plan: &plans[0], ..a }, Campaign { plan: &plans[1], ..b });
    let mut figures = figures([&a, &b])?;
    let leg = Leg { load: 1, server_start: 1, turns: Vec::new() };
    let mut other = None;
    let base = recorded(&a, first, store, |first, mut probing_a, record_a, store| {
        let ended: Ended = recorded(&b, second, store, |second, mut probing_b, record_b, store| {
            prepared(&a, first, &leg, &mut probing_a, (record_a, store), |ready_a, probing, store| {
                let mut side_a = Side { measuring: &ready_a.measuring, probing, at: 0, seq: 0 };
                prepared(&b, second, &leg, &mut probing_b, (record_b, store), |ready_b, probing, store| {
                    let mut side_b = Side { measuring: &ready_b.measuring, probing, at: 1, seq: 0 };
                    trials.blocks(&mut figures, [&mut side_a, &mut side_b], store)
                })
            })
        })?;
        other = Some(ended.run_id);
        Ok(ended.status)
    })?;
    let runs = [base.run_id, other.unwrap_or_default()];
    Ok(TrialsEnded { runs, status: base.status, last_words: None })
}

/// The figures that both plans have; a line names the workloads that only one has.
fn figures([a, b]: [&Campaign<'_>; 2]) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (at, selection) in a.plan.selections.iter().enumerate() {
        let Some(other) = b.plan.selections.iter().position(|other| is_same(selection, other)) else {
            (a.events)(Event::Note(&format!("{} is left out: B cannot run it in the same way", selection.label())));
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
        return Err(
            Error::usage("campaign", "A and B have no workload in common").advise("name another with --workload")
        );
    }
    Ok(figures)
}

/// The same work, driven in the same way.
fn is_same(a: &Selection, b: &Selection) -> bool {
    let key = |selection: &Selection| (selection.workload.id.clone(), selection.asked_as.clone(), selection.drive);
    key(a) == key(b) && a.chosen == b.chosen
}

fn automatic() -> Error {
    Error::usage("--jobs", "an automatic ramp cannot be compared trial by trial")
        .advise("give numbers, e.g. --jobs 1,cores")
}

impl Trials<'_> {
    /// Measures blocks until nothing is open, the time is over or somebody asks to stop.
    fn blocks(&self, figures: &mut [Figure], mut sides: [&mut dyn Tried; 2], store: &mut Store) -> Result<RunStatus> {
        let rule = Rule { margin: self.margin, figures: figures.len() };
        let seed = self.sides[0].plan.seed;
        let begin = Instant::now();
        for block in 1.. {
            let mut keys = KeyStream::for_job(seed, block);
            let mut open: Vec<usize> = (0..figures.len()).filter(|&at| figures[at].is_open(&rule)).collect();
            shuffle(&mut open, &mut keys);
            for at in &open {
                let left_s = self.most_s - begin.elapsed().as_secs_f64();
                if left_s <= 0.0 && block > 1 {
                    return Ok(RunStatus::Finished);
                }
                let order = if keys.key(2) == 1 { [0, 1] } else { [1, 0] };
                if let Some(status) = Trials::pair(&mut figures[*at], order, &mut sides, left_s, store)? {
                    return Ok(status);
                }
                self.tell_decided(&figures[*at], &rule);
            }
            if open.is_empty() {
                return Ok(RunStatus::Finished);
            }
            self.tell_open(block, figures, &rule);
        }
        Ok(RunStatus::Finished)
    }

    /// A trial of each side in this order; gives how the campaign ended, if it did.
    fn pair(
        figure: &mut Figure,
        order: [usize; 2],
        sides: &mut [&mut dyn Tried; 2],
        left_s: f64,
        store: &mut Store,
    ) -> Result<Option<RunStatus>> {
        let mut kept: [Option<Kept>; 2] = [None, None];
        for at in order {
            match sides[at].trial(figure, left_s, store)? {
                (result, Step::GoOn) => kept[at] = result,
                (_, Step::Stop(status)) => return Ok(Some(status)),
            }
        }
        let failed = Verdict::from_reasons(Vec::new());
        figure.blocks.add(kept.each_ref().map(|kept| match kept {
            Some(kept) => Trial { value: kept.kpm_value, verdict: &kept.verdict, total_s: kept.total_s },
            None => Trial { value: None, verdict: &failed, total_s: 0.0 },
        }));
        Ok(None)
    }

    /// Says what a pair of trials has decided.
    fn tell_decided(&self, figure: &Figure, rule: &Rule) {
        let blocks = Sentence::count(figure.blocks.count(), "1 block", "{count} blocks");
        let text = match (figure.outcome(rule), figure.blocks.is_hopeless()) {
            (Outcome::Undecided, false) => return,
            (Outcome::Undecided, true) => format!("{}: no trial can be used", figure.label),
            (outcome, _) => format!("{}: {}{} after {blocks}", figure.label, outcome.name(), figure.ratio(rule)),
        };
        (self.sides[0].events)(Event::Note(&text));
    }

    /// Says after a block what is still open.
    fn tell_open(&self, block: u32, figures: &[Figure], rule: &Rule) {
        let open: Vec<&Figure> = figures.iter().filter(|figure| figure.is_open(rule)).collect();
        let Some(first) = open.first() else { return };
        let more_s = open.iter().map(|figure| figure.blocks.more_s(rule)).sum::<Option<f64>>();
        let more = more_s.map_or(String::new(), |s| format!(", about {:.0} more s decide them all", s.ceil()));
        let example = format!("{}{}", first.label, first.ratio(rule));
        let (open, all) = (open.len(), figures.len());
        (self.sides[0].events)(Event::Note(&format!("block {block}: {open} of {all} figures open ({example}){more}")));
    }
}

impl Figure {
    fn outcome(&self, rule: &Rule) -> Outcome {
        rule.outcome(self.blocks.span(rule), self.better)
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

impl Tried for Side<'_, '_, '_> {
    fn trial(&mut self, figure: &Figure, left_s: f64, store: &mut Store) -> Result<(Option<Kept>, Step)> {
        let selection = &self.measuring.plan.selections[figure.selections[self.at]];
        let is_first = figure.blocks.count() + figure.blocks.left_out == 0;
        let prepared = (self.measuring.prepare)(selection, if is_first { Answers::Check } else { Answers::Known });
        if self.measuring.interrupt.is_set() {
            return Ok((None, Step::Stop(RunStatus::Interrupted)));
        }
        let spec = self.measuring.announced((selection, figure.jobs, None), &mut self.seq, left_s);
        match prepared {
            Ok(evictor) => self.measuring.one(&spec, &evictor, left_s, self.probing, store),
            Err(error) => {
                let now = jiff::Timestamp::now().to_string();
                self.measuring.failed(&spec, now, &error, store).map(|step| (None, step))
            }
        }
    }
}
