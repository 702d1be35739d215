//! Comma-separated values (RFC 4180): one block per table, its name in the first column, an empty
//! line between blocks. Figures are plain numbers with all digits; unknown is an empty field. A
//! last column names the figures of a row whose verdict is worse than that of the row.

use csv::WriterBuilder;

use super::super::document::{Block, Cell, Column, Document, Table};
use super::escape::{self, escape_document};
use super::{Format, Options, Rendered, heading};
use dbdyno_core::error::Result;
use dbdyno_core::model::Status;

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

/// Head of the column that names figures which are not valid.
const DOUBTS: &str = "not valid";

/// The table, with the verdicts' reasons as a block of its own.
fn table(table: &Table) -> String {
    let doubts: Vec<String> = table.rows.iter().map(|row| doubts(table, row)).collect();
    let has_doubts = doubts.iter().any(|doubt| !doubt.is_empty());
    let last = |text: String| has_doubts.then_some(text);
    let name = || [table.name.clone()].into_iter();
    let heads = ["table".to_owned()].into_iter().chain(table.columns.iter().map(heading));
    let head: Vec<String> = heads.chain(last(table.language.phrase(DOUBTS))).collect();
    let row = |(row, doubts): (&Vec<Cell>, String)| -> Vec<String> {
        name().chain(row.iter().map(raw)).chain(last(doubts)).collect()
    };
    let text = lines([head].into_iter().chain(table.rows.iter().zip(doubts).map(row)));
    if table.remarks.is_empty() {
        return text;
    }
    let reason = |remark: &String| vec![format!("{} reasons", table.name), remark.clone()];
    text + "\n"
        + &lines(
            [strings(&["table", "reason"])].into_iter().chain(table.remarks.iter().map(reason)),
        )
}

/// The figures of a row that are marked in other forms and would not be here: those of a worse
/// verdict than the row's own. `Used [%]: conditional`.
fn doubts(table: &Table, row: &[Cell]) -> String {
    let verdict = |cell: &Cell| match cell {
        Cell::Verdict(status) => Some(*status),
        _ => None,
    };
    let own = row.iter().filter_map(verdict).max().unwrap_or(Status::Valid);
    let doubt = |(column, cell): (&Column, &Cell)| match cell {
        Cell::Number { verdict: Some(status), .. } | Cell::Bound { verdict: Some(status), .. }
            if *status > own =>
        {
            Some(format!("{}: {status}", heading(column)))
        }
        _ => None,
    };
    table.columns.iter().zip(row).filter_map(doubt).collect::<Vec<_>>().join("; ")
}

fn raw(cell: &Cell) -> String {
    match cell {
        Cell::Empty | Cell::Unknown(_) => String::new(),
        Cell::Text(text) => text.clone(),
        Cell::Number { value, .. } | Cell::Bound { value, .. } => value.to_string(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Language;
    use crate::document::Digits;

    #[test]
    fn a_figure_of_a_worse_verdict_than_its_row_is_named() {
        use Status::{Conditional, Valid};
        let columns = ["Throughput", "Used", "Verdict"].map(|name| Column::new(name, "", 0));
        let mut steps = Table::new(Language::English, "steps", columns);
        let number = |value: f64, status: Status| Cell::Number {
            value,
            digits: Digits::Decimals(1),
            verdict: Some(status),
        };
        let row = |used: Status, own: Status| {
            vec![number(5.0, own), number(95.0, used), Cell::Verdict(own)]
        };
        steps.rows = vec![row(Conditional, Valid), row(Conditional, Conditional)];
        let expected = "table,Throughput,Used,Verdict,not valid\n\
                        steps,5,95,valid,Used: conditional\n\
                        steps,5,95,conditional,\n";
        assert_eq!(table(&steps), expected);
        steps.rows = vec![row(Valid, Valid), row(Conditional, Conditional)];
        let plain = "table,Throughput,Used,Verdict\nsteps,5,95,valid\nsteps,5,95,conditional\n";
        assert_eq!(table(&steps), plain);
    }
}
