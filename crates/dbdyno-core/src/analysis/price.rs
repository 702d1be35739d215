//! Licenses and prices of a platform, and what a unit of throughput costs. The figures are the
//! user's: see `docs/price.md`.

use serde::Deserialize;

use crate::error::{TextError, quote};
use crate::model::RunRecord;

/// Price list of a platform, given by the user.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceList {
    /// Name or target of the run that it is for; none = the only run.
    pub platform: Option<String>,
    /// Cores that must be licensed.
    pub cores: f64,
    /// Licenses per core.
    #[serde(default = "one")]
    pub core_factor: f64,
    /// Currency of every price: `EUR`.
    pub currency: String,
    /// Day of the prices.
    pub date: String,
    /// Source of the prices.
    #[serde(default = "not_stated")]
    pub basis: String,
    /// Products that must be paid for.
    #[serde(default, rename = "product")]
    pub products: Vec<Product>,
}

/// Something that has a price.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Product {
    /// Name of the product or option.
    pub name: String,
    /// Price of one `per`, in the list's currency.
    pub price: f64,
    /// Unit that the price is for.
    #[serde(default)]
    pub per: Per,
}

/// Unit that a price is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// A license.
    #[default]
    Licence,
    /// A core that must be licensed.
    Core,
    /// The whole platform, once.
    Platform,
}

impl Per {
    /// Name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Per::Licence => "licence",
            Per::Core => "core",
            Per::Platform => "platform",
        }
    }
}

fn one() -> f64 {
    1.0
}

fn not_stated() -> String {
    "not stated".into()
}

/// More are a typing error: of cores, and of any currency.
const MAX_CORES: f64 = 1e6;
const MAX_PRICE: f64 = 1e12;

/// `cores x factor` is a product of decimals: 0.1 x 30 must not become 4 licenses.
const ROUNDING: f64 = 1e-9;

impl PriceList {
    /// Reads a price list.
    ///
    /// # Errors
    /// The mistake in the text.
    pub fn parse(text: &str) -> Result<PriceList, TextError> {
        let list: PriceList = toml::from_str(text)?;
        list.check().map_err(TextError::of_whole)?;
        Ok(list)
    }

    fn check(&self) -> Result<(), String> {
        let is_possible = |value: f64| value > 0.0 && value <= MAX_CORES;
        if !is_possible(self.cores) || !is_possible(self.core_factor) {
            return Err(format!(
                "cores and core_factor must be more than 0 and at most {MAX_CORES}"
            ));
        }
        let wrong =
            self.products.iter().find(|product| !(0.0..=MAX_PRICE).contains(&product.price));
        match wrong {
            Some(product) => Err(format!(
                "the price of {} must be 0 or more and at most {MAX_PRICE}",
                quote(&product.name)
            )),
            None if self.products.is_empty() => Err("there is no [[product]]".into()),
            None => Ok(()),
        }
    }

    /// Licenses needed: cores x core factor, rounded up to whole ones.
    pub fn licences(&self) -> f64 {
        (self.cores * self.core_factor - ROUNDING).ceil()
    }

    /// Number of units of a product that must be bought.
    pub fn count(&self, product: &Product) -> f64 {
        match product.per {
            Per::Licence => self.licences(),
            Per::Core => self.cores,
            Per::Platform => 1.0,
        }
    }

    /// Cost of a product.
    pub fn cost_of(&self, product: &Product) -> f64 {
        product.price * self.count(product)
    }

    /// Cost of the platform.
    pub fn cost(&self) -> f64 {
        self.products.iter().map(|product| self.cost_of(product)).sum()
    }

