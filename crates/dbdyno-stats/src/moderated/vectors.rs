//! The estimator against what other implementations print: limma 3.54.1 in R for the moderated
//! variances, numpy and scipy for the rest.

use serde_json::Value;

use super::squeeze::squeeze;
use super::{
    Between, Location, MIN_VARIANCE, Ratio, Ratios, Variance, detectable, locate, pair, step_up,
};

/// Tolerance: the precision with which the vectors are printed.
const TOLERANCE: f64 = 1e-6;

fn vectors() -> Value {
    let text = include_str!("../../../../tests/fixtures/moderated-ratios.json");
    serde_json::from_str(text).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|one| one.as_f64().unwrap()).collect()
}

/// The same to a millionth of them, or of 1 if they are small.
fn agree(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        let off = (found - expected).abs();
        assert!(off <= TOLERANCE * expected.abs().min(1.0), "{what}: {found}, not {expected}");
    }
}

fn points(run: &Value) -> Vec<Vec<f64>> {
    run.as_array().unwrap().iter().map(numbers).collect()
}

fn values(variances: &[Variance]) -> Vec<f64> {
    variances.iter().map(|one| one.value).collect()
}

fn freedoms(variances: &[Variance]) -> Vec<f64> {
    variances.iter().map(|one| one.freedom).collect()
}

fn own(values: &Value, freedoms: &[f64]) -> Vec<Variance> {
    let both = numbers(values).into_iter().zip(freedoms.iter().copied());
    both.map(|(value, freedom)| Variance { value, freedom }).collect()
}

#[test]
fn moderated_variances_are_those_of_limma() {
    let vectors = vectors();
    for one in vectors["squeeze"].as_array().unwrap() {
        let name = one["name"].as_str().unwrap();
        let found = squeeze(&own(&one["v"], &numbers(&one["d"])), MIN_VARIANCE);
        let prior = found.prior.unwrap();
        match one["d0"].as_f64() {
            Some(freedom) => agree(name, &[prior.freedom], &[freedom]),
            None => assert!(prior.freedom > 1e8, "{name}: {prior:?}"),
        }
        agree(name, &[prior.value], &[one["s02"].as_f64().unwrap()]);
        agree(name, &values(&found.variances), &numbers(&one["post"]));
    }
}

#[test]
fn a_wild_variance_stays_outside_the_fence_and_a_zero_is_no_proof() {
    let vectors = vectors();
    for name in ["fence", "floor"] {
        let one = &vectors[name];
        let count = one["v"].as_array().unwrap().len();
        let found =
            squeeze(&own(&one["v"], &vec![one["d"].as_f64().unwrap(); count]), MIN_VARIANCE);
        let prior = found.prior.unwrap();
        agree(name, &[prior.freedom], &[one["d0"].as_f64().unwrap()]);
        agree(name, &[prior.value], &[one["s02"].as_f64().unwrap()]);
        agree(name, &values(&found.variances), &numbers(&one["post"]));
        if one["freedom"].is_array() {
            agree(name, &freedoms(&found.variances), &numbers(&one["freedom"]));
        }
    }
}

#[test]
fn robust_values_and_their_variances() {
    let vectors = vectors();
    let one = &vectors["figure"];
    let found = locate(&points(&one["logs"]));
    agree(
        "location",
        &found.iter().map(|one| one.at).collect::<Vec<_>>(),
        &numbers(&one["location"]),
    );
    let variances: Vec<f64> = found.iter().map(|one| one.variance).collect();
    agree("variance", &variances, &numbers(&one["variance"]));
}

fn history(vectors: &Value) -> Between {
    let runs = vectors["between"]["logs"].as_array().unwrap();
    let located = |run: &Value| -> Vec<Option<Location>> {
        locate(&points(run)).into_iter().map(Some).collect()
    };
    Between::from_runs(&runs.iter().map(located).collect::<Vec<_>>()).unwrap()
}

#[test]
fn what_earlier_runs_say_of_what_differs_between_runs() {
    let vectors = vectors();
    let one = &vectors["between"];
    let found = history(&vectors);
    let number = |name: &str| one[name].as_f64().unwrap();
    agree("common", &[found.common.value], &[number("common")]);
    agree("common", &[found.common.freedom], &[number("common_freedom")]);
    agree("effect", &[found.point], &[number("figure_effect")]);
    let usual: Vec<_> = found.points.iter().map(|one| one.unwrap()).collect();
    let spreads: Vec<Variance> = usual.iter().map(|one| one.spread).collect();
    agree("spread", &values(&spreads), &numbers(&one["spread"]));
    agree("spread", &freedoms(&spreads), &numbers(&one["spread_freedom"]));
    let noises: Vec<Variance> = usual.iter().map(|one| one.noise.unwrap()).collect();
    agree("noise", &values(&noises), &numbers(&one["usual_noise"]));
}

fn compared(vectors: &Value, between: Option<&Between>) -> Ratios {
    let [a, b] = ["a", "b"].map(|side| locate(&points(&vectors["pair"][side])));
    pair(&a, &b, &[0, 0, 0, 1, 1, 1], between)
}

#[test]
fn ratios_of_two_runs_by_prior_and_by_history() {
    let vectors = vectors();
    let between = history(&vectors);
    for (name, between) in [("prior", None), ("history", Some(&between))] {
        let one = &vectors["pair"][name];
        let found: Vec<Ratio> =
            compared(&vectors, between).ratios.into_iter().map(Option::unwrap).collect();
        let of = |part: &dyn Fn(&Ratio) -> f64| found.iter().map(part).collect::<Vec<f64>>();
        agree(name, &of(&|ratio| ratio.log), &numbers(&one["log_ratio"]));
        agree(name, &of(&|ratio| ratio.variance().value), &numbers(&one["variance"]));
        agree(name, &of(&|ratio| ratio.variance().freedom), &numbers(&one["freedom"]));
        agree(name, &of(&Ratio::half_width), &numbers(&one["half"]));
        agree(name, &of(&Ratio::p), &numbers(&one["p"]));
        let tail = 0.025 / found.len() as f64;
        let losses = of(&|ratio| detectable(ratio.variance(), tail, None));
        agree(name, &losses, &numbers(&one["detectable_loss"]));
    }
}

#[test]
fn noise_alone_is_moderated_once_over_both_runs() {
    let vectors = vectors();
    let one = &vectors["pair"]["within"];
    let [a, b] = ["a", "b"].map(|side| locate(&points(&vectors["pair"][side])));
    let pooled = a
        .iter()
        .zip(&b)
        .map(|(a, b)| Variance { value: (a.squares() + b.squares()) / 8.0, freedom: 8.0 });
    let noise: Vec<Variance> = squeeze(&pooled.collect::<Vec<_>>(), MIN_VARIANCE)
        .variances
        .into_iter()
        .map(|noise| noise.times(2.0 / 5.0))
        .collect();
    agree("within", &values(&noise), &numbers(&one["variance"]));
    agree("within", &freedoms(&noise), &numbers(&one["freedom"]));
}

#[test]
fn findings_are_those_of_benjamini_and_hochberg() {
    let vectors = vectors();
    let one = &vectors["steps"];
    let expected: Vec<bool> = one["benjamini_hochberg_5"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found.as_bool().unwrap())
        .collect();
    assert_eq!(step_up(&numbers(&one["p"]), 0.05), expected);
    assert_eq!(step_up(&[], 0.05), Vec::<bool>::new());
}
