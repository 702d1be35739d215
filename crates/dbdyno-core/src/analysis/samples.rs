//! Check that there were enough ops for a rate and a mean: by the interval of the mean, not by a
//! fixed number, since seconds-long ops that all take the same time say more in five than
//! microsecond ops with rare long waits.

use crate::model::{
    LatencySummary, PartResult, Reason, ReasonCode, Sentence, Status, Tally, TestResult,
};
use crate::stats::LatencyHistogram;
use crate::stats::summary::t95;

/// Fewer ops of a part in the window than this are too few, however equal they are.
const MIN_OPS: u64 = 5;
/// Widest half of the 95 % interval of the mean service time, as a fraction of it.
const WIDEST: f64 = 0.05;
/// Number of ops from which on a wide interval means a long tail, which the percentiles show too,
/// and not a lack of ops.
const MANY_OPS: u64 = 100;
/// Widest half of the interval then.
const WIDEST_OF_MANY: f64 = 0.25;

/// The reason `samples`: invalid without ops, conditional if some part had less than five, or if
/// the 95 % interval of the mean service time (Student's t over the timed ops) is wider than +-5 %,
/// from 100 ops on +-25 %.
///
/// A mixed workload's rate is a sum of its parts' rates: their half widths add up in quadrature,
/// weighted by the rates.
pub(super) fn judge(result: &TestResult) -> Option<Reason> {
    if result.window.ops == 0 {
        return Some(Reason::new(
            Status::Invalid,
            ReasonCode::Samples,
            "no op was completed in the window",
        ));
    }
    let parts = parts(result);
    if let Some(least) =
        parts.iter().min_by_key(|part| part.tally.ops).filter(|part| part.tally.ops < MIN_OPS)
    {
        return Some(least.too_few());
    }
    let half = half_width(&parts)?;
    let sentence = match result.window.thought_s > 0.0 {
        true => {
            "only {ops} ops in the window: with the think times, which vary, the rate is accurate \
             to +-{half%} (95 % confidence)"
        }
        false => {
            "only {ops} ops in the window: the mean service time is accurate to +-{half%} \
             (95 % confidence)"
        }
    };
    let sentence = Sentence::new(sentence).with("ops", result.window.ops).with("half", half);
    let widest = if result.window.ops < MANY_OPS { WIDEST } else { WIDEST_OF_MANY };
    (half > widest).then(|| Reason::new(Status::Conditional, ReasonCode::Samples, sentence))
}

/// Data of one part that are judged.
struct Part<'a> {
    /// Workload of the part; none for a simple workload.
    name: Option<&'a str>,
    tally: &'a Tally,
    ops_per_s: f64,
    latency: &'a LatencySummary,
}

impl Part<'_> {
    fn too_few(&self) -> Reason {
        let sentence = match self.tally.ops {
            1 => "only 1 op in the window, fewer than {fewest}",
            _ => "only {ops} ops in the window, fewer than {fewest}",
        };
        let sentence = Sentence::new(sentence).with("ops", self.tally.ops).with("fewest", MIN_OPS);
        let reason = Reason::new(Status::Conditional, ReasonCode::Samples, sentence);
        match self.name {
            Some(name) => reason.of_part(name),
            None => reason,
        }
    }
}

fn parts(result: &TestResult) -> Vec<Part<'_>> {
    if result.parts.len() < 2 {
        return vec![Part {
            name: None,
            tally: &result.window,
            ops_per_s: result.ops_per_s,
            latency: &result.latency,
        }];
    }
    result.parts.iter().map(part).collect()
}

fn part(part: &PartResult) -> Part<'_> {
    Part {
        name: Some(&part.workload),
        tally: &part.tally,
        ops_per_s: part.ops_per_s,
        latency: &part.latency,
    }
}

