//! `list workloads|suites|engines|reports|profiles|formats`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::catalog::{Catalog, ConfirmedVersion, Profile, Suite, SuiteEntry, parse_selection};
use crate::cli::args::Listing;
use crate::cli::context::Context;
use crate::cli::{out, paths};
use crate::engine::{ENGINES, Engine};
use crate::error::Result;
use crate::fit::{self, Needs};
use crate::model::{AskedRamp, Better, Drive, Param, Workload};
use crate::report::format::{FORMATS, json};

/// The word for an engine that can run a workload.
const YES: &str = "yes";

/// The column whose MB are those of servers' settings, and its heading in the text form.
const CACHE: (&str, &str) = ("cache_mb", "cache_mb [MiB]");

/// A listing: the key of its JSON array, the columns of its text form, and the entries.
struct List {
    key: &'static str,
    columns: &'static [&'static str],
    entries: Vec<Value>,
}

impl List {
    fn new<T: Serialize>(
        key: &'static str,
        columns: &'static [&'static str],
        entries: impl IntoIterator<Item = T>,
    ) -> List {
        List {
            key,
            columns,
            entries: entries.into_iter().map(|entry| json::value(&entry)).collect(),
        }
    }
}

/// Prints a listing.
///
/// # Errors
/// A broken catalog, an unknown format.
pub fn list(context: &Context, what: Listing) -> Result<()> {
    let format = context.format(&["text", "json"])?;
    let list = match what {
        Listing::Workloads => workloads(&context.catalog()?),
        Listing::Suites => suites(&context.catalog()?)?,
        Listing::Profiles => profiles(&context.catalog()?),
        Listing::Engines => engines(&context.catalog()?),
        Listing::Reports => list_named(
            "reports",
            super::report::all().map(|report| (report.name(), report.title())),
        ),
        Listing::Formats => {
            list_named("formats", FORMATS.iter().map(|format| (format.name(), format.title())))
        }
    };
    if format == "json" {
        return out::json(&BTreeMap::from([(list.key, list.entries)]));
    }
    let head = |column: &&'static str| if *column == CACHE.0 { CACHE.1 } else { *column };
    let mut table = out::Table::new(&list.columns.iter().map(head).collect::<Vec<_>>());
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
            let yes = map.iter().filter(|(_, value)| *value == YES).map(|(key, _)| key.clone());
            yes.collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

#[derive(Serialize)]
struct WorkloadEntry<'a> {
    id: &'a str,
    group: &'a str,
    title: &'a str,
    unit: &'a str,
    better: Better,
    params: &'a [Param],
    aliases: Vec<&'a str>,
    /// `yes`, or why not.
    engines: BTreeMap<&'static str, String>,
}

fn workloads(catalog: &Catalog) -> List {
    List::new(
        "workloads",
        &["id", "title", "unit", "aliases", "engines"],
        catalog.workloads().map(|workload| json::value(&WorkloadEntry::new(workload))),
    )
}

impl<'a> WorkloadEntry<'a> {
    fn new(workload: &'a Workload) -> WorkloadEntry<'a> {
        WorkloadEntry {
            id: &workload.id,
            group: &workload.group,
            title: &workload.title,
            unit: &workload.kpm.unit,
            better: workload.kpm.better,
            params: &workload.params,
            aliases: workload.aliases.iter().map(|alias| alias.code.as_str()).collect(),
            engines: targets()
                .map(|engine| (engine.name(), availability(workload, engine)))
                .collect(),
        }
    }
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
        Some(_) => YES.into(),
        None => drives
            .first()
            .and_then(|drive| workload.undrivable.get(drive.name()))
            .cloned()
            .unwrap_or_default(),
    }
}

#[derive(Serialize)]
struct SuiteSummary<'a> {
    id: &'a str,
    title: &'a str,
    about: &'a str,
    size_gb: Option<f64>,
    profile: Option<&'a str>,
    jobs: Option<&'a AskedRamp>,
    /// Number of tests that can run somewhere, and of those that are listed without a workload.
    tests: usize,
    listed: usize,
    workloads: Vec<String>,
    /// Both kinds, in order.
    entries: Vec<SuiteTest>,
}

/// A test of a suite: what it is called and what it corresponds to (workload with parameters), or
/// why to nothing.
#[derive(Serialize)]
pub struct SuiteTest {
    pub code: Option<String>,
    pub title: Option<String>,
    pub class: Option<String>,
    pub corresponds_to: Option<String>,
    pub none: Option<String>,
    pub jobs: Option<AskedRamp>,
    /// The difference between the work and the published one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
}

fn suites(catalog: &Catalog) -> Result<List> {
    let entries = catalog.suites().iter().map(|suite| suite_summary(catalog, suite));
    let columns = &["id", "title", "size_gb", "profile", "jobs", "tests", "listed"];
    Ok(List::new("suites", columns, entries.collect::<Result<Vec<_>>>()?))
}

