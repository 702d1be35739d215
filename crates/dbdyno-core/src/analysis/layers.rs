//! Cost of each layer between a client and the database: differences of the service time of one
//! lookup that goes by several ways, block by block. Pure.

use serde::Serialize;

use super::reason_count::ReasonCount;
use super::study::{Blocks, MedianInterval, known, paired, too_few};
use crate::model::{
    Drive, Protocol, Sentence, Status, StoredOmission, Test, TestResult, Transport, Wire,
};
use crate::stats::summary::median;

/// The way of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A loop inside the database.
    Inside,
    /// A client.
    From(Wire),
}

impl Way {
    /// The way of a test; none if its workload is changed otherwise.
    pub fn from_test(test: &TestResult) -> Option<Way> {
        match test.drive {
            Drive::Database => test.chosen.is_empty().then_some(Way::Inside),
            Drive::Client => Wire::of_params(&test.chosen).map(Way::From),
        }
    }

    fn by(transport: Transport, protocol: Protocol) -> Way {
        Way::From(Wire { transport, protocol })
    }

    /// Name in a few words.
    pub fn name(self) -> Sentence {
        let Way::From(wire) = self else { return "in a routine inside the database".into() };
        if wire.transport == Transport::Process {
            return "a call within our process".into();
        }
        let protocol = Sentence::new(match wire.protocol {
            Protocol::Prepared => "prepared, binary results",
            Protocol::PreparedText => "prepared, results as text",
            Protocol::Simple => "simple protocol, results as text",
        });
        Sentence::new("{transport}: {protocol}")
            .with("transport", carried(wire.transport))
            .with("protocol", protocol)
    }

    /// True if `label`, that of a test which a plan leaves out, names this way.
    fn is_left_out(self, label: &str) -> bool {
        let Way::From(wire) = self else { return !label.contains('=') };
        wire.params().iter().all(|(name, value)| {
            label
                .split([':', ','])
                .any(|part| part.split_once('=') == Some((name.as_str(), value.as_str())))
        })
    }
}

fn carried(transport: Transport) -> Sentence {
    Sentence::new(match transport {
        Transport::Given => "as given",
        Transport::Process => "in our process",
        Transport::Socket => "Unix socket",
        Transport::Tcp => "TCP",
        Transport::Tls => "TLS",
        Transport::Pooler => "pooler",
    })
}

/// Row of a way in the report.
#[derive(Debug, Clone, PartialEq)]
pub struct WayRow {
    /// Way of a statement to the data.
    pub way: Way,
    /// Mean service time in us: median of the blocks.
    pub us: Option<MedianInterval>,
    /// Median of as few blocks as there are, without an interval.
    pub median_us: Option<f64>,
    /// Number of blocks that count.
    pub blocks: usize,
    /// Number of blocks that do not count.
    pub left_out: usize,
    /// Verdict on the time.
    pub verdict: Status,
    /// Reasons that lowered the verdicts of its tests, each with their number.
    pub conditions: Vec<ReasonCount>,
}

/// Row of a layer in the report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayerRow {
    /// `inside`, `transport`, `tcp`, `text`, `simple`, `tls`, `pooler`.
    pub layer: &'static str,
    /// `socket`, `tcp`; empty where it does not matter.
    pub over: &'static str,
    /// Name of the layer in words.
    #[serde(skip)]
    pub name: Sentence,
    /// Time in us; absent if it cannot be distinguished from 0.
    pub us: Option<f64>,
    /// The median of too few blocks for an interval; it decides nothing.
    pub median_us: Option<f64>,
    /// Lower end of the interval, in us.
    pub low_us: Option<f64>,
    /// Upper end of the interval, in us.
    pub high_us: Option<f64>,
    /// Blocks that both ways have.
    pub blocks: usize,
    /// Verdict on the time.
    pub verdict: Status,
    /// Reason for a missing figure.
    #[serde(serialize_with = "in_english")]
    pub why: Option<Sentence>,
}

