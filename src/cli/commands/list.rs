//! `list workloads|suites|engines|reports|profiles|formats`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::catalog::{Catalog, Suite, SuiteEntry, parse_selection};
use crate::cli::args::Listing;
use crate::cli::context::Context;
use crate::cli::{fit, out};
use crate::engine::{ENGINES, Engine};
use crate::error::Result;
use crate::model::{Drive, Workload};
use crate::report::REPORTS;
use crate::report::format::FORMATS;

/// A listing: the key of its JSON array, the columns of its text form, and the entries.
struct List {
    key: &'static str,
    columns: &'static [&'static str],
    entries: Vec<Value>,
}

/// Prints a listing.
///
/// # Errors
/// A broken catalogue, an unknown format.
pub fn list(context: &Context, what: Listing) -> Result<()> {
    let format = context.format(&["text", "json"])?;
    let list = match what {
        Listing::Workloads => workloads(&context.catalog()?),
        Listing::Suites => suites(&context.catalog()?)?,
        Listing::Profiles => profiles(&context.catalog()?),
        Listing::Engines => engines(),
        Listing::Reports => named("reports", REPORTS.iter().map(|report| (report.name(), report.title()))),
        Listing::Formats => named("formats", FORMATS.iter().map(|format| (format.name(), format.title()))),
    };
    if format == "json" {
        return out::json(&json!({ list.key: list.entries }));
    }
    let mut table = out::Table::new(list.columns);
    for entry in &list.entries {
        table.row(list.columns.iter().map(|column| cell(&entry[*column])));
    }
    out::print(&table.render(context.fit()))
}

/// A JSON value as a cell: lists joined, objects as `key: value`.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join(" "),
        Value::Object(map) => {
            let yes = map.iter().filter(|(_, value)| **value == json!("yes")).map(|(key, _)| key.clone());
            yes.collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

fn workloads(catalog: &Catalog) -> List {
    let entries = catalog.workloads().map(workload).collect();
    List { key: "workloads", columns: &["id", "title", "unit", "aliases", "engines"], entries }
}

fn workload(workload: &Workload) -> Value {
    let params = workload.params.iter().map(|param| {
        json!({ "name": param.name, "default": param.default, "values": param.values, "min": param.min, "max": param.max,
                "about": param.about })
    });
    let aliases: Vec<_> = workload.aliases.iter().map(|alias| alias.code.clone()).collect();
    let engines: serde_json::Map<_, _> =
        targets().map(|engine| (engine.name().to_string(), json!(availability(workload, engine)))).collect();
    json!({
        "id": workload.id, "group": workload.group, "title": workload.title, "unit": workload.kpm.unit,
        "better": workload.kpm.better, "params": params.collect::<Vec<_>>(), "aliases": aliases, "engines": engines,
    })
}

/// The engines that have a database behind them.
fn targets() -> impl Iterator<Item = &'static dyn Engine> {
    ENGINES.iter().copied().filter(|engine| engine.is_target())
}

/// `yes`, or why the engine cannot run it.
fn availability(workload: &Workload, engine: &dyn Engine) -> String {
    if let Some(reason) = workload.unsupported.get(engine.name()) {
        return reason.clone();
    }
    let drives = engine.capabilities().drives;
    match drives.iter().find(|drive| !workload.undrivable.contains_key(drive.name())) {
        Some(_) => "yes".into(),
        None => drives.first().and_then(|drive| workload.undrivable.get(drive.name())).cloned().unwrap_or_default(),
    }
}

fn suites(catalog: &Catalog) -> Result<List> {
    let entries = catalog.suites().iter().map(|suite| suite_summary(catalog, suite));
    let entries = entries.collect::<Result<Vec<_>>>()?;
    Ok(List { key: "suites", columns: &["id", "title", "size_gb", "profile", "jobs", "tests", "listed"], entries })
}

/// `tests` are those that can run somewhere, `listed` those that have no workload; `entries` are both, in order.
fn suite_summary(catalog: &Catalog, suite: &Suite) -> Result<Value> {
    let tests = catalog.suite_tests(suite)?;
    let workloads: Vec<_> = tests.iter().filter_map(|test| test.workload.clone()).collect();
    let entries = tests.iter().map(|test| suite_entry(catalog, test)).collect::<Result<Vec<_>>>()?;
    Ok(json!({ "id": suite.id, "title": suite.title, "about": suite.about, "size_gb": suite.size_gb,
               "profile": suite.profile, "jobs": suite.jobs, "tests": workloads.len(),
               "listed": tests.len() - workloads.len(), "workloads": workloads, "entries": entries }))
}

/// A test of a suite: what it is called and what it corresponds to (workload with parameters), or why to nothing.
pub fn suite_entry(catalog: &Catalog, test: &SuiteEntry) -> Result<Value> {
    let corresponds = test.workload.as_ref().map(|text| corresponds(catalog, test, text)).transpose()?;
    let asked = test.workload.as_ref().map(|text| Ok(catalog.find(&parse_selection(text)?.0)?.entry)).transpose()?;
    let title = test.title.clone().or(asked.map(|entry| entry.workload.title.clone()));
    Ok(json!({ "code": test.code, "title": title, "class": test.class, "corresponds_to": corresponds,
               "none": test.none, "jobs": test.jobs }))
}

/// `SRV-QUERY1:org=heap`: the workload's own id and the parameters that the test sets.
fn corresponds(catalog: &Catalog, test: &SuiteEntry, text: &str) -> Result<String> {
    let (name, given) = parse_selection(text)?;
    let asked = catalog.find(&name)?;
    let mut params = asked.params;
    params.extend(test.params.clone().into_iter().chain(given));
    let params: Vec<_> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let colon = if params.is_empty() { "" } else { ":" };
    Ok(format!("{}{colon}{}", asked.entry.workload.id, params.join(",")))
}

fn profiles(catalog: &Catalog) -> List {
    let entries = catalog.profiles().iter().map(|profile| {
        json!({ "id": profile.id, "title": profile.title, "size_gb": profile.size_gb, "cores": profile.cores,
                "ram_gb": profile.ram_gb, "cache_mb": profile.cache_mb, "needs_memory_mb": profile.memory_mb,
                "needs_disk_gb": fit::of_own(profile).disk_bytes as f64 / 1e9, "fits": fit::of_profile(profile),
                "settings": profile.settings })
    });
    let columns = &["id", "title", "size_gb", "cores", "ram_gb", "cache_mb", "fits"];
    List { key: "profiles", columns, entries: entries.collect() }
}

fn engines() -> List {
    let entries = targets().map(|engine| {
        let can = engine.capabilities();
        let drives: Vec<_> = can.drives.iter().map(|drive: &Drive| drive.name()).collect();
        json!({ "id": engine.name(), "title": engine.title(), "drives": drives, "orgs": can.orgs,
                "lacking_orgs": can.lacking_orgs.iter().copied().collect::<BTreeMap<_, _>>(),
                "private_server": can.private_server, "url_schemes": can.url_schemes })
    });
    List { key: "engines", columns: &["id", "title", "drives"], entries: entries.collect() }
}

fn named(key: &'static str, items: impl Iterator<Item = (&'static str, &'static str)>) -> List {
    let entries = items.map(|(id, title)| json!({ "id": id, "title": title })).collect();
    List { key, columns: &["id", "title"], entries }
}
