//! `--explain`: after the tests of a run, the experiment of what limits each workload, to see whether its forecast holds.
//!
//! As in a campaign, a block is a trial of each side in random order. On a private server that gets other settings each trial is on
//! a new start of it. Trials are no tests of the run: what they measured is stored with the test that they explain.

use std::collections::BTreeMap;

use super::platform::Platform;
use super::prepare::prepared;
use super::probing::Probing;
use super::schedule::{Answers, Leg};
use super::{Campaign, Event};
use crate::analysis::limiter::{self, Action, Experiment, Limiter, TimeShares};
use crate::analysis::trials::{Blocks, MARGIN, Rule, Trial};
use crate::error::{Error, Kind, Result};
use crate::fit;
use crate::model::{
    Drive, End, Explained, Facts, ForecastOutcome, Plan, Reason, ReasonCode, RunRecord, RunStatus, Selection, Sentence,
    Status, Test, TestResult, TestSpec, Verdict, Window,
};
use crate::runner::Outcome;
use crate::stats::keys::KeyStream;
use crate::stats::median;
use crate::store::Store;

/// Longest warm-up and window of a trial, in s: many short trials tell more than few long ones.
const LONGEST_WARMUP_S: f64 = 1.0;
const LONGEST_TRIAL_S: f64 = 3.0;
/// Bytes of a megabyte of a server's settings.
const MIB: f64 = 1_048_576.0;
/// Streams of keys from here on deal the order of trials.
const STREAM: u32 = 0x4000_0000;

/// One side of an experiment.
struct Side {
    /// The only selection is what is run.
    plan: Plan,
    jobs: u32,
    /// Of a private server, instead of its own; none if it keeps them.
    settings: Option<BTreeMap<String, String>>,
}

/// An experiment that can be carried out.
struct Trying {
    /// The test that is explained.
    result: TestResult,
    limiter: Limiter,
    experiment: Experiment,
    sides: [Side; 2],
    /// As shown.
    changed: BTreeMap<String, String>,
}

/// Runs the experiment of each workload's test of the highest throughput, and stores what it said.
///
/// # Errors
/// If a private server does not start with its own settings again, or the results file cannot be written; after the last
/// experiment, what ended one of them early.
pub(super) fn explain(
    campaign: &Campaign<'_>,
    platform: &mut Platform,
    record: &mut RunRecord,
    store: &mut Store,
    most_blocks: u32,
) -> Result<RunStatus> {
    let tests = store.figures(record.id)?;
    let mut broken = None;
    for selection in &campaign.plan.selections {
        let Some(result) = best(&tests, selection) else { continue };
        let label = format!("{}, {}", selection.label(), Sentence::jobs(result.jobs));
        let found = limiter::limiters(result);
        let explained = match planned(campaign, platform, record, (selection, result), &found) {
            None => {
                let text = format!("{label}: no cause is known, nothing to try");
                (campaign.events)(Event::Note(&text));
                continue;
            }
            Some(Err(not_tried)) => *not_tried,
            Some(Ok(trying)) => {
                (campaign.events)(Event::Step(&format!("{label}: trying {}", trying.experiment.change)));
                let (explained, error) =
                    trying.carry_out(campaign, platform, (record, store), (result.seq, most_blocks))?;
                broken = broken.or(error);
                explained
            }
        };
        if campaign.interrupt.is_set() {
            return Ok(RunStatus::Interrupted);
        }
        store.explain_test(record.id, result.seq, &explained)?;
        (campaign.events)(Event::Note(&format!("{label}: {}", limiter::told(&explained))));
    }
    let stored = |error: Error| Err(error.advise("the tests are stored; the experiment is not complete"));
    broken.map_or(Ok(RunStatus::Finished), stored)
}

/// The test of a selection with the highest throughput, of those that are not invalid.
fn best<'a>(tests: &'a [Test], selection: &Selection) -> Option<&'a TestResult> {
    let is_it = |test: &&TestResult| {
        test.hash == selection.hash && test.workload == selection.workload.id && test.asked_as == selection.asked_as
    };
    let measured = tests.iter().filter_map(Test::measured).filter(is_it);
    let sound = measured.filter(|test| test.verdict.status != Status::Invalid && test.open.is_none());
    sound.max_by(|a, b| a.ops_per_s.total_cmp(&b.ops_per_s))
}

