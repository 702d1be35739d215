//! Approximate searches: throughput and recall of the same ops, and the best throughput at a
//! recall.

use serde::Serialize;

use super::interval::most_trusted;
pub use super::kpm::recall;
use super::kpm::{NEAR, found_share};
use super::ramp;
use crate::model::params::{EFFORT, assignments};
use crate::model::{Status, Test, TestResult};

/// Recalls for which the best throughput is stated.
pub const LEVELS: [f64; 3] = [0.90, 0.95, 0.99];
/// A search: one question, asked with more and less effort.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Search {
    /// Identifier of the workload as in the catalog: `SRV-QUERY1`.
    pub workload: String,
    /// Parameters that make it this question, as `pct=10`.
    pub question: String,
    /// `database` or `client`.
    pub drive: &'static str,
    /// Points in ascending order of recall.
    pub points: Vec<Point>,
    /// Fastest point for each recall that is asked about.
    pub best: Vec<Best>,
}

/// One effort at one number of jobs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// Parameters of effort, as `ef=40`.
    pub effort: String,
    /// Number of jobs; absent if it is not known.
    pub jobs: Option<u32>,
    /// True neighbors found of those asked for, in the window.
    pub recall: f64,
    /// Figure in its unit.
    pub value: f64,
    /// Unit of the figure.
    pub unit: String,
    /// 99th percentile of service time, in us; absent with too few samples.
    pub p99_us: Option<f64>,
    /// Verdict on the figure.
    pub verdict: Status,
}

/// The fastest valid point that reaches a recall; a conditional one only if no valid one does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Best {
    /// Recall to reach, 0 to 1.
    pub recall: f64,
    /// Index in the points.
    pub point: Option<usize>,
    /// Index of the fastest conditional point that reaches it and is faster: the best is then a
    /// lower bound.
    pub passed_over: Option<usize>,
}

impl Best {
    /// Verdict on the best among these points, that of a lower bound included; none without a best.
    pub fn status(&self, points: &[Point]) -> Option<Status> {
        let own = points[self.point?].verdict;
        Some(if self.passed_over.is_some() { own.max(Status::Conditional) } else { own })
    }
}

/// The searches of a run.
pub fn searches(tests: &[Test]) -> Vec<Search> {
    let counted = |test: &&Test| test.measured().is_some_and(|result| recall(result).is_some());
    let groups = ramp::groups(tests.iter().filter(counted), |test| *test);
    let mut searches: Vec<Search> = Vec::new();
    for group in groups {
        let first = group[0];
        let of_effort = |name: &String| EFFORT.contains(&name.as_str());
        let question = assignments(first.params().iter().filter(|(name, _)| !of_effort(name)), ",");
        let effort = assignments(
            first.params().iter().filter(|(name, _)| of_effort(name) && *name != "recall"),
            " ",
        );
        let points = points(&group, &effort);
        let drive = first.drive().name();
        let same = |search: &&mut Search| {
            search.workload == first.workload()
                && search.question == question
                && search.drive == drive
        };
        match searches.iter_mut().find(same) {
            Some(search) => search.points.extend(points),
            None => searches.push(Search {
                workload: first.workload().to_string(),
                question,
                drive,
                points,
                best: Vec::new(),
            }),
        }
    }
    for search in &mut searches {
        search.points.sort_by(|a, b| a.recall.total_cmp(&b.recall));
        search.best = LEVELS.map(|level| best(&search.points, level)).into();
    }
    searches
}

/// The figures of a ramp, each with the recall of the repetitions that it is made from.
fn points(group: &[&Test], effort: &str) -> Vec<Point> {
    let figures = ramp::curve(group).into_iter();
    let point = |figure: super::figure::Figure<'_>| {
        let counted = ramp::throughput_tests(group, figure.jobs);
        let results: Vec<&TestResult> = counted.into_iter().filter_map(Test::measured).collect();
        let sum = |of: fn(&TestResult) -> u64| results.iter().map(|result| of(result)).sum();
        let near = *results.first()?.facts.get(NEAR)?;
        Some(Point {
            effort: effort.to_string(),
            jobs: figure.jobs,
            recall: found_share(
                sum(|result| result.window.hits),
                sum(|result| result.window.ops),
                near,
            )?,
            value: figure.value,
            unit: figure.unit.to_string(),
            p99_us: figure.test.measured()?.latency.p99_us,
            verdict: figure.status(),
        })
    };
    figures.filter_map(point).collect()
}

