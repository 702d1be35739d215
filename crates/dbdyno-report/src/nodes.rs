//! Clusters: what a workload gains by nodes, what a commit costs on several, and what each node did
//! in a test.

use super::columns::RATE;
use super::document::{Block, Cell, Column, Digits, Document, Section, Table};
use super::{Input, Language, Report, RunTests, page};
use dbdyno_core::analysis::cpu;
use dbdyno_core::analysis::nodes::{NodeScaling, node_scaling, paused_share};
use dbdyno_core::model::{RunRecord, Status, Test};

/// `report nodes`.
pub struct NodesReport;

const HOW_TO_READ: &str = "Scaling is the best throughput on this many nodes over that of as many \
                           single nodes of the same cluster, with its 95 % interval. The cluster \
                           tax is the mean service time of a transaction over that on one node \
                           with as many jobs per node.";

impl Report for NodesReport {
    fn name(&self) -> &'static str {
        "nodes"
    }

    fn title(&self) -> &'static str {
        "clusters: throughput on n nodes against one, with intervals, and what a commit costs on \
         several"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        let names = input.platforms();
        let sections =
            input.runs.iter().zip(&names).map(|(data, name)| section(input.language, data, name));
        Document {
            head: Some(page::masthead(input, "nodes", "")),
            ..Document::new(input.language, "Nodes", sections.collect::<Vec<_>>())
        }
    }
}

fn section(language: Language, data: &RunTests, name: &str) -> Section {
    let found = node_scaling(&data.tests);
    let mut blocks = match found.is_empty() {
        true => vec![Block::Paragraph(
            language.phrase("No workload was run on several numbers of nodes."),
        )],
        false => vec![
            Block::Paragraph(language.phrase(HOW_TO_READ)),
            Block::Table(scaling(language, &found)),
        ],
    };
    blocks.extend(
        Some(facts(language, &data.run)).filter(|facts| !facts.is_empty()).map(Block::Facts),
    );
    Section { title: format!("{name}: {}", language.phrase("Node scaling")), blocks }
}

/// Facts about waits of commits and reads for other nodes, and the network emulation of a private
/// cluster.
pub fn facts(language: Language, run: &RunRecord) -> Vec<(String, String)> {
    let consistency = run.disclosure.get("settings", "cluster_consistency");
    let consistency = consistency.map(|value| (language.phrase("Consistency"), value.to_string()));
    consistency.into_iter().chain(links(language, run)).collect()
}

/// The delay between the nodes, asked for and measured.
fn links(language: Language, run: &RunRecord) -> Option<(String, String)> {
    let fact = |name| run.disclosure.get("network", name);
    let ms = |us: &str| {
        us.parse::<f64>().ok().map(|us| language.number(us / 1e3, Digits::Significant(3)))
    };
    let delay = ms(fact("link_delay_us")?)?;
    let trip =
        fact("link_round_trip_us").and_then(ms).unwrap_or_else(|| language.phrase("unknown"));
    let held_by = language.phrase(fact("link_held_by").unwrap_or("nobody"));
    let values = [("delay", delay.as_str()), ("held_by", &held_by), ("trip", &trip)];
    let said = "{delay} ms from node to node, held by {held_by}; round trip measured before the \
                servers started: {trip} ms; dbdyno's own way to the nodes is not delayed";
    Some((language.phrase("Links"), language.say(said, &values)))
}

fn scaling(language: Language, found: &[NodeScaling]) -> Table {
    let heads = [
        ("Workload", ""),
        ("Nodes", ""),
        ("Jobs", ""),
        ("Rate", "ops/s"),
        ("Scaling", "x"),
        ("Scaling +-", "x"),
    ];
    let columns =
        heads.iter().chain(&[("Cluster tax", "x")]).map(|(head, unit)| Column::new(*head, unit, 0));
    let mut table = Table::new(language, "node scaling", columns);
    for line in found {
        let number = |value, digits, status| Cell::Number { value, digits, verdict: Some(status) };
        let mut known = |value: Option<(f64, Status)>, why: &'static str| match value {
            Some((value, status)) => number(value, Digits::Decimals(3), status),
            None => table.unknown(why),
        };
        let judged = |value: Option<f64>| value.map(|value| (value, line.status));
        let cells = [
            known(judged(line.scaling), "no test on one node"),
            known(judged(line.half_width), "one node, or no interval"),
            known(line.tax, "no commits, or no test on one node with as many jobs per node"),
        ];
        let rate = number(line.ops_per_s, RATE, line.status);
        let first =
            [Cell::text(&line.label), Cell::count(line.nodes), Cell::count(line.jobs), rate];
        table.rows.push(first.into_iter().chain(cells).collect());
    }
    table
}

/// Each node of a test on a cluster; no rows of any other.
pub fn of_test(language: Language, test: &Test) -> Table {
    let heads = [
        ("Node", ""),
        ("Jobs", ""),
        ("Ops", ""),
        ("Rate", "ops/s"),
        ("Lag", "s"),
        ("Flow control", "%"),
    ];
    let columns = heads
        .iter()
        .chain(&[("CPU", "%"), ("State", "")])
        .map(|(head, unit)| Column::new(*head, unit, 0));
    let mut table = Table::new(language, "nodes", columns);
    let Some(result) = test.measured() else { return table };
    for node in &result.node_figures {
        let number = |value, digits| Cell::Number { value, digits, verdict: None };
        let mut known = |value: Option<f64>, why: &'static str| match value {
            Some(value) => number(value, Digits::Decimals(3)),
            None => table.unknown(why),
        };
        let lag = known(node.lag_s, "not a replica");
        let paused = known(
            paused_share(node, result.window_s).map(|share| 100.0 * share),
            "not a node of Galera",
        );
        let busy = cpu::busy_pct(&node.window_counters).ok();
        let busy = known(busy, "the node's host is not observed (--host-metrics)");
        let state = if node.lost {
            "lost"
        } else if node.missing {
            "missing"
        } else {
            "there"
        };
        let (ops, rate) =
            (number(node.ops as f64, Digits::Decimals(0)), number(node.ops_per_s, RATE));
        let state = Cell::text(language.phrase(state));
        table.rows.push(vec![
            Cell::text(&node.name),
            Cell::count(node.jobs),
            ops,
            rate,
            lag,
            paused,
            busy,
            state,
        ]);
    }
    table
}
