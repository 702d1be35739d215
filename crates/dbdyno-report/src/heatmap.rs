//! Heatmaps: speed and throughput of every workload over the runs, each row coloured from its best
//! figure to 0.

use super::columns::RATE;
use super::document::{Block, Cell, Digits, Document, HeatCell, HeatRow, Heatmap, Section};
use super::lowered::{self, Lowered};
use super::ramps::{RampRow, compared};
use super::{Input, Language, Report};
use crate::analysis::heatmap::{Known, Place, places};
use crate::analysis::interval::supports;
use crate::analysis::ramp::{self, Figure};
use crate::model::{Better, PublishedKind, Reason, ReasonCode, RunKind, Sentence, Status, Test};

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
        Document::new(input.language, "Heatmaps", sections(input))
    }
}

/// Takes a figure out of the tests of a ramp.
type Get = for<'a> fn(&[&'a Test]) -> Option<Figure<'a>>;

/// Which figure of a ramp a heatmap shows.
pub(super) struct Metric {
    pub name: &'static str,
    title: &'static str,
    about: &'static str,
    figure: Get,
    passed_over: Get,
    /// Published figures of this kind are none of this metric.
    foreign: Option<PublishedKind>,
    /// Rows that do not belong into this heatmap.
    pub left_out: fn(&[Option<Figure<'_>>]) -> bool,
}

impl Metric {
    /// The figure of a ramp.
    pub fn of<'a>(&self, tests: &[&'a Test]) -> Option<Figure<'a>> {
        self.take(self.figure, tests)
    }

    /// What the verdict keeps from being that figure.
    pub fn passed_over<'a>(&self, tests: &[&'a Test]) -> Option<Figure<'a>> {
        self.take(self.passed_over, tests)
    }

    fn take<'a>(&self, get: Get, tests: &[&'a Test]) -> Option<Figure<'a>> {
        let is_own = |test: &&&Test| self.foreign.is_none_or(|foreign| !test.states(foreign));
        get(&tests.iter().filter(is_own).copied().collect::<Vec<_>>())
    }
}

pub(super) const METRICS: [Metric; 2] = [
    Metric {
        name: "speed",
        title: "Speed",
        about: "Speed is the figure of one job.",
        figure: ramp::speed,
        passed_over: |_| None,
        foreign: None,
        left_out: |_| false,
    },
    Metric {
        name: "throughput",
        title: "Throughput",
        about: "Throughput is the best valid figure at any number of jobs; without a valid one the best of the others.",
        figure: ramp::throughput,
        passed_over: ramp::passed_over,
        foreign: Some(PublishedKind::Speed),
        // A time at one job is a speed; it was shown there.
        left_out: |row| {
            row.iter().flatten().all(|found| found.better == Better::Lower && found.jobs == Some(1))
        },
    },
];

/// How to read it; stands above every heatmap.
const HOW_TO_READ: &str = "The best valid figure of a row is darkest, nothing is almost white; in between the colour is the \
share of the best (best / figure where lower is better). * the best of the row; ~ does not differ from the best beyond \
the noise of both (95 % intervals of the repetitions, else of the seconds). Conditional and invalid figures have no colour \
and are never the best; a row with fewer than two valid figures, or with a measured one that has no interval, has no \
best.";

/// The section of each metric; the workbook and the page show the same.
pub fn sections(input: &Input) -> Vec<Section> {
    let language = input.language;
    let section = |metric: &Metric| {
        let how = format!("{} {}", language.phrase(metric.about), language.phrase(HOW_TO_READ));
        let map = map(input, metric);
        let content = match map.rows.is_empty() {
            true => Block::Paragraph(language.phrase("No run has such a figure.")),
            false => Block::Heatmap(map),
        };
        Section::new(language, metric.title, vec![Block::Paragraph(how), content])
    };
    METRICS.iter().map(section).collect()
}

fn map(input: &Input, metric: &Metric) -> Heatmap {
    let mut map = Heatmap {
        name: metric.name.into(),
        language: input.language,
        row_title: input.language.phrase("Workload"),
        columns: input.platforms(),
        ..Heatmap::default()
    };
    let mut reasons = Vec::new();
    for (group, _) in input.used_groups() {
        for row in compared(input, group) {
            add(&mut map, &row, metric, &mut reasons);
        }
    }
    map.remarks = remarks(input.language, &reasons);
    map
}

