//! Searches on simulated platforms, and the answers of stored trials.

use super::*;
use crate::analysis::fixture;
use crate::model::{Arrivals, LatencySummary, OpenLoop};
use crate::stats::keys::{KeyStream, MODULUS};

fn slo() -> Slo {
    "p99<5ms".parse().unwrap()
}

/// Plays a search against a platform that meets the SLO up to `limit_per_s`, or says
/// otherwise in its n-th trial.
fn search(closed_per_s: f64, platform: &dyn Fn(f64, usize) -> Option<bool>) -> Vec<Trial> {
    let looping = Loop::Highest(slo(), Arrivals::Poisson);
    let mut done = Vec::new();
    while let Some(offer) = next_offer(&looping, &done) {
        let met = offer.and_then(|offer| platform(offer.per_s, done.len()));
        let ops_per_s = offer.map_or(closed_per_s, |offer| offer.per_s);
        done.push(Trial { offer, ops_per_s, met, is_excused: false });
        assert!(done.len() < 60, "it ends");
    }
    done
}

#[test]
fn a_window_holds_enough_ops_for_the_percentile_or_the_search_is_refused() {
    // p99 takes 1,000 ops, 1,500 with a margin.
    assert!((window_s(slo(), 1_000.0, 1.0) - 1.5).abs() < 1e-9);
    assert_eq!(window_s(slo(), 10_000.0, 1.0), 1.0, "its own is long enough");
    assert_eq!(window_s(slo(), 10.0, 1.0), 60.0);
    assert!(is_hopeless(slo(), 49.0, 2.0) && !is_hopeless(slo(), 51.0, 2.0));
    assert!(!is_hopeless(slo(), 49.0, 120.0), "the user asks for longer ones");
    let median: Slo = "p50<5ms".parse().unwrap();
    assert!(!is_hopeless(median, 2.0, 2.0));
}

fn rates(trials: &[Trial], met: bool) -> Vec<f64> {
    trials
        .iter()
        .filter(|trial| trial.met == Some(met))
        .filter_map(|trial| Some(trial.offer?.per_s))
        .collect()
}

#[test]
fn the_search_encloses_the_limit_within_a_step_and_settles_both_sides() {
    for limit in [60.0, 300.0, 700.0, 970.0, 1040.0] {
        let trials = search(1000.0, &|rate, _| Some(rate <= limit));
        let met = rates(&trials, true).into_iter().fold(0.0, f64::max);
        let missed = rates(&trials, false).into_iter().fold(f64::INFINITY, f64::min);
        assert!(
            met <= limit && missed > limit && missed / met < 1.0 / STEP + 0.004,
            "{limit}: {met} {missed}"
        );
        let times = |rate: f64| {
            trials.iter().filter(|trial| trial.offer.is_some_and(|o| o.per_s == rate)).count()
        };
        assert_eq!((times(met), times(missed)), (5, 5));
        assert!(trials.len() <= 18, "{limit}: {} trials", trials.len());
    }
}

#[test]
fn where_trials_disagree_the_sides_are_further_apart() {
    // From 480 to 520 every second trial misses the SLO.
    let noisy = |rate: f64, n: usize| {
        Some(if (480.0..520.0).contains(&rate) { n.is_multiple_of(2) } else { rate < 500.0 })
    };
    let trials = search(1000.0, &noisy);
    assert!(trials.len() < MAX_TRIALS, "{}", trials.len());
}

#[test]
fn an_slo_that_is_never_met_or_never_known_ends() {
    assert!(search(1000.0, &|_, _| Some(false)).len() <= 14);
    assert!(search(1000.0, &|_, _| Some(true)).len() <= 14);
    assert!(search(1000.0, &|_, _| None).len() <= 12);
    assert_eq!(search(0.0, &|_, _| Some(true)).len(), 1, "the closed loop did nothing");
}

#[test]
fn where_every_miss_is_disturbed_lower_rates_are_tried_all_the_same() {
    let looping = Loop::Highest(slo(), Arrivals::Poisson);
    let search = |limit: f64| {
        let mut done = Vec::new();
        while let Some(offer) = next_offer(&looping, &done) {
            let is_met = offer.map(|offer| offer.per_s <= limit);
            let ops_per_s = offer.map_or(1000.0, |offer| offer.per_s);
            let (met, is_excused) = (is_met.filter(|met| *met), is_met == Some(false));
            done.push(Trial { offer, ops_per_s, met, is_excused });
            assert!(done.len() < 60, "it ends");
        }
        done
    };
    let done = search(120.0);
    let tried: Vec<f64> = done.iter().filter_map(|trial| Some(trial.offer?.per_s)).collect();
    assert_eq!(tried[..3], [tried[0]; 3], "one disturbed trial tells nothing");
    assert!(tried[3] < tried[0], "{tried:?}");
    assert!(done.iter().any(|trial| trial.met == Some(true)), "{tried:?}");
    assert!(search(0.0).len() <= 1 + MAX_TRIALS / 4 + 1, "nothing is ever met");
}

