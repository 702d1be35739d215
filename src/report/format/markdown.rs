//! Markdown with pipe tables, every column shown.

use super::super::document::{Block, Cell, Code, Document, Heatmap, Table};
use super::{Format, LEGEND, Options, Rendered, heading, heat_shown, is_marked, is_number, shown, superscript};
use crate::error::Result;

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
        let mut parts = vec![format!("# {}", escape(&document.title))];
        for section in &document.sections {
            parts.push(format!("## {}", escape(&section.title)));
            parts.extend(section.blocks.iter().map(block));
        }
        Ok(Rendered::Text(parts.join("\n\n") + "\n"))
    }
}

fn block(block: &Block) -> String {
    match block {
        Block::Paragraph(text) => escape(text),
        Block::Facts(facts) => {
            let line = |(name, value): &(String, String)| format!("- **{}**: {}", escape(name), escape(value));
            facts.iter().map(line).collect::<Vec<_>>().join("\n")
        }
        Block::Table(content) => table(content),
        Block::Chart(chart) => format!("### {}\n\n{}", escape(&chart.title), table(&chart.as_table())),
        Block::Heatmap(map) => heatmap(map),
        Block::Code(part) => code(part),
    }
}

/// Fenced with more backticks than the text itself has in a row.
fn code(code: &Code) -> String {
    let longest = code.text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let caption = if code.caption.is_empty() { String::new() } else { format!("{}\n\n", escape(&code.caption)) };
    format!("{caption}{fence}\n{}\n{fence}", code.text.trim_end())
}

/// Figures with the signs of the best and its equals, in place of colours.
fn heatmap(map: &Heatmap) -> String {
    let mut plain = map.as_table();
    for (row, cells) in plain.rows.iter_mut().zip(&map.rows) {
        let texts = cells.cells.iter().map(|cell| Cell::Text(heat_shown(cell)));
        row.splice(row.len() - cells.cells.len().., texts);
    }
    plain.remarks.splice(0..0, is_marked(&map.as_table().rows).then(|| LEGEND.to_owned()));
    table(&plain)
}

fn table(table: &Table) -> String {
    let heads = table.columns.iter().map(|column| escape(&heading(column)));
    let rules = (0..table.columns.len()).map(|column| if is_number(table, column) { "--:" } else { "---" }.to_owned());
    let mut lines = vec![line(heads), line(rules)];
    lines.extend(table.rows.iter().map(|row| line(row.iter().map(|cell| escape(&shown(cell))))));
    let mut notes: Vec<String> = Vec::new();
    notes.extend(
        table.footnotes.iter().enumerate().map(|(index, why)| format!("- {} {}", superscript(index + 1), escape(why))),
    );
    notes.extend(is_marked(&table.rows).then(|| format!("- {LEGEND}")));
    notes.extend(table.remarks.iter().map(|remark| format!("- {}", escape(remark))));
    if !notes.is_empty() {
        lines.push(String::new());
        lines.extend(notes);
    }
    lines.join("\n")
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
}

/// What would be taken as markup is shown as it is.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '|' | '*' | '_' | '<' | '`' | '\\' => escaped.extend(['\\', character]),
            '\n' | '\r' => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}
