//! Licenses and prices of platforms, and what their throughput costs.

use std::collections::BTreeSet;

use super::columns::{RATE, at_least};
use super::document::{Block, Cell, Column, Declared, Digits, Document, Section, Table};
use super::lowered::{self, LoweringReason};
use super::ramps::{RampRow, rows};
use super::texts::capitalized;
use super::{Input, Language, Report, RunTests, bars, masthead};
use dbdyno_core::analysis::best_share::BestShare;
use dbdyno_core::analysis::compare::Ratio;
use dbdyno_core::analysis::heatmap::{self, METRICS};
use dbdyno_core::analysis::interval::FEWEST;
use dbdyno_core::analysis::price::{Per, PriceList, Value};
use dbdyno_core::analysis::ramp::{self, Figure};
use dbdyno_core::analysis::unit_costs::{Offer, UnitCosts};
use dbdyno_core::model::{Better, PublishedKind, Sentence, Status, Test};

/// `report price`.
pub struct PriceReport;

impl Report for PriceReport {
    fn name(&self) -> &'static str {
        "price"
    }

    fn title(&self) -> &'static str {
        "licenses, cost, and throughput per license, core and price, from the files given with \
         --price"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        Document {
            head: Some(masthead::head(input, "licences and prices", &answer(input))),
            ..Document::new(input.language, "Licences and prices", sections(input))
        }
    }
}

/// Above the figures per KPM.
const HOW_TO_READ: &str = "Licenses are cores x core factor, rounded up. Cost per unit is the cost \
                           of the platform / its best valid throughput: the price of one unit of \
                           the KPM. Two costs differ only if their throughputs differ beyond the \
                           noise; a ratio of two has the ends of its 95 % interval (low, high), \
                           that of the throughputs. Verdicts are those of the throughput, and an \
                           invalid one has no price; prices are as the files give them.";

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
            std::iter::once(Block::Paragraph(language.phrase(HOW_TO_READ)))
                .chain(side_by_side(input).map(Block::Table))
                .chain([Block::Table(values(input))])
                .collect(),
        ),
    ]
}

/// Costs of one unit of a workload's throughput on platforms whose prices are in one currency.
struct CostsOfWorkload {
    label: String,
    unit: String,
    costs: UnitCosts,
}

impl CostsOfWorkload {
    /// Per platform; none where the throughput is not valid or the cost only a lower bound.
    fn per_unit(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        self.costs.known.iter().map(|known| known.map(|known| known.value))
    }

    fn known(&self) -> impl Iterator<Item = f64> + '_ {
        self.per_unit().flatten()
    }

    fn least(&self) -> f64 {
        self.known().fold(f64::INFINITY, f64::min)
    }

    /// True if a unit costs nothing on a platform: nothing has a ratio to that.
    fn is_free(&self) -> bool {
        self.least() <= 0.0
    }
}

