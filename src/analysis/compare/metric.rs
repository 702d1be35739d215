//! The figures of tests by metric, so that the same is compared with the same.

use crate::analysis::{derive, published, ramp};
use crate::model::{Better, PublishedKind, Status, TestResult};

/// A metric of a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// `qps`, `service_time_ms`; of a publication `rows_per_s`.
    pub name: String,
    pub unit: String,
    pub better: Better,
    /// True if the name is the publication's: it must agree, not only the unit.
    published: bool,
}

/// Mean service time of a job; known of measured tests and of most published ones.
pub const SERVICE_TIME: &str = "service_time_ms";

impl Metric {
    /// The KPM of a test.
    pub fn kpm(test: &TestResult) -> Metric {
        let name = test.published.as_ref().and_then(|published| published.kpm.clone());
        Metric {
            published: name.is_some(),
            name: name.unwrap_or_else(|| test.kpm.unit.clone()),
            unit: test.kpm.unit.clone(),
            better: test.kpm.better,
        }
    }

    /// Mean service time.
    pub fn service_time() -> Metric {
        Metric { name: SERVICE_TIME.into(), unit: "ms".into(), better: Better::Lower, published: false }
    }

    /// True if the two can be compared.
    pub fn is_same(&self, other: &Metric) -> bool {
        let named = !(self.published && other.published) || self.name == other.name;
        named && self.unit == other.unit && self.better == other.better
    }

    /// Its value in a test.
    pub fn of(&self, test: &TestResult) -> Option<f64> {
        if self.name == SERVICE_TIME {
            return service_ms(test);
        }
        all(test).into_iter().find(|(metric, _)| metric.is_same(self)).map(|(_, value)| value)
    }
}

/// True if a test has a figure that counts: none is as good as 0.
pub fn is_sound(test: &TestResult) -> bool {
    test.verdict.status != Status::Invalid && test.kpm_value.is_some_and(|value| value > 0.0)
}

/// Mean service time in ms.
pub fn service_ms(test: &TestResult) -> Option<f64> {
    match &test.published {
        Some(published) => published::derived(published, SERVICE_TIME).ok(),
        None => test.latency.mean_us.map(|us| us / 1000.0),
    }
}

/// CPU busy of the database's host in percent.
pub fn cpu_busy_pct(test: &TestResult) -> Option<f64> {
    derive(test).get("cpu_busy_pct")
}

/// Every metric of a test that can be compared, the KPM first, without service time.
pub fn all(test: &TestResult) -> Vec<(Metric, f64)> {
    let kpm = test.kpm_value.map(|value| (Metric::kpm(test), value));
    let further: Vec<(Metric, f64)> = match &test.published {
        None => second(test).into_iter().collect(),
        Some(published) => {
            let rates =
                published.figures.iter().filter(|figure| published::is_rate(&figure.metric) && figure.value > 0.0);
            let metric = |name: &str, unit: &str| Metric {
                name: name.into(),
                unit: unit.into(),
                better: Better::Higher,
                published: true,
            };
            rates.map(|figure| (metric(&figure.metric, &figure.unit), figure.value)).collect()
        }
    };
    let mut metrics: Vec<(Metric, f64)> = Vec::new();
    for (metric, value) in kpm.into_iter().chain(further) {
        if !metrics.iter().any(|(known, _)| *known == metric) {
            metrics.push((metric, value));
        }
    }
    metrics
}

fn second(test: &TestResult) -> Option<(Metric, f64)> {
    let second = test.second.as_ref()?;
    let unit = second.unit.clone();
    Some((Metric { name: unit.clone(), unit, better: second.better, published: false }, test.second_value?))
}

/// A figure, the test it is from, and the same figure of its repetitions.
#[derive(Debug, Clone)]
pub struct Reading<'a> {
    /// 0 = not printed.
    pub jobs: u32,
    pub value: f64,
    pub test: &'a TestResult,
    pub repeats: Vec<f64>,
}

/// The readings of a metric, one per number of jobs (of repetitions the median one), ascending.
///
/// What a publication states as speed or throughput stands in for its run table where that has no such figure.
pub fn readings<'a>(tests: &[&'a TestResult], metric: &Metric, kind: PublishedKind) -> Vec<Reading<'a>> {
    let value = |test: &TestResult| metric.of(test).filter(|value| *value > 0.0);
    let is_kind = |test: &TestResult| test.published.as_ref().is_some_and(|published| published.kind == kind);
    let own: Vec<&TestResult> =
        tests.iter().filter(|test| !ramp::is_statement(test) || is_kind(test)).copied().collect();
    let reading = |repeats: Vec<(f64, &'a TestResult)>| {
        let (value, test) = ramp::median(&repeats);
        Reading { jobs: test.jobs, value, test, repeats: repeats.iter().map(|repeat| repeat.0).collect() }
    };
    ramp::by_jobs(&own, value).into_iter().map(reading).collect()
}

/// The best reading; an invalid one wins only if all are.
pub fn best<'a>(readings: Vec<Reading<'a>>, better: Better) -> Option<Reading<'a>> {
    let (sound, invalid): (Vec<_>, Vec<_>) =
        readings.into_iter().partition(|reading| reading.test.verdict.status != Status::Invalid);
    let candidates = if sound.is_empty() { invalid } else { sound };
    candidates.into_iter().reduce(|best, next| if better.beats(next.value, best.value) { next } else { best })
}
