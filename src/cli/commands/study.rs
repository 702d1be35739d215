//! Studies of blocks: a run of tests that belong together, then the report that takes them block by
//! block.

use super::{ending, report};
use crate::analysis::study::MIN_BLOCKS;
use crate::catalog::Catalog;
use crate::cli::args::{InterferenceArgs, OutputArgs, StudyArgs, SweepArgs};
use crate::cli::console::Console;
use crate::cli::context::Context;
use crate::cli::measuring::Measuring;
use crate::cli::{file, out, request};
use crate::error::Result;
use crate::model::LeftOut;
use crate::plan::studies::{INTERFERENCE, LAYERS, SWEEP, StudyWorkloads};
use crate::report::interference::InterferenceReport;
use crate::report::layers::LayersReport;
use crate::report::sweep::SweepReport;
use crate::report::{Format, Report};
use crate::run::{self, Request, RunEnd};

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
        let workloads = workloads(catalog, &request, &args.names())?;
        let plan = workloads.alone_and_in_pairs(request.plan)?;
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
        let workloads = workloads(catalog, &request, &named)?;
        // The cache of a server that others started is not known.
        let cache_bytes =
            request.data_dir().and_then(|_| request.profile.cache_bytes(request.target.engine()));
        let plan = workloads.over_active_parts(request.plan, cache_bytes);
        Ok(Request { plan, ..request })
    })
}

/// The workloads of a study; says what is left out.
fn workloads(catalog: &Catalog, request: &Request, named: &[String]) -> Result<StudyWorkloads> {
    let workloads = StudyWorkloads::choose(catalog, &request.plan, named)?;
    for LeftOut { label, reason } in &workloads.left_out {
        out::report(&format!("{label} is left out: {reason}"));
    }
    Ok(workloads)
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
        let given =
            if blocks == 1 { "1 block gives".into() } else { format!("{blocks} blocks give") };
        out::report(&format!(
            "{given} medians without intervals, which decide nothing; from {MIN_BLOCKS} on they \
             have one"
        ));
    }
    let ended = measure(context, &catalog, &request)?;
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
    ended: &RunEnd,
) -> Result<()> {
    let Shown { report, format, out: asked } = *shown;
    let id = ended.run_id.to_string();
    let (run, seconds) = (std::slice::from_ref(&id), report.needs_seconds());
    let input = report::load_with(context, &catalog, run, seconds)?;
    let input = crate::report::Input { catalog, language: asked.language, ..input };
    report::show(context, format, &report::build(report, format, input), asked.output.as_deref())?;
    if !context.global.quiet {
        let storage = ending::describe_run_storage(context, ended.run_id);
        out::report(&format!("{storage}; 'dbdyno report {} {id}' shows this again", report.name()));
    }
    Ok(())
}

fn measure(context: &Context, catalog: &Catalog, request: &Request) -> Result<RunEnd> {
    let plan = request.plan(catalog)?;
    let measuring = Measuring::begin(context, catalog, request, &plan)?;
    let mut store = context.store()?;
    measuring.on_console(Console::show, |run_context| run::execute(run_context, &mut store))
}
