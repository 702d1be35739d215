//! Ramp charts: throughput and service time over the numbers of jobs, a curve per run and choice of
//! parameters.

use super::curves::{MAX_CURVES, Place, Ramp, measured_throughput, series, service_time_chart};
use super::document::{Axis, Block, Chart, Digits, Document, Point, Role, Scale, Section, Series};
use super::ramps::{Identity, RampRow, identities, rows};
use super::{Input, Language, Report, axis_charts, masthead};
use dbdyno_core::analysis::noise;
use dbdyno_core::analysis::ramp::{self, Figure};
use dbdyno_core::model::Test;
use dbdyno_core::stats::median;
use dbdyno_core::stats::scaling::{Fit, Law};

/// A law must explain this share of the variance to be drawn.
const MIN_EXPLAINED: f64 = 0.8;
/// Points of a fitted curve.
const FITTED_POINTS: u32 = 32;
const BAND: &str =
    "Grey: the noise of this platform, within which an equal run is expected (calibration).";

/// `report ramp`.
pub struct RampReport;

impl Report for RampReport {
    fn name(&self) -> &'static str {
        "ramp"
    }

    fn title(&self) -> &'static str {
        "throughput and service time over the numbers of jobs, with the scalability law, as charts"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        let mut sections = sections(input);
        if sections.is_empty() {
            let text = input.language.phrase("No workload has figures at several numbers of jobs.");
            sections.push(Section::new(input.language, "Ramps", vec![Block::Paragraph(text)]));
        }
        Document {
            head: Some(masthead::head(input, "ramps", &masthead::answer(input))),
            ..Document::new(input.language, "Ramps", sections)
        }
    }
}

/// A section with the charts of every group that has a ramp.
pub fn sections(input: &Input) -> Vec<Section> {
    let section = |(id, title): (&str, &str)| Section {
        title: input
            .language
            .say("Ramps: {group}", &[("group", &input.language.group_heading(id, title))]),
        blocks: charts(input, id),
    };
    input
        .used_groups()
        .into_iter()
        .map(section)
        .filter(|section| !section.blocks.is_empty())
        .collect()
}

/// The charts of a group: per workload throughput, then service time; then those over something
/// else than jobs.
fn charts(input: &Input, group: &str) -> Vec<Block> {
    let rows = rows(input, group);
    let together = |a: &RampRow<'_>, b: &RampRow<'_>| same_workload(a, b);
    let over_jobs = rows.chunk_by(together).flat_map(|rows| workload(input, rows));
    over_jobs.chain(axis_charts::charts(input, group)).map(Block::Chart).collect()
}

fn first<'a>(row: &RampRow<'a>) -> Option<&'a Test> {
    row.runs.iter().flatten().next().copied()
}

fn same_workload(a: &RampRow<'_>, b: &RampRow<'_>) -> bool {
    let key = |row| first(row).map(|test| (test.workload(), &test.kpm().unit));
    key(a) == key(b)
}

