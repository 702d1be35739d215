//! Burst and sustained: what a test left the database to do, how long that took, and what lasts.

use super::Language;
use super::about::About;
use super::columns::{Line, RATE};
use super::document::{Axis, Block, Cell, Chart, Column, Digits, Point, Scale, Series, Table};
use dbdyno_core::analysis::sustained::{DeferredWork, debts, is_lower_bound};
use dbdyno_core::model::{Named, SnapshotPoint, SustainedRate, SustainedState, Test, TestResult};

/// Sustained rate of a KPM, as far as it is known.
pub fn rate_of(test: &Test) -> Option<SustainedRate> {
    test.measured()?.lasting
}

/// Sustained rate in the unit of the KPM, of repetitions in proportion to their figure; a word
/// where that is not a number.
pub fn cell(line: &Line<'_>) -> Cell {
    let (digits, verdict) = (RATE, Some(line.verdict.status));
    match rate_of(line.test) {
        None => Cell::Empty,
        Some(SustainedRate { kpm_value: Some(of_test), .. }) => {
            let value = line.in_proportion(of_test, line.test.kpm().better);
            let rate = Cell::Number { value, digits, verdict };
            if is_bound(line.test) { rate.at_least() } else { rate }
        }
        Some(lasting) => Cell::text(line.language.phrase(lasting.state.name())),
    }
}

fn is_bound(test: &Test) -> bool {
    test.measured().is_some_and(is_lower_bound)
}

