//! A run under way as metrics: what runs, its rate and times, and of each test that is over its
//! figures and verdict.

use parking_lot::Mutex;

use super::open_metrics::{Family, Histogram, Kind, Labels, Page, Summary};
use crate::run::Event;
use dbdyno_core::analysis::cpu;
use dbdyno_core::model::params::assignments;
use dbdyno_core::model::{Drive, LatencySummary, Selection, Status, TestResult};

/// Maximum number of tests on the page: the last ones of a longer run.
const MAX_TESTS: usize = 1000;

const BUILD: Family = Family { name: "dbdyno_build", kind: Kind::Info, help: "This program." };
const RUN: Family = Family { name: "dbdyno_run", kind: Kind::Info, help: "The run under way." };
const LEFT: Family = Family {
    name: "dbdyno_run_left_seconds",
    kind: Kind::Gauge,
    help: "Estimated time until the run ends.",
};
const TESTS: Family =
    Family { name: "dbdyno_tests", kind: Kind::Counter, help: "Tests that are over, by verdict." };
const RUNNING: Family =
    Family { name: "dbdyno_running", kind: Kind::Gauge, help: "1 for the test under way." };
const NOW: Family = Family {
    name: "dbdyno_running_ops_rate",
    kind: Kind::Gauge,
    help: "Ops per second of the test under way.",
};
const NOW_TIME: Family = Family {
    name: "dbdyno_running_service_time_seconds",
    kind: Kind::Gauge,
    help: "Service time of an op of the test under way, by quantile, over its last second.",
};
const KPM: Family = Family {
    name: "dbdyno_test_kpm",
    kind: Kind::Gauge,
    help: "Key performance metric of a test, in its unit.",
};
const OPS: Family =
    Family { name: "dbdyno_test_ops_rate", kind: Kind::Gauge, help: "Ops per second of a test." };
const TIME: Family = Family {
    name: "dbdyno_test_service_time_seconds",
    kind: Kind::Summary,
    help: "Service time of an op of a test.",
};
const SPREAD: Family = Family {
    name: "dbdyno_test_service_time_spread_seconds",
    kind: Kind::Histogram,
    help: "Ops of a test by service time.",
};
const BUSY: Family = Family {
    name: "dbdyno_test_cpu_busy_ratio",
    kind: Kind::Gauge,
    help: "Share of the host's CPUs that were busy in a test.",
};
const VERDICT: Family = Family {
    name: "dbdyno_test_verdict",
    kind: Kind::StateSet,
    help: "Whether a test's figures can be trusted.",
};

/// All metric families of a run.
pub const FAMILIES: [&Family; 13] = [
    &BUILD, &RUN, &LEFT, &TESTS, &RUNNING, &NOW, &NOW_TIME, &KPM, &OPS, &TIME, &SPREAD, &BUSY,
    &VERDICT,
];

/// States of a verdict.
const STATES: [Status; 3] = [Status::Valid, Status::Conditional, Status::Invalid];

/// Metrics of a run from its events so far.
#[derive(Debug, Default)]
pub struct RunMetrics(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    target: String,
    run_id: Option<i64>,
    left_s: Option<f64>,
    running: Option<Running>,
    /// By [`STATES`].
    counts: [u64; 3],
    /// In the order in which they were first measured.
    tests: Vec<(Labels, TestFigures)>,
}

/// The test under way.
#[derive(Debug, Default)]
struct Running {
    labels: Labels,
    ops_per_s: Option<f64>,
    /// Quantile and us.
    times_us: Vec<(f64, f64)>,
}

/// Figures of a test; one without figures failed.
#[derive(Debug, Default)]
struct TestFigures {
    kpm: Option<(String, f64)>,
    ops_per_s: Option<f64>,
    time: Option<Summary>,
    spread: Option<Histogram>,
    busy: Option<f64>,
    status: Option<Status>,
}

impl RunMetrics {
    /// Metrics of a run on this target.
    pub fn new(target: String) -> RunMetrics {
        RunMetrics(Mutex::new(State { target, ..State::default() }))
    }

    /// Takes note of an event.
    pub fn note(&self, event: &Event<'_>) {
        let mut state = self.0.lock();
        match event {
            Event::RunStarted { run_id } => state.run_id = Some(*run_id),
            Event::TestStarted { selection, jobs, run_left_s, .. } => {
                state.left_s = Some(*run_left_s);
                state.running = Some(Running {
                    labels: labels_of_selection(selection, *jobs),
                    ..Running::default()
                });
            }
            Event::TestProgress { run_left_s, now, .. } => {
                state.left_s = Some(*run_left_s);
                if let Some(running) = &mut state.running {
                    running.ops_per_s = now.ops_per_s;
                    running.times_us = known_times([(0.5, now.p50_us), (0.99, now.p99_us)]);
                }
            }
            Event::TestDone(result) => {
                state.done(labels_of_test(result), TestFigures::from_result(result))
            }
            Event::TestFailed { selection, jobs, .. } => {
                let figures =
                    TestFigures { status: Some(Status::Invalid), ..TestFigures::default() };
                state.done(labels_of_selection(selection, *jobs), figures);
            }
            Event::Step(_)
            | Event::Note(_)
            | Event::LeftBehind(_)
            | Event::Load(_)
            | Event::Loaded(_) => {}
        }
    }

