//! The ramp under way as a chart of a few lines: a bar for each number of jobs. Pure.

use super::live_table::{name, number, shorten};
use crate::error::visible;
use crate::model::{Selection, Status, TestResult};

/// Numbers of jobs that are shown: the last ones.
const MAX_BARS: usize = 8;
/// Columns beside a bar: jobs before it, ops per second behind it.
const BESIDE: usize = 32;
/// Length of a bar at most.
const LONGEST: usize = 60;

/// The tests of a workload so far, and the one under way.
#[derive(Debug, Default)]
pub struct RampChart {
    name: String,
    /// Jobs, ops per second and verdict, in the order measured; of repetitions the last.
    done: Vec<(u32, f64, Status)>,
    running: Option<(u32, Option<f64>)>,
}

impl RampChart {
    /// A test begins; one of another workload begins another chart.
    pub fn begin(&mut self, selection: &Selection, jobs: u32) {
        let name = name(selection);
        if name != self.name {
            *self = RampChart { name, ..RampChart::default() };
        }
        self.running = Some((jobs, None));
    }

    /// Updates the point of the running test.
    pub fn now(&mut self, ops_per_s: Option<f64>) {
        self.running.iter_mut().for_each(|(_, now)| *now = ops_per_s);
    }

    /// The test under way is over.
    pub fn done(&mut self, test: &TestResult) {
        self.running = None;
        self.done.retain(|(jobs, ..)| *jobs != test.jobs);
        if test.window.ops > 0 {
            self.done.push((test.jobs, test.ops_per_s, test.verdict.status));
        }
    }

    /// Lines of the chart, at most this many columns wide; none before there are two numbers of
    /// jobs.
    pub fn lines(&self, width: usize) -> Vec<String> {
        let mut bars: Vec<(u32, f64, &str)> =
            self.done.iter().map(|(jobs, ops, status)| (*jobs, *ops, mark(*status))).collect();
        if let Some((jobs, ops_per_s)) = self.running {
            bars.retain(|(done, ..)| *done != jobs);
            bars.push((jobs, ops_per_s.unwrap_or(0.0), " now"));
        }
        bars.sort_by_key(|(jobs, ..)| *jobs);
        let most = bars.iter().map(|(_, ops, _)| *ops).fold(0.0, f64::max);
        if bars.len() < 2 || most <= 0.0 {
            return Vec::new();
        }
        let longest = width.saturating_sub(BESIDE).min(LONGEST);
        let line = |&(jobs, ops, mark): &(u32, f64, &str)| {
            let bar = if mark == " now" { "-" } else { "=" }
                .repeat((ops / most * longest as f64).round() as usize);
            format!("{jobs:>6} |{bar} {}{mark}", number(ops))
        };
        let head = shorten(&format!("{}, ops/s by jobs", visible(&self.name)), width);
        let left_out = bars.len().saturating_sub(MAX_BARS);
        std::iter::once(head).chain(bars[left_out..].iter().map(line)).collect()
    }
}

/// Mark of a verdict, the same as in the reports.
fn mark(status: Status) -> &'static str {
    match status {
        Status::Valid => "",
        Status::Conditional => "?",
        Status::Invalid => "!",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture::at;
    use crate::model::{Reason, ReasonCode, Verdict};
    use crate::run::fixture::plan;

    #[test]
    fn a_bar_for_each_number_of_jobs_and_the_test_under_way() {
        let plan = plan(&[1], 1);
        let mut chart = RampChart::default();
        chart.begin(&plan.selections[0], 1);
        assert!(chart.lines(80).is_empty(), "one number of jobs is not a ramp");
        chart.done(&at(1, 100.0));
        chart.begin(&plan.selections[0], 2);
        chart.now(Some(50.0));
        let lines = chart.lines(42);
        assert!(lines[0].ends_with(", ops/s by jobs"), "{lines:?}");
        assert_eq!(lines[1..], ["     1 |========== 100", "     2 |----- 50.0 now"]);
        let doubtful = Reason::new(Status::Conditional, ReasonCode::Steal, "");
        chart.done(&TestResult { verdict: Verdict::from_reasons(vec![doubtful]), ..at(2, 200.0) });
        assert_eq!(chart.lines(42)[1..], ["     1 |===== 100", "     2 |========== 200?"]);
    }

    #[test]
    fn lines_fit_and_the_last_numbers_of_jobs_are_shown() {
        let mut chart = RampChart::default();
        (1..=20).for_each(|jobs| chart.done(&at(jobs, 1e12 * f64::from(jobs))));
        let lines = chart.lines(60);
        assert_eq!(lines.len(), MAX_BARS + 1);
        assert!(
            lines[1].starts_with("    13 |") && lines.iter().all(|line| line.chars().count() <= 60),
            "{lines:#?}"
        );
        chart.begin(&plan(&[1], 1).selections[0], 1);
        assert!(chart.lines(60).is_empty(), "another workload");
    }
}
