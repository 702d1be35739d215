//! Heatmaps: speed and throughput of every workload over the runs, each row colored from its best
//! figure to 0.

use super::columns::RATE;
use super::document::{
    Block, Cell, Column, Digits, Document, HeatCell, HeatRow, Heatmap, Section, Table,
};
use super::lowered::{self, LoweringReason};
use super::ramps::{RampRow, compared};
use super::{BaselinePlaces, Input, Language, Report, beside, masthead};
use dbdyno_core::analysis::compare::Kind;
use dbdyno_core::analysis::figure::Figure;
use dbdyno_core::analysis::heatmap::{
    Compared, METRICS, Metric, Place, Rank, lowering, side_by_side, status,
};
use dbdyno_core::model::{Reason, Test};

/// `report heatmap`.
pub struct HeatmapReport;

impl Report for HeatmapReport {
    fn name(&self) -> &'static str {
        "heatmap"
    }

    fn title(&self) -> &'static str {
        "speed and throughput of every workload over several runs, colored from the best of each \
         row to 0"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn baseline(&self) -> BaselinePlaces {
        BaselinePlaces { on_page: false, beside_published: true }
    }

    fn build(&self, input: &Input) -> Document {
        let mut sections = sections(input);
        sections.extend(beside::sections(&beside::pairs_to_show(input), input.language));
        Document {
            head: Some(masthead::head(input, "heatmaps", &masthead::answer(input))),
            ..Document::new(input.language, "Heatmaps", sections)
        }
    }
}

/// Title of a metric's heatmap.
fn title(metric: &Metric) -> &'static str {
    match metric.kind {
        Kind::Speed => "Speed",
        Kind::Throughput => "Throughput",
    }
}

/// Definition of a metric in a sentence.
fn about(metric: &Metric) -> &'static str {
    match metric.kind {
        Kind::Speed => "Speed is the figure of one job.",
        Kind::Throughput => {
            "Throughput is the best valid figure at any number of jobs; without a valid one the \
             best of the others."
        }
    }
}

/// Reading instructions above every heatmap.
const HOW_TO_READ: &str = "The best valid figure of a row has the strongest color, 0 has almost \
                           none; in between the color is the share of the best (best / figure \
                           where lower is better). * the best of the row; ~ does not differ from \
                           the best beyond the noise of both (95 % intervals of the repetitions, \
                           else of the seconds). Conditional and invalid figures have no color and \
                           are never the best; a row with fewer than two valid figures, or with a \
                           measured one that has no interval, or with a lower bound beyond the \
                           best, has no best.";

/// Note on the last column of the table.
const BEST: &str = "Best: the best valid figure, and those that do not differ from it beyond the \
                    noise; none where that is not known.";

/// The section of each metric; the workbook and the page show the same.
pub fn sections(input: &Input) -> Vec<Section> {
    let language = input.language;
    let section = |metric: &Metric| {
        let about = language.phrase(about(metric));
        let how = format!("{about} {}", language.phrase(HOW_TO_READ));
        let map = map(input, metric);
        let content = match map.rows.is_empty() {
            true => Block::Paragraph(language.phrase("No run has such a figure.")),
            false => Block::Heatmap(map),
        };
        Section::new(language, title(metric), vec![Block::Paragraph(how), content])
    };
    METRICS.iter().map(section).collect()
}

/// Speed and throughput of several runs side by side in one table, with the same marks.
pub(super) fn table(input: &Input) -> Table {
    let (language, platforms) = (input.language, input.platforms());
    let heads = ["Workload", "Kind", "Unit"].into_iter();
    let heads = heads.chain(platforms.iter().map(String::as_str)).chain(["Best"]);
    let columns = heads.map(|name| Column::new(name, "", 0));
    let mut table = Table::new(language, "side by side", columns);
    let (mut reasons, sizes_gb) = (Vec::new(), input.sizes_gb());
    for (group, _) in input.used_groups() {
        for row in compared(input, group) {
            for metric in &METRICS {
                let Some(found) = side_by_side(&row.runs, &sizes_gb, metric) else { continue };
                let cells = cells(&mut table, &row, &found, metric, &platforms);
                table.rows.push(cells);
                reasons.extend(doubts(language, &platforms, &row, &found, metric));
            }
        }
    }
    table.remarks = vec![language.phrase(BEST)];
    table.remarks.extend(remarks(language, &reasons));
    table
}

