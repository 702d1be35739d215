//! Throughput over recall: of searches that count in every op how many of the true neighbours they
//! found.

use serde_json::json;

use super::columns::RATE;
use super::document::{
    Axis, Block, Cell, Chart, Column, Digits, Document, Point, Scale, Section, Series, Table,
};
use super::format::json;
use super::{Input, Language, Report, page};
use dbdyno_core::analysis::recall::{self, Search, searches};
use dbdyno_core::model::Sentence;

/// Version of the JSON structure.
pub const SCHEMA_VERSION: u32 = 1;

const HOW_TO_READ: &str = "Recall is the share of the true neighbors that ops found; it is counted \
                           in the same ops whose throughput is shown. More effort finds more and \
                           takes longer, so that a throughput means something only at its recall: \
                           engines are compared at an equal one. The best at a recall is the \
                           fastest valid figure that reaches it, at any number of jobs.";
const NO_TESTS: &str =
    "No test of these runs counts the neighbors that it found: the suite 'vector' does.";

/// The recall report.
pub struct RecallReport;

impl Report for RecallReport {
    fn name(&self) -> &'static str {
        "recall"
    }

    fn title(&self) -> &'static str {
        "throughput over recall of approximate searches, and the best throughput at a recall"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        let language = input.language;
        let names = input.platforms();
        let found: Vec<Vec<Search>> = input.runs.iter().map(|data| searches(&data.tests)).collect();
        let own = found.iter().zip(&names).enumerate().filter(|(_, (found, _))| !found.is_empty());
        let mut sections: Vec<Section> =
            own.map(|(at, (found, name))| section(language, at, name, found)).collect();
        if sections.is_empty() {
            let nothing = Block::Paragraph(language.phrase(NO_TESTS));
            sections.push(Section::new(language, "Recall", vec![nothing]));
        }
        let runs = input.runs.iter().zip(&found).filter(|(_, found)| !found.is_empty());
        let runs =
            runs.map(|(data, found)| json!({ "run": data.run.id, "searches": json::value(found) }));
        let data = json!({
            "schema_version": SCHEMA_VERSION,
            "studies": runs.collect::<Vec<_>>(),
        });
        Document {
            data: Some(data),
            head: Some(page::masthead(input, "throughput over recall", "")),
            ..Document::new(language, "Throughput over recall", sections)
        }
    }
}

fn section(language: Language, at: usize, name: &str, found: &[Search]) -> Section {
    let mut blocks = vec![Block::Paragraph(language.phrase(HOW_TO_READ))];
    for (number, search) in found.iter().enumerate() {
        blocks.push(Block::Drawing(chart(language, at, number, search)));
    }
    blocks.push(Block::Table(bests(language, at, found)));
    blocks.extend(
        found
            .iter()
            .enumerate()
            .map(|(number, search)| Block::Table(points(language, at, number, search))),
    );
    Section { title: name.to_string(), blocks }
}

fn label(search: &Search) -> String {
    match search.question.as_str() {
        "" => format!("{} ({})", search.workload, search.drive),
        question => format!("{} {question} ({})", search.workload, search.drive),
    }
}

/// A curve for each number of jobs.
fn chart(language: Language, at: usize, number: usize, search: &Search) -> Chart {
    let mut jobs: Vec<Option<u32>> = search.points.iter().map(|point| point.jobs).collect();
    jobs.sort_unstable();
    jobs.dedup();
    let series = |(variant, jobs): (usize, Option<u32>)| {
        let of_jobs = search.points.iter().filter(|point| point.jobs == jobs);
        let point = |point: &recall::Point| Point {
            x: 100.0 * point.recall,
            y: point.value,
            verdict: Some(point.verdict),
            ..Point::default()
        };
        Series {
            name: language.jobs(jobs),
            platform: at,
            variant,
            points: of_jobs.map(point).collect(),
            ..Series::default()
        }
    };
    let unit = search.points.first().map(|point| point.unit.clone());
    Chart {
        name: format!("recall {at} {number}"),
        language,
        title: label(search),
        x: Axis { name: language.phrase("Recall"), unit: Some("%".into()), scale: Scale::Linear },
        y: Axis { name: language.phrase("Throughput"), unit, scale: Scale::Linear },
        series: jobs.into_iter().enumerate().map(series).collect(),
        caption: String::new(),
        ..Chart::default()
    }
}

fn bests(language: Language, at: usize, found: &[Search]) -> Table {
    let columns = [
        Column::new("Search", "", 0),
        Column::new("Recall", "%", 0),
        Column::new("Best", "", 0),
        Column::new("Unit", "", 2),
        Column::new("Jobs", "", 0),
        Column::new("With", "", 1),
        Column::new("Verdict", "", 0),
    ];
    let mut table = Table::new(language, format!("best at recall {at}"), columns);
    for search in found {
        for best in &search.best {
            let point = best.point.map(|at| &search.points[at]);
            let none = || Sentence::new("no valid figure reaches this recall");
            let percent = Cell::Number {
                value: 100.0 * best.recall,
                digits: Digits::Decimals(0),
                verdict: None,
            };
            let row = match point {
                Some(point) => vec![
                    Cell::text(label(search)),
                    percent,
                    Cell::Number { value: point.value, digits: RATE, verdict: Some(point.verdict) },
                    Cell::text(&point.unit),
                    Cell::count_if_known(point.jobs),
                    Cell::text(&point.effort),
                    Cell::Verdict(point.verdict),
                ],
                None => {
                    let unknown = table.unknown(none());
                    let empty = [Cell::Empty, Cell::Empty, Cell::Empty, Cell::Empty];
                    [Cell::text(label(search)), percent, unknown].into_iter().chain(empty).collect()
                }
            };
            table.rows.push(row);
        }
    }
    table
}

fn points(language: Language, at: usize, number: usize, search: &Search) -> Table {
    let columns = [
        Column::new("With", "", 0),
        Column::new("Jobs", "", 0),
        Column::new("Recall", "%", 0),
        Column::new("Throughput", "", 0),
        Column::new("Unit", "", 2),
        Column::new("p99", "us", 1),
        Column::new("Verdict", "", 0),
    ];
    let mut table = Table::new(language, format!("recall {at} {number}"), columns);
    for point in &search.points {
        let p99 = point.p99_us.ok_or_else(|| Sentence::new("there are too few samples"));
        let p99 = table.unjudged(p99);
        table.rows.push(vec![
            Cell::text(&point.effort),
            Cell::count_if_known(point.jobs),
            Cell::Number {
                value: 100.0 * point.recall,
                digits: Digits::Decimals(1),
                verdict: Some(point.verdict),
            },
            Cell::Number { value: point.value, digits: RATE, verdict: Some(point.verdict) },
            Cell::text(&point.unit),
            p99,
            Cell::Verdict(point.verdict),
        ]);
    }
    table.remarks.insert(0, label(search));
    table
}
