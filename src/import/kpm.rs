//! Which of a test's printed figures is its KPM.

use crate::analysis::published;
use crate::model::{Published, PublishedKind};

/// What the catalogue says of a test's KPM.
pub struct Wish {
    /// The metric that it is.
    pub metric: Option<String>,
    /// The unit of the workload's own KPM.
    pub unit: Option<String>,
}

/// Sets the KPM of every test. Of each code it is one and the same metric where tests have it: the rate in which the
/// study states speed or throughput of that code, else the metric in the workload's own unit, else the best-known rate;
/// of several stated ones that which most tests have.
pub fn choose(tests: &mut [Published], wish_of: impl Fn(&Published) -> Wish) {
    let all = tests.to_vec();
    for test in tests.iter_mut() {
        let same: Vec<&Published> = all.iter().filter(|other| is_same(other, test)).collect();
        let mut metrics: Vec<&str> = test.figures.iter().map(|figure| figure.metric.as_str()).collect();
        metrics
            .retain(|metric| published::rank(metric).is_some() && test.figure(metric).is_some_and(|f| f.value > 0.0));
        let Wish { metric: wished, unit } = wish_of(test);
        metrics.sort_by_key(|metric| {
            let tests = same.iter().filter(|other| has(other, metric)).count();
            let in_unit = test.figure(metric).is_some_and(|figure| Some(&figure.unit) == unit.as_ref());
            let is_time = !published::is_rate(metric);
            (
                Some(*metric) != wished.as_deref(),
                is_time,
                !is_stated(&same, metric),
                !in_unit,
                std::cmp::Reverse(tests),
                published::rank(metric),
            )
        });
        test.kpm = metrics.first().map(|metric| (*metric).to_string());
    }
}

fn is_same(one: &Published, other: &Published) -> bool {
    one.code == other.code && (!one.code.is_empty() || one.description == other.description)
}

fn has(test: &Published, metric: &str) -> bool {
    test.figure(metric).is_some_and(|figure| figure.value > 0.0)
}

/// True if the study prints it as speed or throughput, in a table and not only in its text.
fn is_stated(tests: &[&Published], metric: &str) -> bool {
    let states = |test: &&&Published| {
        let figure = test.figure(metric).filter(|figure| !figure.note.contains("approximate"));
        test.kind != PublishedKind::Point && figure.is_some()
    };
    tests.iter().any(|test| states(&test))
}
