//! Caches that serve random reads of a growing active set, with their sizes and the cost of missing
//! them: cliffs of the measured service times, and the evidence of the database's counters. Pure.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;

use super::reason_count::ReasonCount;
use super::study::{Blocks, MedianInterval, known};
use super::tiers::{EVICTED, device_read_bytes};
use crate::model::params::ACTIVE_ROWS;
use crate::model::{PublishedTest, RunRecord, Sentence, Status, Test, TestResult};
use crate::stats::cliffs::Cliffs;
use crate::stats::summary::median;

/// Caches in a row that are looked for: the database's and the operating system's; without files in
/// the latter the one.
const MAX_CLIFFS: usize = 2;
const MAX_EVICTED: usize = 1;
/// Fewer blocks read per op come from the first lookups, or from background work.
const SERVED: f64 = 0.05;
/// Share of the reads that the device must serve to be their source; with less, a cache before it
/// is the source.
const MOSTLY: f64 = 0.5;
const HARDLY: f64 = 0.1;
/// A block with fewer of the steps is left out.
const WHOLE: f64 = 0.8;
/// Minimum number of blocks per op at the end of a set without end: an op that misses the cache
/// reads at least a block, so that counters which predict fewer than half a block show first
/// lookups, not the end of a cache.
const MIN_MISSES: f64 = 0.5;
/// Sizes by time and by counters that differ by more contradict one another.
const ALIKE: f64 = 2.0;

/// One size of the active set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// Rows of the active set, from which keys are drawn.
    pub rows: f64,
    /// Size of the active rows in the table, without indexes.
    pub active_mb: f64,
    /// Mean service time in us: median of the blocks.
    pub us: Option<MedianInterval>,
    /// Median of as few blocks as there are, without an interval.
    pub median_us: Option<f64>,
    /// Blocks per op that the database requested, and the part of their bytes that the device read.
    pub misses_per_op: Option<f64>,
    /// Share of the bytes of those blocks that the device read, 0 to 1; absent if it is not known.
    pub device_share: Option<f64>,
    /// Number of blocks that count.
    pub blocks: usize,
    /// Number of blocks that do not count.
    pub left_out: usize,
    /// Verdict on the service time.
    pub verdict: Status,
    /// Reasons that lowered the verdicts of its tests, each with their number.
    #[serde(skip)]
    pub conditions: Vec<ReasonCount>,
}

/// Source of the reads of a plateau.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// The database's own cache.
    BufferCache,
    /// The cache of the operating system.
    SystemCache,
    /// The device that holds the database.
    Device,
    /// Several, or the counters do not show which.
    Unknown,
}

impl Tier {
    /// Name in words.
    pub fn name(self) -> &'static str {
        match self {
            Tier::BufferCache => "the database's cache",
            Tier::SystemCache => "the operating system's cache",
            Tier::Device => "the device",
            Tier::Unknown => "a read source that the counters do not show",
        }
    }
}

/// Service times that one tier gives.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plateau {
    /// Tier that serves the reads.
    pub tier: Tier,
    /// Time of an op that the tier serves in full, in us.
    pub us: Option<MedianInterval>,
    /// Median of as few blocks as there are, without an interval.
    pub median_us: Option<f64>,
    /// Active set up to which it does, in MB; none for the last.
    pub up_to_mb: Option<MedianInterval>,
    /// The same by the blocks that the database asked for; of the database's cache.
    pub counted_mb: Option<MedianInterval>,
    /// Contradiction by the counters.
    #[serde(serialize_with = "in_english")]
    pub contradiction: Option<Sentence>,
}

fn in_english<S: serde::Serializer>(
    text: &Option<Sentence>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    text.as_ref().map(ToString::to_string).serialize(serializer)
}

/// A curve of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// Identifier of the workload as in the catalog: `SRV-QUERY1`.
    pub workload: String,
    /// Other parameters that differ from the defaults.
    pub params: BTreeMap<String, String>,
    /// Number of jobs.
    pub jobs: u32,
    /// The files were put out of the operating system's cache all the time.
    pub evicted: bool,
    /// Sizes of the active set, in ascending order.
    pub steps: Vec<Step>,
    /// Absent with too few steps.
    pub plateaus: Vec<Plateau>,
}

