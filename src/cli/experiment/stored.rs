//! A stored run as the file of an experiment that does the same again.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::catalog::{Catalog, SuiteEntry};
use crate::engine;
use crate::error::{Error, Result, visible};
use crate::model::{PaceParam, RunKind, RunRecord, Test, TestResult, pace_of};
use crate::plan;

/// The schema, which `dbdyno show schema` prints, beside the file.
const SCHEMA: &str = "./experiment.schema.json";

/// The file of a run, as text.
///
/// # Errors
/// A run that was not measured by us; tests that a file cannot ask for.
pub fn as_file(catalog: &Catalog, run: &RunRecord, tests: &[Test]) -> Result<String> {
    let place = format!("run {}", run.id);
    let engine = run.engine.as_deref().and_then(engine::find);
    let Some(engine) = engine.filter(|_| run.kind == RunKind::Measured) else {
        return Err(Error::usage(place, "was not measured by dbdyno")
            .advise("choose a run of 'dbdyno run'"));
    };
    let pace = pace(&place, tests)?;
    check_rates(&place, run, tests)?;
    let request = plan::Request {
        size_gb: run.size_gb,
        ..plan::Request::new(engine.name(), engine.capabilities(), 1)
    };
    let again = plan::again(catalog, &run.plan, engine.name(), request)?;
    if again.request.tests.is_empty() {
        return Err(Error::usage(place, "has no test that can be asked for again")
            .advise("choose another run"));
    }
    let mut file = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            file.insert(key.to_string(), value);
        }
    };
    put("name", json!(run.name));
    put("target", json!(target(&run.target)));
    put("size", json!(run.size_gb));
    put("profile", json!(run.plan.profile()));
    put("seed", json!(run.seed));
    put("key_seed", json!(run.plan.key_seed()));
    put("fresh", json!(run.plan.fresh()));
    put("retry_disturbed", json!(run.plan.redo_disturbed()));
    if let Some(PaceParam { name, value }) = pace {
        put(name, json!(value));
        let mut measured = tests.iter().filter_map(Test::measured);
        put("arrivals", json!(measured.find_map(|test| test.params.get("arrivals"))));
    }
    put("nodes", nodes(run)?);
    put("network_delay", json!(run.plan.network_delay_s().map(|s| format!("{s}s"))));
    put("no_sampler", json!(run.plan.is_without_sampler().then_some(true)));
    for repository in run.plan.repositories() {
        put(repository, json!(true));
    }
    put("via", json!(run.plan.via()));
    put("test_bottleneck", json!(run.plan.bottleneck_tests()));
    put("labels", json!(run.labels));
    put("settings", json!(run.plan.settings()));
    put("test", again.request.tests.iter().map(test).collect());
    let mut text = format!(
        "#:schema {SCHEMA}\n# The tests of run {} of {}; 'dbdyno run FILE' does the same again.\n",
        run.id,
        visible(run.started_at.as_deref().unwrap_or("an unknown day"))
    );
    if run.plan.profile().is_none() && !run.target.contains("://") {
        text.push_str(
            "# This run does not store its size profile: write profile = \"S\" if it had one.\n",
        );
    }
    write(&mut text, &file);
    Ok(text)
}

/// Refuses a run whose plan lacks the rates that its tests had.
///
/// # Errors
/// Of usage: tests in an open loop, stored before plans had rates.
pub fn check_rates(place: &str, run: &RunRecord, tests: &[Test]) -> Result<()> {
    if !tests.iter().filter_map(Test::measured).any(has_a_rate) || plan::has_rates(&run.plan) {
        return Ok(());
    }
    Err(Error::usage(place, "an early version measured it at rates that its plan lacks")
        .advise("use 'dbdyno run --rate' with the rates that 'dbdyno report kpm' shows"))
}

/// True of an open loop at a rate that stays.
fn has_a_rate(test: &TestResult) -> bool {
    test.open.is_some() && pace_of(&test.params).is_none()
}

