//! The ratios of two runs, or of a run and a base of many, point by point, and their variances.

use super::between::Usual;
use super::squeeze::squeeze;
use super::{
    Between, Location, MIN_POINTS, MIN_VARIANCE, PRIOR_COMMON, PRIOR_WINDOWS, Resource, Variance,
};
use crate::summary::{mean, median};

/// Multiple of what the prior allows from which on the ratios' own spread widens the intervals.
const WIDER: f64 = 1.5;
/// Median of the square of a normal value of variance 1 (genomic control: B. Devlin, K. Roeder,
/// Biometrics 55, 1999).
const MEDIAN_OF_SQUARE: f64 = 0.454_936;

/// The ratio of a point, or a mean of several.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Natural logarithm of other / base; below 0 = a loss.
    pub log: f64,
    /// Variance that is the point's own.
    pub own: Variance,
    /// Variance that all points share.
    pub common: Variance,
    /// Part of the variance that more repetitions would not lessen.
    pub fixed: f64,
    /// Variance that one repetition a side would add to that.
    pub of_repetition: f64,
}

impl Ratio {
    /// The variance of the logarithm.
    pub fn variance(&self) -> Variance {
        Variance::sum(&[self.own, self.common])
    }
    /// Half width of the 95 % interval of the logarithm.
    pub fn half_width(&self) -> f64 {
        self.variance().half_width()
    }
    /// The probability of a ratio as far from 1 if nothing differs.
    pub fn p(&self) -> f64 {
        self.variance().two_sided_p(self.log)
    }
}

/// The ratios of all points.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ratios {
    /// Ratios in the order of the points; absent where nothing shows the variance.
    pub ratios: Vec<Option<Ratio>>,
    /// Variance of a repetition that the points have in common (that of their usual noise, if
    /// earlier runs showed it).
    pub prior: Option<Variance>,
    /// The multiple of what the prior between runs allows by which these two differ, if that
    /// widened the intervals.
    pub widened: Option<f64>,
}

/// The variance between the runs of a ratio: twice a run's part for two runs, 1 + 1/R of it for a
/// base of R runs.
#[derive(Clone, Copy)]
struct Layout {
    /// The factor of the variance between runs.
    runs: f64,
    /// The factor of the variance of a run's value that its repetitions make.
    noise: f64,
}

/// The ratios b / a of two runs whose points stand in the same order. `groups` holds the group of
/// each point, `between` what earlier runs of the platform showed.
pub fn pair(a: &[Location], b: &[Location], groups: &[usize], between: Option<&Between>) -> Ratios {
    let pooled = |(a, b): (&Location, &Location)| {
        let freedom = a.freedom() + b.freedom();
        let value = if freedom > 0.0 { (a.squares() + b.squares()) / freedom } else { 0.0 };
        Variance { value, freedom }
    };
    let own: Vec<Variance> = a.iter().zip(b).map(pooled).collect();
    let (noises, prior) = noises(&own, between);
    let mut ratios: Vec<Option<Ratio>> = Vec::new();
    for (point, (a, b)) in a.iter().zip(b).enumerate() {
        let shares = 1.0 / a.repetitions as f64 + 1.0 / b.repetitions as f64;
        let usual = between.and_then(|between| between.usual(point));
        let noise = noises[point].map(|noise| noise.times(shares)).or_else(|| of_windows(a, b));
        let noise = noise.or_else(|| usual.filter(|usual| usual.noise.is_none()).map(|_| NONE));
        let known = between.map(|between| (between, usual));
        let layout = Layout { runs: 2.0, noise: 2.0 / shares };
        let (log, resource) = (b.at - a.at, a.resource.max(b.resource));
        ratios.push(noise.map(|noise| match known {
            Some((between, Some(usual))) => many(log, noise, between, usual, layout),
            _ => by_prior(log, noise, resource, between, layout),
        }));
    }
    let mut found = Ratios { ratios, prior, widened: None };
    if between.is_none() {
        widen(&mut found, groups);
    }
    found
}