/// The figures of a row side by side.
pub(super) struct Compared<'a> {
    pub unit: &'a str,
    pub better: Better,
    /// Per run; none where it has no figure in the unit of the row.
    pub figures: Vec<Option<Figure<'a>>>,
    /// What lowers the verdict on each, by itself or beside the others.
    pub lowered: Vec<Vec<Reason>>,
    /// Those that support a statement, and where they stand.
    pub known: Vec<Option<Known>>,
    pub places: Vec<Option<Place>>,
}

/// Puts the figures of a row side by side; none if there is none of this metric.
pub(super) fn side_by_side<'a>(row: &RampRow<'a>, metric: &Metric) -> Option<Compared<'a>> {
    let mut figures: Vec<_> = row.runs.iter().map(|tests| metric.of(tests)).collect();
    let (unit, better) =
        figures.iter().flatten().map(|figure| (figure.unit, figure.better)).next()?;
    // A run of another revision may lack the second metric: then its figure is another one.
    figures.iter_mut().for_each(|figure| *figure = figure.filter(|figure| figure.unit == unit));
    if (metric.left_out)(&figures) {
        return None;
    }
    let mut lowered: Vec<Vec<Reason>> =
        figures.iter().map(|figure| lowering(figure.as_ref(), &figures)).collect();
    for (reasons, tests) in lowered.iter_mut().zip(&row.runs) {
        reasons.extend(metric.passed_over(tests).as_ref().map(bound));
    }
    let known = figures.iter().zip(&lowered);
    let known: Vec<_> = known
        .map(|(figure, lowered)| figure.as_ref().and_then(|figure| known_of(figure, lowered)))
        .collect();
    let places = places(better, &known);
    Some(Compared { unit, better, figures, lowered, known, places })
}

fn known_of(figure: &Figure<'_>, lowered: &[Reason]) -> Option<Known> {
    supports(status(figure, lowered)).then(|| Known::of(figure))
}

fn status(figure: &Figure<'_>, lowered: &[Reason]) -> Status {
    lowered.iter().map(|reason| reason.status).fold(figure.status(), Status::max)
}

/// Adds the row, unless it has no figure at all.
fn add(map: &mut Heatmap, row: &RampRow<'_>, metric: &Metric, reasons: &mut Vec<Lowered>) {
    let Some(found) = side_by_side(row, metric) else { return };
    let parts = found.figures.iter().zip(&row.runs).zip(found.places.iter().zip(&found.lowered));
    let cells = parts.map(|((figure, tests), (place, lowered))| match figure {
        Some(figure) => cell(map.language, figure, *place, lowered),
        None => missing(map, tests),
    });
    let cells = cells.collect();
    reasons.extend(doubts(map.language, &map.columns, row, &found, metric));
    map.rows.push(HeatRow {
        label: row.label.clone(),
        unit: found.unit.into(),
        better: found.better,
        cells,
    });
}

fn cell(
    language: Language,
    figure: &Figure<'_>,
    place: Option<Place>,
    lowered: &[Reason],
) -> HeatCell {
    let fraction = figure.half_width();
    let interval = fraction.map(|fraction| {
        let half = language.number(100.0 * fraction, Digits::Decimals(2));
        language.say("95 % interval +-{half} %", &[("half", &half)])
    });
    let at =
        figure.jobs.map(|jobs| language.say("at {jobs}", &[("jobs", &language.jobs(Some(jobs)))]));
    let share = place.map(|place| {
        let percent = language.number(100.0 * place.share, Digits::Decimals(1));
        language.say("{percent} % of the best", &[("percent", &percent)])
    });
    let reasons = lowered
        .iter()
        .map(|reason| format!("{}: {}", language.verdict(reason.status), language.reason(reason)));
    let stamp = figure.test.measured().and_then(|test| test.durability);
    let stamp = stamp.map(|stamp| language.phrase(stamp.name()));
    let notes: Vec<String> =
        [at, share, interval, stamp].into_iter().flatten().chain(reasons).collect();
    HeatCell {
        jobs: figure.jobs,
        low: fraction.map(|fraction| figure.value * (1.0 - fraction)),
        high: fraction.map(|fraction| figure.value * (1.0 + fraction)),
        share: place.map(|place| place.share),
        rank: place.map(|place| place.rank),
        note: (!notes.is_empty()).then(|| notes.join(", ")),
        ..HeatCell::bare(Cell::Number {
            value: figure.value,
            digits: RATE,
            verdict: Some(status(figure, lowered)),
        })
    }
}

fn missing(map: &mut Heatmap, tests: &[&Test]) -> HeatCell {
    let why =
        if tests.is_empty() { "this run has no such test" } else { "no test gives this figure" };
    HeatCell::bare(map.unknown(why))
}