/// The load over time or the think time of all tests, if they had one.
///
/// # Errors
/// Tests whose ops started in several ways.
pub fn pace<'a>(place: &str, tests: &'a [Test]) -> Result<Option<PaceParam<'a>>> {
    let mut measured = tests.iter().filter_map(Test::measured);
    let first = measured.next().and_then(|test| pace_of(&test.params));
    if measured.any(|test| pace_of(&test.params) != first) {
        return Err(Error::usage(place, "has tests whose ops started in several ways")
            .advise("choose a run whose tests have one load over time, or one time of thinking"));
    }
    Ok(first)
}

/// The target of a run as it is asked for.
fn target(label: &str) -> &str {
    if label.contains("://") { label } else { label.split(' ').next().unwrap_or(label) }
}

/// The numbers of nodes that each test ran on, else those that a private cluster had.
fn nodes(run: &RunRecord) -> Result<Value> {
    let numbers = plan::nodes(&run.plan)?;
    if numbers.is_empty() {
        return Ok(json!(run.plan.nodes()));
    }
    Ok(json!(numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",")))
}

/// A test without what a file says once for all.
fn test(entry: &SuiteEntry) -> Value {
    let precision = entry.precision.map(|precision| precision.to_string());
    let mut value = serde_json::to_value(entry).unwrap_or_default();
    if let (Some(precision), Some(fields)) = (precision, value.as_object_mut()) {
        fields.insert("precision".into(), precision.into());
    }
    value
}

/// Writes values first, then tables, then lists of tables, as TOML has to have them.
fn write(text: &mut String, table: &Map<String, Value>) {
    let is_list = |value: &Value| {
        value
            .as_array()
            .is_some_and(|items| items.iter().all(Value::is_object) && !items.is_empty())
    };
    // Writing into a text cannot fail.
    for (key, value) in table.iter().filter(|(_, value)| !value.is_object() && !is_list(value)) {
        let _ = writeln!(text, "{} = {}", quote_key(key), inline(value));
    }
    for (key, value) in table {
        if let Some(fields) = value.as_object().filter(|fields| !fields.is_empty()) {
            let _ = writeln!(text, "\n[{}]", quote_key(key));
            write(text, fields);
        }
    }
    for (key, value) in table.iter().filter(|(_, value)| is_list(value)) {
        for fields in value.as_array().into_iter().flatten().filter_map(Value::as_object) {
            let _ = writeln!(text, "\n[[{}]]", quote_key(key));
            for (key, value) in fields.iter().filter(|(_, value)| !is_nothing(value)) {
                let _ = writeln!(text, "{} = {}", quote_key(key), inline(value));
            }
        }
    }
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

/// A value on one line.
fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => quote_text(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let given = fields.iter().filter(|(_, value)| !is_nothing(value));
            let pair =
                |(key, value): (&String, &Value)| format!("{} = {}", quote_key(key), inline(value));
            format!("{{ {} }}", given.map(pair).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn quote_key(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(is_bare) { key.into() } else { quote_text(key) }
}

/// A text in quotes; nothing in it acts on a terminal.
fn quote_text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if visible(c.encode_utf8(&mut [0; 4])) != c.to_string() => {
                let _ = write!(quoted, "\\U{:08X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let file = json!({
            "name": "a \"b\" \\ \u{1b}\u{202e}\n\u{7f}ü", "size": 0.25, "seed": 18_446_744_073_u64,
            "labels": {"a b": "1", "plain-one": "x"},
            "test": [
                {"workload": "W", "params": {"p": "1"}, "none": null, "each": {}, "jobs": "1,2"},
            ],
        });
        let mut text = String::new();
        write(&mut text, file.as_object().unwrap());
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        let read: Value = toml::from_str(&text).unwrap();
        let mut expected = file.clone();
        let test = expected["test"][0].as_object_mut().unwrap();
        test.retain(|_, value| !is_nothing(value));
        assert_eq!(read, expected, "{text}");
    }
}