/// The currencies of the price lists, each once; costs in two of them are not compared.
fn currencies<'a>(platforms: &'a [PricedPlatform<'_>]) -> BTreeSet<&'a str> {
    platforms.iter().filter_map(|it| it.list).map(|list| list.currency.as_str()).collect()
}

/// The number of workloads of which at least two platforms with a price list have a throughput.
fn common_workloads(input: &Input, platforms: &[PricedPlatform<'_>]) -> usize {
    let is_common = |row: &RampRow<'_>| {
        let of_platforms = platforms.iter().zip(&row.runs);
        let has_both = |(it, tests): &(&PricedPlatform<'_>, &Vec<&Test>)| {
            it.list.is_some() && throughput(tests).is_some()
        };
        of_platforms.filter(has_both).count() >= FEWEST
    };
    let groups = input.used_groups();
    groups.iter().flat_map(|(group, _)| rows(input, group)).filter(is_common).count()
}

/// The workloads of which at least two platforms have a cost per unit.
fn compared_costs(input: &Input, platforms: &[PricedPlatform<'_>]) -> Vec<CostsOfWorkload> {
    if currencies(platforms).len() > 1 {
        return Vec::new();
    }
    let offers: Vec<Option<Offer<'_>>> = platforms.iter().map(PricedPlatform::offer).collect();
    let (groups, sizes_gb) = (input.used_groups(), input.sizes_gb());
    let all = groups.iter().flat_map(|(group, _)| rows(input, group)).filter_map(|row| {
        let found = heatmap::side_by_side(&row.runs, &sizes_gb, &METRICS[1])?;
        let costs = (found.better == Better::Higher).then(|| UnitCosts::new(&found, &offers))?;
        Some(CostsOfWorkload { label: row.label, unit: found.unit.into(), costs })
    });
    all.filter(|costs| costs.known().count() >= FEWEST).collect()
}

fn priced(input: &Input) -> Vec<PricedPlatform<'_>> {
    let named = input.platforms().into_iter().zip(&input.runs);
    named.map(|(name, data)| PricedPlatform::new(input, name, data)).collect()
}

/// Sentence on the platform on which a unit of throughput costs least: for how many workloads, and
/// how much more it costs on the others; and the number of workloads that are left out.
fn answer(input: &Input) -> String {
    let language = input.language;
    let platforms = priced(input);
    let currencies = currencies(&platforms);
    if currencies.len() > 1 {
        let currencies = currencies.into_iter().collect::<Vec<_>>().join(", ");
        let said = "Costs are not compared: prices are in several currencies ({currencies}).";
        return language.say(said, &[("currencies", &currencies)]);
    }
    let costs = compared_costs(input, &platforms);
    let said = [
        least(language, &platforms, &costs),
        means(language, &platforms, &costs),
        left_out(language, common_workloads(input, &platforms), costs.len()),
    ];
    said.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The number of workloads, of those that several platforms have, whose costs are not compared.
fn left_out(language: Language, common: usize, compared: usize) -> Option<String> {
    let [left_out, all] = [common.saturating_sub(compared), common].map(|count| count.to_string());
    let said = "Left out, as the cost of a unit of valid throughput of the same work is known of \
                fewer than two platforms: {left_out} of {all}.";
    (common > compared).then(|| language.say(said, &[("left_out", &left_out), ("all", &all)]))
}

/// The sentence of how often a unit costs least on a platform alone, and how often on none; nothing
/// without costs that are compared.
fn least(
    language: Language,
    platforms: &[PricedPlatform<'_>],
    costs: &[CostsOfWorkload],
) -> Option<String> {
    if costs.is_empty() {
        return None;
    }
    let cheapest: Vec<Option<usize>> = costs.iter().map(|row| row.costs.cheapest()).collect();
    let count_of = |asked: Option<usize>| cheapest.iter().filter(|&&at| at == asked).count();
    let count = costs.len().to_string();
    let told = (0..platforms.len()).filter(|at| count_of(Some(*at)) > 0).map(|at| {
        let wins = count_of(Some(at)).to_string();
        let values =
            [("platform", platforms[at].name.as_str()), ("wins", &wins), ("count", &count)];
        language.say("{platform} in {wins} of {count}", &values)
    });
    let told = told.collect::<Vec<_>>().join(", ");
    let ties = count_of(None);
    let text = match (told.is_empty(), ties) {
        (true, _) => {
            "Of {count} compared, on no platform does a unit of valid throughput cost least alone: \
             no difference is known to go beyond the noise."
        }
        (false, 0) => "A unit of valid throughput costs least on {told}.",
        (false, _) => {
            "A unit of valid throughput costs least on {told}; in {ties} it costs least on none \
             alone."
        }
    };
    let ties = ties.to_string();
    Some(language.say(text, &[("told", told.as_str()), ("ties", &ties), ("count", &count)]))
}

/// The geometric means of how much more a unit costs on each platform than on the cheapest, each
/// with its interval or the reason why it has none, and the number of workloads that are in none,
/// as the cheapest costs nothing.
fn means(
    language: Language,
    platforms: &[PricedPlatform<'_>],
    costs: &[CostsOfWorkload],
) -> Option<String> {
    let of_all = costs.iter().filter(|costs| costs.known().count() == platforms.len());
    let (free, whole): (Vec<&CostsOfWorkload>, Vec<&CostsOfWorkload>) =
        of_all.partition(|costs| costs.is_free());
    let shares: Vec<Vec<BestShare>> =
        whole.iter().filter_map(|it| it.costs.shares_of_least()).collect();
    let mean = |at: usize| {
        BestShare::mean(&shares.iter().map(|of_workload| of_workload[at]).collect::<Vec<_>>())
    };
    let found: Vec<BestShare> = (0..platforms.len()).filter_map(mean).collect();
    let named = platforms.iter().zip(&found);
    let means = named.map(|(platform, mean)| mean_text(language, &platform.name, mean));
    let means = means.collect::<Vec<_>>().join(", ");
    let why = found.iter().find_map(|mean| mean.ends.err());
    let why = why.map(|why| format!("{}.", capitalized(&language.phrase(why.text()))));
    let values = [("means", means.as_str()), ("count", &whole.len().to_string())];
    let said = "Against the cheapest of each workload, {count} that all have, geometric mean: \
                {means}.";
    let said = (!whole.is_empty()).then(|| language.say(said, &values));
    let [left_out, all] = [free.len(), free.len() + whole.len()].map(|count| count.to_string());
    let without = "Left out of the geometric mean, as a unit costs nothing on a platform: \
                   {left_out} of {all}.";
    let without = (!free.is_empty())
        .then(|| language.say(without, &[("left_out", &left_out), ("all", &all)]));
    let said: Vec<String> = said.into_iter().chain(why).chain(without).collect();
    (!said.is_empty()).then(|| said.join(" "))
}

/// The cost of a unit over that on the cheapest, which is this share of it:
/// `a x2.50 (x2.46 to x2.54)`; without an interval, and where the mean is exact, `a x2.50`.
fn mean_text(language: Language, platform: &str, mean: &BestShare) -> String {
    let factor = |share: f64| language.number(1.0 / share, Digits::Significant(3));
    let value = factor(mean.value);
    let Some([least, most]) = mean.uncertain_ends() else {
        return language.say("{platform} x{factor}", &[("platform", platform), ("factor", &value)]);
    };
    let [low, high] = [most, least].map(factor);
    let values = [("platform", platform), ("factor", &value), ("low", &low), ("high", &high)];
    language.say("{platform} x{factor} (x{low} to x{high})", &values)
}

/// The cost per unit of each workload, platforms side by side; none if nothing can be compared.
fn side_by_side(input: &Input) -> Option<Table> {
    let platforms = priced(input);
    let costs = compared_costs(input, &platforms);
    let currency = &platforms.iter().find_map(|platform| platform.list)?.currency;
    let heads = platforms.iter().map(|platform| Column::new(&platform.name, currency, 0));
    let columns = [Column::new("Workload", "", 0), Column::new("per unit of", "", 0)];
    let ratio = ["Dearest / cheapest", "low", "high"].map(|name| Column::new(name, "", 0));
    let columns = columns.into_iter().chain(heads).chain(ratio);
    let mut table = Table::new(input.language, "cost per unit side by side", columns);
    for row in &costs {
        let why = || {
            let text = "no valid throughput of the same work, or a cost that is only a lower bound";
            Sentence::new(text)
        };
        let figures =
            row.per_unit().map(|cost| table.figure(cost.ok_or_else(why), RATE, Status::Valid));
        let figures: Vec<Cell> = figures.collect();
        let ratio = ratio_cells(&mut table, row.costs.highest_over_least());
        let texts = [Cell::text(&row.label), Cell::text(&row.unit)];
        table.rows.push(texts.into_iter().chain(figures).chain(ratio).collect());
    }
    (!costs.is_empty()).then_some(table)
}

/// A ratio of two costs and the ends of its interval, or the reason why it has none; nothing where
/// a unit costs nothing.
fn ratio_cells(table: &mut Table, ratio: Option<Ratio>) -> [Cell; 3] {
    let number = |value| Cell::Number { value, digits: Digits::Significant(3), verdict: None };
    match ratio.map(|ratio| (ratio.value, ratio.span)) {
        None => [Cell::Empty, Cell::Empty, Cell::Empty],
        Some((value, Ok(span))) => [value, span.low, span.high].map(number),
        Some((value, Err(why))) => {
            let unknown = table.unknown(why.text());
            [number(value), unknown.clone(), unknown]
        }
    }
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

/// A product of a platform, an option without a price, or all of the platform.
struct CostRow<'a> {
    platform: &'a str,
    price: &'a PriceList,
    product: String,
    each: Cell,
    basis: Cell,
    count: f64,
    cost: Cell,
}

/// One row per product, one per option that was used without a price, and the sum of each platform.
fn costs(language: Language, priced: &[(&str, &RunTests, &PriceList)]) -> Table {
    let columns = cost_columns();
    let mut table = Table::declared(language, "licences", &columns);
    for (platform, data, price) in priced {
        for product in &price.products {
            let row = CostRow {
                platform,
                price,
                product: product.name.clone(),
                each: money(product.price),
                basis: Cell::text(language.phrase(product.per.name())),
                count: price.count(product),
                cost: money(price.cost_of(product)),
            };
            table.add_row(&columns, &row);
        }
        let unpriced = price.unpriced(&data.run);
        for option in &unpriced {
            let row = CostRow {
                platform,
                price,
                product: option.to_string(),
                each: Cell::text(language.phrase("no price given")),
                basis: Cell::text(language.phrase(Per::Licence.name())),
                count: price.licences(),
                cost: Cell::Empty,
            };
            table.add_row(&columns, &row);
        }
        let cost = money(price.cost());
        let all = CostRow {
            platform,
            price,
            product: language.phrase("all"),
            each: Cell::Empty,
            basis: Cell::Empty,
            count: price.licences(),
            cost: if unpriced.is_empty() { cost } else { bound_cell(language, &cost) },
        };
        table.add_row(&columns, &all);
    }
    table.remarks = vec![language.phrase("the count of 'all' is the number of licenses")];
    table
}

fn cost_columns<'a>() -> [Declared<CostRow<'a>>; 11] {
    [
        Declared::new("Platform", "", 0, |row, _| Cell::text(row.platform)),
        Declared::new("Cores", "", 3, |row, _| number(row.price.cores)),
        Declared::new("Core factor", "", 4, |row, _| number(row.price.core_factor)),
        Declared::new("Product", "", 0, |row, _| Cell::text(&row.product)),
        Declared::new("Price", "", 1, |row, _| row.each.clone()),
        Declared::new("of one", "", 2, |row, _| row.basis.clone()),
        Declared::new("Count", "", 0, |row, _| number(row.count)),
        Declared::new("Cost", "", 0, |row, _| row.cost.clone()),
        Declared::new("Currency", "", 0, |row, _| Cell::text(&row.price.currency)),
        Declared::new("Date", "", 5, |row, table| Cell::text(table.language.date(&row.price.date))),
        Declared::new("Basis", "", 6, |row, _| Cell::text(&row.price.basis)),
    ]
}

/// One row per workload and platform with a throughput.
fn values(input: &Input) -> Table {
    let mut table = Table::declared(input.language, "price per KPM", &value_columns());
    let platforms = priced(input);
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
struct PricedPlatform<'a> {
    name: String,
    list: Option<&'a PriceList>,
    /// An option was used that has no price: the cost is a lower bound.
    is_bound: bool,
}

impl<'a> PricedPlatform<'a> {
    fn new(input: &'a Input, name: String, data: &RunTests) -> PricedPlatform<'a> {
        let list = price_of(input, data);
        let is_bound = list.is_some_and(|list| !list.unpriced(&data.run).is_empty());
        PricedPlatform { name, list, is_bound }
    }

    fn offer(&self) -> Option<Offer<'a>> {
        Some(Offer { list: self.list?, is_bound: self.is_bound })
    }
}

fn add(
    table: &mut Table,
    ramps: &RampRow<'_>,
    platforms: &[PricedPlatform<'_>],
    lowered: &mut Vec<LoweringReason>,
) {
    for (platform, tests) in platforms.iter().zip(&ramps.runs) {
        let figures = throughput(tests).zip(platform.list);
        let Some((best, price)) = figures else { continue };
        let (name, value) = (&platform.name, price.value_of(best.value));
        let (workload, is_bound) = (&ramps.label, platform.is_bound);
        let row = ValueRow { workload, platform: name, price, best, value, is_bound };
        table.add_row(&value_columns(), &row);
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

/// Cost as text, so that its lower bound is not taken for the cost.
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

/// The throughput of a workload on a platform, against its licenses and price.
struct ValueRow<'a> {
    workload: &'a str,
    platform: &'a str,
    price: &'a PriceList,
    best: Figure<'a>,
    /// None of a throughput of 0.
    value: Option<Value>,
    /// The cost is a lower bound.
    is_bound: bool,
}

impl ValueRow<'_> {
    /// A figure that rests on the throughput.
    fn figure(&self, table: &mut Table, of: fn(&Value) -> f64) -> Cell {
        let status = self.best.status();
        let value = match (status, &self.value) {
            (Status::Invalid, _) => Err("the throughput is invalid".into()),
            (_, None) => Err("the throughput is 0".into()),
            (_, Some(value)) => Ok(of(value)),
        };
        table.figure(value, RATE, status)
    }
}

fn value_columns<'a>() -> [Declared<ValueRow<'a>>; 9] {
    [
        Declared::new("Workload", "", 0, |row, _| Cell::text(row.workload)),
        Declared::new("Platform", "", 0, |row, _| Cell::text(row.platform)),
        Declared::new("Throughput", "", 0, |row, _| Cell::Number {
            value: row.best.value,
            digits: RATE,
            verdict: Some(row.best.status()),
        }),
        Declared::new("Unit", "", 0, |row, _| Cell::text(row.best.unit)),
        Declared::new("per license", "", 2, |row, table| row.figure(table, |of| of.per_licence)),
        Declared::new("per core", "", 3, |row, table| row.figure(table, |of| of.per_core)),
        Declared::new("Cost per unit", "", 0, |row, table| {
            let cost = row.figure(table, |of| of.cost_per_unit);
            if row.is_bound { bound_cell(table.language, &cost) } else { cost }
        }),
        Declared::new("Currency", "", 1, |row, table| {
            Cell::text(per_unit(table.language, row.price, &row.best))
        }),
        Declared::new("Verdict", "", 0, |row, _| Cell::Verdict(row.best.status())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::compare::fixture::run;

    #[test]
    fn the_cheaper_platform_per_unit_is_named_from_valid_throughputs_alone() {
        use dbdyno_core::analysis::fixture::at;
        use dbdyno_core::analysis::published_checks::fixture::judged;
        let data = |name: &str, id: i64, rate: f64, status: Status| {
            let mut record = run(name);
            (record.id, record.name) = (id, Some(name.into()));
            let tests = vec![judged(Test::from(at(1, rate)), status)];
            RunTests { run: record, tests }
        };
        let list = include_str!("../../../examples/prices/exadata-x2-2-dbserver.toml");
        let price = |platform: &str| {
            let list = PriceList::parse(list).unwrap();
            PriceList { platform: Some(platform.into()), ..list }
        };
        let said = |rate: f64, status: Status| {
            let runs = vec![data("a", 1, 100.0, Status::Valid), data("b", 2, rate, status)];
            let prices = vec![price("a"), price("b")];
            answer(&Input { runs, prices, ..Input::default() })
        };
        assert_eq!(
            said(250.0, Status::Valid),
            "A unit of valid throughput costs least on b in 1 of 1. Against the cheapest of each \
             workload, 1 that all have, geometric mean: a x2.50 (x2.46 to x2.54), b x1.00."
        );
        let without = "Left out, as the cost of a unit of valid throughput of the same work is \
                       known of fewer than two platforms: 1 of 1.";
        assert_eq!(said(250.0, Status::Conditional), without);
        assert_eq!(
            said(100.5, Status::Valid),
            "Of 1 compared, on no platform does a unit of valid throughput cost least alone: no \
             difference is known to go beyond the noise. Against the cheapest of each workload, 1 \
             that all have, geometric mean: a x1.01 (x1.00 to x1.02), b x1.00 (x1.00 to \
             x1.01)."
        );
    }

    #[test]
    fn costs_in_several_currencies_and_a_throughput_of_0_are_told() {
        use dbdyno_core::analysis::fixture::at;
        let list = include_str!("../../../examples/prices/exadata-x2-2-dbserver.toml");
        let runs: Vec<RunTests> = [("a", 1, 100.0), ("b", 2, 0.0)]
            .map(|(name, id, rate)| {
                let run = dbdyno_core::model::RunRecord { id, ..run(name) };
                RunTests { run, tests: vec![Test::from(at(1, rate))] }
            })
            .into();
        let price = |platform: &str, currency: &str| {
            let (platform, currency) = (Some(platform.into()), currency.into());
            PriceList { platform, currency, ..PriceList::parse(list).unwrap() }
        };
        let input = |other: &str| {
            let prices = vec![price("a", "EUR"), price("b", other)];
            Input { runs: runs.clone(), prices, ..Input::default() }
        };
        let several = "Costs are not compared: prices are in several currencies (EUR, USD).";
        assert_eq!(answer(&input("USD")), several);
        let table = values(&input("EUR"));
        assert_eq!(table.rows.len(), 2, "{table:?}");
        assert_eq!(table.footnotes, ["the throughput is 0"]);
        assert!(answer(&input("EUR")).ends_with("of fewer than two platforms: 1 of 1."));
    }

    #[test]
    fn what_costs_nothing_has_no_ratio_and_is_in_no_mean() {
        use dbdyno_core::analysis::fixture::at;
        let list = include_str!("../../../examples/prices/exadata-x2-2-dbserver.toml");
        let runs: Vec<RunTests> = [("a", 1), ("b", 2)]
            .map(|(name, id)| {
                let run = dbdyno_core::model::RunRecord { id, ..run(name) };
                RunTests { run, tests: vec![Test::from(at(1, 100.0))] }
            })
            .into();
        let priced = |platform: &str, factor: f64| {
            let mut list = PriceList::parse(list).unwrap();
            list.platform = Some(platform.into());
            list.products.iter_mut().for_each(|product| product.price *= factor);
            list
        };
        let input = |factor: f64| {
            let prices = vec![priced("a", factor), priced("b", 1.0)];
            Input { runs: runs.clone(), prices, ..Input::default() }
        };
        let without = "Left out of the geometric mean, as a unit costs nothing on a platform: \
                       1 of 1.";
        let said = answer(&input(0.0));
        assert!(said.ends_with(without) && !said.contains("NaN"), "{said}");
        assert!(!said.contains("inf") && !said.contains("geometric mean:"), "{said}");
        let means = "geometric mean: a x1.00, b x2.00 (x1.97 to x2.03).";
        assert!(answer(&input(0.5)).ends_with(means), "{}", answer(&input(0.5)));
        let ratio = |input: &Input| side_by_side(input).unwrap().rows[0][4..].to_vec();
        assert_eq!(ratio(&input(0.0)), [Cell::Empty, Cell::Empty, Cell::Empty]);
        let factor = 0.01f64.hypot(0.01).exp();
        let expected = [2.0, 2.0 / factor, 2.0 * factor];
        for (cell, expected) in ratio(&input(0.5)).iter().zip(expected) {
            let Cell::Number { value, .. } = cell else { panic!("{cell:?}") };
            assert!((value - expected).abs() < 1e-9, "{value} {expected}");
        }
    }

    #[test]
    fn a_ratio_of_costs_without_an_interval_says_why() {
        use dbdyno_core::analysis::fixture::at;
        let list = include_str!("../../../examples/prices/exadata-x2-2-dbserver.toml");
        let prices: Vec<PriceList> = ["a", "b"]
            .map(|name| {
                let platform = Some(name.into());
                PriceList { platform, ..PriceList::parse(list).unwrap() }
            })
            .into();
        let runs: Vec<RunTests> = [("a", 1, 100.0), ("b", 2, 250.0)]
            .map(|(name, id, rate)| {
                let run = dbdyno_core::model::RunRecord { id, ..run(name) };
                let mut result = at(1, rate);
                (result.ci_fraction, result.window_s) = (None, 1.0);
                RunTests { run, tests: vec![Test::from(result)] }
            })
            .into();
        let input = Input { runs, prices, ..Input::default() };
        let said = answer(&input);
        let means = "geometric mean: a x2.50, b x1.00. No interval: one short window.";
        assert!(said.ends_with(means), "{said}");
        let table = side_by_side(&input).unwrap();
        assert_eq!(table.rows[0][5..], [Cell::Unknown(0), Cell::Unknown(0)]);
        assert_eq!(table.footnotes, ["no interval: one short window"]);
    }

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
