//! Heatmaps: speed and throughput of every workload over the runs, each row coloured from its best figure to 0.

use super::columns::{RATE, jobs};
use super::document::{Block, Cell, Document, HeatCell, HeatRow, Heatmap, Section};
use super::ramps::{RampRow, compared};
use super::{Input, Report};
use crate::analysis::compare::Noise;
use crate::analysis::heatmap::{Known, Place, Rank, places};
use crate::analysis::ramp::{self, RampFigure};
use crate::model::{Better, PublishedKind, Reason, Status, TestResult};

/// `report heatmap`.
pub struct HeatmapReport;

impl Report for HeatmapReport {
    fn name(&self) -> &'static str {
        "heatmap"
    }

    fn title(&self) -> &'static str {
        "speed and throughput of every workload over several runs, coloured from the best of each row to 0"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        Document { title: "Heatmaps".into(), sections: sections(input), ..Document::default() }
    }
}

/// Which figure of a ramp a heatmap shows.
pub(super) struct Metric {
    pub name: &'static str,
    title: &'static str,
    about: &'static str,
    figure: for<'a> fn(&[&'a TestResult]) -> Option<RampFigure<'a>>,
    /// Published figures of this kind are none of this metric.
    foreign: Option<PublishedKind>,
    /// Rows that do not belong into this heatmap.
    pub left_out: fn(&[Option<RampFigure<'_>>]) -> bool,
}

pub(super) const METRICS: [Metric; 2] = [
    Metric {
        name: "speed",
        title: "Speed",
        about: "Speed is the figure of one job.",
        figure: ramp::speed,
        foreign: None,
        left_out: |_| false,
    },
    Metric {
        name: "throughput",
        title: "Throughput",
        about: "Throughput is the best figure at any number of jobs.",
        figure: ramp::throughput,
        foreign: Some(PublishedKind::Speed),
        // A time at one job is a speed; it was shown there.
        left_out: |row| row.iter().flatten().all(|found| found.kpm.better == Better::Lower && found.jobs == 1),
    },
];

/// How to read it; stands above every heatmap.
const HOW_TO_READ: &str = "The best figure of a row is dark green, nothing is red; in between the colour is the share \
of the best (best / figure where lower is better). * the best of the row; ~ does not differ from the best beyond the \
noise of both (95 % intervals, with what unrepeated runs differ by); invalid figures have no colour.";

/// The section of each metric; the workbook and the page show the same.
pub fn sections(input: &Input) -> Vec<Section> {
    let section = |metric: &Metric| Section {
        title: metric.title.into(),
        blocks: vec![Block::Paragraph(format!("{} {HOW_TO_READ}", metric.about)), Block::Heatmap(map(input, metric))],
    };
    METRICS.iter().map(section).collect()
}

fn map(input: &Input, metric: &Metric) -> Heatmap {
    let mut map = Heatmap {
        name: metric.name.into(),
        row_title: "Workload".into(),
        columns: input.platforms(),
        ..Heatmap::default()
    };
    let mut reasons = Vec::new();
    for (group, _) in input.used_groups() {
        for row in compared(input, group) {
            add(&mut map, &row, metric, &mut reasons);
        }
    }
    map.remarks = remarks(&reasons);
    map
}

/// Adds the row, unless it has no figure at all.
fn add(map: &mut Heatmap, row: &RampRow<'_>, metric: &Metric, reasons: &mut Vec<(String, Reason)>) {
    let mut figures: Vec<_> = row.runs.iter().map(|tests| figure(tests, metric)).collect();
    let Some(kpm) = figures.iter().flatten().map(|figure| figure.kpm).next() else { return };
    // A run of another revision may lack the second metric: then its figure is another one.
    figures.iter_mut().for_each(|figure| *figure = figure.filter(|figure| figure.kpm.unit == kpm.unit));
    if (metric.left_out)(&figures) {
        return;
    }
    let known: Vec<_> =
        figures.iter().map(|figure| figure.as_ref().and_then(|figure| sound(figure, &kpm.unit))).collect();
    let places = places(kpm.better, &known);
    let lowered: Vec<Vec<Reason>> = figures.iter().map(|figure| lowering(figure.as_ref(), &figures)).collect();
    let cells = figures.iter().zip(&row.runs).zip(places.iter().zip(&lowered));
    let cells = cells.map(|((figure, tests), (place, lowered))| match figure {
        Some(figure) => cell(figure, *place, lowered),
        None => missing(map, tests),
    });
    let cells = cells.collect();
    reasons.extend(doubts(&map.columns, row, &figures, &lowered));
    map.rows.push(HeatRow { label: row.label.clone(), unit: kpm.unit.clone(), better: kpm.better, cells });
}

/// The figure of a ramp.
pub(super) fn figure<'a>(tests: &[&'a TestResult], metric: &Metric) -> Option<RampFigure<'a>> {
    let kind = |test: &TestResult| test.published.as_ref().map(|published| published.kind);
    let own: Vec<&TestResult> =
        tests.iter().filter(|test| metric.foreign.is_none() || kind(test) != metric.foreign).copied().collect();
    (metric.figure)(&own)
}

