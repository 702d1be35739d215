//! Audit of runs: what a reader needs to trust and to repeat their figures, and what is missing.

use super::document::{Block, Cell, Column, Document, Section, Table};
use super::{Input, Report, RunTests, page};
use dbdyno_core::analysis::audit::{Circumstances, Point, State, audit};

/// `report audit`.
pub struct AuditReport;

const ABOUT: &str = "What a reader needs to trust the figures and to repeat them: the eight \
                     principles of SPEC's research group, and what TPC asks of a disclosure.";

impl Report for AuditReport {
    fn name(&self) -> &'static str {
        "audit"
    }

    fn title(&self) -> &'static str {
        "what a run lacks to be trusted and repeated, by the principles of SPEC's research group"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        let runs = input.runs.iter().zip(input.platforms());
        let sections: Vec<Section> = runs.map(|(data, name)| section(input, data, &name)).collect();
        Document {
            head: Some(page::masthead(input, "audit", "")),
            ..Document::new(input.language, "Audit", sections)
        }
    }
}

/// The points of a run.
pub fn points(input: &Input, data: &RunTests) -> Vec<Point> {
    let is_of = |name: &str| data.run.name.as_deref() == Some(name) || data.run.target == name;
    let has_price = input.prices.iter().any(|price| price.platform.as_deref().is_none_or(is_of));
    audit(&data.run, &data.tests, Circumstances { is_sealed: input.is_sealed, has_price })
}

fn section(input: &Input, data: &RunTests, name: &str) -> Section {
    let language = input.language;
    let points = points(input, data);
    let kept = points.iter().filter(|point| point.state == State::Kept).count();
    let counts = [("kept", kept.to_string()), ("all", points.len().to_string())];
    let counts = counts.each_ref().map(|(name, count)| (*name, count.as_str()));
    let answer = language.say("audit_points", &counts);
    let mut table = Table::new(language, format!("audit {name}"), columns());
    table.rows = points.iter().map(|point| row(input, point)).collect();
    Section {
        title: name.to_string(),
        blocks: vec![
            Block::Paragraph(format!("{answer} {}", language.phrase(ABOUT))),
            Block::Table(table),
        ],
    }
}

fn columns() -> Vec<Column> {
    let columns = [("Point", 0), ("Source", 2), ("State", 0), ("Found", 0), ("To do", 1)];
    columns.map(|(name, priority)| Column::new(name, "", priority)).into()
}

fn row(input: &Input, point: &Point) -> Vec<Cell> {
    let language = input.language;
    let advice = point.advice.map_or(Cell::Empty, |advice| Cell::text(language.phrase(advice)));
    vec![
        Cell::text(language.phrase(point.asked)),
        Cell::text(point.source),
        Cell::text(language.phrase(point.state.name())),
        Cell::text(language.sentence(&point.found)),
        advice,
    ]
}
