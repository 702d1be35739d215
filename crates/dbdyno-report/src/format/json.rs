//! JSON: the document as it is, figures as numbers with all digits, unknown as null.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::super::document::{Block, Code, Document, Heatmap, Section, Table};
use super::{Format, Options, Rendered};
use dbdyno_core::error::{Result, visible_json};

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
    fn is_for_programs(&self) -> bool {
        true
    }

    fn extension(&self) -> &'static str {
        "json"
    }

    fn render(&self, document: &Document, _options: Options) -> Result<Rendered> {
        let sections = || document.sections.iter().map(Parts::from_section).collect();
        let whole = || {
            value(&Whole {
                schema_version: SCHEMA_VERSION,
                title: &document.title,
                sections: sections(),
            })
        };
        Ok(Rendered::Text(text(&document.data.clone().unwrap_or_else(whole)) + "\n"))
    }
}

/// A JSON document as text: exact, and harmless on a terminal.
pub fn text(document: &Value) -> String {
    visible_json(&format!("{document:#}"))
}

/// A value as JSON; figures that are not numbers are null.
pub fn value(content: &impl Serialize) -> Value {
    // Only a map with keys other than texts has no JSON, and dbdyno has none.
    serde_json::to_value(content).unwrap_or_default()
}

#[derive(Serialize)]
struct Whole<'a> {
    schema_version: u32,
    title: &'a str,
    sections: Vec<Parts<'a>>,
}

/// The blocks of a section by kind.
#[derive(Default, Serialize)]
struct Parts<'a> {
    title: &'a str,
    paragraphs: Vec<&'a str>,
    facts: BTreeMap<&'a str, &'a str>,
    /// Tables, including those behind charts and heatmaps.
    tables: Vec<Cow<'a, Table>>,
    heatmaps: Vec<&'a Heatmap>,
    code: Vec<&'a Code>,
}

impl<'a> Parts<'a> {
    fn from_section(section: &'a Section) -> Parts<'a> {
        let mut parts = Parts { title: &section.title, ..Parts::default() };
        for block in &section.blocks {
            match block {
                Block::Paragraph(text) => parts.paragraphs.push(text),
                Block::Facts(pairs) => {
                    parts.facts.extend(pairs.iter().map(|(name, value)| (&**name, &**value)))
                }
                Block::Table(table) => parts.tables.push(Cow::Borrowed(table)),
                Block::Chart(chart) | Block::Drawing(chart) => {
                    parts.tables.push(Cow::Owned(chart.as_data()))
                }
                Block::Heatmap(map) => {
                    parts.tables.push(Cow::Owned(map.as_data()));
                    parts.heatmaps.push(map);
                }
                Block::Bars(_) => {}
                Block::Code(code) => parts.code.push(code),
            }
        }
        parts
    }
}
