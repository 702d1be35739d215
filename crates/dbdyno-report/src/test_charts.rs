//! Charts of single tests: the distribution of service time, and what happened second by second.

use std::collections::BTreeSet;

use super::Language;
use super::document::{Axis, Chart, Digits, Point, Role, Scale, Series};
use dbdyno_core::analysis::{cpu, cpu_speed};
use dbdyno_core::model::{Named, SeriesPoint, SnapshotPoint, Test, TestResult};
use dbdyno_core::stats::LatencyHistogram;
use dbdyno_core::stats::summary::enough_samples;

/// Digits of a moment in s.
const TENTHS: Digits = Digits::Decimals(1);
/// Points per decade of the distribution.
const PER_DECADE: i32 = 12;
/// Decades at most: up to one op in a million.
const DECADES: i32 = 6;

/// A test as a curve: its name in the chart, its numbers of platform and variant.
pub struct Curve<'a> {
    pub name: String,
    pub platform: usize,
    pub variant: usize,
    pub test: &'a Test,
}

impl<'a> Curve<'a> {
    /// Tests that differ in their number of jobs: each a color.
    pub fn by_jobs(language: Language, tests: &[&'a Test]) -> Vec<Curve<'a>> {
        let curve = |(platform, test): (usize, &&'a Test)| {
            let name = language.jobs(test.jobs());
            Curve { name, platform, variant: 0, test }
        };
        tests.iter().enumerate().map(curve).collect()
    }

    fn series(&self, points: Vec<Point>) -> Series {
        let (name, platform, variant) = (self.name.clone(), self.platform, self.variant);
        Series { name, platform, variant, role: Role::Measured, points }
    }
}

/// Service time that one op in N exceeds, N = 2 is the median, N = 100 the 99th percentile; none
/// without samples.
pub fn distribution(language: Language, subject: &str, curves: &[Curve<'_>]) -> Option<Chart> {
    let series: Vec<Series> = curves
        .iter()
        .map(|curve| curve.series(quantiles(curve.test)))
        .filter(|series| !series.points.is_empty())
        .collect();
    (!series.is_empty()).then(|| Chart {
        name: format!("{subject} distribution"),
        language,
        title: language.say("{subject}: distribution of service time", &[("subject", subject)]),
        x: Axis {
            name: language.phrase("One op in N takes longer, N"),
            unit: None,
            scale: Scale::Log10,
        },
        y: Axis {
            name: language.phrase("Service time"),
            unit: Some("us".into()),
            scale: Scale::Log10,
        },
        series,
        caption: language
            .phrase("N = 2 is the median, 10 the 90th, 100 the 99th percentile, 1000 the 99.9th."),
        ..Chart::default()
    })
}

fn quantiles(test: &Test) -> Vec<Point> {
    let histogram = LatencyHistogram::from_buckets(&test.latency().buckets);
    if histogram.is_empty() {
        return Vec::new();
    }
    let steps =
        (0..=PER_DECADE * DECADES).map(|step| 10_f64.powf(f64::from(step) / f64::from(PER_DECADE)));
    // Between the first step and the median there is little to see.
    let steps = steps.filter(|n| *n >= 1.9).chain([2.0]).collect::<Vec<_>>();
    let mut steps: Vec<f64> = steps
        .into_iter()
        .filter(|n| enough_samples(test.latency().effective_samples(), 1.0 - 1.0 / n))
        .collect();
    steps.sort_by(f64::total_cmp);
    let point = |n: f64| Point {
        x: n,
        y: histogram.quantile_ns(1.0 - 1.0 / n) as f64 / 1000.0,
        verdict: Some(test.status()),
        ..Point::default()
    };
    steps.into_iter().map(point).collect()
}

/// Track of a chart over the seconds: title, axis, unit and value of a point.
struct Track {
    title: &'static str,
    axis: &'static str,
    unit: &'static str,
    value: fn(&SeriesPoint) -> Option<f64>,
}

const OPS: Track = Track {
    title: "throughput per second",
    axis: "Throughput",
    unit: "ops/s",
    value: |point| (point.interval_s > 0.0).then(|| point.ops / point.interval_s),
};
/// Track of a load over time, next to which the rate done is drawn.
const OFFERED: Track =
    Track { title: "offered", axis: "Rate", unit: "ops/s", value: |point| point.offered_per_s };
const ACHIEVED: Track = Track {
    title: "done",
    axis: "Rate",
    unit: "ops/s",
    value: |point| point.offered_per_s.and_then(|_| (OPS.value)(point)),
};
const RESPONSE_P99: Track = Track {
    title: "p99",
    axis: "Response time",
    unit: "us",
    value: |point| point.offered_per_s.and(point.response_p99_us),
};
const RESPONSE_MAX: Track = Track {
    title: "max",
    axis: "Response time",
    unit: "us",
    value: |point| point.offered_per_s.and(point.response_max_us),
};
const WAITING: Track = Track {
    title: "waiting",
    axis: "Ops due and not started",
    unit: "ops",
    value: |point| point.behind,
};
const SESSIONS: Track = Track {
    title: "sessions by class of event",
    axis: "Sessions at work or waiting",
    unit: "",
    value: |_| None,
};
const P50: Track =
    Track { title: "p50", axis: "Service time", unit: "us", value: |point| point.p50_us };
const P99: Track =
    Track { title: "p99", axis: "Service time", unit: "us", value: |point| point.p99_us };
const BUSY: Track = Track {
    title: "CPU busy",
    axis: "CPU time",
    unit: "%",
    value: |point| cpu::busy_pct(&point.metrics).ok(),
};
const USER: Track = Track {
    title: "CPU user",
    axis: "CPU time",
    unit: "%",
    value: |point| cpu_share(point, "os_cpu_user_s"),
};
const SYSTEM: Track = Track {
    title: "CPU sys",
    axis: "CPU time",
    unit: "%",
    value: |point| cpu_share(point, "os_cpu_sys_s"),
};
const IOWAIT: Track = Track {
    title: "CPU iow",
    axis: "CPU time",
    unit: "%",
    value: |point| cpu_share(point, "os_cpu_iowait_s"),
};
const SPEED: Track = Track {
    title: "CPU speed",
    axis: "CPU time",
    unit: "%",
    value: |point| cpu_speed::speed(&point.metrics).ok().map(|speed| speed * 100.0),
};

/// Writes of a log-structured tree into its files: from memory, and again by merges.
const FLUSHED: Track = Track {
    title: "flushed",
    axis: "Written",
    unit: "MB/s",
    value: |point| mb_per_s(point, "lsm_flushed_bytes"),
};
const MERGED: Track = Track {
    title: "merged",
    axis: "Written",
    unit: "MB/s",
    value: |point| mb_per_s(point, "lsm_merge_written_bytes"),
};

fn mb_per_s(point: &SeriesPoint, bytes: &str) -> Option<f64> {
    point
        .metrics
        .get(bytes)
        .filter(|_| point.interval_s > 0.0)
        .map(|bytes| bytes / 1e6 / point.interval_s)
}

fn cpu_share(point: &SeriesPoint, name: &str) -> Option<f64> {
    cpu::share_pct(&point.metrics, name).ok()
}

/// Ops per second of several tests, second by second; none without a series.
pub fn seconds(language: Language, subject: &str, curves: &[Curve<'_>]) -> Option<Chart> {
    let series = curves.iter().map(|curve| curve.series(points(language, curve.test, &OPS)));
    chart(language, subject, &OPS, OPS.title, series.collect())
}

/// A load over time second by second: what was offered and done, response times, what waited;
/// nothing of other tests.
pub fn over_time(language: Language, subject: &str, test: &Test) -> Vec<Chart> {
    let Some(result) = test.measured() else { return Vec::new() };
    let rates =
        several(language, subject, test, "offered and achieved rate", &[&OFFERED, &ACHIEVED]);
    let charts = [
        rates.map(|chart| with_phases(chart, result)),
        several(
            language,
            subject,
            test,
            "response time per second",
            &[&RESPONSE_P99, &RESPONSE_MAX],
        ),
        several(language, subject, test, "ops waiting", &[&WAITING]),
    ];
    charts.into_iter().flatten().collect()
}

/// The chart with the name of each phase at its begin, and all of them below it.
fn with_phases(mut chart: Chart, result: &TestResult) -> Chart {
    let opened =
        result.snapshots.iter().find(|snapshot| snapshot.moment == SnapshotPoint::WindowOpen);
    let open_s = opened.map_or(0.0, |snapshot| snapshot.t_s);
    let phases = result.open.iter().flat_map(|open| &open.phases);
    let mut told = Vec::new();
    for figures in phases {
        let [from_s, to_s] =
            [figures.from_s, figures.to_s].map(|s| chart.language.number(open_s + s, TENTHS));
        told.push(format!("{from_s}-{to_s} s: {}", figures.phase));
        let offered = chart.series.first_mut().into_iter().flat_map(|series| &mut series.points);
        if let Some(point) = offered.into_iter().find(|point| point.x > open_s + figures.from_s) {
            let name = figures.phase.kind.name();
            // Phases of less than a second begin at the same point.
            let both = |earlier: String| format!("{earlier}, {name}");
            point.written = Some(point.written.take().map_or_else(|| name.to_string(), both));
        }
    }
    let phases = told.join(", ");
    chart.caption = chart.language.say("Phases: {phases}.", &[("phases", &phases)]);
    chart
}

/// One chart of several tracks of a test.
fn several(
    language: Language,
    subject: &str,
    test: &Test,
    title: &str,
    tracks: &[&Track],
) -> Option<Chart> {
    let series = tracks.iter().enumerate().map(|(number, track)| Series {
        name: language.phrase(track.title),
        platform: number,
        points: points(language, test, track),
        ..Series::default()
    });
    chart(language, subject, tracks[0], title, series.collect())
}

/// Everything that one test recorded second by second: throughput, percentiles of service time,
/// CPU, what a log-structured tree wrote.
pub fn tracks(language: Language, subject: &str, test: &Test) -> Vec<Chart> {
    let several = |title: &str, tracks: &[&Track]| several(language, subject, test, title, tracks);
    let charts = [
        several(OPS.title, &[&OPS]),
        several("service time per second", &[&P50, &P99]),
        several("CPU per second", &[&BUSY, &USER, &SYSTEM, &IOWAIT, &SPEED]),
        several("flushes and merges per second", &[&FLUSHED, &MERGED]),
    ];
    over_time(language, subject, test).into_iter().chain(charts.into_iter().flatten()).collect()
}

/// Number of job sessions in each class of events, second by second; none without samples.
pub fn session_classes(language: Language, subject: &str, test: &Test) -> Option<Chart> {
    let classes: BTreeSet<&str> = test
        .series()
        .iter()
        .flat_map(|point| point.sessions.iter())
        .map(|(class, _)| class)
        .collect();
    let sampled = || test.series().iter().filter(|point| !point.sessions.is_empty());
    let series = classes.into_iter().enumerate().map(|(number, class)| Series {
        name: class.to_owned(),
        platform: number,
        points: sampled()
            .map(|point| Point {
                x: point.t_s,
                y: point.sessions.get(class).unwrap_or(0.0),
                ..Point::default()
            })
            .collect(),
        ..Series::default()
    });
    chart(language, subject, &SESSIONS, SESSIONS.title, series.collect())
}

fn points(language: Language, test: &Test, track: &Track) -> Vec<Point> {
    let point = |point: &SeriesPoint| {
        let slow = || (cpu_speed::is_slow(point) == Some(true)).then_some("the CPU was slow");
        let label = (!point.in_window).then_some("outside the window").or_else(slow);
        let label = label.map(|label| language.phrase(label));
        Some(Point { x: point.t_s, y: (track.value)(point)?, label, ..Point::default() })
    };
    test.series().iter().filter_map(point).collect()
}

fn chart(
    language: Language,
    subject: &str,
    track: &Track,
    title: &str,
    series: Vec<Series>,
) -> Option<Chart> {
    let series: Vec<Series> = series.into_iter().filter(|series| series.points.len() > 1).collect();
    (!series.is_empty()).then(|| Chart {
        name: format!("{subject} {title}"),
        language,
        title: format!("{subject}: {}", language.phrase(title)),
        x: Axis {
            name: language.phrase("Time since the start"),
            unit: Some("s".into()),
            scale: Scale::Linear,
        },
        y: Axis {
            name: language.phrase(track.axis),
            unit: (!track.unit.is_empty()).then(|| track.unit.into()),
            scale: Scale::Linear,
        },
        series,
        caption: String::new(),
        ..Chart::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::fixture;

    #[test]
    fn the_distribution_ends_where_ten_samples_are_left() {
        let mut test = fixture::result();
        test.latency.buckets = (1..=1000).map(|us| (us * 1000, 1)).collect();
        test.latency.samples = 1000;
        let points = quantiles(&test.into());
        assert_eq!(points.last().map(|point| point.x.round()), Some(100.0));
        let median = points.iter().find(|point| point.x == 2.0).unwrap();
        assert!((median.y - 500.0).abs() < 1.0, "{median:?}");
        assert!((points.last().unwrap().y - 990.0).abs() < 2.0);
        assert!(points.windows(2).all(|pair| pair[0].x < pair[1].x && pair[0].y <= pair[1].y));
    }

    #[test]
    fn without_samples_or_series_there_is_no_chart() {
        let mut test = fixture::result();
        test.latency.buckets.clear();
        test.series.clear();
        let (language, test) = (Language::English, Test::from(test));
        let curves = Curve::by_jobs(language, &[&test]);
        assert_eq!(distribution(language, "x", &curves), None);
        assert_eq!(seconds(language, "x", &curves), None);
        assert_eq!(tracks(language, "x", &test), []);
    }
}
