//! The highest rate at which a promise (`p99<5ms`) is kept: which rate is tried next, and what the
//! trials say. Pure.
//!
//! Rates lie on a grid of 2 % below the throughput of the closed loop. Halving finds where trials
//! begin to break the promise; then the rates on both sides are tried until one has kept it in
//! every trial and one above it has broken it in every one.

use std::collections::BTreeMap;

use crate::model::{Loop, Offer, OpenLoop, Promise, Test, TestResult, Verdict, without_offer};

/// A step of the grid.
const STEP: f64 = 0.98;
/// Highest and lowest rate of the grid, in steps below the closed loop's: 110 % and 5 % of it.
const HIGHEST: i32 = -5;
const LOWEST: i32 = 148;
/// Trials with the same outcome that settle a rate.
const SETTLED: u32 = 3;
/// More trials settle nothing.
const MOST_TRIALS: usize = 40;
/// Fewer ops done than this fraction of those that were due: the rate was not kept up.
const KEPT_UP: f64 = 0.99;

/// True if fewer ops were done than offered.
pub fn is_overloaded(open: &OpenLoop, done: u64) -> bool {
    (done as f64) < KEPT_UP * open.due
}

/// A test of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// None = closed loop.
    pub offer: Option<Offer>,
    pub ops_per_s: f64,
    /// Whether the promise was kept; none if that cannot be known.
    pub kept: Option<bool>,
}

impl Trial {
    /// What a test says.
    pub fn of(result: &TestResult) -> Trial {
        let offer = result.open.as_ref().map(|open| open.offer);
        let kept =
            result.open.as_ref().and_then(|open| kept(open, result.window.ops, &result.verdict));
        Trial { offer, ops_per_s: result.ops_per_s, kept }
    }
}

/// A promise that is broken while the platform is disturbed says nothing; nor do too few ops for
/// the percentile.
fn kept(open: &OpenLoop, done: u64, verdict: &Verdict) -> Option<bool> {
    let promise = open.offer.promise?;
    let value_us = promise.percentile.of(&open.response);
    let is_kept = !is_overloaded(open, done) && value_us.is_none_or(|us| us < promise.limit_us);
    match (is_kept, value_us) {
        (true, None) => None,
        (false, _) if verdict.is_disturbed() => None,
        (is_kept, _) => Some(is_kept),
    }
}

/// What is offered in the next test: a closed loop (none within), an offer, or nothing more.
pub fn next_offer(looping: &Loop, done: &[Trial]) -> Option<Option<Offer>> {
    match looping {
        Loop::Closed => done.is_empty().then_some(None),
        Loop::Open(rates, arrivals) => {
            let offer =
                |per_s: &f64| Some(Offer { per_s: *per_s, arrivals: *arrivals, promise: None });
            rates.get(done.len()).map(offer)
        }
        Loop::Highest(promise, arrivals) => {
            let Some((first, trials)) = done.split_first() else { return Some(None) };
            let step = Search::new(first.ops_per_s, trials)
                .next_step()
                .filter(|_| first.ops_per_s > 0.0)?;
            let per_s = rate_of(first.ops_per_s, step);
            Some(Some(Offer { per_s, arrivals: *arrivals, promise: Some(*promise) }))
        }
    }
}

/// The rate of a step of the grid, in three digits: figures are printed with them.
fn rate_of(closed_per_s: f64, step: i32) -> f64 {
    let exact = closed_per_s * STEP.powi(step);
    let digit = 10f64.powi(exact.log10().floor() as i32 - 3);
    let rounded = (exact / digit).round() * digit;
    if digit < 1.0 { (rounded * 1e6).round() / 1e6 } else { rounded }
}

/// Trials by step of the grid: how many kept the promise and how many broke it.
struct Search {
    steps: BTreeMap<i32, (u32, u32)>,
    trials: usize,
    unknown: usize,
}

impl Search {
    fn new(closed_per_s: f64, trials: &[Trial]) -> Search {
        let mut steps: BTreeMap<i32, (u32, u32)> = BTreeMap::new();
        for trial in trials {
            let Some((offer, kept)) = trial.offer.zip(trial.kept) else { continue };
            let step = ((offer.per_s / closed_per_s).ln() / STEP.ln()).round() as i32;
            let (keeps, breaks) = steps.entry(step).or_default();
            if kept { *keeps += 1 } else { *breaks += 1 }
        }
        let unknown = trials.iter().filter(|trial| trial.kept.is_none()).count();
        Search { steps, trials: trials.len(), unknown }
    }

    /// The highest rate that kept it in every trial, as did every lower one.
    fn kept(&self) -> Option<i32> {
        self.steps
            .iter()
            .rev()
            .take_while(|(_, (_, breaks))| *breaks == 0)
            .map(|(step, _)| *step)
            .last()
    }

    /// The lowest rate that broke it in every trial, as did every higher one.
    fn broken(&self) -> Option<i32> {
        self.steps.iter().take_while(|(_, (keeps, _))| *keeps == 0).map(|(step, _)| *step).last()
    }

