//! `--test-bottleneck`: after the tests of a run, the experiment of what limits each workload, to
//! see whether its forecast holds.
//!
//! As in an A/B test, a block is a trial of each side in random order. Each trial is a stage: on a
//! private server that gets other settings it is on a new start of it. Trials are not tests of the
//! run: what they measured is stored with the test that they explain.

use std::collections::{BTreeMap, VecDeque};

use super::experiment::{self, OnlyPlatform, ReadyArm, Servers, Stage, StageEvents};
use super::numbers::is_cached;
use super::schedule::{Answers, ServerStart};
use super::{Event, RunContext};
use crate::store::Store;
use crate::test_runner::Outcome;
use dbdyno_core::analysis::ab_test::{Blocks, MARGIN, Rule, Trial};
use dbdyno_core::analysis::bottleneck::{self, Action, Bottleneck, GainSpan, Remedy, TimeShares};
use dbdyno_core::error::{Error, Kind, Result};
use dbdyno_core::model::{
    ExperimentResult, ForecastOutcome, RunStatus, Selection, Sentence, Status, Test, TestResult,
    TestSpec,
};
use dbdyno_core::stats::keys::{self, KeyStream};
use dbdyno_core::stats::median;

mod sides;

use sides::{Case, Side, changes};

/// Streams of keys from here on deal the order of trials.
const STREAM: u32 = 0x4000_0000;
/// The rule by which the forecast of an experiment is judged.
const RULE: Rule = Rule { margin: MARGIN, figures: 1 };

/// An experiment under way: its trials in blocks of one of each side.
struct Attempt {
    trying: FeasibleExperiment,
    /// Deals the order of the sides.
    keys: KeyStream,
    most_blocks: u32,
    /// Number of the current block.
    block: u32,
    /// Sides that have no trial in this block yet.
    left: VecDeque<usize>,
    trials: [Option<TestResult>; 2],
    seen: ExperimentBlocks,
}

/// An experiment that can be carried out.
struct FeasibleExperiment {
    /// The test that is explained.
    result: TestResult,
    bottleneck: Bottleneck,
    remedy: Remedy,
    sides: [Side; 2],
    /// Changed settings as reports show them.
    changed: BTreeMap<String, String>,
}

/// The experiments of each workload's test of the highest throughput.
pub(super) struct Explanation<'a> {
    context: RunContext<'a>,
    run_id: i64,
    most_blocks: u32,
    /// Tests that are not explained yet.
    tests: VecDeque<UnexplainedTest>,
    attempt: Option<Attempt>,
    /// The first error that ended an experiment early.
    broken: Option<Error>,
}

/// A test that is explained by experiments.
struct UnexplainedTest {
    seq: u32,
    /// Name in messages.
    label: String,
    left: VecDeque<PlannedExperiment>,
    results: Vec<ExperimentResult>,
}

/// An experiment, or why it cannot be carried out.
type PlannedExperiment = std::result::Result<FeasibleExperiment, Box<ExperimentResult>>;

impl<'a> Explanation<'a> {
    /// The experiments of a run with stored tests, of at most `most_blocks` blocks each.
    ///
    /// # Errors
    /// If the results file cannot be read.
    pub(super) fn new(of: &OnlyPlatform<'_, 'a>, most_blocks: u32) -> Result<Explanation<'a>> {
        let tests = of.run.store.figures(of.run.record.id)?;
        let unexplained = |selection: &Selection| {
            let result = best(&tests, selection)?;
            Some(UnexplainedTest {
                seq: result.seq,
                label: format!("{}, {}", selection.label(), Sentence::jobs(result.jobs)),
                left: plan_experiments(of, selection, result).into(),
                results: Vec::new(),
            })
        };
        Ok(Explanation {
            context: of.context,
            run_id: of.run.record.id,
            most_blocks,
            tests: of.context.plan.selections.iter().filter_map(unexplained).collect(),
            attempt: None,
            broken: None,
        })
    }

    /// Takes down the result of an experiment of the test that is being explained.
    fn note(&mut self, explained: ExperimentResult) {
        let Some(test) = self.tests.front_mut() else { return };
        let text = format!("{}: {}", test.label, bottleneck::describe(&explained));
        (self.context.events)(Event::Note(&text));
        test.results.push(explained);
    }

    /// Stores what the experiments of the test that is being explained said.
    fn store_first(&mut self, store: &mut Store) -> Result<()> {
        let Some(test) = self.tests.pop_front() else { return Ok(()) };
        match together(test.results) {
            Some(explained) => store.explain_test(self.run_id, test.seq, &explained),
            None => {
                let text = format!("{}: no cause is known, nothing to try", test.label);
                (self.context.events)(Event::Note(&text));
                Ok(())
            }
        }
    }

    /// The end of all experiments: the error that ended one of them early, if there is one.
    fn end(&mut self) -> Result<Option<Stage>> {
        let incomplete =
            |error: Error| error.advise("the tests are stored; the experiment is not complete");
        self.broken.take().map_or(Ok(None), |error| Err(incomplete(error)))
    }
}

