//! Interference of workloads, from runs that measured them alone and together.

use serde_json::json;

use super::document::{Block, Cell, Digits, Document, HeatCell, HeatRow, Heatmap, Section, Table};
use super::format::json;
use super::study::{StudyRow, columns, conditions, pair_columns, undecided};
use super::{Input, Language, Report, masthead};
use dbdyno_core::analysis::interference::{Interference, Slowdown, interference};
use dbdyno_core::analysis::interval::supports;
use dbdyno_core::analysis::study::{MedianInterval, too_few};
use dbdyno_core::model::Better;

/// Version of the JSON structure.
pub const SCHEMA_VERSION: u32 = 1;

const HOW_TO_READ: &str = "Each workload is measured alone and with each other one in the \
                           background, with as many jobs each, once per block in random order. A \
                           cell is the rate of the workload of its row with that of its column in \
                           the background, over its rate alone in the same block: the median over \
                           the blocks with its 95 % interval. 1 = it does not feel the other. The \
                           consolidation factor of a pair is the sum of both: 1 = nothing is \
                           gained by sharing the server, 2 = neither feels the other.";
const NO_TESTS: &str =
    "No test of these runs had a background workload: 'dbdyno interference' measures that.";
const RATIO: Digits = Digits::Significant(3);

/// The interference report.
pub struct InterferenceReport;

impl Report for InterferenceReport {
    fn name(&self) -> &'static str {
        "interference"
    }

    fn title(&self) -> &'static str {
        "what workloads take from one another, of runs of 'interference'"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        let language = input.language;
        let names = input.platforms();
        let found = input.runs.iter().zip(&names).flat_map(|(data, name)| {
            interference(&data.tests).into_iter().map(move |study| (data.run.id, name, study))
        });
        let found: Vec<(i64, &String, Interference)> = found.collect();
        let mut sections: Vec<Section> =
            found.iter().flat_map(|(_, name, study)| sections(language, name, study)).collect();
        if sections.is_empty() {
            sections.push(Section::new(
                language,
                "Interference",
                vec![Block::Paragraph(language.phrase(NO_TESTS))],
            ));
        }
        let studies =
            found.iter().map(|(run, _, study)| json!({ "run": run, "study": json::value(study) }));
        let data =
            json!({ "schema_version": SCHEMA_VERSION, "studies": studies.collect::<Vec<_>>() });
        let studies: Vec<&Interference> = found.iter().map(|(.., study)| study).collect();
        let answer = answer(language, &studies);
        Document {
            data: Some(data),
            head: Some(masthead::head(input, "interference of workloads", &answer)),
            ..Document::new(language, "Interference of workloads", sections)
        }
    }
}

/// Pair of workloads that feels most of each other, by valid ratios with an interval.
fn answer(language: Language, studies: &[&Interference]) -> String {
    let cells =
        || studies.iter().flat_map(|study| study.slowdowns.iter().map(move |it| (study, it)));
    let sound = cells().filter(|(_, cell)| supports(cell.verdict));
    let known = sound.filter_map(|(study, cell)| Some((study, cell, cell.ratio?)));
    let most = known.min_by(|a, b| a.2.value.total_cmp(&b.2.value));
    let Some((study, cell, ratio)) = most else { return undecided(language, cells().count()) };
    let label = |at: usize| study.alone[at].member.label();
    let percent = |share: f64| language.number(100.0 * share, Digits::Decimals(0));
    let values = [
        ("workload", label(cell.of)),
        ("beside", label(cell.beside)),
        ("percent", percent(ratio.value)),
        ("low", percent(ratio.low)),
        ("high", percent(ratio.high)),
    ];
    let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
    language.say(
        "{workload} beside {beside} keeps least: {percent} % of its rate alone \
         ({low} to {high} %).",
        &values,
    )
}

fn sections(language: Language, name: &str, study: &Interference) -> Vec<Section> {
    let jobs = language.jobs(Some(study.jobs));
    let titled = |title: &str| format!("{name}, {jobs}: {}", language.phrase(title));
    let map = vec![
        Block::Paragraph(language.phrase(HOW_TO_READ)),
        Block::Heatmap(heatmap(language, study)),
        Block::Table(slowdowns(language, study)),
    ];
    vec![
        Section { title: titled("Slow-down"), blocks: map },
        Section {
            title: titled("Consolidation"),
            blocks: vec![Block::Table(pairs(language, study))],
        },
        Section { title: titled("Alone"), blocks: vec![Block::Table(alone(language, study))] },
    ]
}

