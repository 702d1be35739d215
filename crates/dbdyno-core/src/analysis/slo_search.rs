//! The highest rate at which an SLO (`p99<5ms`) is met: which rate is tried next, and what the
//! trials say. Pure.
//!
//! Rates lie on a grid of 2 % below the throughput of the closed loop. Halving finds where trials
//! begin to miss the SLO; then the rates on both sides are tried until one has met it in
//! every one of five trials and one above it has missed it in every one of five. Trials that missed
//! it while others disturbed them are no evidence, but a [`Bracket`] says what they measured.

mod conditional;
#[cfg(test)]
mod tests;
mod trial_counts;

use std::collections::BTreeMap;

use super::reason_count::{ReasonCount, count};
use crate::model::{
    Loop, OfferedLoad, Reason, ReasonCode, Slo, Status, Test, TestResult, Verdict, without_offer,
};

pub use conditional::{Bracket, RateTrials};
pub use trial_counts::TrialCounts;

/// A step of the grid.
const STEP: f64 = 0.98;
/// Highest and lowest rate of the grid, in steps below the closed loop's: 110 % and 5 % of it.
const HIGHEST: i32 = -5;
const LOWEST: i32 = 148;
/// Trials with the same outcome that settle a rate. With five the highest rate that most trials
/// keep lies between the two settled rates in at least 95 of 100 searches, whatever the noise of
/// the trials (simulated below); with three in 82 to 99.
pub const SETTLED: u32 = 5;
/// More trials settle nothing.
const MAX_TRIALS: usize = 40;
/// Disturbed trials that missed the SLO at a rate at which no trial met it: from this many on,
/// lower rates are tried, so that the answer has a bracket at all.
const DISTURBED: u32 = 3;

/// Factor on the ops that are needed: ops are weighed by the slices they fell into, so that they
/// count as fewer.
const MARGIN: f64 = 1.5;
/// A trial that needs a longer window is not run, unless the user asks for it, in s.
const MAX_WINDOW_S: f64 = 60.0;

/// The window in which the percentile of an SLO can be judged at a rate, in s: at least `own_s`,
/// that of the other tests.
pub fn window_s(slo: Slo, per_s: f64, own_s: f64) -> f64 {
    let needed_s = MARGIN * slo.percentile.fewest_ops() / per_s;
    needed_s.min(MAX_WINDOW_S).max(own_s)
}

/// True if at half of the closed loop's rate no window would hold enough ops for the percentile, so
/// that a search can only end without an answer.
pub fn is_hopeless(slo: Slo, closed_per_s: f64, own_s: f64) -> bool {
    let needed_s = MARGIN * slo.percentile.fewest_ops() / (closed_per_s / 2.0);
    needed_s > MAX_WINDOW_S.max(own_s)
}

/// A test of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// None = closed loop.
    pub offer: Option<OfferedLoad>,
    /// Throughput of the test, in ops per second.
    pub ops_per_s: f64,
    /// True if the SLO was met; none if that is unknown.
    pub met: Option<bool>,
    /// The SLO was missed, but others disturbed the trial: that is no evidence.
    pub is_excused: bool,
}

impl Trial {
    /// Outcome of a test.
    pub fn from_result(result: &TestResult) -> Trial {
        let offer = result.open.as_ref().map(|open| open.offer);
        let outcome = Outcome::from_result(result);
        let met = match outcome {
            Some(Outcome::Met) => Some(true),
            Some(Outcome::Missed) => Some(false),
            Some(Outcome::Excused(_) | Outcome::Unknown(_)) | None => None,
        };
        let is_excused = matches!(outcome, Some(Outcome::Excused(_)));
        Trial { offer, ops_per_s: result.ops_per_s, met, is_excused }
    }
}

/// Outcome of a trial for the SLO at its rate.
#[derive(Debug, Clone, PartialEq)]
enum Outcome {
    Met,
    Missed,
    /// The trial missed the SLO, but these disturbances excuse it: it is no evidence.
    Excused(Vec<ReasonCode>),
    /// The trial is no evidence, for these reasons.
    Unknown(Vec<ReasonCode>),
}

