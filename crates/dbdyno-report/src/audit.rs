//! Audit of runs: what a reader needs to trust and to repeat their figures, and what is missing.

use super::document::{Block, Cell, Declared, Document, Section, Table};
use super::price::price_of;
use super::{Input, Report, RunTests, masthead};
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
            head: Some(masthead::head(input, "audit", "")),
            ..Document::new(input.language, "Audit", sections)
        }
    }
}

/// The points of a run.
pub fn points(input: &Input, data: &RunTests) -> Vec<Point> {
    let has_price = price_of(input, data).is_some();
    audit(&data.run, &data.tests, Circumstances { is_sealed: input.is_sealed, has_price })
}

fn section(input: &Input, data: &RunTests, name: &str) -> Section {
    let language = input.language;
    let points = points(input, data);
    let kept = points.iter().filter(|point| point.state == State::Kept).count();
    let counts = [("kept", kept.to_string()), ("all", points.len().to_string())];
    let counts = counts.each_ref().map(|(name, count)| (*name, count.as_str()));
    let answer = language.say("audit_points", &counts);
    let columns = point_columns();
    let mut table = Table::declared(language, format!("audit {name}"), &columns);
    points.iter().for_each(|point| table.add_row(&columns, point));
    Section {
        title: name.to_string(),
        blocks: vec![
            Block::Paragraph(format!("{answer} {}", language.phrase(ABOUT))),
            Block::Table(table),
        ],
    }
}

fn point_columns() -> [Declared<Point>; 5] {
    [
        Declared::new("Point", "", 0, |point, table| {
            Cell::text(table.language.phrase(point.asked))
        }),
        Declared::new("Source", "", 2, |point, _| Cell::text(point.source)),
        Declared::new("State", "", 0, |point, table| {
            Cell::text(table.language.phrase(point.state.name()))
        }),
        Declared::new("Found", "", 0, |point, table| {
            Cell::text(table.language.sentence(&point.found))
        }),
        Declared::new("To do", "", 1, |point, table| {
            let advice = point.advice.map(|advice| table.language.phrase(advice));
            advice.map_or(Cell::Empty, Cell::text)
        }),
    ]
}