    /// The options that a run's tests needed a license for and that no product names: the cost is
    /// more than the list says by an unknown amount.
    pub fn unpriced<'a>(&self, run: &'a RunRecord) -> Vec<&'a str> {
        let options = run.disclosure.get("database", "licensed_options").unwrap_or_default();
        let is_named = |option: &str| {
            let option = option.to_lowercase();
            self.products.iter().any(|product| product.name.to_lowercase().contains(&option))
        };
        let options = options.split(", ").filter(|option| !option.is_empty());
        options.filter(|option| !is_named(option)).collect()
    }

    /// Cost of a unit of throughput; none without throughput.
    pub fn cost_per_unit(&self, throughput: f64) -> Option<f64> {
        self.value_of(throughput).map(|value| value.cost_per_unit)
    }

    /// Cost of a throughput for the buyer; none without throughput.
    pub fn value_of(&self, throughput: f64) -> Option<Value> {
        (throughput.is_finite() && throughput > 0.0).then(|| Value {
            cost_per_unit: self.cost() / throughput,
            per_licence: throughput / self.licences(),
            per_core: throughput / self.cores,
        })
    }
}

/// A throughput against licenses and price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// Currency per unit of throughput.
    pub cost_per_unit: f64,
    /// Units of throughput per license / per core.
    pub per_licence: f64,
    /// Units of throughput per core.
    pub per_core: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLISHED: &str = include_str!("../../../../examples/prices/exadata-x2-2-dbserver.toml");

    fn list(cores: f64, core_factor: f64) -> PriceList {
        PriceList { cores, core_factor, ..PriceList::parse(PUBLISHED).unwrap() }
    }

    #[test]
    fn the_published_oracle_example_comes_out() {
        // Benchware 8.4, Exadata X2-2 database server (platforms.csv): 12 cores x 0.5, list prices
        // of 25 June 2013.
        let list = PriceList::parse(PUBLISHED).unwrap();
        assert_eq!(list.licences(), 6.0);
        let costs: Vec<f64> = list.products.iter().map(|product| list.cost_of(product)).collect();
        assert_eq!(costs, [285_000.0, 138_000.0, 69_000.0, 30_000.0, 30_000.0]);
        // Finding X2-16.
        assert_eq!(list.cost(), 552_000.0);
    }

    #[test]
    fn the_published_figures_per_licence_come_out() {
        // Finding OB-27: CPU-NUMBER throughput per license, DL380 (8 cores x 0.5) against IBM
        // Power8 (8 cores x 1.0).
        let per_licence =
            |factor, throughput| list(8.0, factor).value_of(throughput).unwrap().per_licence;
        let ratio = per_licence(0.5, 10_323e3) / per_licence(1.0, 10_159e3);
        assert!((ratio - 2.0323).abs() < 0.005, "{ratio}");
        // Finding OB-26: x86 needs half the licenses.
        assert_eq!(list(8.0, 0.5).licences() / list(8.0, 1.0).licences(), 0.5);
    }

    #[test]
    fn licences_are_whole_and_a_price_may_be_per_core_or_once() {
        let licences: Vec<f64> =
            [(3.0, 0.5), (30.0, 0.1), (1.0, 0.25)].map(|(c, f)| list(c, f).licences()).into();
        assert_eq!(licences, [2.0, 3.0, 1.0]);
        let product = |per| Product { name: "x".into(), price: 100.0, per };
        let mut list = list(3.0, 0.5);
        list.products = vec![product(Per::Licence), product(Per::Core), product(Per::Platform)];
        assert_eq!(list.cost(), 200.0 + 300.0 + 100.0);
        let value = list.value_of(1_200.0).unwrap();
        assert_eq!((value.cost_per_unit, value.per_licence, value.per_core), (0.5, 600.0, 400.0));
        assert_eq!(list.value_of(0.0), None);
    }

    #[test]
    fn what_is_wrong_in_a_file_is_named() {
        let wrong =
            |from: &str, to: &str| PriceList::parse(&PUBLISHED.replace(from, to)).unwrap_err().what;
        assert_eq!(
            wrong("cores = 12", "cores = 0"),
            "cores and core_factor must be more than 0 and at most 1000000"
        );
        assert_eq!(
            wrong("price = 47500", "price = -1"),
            "the price of 'Enterprise Edition' must be 0 or more and at most 1000000000000"
        );
        assert!(wrong("currency", "curency").contains("unknown field"));
        assert!(wrong("price = 47500", "price = 47500\nper = \"month\"").contains("month"));
        assert_eq!(
            PriceList::parse(PUBLISHED.split("[[").next().unwrap()).unwrap_err().what,
            "there is no [[product]]"
        );
    }
}
