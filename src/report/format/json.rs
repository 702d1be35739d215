//! JSON: the document as it is, figures as numbers with all digits, unknown as null.

use serde_json::{Map, Value, json};

use super::super::document::{Block, Cell, Document, HeatCell, HeatRow, Heatmap, Section, Table};
use super::{Format, Options, Rendered};
use crate::analysis::heatmap::Rank;
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
    let mut heatmaps = Vec::new();
    let mut code = Vec::new();
    for block in &section.blocks {
        match block {
            Block::Paragraph(text) => paragraphs.push(text.as_str()),
            Block::Facts(pairs) => facts.extend(pairs.iter().map(|(name, value)| (name.clone(), json!(value)))),
            Block::Table(content) => tables.push(table(content)),
            Block::Chart(chart) => tables.push(table(&chart.as_data())),
            Block::Heatmap(map) => {
                tables.push(table(&map.as_data()));
                heatmaps.push(heatmap(map));
            }
            Block::Code(part) => code.push(json!({"caption": part.caption, "text": part.text})),
        }
    }
    json!({
        "title": section.title,
        "paragraphs": paragraphs,
        "facts": facts,
        "tables": tables,
        "heatmaps": heatmaps,
        "code": code,
    })
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

/// Per row the figures with their share of the best (1 = best, null without a sound figure) and whether they are `best`,
/// `equal` to it within the noise, or `below`.
fn heatmap(map: &Heatmap) -> Value {
    let rows: Vec<Value> = map.rows.iter().map(heat_row).collect();
    json!({"name": map.name, "platforms": map.columns, "rows": rows})
}

fn heat_row(row: &HeatRow) -> Value {
    let cells: Vec<Value> = row.cells.iter().map(heat_cell).collect();
    json!({"label": row.label, "unit": row.unit, "better": row.better, "cells": cells})
}

fn heat_cell(heat: &HeatCell) -> Value {
    let rank = heat.share.map(|_| match heat.rank {
        Rank::Best => "best",
        Rank::Equal => "equal",
        Rank::Below => "below",
    });
    json!({"value": cell(&heat.cell), "verdict": heat.verdict(), "share": heat.share, "rank": rank, "note": heat.note})
}

fn cell(cell: &Cell) -> Value {
    match cell {
        Cell::Empty | Cell::Unknown(_) => Value::Null,
        Cell::Text(text) => json!(text),
        Cell::Number { value, .. } => json!(value),
        Cell::Verdict(status) => json!(status),
    }
}
