//! Costs of a unit of throughput on several platforms, in the order that their throughputs allow.

use super::heatmap::{self, Compared, Place, Rank, ValidValue};
use super::interval::UncertainValue;
use super::price::PriceList;
use super::ratio::Ratio;
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
    /// The same costs as ratios are made of them: known as well as their throughputs, as prices are
    /// exact.
    uncertain: Vec<Option<UncertainValue>>,
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
        let uncertain = known.iter().zip(&row.figures).map(|(known, figure)| {
            let (value, interval) = (known.as_ref()?.value, figure.as_ref()?.compared());
            Some(UncertainValue { value, interval })
        });
        let uncertain = uncertain.collect();
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
        UnitCosts { known, uncertain, places }
    }

    /// The number of the platform on which alone a unit costs least.
    pub fn cheapest(&self) -> Option<usize> {
        heatmap::leader(&self.places)
    }

    /// Cost of a unit on a platform over the least that is known, with its interval. None if its
    /// cost is not known, or a unit costs nothing on the cheapest.
    pub fn over_least(&self, platform: usize) -> Option<Ratio> {
        let least = self.foremost(|cost, least| cost < least)?;
        let (own, base) = (self.uncertain[platform]?, self.uncertain[least]?);
        let ratio = if platform == least { Ratio::ONE } else { Ratio::new(base, own) };
        (base.value > 0.0).then_some(ratio)
    }

    /// The highest cost of a unit over the least, with its interval; none as above.
    pub fn highest_over_least(&self) -> Option<Ratio> {
        // Of equal costs the last: the least is the first of them, and another platform's.
        self.over_least(self.foremost(|cost, most| cost >= most)?)
    }

    /// The platform whose known cost comes before all others.
    fn foremost(&self, is_before: fn(f64, f64) -> bool) -> Option<usize> {
        let costs = self.uncertain.iter().enumerate();
        let known = costs.filter_map(|(at, cost)| Some((at, (*cost)?.value)));
        let found = known.reduce(|one, next| if is_before(next.1, one.1) { next } else { one });
        found.map(|(at, _)| at)
    }
}
