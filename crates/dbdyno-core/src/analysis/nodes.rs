//! Statements about the nodes of a cluster.

use std::collections::BTreeMap;

use super::best::{Best, Candidate, select_best};
use super::figure::Figure;
use super::interval::{IntervalOrReason, UncertainValue};
use super::ramp;
use super::ratio::Ratio;
use crate::model::params::{NODES, assignments};
use crate::model::{Better, NodeResult, Reason, ReasonCode, Sentence, Status, Test, TestResult};

/// Share of the window in which a node may hold up those that write.
const MAX_PAUSED: f64 = 0.05;

/// Reasons of a test on a cluster: nodes that are missing, and that all are on one host.
pub(super) fn judge(result: &TestResult, is_one_host: bool) -> Vec<Reason> {
    let nodes = &result.node_figures;
    let asked = result.params.get(NODES).and_then(|nodes| nodes.parse::<usize>().ok());
    let there = nodes.iter().filter(|node| !node.missing).count();
    let is_too_few = asked.is_some_and(|asked| there < asked);
    let mut reasons: Vec<Reason> = nodes.iter().filter_map(|node| gone(node, is_too_few)).collect();
    reasons.extend(nodes.iter().filter_map(|node| paused(node, result.window_s)));
    if is_one_host && there > 1 {
        let sentence = Sentence::new("all {nodes} nodes are on one host and share its CPUs");
        let sentence = sentence.with("nodes", there as f64);
        reasons.push(Reason::new(Status::Valid, ReasonCode::SharedHost, sentence));
    }
    reasons
}

/// Share of the window in which the node let nobody write, because another one had not applied what
/// was sent.
pub fn paused_share(node: &NodeResult, window_s: f64) -> Option<f64> {
    Some(node.window_counters.get("flow_control_paused_s")? / window_s)
        .filter(|share| share.is_finite())
}

fn paused(node: &NodeResult, window_s: f64) -> Option<Reason> {
    let share = paused_share(node, window_s).filter(|share| *share > MAX_PAUSED)?;
    let said = "flow control paused node {node} for {share%} of the window, more than {limit%}: a \
                node applies less than is written";
    let sentence = Sentence::new(said)
        .with("node", node.name.as_str())
        .with("share", share)
        .with("limit", MAX_PAUSED);
    Some(Reason::new(Status::Conditional, ReasonCode::FlowControl, sentence))
}

/// A workload on several nodes against one node of the same cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeScaling {
    /// Workload, with what distinguishes it from others.
    pub label: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Jobs of the best figure on these nodes; absent if there is none.
    pub jobs: Option<u32>,
    /// Best throughput on these nodes, in ops per second, or the reason why there is none.
    pub ops_per_s: Result<f64, Sentence>,
    /// Verdict on that figure; without one the best verdict on the tests.
    pub status: Status,
    /// Throughput over that of as many single nodes, with its interval.
    pub scaling: Option<Ratio>,
    /// Verdict on the scaling: the worse one of the two figures.
    pub scaling_status: Status,
    /// Additional cost of a commit compared with one node; only for workloads that commit.
    pub tax: Option<ClusterTax>,
}

/// Mean service time on several nodes over that on one node with as many jobs per node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClusterTax {
    /// Ratio of the two times, with its interval.
    pub ratio: Ratio,
    /// The worse verdict of the two.
    pub status: Status,
}

/// Every workload that was measured on several numbers of nodes.
pub fn node_scaling(tests: &[Test]) -> Vec<NodeScaling> {
    let mut groups: BTreeMap<(String, &str), OnNodes<'_>> = BTreeMap::new();
    for test in tests {
        let Some(result) = test.measured() else { continue };
        let Some(nodes) = nodes_of(result) else { continue };
        let chosen = result.chosen.iter().filter(|(name, _)| *name != NODES);
        let label = [result.workload.clone(), assignments(chosen, " ")].join(" ").trim().to_owned();
        groups
            .entry((label, result.drive.name()))
            .or_default()
            .entry(nodes)
            .or_default()
            .push(test);
    }
    groups.retain(|_, on_nodes| on_nodes.len() > 1);
    let labels: Vec<&str> = groups.keys().map(|(label, _)| label.as_str()).collect();
    let lines = |((label, drive), on_nodes): (&(String, &str), &OnNodes<'_>)| {
        // Two drives of a workload are two lines, which only the drive distinguishes.
        let is_alone = labels.iter().filter(|other| **other == label.as_str()).count() == 1;
        match is_alone {
            true => of_group(label, on_nodes),
            false => of_group(&format!("{label} drive={drive}"), on_nodes),
        }
    };
    groups.iter().flat_map(lines).collect()
}