/// The experiment of the first cause for which there is one that we can carry out; else the first with the reason. None without
/// causes.
fn planned(
    campaign: &Campaign<'_>,
    platform: &Platform,
    record: &RunRecord,
    (selection, result): (&Selection, &TestResult),
    found: &[Limiter],
) -> Option<std::result::Result<Trying, Box<Explained>>> {
    let mut first = None;
    for limiter in found {
        let experiment = limiter::experiment(result, limiter);
        match changes(campaign, platform, record, (selection, result), (limiter, &experiment)) {
            Ok((changed, sides)) => {
                return Some(Ok(Trying {
                    result: result.clone(),
                    limiter: limiter.clone(),
                    experiment,
                    sides,
                    changed,
                }));
            }
            Err(why) => first = first.or(Some(Err(Box::new(not_tried(limiter, experiment, why))))),
        }
    }
    first
}

fn not_tried(limiter: &Limiter, experiment: Experiment, why: Sentence) -> Explained {
    Explained {
        cause: limiter.cause.code().into(),
        change: experiment.change,
        changed: BTreeMap::new(),
        forecast: experiment.gain,
        forecast_low: None,
        forecast_high: None,
        ratio: None,
        low: None,
        high: None,
        outcome: ForecastOutcome::NotTried,
        blocks: Vec::new(),
        left_out: 0,
        share_before: limiter.share,
        share_after: None,
        missing: Some(why),
    }
}

/// What an experiment changes, by name, and its two sides.
type Changes = (BTreeMap<String, String>, [Side; 2]);

/// What an experiment changes here.
///
/// # Errors
/// Why it cannot be carried out.
fn changes(
    campaign: &Campaign<'_>,
    platform: &Platform,
    record: &RunRecord,
    (selection, result): (&Selection, &TestResult),
    (limiter, experiment): (&Limiter, &Experiment),
) -> std::result::Result<Changes, Sentence> {
    let base = || Side { plan: single(campaign.plan, selection.clone()), jobs: result.jobs, settings: None };
    let one = |name: &str, value: String| BTreeMap::from([(name.to_string(), value)]);
    match experiment.action {
        Action::Beyond(why) => Err(why.into()),
        Action::Jobs(jobs) => Ok((one("jobs", jobs.to_string()), [base(), Side { jobs, ..base() }])),
        Action::Drive(drive) => {
            let plan = single(campaign.plan, driven(campaign, selection, drive)?);
            Ok((one("drive", drive.name().into()), [base(), Side { plan, ..base() }]))
        }
        Action::Settings => {
            let settings = settings(campaign, platform, record, limiter)?;
            // A cache that holds everything does so from the begin: what fills it is not its doing.
            let holds_all = matches!(limiter.cause, limiter::Cause::Read | limiter::Cause::DataWrite);
            let selection = if holds_all { cached(selection) } else { selection.clone() };
            let side = Side { plan: single(campaign.plan, selection), settings: Some(settings.clone()), ..base() };
            Ok((settings, [Side { settings: Some(BTreeMap::new()), ..base() }, side]))
        }
    }
}

/// A plan of one selection, with short windows.
fn single(plan: &Plan, selection: Selection) -> Plan {
    let Window { warmup_s, end } = selection.window;
    let end = match end {
        End::Time(duration_s) | End::Known { most_s: duration_s, .. } => End::Time(duration_s.min(LONGEST_TRIAL_S)),
        End::Ops(ops) => End::Ops(ops),
    };
    let window = Window { warmup_s: warmup_s.min(LONGEST_WARMUP_S), end };
    Plan { selections: vec![Selection { window, repeat: 1, ..selection }], ..plan.clone() }
}

fn cached(selection: &Selection) -> Selection {
    let mut selection = selection.clone();
    let workload = &mut selection.workload;
    let (tables, evicted) = (workload.tables.clone(), std::mem::take(&mut workload.evict));
    workload.warm.extend(tables.into_iter().chain(evicted));
    workload.warm.sort();
    workload.warm.dedup();
    selection
}

/// The same work through another drive.
fn driven(campaign: &Campaign<'_>, selection: &Selection, drive: Drive) -> std::result::Result<Selection, Sentence> {
    let mut request = campaign.request.clone();
    request.plan.drive = Some(drive);
    let plan = request.plan(campaign.catalog).map_err(|error| Sentence::quoted(error.to_string()))?;
    let is_it = |other: &&Selection| {
        other.workload.id == selection.workload.id && other.params == selection.params && other.drive == drive
    };
    let found = plan.selections.iter().find(is_it).filter(|_| selection.drive != drive).cloned();
    found.ok_or_else(|| "the workload cannot be driven so here".into())
}

