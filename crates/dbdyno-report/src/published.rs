//! Every printed figure of published runs, one line each: what the reports are made from, with the
//! notes of the source.

use super::document::{Block, Cell, Column, Digits, Document, Section, Table};
use super::{Input, Language, Report, RunTests, page};
use dbdyno_core::analysis::published;
use dbdyno_core::model::{PublishedFigure, PublishedTest, RunKind, Status, Test, params};

/// `report published`.
pub struct PointsReport;

impl Report for PointsReport {
    fn name(&self) -> &'static str {
        "published"
    }
    fn former_name(&self) -> Option<&'static str> {
        Some("points")
    }

    fn title(&self) -> &'static str {
        "every figure of published runs as it was printed, with its note and verdict"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        let sections = input.runs.iter().map(|data| section(input, data));
        Document {
            head: Some(page::masthead(input, "published figures", "")),
            ..Document::new(input.language, "Published figures", sections)
        }
    }
}

/// Name and priority of the columns.
const COLUMNS: &[(&str, u8)] = &[
    ("Platform", 5),
    ("GB", 7),
    ("Test", 6),
    ("Code", 0),
    ("Workload", 4),
    ("Parameters", 8),
    ("Kind", 1),
    ("Nodes", 9),
    ("Jobs", 0),
    ("Threads", 9),
    ("Metric", 0),
    ("Value", 0),
    ("Unit", 0),
    ("KPM", 6),
    ("Note", 3),
    ("Verdict", 0),
];

fn section(input: &Input, data: &RunTests) -> Section {
    let language = input.language;
    let unnamed = || language.say("run_unnamed", &[("id", &data.run.id.to_string())]);
    let name = data.run.name.clone().unwrap_or_else(unnamed);
    let published = data.tests.iter().filter_map(Test::published);
    let columns = COLUMNS.iter().map(|&(name, priority)| Column::new(name, "", priority));
    let mut table = Table::new(language, format!("points {name}"), columns);
    for test in published {
        table
            .rows
            .extend(test.published.figures.iter().map(|figure| line(language, data, test, figure)));
    }
    let empty = match data.run.kind {
        RunKind::Published => "This publication has no figure.",
        _ => "This run was measured, not published: see the other reports.",
    };
    let blocks = match table.rows.is_empty() {
        true => vec![Block::Paragraph(language.phrase(empty))],
        false => vec![Block::Table(table)],
    };
    Section { title: name, blocks }
}

fn line(
    language: Language,
    data: &RunTests,
    test: &PublishedTest,
    figure: &PublishedFigure,
) -> Vec<Cell> {
    let published = &test.published;
    let platform =
        data.run.provenance.as_ref().map_or("", |provenance| provenance.platform.as_str());
    let is_kpm = published.kpm.as_ref() == Some(&figure.metric);
    let status = verdict(test, figure, is_kpm);
    vec![
        Cell::text(platform),
        data.run.size_gb.map_or(Cell::Empty, |value| Cell::Number {
            value,
            digits: as_printed(value),
            verdict: None,
        }),
        Cell::count(test.seq),
        Cell::text(&published.code),
        Cell::text(&test.workload),
        Cell::text(params::assignments(&test.params, ",")),
        Cell::text(language.phrase(published.kind.name())),
        Cell::count_if_known(published.nodes),
        Cell::count_if_known(published.jobs),
        Cell::count_if_known(published.threads),
        Cell::text(&figure.metric),
        Cell::Number {
            value: figure.value,
            digits: as_printed(figure.value),
            verdict: Some(status),
        },
        Cell::text(&figure.unit),
        Cell::text(if is_kpm { language.phrase("yes") } else { String::new() }),
        Cell::text(&figure.note),
        Cell::Verdict(status),
    ]
}

/// All digits of the source, and no more: the shortest number that reads as this one.
fn as_printed(value: f64) -> Digits {
    let decimals = value.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len());
    Digits::Decimals(u8::try_from(decimals).unwrap_or(u8::MAX))
}

/// The KPM has the test's verdict, any other figure what its own note says.
fn verdict(test: &PublishedTest, figure: &PublishedFigure, is_kpm: bool) -> Status {
    let own =
        published::doubts(figure).iter().map(|doubt| doubt.status).max().unwrap_or(Status::Valid);
    if is_kpm { test.verdict.status } else { own }
}
