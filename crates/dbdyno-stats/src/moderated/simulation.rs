//! Coverage, false findings and power of the estimator and of the rule that it replaced, over six
//! kinds of noise and three numbers of repetitions. The table of docs/decisions/0035-comparisons.md
//! has three times as many draws of each.

use std::f64::consts::TAU;

use super::{Between, Location, Ratios, locate, pair, step_up};
use crate::keys::{KeyStream, MODULUS};
use crate::summary::{mean, two_sided_p, variance};

const POINTS: usize = 36;
const GROUPS: usize = 6;
/// Comparisons of each case.
const DRAWS: u32 = 100;
/// Earlier runs.
const EARLIER: usize = 3;
/// The points that lose in the tests of power.
const LOSING: [usize; 3] = [4, 16, 31];

/// A kind of noise; standard deviations of logarithms.
#[derive(Clone, Copy)]
struct Noise {
    name: &'static str,
    /// Noise of a repetition and, below, how alike points are in it.
    repetition: f64,
    freedom: f64,
    /// Noise of a run's effect on all points and, below, on each point.
    common: f64,
    point: f64,
    /// Drift of the level over a run.
    drift: f64,
    /// The cost of a burst, twice 8 % of the run.
    burst: f64,
    /// Share of the repetitions that are 15 to 50 % slow.
    wild: f64,
}

const QUIET: Noise = Noise {
    name: "quiet",
    repetition: 0.03,
    freedom: 8.0,
    common: 0.01,
    point: 0.015,
    drift: 0.0,
    burst: 0.0,
    wild: 0.0,
};
const NOISES: [Noise; 6] = [
    QUIET,
    Noise { name: "unequal", freedom: 1.5, ..QUIET },
    Noise { name: "drift", repetition: 0.02, freedom: 5.0, drift: 0.04, ..QUIET },
    Noise { name: "bursts", repetition: 0.02, freedom: 5.0, burst: 0.2, ..QUIET },
    Noise { name: "wild", freedom: 5.0, wild: 0.03, ..QUIET },
    Noise { name: "runs", freedom: 5.0, common: 0.02, point: 0.03, ..QUIET },
];

/// Random numbers.
struct Draws(KeyStream);

impl Draws {
    fn uniform(&mut self) -> f64 {
        self.0.step() as f64 / MODULUS as f64
    }
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }
    /// G. E. P. Box, M. E. Muller, 1958.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos()
    }
    /// G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", 2000.
    fn chi_square(&mut self, freedom: f64) -> f64 {
        let shape = freedom / 2.0;
        if shape < 1.0 {
            return self.chi_square(freedom + 2.0) * self.uniform().powf(1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        loop {
            let x = self.normal();
            let v = (1.0 + x / (9.0 * d).sqrt()).powi(3);
            if v > 0.0 && self.uniform().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return 2.0 * d * v;
            }
        }
    }
}

/// The standard deviations of the points' repetitions, which all runs share.
fn deviations(draws: &mut Draws, noise: &Noise) -> Vec<f64> {
    (0..POINTS)
        .map(|_| noise.repetition * (noise.freedom / draws.chi_square(noise.freedom)).sqrt())
        .collect()
}

/// The logarithms of a run by point: blocks of all points in random order.
fn run(draws: &mut Draws, noise: &Noise, deviations: &[f64], repetitions: usize) -> Vec<Vec<f64>> {
    let common = noise.common * draws.normal();
    let drift = 2.0 * noise.drift * draws.normal();
    let bursts = [draws.uniform(), draws.uniform()];
    let mut logs: Vec<Vec<f64>> =
        deviations.iter().map(|_| vec![common + noise.point * draws.normal()]).collect();
    for block in 0..repetitions {
        let mut order: Vec<(f64, usize)> = (0..POINTS).map(|at| (draws.uniform(), at)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (place, (_, point)) in order.into_iter().enumerate() {
            let time = (place as f64 / POINTS as f64 + block as f64) / repetitions as f64;
            let hit = bursts.iter().filter(|begin| (**begin..**begin + 0.08).contains(&time));
            let mut log = deviations[point] * draws.normal() + drift * (time - 0.5);
            log -= noise.burst * hit.count() as f64;
            if draws.uniform() < noise.wild {
                log += draws.between(0.5, 0.85).ln();
            }
            logs[point].push(log);
        }
    }
    let shifted = |logs: Vec<f64>| logs[1..].iter().map(|log| logs[0] + log).collect();
    logs.into_iter().map(shifted).collect()
}

/// The outcome of a rule for equal runs and for losses.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    /// Share of the intervals that hold the true ratio.
    coverage: f64,
    /// Share of the comparisons of equal runs with a finding.
    any: f64,
    /// Share of the losses that are found, of three points that lose 20 %.
    found: f64,
}

const LOSS: f64 = 0.20;

impl Row {
    /// Adds one comparison of `DRAWS`: `p` gives the p values after a loss of some points.
    fn add(&mut self, p: impl Fn(f64) -> Vec<f64>, finds: fn(&[f64]) -> Vec<bool>) {
        let share = 1.0 / f64::from(DRAWS);
        let equal = p(0.0);
        let held = equal.iter().filter(|p| **p >= 0.05).count();
        self.coverage += share * held as f64 / POINTS as f64;
        self.any += if finds(&equal).contains(&true) { share } else { 0.0 };
        let findings = finds(&p(LOSS));
        let hits = LOSING.iter().filter(|point| findings[**point]).count();
        self.found += share * hits as f64 / LOSING.len() as f64;
    }
}

