//! Cost of each layer between a client and the database, of runs that measured one lookup by
//! several ways.

use serde::Serialize;
use serde_json::json;

use super::document::{Block, Cell, Column, Digits, Document, Section, Table};
use super::format::json;
use super::study::{OfBlocks, conditions, median_cells, undecided};
use super::{Input, Language, Report, RunTests, page};
use dbdyno_core::analysis::interval::supports;
use dbdyno_core::analysis::layers::{LayerRow, Layers, WayRow, layers};
use dbdyno_core::analysis::study::{MedianInterval, too_few};
use dbdyno_core::model::Status;

/// Version of the JSON structure.
pub const SCHEMA_VERSION: u32 = 1;

const HOW_TO_READ: &str = "The same lookup goes by several ways; each block has every way once, in \
                           random order. A layer is the difference of two ways' mean service times \
                           within a block: the median over the blocks, with the 95 % interval of \
                           each layer on its own. A layer whose interval holds 0 has no figure. \
                           Times inside the database hold the routine's own loop; invalid tests \
                           are left out.";
const NO_TESTS: &str =
    "No lookup of these runs went by several ways: 'dbdyno layers' measures that.";
const FIGURE: Digits = Digits::Significant(3);

/// The layers report.
pub struct LayersReport;

impl Report for LayersReport {
    fn name(&self) -> &'static str {
        "layers"
    }

    fn title(&self) -> &'static str {
        "what socket, TCP, text and the simple protocol cost a lookup, of runs of 'layers'"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        let language = input.language;
        let found: Vec<(&RunTests, Vec<Layers>)> =
            input.runs.iter().map(|data| (data, layers(&data.tests, &left_out(data)))).collect();
        let names = input.platforms();
        let sections = found.iter().zip(&names).flat_map(|((_, studies), name)| {
            studies.iter().map(move |study| section(language, name, study))
        });
        let mut sections: Vec<Section> = sections.collect();
        if sections.is_empty() {
            sections.push(Section::new(
                language,
                "Layers",
                vec![Block::Paragraph(language.phrase(NO_TESTS))],
            ));
        }
        let studies = found
            .iter()
            .flat_map(|(data, studies)| studies.iter().map(|study| described(data, study)));
        let data =
            json!({ "schema_version": SCHEMA_VERSION, "studies": studies.collect::<Vec<_>>() });
        let studies: Vec<&Layers> = found.iter().flat_map(|(_, studies)| studies).collect();
        let answer = answer(language, &studies);
        Document {
            data: Some(data),
            head: Some(page::masthead(input, "layers of a lookup", &answer)),
            ..Document::new(language, "Layers of a lookup", sections)
        }
    }
}

/// Which layer costs most, by valid differences with an interval.
fn answer(language: Language, studies: &[&Layers]) -> String {
    let rows = || studies.iter().flat_map(|study| &study.layers);
    let known = rows().filter(|row| supports(row.verdict)).filter_map(|row| Some((row, row.us?)));
    let Some((row, us)) = known.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return undecided(language, rows().count());
    };
    let [us, low, high] = [Some(us), row.low_us, row.high_us]
        .map(|us| us.map_or_else(|| "–".into(), |us| language.number(us, FIGURE)));
    let name = language.sentence(&row.name);
    let values = [("layer", name.as_str()), ("us", &us), ("low", &low), ("high", &high)];
    language.say("Most of a lookup takes: {layer}, {us} us ({low} to {high}).", &values)
}

/// Tests that the plan of a run left out: workload with way, and reason.
fn left_out(data: &RunTests) -> Vec<(String, String)> {
    let entries = data.run.plan["left_out"].as_array().cloned().unwrap_or_default();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_string();
    entries.iter().map(|entry| (text(&entry["workload"]), text(&entry["reason"]))).collect()
}

fn section(language: Language, name: &str, study: &Layers) -> Section {
    let jobs = language.jobs(Some(study.jobs));
    let title = format!("{name}: {}, {jobs}", study.workload);
    let tables = [layer_table(language, study), ways(language, study)].map(Block::Table);
    let blocks =
        [Block::Paragraph(language.phrase(HOW_TO_READ))].into_iter().chain(tables).collect();
    Section { title, blocks }
}

fn columns(first: &str) -> Vec<Column> {
    let figures = [("Median", 0), ("low", 0), ("high", 0)]
        .map(|(name, priority)| Column::new(name, "us", priority));
    let last =
        [("Blocks", 2), ("Verdict", 1)].map(|(name, priority)| Column::new(name, "", priority));
    [Column::new(first, "", 0)].into_iter().chain(figures).chain(last).collect()
}

fn layer_table(language: Language, study: &Layers) -> Table {
    let mut table =
        Table::new(language, format!("layers {} {}", study.workload, study.jobs), columns("Layer"));
    for row in &study.layers {
        let name = language.sentence(&row.name);
        let name = if row.over.is_empty() || ["transport", "tcp", "tls"].contains(&row.layer) {
            name
        } else {
            format!("{name} ({})", language.phrase(row.over))
        };
        let cells = layer_cells(&mut table, row, name);
        table.rows.push(cells);
    }
    table
}

fn layer_cells(table: &mut Table, row: &LayerRow, name: String) -> Vec<Cell> {
    let why = || row.why.clone().unwrap_or_else(|| "not measured".into());
    let shown = row.us.or(row.median_us);
    let [us, low, high] = [shown, row.low_us, row.high_us]
        .map(|value| table.figure(value.ok_or_else(why), FIGURE, row.verdict));
    let verdict = if shown.is_some() { Cell::Verdict(row.verdict) } else { Cell::Empty };
    vec![Cell::text(name), us, low, high, Cell::count(row.blocks as u32), verdict]
}

fn ways(language: Language, study: &Layers) -> Table {
    let mut table =
        Table::new(language, format!("ways {} {}", study.workload, study.jobs), columns("Way"));
    for row in &study.ways {
        let cells = way_cells(&mut table, row);
        table.rows.push(cells);
        let subject = language.sentence(&row.way.name());
        table.remarks.extend(conditions(language, &subject, &row.conditions));
    }
    table
}

fn way_cells(table: &mut Table, row: &WayRow) -> Vec<Cell> {
    let figure = OfBlocks { known: row.us.as_ref(), median: row.median_us };
    let [us, low, high, verdict] =
        median_cells(table, figure, &too_few(row.blocks), FIGURE, row.verdict);
    let name = table.language.sentence(&row.way.name());
    vec![Cell::text(name), us, low, high, Cell::count(row.blocks as u32), verdict]
}

/// A way as programs read it.
#[derive(Serialize)]
struct Way {
    way: String,
    us: Option<MedianInterval>,
    median_us: Option<f64>,
    blocks: usize,
    left_out: usize,
    verdict: Status,
}

fn described(data: &RunTests, study: &Layers) -> serde_json::Value {
    let way = |row: &WayRow| Way {
        way: row.way.name().to_string(),
        us: row.us,
        median_us: row.median_us,
        blocks: row.blocks,
        left_out: row.left_out,
        verdict: row.verdict,
    };
    json!({
        "run": data.run.id,
        "workload": study.workload,
        "jobs": study.jobs,
        "layers": json::value(&study.layers),
        "ways": json::value(&study.ways.iter().map(way).collect::<Vec<_>>()),
    })
}