impl Outcome {
    /// Outcome of a test; none if it has no SLO.
    ///
    /// An invalid trial never meets an SLO. Failed ops have no response time, so that a platform
    /// which sheds load by errors misses it, as one that does not keep up; any other reason leaves
    /// open what the platform did. A disturbance from outside excuses a missed SLO only.
    fn from_result(result: &TestResult) -> Option<Outcome> {
        let open = result.open.as_ref()?;
        let slo = open.offer.slo?;
        let unsound = codes(&result.verdict, is_unsound);
        if !unsound.is_empty() {
            return Some(Outcome::Unknown(unsound));
        }
        let is_met = open.meets(slo, result.window.ops);
        let is_shed = !codes(&result.verdict, is_shed_load).is_empty();
        if is_met == Some(false) || is_shed {
            let excuses = codes(&result.verdict, is_from_outside);
            let is_excused = !excuses.is_empty();
            return Some(if is_excused { Outcome::Excused(excuses) } else { Outcome::Missed });
        }
        Some(match (is_met, slo.percentile.value_us(&open.response)) {
            (Some(_), _) => Outcome::Met,
            (None, None) => Outcome::Unknown(vec![ReasonCode::Samples]),
            (None, Some(_)) => Outcome::Unknown(vec![ReasonCode::Overload]),
        })
    }
}

/// Codes of those reasons of a verdict that `is_of` takes.
fn codes(verdict: &Verdict, is_of: fn(&Reason) -> bool) -> Vec<ReasonCode> {
    verdict.reasons.iter().filter(|reason| is_of(reason)).map(|one| one.code.clone()).collect()
}

/// Reasons by which a platform misses an SLO: ops failed, or were not done when they were due.
fn is_shed_load(reason: &Reason) -> bool {
    reason.status == Status::Invalid
        && matches!(reason.code, ReasonCode::Errors | ReasonCode::Overload)
}

/// Reasons by which the times of a trial are not those of the platform at this rate.
fn is_unsound(reason: &Reason) -> bool {
    use ReasonCode::{ClockStep, Interrupted, Little, Tier};
    match reason.status {
        Status::Valid => false,
        Status::Conditional => {
            matches!(reason.code, ClockStep | Interrupted | Little | Tier)
        }
        Status::Invalid => !is_shed_load(reason),
    }
}

/// Reasons from outside the platform that can have made its responses late.
fn is_from_outside(reason: &Reason) -> bool {
    use ReasonCode::{ClientLimit, ForeignLoad, PlatformUnsteady, Steal};
    reason.status == Status::Conditional
        && matches!(reason.code, ClientLimit | ForeignLoad | PlatformUnsteady | Steal)
}

/// Loop of the next test: a closed loop (none within), an arrival rate, or nothing more.
pub fn next_offer(looping: &Loop, done: &[Trial]) -> Option<Option<OfferedLoad>> {
    match looping {
        Loop::Closed | Loop::Thinking(_) => done.is_empty().then_some(None),
        Loop::Profile(profile, arrivals) => done.is_empty().then_some(Some(OfferedLoad {
            per_s: profile.mean_per_s(),
            arrivals: *arrivals,
            slo: None,
        })),
        Loop::Open(rates, arrivals) => {
            let offer =
                |per_s: &f64| Some(OfferedLoad { per_s: *per_s, arrivals: *arrivals, slo: None });
            rates.get(done.len()).map(offer)
        }
        Loop::Highest(slo, arrivals) => {
            let Some((first, trials)) = done.split_first() else { return Some(None) };
            let step = Search::new(first.ops_per_s, trials)
                .next_step()
                .filter(|_| first.ops_per_s > 0.0)?;
            let per_s = rate_of(first.ops_per_s, step);
            Some(Some(OfferedLoad { per_s, arrivals: *arrivals, slo: Some(*slo) }))
        }
    }
}

/// The rate of a step of the grid in four digits, as reports print it.
fn rate_of(closed_per_s: f64, step: i32) -> f64 {
    let exact = closed_per_s * STEP.powi(step);
    let digit = 10f64.powi(exact.log10().floor() as i32 - 3);
    let rounded = (exact / digit).round() * digit;
    if digit < 1.0 { (rounded * 1e6).round() / 1e6 } else { rounded }
}

/// Trials by step of the grid. Disturbed ones that missed the SLO count only where there is nothing
/// else, so that lower rates are tried.
struct Search {
    steps: BTreeMap<i32, TrialCounts>,
    trials: usize,
    unknown: usize,
}

impl Search {
    fn new(closed_per_s: f64, trials: &[Trial]) -> Search {
        let mut steps: BTreeMap<i32, TrialCounts> = BTreeMap::new();
        let mut excused: BTreeMap<i32, u32> = BTreeMap::new();
        for trial in trials {
            let Some(offer) = trial.offer else { continue };
            let step = ((offer.per_s / closed_per_s).ln() / STEP.ln()).round() as i32;
            match trial.met {
                Some(_) => steps.entry(step).or_default().add(trial.met),
                None if trial.is_excused => *excused.entry(step).or_default() += 1,
                None => {}
            }
        }
        for (step, count) in excused.into_iter().filter(|(_, count)| *count >= DISTURBED) {
            let others = steps.entry(step).or_default();
            others.missed += if others.met == 0 { count } else { 0 };
        }
        let unknown = trials.iter().filter(|trial| trial.met.is_none()).count();
        Search { steps, trials: trials.len(), unknown }
    }

