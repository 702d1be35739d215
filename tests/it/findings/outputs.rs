//! Output of our own program for the imported studies.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde_json::Value;

use super::formula::{Call, Formula};
use crate::publications;
use crate::support::Desk;

/// A printed figure as `report published` gives it.
#[derive(Debug)]
struct Point {
    platform: String,
    run: String,
    size_gb: Option<f64>,
    code: String,
    kind: String,
    nodes: Option<f64>,
    jobs: Option<f64>,
    threads: Option<f64>,
    metric: String,
    value: f64,
    note: String,
}

/// The outputs of the program on a results file with the studies.
pub struct Outputs {
    desk: Desk,
    points: Vec<Point>,
    /// Platform -> attribute -> value.
    attributes: BTreeMap<String, BTreeMap<String, String>>,
    comparisons: BTreeMap<(String, String), Value>,
}

/// The studies imported into a results file of their own.
pub fn imported() -> Shared {
    static KNOWN: Mutex<Weak<Mutex<Outputs>>> = Mutex::new(Weak::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.upgrade().unwrap_or_else(|| {
        let outputs = Arc::new(Mutex::new(outputs()));
        *known = Arc::downgrade(&outputs);
        outputs
    })
}

/// Shared by the tests that run at one time: to report all figures takes seconds.
pub type Shared = Arc<Mutex<Outputs>>;

pub fn lock(outputs: &Shared) -> MutexGuard<'_, Outputs> {
    outputs.lock().unwrap_or_else(PoisonError::into_inner)
}

fn outputs() -> Outputs {
    let desk = publications::desk();
    let runs = desk.runs();
    let names: Vec<String> =
        runs.iter().map(|run| run["name"].as_str().unwrap().to_string()).collect();
    let list = names.join(" ");
    let points = points(&desk.run(&format!("report published {list} --format json")).ok().json());
    let platforms = desk.run(&format!("report platforms {list} --format json")).ok().json();
    let attributes = attributes(&platforms, &names, &runs);
    Outputs { desk, points, attributes, comparisons: BTreeMap::new() }
}

/// The rows of every table with their cells by column name, each with the title of its section.
fn rows(report: &Value) -> Vec<(String, String, BTreeMap<String, Value>)> {
    let mut found = Vec::new();
    for section in report["sections"].as_array().unwrap() {
        for table in section["tables"].as_array().unwrap() {
            let names: Vec<&str> = table["columns"]
                .as_array()
                .unwrap()
                .iter()
                .map(|column| column["name"].as_str().unwrap())
                .collect();
            for row in table["rows"].as_array().unwrap() {
                let cells = names
                    .iter()
                    .map(|name| (*name).to_string())
                    .zip(row.as_array().unwrap().iter().cloned());
                let title = section["title"].as_str().unwrap().to_string();
                found.push((title, table["name"].as_str().unwrap().to_string(), cells.collect()));
            }
        }
    }
    found
}

fn points(report: &Value) -> Vec<Point> {
    let point = |(run, _, row): (String, String, BTreeMap<String, Value>)| {
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_string();
        let number = |name: &str| row[name].as_f64();
        Point {
            platform: text("Platform"),
            run,
            size_gb: number("GB"),
            code: text("Code"),
            kind: text("Kind"),
            nodes: number("Nodes"),
            jobs: number("Jobs"),
            threads: number("Threads"),
            metric: text("Metric"),
            value: number("Value").unwrap(),
            note: text("Note"),
        }
    };
    rows(report).into_iter().map(point).collect()
}

fn attributes(
    report: &Value,
    names: &[String],
    runs: &[Value],
) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut found: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (_, table, row) in
        rows(report).into_iter().filter(|(_, table, _)| table.contains("As published"))
    {
        let fact = row["Fact"].as_str().unwrap_or_else(|| panic!("{table}")).to_string();
        for (name, run) in names.iter().zip(runs) {
            if let Some(value) = row[name].as_str() {
                let platform = run["target"].as_str().unwrap().to_string();
                found.entry(platform).or_default().insert(fact.clone(), value.to_string());
            }
        }
    }
    found
}

