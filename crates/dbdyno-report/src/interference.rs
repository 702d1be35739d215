//! Interference of workloads, from runs that measured them alone and together.

use serde_json::json;

use super::document::{Block, Cell, Digits, Document, HeatCell, HeatRow, Heatmap, Section, Table};
use super::format::json;
use super::study::{StudyRow, columns, conditions, of_each, pair_columns, undecided};
use super::{Input, Language, Report, masthead};
use dbdyno_core::analysis::interference::{Interference, Slowdown, interference};
use dbdyno_core::analysis::interval::supports;
use dbdyno_core::analysis::study::{MedianInterval, too_few};
use dbdyno_core::model::{Better, Status};

/// Version of the JSON structure.
pub const SCHEMA_VERSION: u32 = 1;

const HOW_TO_READ: &str = "Each workload is measured alone and with each other one in the \
                           background, with as many jobs each, once per block in random order. A \
                           cell is the rate of the workload of its row with that of its column in \
                           the background, over its rate alone in the same block: the median over \
                           the blocks with its 95 % interval. 1 = it does not feel the other. The \
                           consolidation factor of a pair is the sum of both: 1 = nothing is \
                           gained by sharing the server, 2 = neither feels the other.";
const NO_TESTS: &str = "No test of these runs had a background workload with as many jobs: 'dbdyno \
                        interference' measures that.";
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
        let named = found.iter().map(|(_, name, study)| (title(language, name, study), study));
        let answer = of_each(named.map(|(name, study)| (name, answer(language, study))));
        Document {
            data: Some(data),
            head: Some(masthead::head(input, "interference of workloads", &answer)),
            ..Document::new(language, "Interference of workloads", sections)
        }
    }
}

/// The cell of a study that keeps least of its rate alone, by valid ratios with an interval; and a
/// conditional one that keeps less.
fn answer(language: Language, study: &Interference) -> String {
    let sound = study.slowdowns.iter().filter(|cell| supports(cell.verdict));
    let known = sound.filter_map(|cell| Some((cell, cell.ratio?)));
    let most = known.min_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let Some((cell, ratio)) = most else { return undecided(language, study.slowdowns.len()) };
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
    let said = language.say(
        "{workload} keeps least with {beside} in the background: {percent} % of its rate alone \
         ({low} to {high} %).",
        &values,
    );
    let doubtful = study.slowdowns.iter().filter(|cell| cell.verdict == Status::Conditional);
    let less = doubtful
        .filter_map(|cell| Some((cell, cell.median_ratio.filter(|other| *other < ratio.value)?)));
    let Some((cell, share)) = less.min_by(|a, b| a.1.total_cmp(&b.1)) else { return said };
    let values = [
        ("workload", label(cell.of)),
        ("beside", label(cell.beside)),
        ("percent", percent(share)),
        ("verdict", language.verdict(cell.verdict)),
    ];
    let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
    let doubt = language.say(
        "{workload} keeps less with {beside} in the background: {percent} %, {verdict}.",
        &values,
    );
    format!("{said} {doubt}")
}

/// The platform and the number of jobs of a study.
fn title(language: Language, name: &str, study: &Interference) -> String {
    format!("{name}, {}", language.jobs(Some(study.jobs)))
}

fn sections(language: Language, name: &str, study: &Interference) -> Vec<Section> {
    let of_study = title(language, name, study);
    let titled = |title: &str| format!("{of_study}: {}", language.phrase(title));
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
    use dbdyno_core::analysis::interference::{Alone, Member};
    use dbdyno_core::model::Drive;

    fn of_workload(workload: &str) -> Alone {
        let params = std::collections::BTreeMap::new();
        Alone {
            member: Member { workload: workload.into(), params, drive: Drive::Client },
            ops_per_s: None,
            median_ops_per_s: None,
            blocks: 6,
            verdict: Status::Valid,
            conditions: Vec::new(),
        }
    }

    fn beside(beside: usize, value: f64, verdict: Status) -> Slowdown {
        let ratio = MedianInterval { value, low: value - 0.01, high: value + 0.01 };
        let (ratio, median_ratio) = (Some(ratio), Some(value));
        Slowdown { of: 0, beside, ratio, median_ratio, blocks: 6, verdict }
    }

    #[test]
    fn a_conditional_ratio_below_the_least_valid_one_is_said_with_its_mark() {
        let said = |other: Slowdown| {
            let slowdowns = vec![beside(0, 0.8, Status::Valid), other];
            let alone = ["A", "B"].map(of_workload).into();
            let study = Interference { jobs: 2, alone, slowdowns, pairs: Vec::new() };
            answer(Language::English, &study)
        };
        let least = "A keeps least with A in the background: 80 % of its rate alone (79 to 81 %).";
        assert_eq!(said(beside(1, 0.9, Status::Conditional)), least);
        assert_eq!(said(beside(1, 0.3, Status::Invalid)), least);
        let both = format!("{least} A keeps less with B in the background: 30 %, conditional.");
        assert_eq!(said(beside(1, 0.3, Status::Conditional)), both);
    }

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
