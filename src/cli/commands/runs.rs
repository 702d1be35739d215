//! `runs list|show|export|import|delete`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::cli::args::{RoleArg, Runs};
use crate::cli::context::Context;
use crate::cli::{file, out, paths};
use crate::error::{Error, Kind, Result};
use crate::import::{self, ImportedRun, Text};
use crate::model::{RunStatus, Test};
use crate::report::Report;
use crate::report::run_json::RunReport;
use crate::store::{Role, Store};

/// A longer file is not a spool: a test with all its samples takes a hundredth.
const MAX_SPOOL_BYTES: u64 = 256_000_000;

/// Runs the subcommand.
///
/// # Errors
/// Unknown runs, unreadable or damaged files; a run that is to be deleted and still goes on.
pub fn runs(context: &Context, what: &Runs) -> Result<()> {
    if !matches!(what, Runs::List | Runs::Show { .. }) {
        context.text_only()?;
    }
    match what {
        Runs::List => list(context),
        Runs::Show { run } => show(context, run),
        Runs::Export { runs, output } => export(context, runs, output.as_deref()),
        Runs::Import { file: Some(file), .. } => import(context, file),
        Runs::Import { file: None, csv, platforms } => {
            import_published(context, csv.as_deref(), platforms.as_deref())
        }
        Runs::Grant { role, user } => grant(context, *role, user),
        Runs::Delete { runs } => delete(context, runs),
    }
}

fn list(context: &Context) -> Result<()> {
    let format = context.format(&["text", "json"])?;
    let runs = context.store_to_read()?.runs()?;
    if format == "json" {
        return out::json(&BTreeMap::from([("runs", runs)]));
    }
    let heads = ["id", "name", "target", "started (UTC)", "status", "tests"];
    let mut table = out::Table::new(&heads);
    for run in runs {
        let started = run.started_at.get(..19).unwrap_or(&run.started_at).replace('T', " ");
        let name = run.name.unwrap_or_default();
        table.row([
            run.id.to_string(),
            name,
            run.target,
            started,
            run.status.name().into(),
            run.tests.to_string(),
        ]);
    }
    out::print(&table.render(context.fit()))
}

fn grant(context: &Context, role: RoleArg, user: &str) -> Result<()> {
    let role = match role {
        RoleArg::Reader => Role::Reader,
        RoleArg::Writer => Role::Writer,
        RoleArg::Conductor => Role::Conductor,
        RoleArg::Worker => Role::Worker,
    };
    let store = context.existing_store()?;
    store.grant(role, user)?.iter().try_for_each(|statement| out::print(statement))
}

pub fn show(context: &Context, which: &str) -> Result<()> {
    let format = context.format(&["text", "json"])?;
    let report: &dyn Report =
        if format == "json" { &RunReport } else { super::report::find("kpm")? };
    super::report::of_run(context, report, which)
}

/// Ids of the runs named; all if none is named.
fn ids(store: &Store, names: &[String]) -> Result<Vec<i64>> {
    if names.is_empty() {
        return Ok(store.runs()?.iter().map(|run| run.id).collect());
    }
    names.iter().map(|name| Ok(store.run(name)?.id)).collect()
}

fn export(context: &Context, runs: &[String], output: Option<&Path>) -> Result<()> {
    let store = context.store_to_read()?;
    let ids = ids(&store, runs)?;
    let counts = match output {
        None => store.export(&ids, &mut out::Out)?,
        Some(path) => {
            let named = |error: Error| Error {
                place: path.display().to_string(),
                kind: Kind::Usage,
                ..error
            };
            file::stream(context, path, |file| store.export(&ids, file).map_err(named))?
        }
    };
    if !context.global.quiet {
        out::report(&format!("exported {}", runs_with_tests(counts.runs, counts.tests)));
    }
    Ok(())
}

