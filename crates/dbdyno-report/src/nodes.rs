//! Clusters: what a workload gains by nodes, what a commit costs on several, and what each node did
//! in a test.

use super::columns::RATE;
use super::document::{Block, Cell, Declared, Digits, Document, Section, Table};
use super::{Input, Language, Report, RunTests, masthead};
use dbdyno_core::analysis::compare::Ratio;
use dbdyno_core::analysis::cpu;
use dbdyno_core::analysis::interval::Unknown;
use dbdyno_core::analysis::nodes::{NodeScaling, node_scaling, paused_share};
use dbdyno_core::model::{NodeResult, RunRecord, Sentence, Status, Test};

/// `report nodes`.
pub struct NodesReport;

const HOW_TO_READ: &str = "Scaling is the best throughput on this many nodes over that of as many \
                           single nodes of the same cluster. The cluster tax is the mean service \
                           time of a transaction over that on one node with as many jobs per \
                           node. Each has the ends of its 95 % interval (low, high).";

/// Reason for a missing scaling.
const NO_SCALING: &str = "no figure on one node";
/// Reason for a missing cluster tax.
const NO_TAX: &str = "no commits, or no figure on one node with as many jobs per node";

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
            head: Some(masthead::head(input, "nodes", "")),
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
    let columns = scaling_columns();
    let mut table = Table::declared(language, "node scaling", &columns);
    found.iter().for_each(|line| table.add_row(&columns, line));
    table
}

fn scaling_columns() -> [Declared<NodeScaling>; 12] {
    [
        Declared::new("Workload", "", 0, |line, _| Cell::text(&line.label)),
        Declared::new("Nodes", "", 0, |line, _| Cell::count(line.nodes)),
        Declared::new("Jobs", "", 0, |line, _| Cell::count_if_known(line.jobs)),
        Declared::new("Rate", "ops/s", 0, |line, table| {
            table.figure(line.ops_per_s.clone(), RATE, line.status)
        }),
        Declared::new("Scaling", "x", 0, |line, table| scaling_cell(table, line, value)),
        Declared::new("low", "x", 0, |line, table| scaling_cell(table, line, low)),
        Declared::new("high", "x", 0, |line, table| scaling_cell(table, line, high)),
        Declared::new("Scaling +-", "x", 6, |line, table| scaling_cell(table, line, half_width)),
        Declared::new("Cluster tax", "x", 0, |line, table| tax_cell(table, line, value)),
        Declared::new("low", "x", 0, |line, table| tax_cell(table, line, low)),
        Declared::new("high", "x", 0, |line, table| tax_cell(table, line, high)),
        // Of the whole line: the forms for programs have no marks behind figures.
        Declared::new("Verdict", "", 1, |line, _| {
            let of_tax = line.tax.map(|tax| tax.status);
            Cell::Verdict(of_tax.map_or(line.scaling_status, |tax| tax.max(line.scaling_status)))
        }),
    ]
}

/// Reason for a missing ratio of a line: that its nodes have no figure, else this one.
fn unknown(line: &NodeScaling, why: &'static str) -> Sentence {
    line.ops_per_s.clone().err().unwrap_or_else(|| Sentence::new(why))
}

/// Something that is known of a ratio, or the reason why it is not.
type OfRatio = fn(&Ratio) -> Result<f64, Unknown>;

fn value(ratio: &Ratio) -> Result<f64, Unknown> {
    Ok(ratio.value)
}

fn low(ratio: &Ratio) -> Result<f64, Unknown> {
    ratio.span.map(|span| span.low)
}

fn high(ratio: &Ratio) -> Result<f64, Unknown> {
    ratio.span.map(|span| span.high)
}

/// Half of the interval, whose ends are not equally far from the ratio.
fn half_width(ratio: &Ratio) -> Result<f64, Unknown> {
    ratio.span.map(|span| (span.high - span.low) / 2.0)
}

fn scaling_cell(table: &mut Table, line: &NodeScaling, of: OfRatio) -> Cell {
    match &line.scaling {
        Some(scaling) => ratio_cell(table, of(scaling), line.scaling_status),
        None => table.unknown(unknown(line, NO_SCALING)),
    }
}

fn tax_cell(table: &mut Table, line: &NodeScaling, of: OfRatio) -> Cell {
    match &line.tax {
        Some(tax) => ratio_cell(table, of(&tax.ratio), tax.status),
        None => table.unknown(unknown(line, NO_TAX)),
    }
}

fn ratio_cell(table: &mut Table, value: Result<f64, Unknown>, verdict: Status) -> Cell {
    table.figure(value.map_err(|why| why.text().into()), Digits::Decimals(3), verdict)
}

/// A node in a window of this length, and the verdict on the test.
struct NodeRow<'a> {
    node: &'a NodeResult,
    window_s: f64,
    status: Status,
}

/// Each node of a test on a cluster; no rows of any other.
pub fn of_test(language: Language, test: &Test) -> Table {
    let columns = node_columns();
    let mut table = Table::declared(language, "nodes", &columns);
    let Some(result) = test.measured() else { return table };
    for node in &result.node_figures {
        let (window_s, status) = (result.window_s, test.status());
        table.add_row(&columns, &NodeRow { node, window_s, status });
    }
    table
}