fn heatmap(language: Language, study: &Interference) -> Heatmap {
    let labels: Vec<String> = study.alone.iter().map(|alone| alone.member.label()).collect();
    let mut map = Heatmap {
        name: format!("slowdown {}", study.jobs),
        language,
        row_title: language.phrase("Workload"),
        columns: labels
            .iter()
            .map(|label| language.say("with {workload} in the background", &[("workload", label)]))
            .collect(),
        ..Heatmap::default()
    };
    for (of, label) in labels.iter().enumerate() {
        let cells = (0..labels.len()).map(|beside| cell(&mut map, study, of, beside)).collect();
        let unit = language.phrase("of its rate alone");
        map.rows.push(HeatRow { label: label.clone(), unit, better: Better::Higher, cells });
    }
    map
}

fn cell(map: &mut Heatmap, study: &Interference, of: usize, beside: usize) -> HeatCell {
    let found = study.slowdowns.iter().find(|cell| (cell.of, cell.beside) == (of, beside));
    let why = map.language.sentence(&too_few(found.map_or(0, |cell| cell.blocks)));
    match found.map(|cell| (cell, cell.ratio, cell.median_ratio)) {
        Some((cell, Some(ratio), _)) => known_cell(study, cell, ratio),
        // Without an interval it has no color, and says why.
        Some((cell, None, Some(value))) => {
            let number = Cell::Number { value, digits: RATIO, verdict: Some(cell.verdict) };
            HeatCell { jobs: Some(study.jobs), note: Some(why), ..HeatCell::bare(number) }
        }
        _ => HeatCell::bare(map.unknown(&why)),
    }
}

fn known_cell(study: &Interference, cell: &Slowdown, ratio: MedianInterval) -> HeatCell {
    HeatCell {
        cell: Cell::Number { value: ratio.value, digits: RATIO, verdict: Some(cell.verdict) },
        verdict: Some(cell.verdict),
        jobs: Some(study.jobs),
        low: Some(ratio.low),
        high: Some(ratio.high),
        // A color is a statement.
        share: supports(cell.verdict).then(|| ratio.value.clamp(0.0, 1.0)),
        rank: None,
        note: None,
    }
}

/// The cells of the heatmap with their intervals.
fn slowdowns(language: Language, study: &Interference) -> Table {
    let columns = pair_columns(["Workload", "Beside"], "Ratio");
    let name = format!("slowdown intervals {}", study.jobs);
    let mut table = Table::declared(language, name, &columns);
    for cell in &study.slowdowns {
        let names = labels(study, [cell.of, cell.beside]);
        let (known, median) = (cell.ratio.as_ref(), cell.median_ratio);
        table.add_row(&columns, &StudyRow::new(names, known, median, cell.blocks, cell.verdict));
    }
    table
}

fn pairs(language: Language, study: &Interference) -> Table {
    let columns = pair_columns(["Workload", "Other workload"], "Factor");
    let mut table = Table::declared(language, format!("consolidation {}", study.jobs), &columns);
    for pair in &study.pairs {
        let names = labels(study, [pair.a, pair.b]);
        table.remarks.extend(conditions(language, &names.join(" + "), &pair.conditions));
        let (known, median) = (pair.factor.as_ref(), pair.median_factor);
        table.add_row(&columns, &StudyRow::new(names, known, median, pair.blocks, pair.verdict));
    }
    table
}

/// Names of the workloads at these places.
fn labels(study: &Interference, places: [usize; 2]) -> Vec<String> {
    places.map(|at| study.alone[at].member.label()).into()
}

fn alone(language: Language, study: &Interference) -> Table {
    let columns = columns("Workload", "Median", "ops/s");
    let mut table = Table::declared(language, format!("alone {}", study.jobs), &columns);
    for alone in &study.alone {
        let label = alone.member.label();
        table.remarks.extend(conditions(language, &label, &alone.conditions));
        let (known, median) = (alone.ops_per_s.as_ref(), alone.median_ops_per_s);
        let row = StudyRow::new(vec![label], known, median, alone.blocks, alone.verdict);
        table.add_row(&columns, &row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::model::Status;

    #[test]
    fn only_a_valid_ratio_has_a_colour() {
        let study =
            Interference { jobs: 2, alone: Vec::new(), slowdowns: Vec::new(), pairs: Vec::new() };
        let ratio = MedianInterval { value: 0.8, low: 0.7, high: 0.9 };
        let share = |verdict| {
            let (ratio, median_ratio) = (Some(ratio), Some(ratio.value));
            let cell = Slowdown { of: 0, beside: 0, ratio, median_ratio, blocks: 6, verdict };
            known_cell(&study, &cell, cell.ratio.unwrap()).share
        };
        assert_eq!(share(Status::Valid), Some(0.8));
        assert_eq!([Status::Conditional, Status::Invalid].map(share), [None, None]);
    }
}
