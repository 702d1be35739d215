//! A test in the document of a run.

use std::collections::BTreeMap;

use serde::Serialize;

use super::details::{ExperimentOutcome, Limit, Metric, Part, Second, ServiceTime, Worker, limits};
use dbdyno_core::analysis::sustained::is_lower_bound;
use dbdyno_core::analysis::{derive, interval};
use dbdyno_core::model::{
    self, Better, Counters, Drive, Durability, KpmValue, PhaseResult, Precision, Profile,
    Published, RunRecord, ServerLog, SustainedRate, Verdict, Waits,
};

/// A test; fields that only a measured test has are 0 or empty in a published one, as version 1 of
/// the structure defines. Its parts are one object in JSON.
#[derive(Serialize)]
pub(super) struct Test<'a> {
    #[serde(flatten)]
    identity: Identity<'a>,
    #[serde(flatten)]
    counted: Counted,
    #[serde(flatten)]
    figures: Figures<'a>,
    #[serde(flatten)]
    open_loop: OpenLoop<'a>,
    #[serde(flatten)]
    evidence: Evidence<'a>,
    #[serde(flatten)]
    judgement: Judgement<'a>,
}

/// The subject of a test: the workload in this form, when and on which load of the data.
#[derive(Serialize)]
struct Identity<'a> {
    seq: u32,
    workload: &'a str,
    asked_as: Option<&'a str>,
    group: &'a str,
    title: &'a str,
    revision: u32,
    hash: &'a str,
    params: &'a BTreeMap<String, String>,
    drive: Drive,
    nodes: u32,
    jobs: Option<u32>,
    /// Numbers within the run; of a measured test.
    #[serde(skip_serializing_if = "Option::is_none")]
    server_start: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_seed: Option<u64>,
    started_at: Option<&'a str>,
    published: Option<&'a Published>,
}

/// dbdyno's own counts of the window.
#[derive(Serialize)]
struct Counted {
    elapsed_s: f64,
    ops: u64,
    rows: u64,
    commits: u64,
    units: f64,
    errors: u64,
    errors_by_class: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uncounted_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_s: Option<f64>,
}

/// The figures and how precise they are.
#[derive(Serialize)]
struct Figures<'a> {
    unit: &'a str,
    throughput: Option<f64>,
    per_job: Option<f64>,
    ci_fraction: Option<f64>,
    /// Standard error as a fraction, and its degrees of freedom.
    #[serde(skip_serializing_if = "Option::is_none")]
    ci_error: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ci_freedom: Option<f64>,
    /// Half width of the KPM's 95 % interval as a fraction; a counter has that of its own seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    kpm_ci_fraction: Option<f64>,
    precision: Option<Precision>,
    ops_per_s: f64,
    kpm: Metric<'a>,
    second: Option<Metric<'a>>,
    service_time_us: ServiceTime,
    metrics: BTreeMap<&'static str, Option<f64>>,
    unknown: BTreeMap<&'static str, String>,
    parts: Vec<Part<'a>>,
    series: Vec<Second<'a>>,
}

/// Results of an open loop, else absent.
#[derive(Serialize)]
struct OpenLoop<'a> {
    /// Response time of an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_time_us: Option<ServiceTime>,
    /// Ops per second that were offered, and ops that were due in the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    offered_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    due: Option<f64>,
    /// Phases of a rate that changes.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    phases: &'a [PhaseResult],
}

/// Observations of the database and of the machines while the jobs ran.
#[derive(Serialize)]
struct Evidence<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    beside: Option<BesideIt<'a>>,
    /// Login method and encryption of ops that opened connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    login: Option<&'a str>,
    first_error: Option<&'a str>,
    counters: Counters,
    /// Nodes of a cluster, each with its own counters.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    node_figures: &'a [model::NodeResult],
    /// Resources that dbdyno's own process used to run it.
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<model::DriverFigures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instrument_us_per_op: Option<f64>,
    /// Load generators, if the jobs ran on several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    workers: Vec<Worker<'a>>,
    /// Waits by sampling the sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<&'a Waits>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profiles: Option<&'a BTreeMap<String, Profile>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_log: Option<&'a ServerLog>,
    /// Failover of a test in which a node failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    failover: Option<&'a model::Failover>,
}

