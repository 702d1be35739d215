//! `show workload ID` (`show suite ID` stands in `show_suite`): what it does, its parameters, its SQL as it will run.

use super::show_suite;
use crate::campaign::host_cpus;
use crate::catalog::Catalog;
use crate::cli::args::Show;
use crate::cli::context::Context;
use crate::cli::{out, setting};
use crate::engine::{self, ENGINES, Engine};
use crate::error::{Error, Result};
use crate::model::{Drive, Selection, Workload};
use crate::plan;

/// Shows a workload or a suite.
///
/// # Errors
/// Unknown workload, suite or engine, bad parameters.
pub fn show(context: &Context, what: &Show) -> Result<()> {
    let (id, engine, drive) = match what {
        Show::Workload { id, engine, drive } => (id, engine, drive),
        Show::Suite { id, size } => return show_suite::show(context, id, *size),
    };
    context.text_only()?;
    let catalog = context.catalog()?;
    let (name, _) = crate::catalog::parse_selection(id)?;
    let asked = catalog.find(&name)?;
    let drive = drive.map(setting::drive);
    let text = match engine {
        Some(name) => sql(&catalog, id, find(name)?, drive)?,
        None => every_engine(&catalog, id, drive)?,
    };
    out::print(&(description(&asked.entry.workload) + &text))
}

/// The SQL of each engine, or why it has none.
///
/// # Errors
/// If it can be shown for no engine: what was asked for is wrong.
fn every_engine(catalog: &Catalog, id: &str, drive: Option<Drive>) -> Result<String> {
    let engines = ENGINES.iter().filter(|engine| engine.is_target());
    let found: Vec<_> = engines.map(|engine| (engine.name(), sql(catalog, id, *engine, drive))).collect();
    let errors: Option<Vec<&Error>> = found.iter().map(|(_, sql)| sql.as_ref().err()).collect();
    if let Some(error) = errors.iter().flatten().next() {
        return Err((*error).clone());
    }
    let one = |(name, sql): (&str, Result<String>)| sql.unwrap_or_else(|error| format!("\n-- {name}: {error}\n"));
    Ok(found.into_iter().map(one).collect())
}

/// The engine of this name.
///
/// # Errors
/// Unknown name, with the known ones.
pub fn find(name: &str) -> Result<&'static dyn Engine> {
    engine::find(name).filter(|engine| engine.is_target()).ok_or_else(|| {
        let known: Vec<_> = ENGINES.iter().filter(|engine| engine.is_target()).map(|engine| engine.name()).collect();
        Error::usage("--engine", format!("'{name}' is no engine")).advise(format!("choose {}", known.join(", ")))
    })
}

/// Title, prose, KPM, parameters and aliases, as SQL comments: the whole output can be pasted into a client.
fn description(workload: &Workload) -> String {
    let mut lines = vec![format!("{}: {}", workload.id, workload.title)];
    lines.extend(workload.about.trim().lines().map(String::from));
    lines.push(format!("KPM: {} ({} is better)", workload.kpm.unit, workload.kpm.better.name()));
    let aliases: Vec<_> = workload.aliases.iter().map(|alias| alias.code.as_str()).collect();
    if !aliases.is_empty() {
        lines.push(format!("corresponds to: {}", aliases.join(", ")));
    }
    for param in &workload.params {
        let values = if param.values.is_empty() {
            format!(
                "{}..{}",
                param.min.map_or(String::new(), |min| min.to_string()),
                param.max.map_or(String::new(), |max| max.to_string())
            )
        } else {
            param.values.join("|")
        };
        lines.push(format!("parameter {}={} ({values}): {}", param.name, param.default, param.about));
    }
    lines.iter().map(|line| format!("-- {line}").trim_end().to_string() + "\n").collect()
}

fn sql(catalog: &Catalog, id: &str, engine: &dyn Engine, drive: Option<Drive>) -> Result<String> {
    let selection = selection(catalog, id, engine, drive)?;
    let mut text = format!("\n-- {} on {}, {} drive\n", selection.workload.id, engine.name(), selection.drive.name());
    for shown in plan::show(&selection) {
        text.push_str(&format!("\n-- {}\n{};\n", shown.caption, shown.sql.trim().trim_end_matches(';')));
    }
    Ok(text)
}

/// A workload's plan for an engine at one job.
///
/// # Errors
/// What the engine or the drive cannot do, bad parameters.
pub fn selection(catalog: &Catalog, id: &str, engine: &dyn Engine, drive: Option<Drive>) -> Result<Selection> {
    let request = plan::Request {
        workloads: vec![id.to_string()],
        jobs: Some("1".into()),
        drive,
        ..plan::Request::new(engine.name(), engine.capabilities(), host_cpus())
    };
    let plan = plan::build(catalog, &request)?;
    plan.selections.into_iter().next().ok_or_else(|| Error::usage("show", "nothing to show"))
}
