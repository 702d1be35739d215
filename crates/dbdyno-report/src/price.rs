//! Licences and prices of platforms, and what their throughput costs.

use super::columns::RATE;
use super::document::{Block, Cell, Column, Digits, Document, Section, Table};
use super::lowered::{self, Lowered};
use super::ramps::{RampRow, rows};
use super::{Input, Language, Report, RunTests, bars};
use dbdyno_core::analysis::heatmap::METRICS;
use dbdyno_core::analysis::price::{Per, PriceList, Value};
use dbdyno_core::analysis::ramp::{self, Figure};
use dbdyno_core::model::{Better, PublishedKind, Status, Test};

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
        Document::new(input.language, "Licences and prices", sections(input))
    }
}

/// Above the figures per KPM.
const HOW_TO_READ: &str = "Licences are cores x core factor, rounded up. Cost per unit is the cost of the platform / its \
best valid throughput: the price of one unit of the KPM. Verdicts are those of the throughput, and an invalid one has no \
price; prices are as the files give them.";

/// The sections; a paragraph that says what is missing if there is no price at all.
pub fn sections(input: &Input) -> Vec<Section> {
    let language = input.language;
    let platforms = input.platforms();
    let named = platforms.iter().zip(&input.runs);
    let priced: Vec<(&str, &RunTests, &PriceList)> = named
        .filter_map(|(name, data)| Some((name.as_str(), data, price_of(input, data)?)))
        .collect();
    if priced.is_empty() {
        let text = "No prices are known: give --price FILE (docs/price.md shows the form).";
        return vec![Section::new(
            language,
            "Price",
            vec![Block::Paragraph(language.phrase(text))],
        )];
    }
    vec![
        Section::new(
            language,
            "Licences and cost",
            vec![
                Block::Bars(bars::costs(language, &priced)),
                Block::Table(costs(language, &priced)),
            ],
        ),
        Section::new(
            language,
            "Price per KPM",
            vec![Block::Paragraph(language.phrase(HOW_TO_READ)), Block::Table(values(input))],
        ),
    ]
}

/// The price list of a run: the one that names it or its target, or the only one if it names
/// nothing.
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

/// A figure as it is printed; `at least 100` if it is a lower bound.
pub(super) fn at_least(language: Language, figure: String, is_bound: bool) -> String {
    match is_bound {
        true => language.say("at least {figure}", &[("figure", &figure)]),
        false => figure,
    }
}

/// One row per product, one per option that was used without a price, and the sum of each platform.
fn costs(language: Language, priced: &[(&str, &RunTests, &PriceList)]) -> Table {
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
    let mut table = Table::new(language, "licences", columns);
    for (name, data, price) in priced {
        for product in &price.products {
            let cost = money(price.cost_of(product));
            let middle = [
                Cell::text(&product.name),
                money(product.price),
                Cell::text(language.phrase(product.per.name())),
                number(price.count(product)),
                cost,
            ];
            table.rows.push(row(language, name, price, middle));
        }
        let unpriced = price.unpriced(&data.run);
        for option in &unpriced {
            let cells = [
                Cell::text(*option),
                Cell::text(language.phrase("no price given")),
                Cell::text(language.phrase(Per::Licence.name())),
                number(price.licences()),
                Cell::Empty,
            ];
            table.rows.push(row(language, name, price, cells));
        }
        let cost = money(price.cost());
        let all = [
            Cell::text(language.phrase("all")),
            Cell::Empty,
            Cell::Empty,
            number(price.licences()),
            if unpriced.is_empty() { cost } else { bound_cell(language, &cost) },
        ];
        table.rows.push(row(language, name, price, all));
    }
    table.remarks = vec![language.phrase("the count of 'all' is the number of licences")];
    table
}

fn row(language: Language, name: &str, price: &PriceList, middle: [Cell; 5]) -> Vec<Cell> {
    let leading = [Cell::text(name), number(price.cores), number(price.core_factor)];
    let trailing = [
        Cell::text(&price.currency),
        Cell::text(language.date(&price.date)),
        Cell::text(&price.basis),
    ];
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
    let mut table = Table::new(input.language, "price per KPM", columns);
    let named = input.platforms().into_iter().zip(&input.runs);
    let platforms: Vec<Priced<'_>> =
        named.map(|(name, data)| Priced::of(input, name, data)).collect();
    let mut lowered = Vec::new();
    for (group, _) in input.used_groups() {
        for ramps in rows(input, group) {
            add(&mut table, &ramps, &platforms, &mut lowered);
        }
    }
    table.remarks = lowered::remarks(input.language, &lowered);
    table
}

/// A platform with its price list.
struct Priced<'a> {
    name: String,
    list: Option<&'a PriceList>,
    /// An option was used that has no price: the cost is a lower bound.
    is_bound: bool,
}