/// The settings that take the cause away on this private server.
fn settings(
    campaign: &Campaign<'_>,
    platform: &Platform,
    record: &RunRecord,
    limiter: &Limiter,
) -> std::result::Result<BTreeMap<String, String>, Sentence> {
    let own = platform.server_settings().ok_or("only a private server gets other settings")?;
    let data_bytes: u64 = record.loads.iter().map(|load| load.table_bytes + load.index_bytes).sum();
    let facts = facts(own, (data_bytes as f64 / MIB).ceil());
    let settings = campaign.catalog.experiment(platform.engine.name(), limiter.cause.code(), &facts);
    let settings = settings.map_err(Sentence::quoted)?.ok_or("this engine has no experiment for it")?;
    let size = |settings: &BTreeMap<String, String>| settings.values().filter_map(|value| size_mb(value)).sum::<f64>();
    let holds_all = matches!(limiter.cause, limiter::Cause::Read | limiter::Cause::DataWrite);
    let memory_mb = campaign.request.profile.memory_mb.unwrap_or(0.0) + size(&settings);
    match fit::lacks_memory(memory_mb).filter(|_| holds_all) {
        Some(lacks) => Err(Sentence::quoted(lacks)),
        None => Ok(settings),
    }
}

/// What values of experiments are made of: each setting that is a size as `now_<name>`, behind a word that no function begins with.
fn facts(settings: &BTreeMap<String, String>, data_mb: f64) -> Facts {
    let sizes = settings.iter().filter_map(|(name, value)| Some((format!("now_{name}"), size_mb(value)?)));
    sizes.chain([("data_mb".to_string(), data_mb)]).collect()
}

/// A setting that is a size, in MB (2^20 bytes): `64MB`, `1G`, `512k`.
fn size_mb(value: &str) -> Option<f64> {
    let number = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let mb = match value[number.len()..].to_ascii_lowercase().trim_end_matches('b') {
        "k" => 1.0 / 1024.0,
        "m" => 1.0,
        "g" => 1024.0,
        "t" => 1024.0 * 1024.0,
        _ => return None,
    };
    Some(number.trim().parse::<f64>().ok()? * mb)
}

impl Trying {
    /// Measures blocks until the forecast is judged, and puts the server's own settings back. With what was seen comes what
    /// ended it early.
    fn carry_out(
        self,
        campaign: &Campaign<'_>,
        platform: &mut Platform,
        (record, store): (&mut RunRecord, &mut Store),
        (seq, most_blocks): (u32, u32),
    ) -> Result<(Explained, Option<Error>)> {
        let mut seen = Seen::default();
        let rule = Rule { margin: MARGIN, figures: 1 };
        let mut keys = KeyStream::for_job(campaign.plan.seed, STREAM | seq);
        let mut broken = None;
        for _ in 0..most_blocks {
            let order = if keys.key(2) == 1 { [0, 1] } else { [1, 0] };
            match self.block(campaign, platform, (record, store), order) {
                Ok(trials) => seen.add(&trials, self.limiter.cause),
                Err(error) => {
                    broken = Some(error);
                    break;
                }
            }
            let is_open = self.outcome(&seen, &rule) == ForecastOutcome::Undecided;
            if campaign.interrupt.is_set() || !is_open || seen.blocks.is_hopeless() {
                break;
            }
        }
        if self.sides.iter().any(|side| side.settings.is_some()) {
            platform.restart_with(&BTreeMap::new())?;
        }
        let missing = broken.as_ref().map(|error: &Error| Sentence::quoted(error.to_string()));
        Ok((self.explained(seen, &rule, missing), broken))
    }

    fn explained(self, seen: Seen, rule: &Rule, missing: Option<Sentence>) -> Explained {
        let (span, outcome) = (seen.blocks.span(rule), self.outcome(&seen, rule));
        let forecast = limiter::forecast(&self.result, &self.limiter, &seen.before);
        let foretold = forecast.and_then(|forecast| forecast.span);
        let share_before = median(&seen.before.iter().map(|shares| shares.cause).collect::<Vec<_>>());
        Explained {
            changed: self.changed,
            forecast: forecast.map(|forecast| forecast.gain),
            forecast_low: foretold.map(|(low, _)| low),
            forecast_high: foretold.map(|(_, high)| high),
            ratio: seen.blocks.ratio(),
            low: span.map(|span| span.low),
            high: span.map(|span| span.high),
            outcome,
            left_out: seen.blocks.left_out as u64,
            blocks: seen.pairs,
            share_before,
            share_after: median(&seen.after),
            missing,
            ..not_tried(&self.limiter, self.experiment, Sentence::default())
        }
    }

    fn outcome(&self, seen: &Seen, rule: &Rule) -> ForecastOutcome {
        let span = seen.blocks.span(rule).map(|span| (span.low, span.high));
        let forecast = limiter::forecast(&self.result, &self.limiter, &seen.before);
        forecast.map_or(ForecastOutcome::Undecided, |forecast| limiter::judge_forecast(forecast, span))
    }