/// The figure, if it may be compared.
pub(super) fn sound(figure: &RampFigure<'_>, unit: &str) -> Option<Known> {
    let is_sound = figure.test.verdict.status != Status::Invalid && figure.kpm.unit == unit;
    is_sound.then(|| Known { value: figure.value, ci_fraction: Noise::default().of_test(figure.test) })
}

fn cell(figure: &RampFigure<'_>, place: Option<Place>, lowered: &[Reason]) -> HeatCell {
    let interval = figure.test.ci_fraction.map(|fraction| format!("95 % interval +-{:.2} %", 100.0 * fraction));
    let at = (figure.jobs > 0).then(|| format!("at {}", jobs(figure.jobs)));
    let share = place.map(|place| format!("{:.1} % of the best", 100.0 * place.share));
    let verdict = lowered.iter().map(|reason| reason.status).fold(figure.test.verdict.status, Status::max);
    let reasons = lowered.iter().map(|reason| format!("{}: {}", reason.status, reason.text));
    let notes: Vec<String> = [at, share, interval].into_iter().flatten().chain(reasons).collect();
    HeatCell {
        cell: Cell::Number { value: figure.value, digits: RATE, verdict: Some(verdict) },
        share: place.map(|place| place.share),
        rank: place.map(|place| place.rank).unwrap_or_default(),
        note: (!notes.is_empty()).then(|| notes.join(", ")),
    }
}

fn missing(map: &mut Heatmap, tests: &[&TestResult]) -> HeatCell {
    let why = if tests.is_empty() { "this run has no such test" } else { "no test gives this figure" };
    HeatCell { cell: map.unknown(why), share: None, rank: Rank::Below, note: None }
}

/// The reasons that lower the verdict on a figure beside the others of its row.
fn lowering(figure: Option<&RampFigure<'_>>, row: &[Option<RampFigure<'_>>]) -> Vec<Reason> {
    let Some(figure) = figure else { return Vec::new() };
    let own = figure.test.verdict.reasons.iter().filter(|reason| reason.status > Status::Valid).cloned();
    own.chain(another_drive(figure, row)).collect()
}

/// The figures of a row are compared with the first one.
fn another_drive(figure: &RampFigure<'_>, row: &[Option<RampFigure<'_>>]) -> Option<Reason> {
    let (own, first) = (figure.test.drive, row.iter().flatten().next()?.test.drive);
    let text = || format!("another drive: {}, compared with {}", own.name(), first.name());
    (own != first).then(|| Reason::new(Status::Conditional, "drive", text()))
}

/// True if figures of the row are of different drives.
pub(super) fn is_across_drives(row: &[Option<RampFigure<'_>>]) -> bool {
    row.iter().flatten().any(|figure| another_drive(figure, row).is_some())
}

/// What lowered the verdicts of a row's figures, with the platform it is about.
fn doubts(
    platforms: &[String],
    row: &RampRow<'_>,
    figures: &[Option<RampFigure<'_>>],
    lowered: &[Vec<Reason>],
) -> Vec<(String, Reason)> {
    let known = platforms.iter().zip(figures).zip(lowered);
    let known = known.filter_map(|((name, figure), lowered)| Some((name, figure.as_ref()?, lowered)));
    let about = |(platform, figure, lowered): (&String, &RampFigure<'_>, &Vec<Reason>)| {
        let at = if figure.jobs > 0 { format!(" at {}", jobs(figure.jobs)) } else { String::new() };
        let subject = format!("{platform}, {}{at}", row.label);
        lowered.iter().map(|reason| (subject.clone(), reason.clone())).collect::<Vec<_>>()
    };
    known.flat_map(about).collect()
}

/// More reasons than these are told by kind, each with one example; the cells' notes have them all.
const MOST_REASONS: usize = 10;

fn remarks(reasons: &[(String, Reason)]) -> Vec<String> {
    let sentence = |(subject, reason): &(String, Reason)| format!("{subject}: {}: {}", reason.status, reason.text);
    if reasons.len() <= MOST_REASONS {
        return reasons.iter().map(sentence).collect();
    }
    let mut kinds: Vec<(&Reason, usize, String)> = Vec::new();
    for pair in reasons {
        let is_same =
            |kind: &&mut (&Reason, usize, String)| (kind.0.status, &kind.0.code) == (pair.1.status, &pair.1.code);
        match kinds.iter_mut().find(is_same) {
            Some(kind) => kind.1 += 1,
            None => kinds.push((&pair.1, 1, format!("{}: {}", pair.0, pair.1.text))),
        }
    }
    let told = kinds.into_iter().map(|(reason, count, example)| {
        let figures = if count == 1 { "1 figure".into() } else { format!("{count} figures, such as") };
        format!("{} ({}): {figures} {example}", reason.status, reason.code)
    });
    told.collect()
}
