//! The scaling report: best and sufficient number of jobs, knee, the Universal Scalability Law with
//! intervals, and how much of the best throughput every step uses, beside CPU busy.

use super::columns::RATE;
use super::document::{
    Axis, Block, Cell, Chart, Column, Digits, Document, Point, Role, Scale, Section, Series, Table,
};
use super::{Input, Language, Report, RunTests, page};
use dbdyno_core::analysis::bottleneck::{begins_at, bottlenecks};
use dbdyno_core::analysis::interval::supports;
use dbdyno_core::analysis::scaling::{Ramp, Scaling, hidden_saturation, ramps};
use dbdyno_core::model::{Status, Test};
use dbdyno_core::stats::law_ranges::JobsRange;
use dbdyno_core::stats::scaling::Fit;

/// `report scaling`.
pub struct ScalingReport;

/// Points of a fitted curve.
const CURVE_POINTS: u32 = 40;

const HOW_TO_READ: &str = "Best is the best valid throughput of a ramp. Used is the throughput of \
                           a step over the best (effective utilization), efficiency the throughput \
                           over jobs times that of one job. The law X(N) = gamma N / (1 + alpha \
                           (N-1) + beta N (N-1)) is the Universal Scalability Law (Gunther 2007) \
                           fitted to the valid figures of the KPM, with 95 % intervals: alpha is \
                           contention, beta coherency. The knee is where perfect scaling would \
                           reach the law's largest throughput; beyond it jobs mostly wait.";

impl Report for ScalingReport {
    fn name(&self) -> &'static str {
        "scaling"
    }

    fn title(&self) -> &'static str {
        "ramps: best jobs, knee, scalability law with intervals, effective utilization against CPU \
         busy"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        Document {
            head: Some(page::masthead(input, "scaling", &page::answer(input))),
            ..Document::new(input.language, "Scaling", each_run(input, true))
        }
    }
}

/// The tables of every run: the laws, and how much every step uses; the page draws the curves by
/// itself.
pub fn tables(input: &Input) -> Vec<Section> {
    each_run(input, false)
}

fn each_run(input: &Input, curves: bool) -> Vec<Section> {
    let several = input.runs.len() > 1;
    let names = input.platforms();
    let runs = input.runs.iter().zip(&names).enumerate();
    let of_run = |(platform, (data, name)): (usize, (&RunTests, &String))| {
        let titled = if several { format!("{name}: ") } else { String::new() };
        sections(input.language, data, &titled, platform).into_iter().take(if curves {
            2
        } else {
            1
        })
    };
    runs.flat_map(of_run).collect()
}