/// The ratios of a run and the mean of the base's runs, which are their own history. Points stand
/// in the same order everywhere.
pub fn against_many(
    base: &[Vec<Option<Location>>],
    new: &[Option<Location>],
    between: &Between,
) -> Ratios {
    let own = |one: &Option<Location>| {
        let one = one.filter(|one| one.repetitions > 1);
        one.map_or(NONE, |one| Variance { value: one.variance, freedom: one.freedom() })
    };
    let own: Vec<Variance> = new.iter().map(own).collect();
    let (noises, prior) = noises(&own, Some(between));
    let ratio_of = |(point, new): (usize, &Option<Location>)| {
        let new = (*new)?;
        let usual = between.usual(point)?;
        let runs = base.iter().filter_map(|run| Some(run.get(point).copied()??.at));
        let runs: Vec<f64> = runs.collect();
        let noise = noises[point].or(usual.noise);
        let noise = noise.map_or(NONE, |noise| noise.times(1.0 / new.repetitions as f64));
        let share = 1.0 + 1.0 / runs.len() as f64;
        let layout = Layout { runs: share, noise: new.repetitions as f64 };
        Some(many(new.at - mean(&runs)?, noise, between, usual, layout))
    };
    let ratios = new.iter().enumerate().map(ratio_of).collect();
    Ratios { ratios, prior, widened: None }
}

/// The variance of the value of one run, with what differs between fresh runs. Twice of it is that
/// of an equal fresh run about this one.
pub fn one_run(run: &[Location], between: Option<&Between>) -> Vec<Option<Variance>> {
    let own = |one: &Location| Variance { value: one.variance, freedom: one.freedom() };
    let own: Vec<Variance> = run.iter().map(own).collect();
    let (noises, _) = noises(&own, between);
    let of = |(point, one): (usize, &Location)| {
        let usual = between.and_then(|between| between.usual(point));
        let noise = noises[point].map(|noise| noise.times(1.0 / one.repetitions as f64));
        let noise = noise.or_else(|| within(one))?;
        let Some((between, usual)) = between.zip(usual) else {
            return Some(Variance::sum(&[noise, one.resource.prior(), PRIOR_COMMON]));
        };
        let spread = usual.spread.value * (between.point + noise.value);
        let freedom = noise.freedom.min(usual.spread.freedom);
        let own = Variance { value: spread.max(noise.value), freedom };
        Some(Variance::sum(&[own, between.common]))
    };
    run.iter().enumerate().map(of).collect()
}

/// No variance of repetitions, of a point that never had any.
const NONE: Variance = Variance { value: 0.0, freedom: 0.0 };

/// Moderated variances of one repetition, for the points that have their own. They are relative to
/// the platform's usual ones if those are known, so that points of unlike noise can inform one
/// another.
pub(super) fn noises(
    own: &[Variance],
    between: Option<&Between>,
) -> (Vec<Option<Variance>>, Option<Variance>) {
    let usual = |point: usize| between.and_then(|between| between.usual(point)?.noise);
    let typical = typical(own.len(), between);
    let scale = |point: usize| usual(point).map_or(typical, |noise| noise.value);
    let repeated: Vec<usize> = (0..own.len()).filter(|point| own[*point].freedom > 0.0).collect();
    let scaled: Vec<Variance> =
        repeated.iter().map(|point| own[*point].times(1.0 / scale(*point))).collect();
    let least = if between.is_some() { 0.0 } else { MIN_VARIANCE };
    let squeezed = squeeze(&scaled, least);
    let mut found: Vec<Option<Variance>> = (0..own.len()).map(usual).collect();
    for (point, noise) in repeated.iter().zip(&squeezed.variances) {
        let noise = noise.times(scale(*point));
        found[*point] = Some(Variance { value: noise.value.max(MIN_VARIANCE), ..noise });
    }
    (found, squeezed.prior)
}

/// The scale for the variance of a point that earlier runs do not have: the median of those
/// that they have; 1 without earlier runs.
fn typical(points: usize, between: Option<&Between>) -> f64 {
    let usual = |point: usize| Some(between?.usual(point)?.noise?.value);
    median(&(0..points).filter_map(usual).collect::<Vec<_>>()).unwrap_or(1.0)
}

/// The noise of a ratio of two points that were measured once each.
fn of_windows(a: &Location, b: &Location) -> Option<Variance> {
    Some(Variance::sum(&[within(a)?, within(b)?]))
}

/// The noise of a point that was measured once, from the seconds of its window.
pub(super) fn within(one: &Location) -> Option<Variance> {
    let seconds = Variance { value: one.within?, freedom: PRIOR_WINDOWS.freedom };
    Some(Variance::sum(&[seconds, PRIOR_WINDOWS]))
}