impl Curve {
    /// True if a plateau of this tier was found.
    pub fn reaches(&self, tier: Tier) -> bool {
        self.plateaus.iter().any(|plateau| plateau.tier == tier)
    }
}

/// The curves of a run: its tests whose keys are drawn from an active part, by everything else that
/// they differ in.
pub fn sweep(tests: &[Test]) -> Vec<Curve> {
    let mut keys: Vec<Key> = Vec::new();
    for key in tests.iter().filter_map(Test::measured).filter_map(Key::from_test) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.sort_by_key(|key| (key.workload.clone(), key.jobs, key.evicted));
    keys.into_iter().map(|key| key.curve(tests)).collect()
}

/// Key that the tests of a curve have in common.
#[derive(Debug, Clone, PartialEq)]
struct Key {
    workload: String,
    params: BTreeMap<String, String>,
    jobs: u32,
    evicted: bool,
}

impl Key {
    fn from_test(test: &TestResult) -> Option<Key> {
        test.params.get(ACTIVE_ROWS)?;
        let other = |(name, _): &(&String, &String)| *name != ACTIVE_ROWS;
        let params = test
            .chosen
            .iter()
            .filter(other)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let evicted = test.facts.contains_key(EVICTED);
        Some(Key { workload: test.workload.clone(), params, jobs: test.jobs, evicted })
    }

    fn curve(self, tests: &[Test]) -> Curve {
        let own = |test: &TestResult| Key::from_test(test).as_ref() == Some(&self);
        let measured = tests.iter().filter_map(Test::measured).filter(|test| own(test));
        let mut sizes: Vec<f64> = measured.filter_map(rows).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        let of_size = |size: f64| ActiveSet {
            rows: size,
            blocks: Blocks::from_tests(tests, |test| own(test) && rows(test) == Some(size)),
        };
        let active_sets: Vec<ActiveSet<'_>> = sizes.into_iter().map(of_size).collect();
        let steps: Vec<Step> = active_sets.iter().filter_map(step).collect();
        let plateaus = plateaus(&active_sets, &steps, self.evicted);
        Curve {
            workload: self.workload,
            params: self.params,
            jobs: self.jobs,
            evicted: self.evicted,
            steps,
            plateaus,
        }
    }
}

/// The blocks of tests of an active set.
struct ActiveSet<'a> {
    /// Size of the set, in rows.
    rows: f64,
    blocks: Blocks<'a>,
}

fn rows(test: &TestResult) -> Option<f64> {
    test.params.get(ACTIVE_ROWS)?.parse().ok()
}

/// MB of the table per row.
fn mb_per_row(test: &TestResult) -> Option<f64> {
    Some(test.facts.get("big_mb")? / test.facts.get("big_rows")?)
}

fn misses_per_op(test: &TestResult) -> Option<f64> {
    (test.total.ops > 0).then_some(test.counters.get("physical_reads")? / test.total.ops as f64)
}

/// Share of the bytes requested by the database that the device read.
fn device_share(test: &TestResult) -> Option<f64> {
    let asked = test.counters.get("physical_reads")? * test.facts.get("block_bytes")?;
    (asked > 0.0).then_some((device_read_bytes(&test.counters)? / asked).min(1.0))
}

/// The step of an active set; none where its size in MB is not known.
fn step(ActiveSet { rows, blocks }: &ActiveSet<'_>) -> Option<Step> {
    let of = |value: fn(&TestResult) -> Option<f64>| median(&known(&blocks.values(value)));
    let values = known(&blocks.values(|test| test.latency.mean_us));
    let us = MedianInterval::from_values(&values);
    Some(Step {
        rows: *rows,
        active_mb: rows * of(mb_per_row)?,
        us,
        median_us: median(&values),
        misses_per_op: of(misses_per_op),
        device_share: of(device_share),
        blocks: values.len(),
        left_out: blocks.left_out(),
        verdict: MedianInterval::verdict(us.as_ref(), blocks.status()),
        conditions: blocks.conditions(),
    })
}