fn cells(
    table: &mut Table,
    row: &RampRow<'_>,
    found: &Compared<'_>,
    metric: &Metric,
    platforms: &[String],
) -> Vec<Cell> {
    let kind = table.language.phrase(metric.name());
    let mut cells = vec![Cell::text(&row.label), Cell::text(kind), Cell::text(found.unit)];
    for (run, figure) in found.figures.iter().enumerate() {
        cells.push(match figure {
            Some(figure) => {
                table.figure(Ok(figure.value), RATE, status(figure, &found.lowered[run]))
            }
            None => table.unknown(no_figure(&row.runs[run])),
        });
    }
    let is_best = |place: &Option<Place>| {
        place.is_some_and(|place| matches!(place.rank, Rank::Best | Rank::Equal))
    };
    let best = found.places.iter().zip(platforms).filter(|(place, _)| is_best(place));
    let best: Vec<&str> = best.map(|(_, name)| name.as_str()).collect();
    cells.push(Cell::text(best.join(", ")));
    cells
}

fn map(input: &Input, metric: &Metric) -> Heatmap {
    let mut map = Heatmap {
        name: metric.name().into(),
        language: input.language,
        row_title: input.language.phrase("Workload"),
        columns: input.platforms(),
        ..Heatmap::default()
    };
    let (mut reasons, sizes_gb) = (Vec::new(), input.sizes_gb());
    for (group, _) in input.used_groups() {
        for row in compared(input, group) {
            if let Some(found) = side_by_side(&row.runs, &sizes_gb, metric) {
                add(&mut map, &row, metric, &found, &mut reasons);
            }
        }
    }
    map.remarks = remarks(input.language, &reasons);
    map
}

/// Adds the row with these figures.
fn add(
    map: &mut Heatmap,
    row: &RampRow<'_>,
    metric: &Metric,
    found: &Compared<'_>,
    reasons: &mut Vec<LoweringReason>,
) {
    let mut cells = Vec::new();
    for (run, figure) in found.figures.iter().enumerate() {
        cells.push(match figure {
            Some(figure) => cell(map.language, figure, found.places[run], &found.lowered[run]),
            None => missing(map, &row.runs[run]),
        });
    }
    reasons.extend(doubts(map.language, &map.columns, row, found, metric));
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
        low: figure.ends().map(|ends| ends[0]),
        high: figure.ends().map(|ends| ends[1]),
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
    HeatCell::bare(map.unknown(no_figure(tests)))
}

/// The reason for which a run has no figure in a row.
fn no_figure(tests: &[&Test]) -> &'static str {
    if tests.is_empty() { "this run has no such test" } else { "no test gives this figure" }
}

/// Reasons that lowered the verdicts of a row's figures, or kept a figure from being in it, with
/// the platform it is about.
fn doubts(
    language: Language,
    platforms: &[String],
    row: &RampRow<'_>,
    found: &Compared<'_>,
    metric: &Metric,
) -> Vec<LoweringReason> {
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
            found.lowered[run].iter().map(move |reason| LoweringReason {
                subject: subject.clone(),
                reason: reason.clone(),
            })
        });
        let passed_over = metric.passed_over(&row.runs[run]);
        let others = passed_over.iter().flat_map(|other| {
            let subject = left_out(&subject(run, other));
            lowering(other)
                .into_iter()
                .map(move |reason| LoweringReason { subject: subject.clone(), reason })
        });
        own.chain(others).collect::<Vec<_>>()
    };
    found.figures.iter().enumerate().flat_map(of_run).collect()
}

/// Number of sentences from which on they are listed by kind, each with one example; the cells'
/// notes have all.
const MAX_SENTENCES: usize = 10;

fn remarks(language: Language, reasons: &[LoweringReason]) -> Vec<String> {
    let sentences = lowered::remarks(language, reasons);
    if sentences.len() <= MAX_SENTENCES {
        return sentences;
    }
    let mut kinds: Vec<(&LoweringReason, usize)> = Vec::new();
    for one in reasons {
        let is_same = |kind: &&mut (&LoweringReason, usize)| {
            let known = &kind.0.reason;
            (known.status, &known.code) == (one.reason.status, &one.reason.code)
        };
        match kinds.iter_mut().find(is_same) {
            Some(kind) => kind.1 += 1,
            None => kinds.push((one, 1)),
        }
    }
    let told = kinds.into_iter().map(|(LoweringReason { subject, reason }, count)| {
        let example = format!("{subject}: {}", language.reason(reason));
        let figures = language.count("such_figures", count, &[("example", &example)]);
        format!("{} ({}): {figures}", language.verdict(reason.status), language.code(&reason.code))
    });
    told.collect()
}