/// Number of nodes of a test: of one that did no op those that it was to run on, if they were
/// chosen, as a test that failed knows no others.
fn nodes_of(result: &TestResult) -> Option<u32> {
    if result.ops_per_s > 0.0 {
        return Some(result.nodes);
    }
    result.chosen.get(NODES)?.parse().ok()
}

/// Tests of a workload by their number of nodes.
type OnNodes<'t> = BTreeMap<u32, Vec<&'t Test>>;

/// A figure with its ops per second.
#[derive(Clone, Copy)]
struct Point<'t> {
    figure: Figure<'t>,
    ops_per_s: f64,
}

impl<'t> Point<'t> {
    /// Point with the rate of ops in proportion to the figure, as every report shows it.
    fn from_figure(figure: Figure<'t>) -> Option<Point<'t>> {
        let of_test = figure.test.measured()?.ops_per_s;
        Some(Point { figure, ops_per_s: figure.pace().apply(of_test, Better::Higher) })
    }

    /// `nodes` times the rate, with the interval that it is compared with.
    fn times(&self, nodes: u32) -> UncertainValue {
        let value = f64::from(nodes) * self.ops_per_s;
        UncertainValue { value, interval: self.figure.compared() }
    }
}

fn of_group(label: &str, on_nodes: &OnNodes<'_>) -> Vec<NodeScaling> {
    let one = on_nodes.get(&1).and_then(|tests| best(tests));
    let line = |(nodes, tests): (&u32, &Vec<&Test>)| {
        let Some(best) = best(tests) else { return without_figure(label, *nodes, tests) };
        let scaling = |one: Point<'_>| match *nodes {
            1 => Ratio::ONE,
            _ => Ratio::new(one.times(*nodes), best.times(1)),
        };
        let status = best.figure.status();
        NodeScaling {
            label: label.to_owned(),
            nodes: *nodes,
            jobs: best.figure.jobs,
            ops_per_s: Ok(best.ops_per_s),
            status,
            scaling: one.map(scaling),
            scaling_status: one.map_or(status, |one| one.figure.status().max(status)),
            tax: tax(on_nodes, *nodes),
        }
    };
    on_nodes.iter().map(line).collect()
}

/// The line of a number of nodes on which no test has a figure, with the first reason of an invalid
/// one.
fn without_figure(label: &str, nodes: u32, tests: &[&Test]) -> NodeScaling {
    let mut reasons = tests.iter().flat_map(|test| &test.verdict().reasons);
    let reason = reasons.find(|reason| reason.status == Status::Invalid);
    let why = match reason {
        Some(reason) => Sentence::new("no figure: {reason}").with("reason", reason.to_sentence()),
        None => Sentence::new("no figure"),
    };
    let status = tests.iter().map(|test| test.status()).min().unwrap_or(Status::Invalid);
    NodeScaling {
        label: label.to_owned(),
        nodes,
        jobs: None,
        ops_per_s: Err(why),
        status,
        scaling: None,
        scaling_status: status,
        tax: None,
    }
}

/// The KPMs of the tests that did an op.
fn figures<'t>(tests: &[&'t Test]) -> Vec<Figure<'t>> {
    let has_ops = |test: &&&Test| test.measured().is_some_and(|result| result.ops_per_s > 0.0);
    let tests: Vec<&'t Test> = tests.iter().filter(has_ops).copied().collect();
    ramp::kpms(&tests)
}

/// The figure with the most ops per second at any number of jobs, of those with the best verdict.
fn best<'t>(tests: &[&'t Test]) -> Option<Point<'t>> {
    let points = figures(tests).into_iter().filter_map(Point::from_figure).collect();
    let Best { figure: Point { figure, ops_per_s }, favour, passed_over } =
        select_best(points, Better::Higher)?;
    Some(Point { figure: Figure { favour, passed_over, ..figure }, ops_per_s })
}

impl Candidate for Point<'_> {
    fn value(&self) -> f64 {
        self.ops_per_s
    }

    fn jobs(&self) -> Option<u32> {
        self.figure.jobs
    }

    fn status(&self) -> Status {
        self.figure.status()
    }

    fn interval(&self) -> IntervalOrReason {
        self.figure.interval
    }
}