    /// All of it in the text format.
    pub fn text(&self) -> String {
        let state = self.0.lock();
        let mut page = Page::default();
        add_build(&mut page);
        state.add_run(&mut page);
        state.add_running(&mut page);
        state.add_tests(&mut page);
        page.end()
    }
}

/// Adds the version of the program that reports.
pub(super) fn add_build(page: &mut Page) {
    page.add(&BUILD, [(vec![("version", env!("CARGO_PKG_VERSION").to_string())], 1.0)]);
}

impl State {
    fn done(&mut self, labels: Labels, figures: TestFigures) {
        self.running = None;
        let at = STATES.iter().position(|state| Some(*state) == figures.status);
        at.into_iter().for_each(|at| self.counts[at] += 1);
        match self.tests.iter_mut().find(|(known, _)| *known == labels) {
            Some((_, of_repetition)) => *of_repetition = figures,
            None => self.tests.push((labels, figures)),
        }
        let too_many = self.tests.len().saturating_sub(MAX_TESTS);
        self.tests.drain(..too_many);
    }

    fn add_run(&self, page: &mut Page) {
        let run = self
            .run_id
            .map(|run_id| vec![("target", self.target.clone()), ("run", run_id.to_string())]);
        page.add(&RUN, run.map(|labels| (labels, 1.0)));
        page.add(&LEFT, self.left_s.map(|left_s| (Vec::new(), left_s)));
        let counts = STATES.iter().zip(self.counts);
        page.add(
            &TESTS,
            counts.map(|(state, count)| (vec![("verdict", state.to_string())], count as f64)),
        );
    }

    fn add_running(&self, page: &mut Page) {
        let Some(running) = &self.running else { return };
        page.add(&RUNNING, [(running.labels.clone(), 1.0)]);
        page.add(&NOW, running.ops_per_s.map(|ops_per_s| (running.labels.clone(), ops_per_s)));
        let with = |quantile: f64| {
            [running.labels.as_slice(), &[("quantile", quantile.to_string())]].concat()
        };
        page.add(
            &NOW_TIME,
            running.times_us.iter().map(|(quantile, us)| (with(*quantile), us / 1e6)),
        );
    }

    fn add_tests(&self, page: &mut Page) {
        let gauge = |figure: fn(&TestFigures) -> Option<f64>| {
            self.tests
                .iter()
                .filter_map(move |(labels, test)| Some((labels.clone(), figure(test)?)))
        };
        let kpm = |(labels, test): &(Labels, TestFigures)| {
            let (unit, value) = test.kpm.clone()?;
            Some(([labels.as_slice(), &[("unit", unit)]].concat(), value))
        };
        page.add(&KPM, self.tests.iter().filter_map(kpm));
        page.add(&OPS, gauge(|test| test.ops_per_s));
        let times = self
            .tests
            .iter()
            .filter_map(|(labels, test)| Some((labels.clone(), test.time.clone()?)));
        page.add_summaries(&TIME, &times.collect::<Vec<_>>());
        let spreads = self
            .tests
            .iter()
            .filter_map(|(labels, test)| Some((labels.clone(), test.spread.clone()?)));
        page.add_histograms(&SPREAD, &spreads.collect::<Vec<_>>());
        page.add(&BUSY, gauge(|test| test.busy));
        let verdicts = self
            .tests
            .iter()
            .filter_map(|(labels, test)| Some((labels.clone(), test.status?.to_string())));
        let states = STATES.map(|state| state.to_string());
        page.add_states(
            &VERDICT,
            &states.each_ref().map(String::as_str),
            &verdicts.collect::<Vec<_>>(),
        );
    }
}

impl TestFigures {
    fn from_result(result: &TestResult) -> TestFigures {
        let measured = result.window.ops > 0;
        TestFigures {
            kpm: result.kpm_value.map(|value| (result.kpm.unit.clone(), value)),
            ops_per_s: measured.then_some(result.ops_per_s),
            time: summary(&result.latency, result.window.ops, result.window.busy_s)
                .filter(|_| measured),
            spread: histogram(&result.latency, result.window.ops, result.window.busy_s)
                .filter(|_| measured),
            busy: cpu::busy_pct(&result.window_counters).ok().map(|percent| percent / 100.0),
            status: Some(result.verdict.status),
        }
    }
}

fn summary(latency: &LatencySummary, ops: u64, busy_s: f64) -> Option<Summary> {
    let times = [
        (0.5, latency.p50_us),
        (0.9, latency.p90_us),
        (0.95, latency.p95_us),
        (0.99, latency.p99_us),
        (0.999, latency.p999_us),
    ];
    let quantiles =
        known_times(times).into_iter().map(|(quantile, us)| (quantile, us / 1e6)).collect();
    latency.mean_us.map(|_| Summary { quantiles, count: ops as f64, sum: busy_s })
}

