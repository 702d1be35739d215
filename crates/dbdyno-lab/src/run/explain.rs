//! `--test-bottleneck`: after the tests of a run, the experiment of what limits each workload, to
//! see whether its forecast holds.
//!
//! As in an A/B test, a block is a trial of each side in random order. On a private server that
//! gets other settings each trial is on a new start of it. Trials are not tests of the run: what
//! they measured is stored with the test that they explain.

use std::collections::BTreeMap;

use super::numbers::is_cached;
use super::platform::Platform;
use super::prepare::{OpenRun, prepared};
use super::probing::Probing;
use super::schedule::{Answers, ServerStart};
use super::{Event, RunContext};
use crate::server::Setup;
use crate::test_runner::Outcome;
use dbdyno_core::analysis::ab_test::{Blocks, MARGIN, Rule, Trial};
use dbdyno_core::analysis::bottleneck::{self, Action, Bottleneck, Experiment, TimeShares};
use dbdyno_core::error::{Error, Kind, Result};
use dbdyno_core::model::{
    ExperimentResult, ForecastOutcome, Reason, ReasonCode, RunRecord, RunStatus, Selection,
    Sentence, Status, Test, TestResult, TestSpec, Verdict,
};
use dbdyno_core::stats::keys::{self, KeyStream};
use dbdyno_core::stats::median;

mod sides;

use sides::{Case, Side, changes};

/// Streams of keys from here on deal the order of trials.
const STREAM: u32 = 0x4000_0000;

/// An experiment that can be carried out.
struct Trying {
    /// The test that is explained.
    result: TestResult,
    bottleneck: Bottleneck,
    experiment: Experiment,
    sides: [Side; 2],
    /// As shown.
    changed: BTreeMap<String, String>,
}

