//! The database's counters of a cluster: those of each node, and of all together.

use std::collections::BTreeMap;

use super::{Probe, RemoteHost, SqlProbe};
use dbdyno_core::model::{Counters, Disclosure};

/// Gauges that hold for all nodes if they hold for each.
const LEAST: [&str; 1] = ["durable"];
/// Counters whose greatest value is that of the cluster: a gauge, and rows that every node changes
/// which has them from another.
const MOST: [&str; 5] =
    ["os_elsewhere", "instruments", "rows_inserted", "rows_updated", "rows_deleted"];

/// A probe for each node. One that no longer answers is left out from then on, and the sums are
/// those of the others: the difference of one with a sum of before says nothing. So the reading
/// beside jobs that finds the loss has no sums, and the test in which it happens forgets those of
/// its snapshots; the next test runs on the others alone.
pub struct NodesProbe {
    nodes: Vec<(String, SqlProbe)>,
}

impl NodesProbe {
    /// The probes of nodes by their names.
    pub fn new(nodes: Vec<(String, SqlProbe)>) -> Self {
        NodesProbe { nodes }
    }

    /// Reads the counters of every node as `read` does.
    fn read_nodes(
        &mut self,
        read: fn(&mut SqlProbe, &mut Counters) -> Result<(), String>,
        counters: &mut Counters,
    ) -> Result<(), String> {
        let (mut told, mut outcome) = (Vec::new(), Ok(()));
        self.nodes.retain_mut(|(name, probe)| {
            let mut own = Counters::default();
            outcome = outcome
                .clone()
                .and(read(probe, &mut own).map_err(|why| format!("node {name}: {why}")));
            let answers = !own.0.is_empty();
            if answers {
                told.push((name.clone(), own));
            }
            answers
        });
        counters.extend(together(&told.iter().map(|(_, own)| own).collect::<Vec<_>>()));
        told.iter().for_each(|(name, own)| counters.set_node(name, own));
        outcome
    }
}

impl Probe for NodesProbe {
    fn name(&self) -> &'static str {
        "sql"
    }
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        self.read_nodes(SqlProbe::read, counters)
    }
    fn read_beside_jobs(&mut self, counters: &mut Counters) -> Result<(), String> {
        let (mut read, nodes) = (Counters::default(), self.nodes.len());
        let outcome = self.read_nodes(SqlProbe::read_beside_jobs, &mut read);
        if self.nodes.len() < nodes {
            read.0.retain(|name, _| Counters::is_of_node(name));
        }
        counters.extend(read);
        outcome
    }
    fn settle(&mut self) {
        self.nodes.iter_mut().for_each(|(_, probe)| probe.settle());
    }
}

/// Facts of the machines of nodes that add up; others are those of each.
const SUMMED: [&str; 5] = ["sockets", "cores", "threads", "processors", "memory_mb"];

/// The machines of the nodes.
pub struct NodeHosts {
    hosts: Vec<(String, RemoteHost)>,
    /// Number of nodes of the cluster: without the counters of each there is no sum.
    nodes: usize,
}

impl NodeHosts {
    /// The known hosts by the names of their nodes, for a cluster of `nodes` nodes.
    pub fn new(hosts: Vec<(String, RemoteHost)>, nodes: usize) -> Self {
        NodeHosts { hosts, nodes }
    }

    /// Facts about the machines: of each, and in sum.
    pub fn disclosure(&self) -> Disclosure {
        all_machines(
            &self
                .hosts
                .iter()
                .map(|(name, host)| (name.as_str(), host.disclosure()))
                .collect::<Vec<_>>(),
            self.nodes,
        )
    }
}

impl Probe for NodeHosts {
    fn name(&self) -> &'static str {
        "host"
    }
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        let (mut read, mut outcome) = (Vec::new(), Ok(()));
        for (name, host) in &mut self.hosts {
            let mut own = Counters::default();
            match host.read(&mut own) {
                Ok(()) => read.push((name.clone(), own)),
                Err(why) => outcome = outcome.and(Err(format!("node {name}: {why}"))),
            }
        }
        if read.len() == self.nodes {
            counters.extend(together(&read.iter().map(|(_, own)| own).collect::<Vec<_>>()));
        }
        read.iter().for_each(|(name, own)| counters.set_node(name, own));
        outcome
    }
}