/// The points of each block in which few steps are missing.
fn curves(
    active_sets: &[ActiveSet<'_>],
    steps: &[Step],
    value: impl Fn(&TestResult) -> Option<f64>,
) -> Vec<Vec<(f64, f64)>> {
    let values: Vec<Vec<Option<f64>>> =
        active_sets.iter().map(|set| set.blocks.values(&value)).collect();
    let most = values.iter().map(Vec::len).max().unwrap_or(0);
    let of_block = |block: usize| {
        let point = |(step, values): (&Step, &Vec<Option<f64>>)| {
            Some((step.active_mb, values.get(block).copied().flatten()?))
        };
        steps.iter().zip(&values).filter_map(point).collect::<Vec<_>>()
    };
    let is_whole = |points: &Vec<(f64, f64)>| points.len() as f64 >= WHOLE * steps.len() as f64;
    (0..most).map(of_block).filter(is_whole).collect()
}

/// Base, sizes and rises, each by block; as many cliffs as the medians over the blocks support.
struct Fitted {
    base: Vec<f64>,
    sizes: Vec<Vec<f64>>,
    rises: Vec<Vec<f64>>,
}

impl Fitted {
    fn fit(curves: &[Vec<(f64, f64)>], most: usize) -> Option<Fitted> {
        let mut sizes: Vec<f64> = curves.iter().flatten().map(|(x, _)| *x).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        let medians = sizes.iter().filter_map(|size| {
            let of_size = curves.iter().flatten().filter(|(x, _)| x == size).map(|(_, y)| *y);
            Some((*size, median(&of_size.collect::<Vec<_>>())?))
        });
        let count = Cliffs::fit(&medians.collect::<Vec<_>>(), most)?.cliffs.len();
        let mut fitted = Fitted {
            base: Vec::new(),
            sizes: vec![Vec::new(); count],
            rises: vec![Vec::new(); count],
        };
        for found in curves.iter().filter_map(|curve| Cliffs::fit_count(curve, count)) {
            fitted.base.push(found.base);
            for (at, cliff) in found.cliffs.iter().enumerate() {
                fitted.sizes[at].push(cliff.at);
                fitted.rises[at].push(cliff.rise);
            }
        }
        Some(fitted)
    }

    /// Times on the plateau behind `behind` cliffs, block by block.
    fn levels(&self, behind: usize) -> Vec<f64> {
        let sums = self.base.iter().enumerate().map(|(block, base)| {
            base + self.rises[..behind].iter().map(|rises| rises[block]).sum::<f64>()
        });
        sums.collect()
    }
}

fn plateaus(active_sets: &[ActiveSet<'_>], steps: &[Step], evicted: bool) -> Vec<Plateau> {
    let most = if evicted { MAX_EVICTED } else { MAX_CLIFFS };
    let curves = curves(active_sets, steps, |test| test.latency.mean_us);
    let Some(times) = Fitted::fit(&curves, most) else { return Vec::new() };
    let counted_mb = counted_mb(active_sets, steps);
    let tiers = tiers(steps, &times, evicted);
    let served = last_served(&tiers).unwrap_or(0);
    let plateau = |(at, tier): (usize, Tier)| {
        let up_to_mb = times.sizes.get(at).and_then(|sizes| MedianInterval::from_values(sizes));
        let counted_mb = counted_mb.filter(|_| at == served);
        let contradiction = match at {
            0 if tier == Tier::Unknown => misses_at_first(steps),
            _ if at == served => contradiction(up_to_mb, counted_mb),
            _ => None,
        };
        let levels = times.levels(at);
        let (us, median_us) = (MedianInterval::from_values(&levels), median(&levels));
        Plateau { tier, us, median_us, up_to_mb, counted_mb, contradiction }
    };
    tiers.into_iter().enumerate().map(plateau).collect()
}

/// Active set from which on the database asks for blocks, by its counters.
fn counted_mb(active_sets: &[ActiveSet<'_>], steps: &[Step]) -> Option<MedianInterval> {
    // Compared with the misses of the first lookups, a few count as none.
    let misses = curves(active_sets, steps, |test| Some(misses_per_op(test)? + SERVED));
    let found = Fitted::fit(&misses, 1).filter(|found| found.sizes.len() == 1)?;
    median(&found.rises[0]).filter(|rise| *rise > MIN_MISSES)?;
    steps.last()?.misses_per_op.filter(|misses| *misses > SERVED)?;
    MedianInterval::from_values(&found.sizes[0])
}

/// Read source of each plateau, by the counters of its steps.
fn tiers(steps: &[Step], times: &Fitted, evicted: bool) -> Vec<Tier> {
    let ends: Vec<f64> = times.sizes.iter().filter_map(|sizes| median(sizes)).collect();
    let mut tiers: Vec<Tier> = Vec::new();
    for at in 0..=ends.len() {
        let from_mb = at.checked_sub(1).map_or(0.0, |before| ends[before]);
        let up_to_mb = ends.get(at).copied();
        let misses = misses_between(steps, from_mb, up_to_mb);
        // The caches of the processor have ends, too: what misses nothing is the database's cache,
        // and what misses little behind such an end are first lookups.
        let is_served = misses.is_some_and(|misses| misses <= SERVED)
            || foretold_misses(steps, from_mb, up_to_mb).is_some_and(|all| all < MIN_MISSES);
        let tier = match misses {
            Some(_) if is_served => Tier::BufferCache,
            _ if at == 0 => Tier::Unknown,
            // The first cache behind the database's, if another one follows.
            Some(_) if up_to_mb.is_some() => Tier::SystemCache,
            None if up_to_mb.is_some() => Tier::Unknown,
            _ => last_tier(steps, at - last_served(&tiers).unwrap_or(0), evicted),
        };
        tiers.push(tier);
    }
    tiers
}

/// Blocks that an op of a set without end would read if the plateau began where a cache of the
/// database ends, by its largest step; none of the first plateau.
fn foretold_misses(steps: &[Step], from_mb: f64, up_to_mb: Option<f64>) -> Option<f64> {
    let largest = steps.iter().rfind(|step| up_to_mb.is_none_or(|end| step.active_mb <= end))?;
    let share = 1.0 - from_mb / largest.active_mb;
    Some(largest.misses_per_op? / share).filter(|_| from_mb > 0.0 && share > 0.0)
}

/// Place of the last plateau that the database's cache serves.
fn last_served(tiers: &[Tier]) -> Option<usize> {
    tiers.iter().rposition(|tier| *tier == Tier::BufferCache)
}

/// Median of the blocks read per op over the steps of a plateau; of one between two steps that of
/// the step below its end.
fn misses_between(steps: &[Step], from_mb: f64, up_to_mb: Option<f64>) -> Option<f64> {
    let below = |step: &&Step| up_to_mb.is_none_or(|end| step.active_mb <= end);
    let own = steps.iter().filter(below).filter(|step| step.active_mb > from_mb);
    let own: Option<Vec<f64>> = own.map(|step| step.misses_per_op).collect();
    match own {
        Some(own) if own.is_empty() => steps.iter().rfind(below)?.misses_per_op,
        // The smallest set shows the first plateau best, the largest one that has no end.
        Some(own) if from_mb == 0.0 => own.first().copied(),
        Some(own) if up_to_mb.is_none() => own.last().copied(),
        own => median(&own?),
    }
}

/// Read source of the last plateau, behind this many caches, of which the database's is the first.
fn last_tier(steps: &[Step], passed: usize, evicted: bool) -> Tier {
    match steps.last().and_then(|last| last.device_share) {
        // Behind two caches only the device is left, also while they still serve most of the reads.
        Some(share) if share >= MOSTLY || passed >= MAX_CLIFFS && share > HARDLY => Tier::Device,
        Some(share) if share <= HARDLY && !evicted => Tier::SystemCache,
        _ => Tier::Unknown,
    }
}

/// Contradiction by the counters if the database's cache does not serve the first plateau.
fn misses_at_first(steps: &[Step]) -> Option<Sentence> {
    let sentence =
        Sentence::new("the database read {misses} blocks per op even of the smallest active set");
    Some(sentence.with("misses", steps.first()?.misses_per_op?))
}

/// Contradiction between the counters and the end of the database's cache by the service times.
fn contradiction(
    up_to_mb: Option<MedianInterval>,
    counted_mb: Option<MedianInterval>,
) -> Option<Sentence> {
    let differ = |a: f64, b: f64| a / b > ALIKE || b / a > ALIKE;
    match (up_to_mb, counted_mb) {
        (Some(by_time), Some(counted)) if differ(by_time.value, counted.value) => {
            let sentence = Sentence::new(
                "by its counters the database's cache serves up to {counted} MB, by the service \
                 times {found} MB",
            );
            Some(sentence.with("counted", counted.value).with("found", by_time.value))
        }
        (None, Some(counted)) => {
            let sentence = Sentence::new(
                "by its counters the database's cache serves up to {counted} MB, which no service \
                 time shows",
            );
            Some(sentence.with("counted", counted.value))
        }
        _ => None,
    }
}

/// Printed service times of a workload over the size of the database.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedCurve {
    /// Platform as the publication names it.
    pub platform: String,
    /// Workload that the published one corresponds to.
    pub workload: String,
    /// Parameters that distinguish the curve from others.
    pub params: BTreeMap<String, String>,
    /// Number of jobs; absent if it is not printed.
    pub jobs: Option<u32>,
    /// Points in ascending order of size.
    pub points: Vec<PublishedPoint>,
}

/// A point of a curve of a publication; a pair in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(into = "(f64, f64)")]
pub struct PublishedPoint {
    /// Size of the database, in GB.
    pub database_gb: f64,
    /// Service time, in us.
    pub us: f64,
}

impl From<PublishedPoint> for (f64, f64) {
    fn from(point: PublishedPoint) -> Self {
        (point.database_gb, point.us)
    }
}

/// Fewer sizes make no curve.
const MIN_SIZES: usize = 3;

/// The curves of publications: tests that are printed at several sizes of one platform's database.
/// A time that is not printed follows from jobs and throughput, because a job that waits for each
/// answer has only one op in progress.
pub fn published<'a>(
    runs: impl Iterator<Item = (&'a RunRecord, &'a [Test])>,
) -> Vec<PublishedCurve> {
    let mut curves: Vec<PublishedCurve> = Vec::new();
    for (run, tests) in runs {
        for test in tests.iter().filter_map(Test::published) {
            let (Some(database_gb), Some(us), Some(_)) =
                (run.size_gb, printed_us(test), test.kpm_value)
            else {
                continue;
            };
            let point = PublishedPoint { database_gb, us };
            let key = |curve: &PublishedCurve| {
                curve.platform == run.target
                    && curve.workload == test.workload
                    && curve.params == test.params
                    && curve.jobs == test.jobs()
            };
            match curves.iter_mut().find(|curve| key(curve)) {
                Some(curve) => curve.points.push(point),
                None => curves.push(PublishedCurve {
                    platform: run.target.clone(),
                    workload: test.workload.clone(),
                    params: test.params.clone(),
                    jobs: test.jobs(),
                    points: vec![point],
                }),
            }
        }
    }
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.database_gb.total_cmp(&b.database_gb));
        curve.points.dedup_by(|a, b| a.database_gb == b.database_gb);
    }
    curves.retain(|curve| curve.points.len() >= MIN_SIZES);
    curves
}

fn printed_us(test: &PublishedTest) -> Option<f64> {
    let by_rate = || Some(f64::from(test.jobs()?) * 1e6 / test.ops_per_s?);
    test.latency.mean_us.or_else(by_rate).filter(|us| us.is_finite() && *us > 0.0)
}