/// Runs the experiments of each workload's test of the highest throughput, and stores what they
/// said.
///
/// # Errors
/// If a private server does not start with its own settings again, or the results file cannot be
/// written; after the last experiment, what ended one of them early.
pub(super) fn explain(
    context: &RunContext<'_>,
    platform: &mut Platform,
    mut run: OpenRun<'_>,
    most_blocks: u32,
) -> Result<RunStatus> {
    let tests = run.store.figures(run.record.id)?;
    let mut broken = None;
    for selection in &context.plan.selections {
        let Some(result) = best(&tests, selection) else { continue };
        let label = format!("{}, {}", selection.label(), Sentence::jobs(result.jobs));
        let mut results = Vec::new();
        for planned in planned(context, platform, run.record, selection, result) {
            let (explained, error) = match planned {
                Err(not_tried) => (*not_tried, None),
                Ok(trying) => {
                    (context.events)(Event::Step(&format!(
                        "{label}: trying {}",
                        trying.experiment.change
                    )));
                    trying.carry_out(context, platform, &mut run, most_blocks)?
                }
            };
            broken = broken.or(error);
            if context.interrupt.is_set() {
                return Ok(RunStatus::Interrupted);
            }
            (context.events)(Event::Note(&format!(
                "{label}: {}",
                bottleneck::describe(&explained)
            )));
            results.push(explained);
        }
        match together(results) {
            Some(explained) => {
                run.store.explain_test(run.record.id, result.seq, &explained)?;
            }
            None => (context.events)(Event::Note(&format!(
                "{label}: no cause is known, nothing to try"
            ))),
        }
    }
    let stored =
        |error: Error| Err(error.advise("the tests are stored; the experiment is not complete"));
    broken.map_or(Ok(RunStatus::Finished), stored)
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
fn planned(
    context: &RunContext<'_>,
    platform: &Platform,
    record: &RunRecord,
    selection: &Selection,
    result: &TestResult,
) -> Vec<std::result::Result<Trying, Box<ExperimentResult>>> {
    let mut refused = Vec::new();
    for bottleneck in bottleneck::bottlenecks(result) {
        let plan = |experiment: Experiment| {
            let case = Case { selection, result, bottleneck: &bottleneck, experiment: &experiment };
            match changes(context, platform, record, &case) {
                Ok((changed, sides)) => {
                    let (result, bottleneck) = (result.clone(), bottleneck.clone());
                    Ok(Trying { result, bottleneck, experiment, sides, changed })
                }
                Err(why) => Err(Box::new(not_tried(&bottleneck, experiment, why))),
            }
        };
        let all: Vec<_> =
            bottleneck::experiments(result, &bottleneck).into_iter().map(plan).collect();
        if all.iter().any(std::result::Result::is_ok) {
            return all;
        }
        refused.extend(all);
    }
    refused.truncate(1);
    refused
}

fn not_tried(bottleneck: &Bottleneck, experiment: Experiment, why: Sentence) -> ExperimentResult {
    ExperimentResult {
        cause: bottleneck.cause.code().into(),
        change: experiment.change,
        changed: BTreeMap::new(),
        forecast: experiment.gain,
        bound: experiment.bound,
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

impl Trying {
    /// Measures blocks until the forecast is judged, and puts the server's own settings back. With
    /// what was seen comes what ended it early.
    fn carry_out(
        self,
        context: &RunContext<'_>,
        platform: &mut Platform,
        run: &mut OpenRun<'_>,
        most_blocks: u32,
    ) -> Result<(ExperimentResult, Option<Error>)> {
        let seq = self.result.seq;
        let mut seen = ExperimentBlocks::default();
        let rule = Rule { margin: MARGIN, figures: 1 };
        let mut keys = KeyStream::numbered(context.plan.seed, STREAM | seq);
        let mut broken = None;
        for block in 1..=most_blocks {
            let order = if keys.key(2) == 1 { [0, 1] } else { [1, 0] };
            let drawn = format!("explain {seq}: {} {block}", self.experiment.change);
            match self.block(context, platform, run, order, &drawn) {
                Ok(trials) => seen.add(&trials, self.bottleneck.cause, self.experiment.action),
                Err(error) => {
                    broken = Some(error);
                    break;
                }
            }
            let is_open = self.outcome(&seen, &rule) == ForecastOutcome::Undecided;
            if context.interrupt.is_set() || !is_open || seen.blocks.is_hopeless() {
                break;
            }
        }
        if self.sides.iter().any(|side| side.server.is_some()) {
            platform.restart_with(&Setup::default())?;
        }
        let missing = broken.as_ref().map(|error: &Error| Sentence::quoted(error.to_string()));
        Ok((self.explained(seen, &rule, missing), broken))
    }

    fn explained(
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
            forecast_low: foretold.map(|(low, _)| low),
            forecast_high: foretold.map(|(_, high)| high).filter(|high| high.is_finite()),
            ratio: seen.blocks.ratio(),
            low: span.map(|span| span.low),
            high: span.map(|span| span.high),
            outcome,
            left_out: seen.blocks.left_out as u64,
            blocks: seen.pairs,
            share_before,
            share_after: median(&seen.after),
            missing,
            ..not_tried(&self.bottleneck, self.experiment, Sentence::default())
        }
    }

    fn forecast(&self, seen: &ExperimentBlocks) -> Option<bottleneck::Forecast> {
        bottleneck::forecast(&self.result, &self.bottleneck, self.experiment.action, &seen.before)
    }

    fn outcome(&self, seen: &ExperimentBlocks, rule: &Rule) -> ForecastOutcome {
        let span = seen.blocks.span(rule).map(|span| (span.low, span.high));
        self.forecast(seen).map_or(ForecastOutcome::Undecided, |forecast| {
            bottleneck::judge_forecast(forecast, span)
        })
    }

    fn block(
        &self,
        context: &RunContext<'_>,
        platform: &mut Platform,
        run: &mut OpenRun<'_>,
        order: [usize; 2],
        drawn: &str,
    ) -> Result<[TestResult; 2]> {
        let mut trials = [None, None];
        for at in order {
            let side = &self.sides[at];
            // Of what is not cached the second side would find what the first has read.
            let own = if is_cached(&side.plan.selections[0]) { 0 } else { at };
            let draw = keys::draw_of(&format!("{drawn} {own}"));
            trials[at] = Some(side.trial(context, platform, run, draw)?);
        }
        match trials {
            [Some(before), Some(after)] => Ok([before, after]),
            _ => Err(Error::new(Kind::Interrupted, "explain", "interrupted")),
        }
    }
}

impl Side {
    /// A test of this side, on a new start of the server if it is one with other settings.
    fn trial(
        &self,
        context: &RunContext<'_>,
        platform: &mut Platform,
        run: &mut OpenRun<'_>,
        draw: u64,
    ) -> Result<TestResult> {
        self.server.as_ref().map_or(Ok(()), |setup| platform.restart_with(setup))?;
        let context = RunContext { plan: &self.plan, events: &|_| (), ..*context };
        let mut probing = Probing::new(platform, context.catalog, context.events)?;
        let server_start = ServerStart { load: 1, server_start: 1, turns: Vec::new() };
        let selection = &self.plan.selections[0];
        prepared(&context, platform, &server_start, &mut probing, run, |ready, probing, _| {
            let evictor = (ready.measuring.prepare)(selection, Answers::Known)?;
            let spec = TestSpec { draw, ..TestSpec::closed(selection, self.jobs, 1) };
            match ready.measuring.trial(&spec, &evictor, probing) {
                Outcome::Done(result) => Ok(*result),
                Outcome::Failed(error) => Err(error.at(selection.workload.id.clone())),
                Outcome::Interrupted(_) => {
                    Err(Error::new(Kind::Interrupted, "explain", "interrupted"))
                }
            }
        })
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
    fn add(&mut self, trials: &[TestResult; 2], cause: bottleneck::Cause, action: Action) {
        let verdicts =
            [verdict(&trials[0], false), verdict(&trials[1], action == Action::LogInMemory)];
        let before = self.blocks.count();
        let trial = |at: usize| Trial {
            value: Some(trials[at].ops_per_s),
            verdict: &verdicts[at],
            total_s: trials[at].total_s,
        };
        self.blocks.add(&[[trial(0), trial(1)]]);
        if self.blocks.count() > before {
            self.pairs.push(trials.each_ref().map(|trial| trial.ops_per_s));
            self.before.extend(TimeShares::from_result(&trials[0], cause, action));
            self.after.extend(bottleneck::share_of(&trials[1], cause));
        }
    }
}

/// Verdict on a trial as a rate, without these reasons: what a workload claims to stress is what
/// the experiment takes away, and commits into a log in memory are faster than the device.
fn verdict(trial: &TestResult, is_in_memory: bool) -> Verdict {
    let counts = |reason: &&Reason| match reason.code {
        ReasonCode::Contract | ReasonCode::Tier | ReasonCode::Other(_) => false,
        ReasonCode::Implausible => !is_in_memory,
        _ => true,
    };
    Verdict::from_reasons(trial.verdict.reasons.iter().filter(counts).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_is_not_held_to_what_its_workload_claims() {
        let reason = |code| Reason::new(Status::Invalid, code, Sentence::new("x"));
        let judged = |codes: &[ReasonCode]| {
            let reasons = codes.iter().cloned().map(reason).collect();
            let trial = TestResult {
                verdict: Verdict::from_reasons(reasons),
                ..dbdyno_core::analysis::fixture::result()
            };
            [false, true].map(|is_in_memory| verdict(&trial, is_in_memory).status)
        };
        assert_eq!(judged(&[ReasonCode::Contract, ReasonCode::Tier]), [Status::Valid; 2]);
        assert_eq!(judged(&[ReasonCode::Contract, ReasonCode::Errors]), [Status::Invalid; 2]);
        assert_eq!(judged(&[ReasonCode::Implausible]), [Status::Invalid, Status::Valid]);
    }

    #[test]
    fn what_was_tried_comes_before_what_was_not() {
        let result = |change: &'static str, outcome| {
            let bottleneck = Bottleneck {
                cause: bottleneck::Cause::LogSync,
                share: None,
                evidence: Sentence::default(),
            };
            let experiment =
                bottleneck::experiment(&dbdyno_core::analysis::fixture::result(), &bottleneck);
            ExperimentResult {
                change: change.into(),
                outcome,
                ..not_tried(&bottleneck, experiment, Sentence::default())
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