/// Facts of all machines: equal ones once, sizes in sum if all are known, others with the names of
/// the nodes.
fn all_machines(hosts: &[(&str, &Disclosure)], nodes: usize) -> Disclosure {
    let mut all = Disclosure::default();
    let mut by_fact: BTreeMap<(&str, &str), Vec<(&str, &str)>> = BTreeMap::new();
    for (node, disclosure) in hosts {
        for (section, facts) in &disclosure.0 {
            let of_node = facts
                .iter()
                .map(|(key, value)| ((section.as_str(), key.as_str()), (*node, value.as_str())));
            of_node.for_each(|(fact, value)| by_fact.entry(fact).or_default().push(value));
        }
    }
    for ((section, key), values) in by_fact {
        let numbers: Option<Vec<f64>> =
            values.iter().map(|(_, value)| value.parse().ok()).collect();
        let sum = numbers.filter(|numbers| SUMMED.contains(&key) && numbers.len() == nodes);
        let is_equal =
            !SUMMED.contains(&key) && values.iter().all(|(_, value)| *value == values[0].1);
        let each = || {
            values
                .iter()
                .map(|(node, value)| format!("{node}: {value}"))
                .collect::<Vec<_>>()
                .join("; ")
        };
        let text = match sum {
            Some(numbers) => numbers.iter().sum::<f64>().to_string(),
            None if is_equal && values.len() == nodes => values[0].1.to_owned(),
            None => each(),
        };
        all.set(section, key, text);
    }
    all
}

/// The counters that every node has, of all nodes.
fn together(nodes: &[&Counters]) -> Counters {
    let Some((first, others)) = nodes.split_first() else { return Counters::default() };
    let mut all = Counters::default();
    for (name, value) in &first.0 {
        let others: Option<Vec<f64>> = others.iter().map(|counters| counters.get(name)).collect();
        let Some(others) = others else { continue };
        let combine = match name.as_str() {
            name if LEAST.contains(&name) => f64::min,
            name if MOST.contains(&name) => f64::max,
            _ => |a: f64, b: f64| a + b,
        };
        all.set(name, others.into_iter().fold(*value, combine));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{EngineError, ErrorClass, Rows, Session};
    use dbdyno_core::sql::parse_blocks;

    /// A node that has so many more commits whenever it is asked, and is gone after so many
    /// answers.
    struct Node {
        answers: u32,
        given: u32,
    }

    impl Session for Node {
        fn execute(&mut self, _: &str) -> Result<u64, EngineError> {
            Ok(0)
        }
        fn query(&mut self, _: &str, _: &[i64]) -> Result<Rows, EngineError> {
            if self.given == self.answers {
                return Err(EngineError::new(ErrorClass::Lost, "gone"));
            }
            self.given += 1;
            let value = Some((100 * self.given).to_string());
            Ok(Rows { columns: vec!["commits".into()], rows: vec![vec![value]] })
        }
    }

    #[test]
    fn a_sum_over_fewer_nodes_is_never_held_against_one_over_all() {
        let blocks = parse_blocks("probes.sql", "-- name: counters.all\nselect 1").unwrap();
        let blocks: Vec<_> = blocks.iter().collect();
        let nodes = [("n1", 10), ("n2", 2)].map(|(name, answers)| {
            (name.to_owned(), SqlProbe::new(Box::new(Node { answers, given: 0 }), &blocks))
        });
        let mut probe = NodesProbe::new(nodes.into());
        let (mut told, mut failed) = (Vec::new(), 0);
        for _ in 0..5 {
            let mut counters = Counters::default();
            failed += u32::from(probe.read_beside_jobs(&mut counters).is_err());
            told.push([counters.get("commits"), counters.get("commits@n1")]);
        }
        let expected = [
            [Some(200.0), Some(100.0)],
            [Some(400.0), Some(200.0)],
            [None, Some(300.0)],
            [Some(400.0), Some(400.0)],
            [Some(500.0), Some(500.0)],
        ];
        assert_eq!((told.as_slice(), failed), (&expected[..], 1));
    }

    #[test]
    fn machines_are_told_in_sum_and_each() {
        let machine = |cores: &str, kernel: &str| {
            let mut machine = Disclosure::default();
            [("cores", cores), ("kernel", kernel), ("system", "x")]
                .into_iter()
                .for_each(|(key, value)| machine.set("hardware", key, value));
            machine
        };
        let (one, other) = (machine("2", "6.1"), machine("4", "6.12"));
        let fact = |all: &Disclosure, key: &str| all.get("hardware", key).unwrap().to_owned();
        let all = all_machines(&[("n1", &one), ("n2", &other)], 2);
        assert_eq!(
            [fact(&all, "cores"), fact(&all, "kernel"), fact(&all, "system")],
            ["6", "n1: 6.1; n2: 6.12", "x"]
        );
        let half = all_machines(&[("n1", &one)], 2);
        assert_eq!([fact(&half, "cores"), fact(&half, "system")], ["n1: 2", "n1: x"]);
    }

    #[test]
    fn counters_add_up_gauges_do_not_and_what_a_node_does_not_tell_is_unknown() {
        let counters = |pairs: &[(&str, f64)]| {
            Counters(pairs.iter().map(|(n, v)| (n.to_string(), *v)).collect())
        };
        let one = counters(&[
            ("commits", 3.0),
            ("durable", 1.0),
            ("instruments", 0.0),
            ("wal_bytes", 7.0),
        ]);
        let other = counters(&[("commits", 4.0), ("durable", 0.0), ("instruments", 1.0)]);
        let expected = counters(&[("commits", 7.0), ("durable", 0.0), ("instruments", 1.0)]);
        assert_eq!(together(&[&one, &other]), expected);
        assert_eq!(together(&[]), Counters::default());
    }
}