fn in_english<S: serde::Serializer>(
    why: &Option<Sentence>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    why.as_ref().map(ToString::to_string).serialize(serializer)
}

/// The layers of a lookup at a number of jobs.
#[derive(Debug, Clone, PartialEq)]
pub struct Layers {
    /// Identifier of the workload as in the catalog: `SRV-QUERY1`.
    pub workload: String,
    /// Number of jobs.
    pub jobs: u32,
    /// Mean service time of each way.
    pub ways: Vec<WayRow>,
    /// Time of each layer: the difference of two ways.
    pub layers: Vec<LayerRow>,
}

/// All lookups of a run that went by at least two ways. The workloads that the plan left out name
/// the way.
pub fn layers(tests: &[Test], left_out: &[StoredOmission<'_>]) -> Vec<Layers> {
    let mut found: Vec<(String, u32)> = Vec::new();
    for test in
        tests.iter().filter_map(Test::measured).filter(|test| Way::from_test(test).is_some())
    {
        let key = (test.workload.clone(), test.jobs);
        if !found.contains(&key) {
            found.push(key);
        }
    }
    let all = found
        .into_iter()
        .map(|(workload, jobs)| Study { tests, left_out, workload, jobs }.layers());
    let in_process = Way::by(Transport::Process, Protocol::Prepared);
    all.filter(|layers| {
        layers.ways.len() > 1 || layers.ways.iter().any(|row| row.way == in_process)
    })
    .collect()
}

/// A layer that lies between two ways.
struct Layer {
    id: &'static str,
    over: Transport,
    /// Name of the part in which the two ways differ.
    name: &'static str,
}

impl Layer {
    fn new(id: &'static str, over: Transport, name: &'static str) -> Layer {
        Layer { id, over, name }
    }
}

/// The tests of a workload at a number of jobs.
struct Study<'a> {
    tests: &'a [Test],
    left_out: &'a [StoredOmission<'a>],
    workload: String,
    jobs: u32,
}