/// The cluster tax at the fewest jobs per node that were measured on both.
fn tax(on_nodes: &OnNodes<'_>, nodes: u32) -> Option<ClusterTax> {
    let (on_one, on_many) = (figures(on_nodes.get(&1)?), figures(on_nodes.get(&nodes)?));
    on_one.iter().find_map(|one| {
        let jobs = one.jobs.map(|jobs| nodes * jobs);
        let many = on_many.iter().find(|many| many.jobs == jobs)?;
        let (of_one, of_many) = (transaction_time(one)?, transaction_time(many)?);
        let ratio = match nodes {
            1 => Ratio::ONE,
            _ => Ratio::new(of_one, of_many),
        };
        Some(ClusterTax { ratio, status: one.status().max(many.status()) })
    })
}

/// Mean service time of ops that commit, in us, and how well it is known.
fn transaction_time(figure: &Figure<'_>) -> Option<UncertainValue> {
    figure.test.measured().filter(|result| result.window.commits > 0)?;
    figure.mean_time()
}

/// Reason for a node that was not present all the time.
fn gone(node: &NodeResult, is_too_few: bool) -> Option<Reason> {
    let (status, said) = match node {
        NodeResult { lost: true, .. } => (Status::Invalid, "node {node} was lost in the test"),
        NodeResult { missing: true, .. } => {
            let status = if is_too_few { Status::Invalid } else { Status::Conditional };
            (status, "node {node} did not answer when the test began: nothing ran on it")
        }
        _ => return None,
    };
    Some(Reason::new(
        status,
        ReasonCode::NodeLost,
        Sentence::new(said).with("node", node.name.as_str()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::{Counters, Drive, Verdict};

    #[test]
    fn a_node_that_is_missing_is_a_reason_and_one_that_is_lost_spoils_the_test() {
        let node = |name: &str, missing, lost| NodeResult {
            name: name.into(),
            missing,
            lost,
            ..NodeResult::default()
        };
        let nodes =
            vec![node("n1", false, false), node("n2", false, true), node("n3", true, false)];
        let mut result = TestResult { node_figures: nodes, ..fixture::result() };
        let said = |result: &TestResult| -> Vec<_> {
            judge(result, true).into_iter().map(|reason| (reason.status, reason.text)).collect()
        };
        let lost = (Status::Invalid, "node n2 was lost in the test".to_owned());
        let missing = "node n3 did not answer when the test began: nothing ran on it".to_owned();
        let shared = (Status::Valid, "all 2 nodes are on one host and share its CPUs".to_owned());
        assert_eq!(
            said(&result),
            [lost.clone(), (Status::Conditional, missing.clone()), shared.clone()]
        );
        result.params.insert(NODES.into(), "3".into());
        assert_eq!(said(&result), [lost, (Status::Invalid, missing), shared]);
        assert_eq!(judge(&fixture::result(), true), []);
    }

    #[test]
    fn a_node_that_holds_writers_up_is_a_reason() {
        let paused = |share: f64| {
            let window_counters =
                Counters([("flow_control_paused_s".to_owned(), share * 10.0)].into());
            let node = NodeResult { name: "n1".into(), window_counters, ..NodeResult::default() };
            judge(
                &TestResult { window_s: 10.0, node_figures: vec![node], ..fixture::result() },
                false,
            )
        };
        assert_eq!(paused(0.04), []);
        assert_eq!(
            (paused(0.2)[0].status, &paused(0.2)[0].code),
            (Status::Conditional, &ReasonCode::FlowControl)
        );
    }

    #[test]
    fn throughput_on_nodes_is_held_against_as_many_single_ones() {
        let test = |nodes: u32, jobs: u32, ops_per_s: f64, mean_us: f64| {
            let mut result = fixture::at(jobs, ops_per_s);
            (result.nodes, result.ci_fraction) = (nodes, Some(0.03));
            result.chosen.insert(NODES.into(), nodes.to_string());
            (result.window.commits, result.latency.mean_us) = (10, Some(mean_us));
            Test::from(result)
        };
        let tests = [
            test(1, 2, 100.0, 20.0),
            test(1, 4, 90.0, 40.0),
            test(2, 4, 150.0, 30.0),
            test(3, 6, 240.0, 50.0),
        ];
        let found = node_scaling(&tests);
        let scaling = |line: &NodeScaling| line.scaling.map(|ratio| ratio.value);
        let tax = |line: &NodeScaling| line.tax.map(|tax| tax.ratio.value);
        let figures: Vec<_> =
            found.iter().map(|line| (line.nodes, line.jobs, scaling(line), tax(line))).collect();
        let expected = [
            (1, Some(2), Some(1.0), Some(1.0)),
            (2, Some(4), Some(0.75), Some(1.5)),
            (3, Some(6), Some(0.8), Some(2.5)),
        ];
        assert_eq!(figures, expected);
        let span = |line: &NodeScaling| line.tax.unwrap().ratio.span.unwrap();
        let (exact, noisy, factor) = (span(&found[0]), span(&found[1]), (0.03 * 2f64.sqrt()).exp());
        assert_eq!((exact.low, exact.high), (1.0, 1.0), "a node beside itself");
        let expected = [1.5 / factor, 1.5 * factor];
        let is_near = |(end, expected): (f64, f64)| (end - expected).abs() < 1e-9;
        assert!([noisy.low, noisy.high].into_iter().zip(expected).all(is_near), "{noisy:?}");
        let span = |line: &NodeScaling| line.scaling.unwrap().span.unwrap();
        let (exact, noisy) = (span(&found[0]), span(&found[1]));
        assert_eq!((exact.low, exact.high), (1.0, 1.0), "a node beside itself");
        let expected = [0.75 / factor, 0.75 * factor];
        assert!([noisy.low, noisy.high].into_iter().zip(expected).all(is_near), "{noisy:?}");
        assert_eq!(node_scaling(&tests[..2]), [], "one number of nodes only");
    }

    #[test]
    fn no_interval_of_a_scaling_reaches_below_0() {
        let of_nodes = |nodes: u32, rate: f64| {
            let mut result = fixture::at(2 * nodes, rate);
            (result.nodes, result.ci_fraction) = (nodes, Some(0.8));
            result.chosen.insert(NODES.into(), nodes.to_string());
            Test::from(result)
        };
        let found = node_scaling(&[of_nodes(1, 100.0), of_nodes(2, 150.0)]);
        let span = found[1].scaling.unwrap().span.unwrap();
        let factor = (0.8 * 2f64.sqrt()).exp();
        let is_near = |end: f64, expected: f64| (end / expected - 1.0).abs() < 1e-9;
        assert!(is_near(span.low, 0.75 / factor) && is_near(span.high, 0.75 * factor), "{span:?}");
    }

    #[test]
    fn lines_of_two_drives_say_which_is_which() {
        let of_drive = |drive: Drive, rate: f64| -> Vec<Test> {
            let both = [repeated(1, &[rate], Status::Valid), repeated(2, &[rate], Status::Valid)];
            let with =
                |test: &Test| Test::from(TestResult { drive, ..test.measured().unwrap().clone() });
            both.concat().iter().map(with).collect()
        };
        let labels = |tests: &[Test]| -> Vec<String> {
            node_scaling(tests).into_iter().map(|line| line.label).collect()
        };
        let client = of_drive(Drive::Client, 100.0);
        assert_eq!(labels(&client), ["SRV-QUERY1"; 2]);
        let both = [client, of_drive(Drive::Database, 150.0)].concat();
        let (client, database) = ("SRV-QUERY1 drive=client", "SRV-QUERY1 drive=database");
        assert_eq!(labels(&both), [client, client, database, database]);
    }

    #[test]
    fn nodes_without_a_figure_have_a_line_with_the_reason() {
        let failed = |nodes: u32, reasons: Vec<Reason>| {
            let mut result = fixture::at(2 * nodes, 0.0);
            (result.nodes, result.kpm_value) = (1, None);
            result.chosen.insert(NODES.into(), nodes.to_string());
            result.verdict = Verdict::from_reasons(reasons);
            Test::from(result)
        };
        let lost = Reason::new(Status::Invalid, ReasonCode::NodeLost, "node n2 was lost");
        let one = repeated(1, &[100.0], Status::Valid);
        let found =
            node_scaling(&[one, vec![failed(2, vec![lost]), failed(3, Vec::new())]].concat());
        let lines: Vec<_> = found
            .iter()
            .map(|line| (line.nodes, line.ops_per_s.clone().map_err(|why| why.to_string())))
            .collect();
        let expected = [
            (1, Ok(100.0)),
            (2, Err("no figure: node n2 was lost".to_owned())),
            (3, Err("no figure".to_owned())),
        ];
        assert_eq!(lines, expected);
        assert_eq!((found[1].status, found[1].scaling), (Status::Invalid, None));
        // A test that was to run on all nodes says nothing of a number of them.
        let mut on_all = fixture::at(2, 0.0);
        on_all.kpm_value = None;
        let two = repeated(2, &[150.0], Status::Valid);
        assert_eq!(node_scaling(&[two, vec![on_all.into()]].concat()), []);
        // Of the single node, too.
        let two = repeated(2, &[150.0], Status::Valid);
        let found = node_scaling(&[vec![failed(1, Vec::new())], two].concat());
        let lines: Vec<_> = found.iter().map(|line| (line.nodes, line.scaling)).collect();
        assert_eq!(lines, [(1, None), (2, None)]);
    }

    #[test]
    fn of_repetitions_their_figure_counts_and_none_of_a_worse_verdict() {
        let (valid, conditional) = (Status::Valid, Status::Conditional);
        let one = repeated(1, &[99.0, 100.0, 101.0], valid);
        let two = repeated(2, &[148.0, 150.0, 154.0], valid);
        let found =
            node_scaling(&[one.clone(), two.clone(), repeated(2, &[400.0], conditional)].concat());
        // The value and the time that every report shows of them.
        let (of_one, of_two) = (value(&one), value(&two));
        assert!((of_two - 150.0).abs() > 0.1, "the median would not tell: {of_two}");
        let is_near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
        assert!(is_near(found[1].ops_per_s.clone().unwrap(), of_two), "{found:?}");
        let scaling = found[1].scaling.unwrap();
        assert!(is_near(scaling.value, of_two / (2.0 * of_one)), "{found:?}");
        let span = scaling.span.unwrap();
        assert!(span.high > span.low + 0.1, "the spread of the repetitions: {found:?}");
        let tax = found[1].tax.unwrap();
        assert!(is_near(tax.ratio.value, of_one / of_two) && tax.status == valid, "{found:?}");
        assert!(tax.ratio.span.is_ok(), "{found:?}");
        assert_eq!((found[1].status, found[1].scaling_status), (valid, valid));
        let unsound = node_scaling(&[one, repeated(2, &[150.0], conditional)].concat());
        assert_eq!(
            (unsound[1].status, unsound[1].tax.map(|tax| tax.status)),
            (conditional, Some(conditional))
        );
    }

    #[test]
    fn a_rate_has_the_verdict_on_its_own_figure_and_a_ratio_the_worse_of_both() {
        let (valid, conditional) = (Status::Valid, Status::Conditional);
        let wide = repeated(1, &[60.0, 100.0, 170.0], valid);
        let known = repeated(2, &[149.0, 150.0, 151.0], valid);
        let found = node_scaling(&[wide, known].concat());
        let statuses = |line: &NodeScaling| (line.status, line.scaling_status);
        assert_eq!(statuses(&found[0]), (conditional, conditional), "known to a factor only");
        assert_eq!(statuses(&found[1]), (valid, conditional));
        assert_eq!(found[1].tax.map(|tax| tax.status), Some(conditional));
    }

    #[test]
    fn of_two_repetitions_the_time_is_that_of_the_figure_and_not_the_shorter_one() {
        let (one, two) =
            (repeated(1, &[100.0], Status::Valid), repeated(2, &[100.0, 121.0], Status::Valid));
        let tax = node_scaling(&[one, two].concat())[1].tax.unwrap();
        assert!((tax.ratio.value - 1.0 / 1.1).abs() < 1e-9, "{tax:?}");
        assert!(tax.ratio.span.is_err(), "one of the two times has no interval: {tax:?}");
    }

    /// Tests at two jobs per node that commit, without intervals of their seconds.
    fn repeated(nodes: u32, rates: &[f64], status: Status) -> Vec<Test> {
        let test = |rate: &f64| {
            let mut result = fixture::at(2 * nodes, *rate);
            (result.nodes, result.ci_fraction) = (nodes, None);
            result.chosen.insert(NODES.into(), nodes.to_string());
            (result.window.commits, result.latency.mean_us) = (10, Some(1e6 / rate));
            crate::analysis::published_checks::fixture::judged(result.into(), status)
        };
        rates.iter().map(test).collect()
    }

    fn value(tests: &[Test]) -> f64 {
        ramp::kpms(&tests.iter().collect::<Vec<_>>())[0].value
    }
}