impl experiment::Blocks for Explanation<'_> {
    fn next_stage(&mut self, store: &mut Store) -> Result<Option<Stage>> {
        loop {
            if let Some(stage) = self.attempt.as_mut().and_then(Attempt::next_stage) {
                return Ok(Some(stage));
            }
            if let Some(attempt) = self.attempt.take() {
                self.note(attempt.into_result(None));
            }
            let Some(test) = self.tests.front_mut() else { return self.end() };
            match test.left.pop_front() {
                Some(Err(not_tried)) => self.note(*not_tried),
                Some(Ok(trying)) => {
                    let step = format!("{}: trying {}", test.label, trying.remedy.change);
                    (self.context.events)(Event::Step(&step));
                    let seed = self.context.plan.seed;
                    self.attempt = Some(Attempt::new(trying, seed, self.most_blocks));
                }
                None => self.store_first(store)?,
            }
        }
    }

    fn measure(
        &mut self,
        arms: &mut [ReadyArm<'_, '_>],
        _: &mut Store,
    ) -> Result<Option<RunStatus>> {
        if let ([arm], Some(attempt)) = (arms, &mut self.attempt) {
            attempt.take_trial(arm)?;
        }
        Ok(self.context.interrupt.is_set().then_some(RunStatus::Interrupted))
    }

    /// The experiment ends with it, and the others go on.
    fn handle_error(&mut self, error: Error) -> Result<Option<RunStatus>> {
        if error.kind == Kind::Results {
            return Err(error);
        }
        if self.context.interrupt.is_set() {
            return Ok(Some(RunStatus::Interrupted));
        }
        if let Some(attempt) = self.attempt.take() {
            self.note(attempt.into_result(Some(Sentence::quoted(error.to_string()))));
        }
        self.broken.get_or_insert(error);
        Ok(None)
    }
}

/// Joins the results of experiments; those that were tried come first.
fn together(mut results: Vec<ExperimentResult>) -> Option<ExperimentResult> {
    results.sort_by_key(|explained| explained.outcome == ForecastOutcome::NotTried);
    let further = results.split_off(results.len().min(1));
    results.pop().map(|first| ExperimentResult { further, ..first })
}

/// The test of a selection with the highest throughput, of those that are not invalid.
fn best<'a>(tests: &'a [Test], selection: &Selection) -> Option<&'a TestResult> {
    let is_it = |test: &&TestResult| {
        test.hash == selection.hash
            && test.workload == selection.workload.id
            && test.asked_as == selection.asked_as
    };
    let measured = tests.iter().filter_map(Test::measured).filter(is_it);
    let sound = measured.filter(|test| test.verdict.status != Status::Invalid && !test.is_paced());
    sound.max_by(|a, b| a.ops_per_s.total_cmp(&b.ops_per_s))
}

