//! Markdown with pipe tables, every column shown.

use super::super::document::{Block, Cell, Code, Document, Heatmap, Table};
use super::super::picture::Head;
use super::escape::{self, escape_document};
use super::{
    Format, LEGEND, Options, Rendered, heading, is_marked, is_number, rank_sign, shown, superscript,
};
use dbdyno_core::error::Result;

/// `--format markdown`.
pub struct Markdown;

impl Format for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }
    fn title(&self) -> &'static str {
        "tables for documents and issues"
    }
    fn extension(&self) -> &'static str {
        "md"
    }

    fn render(&self, document: &Document, _options: Options) -> Result<Rendered> {
        let document = &escape_document(document, escape::markdown);
        let mut parts = vec![format!("# {}", document.title)];
        let answer = document.head.as_ref().map(Head::answer_in_words).unwrap_or_default();
        parts.extend((!answer.is_empty()).then_some(answer));
        for section in &document.sections {
            parts.push(format!("## {}", section.title));
            parts.extend(
                section
                    .blocks
                    .iter()
                    .filter(|block| !matches!(block, Block::Drawing(_) | Block::Bars(_)))
                    .map(block),
            );
        }
        Ok(Rendered::Text(parts.join("\n\n") + "\n"))
    }
}

fn block(block: &Block) -> String {
    match block {
        Block::Paragraph(text) => text.clone(),
        Block::Facts(facts) => {
            let line = |(name, value): &(String, String)| format!("- **{name}**: {value}");
            facts.iter().map(line).collect::<Vec<_>>().join("\n")
        }
        Block::Table(content) => table(content),
        Block::Chart(chart) | Block::Drawing(chart) => {
            format!("### {}\n\n{}", chart.title, table(&chart.as_table()))
        }
        Block::Heatmap(map) => heatmap(map),
        Block::Bars(_) => String::new(),
        Block::Code(part) => code(part),
    }
}

/// Fenced with more backticks than the text itself has in a row.
fn code(code: &Code) -> String {
    let longest = code.text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let caption =
        if code.caption.is_empty() { String::new() } else { format!("{}\n\n", code.caption) };
    format!("{caption}{fence}\n{}\n{fence}", code.text.trim_end())
}

/// Figures with the signs of the best and its equals, in place of colors.
fn heatmap(map: &Heatmap) -> String {
    let mut plain = map.as_table();
    for (row, cells) in plain.rows.iter_mut().zip(&map.rows) {
        let texts = cells.cells.iter().map(|cell| {
            Cell::Text(shown(&cell.cell, map.language) + &rank_sign(cell.rank).replace('*', "\\*"))
        });
        row.splice(row.len() - cells.cells.len().., texts);
    }
    plain
        .remarks
        .splice(0..0, is_marked(&map.as_table().rows).then(|| map.language.phrase(LEGEND)));
    table(&plain)
}

fn table(table: &Table) -> String {
    let heads = table.columns.iter().map(heading);
    let rules = (0..table.columns.len())
        .map(|column| if is_number(table, column) { "--:" } else { "---" }.to_owned());
    let mut lines = vec![line(heads), line(rules)];
    lines.extend(
        table.rows.iter().map(|row| line(row.iter().map(|cell| shown(cell, table.language)))),
    );
    let footnotes = table.footnotes.iter().enumerate();
    let mut notes: Vec<String> =
        footnotes.map(|(index, why)| format!("- {} {why}", superscript(index + 1))).collect();
    notes.extend(is_marked(&table.rows).then(|| format!("- {}", table.language.phrase(LEGEND))));
    notes.extend(table.remarks.iter().map(|remark| format!("- {remark}")));
    if !notes.is_empty() {
        lines.push(String::new());
        lines.extend(notes);
    }
    lines.join("\n")
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
}
