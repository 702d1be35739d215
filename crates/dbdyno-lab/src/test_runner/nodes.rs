//! Figures of each node of a cluster in a test: its jobs, and its own counters.

use std::collections::{BTreeMap, BTreeSet};

use super::assemble::total_rate;
use super::raw::Raw;
use dbdyno_core::model::{Counters, JobResult, NodeResult, Snapshot, SnapshotPoint};
use dbdyno_engines::engine::JobPlacement;

/// A gauge of a node: how far it is behind.
const LAG: &str = "replication_lag_s";

/// The counters of each node at a moment.
type OfNodes = BTreeMap<String, Counters>;

/// The figures of the nodes that jobs were dealt to, and of those that are missing. The nodes' own
/// counters leave the snapshots.
pub(super) fn node_figures(raw: &mut Raw, jobs: &[JobResult]) -> Vec<NodeResult> {
    let read: Vec<(SnapshotPoint, OfNodes)> = raw.snapshots.iter_mut().map(take_nodes).collect();
    let answered = |of: &OfNodes, name: &String| of.get(name).is_some_and(is_of_server);
    let is_read = |of: &OfNodes| of.values().any(is_of_server);
    let is_lost = |name: &String| read.iter().any(|(_, of)| is_read(of) && !answered(of, name));
    let known: BTreeSet<&String> = read.iter().flat_map(|(_, nodes)| nodes.keys()).collect();
    // Without jobs, but read with the others.
    let others = known.iter().copied().filter(|name| {
        !raw.placement.nodes.contains(*name) && !raw.placement.missing.contains(*name)
    });
    let idle: Vec<String> = others.filter(|name| is_lost(name)).cloned().collect();
    if !idle.is_empty() || raw.placement.nodes.iter().any(is_lost) {
        forget_sums(&mut raw.snapshots, &read);
    }
    let at = |moment| read.iter().find(|(at, _)| *at == moment).map(|(_, nodes)| nodes);
    let counted = |name: &str, from, to| match (at(from), at(to)) {
        (Some(from), Some(to)) => {
            from.get(name).zip(to.get(name)).map(|(from, to)| to.since(from)).unwrap_or_default()
        }
        _ => Counters::default(),
    };
    let present = raw.placement.nodes.iter().chain(&idle).map(|name| NodeResult {
        lag_s: [SnapshotPoint::WindowOpen, SnapshotPoint::WindowClose]
            .into_iter()
            .filter_map(|moment| at(moment)?.get(name)?.get(LAG))
            .reduce(f64::max),
        lost: is_lost(name),
        counters: counted(name, SnapshotPoint::Begin, SnapshotPoint::End),
        window_counters: counted(name, SnapshotPoint::WindowOpen, SnapshotPoint::WindowClose),
        ..of_jobs(name, &raw.placement, jobs)
    });
    let missing = raw.placement.missing.iter();
    let missing = missing.map(|name| NodeResult {
        name: name.clone(),
        missing: true,
        ..NodeResult::default()
    });
    present.chain(missing).collect()
}

/// True if the node itself told some of them, not only its machine.
fn is_of_server(counters: &Counters) -> bool {
    counters.0.keys().any(|name| !name.starts_with("os_"))
}

/// A sum over fewer nodes at the end than at the start says nothing.
fn forget_sums(snapshots: &mut [Snapshot], read: &[(SnapshotPoint, OfNodes)]) {
    let is_of_nodes = |name: &str| {
        read.iter().flat_map(|(_, nodes)| nodes.values()).any(|own| own.get(name).is_some())
    };
    snapshots
        .iter_mut()
        .for_each(|snapshot| snapshot.counters.0.retain(|name, _| !is_of_nodes(name)));
}

fn take_nodes(snapshot: &mut Snapshot) -> (SnapshotPoint, OfNodes) {
    (snapshot.moment, snapshot.counters.take_nodes())
}