impl Outputs {
    /// The value of a formula.
    pub fn value(&self, formula: &Formula) -> Result<f64, String> {
        match formula {
            Formula::Number(value) => Ok(*value),
            Formula::Call(call) => self.call(call),
            Formula::Binary(operator, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                Ok(match operator {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    _ => left / right,
                })
            }
            Formula::Fold(name, parts) => {
                let values =
                    parts.iter().map(|part| self.value(part)).collect::<Result<Vec<_>, _>>()?;
                let n = values.len() as f64;
                Ok(match name.as_str() {
                    "mean" => values.iter().sum::<f64>() / n,
                    "gmean" => (values.iter().map(|value| value.ln()).sum::<f64>() / n).exp(),
                    "min" => values.iter().copied().fold(f64::INFINITY, f64::min),
                    _ => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                })
            }
        }
    }

    /// The value of a look-up.
    pub fn call(&self, call: &Call) -> Result<f64, String> {
        if call.name == "attr" {
            let value =
                self.attributes.get(&call.texts[0]).and_then(|known| known.get(&call.texts[1]));
            return value
                .and_then(|value| value.parse().ok())
                .ok_or_else(|| format!("no number: {call:?}"));
        }
        let values = self.matching(call).map(|point| point.value);
        let found = match call.name.as_str() {
            "at" | "speed" | "thru" | "text" => values.into_iter().next(),
            "best" => values.into_iter().reduce(f64::max),
            "worst" => values.into_iter().reduce(f64::min),
            _ => None,
        };
        found.ok_or_else(|| format!("no figure: {call:?}"))
    }

    /// The run that a look-up reads from.
    pub fn run(&self, call: &Call) -> Result<String, String> {
        self.matching(call)
            .next()
            .map(|point| point.run.clone())
            .ok_or_else(|| format!("no run: {call:?}"))
    }

    fn matching<'a>(&'a self, call: &'a Call) -> impl Iterator<Item = &'a Point> {
        let kind = match call.name.as_str() {
            "speed" => Some("speed"),
            "thru" => Some("throughput"),
            "text" => None,
            _ => Some("point"),
        };
        let same = |asked: Option<f64>, is: Option<f64>| asked.is_none() || asked == is;
        self.points.iter().filter(move |point| {
            let named =
                [&point.platform, &point.code, &point.metric].into_iter().eq(call.texts.iter());
            let counts = same(call.number("jobs"), point.jobs)
                && same(call.number("nodes"), point.nodes)
                && same(call.number("threads"), point.threads)
                && same(call.number("tb"), point.size_gb.map(|gb| gb / 1024.0));
            let origin = match kind {
                None => point.note.starts_with("text"),
                Some(kind) => point.kind == kind && !point.note.starts_with("text, approximate"),
            };
            named && counts && origin
        })
    }

    /// `compare BASE OTHER --format json`.
    pub fn compare(&mut self, base: &str, other: &str) -> Value {
        let key = (base.to_string(), other.to_string());
        let run = || self.desk.run(&format!("compare {base} {other} --format json")).ok().json();
        self.comparisons.entry(key).or_insert_with(run).clone()
    }

    /// Code, kind and reason code of everything that is said against the tests of a study.
    pub fn reasons(&mut self, study: &str) -> Vec<(String, String, String)> {
        let mut found = Vec::new();
        for run in self.desk.runs() {
            let shown = self.desk.shown(&run["id"].to_string());
            if shown["labels"]["study"] != study {
                continue;
            }
            for test in shown["tests"].as_array().unwrap() {
                let reasons = test["verdict"]["reasons"].as_array().unwrap();
                found.extend(reasons.iter().map(|reason| {
                    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
                    (
                        text(&test["asked_as"]),
                        text(&test["published"]["kind"]),
                        text(&reason["code"]),
                    )
                }));
            }
        }
        found
    }
}
