//! Studies of blocks: a run of tests that belong together, then the report that takes them block by
//! block.

use super::{ending, report};
use crate::analysis::study::MIN_BLOCKS;
use crate::analysis::sweep::sizes;
use crate::catalog::{Catalog, SuiteEntry};
use crate::cli::args::{InterferenceArgs, OutputArgs, StudyArgs, SweepArgs};
use crate::cli::console::Console;
use crate::cli::context::{Context, interrupt};
use crate::cli::{file, out, request};
use crate::error::{Error, Result, quote};
use crate::model::params::ACTIVE_ROWS;
use crate::model::rows::table_rows;
use crate::model::{AskedRamp, Ramp};
use crate::plan;
use crate::report::interference::InterferenceReport;
use crate::report::layers::LayersReport;
use crate::report::sweep::SweepReport;
use crate::report::{Format, Report};
use crate::run::{self, Ended, Event, Request, RunContext};

/// The suite of the ways of a lookup.
const LAYERS: &str = "layers";
/// The suite of reads of an active part, and their table.
const SWEEP: &str = "sweep";
const BIG: &str = "big";
/// The smallest active part: of the database's cache, or of the table where that is not known.
const CACHE_PART: f64 = 16.0;
const SMALLEST_PART: u64 = 256;
/// Stored bytes of a row of the big table, about (docs/decisions/0015-sizes-and-caches.md).
const BYTES_PER_ROW: f64 = 300.0;
/// The suite of workloads that feel different resources.
const INTERFERENCE: &str = "interference";

/// `layers`.
///
/// # Errors
/// As [`study`].
pub fn layers(context: &Context, args: &StudyArgs) -> Result<()> {
    study(context, args, &LayersReport, |catalog| request::of_run(catalog, &args.run(LAYERS)))
}

/// `interference`.
///
/// # Errors
/// As [`study`]; several numbers of jobs, a workload that is named twice.
pub fn interference(context: &Context, args: &InterferenceArgs) -> Result<()> {
    study(context, &args.study, &InterferenceReport, |catalog| {
        let request = request::of_run(catalog, &args.study.run(INTERFERENCE))?;
        let entries = entries(catalog, &request, &args.named())?;
        let first = entries.first().and_then(|entry| entry.jobs.clone());
        let jobs = one_number(&request, first)?;
        let tests = alone_and_beside(&entries, jobs);
        let plan = plan::Request { suites: Vec::new(), tests, ..request.plan };
        Ok(Request { plan, ..request })
    })
}

/// `sweep`.
///
/// # Errors
/// As [`study`]; a workload without an active part.
pub fn sweep(context: &Context, args: &SweepArgs) -> Result<()> {
    study(context, &args.study, &SweepReport, |catalog| {
        let request = request::of_run(catalog, &args.study.run(SWEEP))?;
        let named: Vec<String> = args.workload.iter().cloned().collect();
        let entries = entries(catalog, &request, &named)?;
        let sizes = active_sizes(&request);
        let at = |entry: &SuiteEntry, rows: &u64| {
            let mut entry = entry.clone();
            entry.params.insert(ACTIVE_ROWS.to_string(), rows.to_string());
            entry
        };
        let tests = entries
            .iter()
            .flat_map(|entry| sizes.iter().map(move |rows| at(entry, rows)))
            .collect();
        let plan = plan::Request { suites: Vec::new(), tests, ..request.plan };
        Ok(Request { plan, ..request })
    })
}

/// Rows of the active part: from a sixteenth of the cache of a database of ours, else a 256th of
/// the table, to the whole table.
fn active_sizes(request: &Request) -> Vec<u64> {
    let all = table_rows(BIG, request.plan.size_gb.unwrap_or(plan::DEFAULT_SIZE_GB));
    let cache =
        request.data_dir().and_then(|_| request.profile.cache_bytes(request.target.engine()));
    let least =
        cache.map_or(all / SMALLEST_PART, |bytes| (bytes / CACHE_PART / BYTES_PER_ROW) as u64);
    sizes(all, least)
}

