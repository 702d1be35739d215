//! Conversion of units: a published rate and a measured one as amounts of one quantity per second.
//! The catalog defines what an op is (`per_op`); this module defines what the words of publications
//! count.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::analysis::kpm::amount;
use crate::model::{Better, Kpm, PublishedFigure, PublishedTest, Quantity, TestResult, Workload};

/// The quantities that metrics of publications count, the best-known first.
const METRICS: [(&str, Quantity); 10] = [
    ("throughput_qps", Quantity::Queries),
    ("throughput_tps", Quantity::Transactions),
    ("rows_per_s", Quantity::Rows),
    ("ops_per_s", Quantity::Operations),
    ("scan_rate_mbps", Quantity::Mb),
    ("logical_reads_dbps", Quantity::LogicalReads),
    ("phys_read_iops", Quantity::Reads),
    ("phys_write_iops", Quantity::Writes),
    ("phys_read_mbps", Quantity::MbRead),
    ("phys_write_mbps", Quantity::MbWritten),
];

/// The metric whose figure is the time of fixed work, in seconds.
const ELAPSED: &str = "elapsed_s";

/// Figures that agree so far are the same figure in another form.
const EQUAL: f64 = 1e-3;

/// The conversion of a figure to an amount of the common quantity per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Conversion {
    /// Kind of the conversion.
    pub code: Code,
    /// Amount of the common quantity in one unit of the figure before: in one op, or the fixed
    /// work of a job.
    pub factor: f64,
}

/// A kind of conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// The figure is printed in the common unit.
    AsPrinted,
    /// One op is one of the quantity, so that the figure is the same under another name.
    OneAnOp,
    /// Ops per second, multiplied by the amount that the catalog states for an op.
    PerOp,
    /// Work of a job times jobs, divided by the time that is printed.
    FixedWork,
}

impl Conversion {
    const NONE: Conversion = Conversion { code: Code::AsPrinted, factor: 1.0 };
}

/// An amount per second, the figure that it was made from, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate<'a> {
    /// Amount of the common quantity per second.
    pub per_s: f64,
    /// Value as printed or measured, with its unit and the name of the metric.
    pub printed: f64,
    /// Unit of the figure before.
    pub unit: &'a str,
    /// Name of its metric.
    pub metric: &'a str,
    /// Conversion that was made.
    pub conversion: Conversion,
}

/// Work whose time a publication prints, of one job.
pub type Fixed = BTreeMap<Quantity, u64>;

/// The quantities in which a published test states a rate, that of its KPM first.
pub fn quantities(test: &PublishedTest, fixed: &Fixed) -> Vec<Quantity> {
    let kpm = test.published.kpm.as_deref();
    let named = kpm.into_iter().chain(METRICS.iter().map(|(name, _)| *name)).chain([ELAPSED]);
    let mut found: Vec<Quantity> = Vec::new();
    for name in named.filter(|name| figure(test, name).is_some()) {
        let counted = METRICS.iter().filter(|(known, _)| *known == name).map(|(_, of)| *of);
        let timed = fixed.keys().copied().filter(|_| name == ELAPSED);
        for quantity in counted.chain(timed) {
            if !found.contains(&quantity) {
                found.push(quantity);
            }
        }
    }
    found
}

/// A figure that counts; a rate of 0 beside others means that the test does not count it.
fn figure<'a>(test: &'a PublishedTest, metric: &str) -> Option<&'a PublishedFigure> {
    test.published.figure(metric).filter(|figure| figure.value > 0.0)
}

/// The amount of a quantity that a published test states.
pub fn theirs<'a>(test: &'a PublishedTest, quantity: Quantity, fixed: &Fixed) -> Option<Rate<'a>> {
    let of =
        |(name, counted): &(&str, Quantity)| figure(test, name).filter(|_| *counted == quantity);
    if let Some(printed) = METRICS.iter().find_map(of) {
        return Some(Rate {
            per_s: printed.value,
            printed: printed.value,
            unit: &printed.unit,
            metric: &printed.metric,
            conversion: Conversion::NONE,
        });
    }
    let (printed, work) = (figure(test, ELAPSED)?, *fixed.get(&quantity)? as f64);
    let jobs = f64::from(test.jobs().unwrap_or(1));
    Some(Rate {
        per_s: work * jobs / printed.value,
        printed: printed.value,
        unit: &printed.unit,
        metric: &printed.metric,
        conversion: Conversion { code: Code::FixedWork, factor: work },
    })
}