impl<'a> Study<'a> {
    fn blocks(&self, way: Way) -> Blocks<'a> {
        let is_of = |test: &TestResult| {
            test.workload == self.workload
                && test.jobs == self.jobs
                && Way::from_test(test) == Some(way)
        };
        Blocks::from_tests(self.tests, is_of)
    }

    fn layers(self) -> Layers {
        // A connection as the URL gives it is a way of its own beside a pooler only.
        let given = Some(Transport::Given).filter(|_| self.has(Transport::Pooler));
        let transports = given.into_iter().chain(Transport::CHOICES);
        let clients = transports
            .flat_map(|transport| Protocol::CHOICES.map(|protocol| Way::by(transport, protocol)));
        let ways =
            [Way::Inside].into_iter().chain(clients).filter(|way| !self.blocks(*way).is_empty());
        let ways: Vec<WayRow> = ways.map(|way| self.way(way)).collect();
        let layers = self.rows();
        Layers { workload: self.workload, jobs: self.jobs, ways, layers }
    }

    /// True if a test went this way, in any form of statements.
    fn has(&self, transport: Transport) -> bool {
        let is_measured = |protocol| !self.blocks(Way::by(transport, protocol)).is_empty();
        Protocol::CHOICES.into_iter().any(is_measured)
    }

    fn way(&self, way: Way) -> WayRow {
        let blocks = self.blocks(way);
        let values = known(&blocks.values(service_us));
        let us = MedianInterval::from_values(&values);
        WayRow {
            way,
            us,
            median_us: median(&values),
            blocks: values.len(),
            left_out: blocks.left_out(),
            verdict: MedianInterval::verdict(us.as_ref(), blocks.status()),
            conditions: blocks.conditions(),
        }
    }

    fn rows(&self) -> Vec<LayerRow> {
        let in_process = Way::by(Transport::Process, Protocol::Prepared);
        if !self.blocks(in_process).is_empty() {
            return self.rows_in_process(in_process);
        }
        let poolers = Protocol::CHOICES.into_iter().filter_map(|protocol| self.pooler(protocol));
        let poolers: Vec<LayerRow> = poolers.collect();
        let has_named = Transport::OF_SERVERS.into_iter().any(|transport| self.has(transport));
        if !poolers.is_empty() && !has_named {
            return poolers;
        }
        let (socket, tcp) = (Transport::Socket, Transport::Tcp);
        let prepared = |transport| Way::by(transport, Protocol::Prepared);
        let mut rows = vec![
            self.alone("inside", "in the database: the lookup in a routine's loop", Way::Inside),
            self.apart(
                Layer::new("transport", socket, "client and round trip over the Unix socket"),
                prepared(socket),
                Way::Inside,
            ),
        ];
        rows.push(match self.blocks(prepared(socket)).is_empty() {
            true => self.apart(
                Layer::new("transport", tcp, "client and round trip over TCP"),
                prepared(tcp),
                Way::Inside,
            ),
            false => self.apart(
                Layer::new("tcp", tcp, "TCP instead of the Unix socket"),
                prepared(tcp),
                prepared(socket),
            ),
        });
        for transport in [socket, tcp] {
            if !self.blocks(prepared(transport)).is_empty() {
                rows.extend(self.protocols(transport));
            }
        }
        let tls = Transport::Tls;
        let layer = Layer::new("tls", tls, "TLS instead of plain TCP");
        rows.push(self.apart(layer, prepared(tls), prepared(tcp)));
        rows.extend(poolers);
        rows
    }

    /// A pooler instead of a direct connection, if either was measured in a form of statements.
    fn pooler(&self, protocol: Protocol) -> Option<LayerRow> {
        let pooled = Way::by(Transport::Pooler, protocol);
        if self.blocks(pooled).is_empty() {
            return None;
        }
        let direct = [Transport::Given, Transport::Tcp, Transport::Socket, Transport::Tls]
            .map(|transport| Way::by(transport, protocol));
        let direct = direct.into_iter().find(|way| !self.blocks(*way).is_empty())?;
        let name = match protocol {
            Protocol::Simple => {
                "the pooler, in the simple protocol, instead of a direct connection"
            }
            Protocol::Prepared | Protocol::PreparedText => {
                "the pooler instead of a direct connection"
            }
        };
        let layer = Layer::new("pooler", Transport::Pooler, name);
        let row = self.apart(layer, pooled, direct);
        Some(LayerRow { over: "", ..row })
    }

    /// Text and the simple protocol over a transport.
    fn protocols(&self, transport: Transport) -> [LayerRow; 2] {
        let way = |protocol| Way::by(transport, protocol);
        let (binary, text, simple) = (Protocol::Prepared, Protocol::PreparedText, Protocol::Simple);
        let (from, name) = match self.blocks(way(text)).is_empty() {
            true => (
                binary,
                "simple protocol with results as text instead of prepared with binary results",
            ),
            false => (text, "simple protocol instead of prepared, both with results as text"),
        };
        [
            self.apart(
                Layer::new("text", transport, "results as text instead of binary"),
                way(text),
                way(binary),
            ),
            self.apart(Layer::new("simple", transport, name), way(simple), way(from)),
        ]
    }

    fn rows_in_process(&self, way: Way) -> Vec<LayerRow> {
        let no = |layer, name| {
            without(layer, name, "does not apply: the database runs in our process".into())
        };
        vec![
            self.alone("inside", "the lookup, called within our process", way),
            no("transport", "client and round trip over the Unix socket"),
            no("tcp", "TCP instead of the Unix socket"),
            no("text", "results as text instead of binary"),
            no("simple", "simple protocol instead of prepared, both with results as text"),
            no("tls", "TLS instead of plain TCP"),
        ]
    }

    /// The time of a way itself.
    fn alone(&self, layer: &'static str, name: &'static str, way: Way) -> LayerRow {
        let blocks = self.blocks(way);
        let row = without(layer, name, self.missing(way, &blocks));
        if blocks.is_empty() {
            row
        } else {
            fill_row(row, &known(&blocks.values(service_us)), blocks.status(), false)
        }
    }

    /// The difference of two ways.
    fn apart(&self, layer: Layer, way: Way, less: Way) -> LayerRow {
        let Layer { id, over: transport, name } = layer;
        let (with, base) = (self.blocks(way), self.blocks(less));
        let over = |row: LayerRow| LayerRow { over: transport.name(), ..row };
        for (way, blocks) in [(way, &with), (less, &base)] {
            if blocks.is_empty() {
                return over(without(id, name, self.missing(way, blocks)));
            }
        }
        let values =
            paired(&with.values(service_us), &base.values(service_us), |with, base| with - base);
        let row =
            fill_row(without(id, name, "".into()), &values, with.status().max(base.status()), true);
        over(row)
    }

    /// Reason why a way has no figure.
    fn missing(&self, way: Way, blocks: &Blocks<'_>) -> Sentence {
        let omission = self.left_out.iter().find(|omission| {
            omission.workload.starts_with(&self.workload) && way.is_left_out(omission.workload)
        });
        match (omission, blocks.why_left_out()) {
            (Some(omission), _) => Sentence::new("not measured: {reason}")
                .with("reason", Sentence::quoted(omission.reason)),
            (None, Some(reason)) => reason.to_sentence(),
            (None, None) => "not measured".into(),
        }
    }
}

