//! `show workload ID` (`show suite ID` stands in `show_suite`, `show run ID` in `runs`): what it
//! does, its parameters, its SQL as it will run; `show facts`: the template of a file of facts;
//! `show reason`: a reason of a verdict, explained.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{runs, show_suite};
use crate::catalog::Catalog;
use crate::cli::args::Show;
use crate::cli::context::Context;
use crate::cli::{experiment, out, reasons, request};
use crate::engine::{self, ENGINES, Engine};
use crate::error::{Error, Result, quote, visible};
use crate::host::processors;
use crate::model::{
    AskedRamp, Claim, Drive, FactForm, Needed, Selection, SqlPiece, StatableFact, Workload,
};
use crate::plan;
use crate::report::catalog::claim_in_words;

/// Shows a workload or a suite (--format text|json).
///
/// # Errors
/// Unknown workload, suite or engine, bad parameters.
pub fn show(context: &Context, what: &Show) -> Result<()> {
    let (id, engine, drive) = match what {
        Show::Workload { id, engine, drive } => (id, engine, drive),
        Show::Suite { id, size } => return show_suite::show(context, id, *size),
        Show::Run { run, as_file: false } => return runs::show(context, run),
        Show::Run { run, as_file: true } => {
            context.text_only()?;
            let store = context.store_to_read()?;
            let run = store.run(run)?;
            let tests = store.figures(run.id)?;
            return out::print(&experiment::as_file(&context.catalog()?, &run, &tests)?);
        }
        Show::Schema => {
            context.text_only()?;
            return out::json(&experiment::schema(&context.catalog()?));
        }
        Show::Facts => return facts(context),
        Show::Reason { code } => return reason(context, code),
    };
    let format = context.format(&["text", "json"])?;
    let catalog = context.catalog()?;
    let name = crate::catalog::parse_selection(id)?.name;
    let workload = &catalog.find(&name)?.entry.workload;
    let (engine, drive) = (engine.as_deref().map(find).transpose()?, drive.map(request::drive));
    if format == "json" {
        return out::json(&resolve(&catalog, id, workload, engine, drive)?);
    }
    let text = match engine {
        Some(engine) => sql(&catalog, id, engine, drive)?,
        None => every_engine(&catalog, id, drive)?,
    };
    out::print(&(description(workload, engine) + &text))
}

/// Prints the facts that dbdyno cannot read, as a file that states none of them yet.
fn facts(context: &Context) -> Result<()> {
    let format = context.format(&["text", "json"])?;
    let catalog = context.catalog()?;
    match format.as_str() {
        "json" => out::json(&serde_json::json!({ "facts": catalog.statable() })),
        _ => out::print(&template(catalog.statable())),
    }
}

/// Prints a reason of a verdict with its cause and its remedy.
fn reason(context: &Context, code: &str) -> Result<()> {
    let format = context.format(&["text", "json"])?;
    let found = reasons::find(code)?;
    if format == "json" {
        return out::json(&found);
    }
    out::print(&format!(
        "{} ({}): {}\n\nRule        {}\nExample     {}\nCause       {}\nWhat to do  {}\n",
        found.label,
        found.code,
        found.status,
        plain(found.rule),
        plain(found.example),
        plain(&found.cause),
        plain(&found.remedy)
    ))
}

/// A text in Markdown without backquotes and with its links behind their words.
fn plain(text: &str) -> String {
    text.replace('`', "").replace("](", " (").replace('[', "")
}

/// Above the facts.
const TEMPLATE: &str = "\
# Facts of a platform that dbdyno cannot read. Fill in what you know, take the # away, and name the
# file with --facts. What a complete disclosure needs is marked: (needed), (needed in a cloud),
# (needed of own hardware).
";

fn template(facts: &[StatableFact]) -> String {
    let mut text = TEMPLATE.to_string();
    let mut topic = "";
    for fact in facts {
        let key = fact.key();
        if fact.topic() != topic {
            topic = fact.topic();
            text.push_str(&format!("\n[{topic}]\n"));
        }
        let needed = match fact.needed {
            Needed::Never => "",
            Needed::Always => " (needed)",
            Needed::Cloud => " (needed in a cloud)",
            Needed::Own => " (needed of own hardware)",
        };
        text.push_str(&format!("# {}{needed}\n", visible(&fact.about)));
        if !fact.values.is_empty() {
            text.push_str(&format!("# one of: {}\n", visible(&fact.values.join(", "))));
        }
        let example = match fact.form {
            FactForm::Number => fact.example.clone(),
            FactForm::Text | FactForm::Date => format!("{:?}", fact.example),
        };
        text.push_str(&format!("#{key} = {}\n", visible(&example)));
    }
    text
}

/// A workload with all that it inherits, and what each engine would run.
#[derive(Serialize)]
struct ResolvedWorkload<'a> {
    workload: &'a Workload,
    plans: Vec<PlannedWorkload>,
}

#[derive(Serialize)]
struct PlannedWorkload {
    engine: &'static str,
    drive: Drive,
    params: BTreeMap<String, String>,
    hash: String,
    statements: Vec<SqlPiece>,
}