/// The conclusions from all of it.
#[derive(Serialize)]
struct Judgement<'a> {
    verdict: &'a Verdict,
    /// Durability of a test that committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    durability: Option<Durability>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sustained: Option<Sustained>,
    /// Causes that limit a measured test, in descending order of their time.
    #[serde(skip_serializing_if = "Option::is_none")]
    limiters: Option<Vec<Limit>>,
    /// Experiments that tested the bottleneck.
    #[serde(skip_serializing_if = "Option::is_none")]
    explained: Option<ExperimentOutcome<'a>>,
}

/// Sustained rate of a test.
#[derive(Serialize)]
struct Sustained {
    #[serde(flatten)]
    rate: SustainedRate,
    /// True if the rate is at least `kpm_value`; absent without that.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_lower_bound: Option<bool>,
}

impl Sustained {
    fn from_result(result: &model::TestResult) -> Option<Sustained> {
        let rate = result.lasting?;
        let is_lower_bound = rate.kpm_value.map(|_| is_lower_bound(result));
        Some(Sustained { rate, is_lower_bound })
    }
}

/// Background workload of a test.
#[derive(Serialize)]
struct BesideIt<'a> {
    workload: &'a str,
    params: &'a BTreeMap<String, String>,
    jobs: u32,
    drive: Drive,
    ops: u64,
    ops_per_s: f64,
    mean_us: Option<f64>,
    covers_window: bool,
}

impl<'a> BesideIt<'a> {
    fn from_result(beside: &'a model::BackgroundResult) -> Self {
        let model::PartResult { workload, params, jobs, tally, ops_per_s, latency, .. } =
            &beside.part;
        BesideIt {
            workload,
            params,
            jobs: *jobs,
            drive: beside.drive,
            ops: tally.ops,
            ops_per_s: *ops_per_s,
            mean_us: latency.mean_us,
            covers_window: beside.covers_window,
        }
    }
}

impl<'a> Test<'a> {
    /// Number of the test within the run, from 1.
    pub(super) fn seq(&self) -> u32 {
        self.identity.seq
    }

    pub(super) fn new(run: &'a RunRecord, test: &'a model::Test) -> Test<'a> {
        Test {
            identity: Identity::new(run, test),
            counted: Counted::new(test),
            figures: Figures::new(test),
            open_loop: OpenLoop::new(test),
            evidence: Evidence::new(test),
            judgement: Judgement::new(test),
        }
    }
}

impl<'a> Identity<'a> {
    fn new(run: &'a RunRecord, test: &'a model::Test) -> Self {
        let (result, printed) = (test.measured(), test.published());
        Identity {
            seq: test.seq(),
            workload: test.workload(),
            asked_as: test.asked_as(),
            group: test.group(),
            title: test.title(),
            revision: test.revision(),
            hash: test.hash(),
            params: test.params(),
            drive: test.drive(),
            nodes: test.nodes(),
            jobs: test.jobs(),
            server_start: result.map(|result| result.server_start),
            load: result.map(|result| result.load),
            key_seed: result.and_then(|result| result.key_seed),
            started_at: result.map_or(run.started_at.as_deref(), |result| Some(&result.started_at)),
            published: printed.map(|printed| &printed.published),
        }
    }
}

impl Counted {
    fn new(test: &model::Test) -> Self {
        let (result, printed) = (test.measured(), test.published());
        let window = result.map(|result| result.window.clone()).unwrap_or_default();
        let elapsed_s =
            result.map(|result| result.window_s).or(printed.and_then(|printed| printed.elapsed_s));
        Counted {
            elapsed_s: elapsed_s.unwrap_or_default(),
            ops: window.ops,
            rows: window.rows,
            commits: window.commits,
            units: result.map(|result| result.units).unwrap_or_default(),
            errors: window.error_count(),
            errors_by_class: window.errors,
            uncounted_s: Some(window.uncounted_s).filter(|lost_s| *lost_s > 0.0),
            thought_s: Some(window.thought_s).filter(|thought_s| *thought_s > 0.0),
        }
    }
}

