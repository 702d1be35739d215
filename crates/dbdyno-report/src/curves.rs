//! Curves of ramps, over jobs or over something else: the figures and their service times, as a
//! chart draws them.

use super::document::{Axis, Chart, Digits, Point, Role, Scale, Series};
use super::ramps::Identity;
use super::{Input, Language};
use dbdyno_core::analysis::derive;
use dbdyno_core::analysis::interval::supports;
use dbdyno_core::analysis::ramp::Figure;
use dbdyno_core::model::Test;

/// More measured curves of one workload than these are shown in a chart per choice of parameters.
pub(super) const MAX_CURVES: usize = 8;

const DIGITS: Digits = Digits::Significant(4);

/// One curve to be: a ramp with at least two numbers of jobs.
pub(super) struct Ramp<'a> {
    pub name: String,
    pub identity: Identity,
    /// Tests that the law is fitted to; empty for a curve over something else than jobs.
    pub tests: &'a [&'a Test],
    pub places: Vec<Place<'a>>,
    /// Half width of the band in which an equal run is expected, as a fraction of each figure;
    /// where the platform is calibrated.
    pub noise: Vec<Option<f64>>,
}

/// A figure at its position on the axis: a number of jobs, threads or nodes.
pub(super) struct Place<'a> {
    pub x: f64,
    pub figure: Figure<'a>,
}

/// The curve of the figures, whose points are labelled with their service times.
pub(super) fn measured_throughput(input: &Input, ramp: &Ramp<'_>) -> Series {
    let language = input.language;
    let written = |figure: &Figure<'_>| {
        let ms = service_ms(figure).filter(|_| input.point_labels)?;
        let (value, unit) = if ms < 1.0 { (ms * 1000.0, "us") } else { (ms, "ms") };
        Some(format!("{} {unit}", language.number(value, Digits::Significant(3))))
    };
    let point = |Place { x, figure }: &Place<'_>| Point {
        x: *x,
        y: figure.value,
        low: figure.ends().map(|ends| ends[0]),
        high: figure.ends().map(|ends| ends[1]),
        label: service_ms(figure).map(|ms| {
            language.say("service time {ms} ms", &[("ms", &language.number(ms, DIGITS))])
        }),
        written: written(figure),
        verdict: Some(figure.status()),
    };
    series(ramp, ramp.places.iter().map(point).collect())
}

pub(super) fn series(ramp: &Ramp<'_>, points: Vec<Point>) -> Series {
    let Identity { platform, variant } = ramp.identity;
    Series { name: ramp.name.clone(), platform, variant, role: Role::Measured, points }
}

/// Mean service time at a figure, in ms; of a publication as printed.
fn service_ms(figure: &Figure<'_>) -> Option<f64> {
    match figure.test.measured() {
        Some(_) => Some(figure.mean_us()? / 1e3),
        None => derive(figure.test).get("service_time_ms"),
    }
}

/// A chart of the mean service times of the ramps that have at least `points` of them, with the
/// name, title and x axis of `head`; none where no ramp has.
pub(super) fn service_time_chart(ramps: &[Ramp<'_>], points: usize, head: Chart) -> Option<Chart> {
    let language = head.language;
    let unit = time_unit(ramps);
    let measured = ramps.iter().map(|ramp| measured_service(language, ramp, unit.per_ms));
    let series: Vec<Series> = measured.filter(|series| series.points.len() >= points).collect();
    let name = language.phrase("Service time, mean");
    let y = Axis { name, unit: Some(unit.name.into()), scale: Scale::Linear };
    (!series.is_empty()).then_some(Chart { y, series, ..head })
}

/// Unit in which service times are drawn.
struct DrawnUnit {
    name: &'static str,
    /// Number of units in one ms.
    per_ms: f64,
}

/// The unit in which the service times of these ramps are drawn: one that suits the valid figures,
/// if there are any.
fn time_unit(ramps: &[Ramp<'_>]) -> DrawnUnit {
    let all: Vec<&Figure<'_>> =
        ramps.iter().flat_map(|ramp| &ramp.places).map(|place| &place.figure).collect();
    let valid: Vec<&Figure<'_>> =
        all.iter().filter(|figure| supports(figure.status())).copied().collect();
    let figures = if valid.is_empty() { all } else { valid };
    let times = figures.into_iter().filter_map(service_ms);
    match times.fold(0.0, f64::max) < 1.0 {
        true => DrawnUnit { name: "us", per_ms: 1000.0 },
        false => DrawnUnit { name: "ms", per_ms: 1.0 },
    }
}

/// The curve of the service times, whose points are labelled with their figures.
fn measured_service(language: Language, ramp: &Ramp<'_>, factor: f64) -> Series {
    let point = |Place { x, figure }: &Place<'_>| {
        let throughput = format!("{} {}", language.number(figure.value, DIGITS), figure.unit);
        Some(Point {
            x: *x,
            y: service_ms(figure)? * factor,
            label: Some(throughput),
            verdict: Some(figure.status()),
            ..Point::default()
        })
    };
    series(ramp, ramp.places.iter().filter_map(point).collect())
}
