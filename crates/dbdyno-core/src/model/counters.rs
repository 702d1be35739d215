//! Counters: named cumulative values of a database, an operating system or dbdyno's own process.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Named cumulative counters at one moment, or their difference over a period.
///
/// Names are the standard ones that `docs/counters.md` lists (`commits`, `logical_reads`,
/// `physical_reads`, `wal_bytes`, `os_cpu_user_s`, ...); the unit is in the name. A counter that
/// cannot be had is absent, never 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counters(pub BTreeMap<String, f64>);

/// Separator between a counter's name and the node that it belongs to.
const OF_NODE: char = '@';

impl Counters {
    /// The value of `name`, if it is known.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }
    /// Sets `name` to `value`.
    pub fn set(&mut self, name: impl Into<String>, value: f64) {
        self.0.insert(name.into(), value);
    }
    /// Adds every counter of `other` to the one of the same name (absent counts as 0).
    pub fn add(&mut self, other: &Counters) {
        for (name, value) in &other.0 {
            *self.0.entry(name.clone()).or_insert(0.0) += value;
        }
    }
    /// Takes off what `other` counted, of the counters that both have.
    pub fn subtract(&mut self, other: &Counters) {
        for (name, value) in &mut self.0 {
            *value -= other.get(name).unwrap_or(0.0);
        }
    }
    /// Takes over every counter of `other`, replacing those of the same name.
    pub fn extend(&mut self, other: Counters) {
        self.0.extend(other.0);
    }
    /// Adds the counters of one node of a cluster, beside those of all together.
    pub fn set_node(&mut self, node: &str, counters: &Counters) {
        counters
            .0
            .iter()
            .for_each(|(name, value)| self.set(format!("{name}{OF_NODE}{node}"), *value));
    }
    /// Takes out the counters of nodes, by the name of the node.
    pub fn take_nodes(&mut self) -> BTreeMap<String, Counters> {
        let mut nodes: BTreeMap<String, Counters> = BTreeMap::new();
        self.0.retain(|name, value| match name.split_once(OF_NODE) {
            Some((name, node)) => {
                nodes.entry(node.to_owned()).or_default().set(name, *value);
                false
            }
            None => true,
        });
        nodes
    }
    /// True if this is the name of a counter of one node.
    pub fn is_of_node(name: &str) -> bool {
        name.contains(OF_NODE)
    }
    /// `self - earlier` for every counter that both have.
    pub fn since(&self, earlier: &Counters) -> Counters {
        let both = self
            .0
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), value - earlier.get(name)?)));
        Counters(both.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_nodes_stand_beside_the_others_and_are_taken_out_again() {
        let commits = |value| Counters([("commits".to_owned(), value)].into());
        let mut all = commits(3.0);
        all.set_node("n1", &commits(1.0));
        all.set_node("a:5432", &commits(2.0));
        let nodes = all.take_nodes();
        assert_eq!(
            nodes,
            [("n1".to_owned(), commits(1.0)), ("a:5432".to_owned(), commits(2.0))].into()
        );
        assert_eq!(all, commits(3.0));
    }

    #[test]
    fn a_counter_missing_on_one_side_has_no_difference() {
        let mut begin = Counters::default();
        begin.set("commits", 10.0);
        let mut end = begin.clone();
        end.set("commits", 25.0);
        end.set("wal_bytes", 9.0);
        let delta = end.since(&begin);
        assert_eq!(delta.get("commits"), Some(15.0));
        assert_eq!(delta.get("wal_bytes"), None);
    }
}