fn import(context: &Context, path: &Path) -> Result<()> {
    let (place, mut reader): (String, Box<dyn BufRead>) = if path == Path::new("-") {
        ("standard input".into(), Box::new(std::io::stdin().lock()))
    } else {
        let file = File::open(path).map_err(|error| unusable(path, &error))?;
        (path.display().to_string(), Box::new(BufReader::new(file)))
    };
    let begin = reader.fill_buf().map_err(|error| unusable(path, &error))?;
    if begin.starts_with(import::SPOOL_MAGIC.as_bytes()) {
        return import_spool(context, &place, &mut reader);
    }
    let counts = context.store()?.import(&place, &mut reader)?;
    if !context.global.quiet {
        out::report(&format!("imported {}", runs_with_tests(counts.runs, counts.tests)));
    }
    Ok(())
}

/// Imports results of `export-sql`'s scripts as a run.
fn import_spool(context: &Context, place: &str, reader: &mut dyn BufRead) -> Result<()> {
    let mut text = String::new();
    let unreadable =
        |error: std::io::Error| Error::usage(place, format!("cannot be read: {error}"));
    reader.take(MAX_SPOOL_BYTES).read_to_string(&mut text).map_err(unreadable)?;
    let run = import::of_scripts(
        Text { place, text: &text },
        &context.catalog()?,
        &paths::command_line(),
    )?;
    let tests: Vec<Test> = run.tests.into_iter().map(Test::from).collect();
    let count = tests.len();
    let ids = context.store()?.add_runs(place, [(run.uid.as_str(), &run.run, tests)])?;
    if !context.global.quiet {
        let id = ids.first().copied().unwrap_or_default();
        out::report(&format!("imported run {id} with {}", counted(count as u64, "test")));
    }
    Ok(())
}

/// Published results as runs.
fn import_published(context: &Context, csv: Option<&Path>, platforms: Option<&Path>) -> Result<()> {
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|error| unusable(path, &error));
    let csv = csv.ok_or_else(|| {
        Error::usage("results import", "no file is given").advise("give a file or --csv FILE")
    })?;
    let (place, text) = (csv.display().to_string(), read(csv)?);
    let platforms =
        platforms.map(|path| Ok((path.display().to_string(), read(path)?))).transpose()?;
    let platforms = platforms.as_ref().map(|(place, text)| Text { place, text });
    let command = paths::command_line();
    let runs = import::published(
        Text { place: &place, text: &text },
        platforms,
        &context.catalog()?,
        &command,
    )?;
    let tests = |run: &ImportedRun| run.tests.iter().cloned().map(Test::from).collect::<Vec<_>>();
    let parts = runs.iter().map(|run| (run.uid.as_str(), &run.run, tests(run)));
    context.store()?.add_runs(&place, parts)?;
    if !context.global.quiet {
        let tests: usize = runs.iter().map(|run| run.tests.len()).sum();
        out::report(&format!("imported {}", runs_with_tests(runs.len() as u64, tests as u64)));
    }
    Ok(())
}

fn delete(context: &Context, runs: &[String]) -> Result<()> {
    let mut store = context.existing_store()?;
    let ids = ids(&store, runs)?;
    refuse_running(&store, &ids)?;
    for id in &ids {
        store.delete(*id)?;
    }
    if !context.global.quiet {
        out::report(&format!("deleted {}", counted(ids.len() as u64, "run")));
    }
    Ok(())
}

/// Refuses runs that some dbdyno still writes: its next test could not be stored.
fn refuse_running(store: &Store, ids: &[i64]) -> Result<()> {
    let all = store.outlines(ids)?;
    match all.iter().find(|run| run.status == RunStatus::Running) {
        None => Ok(()),
        Some(run) => {
            let what = "is still being written by the dbdyno that measures it";
            Err(Error::usage(format!("run {}", run.id), what)
                .advise("wait until it ends, or end it with Ctrl-C"))
        }
    }
}

/// `1 run with 3 tests`.
fn runs_with_tests(runs: u64, tests: u64) -> String {
    format!("{} with {}", counted(runs, "run"), counted(tests, "test"))
}

/// `1 run`, `2 runs`.
fn counted(count: u64, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

fn unusable(path: &Path, error: &std::io::Error) -> Error {
    Error::usage(path.display().to_string(), error.to_string()).advise("name another file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_several() {
        assert_eq!(runs_with_tests(1, 12), "1 run with 12 tests");
        assert_eq!(runs_with_tests(2, 1), "2 runs with 1 test");
    }
}
