//! Costs of a unit of throughput on several platforms, in the order that their throughputs allow.

use super::best_share::BestShare;
use super::heatmap::{self, Compared, Place, Rank, ValidValue};
use super::interval::{self, UncertainValue};
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
        let throughputs = row.uncertain();
        let uncertain = known.iter().zip(&throughputs).map(|(known, throughput)| {
            Some(UncertainValue { value: known.as_ref()?.value, ..(*throughput)? })
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

    /// The least cost of a unit as a share of that on each platform. None if the cost is not known
    /// of all platforms, or a unit costs nothing on one.
    pub fn shares_of_least(&self) -> Option<Vec<BestShare>> {
        let costs: Option<Vec<UncertainValue>> = self.uncertain.iter().copied().collect();
        BestShare::of_row(Better::Lower, &costs?)
    }

    /// The highest cost of a unit over the least, with its interval, which is wider where other
    /// costs are near one of the two: chance favored those that came out as the extremes. None if
    /// no cost is known, or a unit costs nothing on the cheapest.
    pub fn highest_over_least(&self) -> Option<Ratio> {
        let least = self.foremost(|cost, least| cost < least)?;
        // Of equal costs the last: the least is the first of them, and another platform's.
        let most = self.foremost(|cost, most| cost >= most)?;
        let extreme =
            |platform: usize| Some(interval::extreme(self.uncertain[platform]?, &self.uncertain));
        let (own, base) = (extreme(most)?, extreme(least)?);
        let ratio = if most == least { Ratio::ONE } else { Ratio::new(base, own) };
        (base.value > 0.0).then_some(ratio)
    }

    /// The platform whose known cost comes before all others.
    fn foremost(&self, is_before: fn(f64, f64) -> bool) -> Option<usize> {
        let costs = self.uncertain.iter().enumerate();
        let known = costs.filter_map(|(at, cost)| Some((at, (*cost)?.value)));
        let found = known.reduce(|one, next| if is_before(next.1, one.1) { next } else { one });
        found.map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::interval::Interval;

    /// Costs whose intervals have a half width of 10 % each.
    fn costs(values: &[f64]) -> UnitCosts {
        let known = |value: &f64| {
            let interval = Ok(Interval::of_seconds(0.1, 1e9));
            Some(UncertainValue { value: *value, interval })
        };
        let uncertain = values.iter().map(known).collect();
        UnitCosts { known: Vec::new(), uncertain, places: Vec::new() }
    }

    /// Half width of the interval of the highest over the least, on the logarithm.
    fn half_width(values: &[f64]) -> f64 {
        let ratio = costs(values).highest_over_least().unwrap();
        (ratio.span.unwrap().high / ratio.value).ln()
    }

    #[test]
    fn the_dearest_over_the_cheapest_is_known_less_where_others_are_near_them() {
        let of_two = half_width(&[1.0, 4.0]);
        assert!((of_two - 0.1f64.hypot(0.1)).abs() < 1e-9, "{of_two}");
        assert!((half_width(&[1.0, 2.0, 4.0]) - of_two).abs() < 1e-9, "far from both");
        // z(1 - 0.05 / 3) / z(1 - 0.025) = 2.128045 / 1.959964 for each of the extremes.
        let of_three = half_width(&[1.0, 1.05, 1.1]);
        assert!((of_three / of_two - 1.085_757).abs() < 1e-4, "{of_three}");
    }

    #[test]
    fn the_shares_of_the_least_are_of_platforms_that_all_have_a_cost() {
        let shares = costs(&[4.0, 1.0]).shares_of_least().unwrap();
        assert_eq!(shares.iter().map(|share| share.value).collect::<Vec<_>>(), [0.25, 1.0]);
        assert_eq!(costs(&[0.0, 1.0]).shares_of_least(), None, "a unit costs nothing on one");
        let mut unknown = costs(&[4.0, 1.0]);
        unknown.uncertain[0] = None;
        assert_eq!(unknown.shares_of_least(), None);
    }
}
