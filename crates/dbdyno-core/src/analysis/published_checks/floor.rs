//! A column that shows the timing floor: platforms of different speed with nearly the same few
//! values, because every test took the shortest time that the suite's clock can show.

use super::{Cell, Slip, same_row};
use crate::model::{Reason, ReasonCode, Sentence, Status};

/// Minimum number of platforms in a row that show a floor.
const FEWEST: usize = 4;
/// Values within this fraction of the best lie at the floor.
const NEAR: f64 = 0.15;
/// Share of the platforms that must be at the floor.
const SHARE: f64 = 0.8;
/// Maximum number of different values of these platforms, as a fraction of their number.
const DISTINCT: f64 = 0.6;
/// Number of different values up to which no other sign is required.
const FEW: usize = 3;
/// Shortest and longest floor looked for, in units of the clock.
const UNITS: std::ops::RangeInclusive<u32> = 5..=60;

/// The figures at a floor.
pub(super) fn judge<'a>(cells: &[Cell<'a>]) -> Vec<Slip<'a>> {
    let mut found = Vec::new();
    for (at, first) in cells.iter().enumerate() {
        if cells[..at].iter().any(|earlier| same_row(earlier, first)) {
            continue;
        }
        let row: Vec<Cell<'a>> =
            cells.iter().filter(|cell| same_row(cell, first)).copied().collect();
        let values: Vec<f64> = row.iter().map(|cell| cell.value).collect();
        if let Some(floor) = floor(&values) {
            let sentence = floor.sentence(row.len());
            let near = row.into_iter().filter(|cell| cell.value >= floor.lowest);
            let reason = Reason::new(Status::Conditional, ReasonCode::TimingFloor, sentence);
            found.extend(near.map(|cell| Slip { cell, reason: reason.clone() }));
        }
    }
    found
}

/// Evidence of a row at the floor of a clock.
#[derive(Debug, PartialEq)]
struct Floor {
    /// The lowest value at the floor.
    lowest: f64,
    near: usize,
    distinct: usize,
    /// The shortest whole number of clock units that explains the values: they are best * units /
    /// whole numbers.
    units: Option<u32>,
}

impl Floor {
    fn sentence(&self, platforms: usize) -> Sentence {
        let sentence = match self.units {
            Some(units) => Sentence::new(
                "{near} of {platforms} platforms show only {distinct} different values within \
                 {within%}, in the ratio of whole clock units from {units} on: the row shows the \
                 shortest time that was measured, not the platforms; a lower bound",
            )
            .with("units", units),
            None => Sentence::new(
                "{near} of {platforms} platforms show only {distinct} different values within \
                 {within%}: the row shows the shortest time that was measured, not the platforms; \
                 a lower bound",
            ),
        };
        let counts = [("near", self.near), ("platforms", platforms), ("distinct", self.distinct)];
        counts
            .into_iter()
            .fold(sentence, |sentence, (name, count)| sentence.with(name, count))
            .with("within", NEAR)
    }
}

fn floor(values: &[f64]) -> Option<Floor> {
    let best = values.iter().copied().fold(0.0, f64::max);
    let mut near: Vec<f64> =
        values.iter().copied().filter(|value| *value >= best * (1.0 - NEAR)).collect();
    near.sort_by(f64::total_cmp);
    let count = near.len();
    let lowest = near.first().copied()?;
    let units = clock_units(best, &near);
    near.dedup();
    let piled =
        count as f64 >= SHARE * values.len() as f64 && near.len() as f64 <= DISTINCT * count as f64;
    let clocked = near.len() <= FEW || units.is_some();
    (values.len() >= FEWEST && piled && clocked).then_some(Floor {
        lowest,
        near: count,
        distinct: near.len(),
        units,
    })
}

/// The floor of which all values are whole-numbered fractions, within what rounding to three digits
/// allows: the one that fits best. Values that are all equal do not show a clock.
fn clock_units(best: f64, values: &[f64]) -> Option<u32> {
    const ROUNDING: f64 = 0.006;
    let time = |units: u32, value: f64| f64::from(units) * best / value;
    let misfit = |units: u32| {
        values.iter().map(|value| (time(units, *value) - time(units, *value).round()).abs()).sum()
    };
    let fits = |units: &u32| {
        let whole = |time: f64| (time - time.round()).abs() <= ROUNDING * time;
        values.iter().all(|value| whole(time(*units, *value)))
    };
    let varied = values.iter().any(|value| *value < best);
    let fitting = UNITS.filter(fits).filter(|_| varied);
    fitting.min_by(|a, b| f64::total_cmp(&misfit(*a), &misfit(*b)))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::published as test;
    use super::super::of_tables;
    use super::*;
    use crate::model::PublishedKind;

    #[test]
    fn few_values_at_the_top_are_a_floor_and_platforms_that_differ_are_none() {
        // 64 x 65536 lookups in 20 or 21 s on seven platforms of two makes.
        let floored = floor(&[210.0, 200.0, 210.0, 175.0, 200.0, 210.0, 210.0]).unwrap();
        assert_eq!((floored.near, floored.distinct, floored.lowest), (6, 2, 200.0));
        // 125000 rows in 20 to 23 s: four values, which show the clock.
        let clocked = floor(&[5950.0, 6250.0, 5430.0, 5680.0, 6250.0, 5950.0, 5680.0]).unwrap();
        assert_eq!((clocked.distinct, clocked.units), (4, Some(20)));
        // Arithmetic on the same platforms, in whole seconds too but far from any floor.
        assert_eq!(floor(&[10159.0, 9412.0, 9412.0, 8312.0, 10323.0, 10323.0, 9846.0]), None);
        assert_eq!(
            floor(&[153846.0, 172043.0, 170213.0, 166667.0, 179775.0, 181818.0, 181818.0]),
            None
        );
        assert_eq!(floor(&[210.0, 210.0, 210.0]), None);
    }

    #[test]
    fn only_the_cells_at_the_floor_are_marked() {
        let column = [210.0, 210.0, 210.0, 210.0, 120.0];
        let runs = column
            .map(|value| vec![test("T1", PublishedKind::Throughput, 0, &[("rows_per_s", value)])]);
        let found = of_tables(&runs.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let codes: Vec<usize> = found.iter().map(|run| run[0].len()).collect();
        assert_eq!(codes, [1, 1, 1, 1, 0]);
        assert_eq!(found[0][0][0].code, ReasonCode::TimingFloor);
    }
}