    fn block(
        &self,
        campaign: &Campaign<'_>,
        platform: &mut Platform,
        (record, store): (&mut RunRecord, &mut Store),
        order: [usize; 2],
    ) -> Result<[TestResult; 2]> {
        let mut trials = [None, None];
        for at in order {
            trials[at] = Some(self.sides[at].trial(campaign, platform, record, store)?);
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
        campaign: &Campaign<'_>,
        platform: &mut Platform,
        record: &mut RunRecord,
        store: &mut Store,
    ) -> Result<TestResult> {
        self.settings.as_ref().map_or(Ok(()), |settings| platform.restart_with(settings))?;
        let campaign = Campaign { plan: &self.plan, events: &|_| (), ..*campaign };
        let mut probing = Probing::new(platform, campaign.catalog, campaign.events)?;
        let leg = Leg { load: 1, server_start: 1, turns: Vec::new() };
        let selection = &self.plan.selections[0];
        prepared(&campaign, platform, &leg, &mut probing, (record, store), |ready, probing, _| {
            let evictor = (ready.measuring.prepare)(selection, Answers::Known)?;
            let spec = TestSpec::closed(selection, self.jobs, 1);
            match ready.measuring.trial(&spec, &evictor, probing) {
                Outcome::Done(result) => Ok(*result),
                Outcome::Failed(error) => Err(error.at(selection.workload.id.clone())),
                Outcome::Interrupted(_) => Err(Error::new(Kind::Interrupted, "explain", "interrupted")),
            }
        })
    }
}

/// The blocks so far.
#[derive(Default)]
struct Seen {
    blocks: Blocks,
    pairs: Vec<[f64; 2]>,
    before: Vec<TimeShares>,
    /// Share of the cause after the change.
    after: Vec<f64>,
}

impl Seen {
    fn add(&mut self, trials: &[TestResult; 2], cause: limiter::Cause) {
        let (before, verdicts) = (self.blocks.count(), trials.each_ref().map(verdict));
        let trial = |at: usize| Trial {
            value: Some(trials[at].ops_per_s),
            verdict: &verdicts[at],
            total_s: trials[at].total_s,
        };
        self.blocks.add([trial(0), trial(1)]);
        if self.blocks.count() > before {
            self.pairs.push(trials.each_ref().map(|trial| trial.ops_per_s));
            self.before.extend(TimeShares::of(&trials[0], cause));
            self.after.extend(limiter::share_of(&trials[1], cause));
        }
    }
}

/// What is said against a trial as a rate: what a workload claims to stress is what the experiment takes away.
fn verdict(trial: &TestResult) -> Verdict {
    let counts =
        |reason: &&Reason| !matches!(reason.code, ReasonCode::Contract | ReasonCode::Tier | ReasonCode::Other(_));
    Verdict::from_reasons(trial.verdict.reasons.iter().filter(counts).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_the_words_of_settings() {
        let sizes = ["64MB", "64M", "1GB", "2g", "512k", "1TB"].map(size_mb);
        assert_eq!(sizes, [Some(64.0), Some(64.0), Some(1024.0), Some(2048.0), Some(0.5), Some(1024.0 * 1024.0)]);
        for other in ["on", "64", "5min", "O_DIRECT", "", "MB"] {
            assert_eq!(size_mb(other), None, "{other}");
        }
    }

    #[test]
    fn what_engines_change_can_be_had_from_the_settings_of_every_profile() {
        let catalog = crate::catalog::Catalog::embedded().unwrap();
        let mut count = 0;
        for profile in catalog.profiles() {
            for (engine, settings) in &profile.settings {
                let facts = facts(settings, 100.0);
                for cause in limiter::Cause::ALL {
                    let changed = catalog.experiment(engine, cause.code(), &facts).unwrap();
                    let differs = |(name, value): (&String, &String)| settings.get(name) != Some(value);
                    assert!(changed.iter().flatten().all(differs), "{engine}, {}: {changed:?}", cause.code());
                    count += changed.iter().len();
                }
            }
        }
        assert!(count >= 8 * catalog.profiles().len(), "{count}");
    }

    #[test]
    fn a_trial_is_not_held_to_what_its_workload_claims() {
        let reason = |code| Reason::new(Status::Invalid, code, Sentence::new("x"));
        let judged = |codes: &[ReasonCode]| {
            let reasons = codes.iter().cloned().map(reason).collect();
            let trial = TestResult { verdict: Verdict::from_reasons(reasons), ..crate::analysis::fixture::result() };
            verdict(&trial).status
        };
        assert_eq!(judged(&[ReasonCode::Contract, ReasonCode::Tier]), Status::Valid);
        assert_eq!(judged(&[ReasonCode::Contract, ReasonCode::Errors]), Status::Invalid);
    }
}