impl<'a> Priced<'a> {
    fn of(input: &'a Input, name: String, data: &RunTests) -> Priced<'a> {
        let list = price_of(input, data);
        let is_bound = list.is_some_and(|list| !list.unpriced(&data.run).is_empty());
        Priced { name, list, is_bound }
    }
}

fn add(
    table: &mut Table,
    ramps: &RampRow<'_>,
    platforms: &[Priced<'_>],
    lowered: &mut Vec<Lowered>,
) {
    for (platform, tests) in platforms.iter().zip(&ramps.runs) {
        let figures = throughput(tests).zip(platform.list);
        let Some((best, price)) = figures else { continue };
        let name = &platform.name;
        if let Some(value) = price.value_of(best.value) {
            let mut row = value_row(table, &[&ramps.label, name], price, &best, value);
            if platform.is_bound {
                row[COST_PER_UNIT] = bound_cell(table.language, &row[COST_PER_UNIT]);
            }
            table.rows.push(row);
            let subject = format!("{name}, {}", ramps.label);
            lowered.extend(lowered::of_verdict(&subject, &best.verdict()));
            if let Some(other) = METRICS[1].passed_over(tests) {
                let language = table.language;
                let at = language.say(
                    "{label} at {jobs}",
                    &[("label", &subject), ("jobs", &language.jobs(other.jobs))],
                );
                let left_out = language.say("{subject}, left out", &[("subject", &at)]);
                lowered.extend(lowered::of_verdict(&left_out, &other.verdict()));
            }
        }
    }
}

/// Place of the cost per unit in a row.
const COST_PER_UNIT: usize = 6;

/// A cost as text, so that nobody takes its lower bound for it.
fn bound_cell(language: Language, cell: &Cell) -> Cell {
    match cell {
        Cell::Number { value, digits, .. } => {
            Cell::text(at_least(language, language.number(*value, *digits), true))
        }
        other => other.clone(),
    }
}

/// `USD per tps`.
fn per_unit(language: Language, price: &PriceList, best: &Figure<'_>) -> String {
    language.say("{currency} per {unit}", &[("currency", &price.currency), ("unit", best.unit)])
}

/// The best rate; published figures of one job are none.
fn throughput<'a>(tests: &[&'a Test]) -> Option<Figure<'a>> {
    let tests: Vec<&Test> =
        tests.iter().filter(|test| !test.states(PublishedKind::Speed)).copied().collect();
    ramp::throughput(&tests).filter(|best| best.better == Better::Higher)
}

fn value_row(
    table: &mut Table,
    [label, name]: &[&str; 2],
    price: &PriceList,
    best: &Figure<'_>,
    value: Value,
) -> Vec<Cell> {
    let status = best.status();
    let mut per = |value: f64| {
        let value = if status < Status::Invalid {
            Ok(value)
        } else {
            Err("the throughput is invalid".into())
        };
        table.figure(value, RATE, status)
    };
    vec![
        Cell::text(*label),
        Cell::text(*name),
        Cell::Number { value: best.value, digits: RATE, verdict: Some(status) },
        Cell::text(best.unit),
        per(value.per_licence),
        per(value.per_core),
        per(value.cost_per_unit),
        Cell::text(per_unit(table.language, price, best)),
        Cell::Verdict(status),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::compare::fixture::run;

    #[test]
    fn an_option_that_tests_used_stands_there_with_its_price_or_without() {
        let mut run = run("a");
        run.disclosure.set("database", "licensed_options", "Active Data Guard, Partitioning");
        let list = include_str!("../../../examples/prices/exadata-x2-2-dbserver.toml");
        let mut price = PriceList::parse(list).unwrap();
        price.platform = None;
        let runs = vec![RunTests { run, tests: Vec::new() }];
        let input = Input { runs, prices: vec![price], ..Input::default() };
        let table = costs(input.language, &[("a", &input.runs[0], &input.prices[0])]);
        let text_of = |cell: &Cell| match cell {
            Cell::Text(text) => text.clone(),
            _ => String::new(),
        };
        let products: Vec<[String; 2]> =
            table.rows.iter().map(|row| [3, 4].map(|at| text_of(&row[at]))).collect();
        let lines = |name: &str| products.iter().filter(|[product, _]| product == name).count();
        assert_eq!((lines("Partitioning"), lines("Active Data Guard")), (1, 1), "{products:?}");
        assert!(
            products.contains(&["Active Data Guard".into(), "no price given".into()]),
            "{products:?}"
        );
        let all = table.rows.last().unwrap();
        assert!(text_of(&all[7]).starts_with("at least "), "{all:?}");
    }
}