/// A metric of a measured test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// The key performance metric of its workload.
    Kpm,
    /// The second metric of the test.
    Second,
}

/// Measured amount per second, and the metric that it is printed in.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnRate<'a> {
    /// The amount, with the value of that metric.
    pub rate: Rate<'a>,
    /// The metric itself.
    pub metric: Metric,
}

/// A measured test's amount of a quantity per second: ops per second times the amount that the
/// catalog states for an op, else a metric of the test in the same unit.
pub fn yours<'a>(
    test: &'a TestResult,
    quantity: Quantity,
    workload: &Workload,
) -> Option<OwnRate<'a>> {
    test.kpm_value?; // a rate that was not kept up with, or a test without an op, has no figure
    let metrics = metrics(test);
    let first = *metrics.first()?;
    let named = |own: Own<'a>, per_s, conversion| {
        let (unit, metric) = (own.kpm.unit.as_str(), own.kpm.unit.as_str());
        let rate = Rate { per_s, printed: own.value, unit, metric, conversion };
        OwnRate { rate, metric: own.metric }
    };
    let same_unit = |own: &&Own<'a>| {
        own.kpm.better == Better::Higher && own.kpm.unit.eq_ignore_ascii_case(quantity.unit())
    };
    let Some(per_op) = workload.per_op.get(&quantity) else {
        let is_counted = matches!(
            quantity,
            Quantity::LogicalReads
                | Quantity::Reads
                | Quantity::Writes
                | Quantity::MbRead
                | Quantity::MbWritten
        );
        let own = metrics.iter().filter(|_| is_counted).find(same_unit)?;
        return (own.value > 0.0).then(|| named(*own, own.value, Conversion::NONE));
    };
    let factor = amount(test, per_op)?;
    let per_s = Some(test.ops_per_s * factor).filter(|rate| rate.is_finite() && *rate > 0.0)?;
    let equals = |own: &&Own<'a>| (own.value / per_s - 1.0).abs() < EQUAL;
    let rate = match metrics.iter().filter(same_unit).find(equals) {
        Some(own) => named(*own, per_s, Conversion::NONE),
        None if factor == 1.0 => named(first, per_s, Conversion { code: Code::OneAnOp, factor }),
        None => named(first, per_s, Conversion { code: Code::PerOp, factor }),
    };
    Some(rate)
}

/// The value of a metric of a measured test.
#[derive(Clone, Copy)]
struct Own<'a> {
    metric: Metric,
    kpm: &'a Kpm,
    value: f64,
}

