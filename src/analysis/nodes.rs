//! What is said of the nodes of a cluster.

use std::collections::BTreeMap;

use crate::model::params::{NODES, assignments};
use crate::model::{NodeFigures, Reason, ReasonCode, Sentence, Status, Test, TestResult};

/// Share of the window in which a node may hold up those that write.
const MOST_PAUSED: f64 = 0.05;

/// What is said of a test on a cluster: nodes that are missing, and that all are on one host.
pub fn judge(result: &TestResult, is_one_host: bool) -> Vec<Reason> {
    let nodes = &result.node_figures;
    let asked = result.params.get(NODES).and_then(|nodes| nodes.parse::<usize>().ok());
    let there = nodes.iter().filter(|node| !node.missing).count();
    let is_too_few = asked.is_some_and(|asked| there < asked);
    let mut reasons: Vec<Reason> = nodes.iter().filter_map(|node| gone(node, is_too_few)).collect();
    reasons.extend(nodes.iter().filter_map(|node| paused(node, result.window_s)));
    if is_one_host && there > 1 {
        let sentence = Sentence::new("all {nodes} nodes are on one host and share its processors");
        let sentence = sentence.with("nodes", there as f64);
        reasons.push(Reason::new(Status::Valid, ReasonCode::SharedHost, sentence));
    }
    reasons
}

/// Share of the window in which the node let nobody write, since another had not applied what was sent.
pub fn paused_share(node: &NodeFigures, window_s: f64) -> Option<f64> {
    Some(node.window_counters.get("flow_control_paused_s")? / window_s).filter(|share| share.is_finite())
}

fn paused(node: &NodeFigures, window_s: f64) -> Option<Reason> {
    let share = paused_share(node, window_s).filter(|share| *share > MOST_PAUSED)?;
    let said = "flow control paused node {node} for {share%} of the window, more than {limit%}: a node applies less than is written";
    let sentence = Sentence::new(said).with("node", node.name.as_str()).with("share", share).with("limit", MOST_PAUSED);
    Some(Reason::new(Status::Conditional, ReasonCode::FlowControl, sentence))
}

/// A workload on several nodes against one node of the same cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeScaling {
    pub label: String,
    pub nodes: u32,
    /// Of the best test on these nodes.
    pub jobs: u32,
    pub ops_per_s: f64,
    pub status: Status,
    /// Throughput over that of as many single nodes, and half of its 95 % interval.
    pub scaling: Option<f64>,
    pub half_width: Option<f64>,
    /// Of a workload that commits: its mean service time over that on one node with as many jobs per node.
    pub tax: Option<f64>,
}

/// Every workload that was measured on several numbers of nodes.
pub fn node_scaling(tests: &[Test]) -> Vec<NodeScaling> {
    let mut groups: BTreeMap<(String, &str), Vec<&TestResult>> = BTreeMap::new();
    for test in tests.iter().filter_map(Test::measured).filter(|test| test.ops_per_s > 0.0) {
        let chosen = test.chosen.iter().filter(|(name, _)| *name != NODES);
        let label = [test.workload.clone(), assignments(chosen, " ")].join(" ").trim().to_owned();
        groups.entry((label, test.drive.name())).or_default().push(test);
    }
    let several = groups.into_iter().filter(|(_, tests)| tests.iter().any(|test| test.nodes != tests[0].nodes));
    several.flat_map(|((label, _), tests)| of_group(&label, &tests)).collect()
}

fn of_group(label: &str, tests: &[&TestResult]) -> Vec<NodeScaling> {
    let mut best: BTreeMap<u32, &TestResult> = BTreeMap::new();
    for test in tests {
        let known = best.entry(test.nodes).or_insert(test);
        let rank = |test: &TestResult| (test.verdict.status != Status::Invalid, test.ops_per_s);
        if rank(test) > rank(known) {
            *known = test;
        }
    }
    let one = best.get(&1).copied();
    let line = |(nodes, test): (&u32, &&TestResult)| {
        let scaling = one.map(|one| test.ops_per_s / (f64::from(*nodes) * one.ops_per_s));
        let widths = one.and_then(|one| Some(one.ci_fraction?.hypot(test.ci_fraction?)));
        NodeScaling {
            label: label.to_owned(),
            nodes: *nodes,
            jobs: test.jobs,
            ops_per_s: test.ops_per_s,
            status: test.verdict.status.max(one.map_or(Status::Valid, |one| one.verdict.status)),
            half_width: scaling.zip(widths).filter(|_| *nodes > 1).map(|(scaling, width)| scaling * width),
            scaling,
            tax: tax(tests, *nodes),
        }
    };
    best.iter().map(line).collect()
}