pub(super) fn result(per_s: f64, p99_us: f64) -> TestResult {
    let offer = OfferedLoad { per_s, arrivals: Arrivals::Poisson, slo: Some(slo()) };
    let response = LatencySummary { p99_us: Some(p99_us), ..LatencySummary::default() };
    let mut result = fixture::result();
    offer.add_to(&mut result.params);
    TestResult {
        open: Some(OpenLoop { offer, due: result.window.ops as f64, response, phases: Vec::new() }),
        ..result
    }
}

fn settled_rate(per_s: f64) -> Option<SettledRate> {
    Some(SettledRate { per_s, trials: SETTLED })
}

#[test]
fn the_answer_is_taken_from_the_stored_tests() {
    let tests = |values: &[(f64, f64)]| -> Vec<Test> {
        values.iter().map(|(rate, p99)| Test::Measured(Box::new(result(*rate, *p99)))).collect()
    };
    let settled = [vec![(400.0, 1e3)], vec![(500.0, 4e3); 5], vec![(510.0, 6e3); 5]].concat();
    let settled = tests(&settled);
    let answer = &answers(&settled)[0];
    assert_eq!(
        (answer.met, answer.missed, answer.trials),
        (settled_rate(500.0), settled_rate(510.0), 11)
    );
    assert_eq!((answer.status, answer.is_contradictory), (Status::Valid, false));
    assert_eq!(answer.params, fixture::result().params);
    let open = tests(&[(500.0, 4e3), (510.0, 6e3)]);
    assert_eq!(
        (answers(&open)[0].met, answers(&open)[0].missed),
        (None, None),
        "one trial settles nothing"
    );
    assert!(!answers(&open)[0].is_contradictory);
    assert!(answers(&tests(&[(500.0, 6e3), (510.0, 4e3)]))[0].is_contradictory);
    assert!(answers(&[Test::Measured(Box::new(fixture::result()))]).is_empty());
}

#[test]
fn a_rate_that_is_not_kept_up_misses_the_slo_and_disturbed_trials_do_not() {
    let mut late = result(500.0, 4e3);
    assert_eq!(Trial::from_result(&late).met, Some(true));
    late.open.as_mut().unwrap().due *= 1.02;
    assert_eq!(Trial::from_result(&late).met, Some(false));
    let steal = Reason::new(Status::Conditional, ReasonCode::Steal, "");
    late.verdict = Verdict::from_reasons(vec![steal]);
    assert_eq!(Trial::from_result(&late).met, None);
    let mut few = result(500.0, 4e3);
    few.open.as_mut().unwrap().response.p99_us = None;
    assert_eq!(Trial::from_result(&few).met, None, "too few ops for the percentile");
}

fn with(reasons: &[(Status, ReasonCode)], p99_us: f64) -> TestResult {
    let reason = |(status, code): &(Status, ReasonCode)| Reason::new(*status, code.clone(), "");
    TestResult {
        verdict: Verdict::from_reasons(reasons.iter().map(reason).collect()),
        ..result(500.0, p99_us)
    }
}

#[test]
fn an_invalid_trial_never_meets_an_slo_and_errors_miss_it() {
    use Status::{Conditional, Invalid};
    let (good, bad) = (1e3, 6e3);
    let said = |reasons: &[(Status, ReasonCode)], p99_us: f64| {
        Trial::from_result(&with(reasons, p99_us)).met
    };
    assert_eq!(said(&[(Invalid, ReasonCode::Errors)], good), Some(false));
    for code in ReasonCode::ALL {
        let met = said(&[(Invalid, code.clone())], good);
        assert_ne!(met, Some(true), "{code}");
        let is_own = matches!(code, ReasonCode::Errors | ReasonCode::Overload);
        assert_eq!(met == Some(false), is_own, "{code}");
    }
    assert_eq!(said(&[(Invalid, ReasonCode::Contract)], bad), None, "nor does it break one");
    assert_eq!(said(&[(Conditional, ReasonCode::Tier)], good), None);
    // A neighbor can make answers late, also those of an overloaded platform.
    let overload = (Invalid, ReasonCode::Overload);
    let steal = (Conditional, ReasonCode::Steal);
    assert_eq!(said(&[overload, steal.clone()], bad), None);
    assert_eq!(said(&[steal], good), Some(true), "in spite of it");
    assert_eq!(said(&[(Conditional, ReasonCode::ClientLimit)], bad), None);
    assert_eq!(said(&[(Conditional, ReasonCode::Durability)], bad), Some(false));
}

