//! Times of a fixed piece of dbdyno's own work, taken with the tests that two runs have in common:
//! they show whether the platform was as fast in one run as in the other, whatever the database
//! did.

use std::collections::BTreeMap;

use crate::model::{Test, TestResult};
use crate::stats::median;

/// Minimum number of tests common to both runs that show how fast a platform was.
const FEWEST_POINTS: usize = 5;

/// Function that gives the seconds of the fixed work of one test; none if it was not done.
pub(super) type Work = fn(&TestResult) -> Option<f64>;

/// Identity of a test and its repetitions.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct TestKey<'a> {
    /// Hash of the work.
    hash: &'a str,
    jobs: u32,
}

/// Time of the fixed work with the tests of the second run as a multiple of that of the first. It
/// is the median over all tests that both have, since the load of a test is part of it. None if
/// these are few.
pub(super) fn times<'a>(
    base: impl Iterator<Item = &'a Test>,
    other: impl Iterator<Item = &'a Test>,
    work: Work,
) -> Option<f64> {
    let (base, other) = (by_test(base, work), by_test(other, work));
    let both = base.iter().filter_map(|(test, base)| Some((base, other.get(test)?)));
    let times = both.filter_map(|(base, other)| Some(median(other)? / median(base)?));
    let times: Vec<f64> = times.filter(|times| times.is_finite()).collect();
    median(&times).filter(|_| times.len() >= FEWEST_POINTS)
}

/// True if the fixed work of an earlier run differed from that of the base by at least as much as
/// that of the other run, to either side: then the variance of figures includes the effect.
pub(super) fn is_seen_before(
    base: &[Test],
    other: &[Test],
    earlier: &[Vec<&Test>],
    work: Work,
) -> bool {
    let Some(now) = times(base.iter(), other.iter(), work) else { return false };
    let seen = earlier.iter().filter_map(|run| times(base.iter(), run.iter().copied(), work));
    seen.map(|seen| seen.ln().abs()).any(|seen| seen >= now.ln().abs())
}

/// True if work that takes `times` times as long shows another speed. `least` is the fraction of a
/// speed from which on two speeds count as equal.
pub(super) fn is_another(times: f64, least: f64) -> bool {
    !(least..=1.0 / least).contains(&times)
}

/// Times of the fixed work in s, of all repetitions of each test.
fn by_test<'a>(
    tests: impl Iterator<Item = &'a Test>,
    work: Work,
) -> BTreeMap<TestKey<'a>, Vec<f64>> {
    let mut found: BTreeMap<TestKey<'a>, Vec<f64>> = BTreeMap::new();
    for test in tests.filter_map(Test::measured) {
        if let Some(work_s) = work(test) {
            let key = TestKey { hash: test.hash.as_str(), jobs: test.jobs };
            found.entry(key).or_default().push(work_s);
        }
    }
    found
}