/// The workload with all that it inherits, and its statements on each engine that can run it.
fn resolve<'a>(
    catalog: &Catalog,
    id: &str,
    workload: &'a Workload,
    engine: Option<&'static dyn Engine>,
    drive: Option<Drive>,
) -> Result<ResolvedWorkload<'a>> {
    let plan = |engine: &'static dyn Engine| plan_on(catalog, id, engine, drive);
    let all = ENGINES.iter().copied().filter(|engine| engine.is_target());
    let plans = match engine {
        Some(engine) => vec![plan(engine)?],
        None => all.filter_map(|engine| plan(engine).ok()).collect(),
    };
    Ok(ResolvedWorkload { workload, plans })
}

fn plan_on(
    catalog: &Catalog,
    id: &str,
    engine: &'static dyn Engine,
    drive: Option<Drive>,
) -> Result<PlannedWorkload> {
    let selection = selection(catalog, id, engine, drive)?;
    let statements = plan::show(&selection);
    Ok(PlannedWorkload {
        engine: engine.name(),
        drive: selection.drive,
        params: selection.params,
        hash: selection.hash,
        statements,
    })
}

/// The SQL of each engine, or why it has none.
///
/// # Errors
/// If it can be shown for no engine: what was asked for is wrong.
fn every_engine(catalog: &Catalog, id: &str, drive: Option<Drive>) -> Result<String> {
    let engines = ENGINES.iter().filter(|engine| engine.is_target());
    let found: Vec<_> =
        engines.map(|engine| (engine.name(), sql(catalog, id, *engine, drive))).collect();
    let errors: Option<Vec<&Error>> = found.iter().map(|(_, sql)| sql.as_ref().err()).collect();
    if let Some(error) = errors.iter().flatten().next() {
        return Err((*error).clone());
    }
    let one = |(name, sql): (&str, Result<String>)| {
        sql.unwrap_or_else(|error| format!("\n-- {name}: {error}\n"))
    };
    Ok(found.into_iter().map(one).collect())
}

/// The engine of this name.
///
/// # Errors
/// Unknown name, with the known ones.
pub fn find(name: &str) -> Result<&'static dyn Engine> {
    engine::find(name).filter(|engine| engine.is_target()).ok_or_else(|| {
        let known: Vec<_> = ENGINES
            .iter()
            .filter(|engine| engine.is_target())
            .map(|engine| engine.name())
            .collect();
        Error::usage("--engine", format!("{} is not an engine", quote(name)))
            .advise(format!("choose {}", known.join(", ")))
    })
}

/// Title, prose, KPM, parameters, aliases and claims, as SQL comments: the whole output can be
/// pasted into a client. Of the claims those of one engine, if it is named.
fn description(workload: &Workload, engine: Option<&dyn Engine>) -> String {
    let mut lines = vec![format!("{}: {}", workload.id, workload.title)];
    lines.extend(workload.about.trim().lines().map(String::from));
    lines.push(format!("KPM: {} ({} is better)", workload.kpm.unit, workload.kpm.better.name()));
    let aliases: Vec<_> = workload.aliases.iter().map(|alias| alias.code.as_str()).collect();
    if !aliases.is_empty() {
        lines.push(format!("corresponds to: {}", aliases.join(", ")));
    }
    lines.extend(workload.differs.iter().map(|text| format!("{} differs: {text}", workload.id)));
    for alias in &workload.aliases {
        lines.extend(alias.differs.iter().map(|text| format!("{} differs: {text}", alias.code)));
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
        lines.push(format!(
            "parameter {}={} ({values}): {}",
            param.name, param.default, param.about
        ));
    }
    let holds = |claim: &&Claim| {
        claim.engines.is_empty()
            || engine.is_none_or(|engine| claim.engines.iter().any(|name| name == engine.name()))
    };
    for (kind, claims) in [("contract", &workload.contract), ("cross-check", &workload.crosscheck)]
    {
        lines.extend(
            claims.iter().filter(holds).map(|claim| format!("{kind}: {}", claim_in_words(claim))),
        );
    }
    lines.iter().map(|line| format!("-- {}", visible(line)).trim_end().to_string() + "\n").collect()
}

fn sql(catalog: &Catalog, id: &str, engine: &dyn Engine, drive: Option<Drive>) -> Result<String> {
    let selection = selection(catalog, id, engine, drive)?;
    let mut text = format!(
        "\n-- {} on {}, {} drive\n",
        selection.workload.id,
        engine.name(),
        selection.drive.name()
    );
    for shown in plan::show(&selection) {
        text.push_str(&format!(
            "\n-- {}\n{};\n",
            visible(&shown.caption),
            shown.sql.trim().trim_end_matches(';')
        ));
    }
    Ok(text)
}

/// A workload's plan for an engine at one job.
///
/// # Errors
/// A workload that the engine or the drive cannot run, bad parameters.
pub fn selection(
    catalog: &Catalog,
    id: &str,
    engine: &dyn Engine,
    drive: Option<Drive>,
) -> Result<Selection> {
    let request = plan::Request {
        workloads: vec![id.to_string()],
        jobs: Some(AskedRamp::single(1)),
        drive,
        ..plan::Request::new(engine.name(), engine.capabilities(), processors())
    };
    let plan = plan::build(catalog, &request)?;
    plan.selections.into_iter().next().ok_or_else(|| Error::usage("show", "nothing to show"))
}
