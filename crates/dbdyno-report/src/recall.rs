//! Throughput over recall: of searches that count in every op how many of the true neighbors they
//! found.

use serde_json::json;

use super::columns::RATE;
use super::document::{
    Axis, Block, Cell, Chart, Declared, Digits, Document, Point, Scale, Section, Series, Table,
};
use super::format::json;
use super::{Input, Language, Report, masthead};
use dbdyno_core::analysis::recall::{self, Best, Search, searches};
use dbdyno_core::model::{Sentence, Status};

/// Version of the JSON structure.
pub const SCHEMA_VERSION: u32 = 1;

const HOW_TO_READ: &str = "Recall is the share of the true neighbors that ops found; it is counted \
                           in the same ops whose throughput is shown. More effort finds more and \
                           takes longer, so that a throughput means something only at its recall: \
                           engines are compared at an equal one. The best at a recall is the \
                           fastest valid figure that reaches it, at any number of jobs.";
const OF_CONDITIONAL: &str = "Without a valid figure it is the fastest conditional one, with its \
                              mark; beside a faster conditional one it is a lower bound.";
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
        let mut sections: Vec<Section> = Vec::new();
        for (at, found) in found.iter().enumerate() {
            if !found.is_empty() {
                sections.push(section(language, at, &names[at], found));
            }
        }
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
            head: Some(masthead::head(input, "throughput over recall", "")),
            ..Document::new(language, "Throughput over recall", sections)
        }
    }
}

fn section(language: Language, at: usize, name: &str, found: &[Search]) -> Section {
    let how = [HOW_TO_READ, OF_CONDITIONAL].map(|said| language.phrase(said)).join(" ");
    let mut blocks = vec![Block::Paragraph(how)];
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

/// The best of a search at a recall.
struct BestRow<'a> {
    search: &'a Search,
    recall: f64,
    /// None if no figure reaches the recall, or invalid ones alone.
    point: Option<&'a recall::Point>,
    /// Verdict on the best, as a lower bound where a faster figure is conditional.
    status: Option<Status>,
}

fn bests(language: Language, at: usize, found: &[Search]) -> Table {
    let columns = best_columns();
    let mut table = Table::declared(language, format!("best at recall {at}"), &columns);
    for search in found {
        for best in &search.best {
            let point = best.point.map(|at| &search.points[at]);
            let status = best.status(&search.points);
            table.add_row(&columns, &BestRow { search, recall: best.recall, point, status });
            table.remarks.extend(lower_bound(language, search, best));
        }
    }
    table
}

/// Remark on a best beside which a faster figure is conditional.
fn lower_bound(language: Language, search: &Search, best: &Best) -> Option<String> {
    let faster = &search.points[best.passed_over?];
    let percent = language.number(100.0 * best.recall, Digits::Decimals(0));
    let value = language.number(faster.value, RATE);
    let values = [
        ("label", label(search)),
        ("recall", percent),
        ("value", value),
        ("unit", faster.unit.clone()),
        ("effort", faster.effort.clone()),
        ("jobs", language.jobs(faster.jobs)),
    ];
    let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
    let said = "{label} at {recall} %: a lower bound, since {value} {unit} with {effort} at {jobs} \
                reaches it and is conditional";
    Some(language.say(said, &values))
}

fn best_columns<'a>() -> [Declared<BestRow<'a>>; 7] {
    [
        Declared::new("Search", "", 0, |row, _| Cell::text(label(row.search))),
        Declared::new("Recall", "%", 0, |row, _| Cell::Number {
            value: 100.0 * row.recall,
            digits: Digits::Decimals(0),
            verdict: None,
        }),
        Declared::new("Best", "", 0, |row, table| match row.point {
            Some(point) => Cell::Number { value: point.value, digits: RATE, verdict: row.status },
            None => {
                let why = "no valid or conditional figure reaches this recall";
                table.unknown(Sentence::new(why))
            }
        }),
        Declared::new("Unit", "", 2, |row, _| {
            row.point.map_or(Cell::Empty, |point| Cell::text(&point.unit))
        }),
        Declared::new("Jobs", "", 0, |row, _| {
            Cell::count_if_known(row.point.and_then(|point| point.jobs))
        }),
        Declared::new("With", "", 1, |row, _| {
            row.point.map_or(Cell::Empty, |point| Cell::text(&point.effort))
        }),
        Declared::new("Verdict", "", 0, |row, _| row.status.map_or(Cell::Empty, Cell::Verdict)),
    ]
}

fn throughput_cell(point: &recall::Point) -> Cell {
    Cell::Number { value: point.value, digits: RATE, verdict: Some(point.verdict) }
}

fn points(language: Language, at: usize, number: usize, search: &Search) -> Table {
    let columns = point_columns();
    let mut table = Table::declared(language, format!("recall {at} {number}"), &columns);
    search.points.iter().for_each(|point| table.add_row(&columns, point));
    table.remarks.insert(0, label(search));
    table
}

fn point_columns() -> [Declared<recall::Point>; 7] {
    [
        Declared::new("With", "", 0, |point, _| Cell::text(&point.effort)),
        Declared::new("Jobs", "", 0, |point, _| Cell::count_if_known(point.jobs)),
        Declared::new("Recall", "%", 0, |point, _| Cell::Number {
            value: 100.0 * point.recall,
            digits: Digits::Decimals(1),
            verdict: Some(point.verdict),
        }),
        Declared::new("Throughput", "", 0, |point, _| throughput_cell(point)),
        Declared::new("Unit", "", 2, |point, _| Cell::text(&point.unit)),
        Declared::new("p99", "us", 1, |point, table| {
            let why = || Sentence::new("there are too few samples");
            table.unjudged(point.p99_us.ok_or_else(why))
        }),
        Declared::new("Verdict", "", 0, |point, _| Cell::Verdict(point.verdict)),
    ]
}
