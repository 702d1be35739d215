//! Platform tables: everything that was disclosed about each run's platform, side by side.

use super::document::{Block, Cell, Column, Document, Section, Table};
use super::{Input, Report};

/// `report platform`.
pub struct PlatformReport;

impl Report for PlatformReport {
    fn name(&self) -> &'static str {
        "platform"
    }

    fn title(&self) -> &'static str {
        "everything disclosed about hardware, system, storage, database and settings, runs side by side"
    }

    fn build(&self, input: &Input) -> Document {
        Document { title: "Platforms".into(), sections: sections(input) }
    }
}

/// Sections of the disclosure in the order of reading, with titles; others follow under their own names.
const ORDER: &[(&str, &str)] = &[
    ("hardware", "Hardware"),
    ("os", "Operating system"),
    ("storage", "Storage"),
    ("database", "Database"),
    ("data", "Data"),
    ("settings", "Settings"),
    ("dbdyno", "dbdyno"),
];
const DIFFERS: &str = "differs";

/// A section with a table per section of the disclosure.
pub fn sections(input: &Input) -> Vec<Section> {
    let mut names: Vec<&str> = ORDER.iter().map(|(name, _)| *name).collect();
    for name in input.runs.iter().flat_map(|data| data.run.disclosure.0.keys()) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let tables = names.into_iter().filter_map(|name| table(input, name));
    let section = |table: Table| Section { title: table.name.clone(), blocks: vec![Block::Table(table)] };
    tables.map(section).collect()
}

/// The facts of one section, a column per run; none without a fact.
fn table(input: &Input, name: &str) -> Option<Table> {
    let facts = |data: &super::RunTests| data.run.disclosure.0.get(name).cloned().unwrap_or_default();
    let mut keys: Vec<String> = input.runs.iter().flat_map(|data| facts(data).into_keys()).collect();
    keys.sort();
    keys.dedup();
    let title = ORDER.iter().find(|(known, _)| *known == name).map_or(name, |(_, title)| title);
    let mut table = Table { name: format!("Platform: {title}"), columns: columns(input), ..Table::default() };
    for key in &keys {
        let row = row(input, name, key, &mut table);
        table.rows.push(row);
    }
    (!keys.is_empty()).then_some(table)
}

fn columns(input: &Input) -> Vec<Column> {
    let column = |name: String, priority| Column { name, unit: None, priority };
    let runs = input.platforms().into_iter().zip(0_u8..).map(|(name, number)| column(name, number.min(9)));
    let differs = (input.runs.len() > 1).then(|| column("Differs".into(), 0));
    [column("Fact".into(), 0)].into_iter().chain(differs).chain(runs).collect()
}

fn row(input: &Input, section: &str, key: &str, table: &mut Table) -> Vec<Cell> {
    let values: Vec<&str> = input.runs.iter().map(|data| data.run.disclosure.get(section, key)).collect();
    let differs = (values.len() > 1).then(|| match values.iter().any(|value| *value != values[0]) {
        true => Cell::text(DIFFERS),
        false => Cell::Empty,
    });
    let cell = |value: &str| match value {
        "unknown" => table.unknown("not disclosed"),
        value => Cell::text(value),
    };
    let cells: Vec<Cell> = values.into_iter().map(cell).collect();
    [Cell::text(key)].into_iter().chain(differs).chain(cells).collect()
}