fn suite_summary<'a>(catalog: &Catalog, suite: &'a Suite) -> Result<SuiteSummary<'a>> {
    let tests = catalog.suite_tests(suite)?;
    let workloads: Vec<_> = tests.iter().filter_map(|test| test.workload.clone()).collect();
    Ok(SuiteSummary {
        id: &suite.id,
        title: &suite.title,
        about: &suite.about,
        size_gb: suite.size_gb,
        profile: suite.profile.as_deref(),
        jobs: suite.jobs.as_ref(),
        tests: workloads.len(),
        listed: tests.len() - workloads.len(),
        workloads,
        entries: tests.iter().map(|test| suite_test(catalog, test)).collect::<Result<_>>()?,
    })
}

/// A test of a suite as listings say it.
///
/// # Errors
/// An unknown workload, a selection that cannot be read.
pub fn suite_test(catalog: &Catalog, test: &SuiteEntry) -> Result<SuiteTest> {
    let corresponds =
        test.workload.as_ref().map(|text| corresponds(catalog, test, text)).transpose()?;
    let asked = test
        .workload
        .as_ref()
        .map(|text| Ok(catalog.find(&parse_selection(text)?.name)?.entry))
        .transpose()?;
    Ok(SuiteTest {
        code: test.code.clone(),
        title: test.title.clone().or(asked.map(|entry| entry.workload.title.clone())),
        class: test.class.clone(),
        corresponds_to: corresponds,
        none: test.none.clone(),
        jobs: test.jobs.clone(),
        differs: asked.and_then(|entry| {
            let written =
                test.workload.as_deref().map(|text| text.split(':').next().unwrap_or(text));
            let names = [test.code.as_deref(), written];
            entry.workload.differs(names.into_iter().flatten()).map(String::from)
        }),
    })
}

/// `SRV-QUERY1:org=heap`: the workload's own id and the parameters that the test sets.
fn corresponds(catalog: &Catalog, test: &SuiteEntry, text: &str) -> Result<String> {
    let selection = parse_selection(text)?;
    let asked = catalog.find(&selection.name)?;
    let mut params = asked.params;
    params.extend(test.params.clone().into_iter().chain(selection.params));
    let params: Vec<_> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let colon = if params.is_empty() { "" } else { ":" };
    Ok(format!("{}{colon}{}", asked.entry.workload.id, params.join(",")))
}

#[derive(Serialize)]
struct ProfileEntry<'a> {
    #[serde(flatten)]
    profile: &'a Profile,
    needs_memory_mb: Option<f64>,
    needs_disk_gb: f64,
    fits: String,
}

fn profiles(catalog: &Catalog) -> List {
    let entry = |profile| ProfileEntry {
        profile,
        needs_memory_mb: profile.memory_mb,
        needs_disk_gb: Needs::of_own(profile).disk_bytes as f64 / 1e9,
        fits: fit::of_profile(profile, &paths::data_dir(None)),
    };
    let columns = &["id", "title", "size_gb", "cores", "ram_gb", "cache_mb", "fits"];
    List::new("profiles", columns, catalog.profiles().iter().map(entry))
}

#[derive(Serialize)]
struct EngineEntry<'a> {
    id: &'static str,
    title: &'static str,
    product: &'static str,
    drives: &'static [Drive],
    orgs: &'static [&'static str],
    /// Programs know it by its former name.
    #[serde(rename = "lacking_orgs")]
    unsupported_orgs: BTreeMap<&'static str, &'static str>,
    private_server: bool,
    url_schemes: &'static [&'static str],
    /// Versions on which it is confirmed: in a line for people, and one by one.
    confirmed: String,
    confirmations: &'a [ConfirmedVersion],
}

fn engines(catalog: &Catalog) -> List {
    let entries = targets().map(|engine| EngineEntry::new(engine, catalog));
    List::new("engines", &["id", "title", "drives", "confirmed"], entries)
}

impl<'a> EngineEntry<'a> {
    fn new(engine: &'static dyn Engine, catalog: &'a Catalog) -> EngineEntry<'a> {
        let can = engine.capabilities();
        let confirmations = catalog.confirmed(engine.name());
        EngineEntry {
            confirmed: describe_confirmed(confirmations),
            confirmations,
            id: engine.name(),
            title: engine.title(),
            product: can.product,
            drives: can.drives,
            orgs: can.orgs,
            unsupported_orgs: can.unsupported_orgs.iter().copied().collect(),
            private_server: can.private_server,
            url_schemes: can.url_schemes,
        }
    }
}

/// `14, 15 (since 0.1.0, 2026-11-23, our tests)`.
fn describe_confirmed(all: &[ConfirmedVersion]) -> String {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for one in all {
        let how = format!("since {}, {}, {}", one.since, one.on, one.by);
        match groups.iter_mut().find(|(known, _)| *known == how) {
            Some((_, versions)) => versions.push(&one.version),
            None => groups.push((how, vec![&one.version])),
        }
    }
    let texts = groups.iter().map(|(how, versions)| format!("{} ({how})", versions.join(", ")));
    if groups.is_empty() { "no version".into() } else { texts.collect::<Vec<_>>().join("; ") }
}

#[derive(Serialize)]
struct NamedItem {
    id: &'static str,
    title: &'static str,
}

fn list_named(
    key: &'static str,
    items: impl Iterator<Item = (&'static str, &'static str)>,
) -> List {
    List::new(key, &["id", "title"], items.map(|(id, title)| NamedItem { id, title }))
}