/// Ratio of a point without earlier runs: on a platform that has some, or on any.
fn by_prior(
    log: f64,
    noise: Variance,
    resource: Resource,
    between: Option<&Between>,
    layout: Layout,
) -> Ratio {
    let common = between.map_or(PRIOR_COMMON, |between| between.common);
    let (point, common) = (resource.prior().times(layout.runs), common.times(layout.runs));
    Ratio {
        log,
        own: Variance::sum(&[noise, point]),
        common,
        fixed: point.value + common.value,
        of_repetition: layout.noise * noise.value,
    }
}

/// Ratio with the noise that earlier runs showed: of two runs 2 A + max(f (2 U + noise), noise), of
/// a base of R runs (1 + 1/R) (A + max(f (U + noise), noise)).
fn many(log: f64, noise: Variance, between: &Between, usual: Usual, layout: Layout) -> Ratio {
    let is_pair = layout.runs >= 2.0;
    let (inside, outside) = if is_pair { (layout.runs, 1.0) } else { (1.0, layout.runs) };
    let factor = usual.spread.value;
    let own = (factor * (inside * between.point + noise.value)).max(noise.value).max(MIN_VARIANCE);
    let freedom = if noise.freedom > 0.0 {
        noise.freedom.min(usual.spread.freedom)
    } else {
        usual.spread.freedom
    };
    let common = between.common.times(layout.runs);
    Ratio {
        log,
        own: Variance { value: outside * own, freedom },
        common,
        fixed: common.value + outside * factor * inside * between.point,
        of_repetition: outside * factor.max(1.0) * noise.value * layout.noise,
    }
}

/// Widens the points' own variances where the ratios spread more than they allow: about their
/// median and within groups, the smaller of which counts, so that a loss of all points or of a
/// whole group is no noise.
fn widen(found: &mut Ratios, groups: &[usize]) {
    let known: Vec<(Ratio, usize)> = found
        .ratios
        .iter()
        .zip(groups)
        .filter_map(|(ratio, group)| Some(((*ratio)?, *group)))
        .collect();
    if known.len() < MIN_POINTS {
        return;
    }
    let logs: Vec<f64> = known.iter().map(|(ratio, _)| ratio.log).collect();
    let centre = median(&logs).unwrap_or(0.0);
    let alone: Vec<f64> =
        known.iter().map(|(ratio, _)| (ratio.log - centre).powi(2) / ratio.own.value).collect();
    let mut pairs = Vec::new();
    for (at, (a, group)) in known.iter().enumerate() {
        for (b, _) in known[..at].iter().filter(|(_, other)| other == group) {
            pairs.push((a.log - b.log).powi(2) / (a.own.value + b.own.value));
        }
    }
    let about = |squares: &[f64]| median(squares).map(|median| median / MEDIAN_OF_SQUARE);
    let wider = [about(&alone), about(&pairs)].into_iter().flatten().fold(f64::INFINITY, f64::min);
    if wider <= WIDER {
        return;
    }
    for ratio in found.ratios.iter_mut().flatten() {
        ratio.fixed = ratio.common.value + wider * (ratio.fixed - ratio.common.value);
        ratio.of_repetition *= wider;
        ratio.own = ratio.own.times(wider);
    }
    found.widened = Some(wider);
}

/// The mean of several ratios (one or more): what all points share counts once. Where ratios of two
/// runs stand beside those of a base of many, which share less, that of two runs counts.
pub fn mean_of(ratios: &[Ratio]) -> Ratio {
    let count = ratios.len() as f64;
    let own: Vec<Variance> =
        ratios.iter().map(|ratio| ratio.own.times(1.0 / (count * count))).collect();
    let shared = ratios.iter().map(|ratio| ratio.common);
    let common = shared.max_by(|a, b| a.value.total_cmp(&b.value)).unwrap_or(NONE);
    let sum = |part: fn(&Ratio) -> f64| ratios.iter().map(part).sum::<f64>();
    Ratio {
        log: sum(|ratio| ratio.log) / count,
        own: Variance::sum(&own),
        common,
        fixed: common.value + sum(|ratio| ratio.fixed - ratio.common.value) / (count * count),
        of_repetition: sum(|ratio| ratio.of_repetition) / (count * count),
    }
}