/// Figures of the jobs of a node.
fn of_jobs(name: &str, placement: &JobPlacement, jobs: &[JobResult]) -> NodeResult {
    let own: Vec<JobResult> =
        jobs.iter().filter(|job| placement.node(job.job) == Some(name)).cloned().collect();
    NodeResult {
        name: name.to_owned(),
        jobs: own.len() as u32,
        ops: own.iter().map(|job| job.tally.ops).sum(),
        ops_per_s: total_rate(&own, &|job| job.tally.ops as f64),
        ..NodeResult::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::model::Tally;

    #[test]
    fn a_node_without_jobs_that_is_lost_is_named_and_no_sum_is_left() {
        let snapshot = |moment, nodes: &[&str]| {
            let own = Counters([("commits".to_owned(), 1.0)].into());
            let mut counters = Counters([("commits".to_owned(), nodes.len() as f64)].into());
            nodes.iter().for_each(|name| counters.set_node(name, &own));
            Snapshot { moment, t_s: 0.0, counters, cost_ms: 0.0 }
        };
        let figures = |end: &[&str]| {
            let placement = JobPlacement { nodes: vec!["n1".into()], missing: Vec::new() };
            let snapshots = vec![
                snapshot(SnapshotPoint::Begin, &["n1", "n2"]),
                snapshot(SnapshotPoint::End, end),
            ];
            let mut raw = Raw { placement, snapshots, ..Raw::default() };
            let nodes = node_figures(&mut raw, &[]);
            let told: Vec<_> = nodes.iter().map(|node| (node.name.clone(), node.lost)).collect();
            (told, raw.snapshots[1].counters.get("commits"))
        };
        assert_eq!(figures(&["n1", "n2"]), (vec![("n1".to_owned(), false)], Some(2.0)));
        assert_eq!(
            figures(&["n1"]),
            (vec![("n1".to_owned(), false), ("n2".to_owned(), true)], None)
        );
    }

    #[test]
    fn each_node_has_its_jobs_and_its_counters_and_a_missing_one_none() {
        let placement =
            JobPlacement { nodes: vec!["n1".into(), "n2".into()], missing: vec!["n3".into()] };
        let snapshot = |moment, commits: [f64; 2]| {
            let mut counters = Counters([("commits".to_owned(), commits[0] + commits[1])].into());
            for (name, commits) in ["n1", "n2"].into_iter().zip(commits) {
                counters.set_node(
                    name,
                    &Counters([("commits".to_owned(), commits), (LAG.to_owned(), 0.5)].into()),
                );
            }
            Snapshot { moment, t_s: 0.0, counters, cost_ms: 0.0 }
        };
        let moments = [
            SnapshotPoint::Begin,
            SnapshotPoint::WindowOpen,
            SnapshotPoint::WindowClose,
            SnapshotPoint::End,
        ];
        let commits = [[10.0, 20.0], [12.0, 21.0], [16.0, 24.0], [17.0, 25.0]];
        let snapshots = moments
            .into_iter()
            .zip(commits)
            .map(|(moment, commits)| snapshot(moment, commits))
            .collect();
        let mut raw = Raw { placement, snapshots, ..Raw::default() };
        let job = |job, ops| {
            let tally = Tally { ops, ..Tally::default() };
            JobResult { job, part: 0, tally, units: 0.0, elapsed_s: 2.0 }
        };
        let nodes = node_figures(&mut raw, &[job(1, 4), job(2, 6), job(3, 8)]);
        let of = |at: usize| {
            (nodes[at].name.as_str(), nodes[at].jobs, nodes[at].ops, nodes[at].ops_per_s)
        };
        assert_eq!(
            [of(0), of(1), of(2)],
            [("n1", 2, 12, 6.0), ("n2", 1, 6, 3.0), ("n3", 0, 0, 0.0)]
        );
        let commits = |at: usize| {
            (nodes[at].counters.get("commits"), nodes[at].window_counters.get("commits"))
        };
        assert_eq!([commits(0), commits(1)], [(Some(7.0), Some(4.0)), (Some(5.0), Some(3.0))]);
        assert!(nodes[2].missing && nodes[0].lag_s == Some(0.5));
        assert_eq!(raw.snapshots[0].counters.0.len(), 1, "only those of all together are left");
    }
}