    /// The highest rate that met the SLO in every trial, as did every lower one.
    fn met(&self) -> Option<i32> {
        self.steps
            .iter()
            .rev()
            .take_while(|(_, trials)| trials.missed == 0)
            .map(|(step, _)| *step)
            .last()
    }

    /// The lowest rate that missed the SLO in every trial, as did every higher one.
    fn missed(&self) -> Option<i32> {
        self.steps.iter().take_while(|(_, trials)| trials.met == 0).map(|(step, _)| *step).last()
    }

    fn is_settled(&self, step: i32) -> bool {
        self.steps.get(&step).is_some_and(|trials| trials.met + trials.missed >= SETTLED)
    }

    /// Higher rates have lower steps.
    fn next_step(&self) -> Option<i32> {
        if self.trials >= MAX_TRIALS || self.unknown > MAX_TRIALS / 4 {
            return None;
        }
        match (self.missed(), self.met()) {
            (None, None) if self.steps.is_empty() => Some((HIGHEST + LOWEST) / 2),
            // All that was tried gave both: wider on both sides.
            (None, _) if self.first()? > HIGHEST => Some(middle(HIGHEST, self.first()?)),
            (_, None) if self.last()? < LOWEST => Some(middle(self.last()?, LOWEST)),
            (Some(missed), Some(met)) => self.between(missed, met),
            (Some(edge), None) | (None, Some(edge)) if !self.is_settled(edge) => Some(edge),
            _ => None,
        }
    }

    /// The rate in the middle, if none between has been tried; then those on both sides until they
    /// are settled.
    fn between(&self, missed: i32, met: i32) -> Option<i32> {
        let is_untried = self.steps.range(missed + 1..met).next().is_none();
        if is_untried && met - missed > 1 {
            return Some(middle(missed, met));
        }
        [met, missed].into_iter().find(|step| !self.is_settled(*step))
    }

    fn first(&self) -> Option<i32> {
        self.steps.keys().next().copied()
    }

    fn last(&self) -> Option<i32> {
        self.steps.keys().last().copied()
    }
}

/// Step between two steps, never the lower end.
fn middle(low: i32, high: i32) -> i32 {
    match high - low {
        ..=1 if low == HIGHEST => low,
        ..=1 => high,
        _ => (low + high).div_euclid(2),
    }
}

/// A rate that is settled: all its trials had the same outcome, and there were enough of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SettledRate {
    /// Ops offered per second.
    pub per_s: f64,
    /// Number of its trials.
    pub trials: u32,
}

/// Result of the trials of a workload at one number of jobs.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<'a> {
    /// One of the trials, for what they share.
    pub test: &'a TestResult,
    /// The workload's own parameters.
    pub params: BTreeMap<String, String>,
    /// The SLO.
    pub slo: Slo,
    /// The highest rate that met the SLO in every trial; none if no rate did in enough of them.
    pub met: Option<SettledRate>,
    /// The lowest rate above it that missed the SLO in every trial.
    pub missed: Option<SettledRate>,
    /// Number of trials.
    pub trials: usize,
    /// Trials that are no evidence, and why.
    pub unknown: usize,
    /// Reasons for which trials are no evidence, each with their number.
    pub unknown_because: Vec<ReasonCount>,
    /// The bracket that was measured, disturbed trials included, where they keep the others from
    /// settling two rates.
    pub measured: Option<Bracket<'a>>,
    /// The highest rate that met the SLO in any trial, in ops per second.
    pub highest_met_per_s: Option<f64>,
    /// The lowest rate that missed the SLO in any trial, in ops per second.
    pub lowest_missed_per_s: Option<f64>,
    /// True if the SLO was met and missed at one rate, or missed at a lower rate than one at which
    /// it was met.
    pub is_contradictory: bool,
    /// Worst verdict of the trials that settle the two rates, and the reasons that lower it; with
    /// a measured bracket conditional.
    pub status: Status,
    /// Reasons that lower the status, each with their number.
    pub conditions: Vec<ReasonCount>,
}