/// The mean service time of all ops of a test.
fn service_us(test: &TestResult) -> Option<f64> {
    test.latency.mean_us
}

fn without(layer: &'static str, name: &'static str, why: Sentence) -> LayerRow {
    LayerRow {
        layer,
        over: "",
        name: Sentence::new(name),
        us: None,
        median_us: None,
        low_us: None,
        high_us: None,
        blocks: 0,
        verdict: Status::Invalid,
        why: Some(why),
    }
}

/// The row with the figure of the blocks; a difference is one only if its interval does not hold 0.
fn fill_row(row: LayerRow, values: &[f64], verdict: Status, is_difference: bool) -> LayerRow {
    let blocks = values.len();
    let Some(known) = MedianInterval::from_values(values) else {
        let verdict = MedianInterval::verdict(None, verdict);
        let (median_us, why) = (median(values), Some(too_few(blocks)));
        return LayerRow { median_us, blocks, verdict, why, ..row };
    };
    let decided = !is_difference || known.is_apart(0.0);
    LayerRow {
        us: decided.then_some(known.value),
        low_us: Some(known.low),
        high_us: Some(known.high),
        blocks,
        verdict,
        why: (!decided).then(|| "not distinguishable from 0".into()),
        ..row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::{LatencySummary, Reason, ReasonCode, Verdict};

    /// Blocks of a way whose lookups take these times.
    fn way(drive: Drive, params: &[(&str, &str)], us: &[f64]) -> Vec<Test> {
        let chosen: std::collections::BTreeMap<String, String> = params
            .iter()
            .map(|(name, value)| ((*name).to_string(), (*value).to_string()))
            .collect();
        let test = |(block, us): (usize, &f64)| {
            let latency = LatencySummary { mean_us: Some(*us), ..LatencySummary::default() };
            TestResult {
                seq: block as u32 + 1,
                drive,
                chosen: chosen.clone(),
                latency,
                ..fixture::at(1, 1.0)
            }
            .into()
        };
        us.iter().enumerate().map(test).collect()
    }

    fn drift(base: f64) -> Vec<f64> {
        (0..8).map(|block| base + f64::from(block * block)).collect()
    }

    fn row<'a>(layers: &'a [Layers], layer: &str) -> &'a LayerRow {
        layers[0].layers.iter().find(|row| row.layer == layer).unwrap()
    }

    #[test]
    fn a_pooler_is_compared_with_the_connection_of_the_url() {
        let simple = ("protocol", "simple");
        let direct =
            [way(Drive::Client, &[], &drift(20.0)), way(Drive::Client, &[simple], &drift(30.0))];
        let pooled = way(Drive::Client, &[simple, ("transport", "pooler")], &drift(42.0));
        let found = layers(&[direct.concat(), pooled].concat(), &[]);
        assert_eq!((found.len(), found[0].ways.len(), found[0].layers.len()), (1, 3, 1));
        assert_eq!(row(&found, "pooler").us, Some(12.0));
        assert_eq!(layers(&direct.concat(), &[]), [], "nothing was named to compare");
    }

    fn server() -> Vec<Test> {
        let socket = ("transport", "socket");
        [
            way(Drive::Database, &[], &drift(5.0)),
            way(Drive::Client, &[socket], &drift(25.0)),
            way(Drive::Client, &[("transport", "tcp")], &drift(35.0)),
            way(
                Drive::Client,
                &[socket, ("protocol", "simple")],
                &[30.0, 25.0, 33.0, 30.0, 45.0, 40.0, 70.0, 60.0],
            ),
        ]
        .concat()
    }

    #[test]
    fn differences_are_taken_block_by_block_whatever_drifts() {
        let by_text =
            format!("{}:protocol=prepared-text,transport=socket", fixture::result().workload);
        let left_out = [
            StoredOmission { workload: "NULL-OP", reason: "x" },
            StoredOmission { workload: &by_text, reason: "no text" },
        ];
        let found = layers(&server(), &left_out);
        assert_eq!((found.len(), found[0].ways.len()), (1, 4));
        let socket = row(&found, "transport");
        assert_eq!(
            (socket.us, socket.low_us, socket.high_us, socket.blocks),
            (Some(20.0), Some(20.0), Some(20.0), 8)
        );
        assert_eq!(row(&found, "tcp").us, Some(10.0));
        assert_eq!(row(&found, "text").why.as_ref().unwrap().to_string(), "not measured: no text");
        let simple = row(&found, "simple");
        assert!(simple.name.to_string().contains("binary results"), "text was not measured");
        assert_eq!(
            (simple.us, simple.why.as_ref().unwrap().to_string()),
            (None, "not distinguishable from 0".into())
        );
        assert!(simple.low_us < Some(0.0) && simple.high_us > Some(0.0));
        assert_eq!(row(&found, "tls").why.as_ref().unwrap().to_string(), "not measured");
    }

    #[test]
    fn invalid_tests_give_no_layer() {
        let mut tests = server();
        for test in tests.iter_mut().filter(|test| test.drive() == Drive::Database).take(3) {
            let Test::Measured(result) = test else { panic!() };
            result.verdict =
                Verdict::from_reasons(vec![Reason::new(Status::Invalid, ReasonCode::Contract, "")]);
        }
        let found = layers(&tests, &[]);
        let socket = row(&found, "transport");
        assert_eq!((socket.us, socket.blocks), (None, 5));
        assert_eq!(
            socket.why.as_ref().unwrap().to_string(),
            "5 of the 6 blocks that are needed can be used"
        );
        assert_eq!(row(&found, "tcp").us, Some(10.0), "it needs no test of the in-database drive");
    }

    #[test]
    fn a_database_in_our_process_has_no_layers_but_the_call() {
        let found = layers(&way(Drive::Client, &[("transport", "process")], &[2.0; 6]), &[]);
        assert_eq!(row(&found, "inside").us, Some(2.0));
        let why = |layer| row(&found, layer).why.as_ref().unwrap().to_string();
        assert!(
            ["transport", "tcp", "text", "simple", "tls"]
                .into_iter()
                .all(|layer| why(layer).contains("our process"))
        );
        assert!(layers(&way(Drive::Client, &[("org", "heap")], &[2.0; 6]), &[]).is_empty());
        assert!(
            layers(&way(Drive::Client, &[], &[2.0; 6]), &[]).is_empty(),
            "one way has no layers"
        );
    }
}
