//! Comma-separated values (RFC 4180): one block per table, its name in the first column, an empty
//! line between blocks. Figures are plain numbers with all digits; unknown is an empty field.

use csv::WriterBuilder;

use super::super::document::{Block, Cell, Document, Table};
use super::escape::{self, escape_document};
use super::{Format, Options, Rendered, heading};
use dbdyno_core::error::Result;

/// `--format csv`.
pub struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }
    fn title(&self) -> &'static str {
        "for spreadsheets: one block per table"
    }
    fn is_for_programs(&self) -> bool {
        true
    }

    fn extension(&self) -> &'static str {
        "csv"
    }

    fn render(&self, document: &Document, _options: Options) -> Result<Rendered> {
        let document = escape_document(document, escape::csv);
        let sections = document.sections.iter();
        let blocks = sections.flat_map(|section| {
            section.blocks.iter().filter_map(|part| block(&section.title, part))
        });
        Ok(Rendered::Text(blocks.collect::<Vec<_>>().join("\n")))
    }
}

fn block(section: &str, block: &Block) -> Option<String> {
    match block {
        Block::Paragraph(_) | Block::Bars(_) | Block::Code(_) => None,
        Block::Facts(facts) => {
            let row = |(name, value): &(String, String)| {
                [section.to_owned(), name.clone(), value.clone()].to_vec()
            };
            Some(lines(
                [strings(&["table", "name", "value"])].into_iter().chain(facts.iter().map(row)),
            ))
        }
        Block::Table(content) => Some(table(content)),
        Block::Chart(chart) | Block::Drawing(chart) => Some(table(&chart.as_data())),
        Block::Heatmap(map) => Some(table(&map.as_data())),
    }
}

/// The table, with the verdicts' reasons as a block of its own.
fn table(table: &Table) -> String {
    let head = ["table".to_owned()].into_iter().chain(table.columns.iter().map(heading)).collect();
    let row =
        |row: &Vec<Cell>| [table.name.clone()].into_iter().chain(row.iter().map(raw)).collect();
    let text = lines([head].into_iter().chain(table.rows.iter().map(row)));
    if table.remarks.is_empty() {
        return text;
    }
    let reason = |remark: &String| vec![format!("{} reasons", table.name), remark.clone()];
    text + "\n"
        + &lines(
            [strings(&["table", "reason"])].into_iter().chain(table.remarks.iter().map(reason)),
        )
}

fn raw(cell: &Cell) -> String {
    match cell {
        Cell::Empty | Cell::Unknown(_) => String::new(),
        Cell::Text(text) => text.clone(),
        Cell::Number { value, .. } => value.to_string(),
        Cell::Verdict(status) => status.to_string(),
    }
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn lines(records: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = WriterBuilder::new().flexible(true).from_writer(Vec::new());
    for record in records {
        // It is written to memory, which does not fail.
        let _ = writer.write_record(record);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}
