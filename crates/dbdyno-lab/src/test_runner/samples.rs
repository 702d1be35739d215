//! The counters of every second of a test: numbers only, so that an hour of them takes little
//! memory.

use std::collections::BTreeSet;

use dbdyno_core::model::{Counters, NamedValues, Names};

/// Readings in the order of time.
#[derive(Debug, Default)]
pub struct Samples {
    /// Names of all counters that were read so far, in the order of the values.
    names: Vec<String>,
    readings: Vec<Reading>,
}

#[derive(Debug)]
struct Reading {
    t_s: f64,
    /// One per name, not a number where it was not read; counters that came later have none here.
    values: Box<[f64]>,
}

impl Samples {
    /// Adds cumulative counters that were read `t_s` seconds after the gate.
    pub fn push(&mut self, t_s: f64, counters: &Counters) {
        let mut values: Vec<f64> =
            self.names.iter().map(|name| counters.get(name).unwrap_or(f64::NAN)).collect();
        // Mostly all are known, and that is seen at once.
        let known = values.iter().filter(|value| !value.is_nan()).count();
        if known < counters.0.len() {
            let is_new = |name: &String| !self.names.contains(name) && !Counters::is_of_node(name);
            let new: Vec<_> = counters.0.iter().filter(|(name, _)| is_new(name)).collect();
            for (name, value) in new {
                self.names.push(name.clone());
                values.push(*value);
            }
        }
        self.readings.push(Reading { t_s, values: values.into() });
    }

    /// Each interval between two readings: from, to, and by how much the counters grew that both
    /// have.
    pub fn intervals(&self) -> impl Iterator<Item = (f64, f64, NamedValues)> + '_ {
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.sort_by_key(|at| &self.names[*at]);
        let names: Names = order.iter().map(|at| self.names[*at].clone()).collect();
        self.readings.windows(2).map(move |pair| {
            let of = |reading: &Reading, at| reading.values.get(at).copied().unwrap_or(f64::NAN);
            let growth = order
                .iter()
                .map(|at| growth(&self.names[*at], of(&pair[0], *at), of(&pair[1], *at)))
                .collect();
            (pair[0].t_s, pair[1].t_s, NamedValues::new(&names, growth))
        })
    }

    /// Names of the counters that somebody reset between two moments, also if they have grown
    /// beyond their former values since. Those that go with their tables are left out.
    pub fn find_reset(&self, from_s: f64, to_s: f64) -> BTreeSet<&str> {
        let pairs =
            self.readings.windows(2).filter(|pair| pair[1].t_s > from_s && pair[0].t_s < to_s);
        let mut found = BTreeSet::new();
        for pair in pairs {
            for ((from, to), name) in pair[0].values.iter().zip(&pair[1].values).zip(&self.names) {
                if Counters::is_reset(name, *from, *to) && !Counters::is_of_tables(name) {
                    found.insert(name.as_str());
                }
            }
        }
        found
    }
}

/// Growth of a counter; unknown, not a number, if it was reset.
fn growth(name: &str, from: f64, to: f64) -> f64 {
    if Counters::is_reset(name, from, to) { f64::NAN } else { to - from }
}

#[cfg(test)]
mod tests {
    use dbdyno_core::model::Named;

    use super::*;

    fn counters(pairs: &[(&str, f64)]) -> Counters {
        Counters(pairs.iter().map(|(name, value)| (name.to_string(), *value)).collect())
    }

    #[test]
    fn counters_that_come_and_go_are_known_where_both_readings_have_them() {
        let read = [
            (0.0, counters(&[("b", 1.0)])),
            (1.0, counters(&[("a", 5.0), ("b", 3.0)])),
            (2.5, counters(&[("a", 9.0)])),
            (3.0, counters(&[("a", 9.0), ("b", 4.0), ("c", 1.0)])),
        ];
        let mut samples = Samples::default();
        read.iter().for_each(|(t_s, counters)| samples.push(*t_s, counters));
        let by_hand: Vec<_> = read
            .windows(2)
            .map(|pair| (pair[0].0, pair[1].0, pair[1].1.since(&pair[0].1).into()))
            .collect();
        assert_eq!(samples.intervals().collect::<Vec<_>>(), by_hand);
    }
    #[test]
    fn a_counter_that_was_reset_is_found_also_if_it_has_grown_since() {
        let commits = [500.0, 900.0, 10.0, 800.0, 1300.0];
        let mut samples = Samples::default();
        for (at, commits) in commits.into_iter().enumerate() {
            // Free memory falls by itself, and rows go with their table.
            let read = counters(&[
                ("commits", commits),
                ("os_mem_available_bytes", 1e9 - commits),
                ("rows_inserted", commits),
            ]);
            samples.push(at as f64, &read);
        }
        assert_eq!(samples.find_reset(0.0, 4.0), BTreeSet::from(["commits"]));
        assert_eq!(samples.find_reset(2.0, 4.0), BTreeSet::new());
        let growth: Vec<Option<f64>> =
            samples.intervals().map(|(_, _, grown)| grown.get("commits")).collect();
        assert_eq!(growth, [Some(400.0), None, Some(790.0), Some(500.0)]);
    }
}
