//! JSON: the document as it is, figures as numbers with all digits, unknown as null.

use serde_json::{Map, Value, json};

use super::super::document::{Block, Cell, Document, Section, Table};
use super::{Format, Options, Rendered};
use crate::error::Result;

/// `--format json`.
pub struct Json;

/// Version of the document's structure.
pub const SCHEMA_VERSION: u32 = 1;

impl Format for Json {
    fn name(&self) -> &'static str {
        "json"
    }
    fn title(&self) -> &'static str {
        "for programs: numbers as numbers, null for unknown"
    }
    fn extension(&self) -> &'static str {
        "json"
    }

    fn render(&self, document: &Document, _options: Options) -> Result<Rendered> {
        let sections: Vec<Value> = document.sections.iter().map(section).collect();
        let document = json!({"schema_version": SCHEMA_VERSION, "title": document.title, "sections": sections});
        Ok(Rendered::Text(format!("{document:#}\n")))
    }
}

fn section(section: &Section) -> Value {
    let mut paragraphs = Vec::new();
    let mut facts = Map::new();
    let mut tables = Vec::new();
    let mut code = Vec::new();
    for block in &section.blocks {
        match block {
            Block::Paragraph(text) => paragraphs.push(text.as_str()),
            Block::Facts(pairs) => facts.extend(pairs.iter().map(|(name, value)| (name.clone(), json!(value)))),
            Block::Table(content) => tables.push(table(content)),
            Block::Chart(chart) => tables.push(table(&chart.as_table())),
            Block::Heatmap(map) => tables.push(table(&map.as_table())),
            Block::Code(part) => code.push(json!({"caption": part.caption, "text": part.text})),
        }
    }
    json!({"title": section.title, "paragraphs": paragraphs, "facts": facts, "tables": tables, "code": code})
}

fn table(table: &Table) -> Value {
    let columns: Vec<Value> =
        table.columns.iter().map(|column| json!({"name": column.name, "unit": column.unit})).collect();
    let rows: Vec<Vec<Value>> = table.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    json!({
        "name": table.name,
        "columns": columns,
        "rows": rows,
        "footnotes": table.footnotes,
        "remarks": table.remarks,
    })
}

fn cell(cell: &Cell) -> Value {
    match cell {
        Cell::Empty | Cell::Unknown(_) => Value::Null,
        Cell::Text(text) => json!(text),
        Cell::Number { value, .. } => json!(value),
        Cell::Verdict(status) => json!(status),
    }
}