/// The charts of one workload: all its rows in one, or one per row.
fn workload(input: &Input, rows: &[RampRow<'_>]) -> Vec<Chart> {
    let count = rows.iter().flat_map(|row| &row.runs).filter(|tests| is_ramp(tests)).count();
    match count {
        0 => Vec::new(),
        1..=MAX_CURVES => pair(input, rows),
        _ => rows.iter().flat_map(|row| pair(input, std::slice::from_ref(row))).collect(),
    }
}

fn is_ramp(tests: &[&Test]) -> bool {
    ramp::curve(tests).len() > 1
}

/// Throughput and service time of these rows.
fn pair(input: &Input, rows: &[RampRow<'_>]) -> Vec<Chart> {
    let ramps = ramps(input, rows);
    let Some(unit) = ramps
        .first()
        .and_then(|ramp| ramp.places.first())
        .map(|place| place.figure.unit.to_string())
    else {
        return Vec::new();
    };
    let subject = match rows {
        [row] => row.label.clone(),
        _ => first(&rows[0]).map(|test| test.workload().to_string()).unwrap_or_default(),
    };
    [Some(throughput(input, &subject, unit, &ramps)), service_time(input, &subject, &ramps)]
        .into_iter()
        .flatten()
        .collect()
}

fn ramps<'a>(input: &Input, rows: &'a [RampRow<'a>]) -> Vec<Ramp<'a>> {
    let (platforms, identities, noises) = (input.platforms(), identities(input), input.noises());
    let mut ramps = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        for (run, tests) in row.runs.iter().enumerate().filter(|(_, tests)| is_ramp(tests)) {
            let name = match (rows.len(), platforms.len()) {
                (_, 1) => row.label.clone(),
                (1, _) => platforms[run].clone(),
                _ => format!("{}, {}", platforms[run], row.label),
            };
            let Identity { platform, variant } = identities[run];
            let identity = Identity { platform, variant: variant * rows.len() + number };
            let figures = ramp::curve(tests);
            let noise = noise::of_run(&noises, &input.runs[run].run);
            let noise = figures.iter().map(|figure| noise?.floor(figure.test)).collect();
            let place = |figure: Figure<'a>| Some(Place { x: f64::from(figure.jobs?), figure });
            let places = figures.into_iter().filter_map(place).collect();
            ramps.push(Ramp { name, identity, tests, places, noise });
        }
    }
    ramps
}

/// The gray band behind a curve; none where no figure has noise.
fn noise_band(language: Language, ramp: &Ramp<'_>) -> Option<Series> {
    let point = |(Place { x, figure }, noise): (&Place<'_>, &Option<f64>)| {
        let half = (*noise)? * figure.value;
        let (low, high) = (Some((figure.value - half).max(0.0)), Some(figure.value + half));
        Some(Point { x: *x, y: figure.value, low, high, ..Point::default() })
    };
    let points: Vec<Point> = ramp.places.iter().zip(&ramp.noise).filter_map(point).collect();
    let name = language.say("{curve}, noise", &[("curve", &ramp.name)]);
    (!points.is_empty()).then(|| Series { name, role: Role::Noise, ..series(ramp, points) })
}

fn jobs_axis(language: Language) -> Axis {
    Axis { name: language.phrase("Jobs"), unit: None, scale: Scale::Log2 }
}

fn throughput(input: &Input, subject: &str, unit: String, ramps: &[Ramp<'_>]) -> Chart {
    let language = input.language;
    let laws: Vec<(&Ramp<'_>, Fit)> =
        ramps.iter().filter_map(|ramp| Some((ramp, fit(ramp)?))).collect();
    let (laws, poor): (Vec<_>, Vec<_>) = laws.into_iter().partition(|(_, fit)| explains(fit));
    let measured = ramps.iter().map(|ramp| measured_throughput(input, ramp));
    let fitted = laws.iter().filter_map(|(ramp, fit)| law_series(ramp, &fit.law));
    let bands: Vec<Series> = ramps.iter().filter_map(|ramp| noise_band(language, ramp)).collect();
    let words = laws
        .iter()
        .map(|(ramp, fit)| describe_law(language, fit, &subject_of(language, ramp, ramps)));
    let poor = poor
        .iter()
        .map(|(ramp, fit)| not_fitted(language, fit, &subject_of(language, ramp, ramps)));
    let band = (!bands.is_empty()).then(|| language.phrase(BAND));
    let caption: Vec<String> = words.chain(poor).chain(band).collect();
    Chart {
        name: format!("{subject} throughput"),
        language,
        title: language.say("{subject}: throughput", &[("subject", subject)]),
        x: jobs_axis(language),
        y: Axis { name: language.phrase("Throughput"), unit: Some(unit), scale: Scale::Linear },
        series: measured.chain(fitted).chain(bands).collect(),
        caption: caption.join(" "),
        ..Chart::default()
    }
}

fn fit(ramp: &Ramp<'_>) -> Option<Fit> {
    ramp::scalability(ramp.tests)?.law
}

/// The fitted law over the measured numbers of jobs, in the unit of the figures.
fn law_series(ramp: &Ramp<'_>, law: &Law) -> Option<Series> {
    let (first, last) = (ramp.places.first()?, ramp.places.last()?);
    let figures: Vec<Figure<'_>> = ramp.places.iter().map(|place| place.figure).collect();
    // The law is fitted to ops, or to whatever a publication prints; the figures decide about the
    // unit.
    let points = ramp::points(&figures).into_iter();
    let ratios: Vec<f64> = points.map(|(jobs, value)| value / law.throughput(jobs)).collect();
    let scale = median(&ratios).filter(|scale| scale.is_finite())?;
    let (from, to) = (first.x, last.x);
    let point = |step: u32| {
        let jobs = from * (to / from).powf(f64::from(step) / f64::from(FITTED_POINTS));
        Point { x: jobs, y: law.throughput(jobs) * scale, ..Point::default() }
    };
    let points = (0..=FITTED_POINTS).map(point).collect();
    let name = format!("{}, USL", ramp.name);
    Some(Series { name, role: Role::Fitted, ..series(ramp, points) })
}

/// Subject of a sentence about the law of a ramp.
fn subject_of(language: Language, ramp: &Ramp<'_>, ramps: &[Ramp<'_>]) -> String {
    if ramps.len() > 1 {
        ramp.name.clone()
    } else {
        language.phrase("Universal Scalability Law (USL)")
    }
}

/// A law that explains less than this is none: throughput goes up and down for another reason.
fn explains(fit: &Fit) -> bool {
    fit.r_squared.is_some_and(|share| share >= MIN_EXPLAINED)
}

fn not_fitted(language: Language, fit: &Fit, subject: &str) -> String {
    let share =
        fit.r_squared.map(|share| language.number(100.0 * share.max(0.0), Digits::Decimals(0)));
    let share = share.map_or_else(
        || language.phrase("nothing"),
        |share| language.say("{percent} %", &[("percent", &share)]),
    );
    language.say(
        "{subject}: not drawn, it explains {share} of the variance.",
        &[("subject", subject), ("share", &share)],
    )
}

/// `USL: contention 1.2 %, crosstalk 0.01 %, peak at 23 jobs, R² 0.990.`
fn describe_law(language: Language, fit: &Fit, subject: &str) -> String {
    let percent = |fraction: f64| language.number(fraction * 100.0, Digits::Significant(2));
    let explained = fit.r_squared.map_or_else(String::new, |share| {
        format!(", R² {}", language.number(share, Digits::Decimals(3)))
    });
    let (alpha, beta, peak) = (percent(fit.law.alpha), percent(fit.law.beta), peak(language, fit));
    let values = [
        ("subject", subject),
        ("alpha", &alpha),
        ("beta", &beta),
        ("peak", &peak),
        ("explained", &explained),
    ];
    language.say("{subject}: contention {alpha} %, coherency {beta} %, {peak}{explained}.", &values)
}

fn peak(language: Language, fit: &Fit) -> String {
    let jobs = |peak: f64, digits| language.number(peak, digits);
    match fit.peak_jobs() {
        _ if fit.law.never_grows() => language.phrase("no growth beyond the first job"),
        Some(peak) if fit.peak_is_forecast => {
            let values = [("jobs", &*jobs(peak, Digits::Decimals(0)))];
            language.say("peak beyond what was measured (predicted at {jobs} jobs)", &values)
        }
        Some(peak) => {
            language.say("peak at {jobs} jobs", &[("jobs", &*jobs(peak, Digits::Significant(2)))])
        }
        None if fit.law.peak_jobs().is_some() => language.phrase("peak not known"),
        None => language.phrase("no peak"),
    }
}

/// None where no test of the ramps has a service time: publications print it for some workloads
/// only.
fn service_time(input: &Input, subject: &str, ramps: &[Ramp<'_>]) -> Option<Chart> {
    let language = input.language;
    service_time_chart(
        ramps,
        1,
        Chart {
            name: format!("{subject} service time"),
            language,
            title: language.say("{subject}: service time", &[("subject", subject)]),
            x: jobs_axis(language),
            ..Chart::default()
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunTests;
    use dbdyno_core::analysis::compare::fixture::run;
    use dbdyno_core::analysis::fixture::at;
    use dbdyno_core::model::TestResult;

    /// A ramp of a run on one load of the data, on a platform where loads differ by 10 % at one
    /// job.
    fn input() -> Input {
        let load =
            |load: u32, value: f64| TestResult { load, server_start: load, ..at(1, value) }.into();
        let windows = [90.0, 100.0, 110.0]
            .into_iter()
            .zip(1..)
            .flat_map(|(value, number)| [load(number, value), load(number, value)]);
        let calibration = RunTests {
            run: dbdyno_core::model::RunRecord { id: 7, ..run("noise") },
            tests: windows.collect(),
        };
        let ramp =
            RunTests { run: run("a"), tests: vec![at(1, 1000.0).into(), at(2, 1900.0).into()] };
        Input { runs: vec![ramp], calibrations: vec![calibration], ..Input::default() }
    }

    fn bands(input: &Input) -> Vec<Series> {
        let charts = charts(input, "SRV").into_iter();
        let series = charts
            .flat_map(|block| if let Block::Chart(chart) = block { chart.series } else { vec![] });
        series.filter(|series| series.role == Role::Noise).collect()
    }

    #[test]
    fn the_noise_of_a_calibrated_platform_is_a_band() {
        let bands = bands(&input());
        assert_eq!(bands.len(), 1, "of the throughput, at the number of jobs that was calibrated");
        let [point] = bands[0].points.as_slice() else { panic!("{bands:?}") };
        // Loads of mean 100 with a standard deviation of 10: t(0.975, 2) = 4.302653 times 10 %, of
        // a further one around the median of three sqrt(1 + 0.4399).
        let half = 1000.0 * 0.430_265_3 * 1.439_9f64.sqrt();
        assert!(
            (point.high.unwrap() - 1000.0 - half).abs() < 0.02
                && (point.x, point.y) == (1.0, 1000.0),
            "{point:?}"
        );
    }

    #[test]
    fn without_a_calibration_there_is_none() {
        assert!(bands(&Input { calibrations: vec![], ..input() }).is_empty());
    }
}
