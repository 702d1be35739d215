//! The counters of every second of a test: numbers only, so that an hour of them takes little
//! memory.

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
            let growth = order.iter().map(|at| of(&pair[1], *at) - of(&pair[0], *at)).collect();
            (pair[0].t_s, pair[1].t_s, NamedValues::new(&names, growth))
        })
    }
}

#[cfg(test)]
mod tests {
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
}