impl<'a> Figures<'a> {
    fn new(test: &'a model::Test) -> Self {
        let (throughput, unit) = throughput(test);
        let (mut metrics, mut unknown) = (BTreeMap::new(), BTreeMap::new());
        for figure in derive(test).0 {
            unknown.extend(figure.value.as_ref().err().map(|why| (figure.id, why.to_string())));
            metrics.insert(figure.id, figure.value.ok());
        }
        let result = test.measured();
        let of_ops = interval::of_test(test, &KpmValue::Ops).ok();
        let of_kpm = interval::of_test(test, &test.kpm().value).ok();
        Figures {
            unit,
            throughput,
            per_job: throughput.and_then(|total| Some(total / f64::from(test.jobs()?))),
            ci_fraction: result.and_then(|result| result.ci_fraction),
            ci_error: of_ops.map(|interval| interval.error),
            ci_freedom: of_ops.map(|interval| interval.freedom),
            kpm_ci_fraction: of_kpm.map(|interval| interval.half_width()),
            precision: result.and_then(|result| result.precision),
            ops_per_s: ops_per_s(test).unwrap_or_default(),
            kpm: Metric::new(test.kpm(), test.kpm_value()),
            second: test.second().map(|kpm| Metric::new(kpm, test.second_value())),
            service_time_us: ServiceTime::from_summary(test.latency()),
            metrics,
            unknown,
            parts: test.parts().iter().map(|part| Part::new(test, part)).collect(),
            series: test.series().iter().map(Second::from_point).collect(),
        }
    }
}

impl<'a> OpenLoop<'a> {
    fn new(test: &'a model::Test) -> Self {
        let open = test.measured().and_then(|result| result.open.as_ref());
        OpenLoop {
            response_time_us: open.map(|open| ServiceTime::from_summary(&open.response)),
            offered_per_s: open.map(|open| open.offer.per_s),
            due: open.map(|open| open.due),
            phases: open.map_or(&[], |open| &open.phases),
        }
    }
}

impl<'a> Evidence<'a> {
    fn new(test: &'a model::Test) -> Self {
        let result = test.measured();
        Evidence {
            beside: result.and_then(|result| result.beside.as_ref()).map(BesideIt::from_result),
            login: result.and_then(|result| result.login.as_deref()),
            first_error: result.and_then(|result| result.first_error.as_deref()),
            counters: result.map(|result| result.counters.clone()).unwrap_or_default(),
            node_figures: result.map_or(&[], |result| &result.node_figures),
            driver: result.and_then(|result| result.driver),
            instrument_us_per_op: result.and_then(|result| result.instrument_us_per_op),
            workers: result
                .map(|result| result.workers.iter().map(Worker::from_result).collect())
                .unwrap_or_default(),
            waits: result.and_then(|result| result.waits.as_ref()),
            profiles: result.map(|result| &result.profiles).filter(|profiles| !profiles.is_empty()),
            server_log: result.and_then(|result| result.server_log.as_ref()),
            failover: result.and_then(|result| result.failover.as_ref()),
        }
    }
}

impl<'a> Judgement<'a> {
    fn new(test: &'a model::Test) -> Self {
        let result = test.measured();
        Judgement {
            verdict: test.verdict(),
            durability: result.and_then(|result| result.durability),
            sustained: result.and_then(Sustained::from_result),
            limiters: result.filter(|_| !test.is_empty()).map(limits),
            explained: result
                .and_then(|result| result.explained.as_ref())
                .map(ExperimentOutcome::from_result),
        }
    }
}

/// The rate and its unit: the KPM if it is one, else the second metric, else ops per second; absent
/// if it is not known.
fn throughput(test: &model::Test) -> (Option<f64>, &str) {
    if test.kpm().better == Better::Higher {
        return (test.kpm_value(), &test.kpm().unit);
    }
    match test.second().filter(|second| second.better == Better::Higher) {
        Some(second) => (test.second_value(), &second.unit),
        None => (ops_per_s(test), "ops/s"),
    }
}

/// A publication prints its own metric, seldom ops.
fn ops_per_s(test: &model::Test) -> Option<f64> {
    match test {
        model::Test::Measured(test) => Some(test.ops_per_s),
        model::Test::Published(test) => test.ops_per_s,
    }
}
