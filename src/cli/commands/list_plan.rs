//! `list workloads --plan SUITE`: what a run of the suite would do, before anything runs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::show;
use crate::analysis::scope::Scope;
use crate::catalog::Catalog;
use crate::cli::args::Listing;
use crate::cli::context::Context;
use crate::cli::forecast::duration;
use crate::cli::{out, request};
use crate::engine::{ENGINES, Engine};
use crate::error::{Error, Result};
use crate::fit::{data_bytes, list_jobs};
use crate::host::processors;
use crate::model::{
    Claim, Drive, LeftOut, Plan, Precision, Ramp, Selection, TableRef, TestResult, TestSpec,
};
use crate::plan;
use crate::report::format::layout::fold;
use crate::run::schedule;

/// Lists the tests of a suite in their order, with what is known of their time, disk and redo.
///
/// # Errors
/// Unknown suite, engine or format; a suite of which the engine can run nothing; another listing
/// than of workloads.
pub fn list(context: &Context, what: Listing, suite: &str, engine: Option<&str>) -> Result<()> {
    if !matches!(what, Listing::Workloads) {
        return Err(Error::usage("--plan", "is for 'list workloads' only")
            .advise("write 'list workloads --plan SUITE'"));
    }
    let format = context.format(&["text", "json"])?;
    let engine = engine.map_or_else(find_embedded, show::find)?;
    let listed = list_suite(&context.catalog()?, suite, engine)?;
    if format == "json" {
        return out::json(&listed);
    }
    out::print(&text(&listed, context.fit()))
}

/// The engine that runs in our process.
fn find_embedded() -> Result<&'static dyn Engine> {
    let found = ENGINES
        .iter()
        .copied()
        .find(|engine| engine.is_target() && engine.capabilities().in_process);
    found.ok_or_else(|| {
        Error::usage("--engine", "this build has no embedded engine").advise("name an engine")
    })
}

/// Plan of a run; values that are unknown before it has run are null.
#[derive(Serialize)]
struct SuitePlan {
    suite: String,
    engine: &'static str,
    profile: String,
    size_gb: f64,
    tables: Vec<String>,
    load_disk_bytes: u64,
    timed_s: f64,
    selections: Vec<PlannedSelection>,
    left_out: Vec<LeftOut>,
}

#[derive(Serialize)]
struct PlannedSelection {
    code: Option<String>,
    workload: String,
    params: BTreeMap<String, String>,
    drive: Drive,
    jobs: String,
    jobs_from: Option<u32>,
    jobs_to: Option<u32>,
    tests_at_most: u32,
    repeat: u32,
    ops_per_job: Option<u64>,
    precision: Option<Precision>,
    time_s: Option<f64>,
    redo_bytes_per_op_at_least: Option<f64>,
    disk_bytes: Option<u64>,
    /// The difference between the work and the published one.
    #[serde(skip_serializing_if = "Option::is_none")]
    differs: Option<String>,
}

fn list_suite(catalog: &Catalog, suite: &str, engine: &'static dyn Engine) -> Result<SuitePlan> {
    let suite = catalog.suite(suite)?;
    let (profile, size_gb) = request::of_suite(catalog, suite)?;
    let request = plan::Request {
        suites: vec![suite.id.clone()],
        size_gb: Some(size_gb),
        ..plan::Request::new(engine.name(), engine.capabilities(), processors())
    };
    let plan = plan::build(catalog, &request)?;
    let selections: Vec<_> =
        plan.selections.iter().map(|selection| select(&plan, selection)).collect();
    Ok(SuitePlan {
        suite: suite.id.clone(),
        engine: engine.name(),
        profile: profile.id.clone(),
        size_gb,
        tables: plan.tables.iter().map(TableRef::name).collect(),
        load_disk_bytes: data_bytes(&plan.tables, plan.size_gb),
        timed_s: selections.iter().filter_map(|selected| selected.time_s).sum(),
        selections,
        left_out: plan.left_out,
    })
}

fn select(plan: &Plan, selection: &Selection) -> PlannedSelection {
    let steps = schedule::all_tests(selection);
    let (jobs, jobs_from, jobs_to) = match &selection.ramp {
        Ramp::Fixed(jobs) => (list_jobs(jobs), jobs.first().copied(), jobs.last().copied()),
        Ramp::Auto { from, max } => (format!("{from} to {max}, doubled"), Some(*from), Some(*max)),
    };
    PlannedSelection {
        code: selection.asked_as.clone(),
        workload: selection.workload.id.clone(),
        params: selection.chosen.clone(),
        drive: selection.drive,
        jobs,
        jobs_from,
        jobs_to,
        tests_at_most: steps,
        repeat: selection.repeat,
        ops_per_job: selection.window.ops_per_job(),
        precision: selection.window.precision(),
        time_s: schedule::timed_s(selection).map(|test_s| f64::from(steps) * test_s),
        redo_bytes_per_op_at_least: redo_bytes_per_op(plan, selection),
        disk_bytes: disk_bytes(plan, selection),
        differs: selection.workload.differs(selection.asked_as.as_deref()).map(String::from),
    }
}