    fn is_settled(&self, step: i32) -> bool {
        self.steps.get(&step).is_some_and(|(keeps, breaks)| keeps + breaks >= SETTLED)
    }

    /// Higher rates have lower steps.
    fn next_step(&self) -> Option<i32> {
        if self.trials >= MOST_TRIALS || self.unknown > MOST_TRIALS / 4 {
            return None;
        }
        match (self.broken(), self.kept()) {
            (None, None) if self.steps.is_empty() => Some((HIGHEST + LOWEST) / 2),
            // All that was tried gave both: wider on both sides.
            (None, _) if self.first()? > HIGHEST => Some(middle(HIGHEST, self.first()?)),
            (_, None) if self.last()? < LOWEST => Some(middle(self.last()?, LOWEST)),
            (Some(broken), Some(kept)) => self.between(broken, kept),
            (Some(edge), None) | (None, Some(edge)) if !self.is_settled(edge) => Some(edge),
            _ => None,
        }
    }

    /// The rate in the middle, if none between has been tried; then those on both sides until they
    /// are settled.
    fn between(&self, broken: i32, kept: i32) -> Option<i32> {
        let is_untried = self.steps.range(broken + 1..kept).next().is_none();
        if is_untried && kept - broken > 1 {
            return Some(middle(broken, kept));
        }
        [kept, broken].into_iter().find(|step| !self.is_settled(*step))
    }

    fn first(&self) -> Option<i32> {
        self.steps.keys().next().copied()
    }

    fn last(&self) -> Option<i32> {
        self.steps.keys().last().copied()
    }
}

/// Between two steps, never the lower end.
fn middle(low: i32, high: i32) -> i32 {
    match high - low {
        ..=1 if low == HIGHEST => low,
        ..=1 => high,
        _ => (low + high).div_euclid(2),
    }
}

/// What the trials of a workload at a number of jobs say.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<'a> {
    /// One of the trials, for what they share.
    pub test: &'a TestResult,
    /// The workload's own parameters.
    pub params: BTreeMap<String, String>,
    pub promise: Promise,
    /// The highest rate that kept it in every trial, with the number of trials; none if no rate did
    /// in enough of them.
    pub kept: Option<(f64, u32)>,
    /// The lowest rate above it that broke it in every trial.
    pub broken: Option<(f64, u32)>,
    pub trials: usize,
    /// Trials that say nothing: disturbed, or too few ops for the percentile.
    pub unknown: usize,
}

/// The answers of a run, in the order of its tests.
pub fn answers(tests: &[Test]) -> Vec<Answer<'_>> {
    let mut groups: Vec<Vec<&TestResult>> = Vec::new();
    for test in tests.iter().filter_map(Test::measured).filter(|test| promise_of(test).is_some()) {
        match groups.iter_mut().find(|group| key(group[0]) == key(test)) {
            Some(group) => group.push(test),
            None => groups.push(vec![test]),
        }
    }
    groups.iter().filter_map(|group| answer(group)).collect()
}

fn promise_of(test: &TestResult) -> Option<Promise> {
    test.open.as_ref()?.offer.promise
}

type Key<'a> = (&'a str, BTreeMap<String, String>, u32, Option<String>);

fn key(test: &TestResult) -> Key<'_> {
    (&test.workload, without_offer(&test.params), test.jobs, promise_of(test).map(String::from))
}

