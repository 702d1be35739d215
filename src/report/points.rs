//! Every printed figure of published runs, one line each: what the reports are made from, with the notes of the source.

use super::assignments::assignments;
use super::document::{Block, Cell, Column, Digits, Document, Section, Table};
use super::{Input, Report, RunTests};
use crate::analysis::published;
use crate::model::{Published, PublishedFigure, Status, TestResult};

/// `report points`.
pub struct PointsReport;

impl Report for PointsReport {
    fn name(&self) -> &'static str {
        "points"
    }

    fn title(&self) -> &'static str {
        "every figure of published runs as it was printed, with its note and verdict"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        let sections = input.runs.iter().map(|data| section(input, data));
        Document { title: "Published figures".into(), sections: sections.collect(), ..Document::default() }
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

fn section(_input: &Input, data: &RunTests) -> Section {
    let name = data.run.name.clone().unwrap_or_else(|| format!("run {}", data.run.id));
    let published = data.tests.iter().filter_map(|test| Some((test, test.published.as_deref()?)));
    let columns = COLUMNS.iter().map(|&(name, priority)| Column::new(name, "", priority));
    let mut table = Table { name: format!("points {name}"), columns: columns.collect(), ..Table::default() };
    for (test, published) in published {
        table.rows.extend(published.figures.iter().map(|figure| line(data, test, published, figure)));
    }
    let blocks = match table.rows.is_empty() {
        true => vec![Block::Paragraph("This run was measured, not published: see the other reports.".into())],
        false => vec![Block::Table(table)],
    };
    Section { title: name, blocks }
}

fn line(data: &RunTests, test: &TestResult, published: &Published, figure: &PublishedFigure) -> Vec<Cell> {
    let platform = data.run.provenance.as_ref().map_or("", |provenance| provenance.platform.as_str());
    let size = Some(data.run.size_gb).filter(|size_gb| *size_gb > 0.0);
    let count = |value: Option<u32>| value.map_or(Cell::Empty, Cell::count);
    let is_kpm = published.kpm.as_ref() == Some(&figure.metric);
    let status = verdict(test, figure, is_kpm);
    vec![
        Cell::text(platform),
        size.map_or(Cell::Empty, |value| Cell::Number { value, digits: Digits::Decimals(0), verdict: None }),
        Cell::count(test.seq),
        Cell::text(&published.code),
        Cell::text(&test.workload),
        Cell::text(assignments(&test.chosen, ",")),
        Cell::text(published.kind.name()),
        count(published.nodes),
        count(published.jobs),
        count(published.threads),
        Cell::text(&figure.metric),
        Cell::Number { value: figure.value, digits: Digits::Significant(6), verdict: Some(status) },
        Cell::text(&figure.unit),
        Cell::text(if is_kpm { "yes" } else { "" }),
        Cell::text(&figure.note),
        Cell::Verdict(status),
    ]
}

/// The KPM has the test's verdict, any other figure what its own note says.
fn verdict(test: &TestResult, figure: &PublishedFigure, is_kpm: bool) -> Status {
    let own = published::doubts(figure).iter().map(|doubt| doubt.status).max().unwrap_or(Status::Valid);
    if is_kpm { test.verdict.status } else { own }
}