fn by_step_up(p: &[f64]) -> Vec<bool> {
    step_up(p, 0.05)
}

/// The values of a run after three points have lost.
fn losing(run: &[Location], loss: f64) -> Vec<Location> {
    let mut run = run.to_vec();
    LOSING.iter().for_each(|point| run[*point].at += (1.0 - loss).ln());
    run
}

fn p_values(ratios: &Ratios) -> Vec<f64> {
    ratios.ratios.iter().map(|ratio| ratio.unwrap().p()).collect()
}

/// The rule before: medians, each point's own standard error, Welch's t test, Holm's step-down.
fn before(a: &[Vec<f64>], b: &[Vec<f64>], loss: f64) -> Vec<f64> {
    let p = |(point, (a, b)): (usize, (&Vec<f64>, &Vec<f64>))| {
        let lost = if LOSING.contains(&point) { (1.0 - loss).ln() } else { 0.0 };
        let (a, b) = (value_and_error(a), value_and_error(b));
        let error = a.1.hypot(b.1);
        let freedom = error.powi(4) / (a.1.powi(4) + b.1.powi(4)) * a.2;
        two_sided_p(((b.0 / a.0).ln() + lost) / error, freedom).unwrap()
    };
    a.iter().zip(b).enumerate().map(p).collect()
}

/// Median, its standard error as a fraction, and degrees of freedom.
fn value_and_error(logs: &[f64]) -> (f64, f64, f64) {
    let mut values: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
    values.sort_by(f64::total_cmp);
    let count = values.len() as f64;
    let error = 1.2533 * (variance(&values).unwrap() / count).sqrt() / mean(&values).unwrap();
    (values[(values.len() - 1) / 2], error, count - 1.0)
}

/// S. Holm, 1979.
fn by_step_down(p: &[f64]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut found = vec![false; p.len()];
    for (rank, point) in order.into_iter().enumerate() {
        if p[point] > 0.05 / (p.len() - rank) as f64 {
            break;
        }
        found[point] = true;
    }
    found
}

/// The rules in the columns of the table.
#[derive(Debug, Default)]
struct Case {
    name: String,
    repetitions: usize,
    before: Row,
    prior: Row,
    history: Row,
}

fn case(noise: &Noise, repetitions: usize) -> Case {
    let mut found = Case { name: noise.name.into(), repetitions, ..Case::default() };
    let groups: Vec<usize> = (0..POINTS).map(|point| point * GROUPS / POINTS).collect();
    for number in 1..=DRAWS {
        let mut draws = Draws(KeyStream::numbered(repetitions as u64, number));
        let deviations = deviations(&mut draws, noise);
        let mut next = || run(&mut draws, noise, &deviations, repetitions);
        let (a, b) = (next(), next());
        let earlier: Vec<Vec<Option<Location>>> =
            (0..EARLIER).map(|_| locate(&next()).into_iter().map(Some).collect()).collect();
        let between = Between::from_runs(&earlier).unwrap();
        let (base, other) = (locate(&a), locate(&b));
        let compared = |between: Option<&Between>, loss: f64| {
            p_values(&pair(&base, &losing(&other, loss), &groups, between))
        };
        found.prior.add(|loss| compared(None, loss), by_step_up);
        found.history.add(|loss| compared(Some(&between), loss), by_step_up);
        found.before.add(|loss| before(&a, &b, loss), by_step_down);
    }
    found
}

#[test]
fn intervals_hold_and_equal_runs_differ_by_nothing_in_every_kind_of_noise() {
    let cases: Vec<Case> = NOISES
        .iter()
        .flat_map(|noise| [3, 5, 10].map(|repetitions| case(noise, repetitions)))
        .collect();
    let told = |case: &Case| {
        let row = |row: &Row| format!("{:.3} {:.2} {:.2}", row.coverage, row.any, row.found);
        let rows = [&case.before, &case.prior, &case.history].map(row).join(" | ");
        format!("{:8} {:2} | {rows}", case.name, case.repetitions)
    };
    let table = cases.iter().map(told).collect::<Vec<_>>().join("\n");
    for case in &cases {
        for row in [&case.prior, &case.history] {
            let held = (0.90..=0.985).contains(&row.coverage);
            assert!(held && row.any <= 0.15, "{}, {row:?}:\n{table}", case.name);
        }
    }
    let mean_of = |part: fn(&Case) -> f64| mean(&cases.iter().map(part).collect::<Vec<_>>());
    let found = [mean_of(|case| case.before.found), mean_of(|case| case.history.found)];
    let found = found.map(Option::unwrap);
    assert!(found[1] > 0.8 && found[1] > found[0] + 0.1, "{found:?}:\n{table}");
    // The limits distinguish the rules: the previous rule does not reach them.
    let before = cases.iter().map(|case| case.before);
    assert!(before.clone().any(|row| row.coverage < 0.7), "{table}");
    assert!(before.clone().any(|row| row.any > 0.5), "{table}");
}
