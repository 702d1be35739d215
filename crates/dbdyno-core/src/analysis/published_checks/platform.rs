//! A platform table that contradicts the CPU figures.

use crate::analysis::{derive, ramp};
use crate::model::{Reason, ReasonCode, RunRecord, Sentence, Status, Test, params};

/// CPU busy is printed in whole percent: below this the rounding hides too much.
const MIN_BUSY_PCT: f64 = 10.0;
/// A ramp has saturated the processors if a point is this busy.
const SATURATED_PCT: f64 = 90.0;
/// The implied number of CPUs varies by no more than this factor if each job keeps one CPU busy.
const CONSTANT: f64 = 1.1;
/// Fewest points of a ramp.
const FEWEST: usize = 3;
/// Largest deviation of the table that is not a contradiction.
const TOLERANCE: f64 = 0.25;

/// The logical CPUs that a ramp implies.
#[derive(Debug, Clone, PartialEq)]
pub struct Implied {
    /// Number of logical CPUs.
    pub cpus: f64,
    /// Workload whose ramp it is.
    pub workload: String,
    /// Points of the ramp.
    pub points: Vec<BusyPoint>,
}

/// A point of a ramp with its CPU figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BusyPoint {
    /// Number of jobs.
    pub jobs: u32,
    /// CPU busy of the database's host, in percent.
    pub cpu_busy_pct: f64,
}

impl BusyPoint {
    /// Number of CPUs of which each job keeps one busy.
    fn implied_cpus(&self) -> f64 {
        100.0 * f64::from(self.jobs) / self.cpu_busy_pct
    }
}

/// Statements of the platform table that the CPU figures contradict.
pub fn of_platform(run: &RunRecord, tests: &[Test]) -> Vec<Reason> {
    let printed =
        run.disclosure.get("hardware", "threads").and_then(|threads| threads.parse::<f64>().ok());
    let Some(printed) = printed else { return Vec::new() };
    let implied = implied_cpus(tests);
    let contradicting = |found: &&Implied| (found.cpus / printed - 1.0).abs() > TOLERANCE;
    let Some(found) = implied.iter().find(contradicting) else { return Vec::new() };
    let middle = found.points[found.points.len() / 2];
    let sentence = Sentence::new(
        "the platform table says {printed} CPUs (threads), but CPU busy implies {implied}: in \
         {workload}, {jobs} jobs keep {busy} % busy, over the whole ramp; figures per core or \
         thread do not hold",
    );
    let sentence = sentence
        .with("printed", printed)
        .with("implied", found.cpus.round())
        .with("jobs", middle.jobs);
    let sentence =
        sentence.with("workload", found.workload.as_str()).with("busy", middle.cpu_busy_pct);
    vec![Reason::new(Status::Conditional, ReasonCode::PlatformTable, sentence)]
}

/// The logical CPUs of the host as the ramps imply them. A serial job keeps at most one CPU busy,
/// so jobs / CPU busy is never below the number of CPUs; where it is constant up to saturation,
/// every job keeps exactly one busy.
pub fn implied_cpus(tests: &[Test]) -> Vec<Implied> {
    let serial = tests
        .iter()
        .filter(|test| test.nodes() <= 1 && !test.params().contains_key(params::THREADS));
    let busy = |test| derive(test).get("cpu_busy_pct").filter(|busy| *busy >= MIN_BUSY_PCT);
    let points = serial.filter_map(|test| {
        let point = BusyPoint { jobs: test.jobs()?, cpu_busy_pct: busy(test)? };
        Some((test, point))
    });
    let ramps = ramp::groups(points, |(test, _)| test);
    let of_ramp = |ramp: Vec<(&Test, BusyPoint)>| {
        implied(ramp[0].0.workload(), ramp.iter().map(|(_, point)| *point).collect())
    };
    ramps.into_iter().filter_map(of_ramp).collect()
}

fn implied(workload: &str, mut points: Vec<BusyPoint>) -> Option<Implied> {
    points.sort_by_key(|point| point.jobs);
    let saturation = points.iter().position(|point| point.cpu_busy_pct >= SATURATED_PCT)?;
    points.truncate(saturation + 1);
    let mut implied: Vec<f64> = points.iter().map(BusyPoint::implied_cpus).collect();
    implied.sort_by(f64::total_cmp);
    let constant = implied.last()? / implied.first()? <= CONSTANT;
    (points.len() >= FEWEST && constant).then(|| Implied {
        cpus: implied[implied.len() / 2],
        workload: workload.into(),
        points,
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::test;
    use super::*;
    use crate::model::PublishedKind;

    fn ramp(points: &[(u32, f64)]) -> Vec<Test> {
        let point = |&(jobs, busy): &(u32, f64)| {
            test("T1", PublishedKind::Point, jobs, &[("ops_per_s", 1.0), ("cpu_busy_pct", busy)])
        };
        points.iter().map(point).collect()
    }

    #[test]
    fn a_job_per_cpu_up_to_saturation_counts_the_cpus() {
        let found = implied_cpus(&ramp(&[
            (1, 6.0),
            (4, 25.0),
            (8, 50.0),
            (12, 75.0),
            (16, 99.0),
            (32, 100.0),
        ]));
        assert_eq!((found[0].cpus, found[0].points.len()), (16.0, 4));
    }

    #[test]
    fn jobs_that_wait_or_never_saturate_say_nothing() {
        assert_eq!(implied_cpus(&ramp(&[(8, 21.0), (16, 22.0), (64, 95.0)])), []);
        assert_eq!(implied_cpus(&ramp(&[(16, 17.0), (24, 25.0), (32, 33.0), (48, 49.0)])), []);
        assert_eq!(implied_cpus(&ramp(&[(8, 50.0), (16, 99.0)])), []);
    }
}