fn node_columns<'a>() -> [Declared<NodeRow<'a>>; 8] {
    [
        Declared::new("Node", "", 0, |row, _| Cell::text(&row.node.name)),
        Declared::new("Jobs", "", 0, |row, _| Cell::count(row.node.jobs)),
        Declared::new("Ops", "", 0, |row, _| Cell::Number {
            value: row.node.ops as f64,
            digits: Digits::Decimals(0),
            verdict: None,
        }),
        Declared::new("Rate", "ops/s", 0, |row, _| Cell::Number {
            value: row.node.ops_per_s,
            digits: RATE,
            verdict: Some(row.status),
        }),
        Declared::new("Lag", "s", 0, |row, table| {
            row.known_cell(table, row.node.lag_s, "not a replica")
        }),
        Declared::new("Flow control", "%", 0, |row, table| {
            let paused_pct = paused_share(row.node, row.window_s).map(|share| 100.0 * share);
            row.known_cell(table, paused_pct, "not a node of Galera")
        }),
        Declared::new("CPU", "%", 0, |row, table| {
            let busy_pct = cpu::busy_pct(&row.node.window_counters).ok();
            row.known_cell(table, busy_pct, "the node's host is not observed (--host-metrics)")
        }),
        Declared::new("State", "", 0, |row, table| {
            let state = match (row.node.lost, row.node.missing) {
                (true, _) => "lost",
                (false, true) => "missing",
                (false, false) => "there",
            };
            Cell::text(table.language.phrase(state))
        }),
    ]
}

impl NodeRow<'_> {
    /// A figure of the node with the verdict on its test, or the reason why it has none.
    fn known_cell(&self, table: &mut Table, value: Option<f64>, why: &'static str) -> Cell {
        table.figure(value.ok_or_else(|| why.into()), Digits::Decimals(3), self.status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::fixture;
    use dbdyno_core::analysis::published_checks::fixture::judged;
    use dbdyno_core::model::params::NODES;

    /// The table of tests on one and on two nodes, where transactions take twice as long.
    fn table_of(ci_fraction: Option<f64>) -> Table {
        let test = |nodes: u32| {
            let mut result = fixture::at(2 * nodes, 100.0);
            (result.nodes, result.ci_fraction) = (nodes, ci_fraction);
            result.chosen.insert(NODES.into(), nodes.to_string());
            (result.window.commits, result.latency.mean_us) = (10, Some(20.0 * f64::from(nodes)));
            Test::from(result)
        };
        scaling(Language::English, &node_scaling(&[test(1), test(2)]))
    }

    #[test]
    fn the_figures_of_a_node_have_the_verdict_on_their_test() {
        let node = NodeResult {
            name: "n1".into(),
            ops_per_s: 50.0,
            lag_s: Some(0.5),
            ..NodeResult::default()
        };
        let mut result = fixture::at(2, 100.0);
        result.node_figures = vec![node];
        let cells = |status: Status| {
            let rows = of_test(Language::English, &judged(result.clone().into(), status)).rows;
            [rows[0][3].clone(), rows[0][4].clone()]
        };
        for status in [Status::Valid, Status::Conditional, Status::Invalid] {
            let verdict = Some(status);
            let rate = Cell::Number { value: 50.0, digits: RATE, verdict };
            let lag = Cell::Number { value: 0.5, digits: Digits::Decimals(3), verdict };
            assert_eq!(cells(status), [rate, lag]);
        }
    }

    #[test]
    fn scaling_has_the_ends_of_its_interval_or_the_reason_why_it_has_none() {
        let wide = table_of(Some(0.8));
        let names: Vec<&str> = wide.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names[4..8], ["Scaling", "low", "high", "Scaling +-"]);
        let number = |cell: &Cell| match cell {
            Cell::Number { value, .. } => *value,
            other => panic!("{other:?}"),
        };
        let [half, low, high, width] = [4, 5, 6, 7].map(|at| number(&wide.rows[1][at]));
        assert!((half - 0.5).abs() < 1e-9 && low > 0.0, "{half} {low}");
        assert!((low * high - 0.25).abs() < 1e-9, "{low} {high}");
        assert!((width - (high - low) / 2.0).abs() < 1e-9, "{width}");
        assert_eq!([4, 5, 6, 7].map(|at| number(&wide.rows[0][at])), [1.0, 1.0, 1.0, 0.0]);
        let unknown = table_of(None);
        assert!((number(&unknown.rows[1][4]) - 0.5).abs() < 1e-9);
        let is_unknown = |at: usize| matches!(unknown.rows[1][at], Cell::Unknown(_));
        assert!([5, 6, 7].into_iter().all(is_unknown), "{unknown:?}");
    }

    #[test]
    fn the_cluster_tax_has_its_interval_or_the_reason_why_it_has_none() {
        let known = table_of(Some(0.0));
        let names: Vec<&str> = known.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names[8..11], ["Cluster tax", "low", "high"]);
        let (value, digits, verdict) = (2.0, Digits::Decimals(3), Some(Status::Valid));
        let twice = Cell::Number { value, digits, verdict };
        assert_eq!(known.rows[1][8..11], [twice.clone(), twice.clone(), twice.clone()]);
        let unknown = table_of(None);
        assert_eq!(unknown.rows[1][8], twice);
        let why = |cell: &Cell| match cell {
            Cell::Unknown(note) => unknown.footnotes[*note].clone(),
            other => panic!("{other:?}"),
        };
        let [low, high] = [9, 10].map(|at| why(&unknown.rows[1][at]));
        assert!(low.starts_with("no interval: ") && high == low, "{low} {high}");
    }
}