/// The experiments of the first cause for which there is one that we can carry out, those that we
/// cannot with the reason; without such a cause the first of all. None without causes.
fn plan_experiments(
    of: &OnlyPlatform<'_, '_>,
    selection: &Selection,
    result: &TestResult,
) -> Vec<PlannedExperiment> {
    let mut refused = Vec::new();
    for bottleneck in bottleneck::bottlenecks(result) {
        let plan = |remedy: Remedy| {
            let case = Case { selection, result, bottleneck: &bottleneck, remedy: &remedy };
            match changes(&of.context, of.platform, of.run.record, &case) {
                Ok((changed, sides)) => {
                    let (result, bottleneck) = (result.clone(), bottleneck.clone());
                    Ok(FeasibleExperiment { result, bottleneck, remedy, sides, changed })
                }
                Err(why) => Err(Box::new(untried_result(&bottleneck, remedy, why))),
            }
        };
        let all: Vec<_> = bottleneck::remedies(result, &bottleneck).into_iter().map(plan).collect();
        if all.iter().any(std::result::Result::is_ok) {
            return all;
        }
        refused.extend(all);
    }
    refused.truncate(1);
    refused
}

fn untried_result(bottleneck: &Bottleneck, remedy: Remedy, why: Sentence) -> ExperimentResult {
    ExperimentResult {
        cause: bottleneck.cause.code().into(),
        change: remedy.change,
        changed: BTreeMap::new(),
        forecast: remedy.gain,
        bound: remedy.bound,
        forecast_low: None,
        forecast_high: None,
        ratio: None,
        low: None,
        high: None,
        outcome: ForecastOutcome::NotTried,
        blocks: Vec::new(),
        left_out: 0,
        share_before: bottleneck.share,
        share_after: None,
        missing: Some(why),
        further: Vec::new(),
    }
}

impl FeasibleExperiment {
    fn into_result(
        self,
        seen: ExperimentBlocks,
        rule: &Rule,
        missing: Option<Sentence>,
    ) -> ExperimentResult {
        let (span, outcome) = (seen.blocks.span(rule), self.outcome(&seen, rule));
        let forecast = self.forecast(&seen);
        let foretold = forecast.and_then(|forecast| forecast.span);
        let share_before =
            median(&seen.before.iter().map(|shares| shares.cause).collect::<Vec<_>>());
        ExperimentResult {
            changed: self.changed,
            forecast: forecast.map(|forecast| forecast.gain),
            forecast_low: foretold.map(|foretold| foretold.low),
            forecast_high: foretold.map(|foretold| foretold.high).filter(|high| high.is_finite()),
            ratio: seen.blocks.ratio(),
            low: span.map(|span| span.low),
            high: span.map(|span| span.high),
            outcome,
            left_out: seen.blocks.left_out as u64,
            blocks: seen.pairs,
            share_before,
            share_after: median(&seen.after),
            missing,
            ..untried_result(&self.bottleneck, self.remedy, Sentence::default())
        }
    }

    fn forecast(&self, seen: &ExperimentBlocks) -> Option<bottleneck::Forecast> {
        bottleneck::forecast(&self.result, &self.bottleneck, self.remedy.action, &seen.before)
    }

    fn outcome(&self, seen: &ExperimentBlocks, rule: &Rule) -> ForecastOutcome {
        let span = seen.blocks.span(rule);
        let measured = span.map(|span| GainSpan { low: span.low, high: span.high });
        self.forecast(seen).map_or(ForecastOutcome::Undecided, |forecast| {
            bottleneck::judge_forecast(forecast, measured)
        })
    }
}

impl Attempt {
    fn new(trying: FeasibleExperiment, seed: u64, most_blocks: u32) -> Attempt {
        let keys = KeyStream::numbered(seed, STREAM | trying.result.seq);
        Attempt {
            trying,
            keys,
            most_blocks,
            block: 0,
            left: VecDeque::new(),
            trials: [None, None],
            seen: ExperimentBlocks::default(),
        }
    }

    /// The next trial, until the forecast is judged.
    fn next_stage(&mut self) -> Option<Stage> {
        if self.left.is_empty() {
            if self.is_over() {
                return None;
            }
            self.block += 1;
            self.left = if self.keys.key(2) == 1 { [0, 1] } else { [1, 0] }.into();
        }
        let side = &self.trying.sides[*self.left.front()?];
        Some(Stage {
            server_start: ServerStart { load: 1, server_start: 1, turns: Vec::new() },
            servers: side.server.clone().map_or(Servers::RunOn, Servers::In),
            plan: Some(side.plan.clone()),
            reported: StageEvents::Nothing,
        })
    }

