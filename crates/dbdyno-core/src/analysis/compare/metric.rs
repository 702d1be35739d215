//! The figures of tests by metric, so that the same is compared with the same.

use super::estimate::worst;
use crate::analysis::best::{Best, Candidate, select_best};
use crate::analysis::figure::Pace;
use crate::analysis::interval::IntervalOrReason;
use crate::analysis::repeats::{self, Repeat, Repeats};
use crate::analysis::{derive, figure, published};
use crate::model::{Better, Kpm, KpmValue, PublishedFigure, PublishedKind, Sentence, Status, Test};

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
    pub fn kpm(test: &Test) -> Metric {
        let name = test.published().and_then(|test| test.published.kpm.clone());
        let kpm = test.kpm();
        Metric {
            published: name.is_some(),
            name: name.unwrap_or_else(|| kpm.unit.clone()),
            unit: kpm.unit.clone(),
            better: kpm.better,
        }
    }

    /// Mean service time.
    pub fn service_time() -> Metric {
        Metric {
            name: SERVICE_TIME.into(),
            unit: "ms".into(),
            better: Better::Lower,
            published: false,
        }
    }

    /// True if the two can be compared.
    pub fn is_same(&self, other: &Metric) -> bool {
        let named = !(self.published && other.published) || self.name == other.name;
        named && self.unit == other.unit && self.better == other.better
    }

    /// Source of the metric in a measured test.
    pub fn computed<'t>(&self, test: &'t Test) -> &'t KpmValue {
        let is_second =
            |second: &&Kpm| second.unit == self.unit && !Metric::kpm(test).is_same(self);
        match test.second().filter(is_second) {
            _ if self.name == SERVICE_TIME => &KpmValue::ServiceTime,
            Some(second) => &second.value,
            None => &test.kpm().value,
        }
    }

    /// Value of the metric in a test.
    pub fn value(&self, test: &Test) -> Option<f64> {
        if self.name == SERVICE_TIME {
            return service_ms(test);
        }
        all(test).into_iter().find(|one| one.metric.is_same(self)).map(|one| one.value)
    }
}

/// True if a test has a figure that counts: none is as good as 0.
pub fn is_sound(test: &Test) -> bool {
    test.status() != Status::Invalid && test.kpm_value().is_some_and(|value| value > 0.0)
}

/// Mean service time in ms.
pub fn service_ms(test: &Test) -> Option<f64> {
    match test {
        Test::Measured(test) => test.latency.mean_us.map(|us| us / 1000.0),
        Test::Published(test) => published::derive(&test.published, SERVICE_TIME).ok(),
    }
}

/// CPU busy of the database's host in percent.
pub fn cpu_busy_pct(test: &Test) -> Option<f64> {
    derive(test).get("cpu_busy_pct")
}

/// A metric with its value in a test.
pub struct MetricValue {
    pub metric: Metric,
    pub value: f64,
}

/// Every metric of a test that can be compared, the KPM first, without service time.
pub fn all(test: &Test) -> Vec<MetricValue> {
    let kpm = test.kpm_value().map(|value| MetricValue { metric: Metric::kpm(test), value });
    let further: Vec<MetricValue> = match test.published() {
        None => second(test).into_iter().collect(),
        Some(test) => {
            let rates = test
                .published
                .figures
                .iter()
                .filter(|figure| published::is_rate(&figure.metric) && figure.value > 0.0);
            rates.map(published_rate).collect()
        }
    };
    let mut metrics: Vec<MetricValue> = Vec::new();
    for one in kpm.into_iter().chain(further) {
        if !metrics.iter().any(|known| known.metric == one.metric) {
            metrics.push(one);
        }
    }
    metrics
}

fn published_rate(figure: &PublishedFigure) -> MetricValue {
    let metric = Metric {
        name: figure.metric.clone(),
        unit: figure.unit.clone(),
        better: Better::Higher,
        published: true,
    };
    MetricValue { metric, value: figure.value }
}