/// Half width of the interval of the whole rate, as a fraction of it; absent if a part was not
/// timed.
fn half_width(parts: &[Part<'_>]) -> Option<f64> {
    let rate: f64 = parts.iter().map(|part| part.ops_per_s).sum();
    let widths =
        parts.iter().map(|part| Some((relative_half_width(part)? * part.ops_per_s).powi(2)));
    let squares: f64 = widths.collect::<Option<Vec<f64>>>()?.iter().sum();
    Some(squares.sqrt() / rate).filter(|half| half.is_finite())
}

/// Half width of the 95 % interval of the mean of the timed ops, as a fraction of it. Ops that were
/// not timed have the same spread, so they narrow the interval too. A user's op takes the time of
/// thinking as well, whose exponential distribution has a deviation as large as its mean.
fn relative_half_width(part: &Part<'_>) -> Option<f64> {
    let buckets = &part.latency.buckets;
    let counted: u64 = buckets.iter().map(|bucket| bucket.1).sum();
    let is_one = part.latency.samples == 1;
    let mean_ns = LatencyHistogram::from_buckets(buckets).mean_ns();
    let square = |&(ns, count): &(u64, u64)| (ns as f64 - mean_ns).powi(2) * count as f64;
    let variance = buckets.iter().map(square).sum::<f64>()
        / (counted.checked_sub(1).filter(|rest| *rest > 0 && !is_one)? as f64);
    let ops = part.tally.ops as f64;
    let think_ns = 1e9 * part.tally.thought_s / ops;
    let deviation_ns = (variance + think_ns.powi(2)).sqrt();
    Some(t95(ops - 1.0)? * deviation_ns / ops.sqrt() / (mean_ns + think_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;

    fn with(ops: u64, buckets: &[(u64, u64)]) -> TestResult {
        let latency = LatencySummary { buckets: buckets.to_vec(), ..LatencySummary::default() };
        TestResult { window: fixture::tally(ops, 20.0), latency, ..fixture::result() }
    }

    fn text(result: &TestResult) -> Option<(Status, String)> {
        judge(result).map(|reason| (reason.status, reason.text))
    }

    #[test]
    fn five_equal_ops_are_enough_four_are_not_none_is_invalid() {
        assert_eq!(text(&with(5, &[(1_000_000, 5)])), None);
        let few = "only 4 ops in the window, fewer than 5";
        assert_eq!(text(&with(4, &[(1_000_000, 4)])), Some((Status::Conditional, few.into())));
        assert_eq!(text(&with(0, &[])).unwrap().0, Status::Invalid);
    }

    #[test]
    fn the_interval_decides() {
        // 8 and 12 ms, five of each: mean 10, sample deviation sqrt(40/9) = 2.108, t(9) = 2.262,
        // half = 1.508 ms.
        let wide = text(&with(10, &[(8_000_000, 5), (12_000_000, 5)]));
        let expected = "only 10 ops in the window: the mean service time is accurate to +-15.1 % \
             (95 % confidence)";
        assert_eq!(wide, Some((Status::Conditional, expected.into())));
        // The same spread with 100 ops: deviation 2.010, t(99) = 1.984, half = 0.399 ms = 4 %.
        assert_eq!(text(&with(100, &[(8_000_000, 50), (12_000_000, 50)])), None);
        // A sample of them says the same.
        assert_eq!(text(&with(100, &[(8_000_000, 25), (12_000_000, 25)])), None);
        // Half of 1000 ops 1 ms, the others 9 ms: 0.8 of the mean, t(999) = 1.962, half = 5 %. One
        // of 200 took a second, the others 1 ms: mean 6 ms, half = 9.85 ms.
        assert_eq!(text(&with(1000, &[(1_000_000, 500), (9_000_000, 500)])), None);
        assert_eq!(
            text(&with(200, &[(1_000_000, 199), (1_000_000_000, 1)])).unwrap().0,
            Status::Conditional
        );
    }

    #[test]
    fn a_rare_part_must_have_ops_but_its_spread_counts_by_its_rate() {
        let part = |ops, ops_per_s, buckets: &[(u64, u64)]| PartResult {
            workload: format!("P{ops}"),
            params: Default::default(),
            chosen: Default::default(),
            jobs: 1,
            tally: fixture::tally(ops, 10.0),
            ops_per_s,
            units_per_s: ops_per_s,
            latency: LatencySummary { buckets: buckets.to_vec(), ..LatencySummary::default() },
        };
        let quick = || part(10_000, 1000.0, &[(1_000_000, 10_000)]);
        let mut result = with(99, &[]);
        result.parts = vec![quick(), part(10, 1.0, &[(8_000_000, 5), (12_000_000, 5)])];
        assert_eq!(text(&result), None);
        result.parts = vec![quick(), part(10, 1000.0, &[(8_000_000, 5), (12_000_000, 5)])];
        assert!(text(&result).unwrap().1.contains("+-7.5"));
        result.parts = vec![quick(), part(2, 0.2, &[(1_000_000, 2)])];
        assert!(text(&result).unwrap().1.starts_with("P2: only 2 ops"));
    }

    #[test]
    fn think_times_vary_and_so_does_the_rate_of_users_who_think() {
        // 15 ops of 20 ms, all alike, with 3 s of thinking: 200 ms for each.
        let mut result = with(15, &[(20_000_000, 15)]);
        result.latency.samples = 15;
        assert_eq!(judge(&result), None);
        result.window.thought_s = 3.0;
        let reason = judge(&result).unwrap();
        let text = "only 15 ops in the window: with the think times, which vary, the rate is \
                    accurate to +-50.3 % (95 % confidence)";
        assert_eq!((reason.status, reason.text.as_str()), (Status::Conditional, text));
    }
}