fn best(points: &[Point], level: f64) -> Best {
    let is_sound = |at: &usize| points[*at].verdict < Status::Invalid;
    let reaches = |at: &usize| points[*at].recall >= level && is_sound(at);
    let sound: Vec<usize> = (0..points.len()).filter(reaches).collect();
    let fastest = |of: &[usize]| -> Option<usize> {
        of.iter().copied().max_by(|a, b| points[*a].value.total_cmp(&points[*b].value))
    };
    let point = fastest(&most_trusted(sound.clone(), |at| points[*at].verdict));
    let is_faster = |best: usize, other: &usize| points[*other].value > points[best].value;
    let passed_over = point.and_then(|best| fastest(&sound).filter(|other| is_faster(best, other)));
    Best { recall: level, point, passed_over }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{fixture, published_checks};
    use crate::model::Verdict;

    /// Search that found `found` of 10 neighbors per op, at `per_s` ops per second.
    fn search(ef: &str, found: f64, per_s: f64) -> Test {
        let mut result = fixture::result();
        result.params = [("ef", ef), ("pct", "10")]
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .into();
        result.chosen.clone_from(&result.params);
        result.facts.insert(NEAR.into(), 10.0);
        result.window.hits = (found * result.window.ops as f64) as u64;
        result.total.hits = result.window.hits;
        result.kpm_value = Some(per_s);
        result.verdict = Verdict::from_reasons(Vec::new());
        result.into()
    }

    #[test]
    fn the_best_at_a_recall_is_the_fastest_valid_one_that_reaches_it() {
        let tests = [
            search("10", 7.1, 9000.0),
            search("40", 9.27, 5000.0),
            search("80", 9.74, 3000.0),
            search("60", 9.6, 3500.0),
            search("200", 9.95, 1500.0),
        ];
        let [found] = searches(&tests).try_into().unwrap();
        assert_eq!((found.question.as_str(), found.points.len()), ("pct=10", 5));
        let value = |at: usize| found.best[at].point.map(|point| found.points[point].value);
        assert_eq!([value(0), value(1), value(2)], [Some(5000.0), Some(3500.0), Some(1500.0)]);
        assert_eq!(
            searches(&tests[..1])[0].best.iter().filter(|best| best.point.is_some()).count(),
            0
        );
    }

    #[test]
    fn a_faster_conditional_point_makes_the_best_a_lower_bound() {
        let judged = |ef: &str, found: f64, per_s: f64, status: Status| {
            published_checks::fixture::judged(search(ef, found, per_s), status)
        };
        let tests = [
            judged("40", 9.3, 5000.0, Status::Conditional),
            judged("60", 9.4, 4000.0, Status::Valid),
            judged("80", 9.7, 3000.0, Status::Conditional),
            judged("200", 9.95, 9000.0, Status::Invalid),
        ];
        let [found] = searches(&tests).try_into().unwrap();
        let told: Vec<_> = found
            .best
            .iter()
            .map(|best| (best.point, best.passed_over, best.status(&found.points)))
            .collect();
        let expected = [
            (Some(1), Some(0), Some(Status::Conditional)),
            (Some(2), None, Some(Status::Conditional)),
            (None, None, None),
        ];
        assert_eq!(told, expected);
        let [valid] = searches(&tests[1..2]).try_into().unwrap();
        assert_eq!(valid.best[0].status(&valid.points), Some(Status::Valid));
    }

    #[test]
    fn the_recall_is_that_of_the_repetitions_whose_throughput_is_shown() {
        let broken = published_checks::fixture::judged(search("40", 6.3, 9000.0), Status::Invalid);
        let tests = [search("40", 9.54, 5000.0), search("40", 9.56, 5010.0), broken];
        let [found] = searches(&tests).try_into().unwrap();
        let [point] = found.points.as_slice() else { panic!("{found:?}") };
        assert!((point.recall - 0.955).abs() < 1e-4, "{point:?}");
        let best: Vec<_> = found.best.iter().map(|best| best.point).collect();
        assert_eq!(best, [Some(0), Some(0), None]);
    }

    #[test]
    fn what_counts_no_neighbours_is_no_search() {
        assert_eq!(searches(&[fixture::result().into()]), []);
    }
}
