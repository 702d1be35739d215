//! Cost of each layer between a client and the database, of runs that measured one lookup by
//! several ways.

use serde::Serialize;
use serde_json::json;

use super::document::{Block, Digits, Document, Section, Table};
use super::format::json;
use super::study::{StudyRow, columns, conditions, of_each, undecided};
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
        let named = found.iter().zip(&names).flat_map(|((_, studies), name)| {
            studies.iter().map(move |study| (title(language, name, study), study))
        });
        let answer = of_each(named.map(|(name, study)| (name, answer(language, study))));
        Document {
            data: Some(data),
            head: Some(masthead::head(input, "layers of a lookup", &answer)),
            ..Document::new(language, "Layers of a lookup", sections)
        }
    }
}

/// The layer of a study that costs most, by valid times with an interval; and a conditional one
/// that costs more.
fn answer(language: Language, study: &Layers) -> String {
    let known = study.layers.iter().filter(|row| supports(row.verdict));
    let known = known.filter_map(|row| Some((row, row.us.filter(|us| *us > 0.0)?)));
    let Some((row, most_us)) = known.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return undecided(language, study.layers.len());
    };
    let number = |us: f64| language.number(us, FIGURE);
    let [us, low, high] =
        [Some(most_us), row.low_us, row.high_us].map(|us| us.map_or_else(|| "–".into(), number));
    let name = language.sentence(&row.name);
    let values = [("layer", name.as_str()), ("us", &us), ("low", &low), ("high", &high)];
    let said = "The largest part of a lookup: {layer}, {us} us (95 % interval {low} to {high} us).";
    let said = language.say(said, &values);
    let doubtful = study.layers.iter().filter(|row| row.verdict == Status::Conditional);
    let larger = doubtful
        .filter_map(|row| Some((row, row.us.or(row.median_us).filter(|us| *us > most_us)?)));
    let Some((row, us)) = larger.max_by(|a, b| a.1.total_cmp(&b.1)) else { return said };
    let (name, us) = (language.sentence(&row.name), number(us));
    let verdict = language.verdict(row.verdict);
    let values = [("layer", name.as_str()), ("us", &us), ("verdict", &verdict)];
    let doubt = language.say("A larger one: {layer}, {us} us, {verdict}.", &values);
    format!("{said} {doubt}")
}

/// The platform of a study, its workload and its number of jobs.
fn title(language: Language, name: &str, study: &Layers) -> String {
    format!("{name}: {}, {}", study.workload, language.jobs(Some(study.jobs)))
}

fn section(language: Language, name: &str, study: &Layers) -> Section {
    let title = title(language, name, study);
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

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::model::Sentence;

    fn layer(name: &'static str, us: f64, verdict: Status) -> LayerRow {
        LayerRow {
            layer: "tcp",
            over: "",
            name: Sentence::new(name),
            us: Some(us),
            median_us: None,
            low_us: Some(us - 1.0),
            high_us: Some(us + 1.0),
            blocks: 6,
            verdict,
            why: None,
        }
    }

    #[test]
    fn a_conditional_layer_above_the_largest_valid_one_is_said_with_its_mark() {
        let said = |verdict: Status| {
            let layers = vec![layer("a", 10.0, Status::Valid), layer("b", 20.0, verdict)];
            let workload = "Q".to_string();
            answer(Language::English, &Layers { workload, jobs: 1, ways: Vec::new(), layers })
        };
        let valid = "The largest part of a lookup: a, 10.0 us (95 % interval 9.00 to 11.0 us).";
        assert_eq!(said(Status::Invalid), valid);
        let both = format!("{valid} A larger one: b, 20.0 us, conditional.");
        assert_eq!(said(Status::Conditional), both);
        assert!(said(Status::Valid).starts_with("The largest part of a lookup: b, 20.0 us"));
    }
}