fn second(test: &Test) -> Option<MetricValue> {
    let second = test.second()?;
    let unit = second.unit.clone();
    let metric = Metric { name: unit.clone(), unit, better: second.better, published: false };
    Some(MetricValue { metric, value: test.second_value()? })
}

/// A figure and the test it is from: of repetitions the median one.
#[derive(Debug, Clone)]
pub struct Reading<'a> {
    /// Absent if a publication does not print them.
    pub jobs: Option<u32>,
    pub value: f64,
    pub test: &'a Test,
    /// Interval of the figure, or the reason why it has none.
    pub known: IntervalOrReason,
    /// The repetitions that count.
    pub all: Repeats<'a>,
    /// Further ones that measured 0.
    pub zeros: usize,
    /// Jobs of a better reading that is not valid: this one is a lower bound.
    pub passed_over: Option<u32>,
    /// Direction in which the value is better.
    pub better: Better,
}

impl Reading<'_> {
    /// Mean service time at the figure, in ms, in proportion to it as
    /// [`Figure::mean_us`](figure::Figure::mean_us) is.
    pub fn service_ms(&self) -> Option<f64> {
        let test_value = repeats::value_of_test(&self.all, self.test);
        let pace = Pace::new(self.test, self.better, self.value, test_value);
        Some(pace.apply(service_ms(self.test)?, Better::Lower))
    }

    /// Doubt about the repetitions, some of which measured 0.
    pub fn zeros_doubt(&self) -> Option<Sentence> {
        repeats::zeros_doubt(self.zeros, self.all.len())
    }

    /// The verdict on the figure itself, as every report of its run states it.
    pub fn status(&self) -> Status {
        let is_doubtful =
            figure::is_wide(&self.known) || self.passed_over.is_some() || self.zeros > 0;
        let own = if is_doubtful { Status::Conditional } else { Status::Valid };
        own.max(worst(&self.all))
    }
}

/// The readings of a metric, one per number of jobs (of repetitions the median one), ascending.
///
/// Readings of a metric. A speed or throughput that a publication states is used if its run table
/// has no such figure.
pub fn readings<'a>(tests: &[&'a Test], metric: &Metric, kind: PublishedKind) -> Vec<Reading<'a>> {
    let value_of =
        |test: &Test| metric.value(test).filter(|value| *value > 0.0 || test.measured().is_some());
    let own: Vec<&Test> =
        tests.iter().filter(|test| !test.is_statement() || test.states(kind)).copied().collect();
    let reading = |repeats: Repeats<'a>| {
        let all = repeats::without_zeros(&repeats).to_vec();
        let (zeros, better) = (repeats.len() - all.len(), metric.better);
        let computed = metric.computed(all[0].test);
        let Repeat { value, test } = repeats::value(&all, better, computed);
        let (known, jobs) = (repeats::interval_of(&all, test, computed), test.jobs());
        Reading { jobs, value, test, known, all, zeros, passed_over: None, better }
    };
    let readings = repeats::by_jobs(&own, value_of).into_iter().map(reading);
    readings.filter(|reading| reading.value > 0.0).collect()
}

/// The best reading, as [`select_best`] chooses it. Its interval stays its own: the verdict on it
/// is that of its run, and the ratio is estimated from the repetitions.
pub fn best<'a>(readings: Vec<Reading<'a>>, better: Better) -> Option<Reading<'a>> {
    let Best { figure, passed_over, .. } = select_best(readings, better)?;
    Some(Reading { passed_over, ..figure })
}

impl Candidate for Reading<'_> {
    fn value(&self) -> f64 {
        self.value
    }

    fn jobs(&self) -> Option<u32> {
        self.jobs
    }

    fn status(&self) -> Status {
        Reading::status(self)
    }

    fn interval(&self) -> IntervalOrReason {
        self.known
    }
}