/// The metrics of a test that have a value, the KPM first.
fn metrics(test: &TestResult) -> Vec<Own<'_>> {
    let own = |metric, kpm, value: Option<f64>| Some(Own { metric, kpm, value: value? });
    let second = test.second.as_ref();
    let second = second.and_then(|second| own(Metric::Second, second, test.second_value));
    own(Metric::Kpm, &test.kpm, test.kpm_value).into_iter().chain(second).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::{Expr, KpmValue, Published, PublishedKind};

    fn printed(kpm: &str, figures: &[(&str, f64, &str)]) -> PublishedTest {
        let figure = |&(metric, value, unit): &(&str, f64, &str)| PublishedFigure {
            metric: metric.into(),
            value,
            unit: unit.into(),
            note: String::new(),
        };
        let published = Published {
            kind: PublishedKind::Point,
            code: "T1".into(),
            description: String::new(),
            place: String::new(),
            nodes: Some(1),
            jobs: Some(2),
            threads: None,
            update_pct: None,
            kpm: Some(kpm.into()),
            figures: figures.iter().map(figure).collect(),
        };
        PublishedTest::unread("S", published)
    }

    fn measured(value: KpmValue, unit: &str, scale: f64) -> TestResult {
        let kpm = Kpm { scale, ..fixture::kpm(value, unit, Better::Higher) };
        let mut test = TestResult { kpm, ..fixture::result() };
        (test.ops_per_s, test.units_per_s, test.rows_per_s) = (100.0, 380_000.0, 2500.0);
        (test.window.ops, test.units, test.second) = (1000, 3_800_000.0, None);
        crate::analysis::fill(&mut test);
        test
    }

    fn workload(per_op: &[(Quantity, &str)]) -> Workload {
        let kpm = fixture::kpm(KpmValue::Ops, "qps", Better::Higher);
        let per_op = per_op.iter().map(|(quantity, text)| (*quantity, Expr((*text).into())));
        Workload { per_op: per_op.collect(), ..Workload::bare("W", "w", kpm) }
    }

    #[test]
    fn operations_per_second_are_mops_times_a_million() {
        let test = measured(KpmValue::Units, "Mops", 1e-6);
        let own = workload(&[(Quantity::Operations, "work")]);
        let rate = yours(&test, Quantity::Operations, &own).unwrap().rate;
        assert_eq!((rate.per_s, rate.printed, rate.unit), (380_000.0, 0.38, "Mops"));
        assert_eq!(rate.conversion, Conversion { code: Code::PerOp, factor: 3800.0 });
    }

    #[test]
    fn one_row_or_transaction_an_op_is_the_same_rate_under_another_name() {
        let test = measured(KpmValue::Ops, "qps", 1.0);
        let own = workload(&[(Quantity::Rows, "25"), (Quantity::Transactions, "1")]);
        let tps = yours(&test, Quantity::Transactions, &own).unwrap().rate;
        assert_eq!((tps.per_s, tps.conversion.code), (100.0, Code::OneAnOp));
        let rows = yours(&test, Quantity::Rows, &own).unwrap().rate;
        assert_eq!((rows.per_s, rows.conversion.factor), (2500.0, 25.0));
        assert_eq!(yours(&test, Quantity::Calls, &own), None, "nothing says what a call is");
    }

    #[test]
    fn a_figure_in_the_same_unit_needs_no_conversion() {
        let test = measured(KpmValue::Rows, "rows/s", 1.0);
        let own = workload(&[(Quantity::Rows, "25")]);
        let rate = yours(&test, Quantity::Rows, &own).unwrap().rate;
        assert_eq!((rate.per_s, rate.conversion), (2500.0, Conversion::NONE));
    }

    #[test]
    fn the_time_of_fixed_work_is_a_rate_only_where_the_work_is_known() {
        let test = printed("elapsed_s", &[("elapsed_s", 20.0, "s")]);
        let fixed = Fixed::from([(Quantity::Calls, 1000)]);
        assert_eq!(quantities(&test, &Fixed::new()), []);
        assert_eq!(quantities(&test, &fixed), [Quantity::Calls]);
        let rate = theirs(&test, Quantity::Calls, &fixed).unwrap();
        // Two jobs, each with its own work.
        assert_eq!((rate.per_s, rate.printed, rate.unit), (100.0, 20.0, "s"));
        assert_eq!(rate.conversion, Conversion { code: Code::FixedWork, factor: 1000.0 });
    }

    #[test]
    fn the_kpm_of_the_publication_goes_first_and_zero_is_no_rate() {
        let figures = [("ops_per_s", 0.0, "ops/s"), ("throughput_tps", 5.0, "tps")];
        let test =
            printed("rows_per_s", &[&figures[..], &[("rows_per_s", 9.0, "rows/s")]].concat());
        let expected = [Quantity::Rows, Quantity::Transactions];
        assert_eq!(quantities(&test, &Fixed::new()), expected);
        assert_eq!(theirs(&test, Quantity::Operations, &Fixed::new()), None);
    }

    #[test]
    fn what_no_expression_tells_is_taken_from_a_counter_in_the_same_unit_only() {
        let mut test = measured(KpmValue::Ops, "qps", 1.0);
        let own = workload(&[]);
        assert_eq!(yours(&test, Quantity::LogicalReads, &own), None);
        test.kpm.unit = "dbps".into();
        assert_eq!(yours(&test, Quantity::LogicalReads, &own).unwrap().rate.per_s, 100.0);
        test.kpm_value = Some(0.0);
        assert_eq!(yours(&test, Quantity::LogicalReads, &own), None);
    }
}
