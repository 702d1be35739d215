//! Licences and prices of platforms, and what their throughput costs.

use super::columns::RATE;
use super::document::{Block, Cell, Column, Digits, Document, Section, Table};
use super::ramps::{RampRow, rows};
use super::{Input, Report, RunTests};
use crate::analysis::price::{PriceList, Value};
use crate::analysis::ramp::{self, RampFigure};
use crate::model::{Better, PublishedKind, TestResult};

/// `report price`.
pub struct PriceReport;

impl Report for PriceReport {
    fn name(&self) -> &'static str {
        "price"
    }

    fn title(&self) -> &'static str {
        "licences, cost, and throughput per licence, core and price, from the files given with --price"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        Document { title: "Licences and prices".into(), sections: sections(input), ..Document::default() }
    }
}

/// Above the figures per KPM.
const HOW_TO_READ: &str = "Licences are cores x core factor, rounded up. Cost per unit is the cost of the platform / its \
best throughput: the price of one unit of the KPM. Verdicts are those of the throughput; prices are as the files give \
them.";

/// The sections; a paragraph that says what is missing if there is no price at all.
pub fn sections(input: &Input) -> Vec<Section> {
    let platforms = input.platforms();
    let named = platforms.iter().zip(&input.runs);
    let priced: Vec<(&str, &PriceList)> =
        named.filter_map(|(name, data)| Some((name.as_str(), price_of(input, data)?))).collect();
    if priced.is_empty() {
        let text = "No prices are known: give --price FILE (docs/price.md shows the form).";
        return vec![Section { title: "Price".into(), blocks: vec![Block::Paragraph(text.into())] }];
    }
    vec![
        Section { title: "Licences and cost".into(), blocks: vec![Block::Table(costs(&priced))] },
        Section {
            title: "Price per KPM".into(),
            blocks: vec![Block::Paragraph(HOW_TO_READ.into()), Block::Table(values(input))],
        },
    ]
}

/// The price list of a run: the one that names it or its target, or the only one if it names nothing.
pub fn price_of<'a>(input: &'a Input, data: &RunTests) -> Option<&'a PriceList> {
    let names = |price: &&PriceList| match &price.platform {
        Some(platform) => is_named(data, platform),
        None => input.runs.len() == 1,
    };
    input.prices.iter().find(names)
}

/// The first price list that is for none of the runs, by its platform's name.
pub fn unused(input: &Input) -> Option<&str> {
    let is_used = |price: &PriceList| match &price.platform {
        Some(platform) => input.runs.iter().any(|data| is_named(data, platform)),
        None => input.runs.len() == 1,
    };
    let unused = input.prices.iter().find(|price| !is_used(price))?;
    Some(unused.platform.as_deref().unwrap_or("(no platform is named)"))
}

fn is_named(data: &RunTests, platform: &str) -> bool {
    data.run.name.as_deref() == Some(platform) || data.run.target == platform
}

fn money(value: f64) -> Cell {
    let digits = if value.fract() == 0.0 { Digits::Decimals(0) } else { Digits::Decimals(2) };
    Cell::Number { value, digits, verdict: None }
}

fn number(value: f64) -> Cell {
    let digits = if value.fract() == 0.0 { Digits::Decimals(0) } else { Digits::Significant(4) };
    Cell::Number { value, digits, verdict: None }
}

/// One row per product, and the sum of each platform.
fn costs(priced: &[(&str, &PriceList)]) -> Table {
    let columns = vec![
        Column::new("Platform", "", 0),
        Column::new("Cores", "", 3),
        Column::new("Core factor", "", 4),
        Column::new("Product", "", 0),
        Column::new("Price", "", 1),
        Column::new("of one", "", 2),
        Column::new("Count", "", 0),
        Column::new("Cost", "", 0),
        Column::new("Currency", "", 0),
        Column::new("Date", "", 5),
        Column::new("Basis", "", 6),
    ];
    let mut table = Table { name: "licences".into(), columns, ..Table::default() };
    for (name, price) in priced {
        for product in &price.products {
            let cost = money(price.cost_of(product));
            let middle = [
                Cell::text(&product.name),
                money(product.price),
                Cell::text(product.per.name()),
                number(price.count(product)),
                cost,
            ];
            table.rows.push(row(name, price, middle));
        }
        let sum = [Cell::text("all"), Cell::Empty, Cell::Empty, number(price.licences()), money(price.cost())];
        table.rows.push(row(name, price, sum));
    }
    table.remarks = vec!["the count of 'all' is the number of licences".into()];
    table
}

fn row(name: &str, price: &PriceList, middle: [Cell; 5]) -> Vec<Cell> {
    let leading = [Cell::text(name), number(price.cores), number(price.core_factor)];
    let trailing = [Cell::text(&price.currency), Cell::text(&price.date), Cell::text(&price.basis)];
    leading.into_iter().chain(middle).chain(trailing).collect()
}

/// One row per workload and platform with a throughput.
fn values(input: &Input) -> Table {
    let columns = vec![
        Column::new("Workload", "", 0),
        Column::new("Platform", "", 0),
        Column::new("Throughput", "", 0),
        Column::new("Unit", "", 0),
        Column::new("per licence", "", 2),
        Column::new("per core", "", 3),
        Column::new("Cost per unit", "", 0),
        Column::new("Currency", "", 1),
        Column::new("Verdict", "", 0),
    ];
    let mut table = Table { name: "price per KPM".into(), columns, ..Table::default() };
    let prices = input.runs.iter().map(|data| price_of(input, data));
    let platforms: Vec<_> = input.platforms().into_iter().zip(prices).collect();
    for (group, _) in input.used_groups() {
        for ramps in rows(input, group) {
            add(&mut table, &ramps, &platforms);
        }
    }
    table
}

fn add(table: &mut Table, ramps: &RampRow<'_>, platforms: &[(String, Option<&PriceList>)]) {
    for ((name, price), tests) in platforms.iter().zip(&ramps.runs) {
        let figures = throughput(tests).zip(*price);
        let Some((best, price)) = figures else { continue };
        if let Some(value) = price.value_of(best.value) {
            table.rows.push(value_row(&ramps.label, name, price, &best, value));
            table.explain(&format!("{name}, {}", ramps.label), &best.test.verdict);
        }
    }
}

/// The best rate; published figures of one job are none.
fn throughput<'a>(tests: &[&'a TestResult]) -> Option<RampFigure<'a>> {
    let is_speed =
        |test: &TestResult| test.published.as_ref().is_some_and(|published| published.kind == PublishedKind::Speed);
    let tests: Vec<&TestResult> = tests.iter().filter(|test| !is_speed(test)).copied().collect();
    ramp::throughput(&tests).filter(|best| best.kpm.better == Better::Higher)
}

fn value_row(label: &str, name: &str, price: &PriceList, best: &RampFigure<'_>, value: Value) -> Vec<Cell> {
    let status = best.test.verdict.status;
    let figure = |value: f64| Cell::Number { value, digits: RATE, verdict: Some(status) };
    vec![
        Cell::text(label),
        Cell::text(name),
        figure(best.value),
        Cell::text(&best.kpm.unit),
        figure(value.per_licence),
        figure(value.per_core),
        figure(value.cost_per_unit),
        Cell::text(format!("{} per {}", price.currency, best.kpm.unit)),
        Cell::Verdict(status),
    ]
}