#[test]
fn ops_that_were_due_and_not_done_count_against_the_percentile() {
    let mut few = result(500.0, 4e3);
    let open = few.open.as_mut().unwrap();
    open.offer.slo = "p99.9<5ms".parse().ok();
    open.response.p999_us = Some(4e3);
    assert_eq!(Trial::from_result(&few).met, Some(true));
    few.open.as_mut().unwrap().due *= 1.005;
    assert_eq!(Trial::from_result(&few).met, None, "half a percent may all be beyond the limit");
    few.open.as_mut().unwrap().offer.slo = "p99<5ms".parse().ok();
    assert_eq!(Trial::from_result(&few).met, Some(true), "p99 leaves out one percent");
}

#[test]
fn an_answer_names_the_trials_that_are_no_evidence_and_what_is_against_the_others() {
    let invalid = vec![(Status::Invalid, ReasonCode::Contract)];
    let relaxed = vec![(Status::Conditional, ReasonCode::Durability)];
    let mut tests: Vec<Test> = Vec::new();
    for reasons in [&invalid, &relaxed] {
        for _ in 0..5 {
            tests.push(Test::Measured(Box::new(with(reasons, 1e3))));
        }
    }
    let only_invalid = &answers(&tests[..5])[0];
    assert_eq!((only_invalid.met, only_invalid.unknown), (None, 5));
    let all = &answers(&tests)[0];
    assert_eq!((all.met, all.unknown), (settled_rate(500.0), 5));
    let counted = |code: &ReasonCode| vec![ReasonCount { code: code.clone(), trials: 5 }];
    assert_eq!(all.unknown_because, counted(&ReasonCode::Contract));
    assert_eq!(
        (all.status, &all.conditions),
        (Status::Conditional, &counted(&ReasonCode::Durability))
    );
}

/// A platform whose trials at a rate meet the SLO with the chance that a normal
/// distribution of the logarithm of the highest rate gives.
fn noisy_answer(limit_per_s: f64, noise: f64, number: u32) -> Answer<'static> {
    let mut keys = KeyStream::numbered(29, number);
    let mut normal = || (0..12).map(|_| keys.step() as f64 / MODULUS as f64).sum::<f64>() - 6.0;
    let looping = Loop::Highest(slo(), Arrivals::Poisson);
    let mut done: Vec<Trial> = Vec::new();
    let mut tests: Vec<Test> = Vec::new();
    while let Some(offer) = next_offer(&looping, &done) {
        let met = offer.map(|offer| offer.per_s < limit_per_s * (noise * normal()).exp());
        let ops_per_s = offer.map_or(1000.0, |offer| offer.per_s);
        done.push(Trial { offer, ops_per_s, met, is_excused: false });
        if let Some((offer, met)) = offer.zip(met) {
            let test = result(offer.per_s, if met { 4e3 } else { 6e3 });
            tests.push(Test::Measured(Box::new(test)));
        }
    }
    let tests: &'static [Test] = Vec::leak(tests);
    answers(tests).remove(0)
}

#[test]
fn the_highest_rate_lies_between_the_two_rates_in_95_of_100_searches_whatever_the_noise() {
    const SEARCHES: u32 = 150;
    for noise in [0.005, 0.02, 0.08] {
        let holds = |number: u32| {
            let limit_per_s = 150.0 + 5.0 * f64::from(number);
            let answer = noisy_answer(limit_per_s, noise, number + 1);
            answer.met.is_none_or(|rate| rate.per_s <= limit_per_s)
                && answer.missed.is_none_or(|rate| rate.per_s >= limit_per_s)
        };
        let share =
            (0..SEARCHES).filter(|number| holds(*number)).count() as f64 / f64::from(SEARCHES);
        assert!(share >= 0.95, "noise {noise}: {share}");
    }
}
