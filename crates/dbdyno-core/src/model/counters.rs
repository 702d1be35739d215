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

/// Beginnings of the names of values that may fall: gauges, and what the system counts of a host
/// and of processes, which begins anew with these and is partly an estimate.
const MAY_FALL: [&str; 11] = [
    "cache_lock",
    "debt_",
    "device_",
    "durable",
    "instruments",
    "os_",
    "replication_lag_s",
    "self_",
    "server_",
    "table_bytes",
    "watch_",
];

/// Counters that a database may keep by table: those of a table that is dropped go with it. Where
/// it keeps them for the whole server, our own readings count in them and are subtracted.
const OF_TABLES: [&str; 7] = [
    "index_scans",
    "rows_deleted",
    "rows_fetched",
    "rows_inserted",
    "rows_returned",
    "rows_updated",
    "seq_scans",
];
/// Events of our own readings of which it is not known on which side of another reading they fall.
const OWN_EVENTS: f64 = 100.0;

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
    /// True if a value of this name may fall without anybody having reset it.
    pub fn may_fall(name: &str) -> bool {
        MAY_FALL.iter().any(|begin| name.starts_with(begin))
    }
    /// True if a counter of this name may go with the table that it is of.
    pub fn is_of_tables(name: &str) -> bool {
        OF_TABLES.contains(&name)
    }
    /// True if a counter fell though it cannot: somebody has reset it, or it began anew.
    pub fn is_reset(name: &str, from: f64, to: f64) -> bool {
        let doubt = if Self::is_of_tables(name) { OWN_EVENTS } else { 0.0 };
        to < from - doubt && !Self::may_fall(name)
    }
    /// `self - earlier` for every counter that both have. One that was reset has no difference.
    pub fn since(&self, earlier: &Counters) -> Counters {
        let growth = |(name, value): (&String, &f64)| {
            let before = earlier.get(name)?;
            (!Self::is_reset(name, before, *value)).then(|| (name.clone(), value - before))
        };
        Counters(self.0.iter().filter_map(growth).collect())
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
    #[test]
    fn a_counter_that_fell_has_no_difference_and_a_gauge_has() {
        let read = |value| {
            let names = ["commits", "index_scans", "debt_undo", "os_cpu_iowait_s", "commits@n1"];
            Counters(names.map(|name| (name.to_owned(), value)).into())
        };
        let known = |from, to| {
            let growth = read(to).since(&read(from)).0;
            growth.into_iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>()
        };
        assert_eq!(known(900.0, 700.0), ["debt_undo -200", "os_cpu_iowait_s -200"]);
        let own = ["debt_undo -2", "index_scans -2", "os_cpu_iowait_s -2"];
        assert_eq!(known(9.0, 7.0), own, "readings of our own are subtracted");
        assert_eq!(known(9.0, 9.0).len(), 5, "one that stood still is known");
    }
}