/// The workloads of a study: those named, measured as the suite's first; else those of the suite
/// that the engine can run.
fn entries(catalog: &Catalog, request: &Request, named: &[String]) -> Result<Vec<SuiteEntry>> {
    let candidates = plan::candidates(catalog, &request.plan)?;
    if named.is_empty() {
        let (can, cannot): (Vec<_>, Vec<_>) =
            candidates.into_iter().partition(|one| one.selection.is_ok());
        for one in &cannot {
            let reason = one.selection.as_ref().err().map(String::as_str).unwrap_or_default();
            out::report(&format!("{} is left out: {reason}", one.entry.label()));
        }
        return Ok(can.into_iter().map(|one| one.entry).collect());
    }
    if let Some(twice) = named.iter().enumerate().find(|(at, name)| named[..*at].contains(name)) {
        return Err(Error::usage("--workloads", format!("{} is named twice", quote(twice.1)))
            .advise("name it once"));
    }
    let first = candidates.into_iter().next().map(|one| one.entry).unwrap_or_default();
    Ok(named
        .iter()
        .map(|name| SuiteEntry { workload: Some(name.clone()), ..first.clone() })
        .collect())
}

/// Each alone, and each beside each other one and itself, with so many jobs.
fn alone_and_beside(entries: &[SuiteEntry], jobs: u32) -> Vec<SuiteEntry> {
    let beside = entries.iter().enumerate().flat_map(|(at, entry)| {
        entries[at..].iter().map(move |other| SuiteEntry {
            background: Some(other.workload.clone().unwrap_or_default()),
            background_jobs: Some(jobs),
            ..entry.clone()
        })
    });
    entries.iter().cloned().chain(beside).collect()
}

/// The number of jobs of each workload.
fn one_number(request: &Request, of_suite: Option<AskedRamp>) -> Result<u32> {
    let asked = request.plan.jobs.clone().or(of_suite).unwrap_or_default();
    match asked.on(request.plan.scale) {
        Ok(Ramp::Fixed(jobs)) if jobs.len() == 1 => Ok(jobs[0]),
        _ => Err(Error::usage(format!("--jobs {asked}"), "is not one number of jobs")
            .advise("give --jobs 1")),
    }
}

/// Measures what is asked for, prints or writes the report.
///
/// # Errors
/// Usage, target, interrupted; the report is shown before of what was measured.
fn study(
    context: &Context,
    args: &StudyArgs,
    report: &dyn Report,
    asked: impl FnOnce(&Catalog) -> Result<Request>,
) -> Result<()> {
    let format = report::form(context, report, args.out.output.as_deref())?;
    if let Some(path) = &args.out.output {
        file::refuse_results(context, path)?;
        file::check_parent(path)?;
    }
    let catalog = context.catalog()?;
    let request = asked(&catalog)?;
    if let Some(blocks) = args.blocks.filter(|blocks| (*blocks as usize) < MIN_BLOCKS) {
        out::report(&format!(
            "{blocks} blocks give medians without intervals, which decide nothing; from \
             {MIN_BLOCKS} on they have one"
        ));
    }
    let ended = measured(context, &catalog, &request)?;
    let shown = Shown { report, format, out: &args.out };
    show_results(context, &shown, catalog, &ended)?;
    ending::check_run(&request.target.label(), &ended)
}

/// The report of a study, and where it goes in which form.
pub(super) struct Shown<'a> {
    pub report: &'a dyn Report,
    pub format: &'a dyn Format,
    pub out: &'a OutputArgs,
}

/// Shows the report of a run that has ended, and says where it is stored.
///
/// # Errors
/// The results cannot be read, the file not be written.
pub(super) fn show_results(
    context: &Context,
    shown: &Shown<'_>,
    catalog: Catalog,
    ended: &Ended,
) -> Result<()> {
    let Shown { report, format, out: asked } = *shown;
    let id = ended.run_id.to_string();
    let input = report::load(context, std::slice::from_ref(&id), report.needs_seconds())?;
    let input = crate::report::Input { catalog, language: asked.language, ..input };
    report::show(context, format, &report::build(report, format, input), asked.output.as_deref())?;
    if !context.global.quiet {
        let storage = ending::describe_run_storage(context, ended.run_id);
        out::report(&format!("{storage}; 'dbdyno report {} {id}' shows this again", report.name()));
    }
    Ok(())
}

fn measured(context: &Context, catalog: &Catalog, request: &Request) -> Result<Ended> {
    let plan = request.plan(catalog)?;
    request::check_fit(catalog, request, &plan)?;
    let mut store = context.store()?;
    let interrupt = interrupt()?;
    let console = Console::new(context, true);
    let ended = request::with_password(context, request, |request| {
        let events = |event: Event<'_>| console.show(&event);
        let (plan, interrupt) = (&plan, &interrupt);
        run::execute(
            &RunContext { catalog, request, plan, interrupt, events: &events, workers: None },
            &mut store,
        )
    });
    console.finish()?;
    ended
}
