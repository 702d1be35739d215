//! The database's counters of a cluster: those of each node, and of all together.

use super::{Probe, SqlProbe};
use crate::model::Counters;

/// Gauges that hold for all nodes if they hold for each.
const LEAST: [&str; 1] = ["durable"];
/// Counters whose greatest value is that of the cluster: a gauge, and rows that every node changes which has them from another.
const MOST: [&str; 4] = ["instruments", "rows_inserted", "rows_updated", "rows_deleted"];

/// A probe for each node. One that no longer answers is left out from then on: a sum over fewer nodes is none over all, and the
/// test in which that happens has lost a node.
pub struct NodesProbe {
    nodes: Vec<(String, SqlProbe)>,
}

impl NodesProbe {
    /// The probes of nodes by their names.
    pub fn new(nodes: Vec<(String, SqlProbe)>) -> Self {
        NodesProbe { nodes }
    }
}

impl Probe for NodesProbe {
    fn name(&self) -> &'static str {
        "sql"
    }
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        let (mut read, mut outcome) = (Vec::new(), Ok(()));
        self.nodes.retain_mut(|(name, probe)| {
            let mut own = Counters::default();
            outcome = outcome.clone().and(probe.read(&mut own).map_err(|why| format!("node {name}: {why}")));
            let answers = !own.0.is_empty();
            if answers {
                read.push((name.clone(), own));
            }
            answers
        });
        counters.extend(together(&read.iter().map(|(_, own)| own).collect::<Vec<_>>()));
        read.iter().for_each(|(name, own)| counters.set_node(name, own));
        outcome
    }
    fn settle(&mut self) {
        self.nodes.iter_mut().for_each(|(_, probe)| probe.settle());
    }
}

/// The counters that every node has, of all nodes.
fn together(nodes: &[&Counters]) -> Counters {
    let Some((first, others)) = nodes.split_first() else { return Counters::default() };
    let of_all = |(name, value): (&String, &f64)| {
        let others = others.iter().map(|counters| counters.get(name)).collect::<Option<Vec<f64>>>()?;
        let combine = match name.as_str() {
            name if LEAST.contains(&name) => f64::min,
            name if MOST.contains(&name) => f64::max,
            _ => |a: f64, b: f64| a + b,
        };
        Some((name.clone(), others.into_iter().fold(*value, combine)))
    };
    Counters(first.0.iter().filter_map(of_all).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_add_up_gauges_do_not_and_what_a_node_does_not_tell_is_unknown() {
        let counters = |pairs: &[(&str, f64)]| Counters(pairs.iter().map(|(n, v)| (n.to_string(), *v)).collect());
        let one = counters(&[("commits", 3.0), ("durable", 1.0), ("instruments", 0.0), ("wal_bytes", 7.0)]);
        let other = counters(&[("commits", 4.0), ("durable", 0.0), ("instruments", 1.0)]);
        let expected = counters(&[("commits", 7.0), ("durable", 0.0), ("instruments", 1.0)]);
        assert_eq!(together(&[&one, &other]), expected);
        assert_eq!(together(&[]), Counters::default());
    }
}
