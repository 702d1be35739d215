//! Platform tables: everything that was disclosed about each run's platform, side by side.

use std::collections::{BTreeMap, BTreeSet};

use super::document::{Block, Cell, Column, Document, Section, Table};
use super::{Input, Report, masthead};
use dbdyno_core::analysis::published_checks;
use dbdyno_core::model::{Reason, RunRecord, STATED};

/// `report platform`.
pub struct PlatformReport;

impl Report for PlatformReport {
    fn name(&self) -> &'static str {
        "platform"
    }

    fn title(&self) -> &'static str {
        "everything disclosed about hardware, system, storage, database and settings, runs side by \
         side"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        Document {
            head: Some(masthead::head(input, "platforms as disclosed", "")),
            ..Document::new(input.language, "Platforms", sections(input))
        }
    }
}

/// Sections of the disclosure in the order of reading, with titles; others follow under their own
/// names.
const ORDER: &[(&str, &str)] = &[
    ("hardware", "Hardware"),
    ("os", "Operating system"),
    ("storage", "Storage"),
    ("network", "Network"),
    ("cloud", "Cloud"),
    (STATED, "Stated facts"),
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
    let tables = tables.chain(benchmark(input)).chain(as_published(input));
    let section =
        |table: Table| Section { title: table.name.clone(), blocks: vec![Block::Table(table)] };
    let mut sections: Vec<Section> = tables.map(section).chain(contradictions(input)).collect();
    if sections.is_empty() {
        let text = input.language.phrase("Nothing is disclosed: the file holds no run.");
        sections.push(Section::new(input.language, "Platform", vec![Block::Paragraph(text)]));
    }
    sections
}

/// The facts of one section, a column per run; none without a fact.
fn table(input: &Input, name: &str) -> Option<Table> {
    let facts =
        |data: &super::RunTests| data.run.disclosure.0.get(name).cloned().unwrap_or_default();
    let mut keys: Vec<String> =
        input.runs.iter().flat_map(|data| facts(data).into_keys()).collect();
    keys.sort();
    keys.dedup();
    let title = ORDER.iter().find(|(known, _)| *known == name).map_or(name, |(_, title)| title);
    let mut table = new(input, title);
    for key in &keys {
        let row = row(input, name, key, &mut table);
        table.rows.push(row);
    }
    (!keys.is_empty()).then_some(table)
}

/// An empty table: the fact, with several runs whether it differs, and a column per run.
fn new(input: &Input, title: &str) -> Table {
    let language = input.language;
    let leading = if input.runs.len() > 1 { &["Fact", "Differs"][..] } else { &["Fact"] };
    let name = language.say("Platform: {title}", &[("title", &language.phrase(title))]);
    let mut table =
        Table::new(language, name, leading.iter().map(|name| Column::new(*name, "", 0)));
    table.leading = leading.len();
    let runs = input.platforms().into_iter().zip(0_u8..);
    table.columns.extend(runs.map(|(name, number)| Column::new(name, "", number.min(9))));
    table
}

fn row(input: &Input, section: &str, key: &str, table: &mut Table) -> Vec<Cell> {
    let values: Vec<_> =
        input.runs.iter().map(|data| data.run.disclosure.get(section, key)).collect();
    let differs =
        (values.len() > 1).then(|| match values.iter().any(|value| *value != values[0]) {
            true => Cell::text(input.language.phrase(DIFFERS)),
            false => Cell::Empty,
        });
    let cell =
        |value: Option<&str>| value.map_or_else(|| table.unknown("not disclosed"), Cell::text);
    let cells: Vec<Cell> = values.into_iter().map(cell).collect();
    [Cell::text(key)].into_iter().chain(differs).chain(cells).collect()
}

/// Table of how the runs were measured.
fn benchmark(input: &Input) -> Option<Table> {
    type Fact = (&'static str, fn(&RunRecord) -> Option<String>);
    const FACTS: &[Fact] = &[
        ("kind", |run| Some(run.kind.name().into())),
        ("target", |run| Some(run.target.clone())),
        ("engine", |run| run.engine.clone()),
        ("suite", |run| Some(run.suite.clone())),
        ("date", |run| run.started_at.clone()),
        ("size_gb", |run| run.size_gb.map(|size| size.to_string())),
        ("data_set", |run| run.data_set_id.clone()),
        ("study", |run| run.provenance.as_ref().map(|from| from.study.clone())),
        ("sources", |run| run.provenance.as_ref().map(|from| from.sources.join(", "))),
    ];
    let facts = |run: &RunRecord| {
        FACTS.iter().filter_map(|(name, get)| Some(((*name).into(), get(run)?))).collect()
    };
    let names: Vec<&str> = FACTS.iter().map(|(name, _)| *name).collect();
    own_table(input, "Benchmark", &names, facts)
}

/// Every attribute of published platform tables, in the words of the reference data.
fn as_published(input: &Input) -> Option<Table> {
    let facts = |run: &RunRecord| {
        run.provenance.as_ref().map(|from| from.attributes.clone()).unwrap_or_default()
    };
    let known: BTreeSet<String> =
        input.runs.iter().flat_map(|data| facts(&data.run).into_keys()).collect();
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    own_table(input, "As published", &names, facts)
}

/// A table of facts that do not stand in the disclosure; a fact that a run does not have is left
/// empty.
fn own_table(
    input: &Input,
    title: &str,
    names: &[&str],
    facts: impl Fn(&RunRecord) -> BTreeMap<String, String>,
) -> Option<Table> {
    let runs: Vec<BTreeMap<String, String>> =
        input.runs.iter().map(|data| facts(&data.run)).collect();
    let row = |name: &&str| {
        let values: Vec<Option<&String>> = runs.iter().map(|facts| facts.get(*name)).collect();
        let differs = values.iter().any(|value| *value != values[0]);
        let differs =
            if differs { Cell::text(input.language.phrase(DIFFERS)) } else { Cell::Empty };
        let mark = (values.len() > 1).then_some(differs);
        let cells: Vec<Cell> =
            values.iter().map(|value| value.map_or(Cell::Empty, Cell::text)).collect();
        [Cell::text(*name)].into_iter().chain(mark).chain(cells).collect()
    };
    let known = names.iter().filter(|name| runs.iter().any(|facts| facts.contains_key(**name)));
    let rows: Vec<Vec<Cell>> = known.map(row).collect();
    (!rows.is_empty()).then(|| Table { rows, ..new(input, title) })
}

/// Contradictions between a platform table and the CPU figures of the same run.
fn contradictions(input: &Input) -> Option<Section> {
    let language = input.language;
    let found = input.runs.iter().zip(input.platforms()).flat_map(|(data, name)| {
        let found = published_checks::of_platform(&data.run, &data.tests);
        let said = |slip: &Reason| {
            format!("{}: {}.", language.verdict(slip.status), language.reason(slip))
        };
        found.into_iter().map(move |slip| Block::Paragraph(format!("{name}: {}", said(&slip))))
    });
    let blocks: Vec<Block> = found.collect();
    (!blocks.is_empty()).then(|| Section::new(language, "Platform: contradictions", blocks))
}