fn answer<'a>(group: &[&'a TestResult]) -> Option<Answer<'a>> {
    let mut rates: Vec<(f64, u32, u32)> = Vec::new();
    for trial in group.iter().map(|test| Trial::of(test)) {
        let Some((offer, kept)) = trial.offer.zip(trial.kept) else { continue };
        let (keeps, breaks) = (u32::from(kept), u32::from(!kept));
        match rates.iter_mut().find(|(per_s, ..)| *per_s == offer.per_s) {
            Some((_, all_keeps, all_breaks)) => {
                (*all_keeps, *all_breaks) = (*all_keeps + keeps, *all_breaks + breaks)
            }
            None => rates.push((offer.per_s, keeps, breaks)),
        }
    }
    rates.sort_by(|a, b| a.0.total_cmp(&b.0));
    let settled = |count: u32| count >= SETTLED;
    let kept = rates.iter().take_while(|rate| rate.2 == 0).filter(|rate| settled(rate.1)).last();
    let broken =
        rates.iter().rev().take_while(|rate| rate.1 == 0).filter(|rate| settled(rate.2)).last();
    let (test, promise) = (*group.first()?, promise_of(group.first()?)?);
    Some(Answer {
        test,
        params: without_offer(&test.params),
        promise,
        kept: kept.map(|rate| (rate.0, rate.1)),
        broken: broken.map(|rate| (rate.0, rate.2)),
        trials: group.len(),
        unknown: group.iter().filter(|test| Trial::of(test).kept.is_none()).count(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::{Arrivals, LatencySummary, Reason, ReasonCode, Status};

    fn promise() -> Promise {
        "p99<5ms".parse().unwrap()
    }

    /// Plays a search against a platform that keeps the promise up to `limit_per_s`, or says
    /// otherwise in its n-th trial.
    fn search(closed_per_s: f64, platform: &dyn Fn(f64, usize) -> Option<bool>) -> Vec<Trial> {
        let looping = Loop::Highest(promise(), Arrivals::Poisson);
        let mut done = Vec::new();
        while let Some(offer) = next_offer(&looping, &done) {
            let kept = offer.and_then(|offer| platform(offer.per_s, done.len()));
            done.push(Trial {
                offer,
                ops_per_s: offer.map_or(closed_per_s, |offer| offer.per_s),
                kept,
            });
            assert!(done.len() < 60, "it ends");
        }
        done
    }

    fn rates(trials: &[Trial], kept: bool) -> Vec<f64> {
        trials
            .iter()
            .filter(|trial| trial.kept == Some(kept))
            .filter_map(|trial| Some(trial.offer?.per_s))
            .collect()
    }

    #[test]
    fn the_search_encloses_the_limit_within_a_step_and_settles_both_sides() {
        for limit in [60.0, 300.0, 700.0, 970.0, 1040.0] {
            let trials = search(1000.0, &|rate, _| Some(rate <= limit));
            let kept = rates(&trials, true).into_iter().fold(0.0, f64::max);
            let broken = rates(&trials, false).into_iter().fold(f64::INFINITY, f64::min);
            assert!(
                kept <= limit && broken > limit && broken / kept < 1.0 / STEP + 0.004,
                "{limit}: {kept} {broken}"
            );
            let times = |rate: f64| {
                trials.iter().filter(|trial| trial.offer.is_some_and(|o| o.per_s == rate)).count()
            };
            assert_eq!((times(kept), times(broken)), (3, 3));
            assert!(trials.len() <= 14, "{limit}: {} trials", trials.len());
        }
    }

    #[test]
    fn where_trials_disagree_the_sides_are_further_apart() {
        // From 480 to 520 every second trial breaks the promise.
        let noisy = |rate: f64, n: usize| {
            Some(if (480.0..520.0).contains(&rate) { n.is_multiple_of(2) } else { rate < 500.0 })
        };
        let trials = search(1000.0, &noisy);
        assert!(trials.len() < MOST_TRIALS, "{}", trials.len());
    }

    #[test]
    fn what_is_never_kept_or_never_known_ends() {
        assert!(search(1000.0, &|_, _| Some(false)).len() <= 12);
        assert!(search(1000.0, &|_, _| Some(true)).len() <= 12);
        assert!(search(1000.0, &|_, _| None).len() <= 12);
        assert_eq!(search(0.0, &|_, _| Some(true)).len(), 1, "the closed loop did nothing");
    }

    fn result(per_s: f64, p99_us: f64) -> TestResult {
        let offer = Offer { per_s, arrivals: Arrivals::Poisson, promise: Some(promise()) };
        let response = LatencySummary { p99_us: Some(p99_us), ..LatencySummary::default() };
        let mut result = fixture::result();
        offer.add_to(&mut result.params);
        TestResult {
            open: Some(OpenLoop { offer, due: result.window.ops as f64, response }),
            ..result
        }
    }

    #[test]
    fn the_answer_is_taken_from_the_stored_tests() {
        let tests = |values: &[(f64, f64)]| -> Vec<Test> {
            values.iter().map(|(rate, p99)| Test::Measured(Box::new(result(*rate, *p99)))).collect()
        };
        let settled = tests(&[
            (400.0, 1e3),
            (500.0, 4e3),
            (500.0, 4e3),
            (500.0, 4e3),
            (510.0, 6e3),
            (510.0, 6e3),
            (510.0, 9e3),
        ]);
        let answer = &answers(&settled)[0];
        assert_eq!(
            (answer.kept, answer.broken, answer.trials),
            (Some((500.0, 3)), Some((510.0, 3)), 7)
        );
        assert_eq!(answer.params, fixture::result().params);
        let open = tests(&[(500.0, 4e3), (510.0, 6e3)]);
        assert_eq!(
            (answers(&open)[0].kept, answers(&open)[0].broken),
            (None, None),
            "one trial settles nothing"
        );
        assert!(answers(&[Test::Measured(Box::new(fixture::result()))]).is_empty());
    }

    #[test]
    fn a_rate_that_is_not_kept_up_breaks_the_promise_and_disturbed_trials_do_not() {
        let mut late = result(500.0, 4e3);
        assert_eq!(Trial::of(&late).kept, Some(true));
        late.open.as_mut().unwrap().due *= 1.02;
        assert_eq!(Trial::of(&late).kept, Some(false));
        let steal = Reason::new(Status::Conditional, ReasonCode::Steal, "");
        late.verdict = Verdict::from_reasons(vec![steal]);
        assert_eq!(Trial::of(&late).kept, None);
        let mut few = result(500.0, 4e3);
        few.open.as_mut().unwrap().response.p99_us = None;
        assert_eq!(Trial::of(&few).kept, None, "too few ops for the percentile");
    }
}
