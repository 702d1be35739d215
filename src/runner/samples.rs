//! The counters of every second of a test: numbers only, so that an hour of them takes little
//! memory.

use crate::model::Counters;

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
        let is_new = |name: &String| !self.names.contains(name) && !Counters::is_of_node(name);
        for (name, value) in counters.0.iter().filter(|(name, _)| is_new(name)).collect::<Vec<_>>()
        {
            self.names.push(name.clone());
            values.push(*value);
        }
        self.readings.push(Reading { t_s, values: values.into() });
    }

    /// Each interval between two readings: from, to, and by how much the counters grew that both
    /// have.
    pub fn intervals(&self) -> impl Iterator<Item = (f64, f64, Counters)> + '_ {
        self.readings.windows(2).map(|pair| {
            let [before, after] = [&pair[0], &pair[1]].map(|reading| self.counters(reading));
            (pair[0].t_s, pair[1].t_s, after.since(&before))
        })
    }

    fn counters(&self, reading: &Reading) -> Counters {
        let known = self.names.iter().zip(&reading.values).filter(|(_, value)| !value.is_nan());
        Counters(known.map(|(name, value)| (name.clone(), *value)).collect())
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
            .map(|pair| (pair[0].0, pair[1].0, pair[1].1.since(&pair[0].1)))
            .collect();
        assert_eq!(samples.intervals().collect::<Vec<_>>(), by_hand);
    }
}