/// Remark below a table on those of its sustained rates that are lower bounds; none if none is.
pub fn bounds_remark(language: Language, lines: &[Line<'_>]) -> Option<String> {
    let bounds: Vec<About<'_>> = lines
        .iter()
        .filter(|line| is_bound(line.test))
        .map(|line| About { run: line.run, test: line.test })
        .collect();
    let said = "{tests}: the sustained rate is a lower bound, as if nothing else were done during \
                the catch-up";
    (!bounds.is_empty()).then(|| language.say(said, &[("tests", &About::tests(language, &bounds))]))
}

/// Seconds of the pay-back.
pub fn pay_back_cell(line: &Line<'_>) -> Cell {
    match rate_of(line.test).and_then(|lasting| lasting.pay_back_s) {
        None => Cell::Empty,
        Some(value) => Cell::Number { value, digits: Digits::Significant(2), verdict: None },
    }
}

/// Section of a test's page: a statement, the kinds of deferred work, and how they grew second by
/// second.
pub fn blocks(language: Language, subject: &str, test: &Test) -> Vec<Block> {
    let Some((result, lasting)) =
        test.measured().and_then(|result| Some((result, result.lasting?)))
    else {
        return Vec::new();
    };
    let debts = debts(result);
    let said = Block::Paragraph(describe(language, result, &lasting));
    let table = (!debts.is_empty()).then(|| Block::Table(table(language, &debts)));
    std::iter::once(said)
        .chain(table)
        .chain(chart(language, subject, result, &debts).map(Block::Chart))
        .collect()
}

/// Shortest catch-up time that its clock can show.
const MIN_PAY_BACK_S: f64 = 0.001;

fn describe(language: Language, result: &TestResult, lasting: &SustainedRate) -> String {
    let number = |value: f64| language.number(value, RATE);
    let [kpm, total_s] = [result.kpm_value.unwrap_or_default(), result.total_s].map(number);
    let [lasts, pay_back_s] =
        [lasting.kpm_value, lasting.pay_back_s].map(|value| value.map_or("-".into(), number));
    let unit = result.kpm.unit.as_str();
    let values = [
        ("kpm", kpm.as_str()),
        ("unit", unit),
        ("lasts", &lasts),
        ("pay", &pay_back_s),
        ("total", &total_s),
    ];
    let template = match (lasting.state, lasting.kpm_value, lasting.pay_back_s) {
        (SustainedState::Sustained, _, None) => {
            "Sustained rate: the test left the database no deferred work."
        }
        (SustainedState::Sustained, _, Some(pay)) if pay < MIN_PAY_BACK_S => {
            "Sustained rate: the deferred work of the test took no measurable time."
        }
        (SustainedState::Sustained, ..) => {
            "Sustained rate: after {total} s of load the database finished its deferred work in \
             {pay} s, less than 1 % of that."
        }
        (SustainedState::Accounted, Some(_), _) if result.kpm.value.counter().is_some() => {
            "Burst rate: {kpm} {unit}. Catch-up time: the database worked on for {pay} s after \
             {total} s of load. Sustained rate: {lasts} {unit}, the work of both times over both \
             times."
        }
        (SustainedState::Accounted, Some(_), _) => {
            "Burst rate: {kpm} {unit}. Catch-up time: the database worked on for {pay} s after \
             {total} s of load. Sustained rate: at least {lasts} {unit}, as if nothing else were \
             done during the catch-up."
        }
        (SustainedState::Accounted, None, _) => {
            "Catch-up time: the database worked on for {pay} s after {total} s of load."
        }
        (SustainedState::Burst, ..) => {
            "Burst rate: the database did not finish its deferred work after the test, so it is \
             unknown how long this rate can be sustained."
        }
    };
    language.say(template, &values)
}

fn table(language: Language, debts: &[DeferredWork]) -> Table {
    let heads = ["Put off", "Begin", "End", "After the pay-back"];
    let mut table =
        Table::new(language, "debt", heads.into_iter().map(|head| Column::new(head, "", 0)));
    for debt in debts {
        let values = [Some(debt.begin), Some(debt.end), debt.paid];
        let cells = values.map(|value| table.unjudged(value.ok_or_else(|| "not read then".into())));
        table.rows.push(std::iter::once(Cell::text(title(language, debt))).chain(cells).collect());
    }
    table
}

/// Titles of the gauges; one of another engine is shown by its name.
const TITLES: [(&str, &str); 4] = [
    ("debt_dirty_blocks", "Changed blocks, not written"),
    ("debt_log_bytes", "Log since the last checkpoint, bytes"),
    ("debt_dead_rows", "Dead rows"),
    ("debt_undo", "Transactions, not purged"),
];

fn title(language: Language, debt: &DeferredWork) -> String {
    let known = TITLES.iter().find(|(name, _)| *name == debt.name);
    known.map_or_else(|| debt.name.clone(), |(_, title)| language.phrase(title))
}

/// Each gauge as a share of the most of it, with the checkpoints; none without seconds.
fn chart(
    language: Language,
    subject: &str,
    result: &TestResult,
    debts: &[DeferredWork],
) -> Option<Chart> {
    let series = debts.iter().enumerate().filter_map(|(number, debt)| {
        let points = course(language, result, debt)?;
        Some(Series { name: title(language, debt), platform: number, points, ..Series::default() })
    });
    let series: Vec<Series> = series.collect();
    (!series.is_empty()).then(|| Chart {
        name: format!("{subject} debt"),
        language,
        title: format!("{subject}: {}", language.phrase("deferred work")),
        x: Axis {
            name: language.phrase("Time since the start"),
            unit: Some("s".into()),
            scale: Scale::Linear,
        },
        y: Axis {
            name: language.phrase("Share of the most"),
            unit: Some("%".into()),
            scale: Scale::Linear,
        },
        series,
        caption: language
            .phrase("Each gauge in percent of its maximum; checkpoints are named at their second."),
        ..Chart::default()
    })
}

/// The gauge at the end of every second, in percent of its most.
fn course(language: Language, result: &TestResult, debt: &DeferredWork) -> Option<Vec<Point>> {
    let begin = result.snapshots.iter().find(|snapshot| snapshot.moment == SnapshotPoint::Begin)?;
    let mut value = begin.counters.get(&debt.name)?;
    let values: Vec<(f64, f64, bool)> = result
        .series
        .iter()
        .filter_map(|second| {
            value += second.metrics.get(&debt.name)?;
            Some((second.t_s, value, second.metrics.get("checkpoints").unwrap_or(0.0) > 0.0))
        })
        .collect();
    let most = values.iter().map(|(_, value, _)| *value).fold(debt.begin.max(0.0), f64::max);
    let point = |(x, value, checkpoint): (f64, f64, bool)| Point {
        x,
        y: 100.0 * value / most,
        label: checkpoint.then(|| language.phrase("checkpoint")),
        ..Point::default()
    };
    (values.len() > 1 && most > 0.0).then(|| values.into_iter().map(point).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::fixture;
    use dbdyno_core::model::{Counters, Snapshot};

    /// 12 s in which the log grew by 1 MB a second from 2 MB on, with a checkpoint in the third
    /// that left 1 MB.
    fn test(lasting: SustainedRate) -> Test {
        let mut result = fixture::result();
        for (second, point) in (1..).zip(&mut result.series) {
            let grown = if second == 3 { -3e6 } else { 1e6 };
            let checkpoints = f64::from(u8::from(second == 3));
            point.metrics =
                fixture::counters(&[("debt_log_bytes", grown), ("checkpoints", checkpoints)])
                    .into();
        }
        let at = |moment, log_bytes| Snapshot {
            moment,
            t_s: 0.0,
            counters: Counters([("debt_log_bytes".to_string(), log_bytes)].into()),
            cost_ms: 0.0,
        };
        result.snapshots = vec![
            at(SnapshotPoint::Begin, 2e6),
            at(SnapshotPoint::End, 10e6),
            at(SnapshotPoint::CaughtUp, 0.0),
        ];
        Test::from(TestResult { lasting: Some(lasting), ..result })
    }

    fn text(lasting: SustainedRate) -> String {
        match &blocks(Language::English, "x", &test(lasting))[0] {
            Block::Paragraph(text) => text.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn burst_pay_back_and_what_lasts_are_said() {
        let state = SustainedState::Accounted;
        let accounted =
            text(SustainedRate { state, pay_back_s: Some(3.0), kpm_value: Some(8000.0) });
        assert!(accounted.starts_with("Burst rate: 10,000 qps. Catch-up time: "), "{accounted}");
        assert!(
            accounted
                .contains("for 3.000 s after 12.00 s of load. Sustained rate: at least 8,000 qps"),
            "{accounted}"
        );
        let of_a_time = text(SustainedRate { state, pay_back_s: Some(3.0), kpm_value: None });
        assert!(
            of_a_time.starts_with("Catch-up time: ")
                && of_a_time.contains("3.000 s")
                && !of_a_time.contains("ustained"),
            "{of_a_time}"
        );
        let burst =
            SustainedRate { state: SustainedState::Burst, pay_back_s: None, kpm_value: None };
        assert!(text(burst).contains("unknown how long"));
    }

    #[test]
    fn a_gauge_is_followed_from_its_begin_and_checkpoints_are_named() {
        let lasting = SustainedRate {
            state: SustainedState::Sustained,
            pay_back_s: None,
            kpm_value: Some(1.0),
        };
        let found = blocks(Language::English, "x", &test(lasting));
        let Some(Block::Chart(chart)) = found.last() else { panic!("{found:?}") };
        let points = &chart.series[0].points;
        assert_eq!(
            (points.len(), chart.series[0].name.as_str()),
            (12, "Log since the last checkpoint, bytes")
        );
        // 3, 4, 1, 2, ... 10 MB.
        let shares: Vec<f64> = points.iter().take(4).map(|point| point.y.round()).collect();
        assert_eq!(shares, [30.0, 40.0, 10.0, 20.0]);
        let named: Vec<f64> =
            points.iter().filter(|point| point.label.is_some()).map(|point| point.x).collect();
        assert_eq!(named, [3.0]);
    }
}