/// At the fewest jobs per node that were measured on both.
fn tax(tests: &[&TestResult], nodes: u32) -> Option<f64> {
    let commits = tests.iter().filter(|test| test.window.commits > 0);
    let on = |nodes: u32, jobs: u32| commits.clone().find(|test| (test.nodes, test.jobs) == (nodes, jobs));
    let mut pairs: Vec<(&&TestResult, &&TestResult)> = commits
        .clone()
        .filter(|test| test.nodes == 1)
        .filter_map(|one| Some((one, on(nodes, nodes * one.jobs)?)))
        .collect();
    pairs.sort_by_key(|(one, _)| one.jobs);
    let (one, many) = pairs.first()?;
    Some(many.latency.mean_us? / one.latency.mean_us?)
}

/// Why a node was not there all the time.
fn gone(node: &NodeFigures, is_too_few: bool) -> Option<Reason> {
    let (status, said) = match node {
        NodeFigures { lost: true, .. } => (Status::Invalid, "node {node} was lost in the test"),
        NodeFigures { missing: true, .. } => {
            let status = if is_too_few { Status::Invalid } else { Status::Conditional };
            (status, "node {node} did not answer when the test began: nothing ran on it")
        }
        _ => return None,
    };
    Some(Reason::new(status, ReasonCode::NodeLost, Sentence::new(said).with("node", node.name.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::Counters;

    #[test]
    fn a_node_that_is_missing_is_a_reason_and_one_that_is_lost_spoils_the_test() {
        let node =
            |name: &str, missing, lost| NodeFigures { name: name.into(), missing, lost, ..NodeFigures::default() };
        let nodes = vec![node("n1", false, false), node("n2", false, true), node("n3", true, false)];
        let mut result = TestResult { node_figures: nodes, ..fixture::result() };
        let said = |result: &TestResult| -> Vec<_> {
            judge(result, true).into_iter().map(|reason| (reason.status, reason.text)).collect()
        };
        let lost = (Status::Invalid, "node n2 was lost in the test".to_owned());
        let missing = "node n3 did not answer when the test began: nothing ran on it".to_owned();
        let shared = (Status::Valid, "all 2 nodes are on one host and share its processors".to_owned());
        assert_eq!(said(&result), [lost.clone(), (Status::Conditional, missing.clone()), shared.clone()]);
        result.params.insert(NODES.into(), "3".into());
        assert_eq!(said(&result), [lost, (Status::Invalid, missing), shared]);
        assert_eq!(judge(&fixture::result(), true), []);
    }

    #[test]
    fn a_node_that_holds_writers_up_is_a_reason() {
        let paused = |share: f64| {
            let window_counters = Counters([("flow_control_paused_s".to_owned(), share * 10.0)].into());
            let node = NodeFigures { name: "n1".into(), window_counters, ..NodeFigures::default() };
            judge(&TestResult { window_s: 10.0, node_figures: vec![node], ..fixture::result() }, false)
        };
        assert_eq!(paused(0.04), []);
        assert_eq!((paused(0.2)[0].status, &paused(0.2)[0].code), (Status::Conditional, &ReasonCode::FlowControl));
    }

    #[test]
    fn throughput_on_nodes_is_held_against_as_many_single_ones() {
        let test = |nodes: u32, jobs: u32, ops_per_s: f64, mean_us: f64| {
            let mut result = TestResult { nodes, jobs, ops_per_s, ci_fraction: Some(0.03), ..fixture::result() };
            result.chosen.insert(NODES.into(), nodes.to_string());
            (result.window.commits, result.latency.mean_us) = (10, Some(mean_us));
            Test::from(result)
        };
        let tests = [test(1, 2, 100.0, 20.0), test(1, 4, 90.0, 40.0), test(2, 4, 150.0, 30.0), test(3, 6, 240.0, 50.0)];
        let found = node_scaling(&tests);
        let figures: Vec<_> = found.iter().map(|line| (line.nodes, line.jobs, line.scaling, line.tax)).collect();
        let expected = [(1, 2, Some(1.0), Some(1.0)), (2, 4, Some(0.75), Some(1.5)), (3, 6, Some(0.8), Some(2.5))];
        assert_eq!(figures, expected);
        let width = found[1].half_width.unwrap();
        assert!((width - 0.75 * 0.03 * 2f64.sqrt()).abs() < 1e-9 && found[0].half_width.is_none(), "{width}");
        assert_eq!(node_scaling(&tests[..2]), [], "one number of nodes only");
    }
}