/// Tables, and the curves if there are any; `titled` stands before the titles.
fn sections(language: Language, data: &RunTests, titled: &str, platform: usize) -> Vec<Section> {
    let found: Vec<(String, Scaling<'_>)> = ramps(&data.tests)
        .into_iter()
        .filter_map(|ramp: Ramp<'_>| ramp.scaling().map(|found| (ramp.label, found)))
        .collect();
    let title = |text: &str| format!("{titled}{}", language.phrase(text));
    let table_name = |text: &str| format!("{titled}{}", language.phrase(text));
    if found.is_empty() {
        let nothing = "No workload was run at several numbers of jobs with a rate as its KPM.";
        return vec![Section {
            title: title("Scaling"),
            blocks: vec![Block::Paragraph(language.phrase(nothing))],
        }];
    }
    let mut blocks = vec![Block::Paragraph(language.phrase(HOW_TO_READ))];
    blocks.extend(hidden_saturation(&data.tests).into_iter().map(|hidden| {
        let busy = language.number(hidden.cpu_busy_pct, Digits::Decimals(0));
        let used = language.number(100.0 * hidden.utilisation, Digits::Decimals(1));
        let jobs = language.jobs(Some(hidden.jobs));
        let values =
            [("label", hidden.label.as_str()), ("busy", &busy), ("jobs", &jobs), ("used", &used)];
        let sentence =
            "{label}: at {busy} % CPU busy ({jobs}) {used} % of the best throughput is used.";
        Block::Paragraph(language.say(sentence, &values))
    }));
    blocks.push(Block::Table(laws(language, &table_name("laws"), &found)));
    blocks.push(Block::Table(steps(language, &table_name("steps"), &found)));
    let charts = found.iter().map(|(label, scaling)| {
        Block::Chart(chart(language, &format!("{titled}{label}"), label, scaling, platform))
    });
    let curves = Section { title: title("Curves"), blocks: charts.collect() };
    vec![Section { title: title("Scaling"), blocks }, curves]
}

fn laws(language: Language, name: &str, found: &[(String, Scaling<'_>)]) -> Table {
    let columns = vec![
        Column::new("Workload", "", 0),
        Column::new("Unit", "", 2),
        Column::new("Best", "", 0),
        Column::new("Best jobs", "", 0),
        Column::new("95 % from jobs", "", 1),
        Column::new("Knee", "jobs", 1),
        Column::new("Peak", "jobs", 3),
        Column::new("Peak +-", "jobs", 6),
        Column::new("Knee from", "jobs", 3),
        Column::new("Knee to", "jobs", 3),
        Column::new("Peak from", "jobs", 4),
        Column::new("Peak to", "jobs", 4),
        Column::new("gamma", "", 5),
        Column::new("gamma +-", "", 6),
        Column::new("alpha", "", 2),
        Column::new("alpha +-", "", 4),
        Column::new("beta", "", 2),
        Column::new("beta +-", "", 4),
        Column::new("R2", "", 5),
        Column::new("Verdict", "", 0),
    ];
    let mut table = Table::new(language, name, columns);
    for (label, scaling) in found {
        let cells = law_cells(&mut table, label, scaling);
        table.rows.push(cells);
        table.remarks.extend(
            scaling
                .fit
                .as_ref()
                .and_then(peak_remark)
                .map(|text| format!("{label}: {}", language.phrase(text))),
        );
    }
    table
}

fn peak_remark(fit: &Fit) -> Option<&'static str> {
    if fit.law.never_grows() {
        return Some("throughput does not grow beyond the first job");
    }
    fit.peak_is_forecast
        .then_some("the peak is beyond the measured numbers of jobs: a prediction, not a finding")
}

fn law_cells(table: &mut Table, label: &str, scaling: &Scaling<'_>) -> Vec<Cell> {
    const NO_FIT: &str = "fewer than four numbers of jobs with a valid figure, or the law does not \
                          fit";
    const NONE: &str = "the fitted law has none: throughput grows with every job";
    const AT_THE_EDGE: &str = "a peak at the first job has no interval";
    const OPEN: &str = "the figures leave any number of jobs possible";
    const HELD: &str = "held at 0: a negative value would mean that jobs speed each other up";
    let best = &scaling.best;
    let mut cells = vec![
        Cell::text(label),
        Cell::text(best.unit),
        Cell::Number { value: best.value, digits: RATE, verdict: Some(best.status()) },
        Cell::count_if_known(best.jobs),
        Cell::count_if_known(scaling.enough_jobs),
    ];
    let mut add = |value: Option<f64>, why: &'static str, digits: Digits| {
        let why = if scaling.fit.is_none() { NO_FIT } else { why };
        cells.push(match value.filter(|value| value.is_finite()) {
            Some(value) => Cell::Number { value, digits, verdict: None },
            None => table.unknown(why),
        });
    };
    let fit = scaling.fit.as_ref();
    let of = |get: fn(&Fit) -> Option<f64>| fit.and_then(get);
    let never_grows = fit.is_some_and(|fit| fit.law.never_grows());
    let at_first = || never_grows.then_some(1.0);
    let why = |law: Option<f64>| if law.is_some() { OPEN } else { NONE };
    let (knee, peak) = (of(|fit| fit.law.knee_jobs()), of(|fit| fit.law.peak_jobs()));
    let known = |found: Option<(f64, JobsRange)>| found.map(|found| found.0).or_else(at_first);
    add(known(fit.and_then(Fit::knee_jobs)), why(knee), Digits::Decimals(1));
    add(known(fit.and_then(Fit::peak_jobs)), why(peak), Digits::Decimals(1));
    let ranges = fit.and_then(|fit| fit.ranges);
    let why = if never_grows { AT_THE_EDGE } else { OPEN };
    let half = |range: JobsRange| Some((range.high? - range.low) / 2.0);
    add(ranges.and_then(|ranges| half(ranges.peak)), why, Digits::Decimals(1));
    for range in [ranges.map(|ranges| ranges.knee), ranges.map(|ranges| ranges.peak)] {
        add(range.map(|range| range.low), why, Digits::Decimals(1));
        add(range.and_then(|range| range.high), why, Digits::Decimals(1));
    }
    add(of(|fit| Some(fit.law.gamma)), NO_FIT, RATE);
    add(of(|fit| fit.half_widths[0]), HELD, Digits::Significant(2));
    add(of(|fit| Some(fit.law.alpha)), NO_FIT, Digits::Significant(3));
    add(of(|fit| fit.half_widths[1]), HELD, Digits::Significant(2));
    add(of(|fit| Some(fit.law.beta)), NO_FIT, Digits::Significant(3));
    add(of(|fit| fit.half_widths[2]), HELD, Digits::Significant(2));
    add(of(|fit| fit.r_squared), "the throughput does not vary", Digits::Decimals(4));
    cells.push(Cell::Verdict(best.status()));
    cells
}

fn steps(language: Language, name: &str, found: &[(String, Scaling<'_>)]) -> Table {
    let columns = vec![
        Column::new("Workload", "", 0),
        Column::new("Jobs", "", 0),
        Column::new("Unit", "", 2),
        Column::new("Throughput", "", 0),
        Column::new("Used", "%", 0),
        Column::new("CPU busy", "%", 0),
        Column::new("Efficiency", "%", 1),
        Column::new("Limit", "", 1),
        Column::new("Verdict", "", 0),
    ];
    let mut table = Table::new(language, name, columns);
    for (label, scaling) in found {
        table.remarks.extend(limit_remark(language, label, scaling));
        for step in &scaling.steps {
            let status = step.figure.status();
            let percent = |value: f64, beside: Status| Cell::Number {
                value,
                digits: Digits::Decimals(1),
                verdict: Some(status.max(beside)),
            };
            let busy = step.cpu_busy_pct.map(|value| percent(value, status));
            let busy = busy.unwrap_or_else(|| table.unknown("CPU busy is not known here"));
            let single = scaling.single.map_or(status, |single| single.status());
            let efficiency = step.efficiency.map(|value| percent(100.0 * value, single));
            let efficiency =
                efficiency.unwrap_or_else(|| table.unknown("no test with one job did anything"));
            table.rows.push(vec![
                Cell::text(label),
                Cell::count(step.jobs),
                Cell::text(step.figure.unit),
                Cell::Number { value: step.figure.value, digits: RATE, verdict: Some(status) },
                percent(100.0 * step.utilisation, scaling.best.status()),
                busy,
                efficiency,
                step_limit(language, step.figure.test),
                Cell::Verdict(status),
            ]);
        }
    }
    table
}

/// The first cause of a step.
fn step_limit(language: Language, test: &Test) -> Cell {
    match test.measured().map(bottlenecks) {
        None => Cell::Empty,
        Some(found) => Cell::text(
            language.phrase(found.first().map_or("not found", |first| first.cause.code())),
        ),
    }
}

/// Number of jobs from which the bottleneck of the most jobs applies; nothing if one of the steps
/// that say so is not sound.
fn limit_remark(language: Language, label: &str, scaling: &Scaling<'_>) -> Option<String> {
    let sound = scaling.steps.iter().filter(|step| step.figure.status() != Status::Invalid);
    let steps: Vec<_> = sound
        .filter_map(|step| Some((step.jobs, bottlenecks(step.figure.test.measured()?))))
        .collect();
    let cause = steps.last()?.1.first()?.cause;
    let jobs = language.jobs(begins_at(&steps, cause));
    let begins = language.say("first from {jobs} on", &[("jobs", &jobs)]);
    Some(format!("{label}: {}: {begins}", language.phrase(cause.code())))
}

fn chart(
    language: Language,
    name: &str,
    label: &str,
    scaling: &Scaling<'_>,
    platform: usize,
) -> Chart {
    let axis = |name: &str, unit: Option<&str>, scale| Axis {
        name: language.phrase(name),
        unit: unit.map(String::from),
        scale,
    };
    let points = scaling.steps.iter().map(|step| {
        let (value, status) = (step.figure.value, step.figure.status());
        Point {
            x: f64::from(step.jobs),
            y: value,
            low: step.figure.ends().map(|ends| ends[0]),
            high: step.figure.ends().map(|ends| ends[1]),
            label: supports(status.max(scaling.best.status()))
                .then(|| used(language, step.utilisation)),
            written: None,
            verdict: Some(status),
        }
    });
    let measured = Series {
        name: language.phrase("measured"),
        platform,
        variant: 0,
        role: Role::Measured,
        points: points.collect(),
    };
    let fitted = scaling.fit.as_ref().map(|fit| Series {
        name: language.phrase("scalability law"),
        platform,
        variant: 1,
        role: Role::Fitted,
        points: curve(fit, scaling),
    });
    Chart {
        name: format!("scaling {name}"),
        language,
        title: label.into(),
        x: axis("Jobs", None, Scale::Log2),
        y: axis("Throughput", Some(scaling.best.unit), Scale::Linear),
        series: std::iter::once(measured).chain(fitted).collect(),
        caption: String::new(),
        ..Chart::default()
    }
}

fn used(language: Language, utilisation: f64) -> String {
    let percent = language.number(100.0 * utilisation, Digits::Decimals(1));
    language.say("{percent} % used", &[("percent", &percent)])
}

/// The law between the fewest and the most jobs, at equal distances of the logarithm.
fn curve(fit: &Fit, scaling: &Scaling<'_>) -> Vec<Point> {
    let ends = scaling.steps.first().zip(scaling.steps.last());
    let Some((from, to)) = ends.map(|(a, b)| (f64::from(a.jobs), f64::from(b.jobs))) else {
        return Vec::new();
    };
    let at = |step: u32| from * (to / from).powf(f64::from(step) / f64::from(CURVE_POINTS));
    let point = |jobs: f64| Point { x: jobs, y: fit.law.throughput(jobs), ..Point::default() };
    (0..=CURVE_POINTS).map(|step| point(at(step))).collect()
}
