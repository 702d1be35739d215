//! Comma-separated values (RFC 4180): one block per table, its name in the first column, an empty line between
//! blocks. Figures are plain numbers with all digits; unknown is an empty field.

use super::super::document::{Block, Cell, Document, Table};
use super::{Format, Options, Rendered, heading};
use crate::error::Result;

/// `--format csv`.
pub struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }
    fn title(&self) -> &'static str {
        "for spreadsheets: one block per table"
    }
    fn extension(&self) -> &'static str {
        "csv"
    }

    fn render(&self, document: &Document, _options: Options) -> Result<Rendered> {
        let sections = document.sections.iter();
        let blocks = sections.flat_map(|section| section.blocks.iter().filter_map(|part| block(&section.title, part)));
        Ok(Rendered::Text(blocks.collect::<Vec<_>>().join("\n")))
    }
}

fn block(section: &str, block: &Block) -> Option<String> {
    match block {
        Block::Paragraph(_) | Block::Code(_) => None,
        Block::Facts(facts) => {
            let rows = facts.iter().map(|(name, value)| line(&[section, name, value]));
            Some([line(&["table", "name", "value"])].into_iter().chain(rows).collect())
        }
        Block::Table(content) => Some(table(content)),
        Block::Chart(chart) => Some(table(&chart.as_data())),
        Block::Heatmap(map) => Some(table(&map.as_data())),
    }
}

/// The table, with the verdicts' reasons as a block of its own.
fn table(table: &Table) -> String {
    let heads: Vec<String> = ["table".to_owned()].into_iter().chain(table.columns.iter().map(heading)).collect();
    let mut text = line(&heads);
    for row in &table.rows {
        let cells: Vec<String> = [table.name.clone()].into_iter().chain(row.iter().map(raw)).collect();
        text.push_str(&line(&cells));
    }
    if !table.remarks.is_empty() {
        text.push('\n');
        text.push_str(&line(&["table", "reason"]));
        let reasons = format!("{} reasons", table.name);
        table.remarks.iter().for_each(|remark| text.push_str(&line(&[&reasons, remark])));
    }
    text
}

fn raw(cell: &Cell) -> String {
    match cell {
        Cell::Empty | Cell::Unknown(_) => String::new(),
        Cell::Text(text) => text.clone(),
        Cell::Number { value, .. } => value.to_string(),
        Cell::Verdict(status) => status.to_string(),
    }
}

fn line(fields: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = fields.iter().map(|field| quote(field.as_ref())).collect();
    quoted.join(",") + "\n"
}

fn quote(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_what_needs_it() {
        assert_eq!(line(&["a", "b,c", "say \"x\"", "two\nlines"]), "a,\"b,c\",\"say \"\"x\"\"\",\"two\nlines\"\n");
    }
}