/// The reasons that lower the verdict on a figure beside the others of its row.
fn lowering(figure: Option<&Figure<'_>>, row: &[Option<Figure<'_>>]) -> Vec<Reason> {
    let Some((figure, first)) = figure.zip(row.iter().flatten().next()) else { return Vec::new() };
    own_reasons(figure).chain(other_work(figure.test, first.test)).collect()
}

/// A figure beside which this better one is not valid is a lower bound.
fn bound(better: &Figure<'_>) -> Reason {
    let jobs = better.jobs.map(|jobs| jobs.to_string()).unwrap_or_default();
    let sentence = Sentence::new(
        "a lower bound: the better figure at another number of jobs ({jobs}) is not valid",
    );
    Reason::new(Status::Conditional, ReasonCode::PassedOver, sentence.with("jobs", jobs))
}

fn own_reasons(figure: &Figure<'_>) -> impl Iterator<Item = Reason> {
    figure.verdict.reasons.iter().filter(|reason| reason.status > Status::Valid).cloned()
}

/// What makes a figure another one than the first of its row, with which it is compared.
fn other_work(own: &Test, first: &Test) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let mut add =
        |code, sentence: Sentence| reasons.push(Reason::new(Status::Conditional, code, sentence));
    if own.drive() != first.drive() {
        let sentence = Sentence::new("another drive: {own}, compared with {first}");
        add(
            ReasonCode::Drive,
            sentence.with("own", own.drive().name()).with("first", first.drive().name()),
        );
    }
    match (own.kind(), first.kind()) {
        (RunKind::Published, RunKind::Measured) => {
            add(
                ReasonCode::Origin,
                Sentence::new("a published figure, compared with a measured one"),
            );
        }
        (RunKind::Measured, RunKind::Published) => {
            add(
                ReasonCode::Origin,
                Sentence::new("a measured figure, compared with a published one"),
            );
        }
        _ => {}
    }
    if own.revision() != first.revision() {
        let sentence = Sentence::new("revision {own} of the workload, compared with {first}");
        let [own, first] = [own, first].map(|test| test.revision().to_string());
        add(ReasonCode::Revision, sentence.with("own", own).with("first", first));
    }
    reasons
}

/// What lowered the verdicts of a row's figures, or kept a figure from being in it, with the
/// platform it is about.
fn doubts(
    language: Language,
    platforms: &[String],
    row: &RampRow<'_>,
    found: &Compared<'_>,
    metric: &Metric,
) -> Vec<Lowered> {
    let subject = |run: usize, figure: &Figure<'_>| {
        let label = format!("{}, {}", platforms[run], row.label);
        match figure.jobs {
            None => label,
            jobs => language
                .say("{label} at {jobs}", &[("label", &label), ("jobs", &language.jobs(jobs))]),
        }
    };
    let left_out = |subject: &str| language.say("{subject}, left out", &[("subject", subject)]);
    let of_run = |(run, figure): (usize, &Option<Figure<'_>>)| {
        let own = figure.iter().flat_map(|figure| {
            let subject = subject(run, figure);
            found.lowered[run]
                .iter()
                .map(move |reason| Lowered { subject: subject.clone(), reason: reason.clone() })
        });
        let passed_over = metric.passed_over(&row.runs[run]);
        let others = passed_over.iter().flat_map(|other| {
            let subject = left_out(&subject(run, other));
            own_reasons(other).map(move |reason| Lowered { subject: subject.clone(), reason })
        });
        own.chain(others).collect::<Vec<_>>()
    };
    found.figures.iter().enumerate().flat_map(of_run).collect()
}

/// More sentences than these are told by kind, each with one example; the cells' notes have all.
const MOST_SENTENCES: usize = 10;

fn remarks(language: Language, reasons: &[Lowered]) -> Vec<String> {
    let sentences = lowered::remarks(language, reasons);
    if sentences.len() <= MOST_SENTENCES {
        return sentences;
    }
    let mut kinds: Vec<(&Lowered, usize)> = Vec::new();
    for one in reasons {
        let is_same = |kind: &&mut (&Lowered, usize)| {
            let known = &kind.0.reason;
            (known.status, &known.code) == (one.reason.status, &one.reason.code)
        };
        match kinds.iter_mut().find(is_same) {
            Some(kind) => kind.1 += 1,
            None => kinds.push((one, 1)),
        }
    }
    let told = kinds.into_iter().map(|(Lowered { subject, reason }, count)| {
        let example = format!("{subject}: {}", language.reason(reason));
        let figures = language.count("such_figures", count, &[("example", &example)]);
        format!("{} ({}): {figures}", language.verdict(reason.status), language.code(&reason.code))
    });
    told.collect()
}