/// Ends of the buckets: 1, 2.5 and 5 of every decade from a microsecond to ten seconds.
fn bucket_ends_s() -> impl Iterator<Item = f64> {
    let ends = (-6..=0).flat_map(|decade| [1.0, 2.5, 5.0].map(|step| step * 10_f64.powi(decade)));
    ends.chain([10.0]).map(|end_s| (end_s * 1e9).round() / 1e9)
}

/// Histogram of the service times. A sampled op counts for its share of all ops.
fn histogram(latency: &LatencySummary, ops: u64, busy_s: f64) -> Option<Histogram> {
    let sampled: u64 = latency.buckets.iter().map(|(_, count)| count).sum();
    let up_to = |end_s: f64| -> u64 {
        latency
            .buckets
            .iter()
            .filter(|(value_ns, _)| *value_ns as f64 <= end_s * 1e9)
            .map(|(_, count)| count)
            .sum()
    };
    let of_all = |count: u64| (count as f64 / sampled as f64 * ops as f64).round();
    let buckets = bucket_ends_s().map(|end_s| (end_s, of_all(up_to(end_s)))).collect();
    (sampled > 0).then_some(Histogram { buckets, count: ops as f64, sum: busy_s })
}

fn known_times<const N: usize>(times_us: [(f64, Option<f64>); N]) -> Vec<(f64, f64)> {
    times_us.into_iter().filter_map(|(quantile, us)| Some((quantile, us?))).collect()
}

fn labels_of_selection(selection: &Selection, jobs: u32) -> Labels {
    labels(&selection.workload.id, assignments(&selection.chosen, ","), selection.drive, jobs)
}

fn labels_of_test(result: &TestResult) -> Labels {
    labels(&result.workload, assignments(&result.chosen, ","), result.drive, result.jobs)
}

fn labels(workload: &str, params: String, drive: Drive, jobs: u32) -> Labels {
    vec![
        ("workload", workload.to_string()),
        ("params", params),
        ("drive", drive.name().to_string()),
        ("jobs", jobs.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::fixture::plan;
    use crate::test_runner::Now;
    use dbdyno_core::analysis::fixture;

    fn value(text: &str, start: &str) -> Option<f64> {
        let line = text.lines().find(|line| line.starts_with(start))?;
        line.rsplit(' ').next()?.parse().ok()
    }

    #[test]
    fn a_run_is_told_from_its_begin_over_the_test_under_way_to_its_figures() {
        let metrics = RunMetrics::new("engine".into());
        assert_eq!(value(&metrics.text(), "dbdyno_running{"), None);
        let plan = plan(&[1], 1);
        metrics.note(&Event::RunStarted { run_id: 7 });
        let selection = &plan.selections[0];
        metrics.note(&Event::TestStarted { seq: 1, selection, jobs: 2, run_left_s: 20.0 });
        let now = Now { ops_per_s: Some(50.0), p50_us: Some(10.0), p99_us: None };
        metrics.note(&Event::TestProgress { test_left_s: 5.0, run_left_s: 15.0, now });
        let text = metrics.text();
        assert!(text.contains("dbdyno_run_info{target=\"engine\",run=\"7\"} 1\n"), "{text}");
        assert_eq!(value(&text, "dbdyno_run_left_seconds "), Some(15.0));
        assert_eq!(value(&text, "dbdyno_running_ops_rate{"), Some(50.0));
        assert_eq!(value(&text, "dbdyno_running_service_time_seconds{"), Some(1e-5));
        let mut test = fixture::result();
        (test.workload, test.latency.p99_us) = ("Q1".into(), Some(3000.0));
        test.latency.mean_us = Some(200.0);
        test.latency.buckets = vec![(200_000, 3), (3_000_000, 1)];
        test.window.ops = 40;
        [&test, &test].into_iter().for_each(|test| metrics.note(&Event::TestDone(test)));
        let text = metrics.text();
        assert_eq!(value(&text, "dbdyno_running{"), None);
        assert_eq!(value(&text, "dbdyno_tests_total{verdict=\"valid\"}"), Some(2.0));
        // Repetitions are one test: a page may not show a value twice.
        assert_eq!(text.matches("dbdyno_test_ops_rate{workload=\"Q1\"").count(), 1, "{text}");
        let up_to = |end: &str| {
            text.lines().find(|line| line.contains(&format!("le=\"{end}\"}}"))).unwrap().to_string()
        };
        assert!(
            up_to("0.00025").ends_with(" 30")
                && up_to("0.0001").ends_with(" 0")
                && up_to("+Inf").ends_with(" 40")
        );
        assert!(text.contains("quantile=\"0.99\"} 0.003\n") && text.ends_with("# EOF\n"), "{text}");
        assert_eq!(text.matches("dbdyno_test_verdict=\"valid\"} 1").count(), 1);
    }
}
