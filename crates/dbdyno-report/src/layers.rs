//! Cost of each layer between a client and the database, of runs that measured one lookup by
//! several ways.

use serde::Serialize;
use serde_json::json;

use super::document::{Block, Digits, Document, Section, Table};
use super::format::json;
use super::study::{StudyRow, columns, conditions, undecided};
use super::{Input, Language, Report, RunTests, masthead};
use dbdyno_core::analysis::interval::supports;
use dbdyno_core::analysis::layers::{LayerRow, Layers, WayRow, layers};
use dbdyno_core::analysis::study::MedianInterval;
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
        let found: Vec<(&RunTests, Vec<Layers>)> = input
            .runs
            .iter()
            .map(|data| (data, layers(&data.tests, &data.run.plan.omissions())))
            .collect();
        let names = input.platforms();
        let mut sections: Vec<Section> = Vec::new();
        for (at, (_, studies)) in found.iter().enumerate() {
            sections.extend(studies.iter().map(|study| section(language, &names[at], study)));
        }
        if sections.is_empty() {
            sections.push(Section::new(
                language,
                "Layers",
                vec![Block::Paragraph(language.phrase(NO_TESTS))],
            ));
        }
        let studies = found
            .iter()
            .flat_map(|(data, studies)| studies.iter().map(|study| study_json(data, study)));
        let data =
            json!({ "schema_version": SCHEMA_VERSION, "studies": studies.collect::<Vec<_>>() });
        let studies: Vec<&Layers> = found.iter().flat_map(|(_, studies)| studies).collect();
        let answer = answer(language, &studies);
        Document {
            data: Some(data),
            head: Some(masthead::head(input, "layers of a lookup", &answer)),
            ..Document::new(language, "Layers of a lookup", sections)
        }
    }
}

/// Layer that costs most, by valid differences with an interval.
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

fn section(language: Language, name: &str, study: &Layers) -> Section {
    let jobs = language.jobs(Some(study.jobs));
    let title = format!("{name}: {}, {jobs}", study.workload);
    let tables = [layer_table(language, study), ways(language, study)].map(Block::Table);
    let blocks =
        [Block::Paragraph(language.phrase(HOW_TO_READ))].into_iter().chain(tables).collect();
    Section { title, blocks }
}

fn layer_table(language: Language, study: &Layers) -> Table {
    let columns = columns("Layer", "Median", "us");
    let name = format!("layers {} {}", study.workload, study.jobs);
    let mut table = Table::declared(language, name, &columns);
    study.layers.iter().for_each(|row| table.add_row(&columns, &layer_row(language, row)));
    table
}

fn layer_row(language: Language, row: &LayerRow) -> StudyRow {
    let name = language.sentence(&row.name);
    let is_plain = row.over.is_empty() || ["transport", "tcp", "tls"].contains(&row.layer);
    let name = if is_plain { name } else { format!("{name} ({})", language.phrase(row.over)) };
    let value = row.us.or(row.median_us);
    StudyRow {
        names: vec![name],
        value,
        low: row.low_us,
        high: row.high_us,
        why: row.why.clone().unwrap_or_else(|| "not measured".into()),
        digits: FIGURE,
        blocks: row.blocks,
        verdict: row.verdict,
        shows_verdict: value.is_some(),
    }
}

fn ways(language: Language, study: &Layers) -> Table {
    let columns = columns("Way", "Median", "us");
    let name = format!("ways {} {}", study.workload, study.jobs);
    let mut table = Table::declared(language, name, &columns);
    for way in &study.ways {
        let name = language.sentence(&way.way.name());
        table.remarks.extend(conditions(language, &name, &way.conditions));
        let (known, median) = (way.us.as_ref(), way.median_us);
        let row = StudyRow::new(vec![name], known, median, way.blocks, way.verdict);
        table.add_row(&columns, &row);
    }
    table
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

fn study_json(data: &RunTests, study: &Layers) -> serde_json::Value {
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