    /// True after the last block.
    fn is_over(&self) -> bool {
        let is_open = || self.trying.outcome(&self.seen, &RULE) == ForecastOutcome::Undecided;
        self.block == self.most_blocks
            || self.block > 0 && (!is_open() || self.seen.blocks.is_hopeless())
    }

    /// Measures the trial whose turn it is.
    fn take_trial(&mut self, arm: &mut ReadyArm<'_, '_>) -> Result<()> {
        let Some(at) = self.left.pop_front() else { return Ok(()) };
        let FeasibleExperiment { result, bottleneck, remedy, sides, .. } = &self.trying;
        let side = &sides[at];
        // Of what is not cached the second side would find what the first has read.
        let own = if is_cached(&side.plan.selections[0]) { 0 } else { at };
        let (seq, block) = (result.seq, self.block);
        let drawn = format!("explain {seq}: {} {block} {own}", remedy.change);
        self.trials[at] = Some(side.trial(arm, keys::draw_of(&drawn))?);
        if let [Some(before), Some(after)] = &self.trials {
            self.seen.add([before, after], bottleneck.cause, remedy.action);
            self.trials = [None, None];
        }
        Ok(())
    }

    /// The result by what was seen, with what is missing.
    fn into_result(self, missing: Option<Sentence>) -> ExperimentResult {
        self.trying.into_result(self.seen, &RULE, missing)
    }
}

impl Side {
    /// A test of this side, whose plan the arm has.
    fn trial(&self, arm: &mut ReadyArm<'_, '_>, draw: u64) -> Result<TestResult> {
        let ReadyArm { ready, probing } = arm;
        let selection = &self.plan.selections[0];
        let evictor = (ready.measuring.prepare)(selection, Answers::Known)?;
        let spec = TestSpec { draw, ..TestSpec::closed(selection, self.jobs, 1) };
        match ready.measuring.trial(&spec, &evictor, probing) {
            Outcome::Done(result) => Ok(*result),
            Outcome::Failed(error) => Err(error.at(selection.workload.id.clone())),
            Outcome::Interrupted(_) => Err(Error::new(Kind::Interrupted, "explain", "interrupted")),
        }
    }
}

/// The blocks so far.
#[derive(Default)]
struct ExperimentBlocks {
    blocks: Blocks,
    pairs: Vec<[f64; 2]>,
    before: Vec<TimeShares>,
    /// Share of the cause after the change.
    after: Vec<f64>,
}

impl ExperimentBlocks {
    fn add(&mut self, trials: [&TestResult; 2], cause: bottleneck::Cause, action: Action) {
        let verdicts = [
            bottleneck::verdict_of_trial(trials[0], false),
            bottleneck::verdict_of_trial(trials[1], action == Action::LogInMemory),
        ];
        let before = self.blocks.count();
        let trial = |at: usize| Trial {
            value: Some(trials[at].ops_per_s),
            verdict: &verdicts[at],
            total_s: trials[at].total_s,
        };
        self.blocks.add(&[[trial(0), trial(1)]]);
        if self.blocks.count() > before {
            self.pairs.push(trials.map(|trial| trial.ops_per_s));
            self.before.extend(TimeShares::from_result(trials[0], cause, action));
            self.after.extend(bottleneck::share_of(trials[1], cause));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_tried_comes_before_what_was_not() {
        let result = |change: &'static str, outcome| {
            let bottleneck = Bottleneck {
                cause: bottleneck::Cause::LogSync,
                share: None,
                evidence: Sentence::default(),
            };
            let remedy = bottleneck::remedy(&dbdyno_core::analysis::fixture::result(), &bottleneck);
            ExperimentResult {
                change: change.into(),
                outcome,
                ..untried_result(&bottleneck, remedy, Sentence::default())
            }
        };
        let [tried, not] = [ForecastOutcome::Undecided, ForecastOutcome::NotTried];
        let first =
            together(vec![result("a", not), result("b", tried), result("c", tried)]).unwrap();
        let further: Vec<String> =
            first.further.iter().map(|other| other.change.to_string()).collect();
        assert_eq!(
            (first.change.to_string().as_str(), further),
            ("b", vec!["c".to_string(), "a".into()])
        );
        assert_eq!(together(Vec::new()), None);
    }
}
