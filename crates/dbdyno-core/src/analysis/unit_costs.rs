//! Costs of a unit of throughput on several platforms, in the order that their throughputs allow.

use super::heatmap::{self, Compared, Place, Rank, ValidValue};
use super::price::PriceList;
use crate::model::{Better, Status};

/// A platform as it is bought.
#[derive(Debug, Clone, Copy)]
pub struct Offer<'a> {
    /// Price list of the run.
    pub list: &'a PriceList,
    /// True if tests used an option without a price: the platform then costs at least the price of
    /// the list.
    pub is_bound: bool,
}

/// Costs of a unit of one workload's throughput on several platforms, side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitCosts {
    /// Costs that support a statement: those of a valid throughput, with a price for every option;
    /// none for the others.
    pub known: Vec<Option<ValidValue>>,
    /// Position of each in the row, the cheapest first, by the rule of the throughput itself: two
    /// costs differ if their throughputs would.
    pub places: Vec<Option<Place>>,
}

impl UnitCosts {
    /// Costs of the throughput of a row on each platform; a platform without prices has none.
    pub fn new(row: &Compared<'_>, offers: &[Option<Offer<'_>>]) -> UnitCosts {
        let known: Vec<Option<ValidValue>> = row
            .known
            .iter()
            .zip(offers)
            .map(|(known, offer)| {
                let (known, offer) = (known.as_ref()?, offer.filter(|offer| !offer.is_bound)?);
                Some(ValidValue { value: offer.list.cost_per_unit(known.value)?, ..*known })
            })
            .collect();
        let mut places = heatmap::places(Better::Lower, &known);
        let least = known.iter().flatten().map(|cost| cost.value).reduce(f64::min);
        let bounds = row.figures.iter().zip(offers).filter_map(|(figure, offer)| {
            let (figure, offer) = (figure.as_ref()?, offer.as_ref()?);
            let is_bound = heatmap::is_lower_bound(figure)
                || offer.is_bound && figure.status() < Status::Invalid;
            offer.list.cost_per_unit(figure.value).filter(|_| is_bound)
        });
        // A platform of which only a bound is known may cost less than the cheapest of the others.
        if bounds.into_iter().any(|bound| least.is_some_and(|least| bound < least)) {
            places.iter_mut().flatten().for_each(|place| place.rank = Rank::Undecided);
        }
        UnitCosts { known, places }
    }

    /// The number of the platform on which alone a unit costs least.
    pub fn cheapest(&self) -> Option<usize> {
        heatmap::leader(&self.places)
    }
}