/// Disk that the tables of the data set take which a test uses; not known if it has tables of its
/// own.
fn disk_bytes(plan: &Plan, selection: &Selection) -> Option<u64> {
    let own = selection.parts.iter().any(|part| !part.setup.is_empty());
    let tables = &selection.tables;
    (!own).then(|| if tables.is_empty() { 0 } else { data_bytes(tables, plan.size_gb) })
}

/// The redo of an op that the contract wants at least; most workloads claim none.
fn redo_bytes_per_op(plan: &Plan, selection: &Selection) -> Option<f64> {
    let mut test = TestResult::unmeasured(&TestSpec::closed(selection, 1, 1), String::new());
    test.facts = plan::facts(&selection.workload, &selection.params, plan.size_gb);
    let scope = Scope::new(&test);
    let of_redo = |claim: &&Claim| claim.what == "wal_bytes" && claim.per.as_deref() == Some("ops");
    let claims = selection.workload.contract.iter().filter(of_redo);
    claims
        .filter(|claim| scope.applies(claim, &plan.engine))
        .find_map(|claim| scope.evaluate_bound(claim.min.as_ref()?).ok())
}

fn text(listed: &SuitePlan, width: Option<usize>) -> String {
    let fitted =
        |text: &str| width.map_or(text.to_string(), |width| fold(text, width).join("\n")) + "\n";
    let mut table =
        out::Table::new(&["", "test", "drive", "jobs", "tests", "time", "disk", "redo per op"]);
    for (at, test) in listed.selections.iter().enumerate() {
        table.row(cells(at + 1, test));
    }
    let left_out = listed
        .left_out
        .iter()
        .map(|one| fitted(&format!("left out: {}: {}", one.label, one.reason)));
    let left_out: String =
        differences(listed).iter().map(|text| fitted(text)).chain(left_out).collect();
    fitted(&head(listed)) + "\n" + &table.render(width) + "\n" + &fitted(&foot(listed)) + &left_out
}

/// `differs: T331, T332: ...`: the codes whose work is not the published one, by how it differs.
fn differences(listed: &SuitePlan) -> Vec<String> {
    let mut by_text: Vec<(&str, Vec<&str>)> = Vec::new();
    for test in &listed.selections {
        let (Some(text), Some(code)) = (&test.differs, &test.code) else { continue };
        match by_text.iter_mut().find(|(known, _)| known == text) {
            Some((_, codes)) if codes.contains(&code.as_str()) => {}
            Some((_, codes)) => codes.push(code),
            None => by_text.push((text, vec![code])),
        }
    }
    let said = |(text, codes): &(&str, Vec<&str>)| format!("differs: {}: {text}", codes.join(", "));
    by_text.iter().map(said).collect()
}

fn cells(number: usize, test: &PlannedSelection) -> [String; 8] {
    let unknown = || "-".to_string();
    let gb = |bytes: u64| format!("{:.1} GB", bytes as f64 / 1e9);
    let redo = |bytes: f64| format!(">= {} bytes", bytes as u64);
    [
        number.to_string(),
        label_of(test),
        test.drive.name().into(),
        test.jobs.clone(),
        test.tests_at_most.to_string(),
        test.time_s.map_or_else(unknown, |time_s| up_to(test) + &duration(time_s)),
        test.disk_bytes.map_or_else(unknown, gb),
        test.redo_bytes_per_op_at_least.map_or_else(unknown, redo),
    ]
}

fn head(listed: &SuitePlan) -> String {
    let SuitePlan { suite, engine, profile, size_gb, .. } = listed;
    let (tables, load_gb) = (listed.tables.join(", "), listed.load_disk_bytes as f64 / 1e9);
    format!(
        "{suite} on {engine}, profile {profile}: {size_gb:?} GB nominal, tables {tables}; loading \
         them needs {load_gb:.1} GB of disk"
    )
}

fn foot(listed: &SuitePlan) -> String {
    let time = duration(listed.timed_s);
    let blocks = match listed.selections.iter().map(|test| test.repeat).max() {
        Some(most) if most > 1 => {
            format!("; every test up to {most} times, in blocks whose order the seed gives")
        }
        _ => String::new(),
    };
    format!(
        "at most {time} for the tests of fixed time; '-' is not known before it has run: how long \
         loading, checking of answers and fixed work take, disk for tables of the workloads' own, \
         and redo of which the contract says nothing{blocks}"
    )
}

/// `T626 STO-SCATTER rows=10240`.
fn label_of(test: &PlannedSelection) -> String {
    let params = test.params.iter().map(|(name, value)| format!(" {name}={value}"));
    let code = test.code.iter().map(|code| format!("{code} "));
    code.chain([test.workload.clone()]).chain(params).collect()
}

/// Maximum time of a test that ends when its figure is known.
fn up_to(test: &PlannedSelection) -> String {
    test.precision.map_or_else(String::new, |_| "up to ".into())
}