/// The answers of a run, in the order of its tests.
pub fn answers(tests: &[Test]) -> Vec<Answer<'_>> {
    let mut groups: Vec<Vec<&TestResult>> = Vec::new();
    for test in tests.iter().filter_map(Test::measured).filter(|test| slo_of(test).is_some()) {
        match groups.iter_mut().find(|group| Subject::of(group[0]) == Subject::of(test)) {
            Some(group) => group.push(test),
            None => groups.push(vec![test]),
        }
    }
    groups.iter().filter_map(|group| answer(group)).collect()
}

fn slo_of(test: &TestResult) -> Option<Slo> {
    test.open.as_ref()?.offer.slo
}

/// Properties that all trials of a search have in common.
#[derive(PartialEq)]
struct Subject<'a> {
    workload: &'a str,
    params: BTreeMap<String, String>,
    jobs: u32,
    slo: Option<String>,
}

impl<'a> Subject<'a> {
    fn of(test: &'a TestResult) -> Subject<'a> {
        Subject {
            workload: &test.workload,
            params: without_offer(&test.params),
            jobs: test.jobs,
            slo: slo_of(test).map(String::from),
        }
    }
}

/// Trials at one rate.
struct Rate<'a> {
    per_s: f64,
    trials: TrialCounts,
    verdicts: Vec<&'a Verdict>,
}

/// The trials that are evidence, by rate in ascending order.
fn rates<'a>(group: &[&'a TestResult]) -> Vec<Rate<'a>> {
    let mut rates: Vec<Rate<'a>> = Vec::new();
    for test in group {
        let trial = Trial::from_result(test);
        let Some((offer, met)) = trial.offer.zip(trial.met) else { continue };
        if !rates.iter().any(|rate| rate.per_s == offer.per_s) {
            let trials = TrialCounts::default();
            rates.push(Rate { per_s: offer.per_s, trials, verdicts: Vec::new() });
        }
        let same = rates.iter_mut().filter(|rate| rate.per_s == offer.per_s);
        for rate in same {
            rate.trials.add(Some(met));
            rate.verdicts.push(&test.verdict);
        }
    }
    rates.sort_by(|a, b| a.per_s.total_cmp(&b.per_s));
    rates
}

fn answer<'a>(group: &[&'a TestResult]) -> Option<Answer<'a>> {
    let rates = rates(group);
    let lower = rates.iter().take_while(|rate| rate.trials.agreed() == Some(true));
    let met = lower.filter(|rate| rate.trials.met >= SETTLED).last();
    let higher = rates.iter().rev().take_while(|rate| rate.trials.agreed() == Some(false));
    let missed = higher.filter(|rate| rate.trials.missed >= SETTLED).last();
    let first_missed = rates.iter().position(|rate| rate.trials.missed > 0);
    let last_met = rates.iter().rposition(|rate| rate.trials.met > 0);
    let mut unknown_because = Vec::new();
    let mut unknown = 0;
    for test in group {
        if let Some(Outcome::Unknown(codes) | Outcome::Excused(codes)) = Outcome::from_result(test)
        {
            unknown += 1;
            codes.into_iter().for_each(|code| count(&mut unknown_because, code));
        }
    }
    let mut conditions = Vec::new();
    let settling = || met.iter().chain(&missed).flat_map(|rate| &rate.verdicts);
    // A rate that missed the SLO may be invalid: errors and overload are ways to miss it.
    let lowering = settling()
        .flat_map(|verdict| &verdict.reasons)
        .filter(|reason| reason.status == Status::Conditional);
    lowering.for_each(|reason| count(&mut conditions, reason.code.clone()));
    let is_settled = met.is_some() && missed.is_some();
    let measured = Bracket::from_trials(group).filter(|_| !is_settled);
    let is_valid = conditions.is_empty() && measured.is_none();
    let status = if is_valid { Status::Valid } else { Status::Conditional };
    let (test, slo) = (*group.first()?, slo_of(group.first()?)?);
    Some(Answer {
        test,
        params: without_offer(&test.params),
        slo,
        met: met.map(|rate| SettledRate { per_s: rate.per_s, trials: rate.trials.met }),
        missed: missed.map(|rate| SettledRate { per_s: rate.per_s, trials: rate.trials.missed }),
        trials: group.len(),
        unknown,
        unknown_because,
        measured,
        highest_met_per_s: last_met.map(|at| rates[at].per_s),
        lowest_missed_per_s: first_missed.map(|at| rates[at].per_s),
        is_contradictory: first_missed.zip(last_met).is_some_and(|(low, high)| low <= high),
        status,
        conditions,
    })
}
