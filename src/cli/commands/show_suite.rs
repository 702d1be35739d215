//! `show suite ID`: its tests under their published codes, what each corresponds to, its rule, and where it runs.

use serde_json::{Value, json};

use super::list::suite_entry;
use crate::campaign::host_cpus;
use crate::catalog::{Catalog, Suite, SuiteEntry};
use crate::cli::context::Context;
use crate::cli::out;
use crate::cli::setting::check_size;
use crate::engine::{ENGINES, Engine};
use crate::error::Result;
use crate::plan::{self, DEFAULT_SIZE_GB, Prospect};
use crate::report::format::text::fold;

/// Shows a suite at a nominal size.
///
/// # Errors
/// Unknown suite or format, an impossible size, a broken catalogue.
pub fn show(context: &Context, id: &str, size_gb: Option<f64>) -> Result<()> {
    let format = context.format(&["text", "json"])?;
    let catalog = context.catalog()?;
    let suite = catalog.suite(id)?;
    // The work of a published suite is printed as published, whatever size it runs at by default.
    let size_gb = size_gb.or(suite.published_gb).or(suite.size_gb).unwrap_or(DEFAULT_SIZE_GB);
    check_size(size_gb)?;
    let tests = tests(&catalog, suite, size_gb)?;
    if format == "json" {
        return out::json(&json!({ "suite": suite.id, "title": suite.title, "about": suite.about, "size_gb": size_gb,
                                  "published_gb": suite.published_gb, "tests": tests }));
    }
    out::print(&text(context, suite, size_gb, &tests))
}

/// Every test as JSON, with what becomes of it on each engine.
fn tests(catalog: &Catalog, suite: &Suite, size_gb: f64) -> Result<Vec<Value>> {
    let engines: Vec<&dyn Engine> = ENGINES.iter().copied().filter(|engine| engine.is_target()).collect();
    let on = engines.iter().map(|engine| Ok((engine.name(), prospects(catalog, suite, *engine, size_gb)?)));
    let on = on.collect::<Result<Vec<_>>>()?;
    let entries = catalog.suite_tests(suite)?;
    entries.iter().enumerate().map(|(at, entry)| test(catalog, entry, &on, at)).collect()
}

fn prospects(catalog: &Catalog, suite: &Suite, engine: &dyn Engine, size_gb: f64) -> Result<Vec<Prospect>> {
    let request = plan::Request {
        suites: vec![suite.id.clone()],
        size_gb: Some(size_gb),
        ..plan::Request::new(engine.name(), engine.capabilities(), host_cpus())
    };
    plan::prospects(catalog, &request)
}

fn test(catalog: &Catalog, entry: &SuiteEntry, on: &[(&str, Vec<Prospect>)], at: usize) -> Result<Value> {
    let engines: serde_json::Map<_, _> = on
        .iter()
        .map(|(engine, prospects)| {
            let outcome = prospects.get(at).map_or(Ok(()), |prospect| prospect.selection.as_ref().map(|_| ()));
            ((*engine).to_string(), json!(outcome.map_or_else(String::clone, |()| "yes".to_string())))
        })
        .collect();
    let planned = on.iter().find_map(|(_, prospects)| prospects.get(at)?.selection.as_ref().ok());
    let mut value = suite_entry(catalog, entry)?;
    value["work"] = json!(entry.work);
    value["ops_per_job"] = json!(planned.and_then(|selection| selection.window.ops_per_job));
    value["duration_s"] = json!(planned.filter(|_| entry.work.is_none()).map(|selection| selection.window.duration_s));
    value["engines"] = if entry.workload.is_some() { json!(engines) } else { Value::Null };
    Ok(value)
}

/// The tests as a table; reasons stand below it, each once.
fn text(context: &Context, suite: &Suite, size_gb: f64, tests: &[Value]) -> String {
    let mut reasons = Vec::new();
    let coded = tests.iter().any(|test| test["code"].is_string() || test["class"].is_string());
    let named: &[&str] = if coded { &["class", "code"] } else { &[] };
    let mut table = out::Table::new(&[named, &["test", "corresponds to", "jobs", "per job", "runs on"]].concat());
    for test in tests {
        let said = |key: &str| test[key].as_str().unwrap_or_default().to_string();
        let corresponds = match test["none"].as_str() {
            Some(reason) => format!("- {}", note(&mut reasons, reason)),
            None => said("corresponds_to"),
        };
        let runs_on = runs_on(test, &mut reasons);
        let names = named.iter().map(|key| said(key));
        table.row(names.chain([said("title"), corresponds, said("jobs"), rule(test), runs_on]));
    }
    let fitted = |text: &str| context.fit().map_or(text.to_string(), |width| fold(text, width).join("\n"));
    let (title, about) = (format!("{}: {}", suite.id, suite.title), suite.about.trim());
    let head = format!("{}\n{}\nat {size_gb} GB:\n\n", fitted(&title), fitted(about));
    let notes = reasons.iter().enumerate().map(|(at, reason)| fitted(&format!("[{}] {reason}", at + 1)) + "\n");
    head + &table.render(context.fit()) + "\n" + &notes.collect::<String>()
}

/// The engines that run the test; of the others the notes that say why not.
fn runs_on(test: &Value, reasons: &mut Vec<String>) -> String {
    let engines = test["engines"].as_object().into_iter().flatten();
    let word = engines.map(|(engine, outcome)| match outcome.as_str() {
        Some("yes") | None => engine.clone(),
        Some(reason) => format!("not {engine} {}", note(reasons, reason)),
    });
    word.collect::<Vec<_>>().join(", ")
}

fn note(reasons: &mut Vec<String>, reason: &str) -> String {
    let known = reasons.iter().position(|known| known == reason);
    let at = known.unwrap_or_else(|| {
        reasons.push(reason.to_string());
        reasons.len() - 1
    });
    format!("[{}]", at + 1)
}

/// `65536 selects` as published, and in ops of ours; or the window.
fn rule(test: &Value) -> String {
    match (&test["work"], test["ops_per_job"].as_u64(), test["duration_s"].as_f64()) {
        (Value::Object(work), Some(ops), _) => {
            let amount = work["amount"].as_f64().unwrap_or_default();
            let (unit, op) = (work["unit"].as_str().unwrap_or_default(), if ops == 1 { "op" } else { "ops" });
            format!("{amount} {unit} = {ops} {op}")
        }
        (_, _, Some(seconds)) => format!("{seconds} s"),
        _ => String::new(),
    }
}
