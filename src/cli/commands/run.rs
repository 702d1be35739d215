//! `run`: the main job.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::ending;
use crate::catalog::Catalog;
use crate::cli::args::{BrandingArgs, CompareArgs, LimitArgs, OutputArgs, RunArgs};
use crate::cli::console::Console;
use crate::cli::context::Context;
use crate::cli::experiment::{self, Experiment};
use crate::cli::measuring::Measuring;
use crate::cli::values::{Listen, Seconds};
use crate::cli::{forecast, metrics_server, out, paths, request, unrunnable};
use crate::engine;
use crate::error::{Error, Kind, Result};
use crate::model::{LeftOut, Plan, Status, Target, Test};
use crate::monitor::RunMetrics;
use crate::plan;
use crate::report::run_json::RunReport;
use crate::report::{Document, Input, Language, Report, RunTests};
use crate::run::{self, Event, Request, RunEnd};
use crate::store::url_of;
use crate::test_runner::Workers;
use crate::workers::{WorkerPool, WorkerTimeouts};

/// Default time that a test waits for its workers.
const WORKER_WAIT_S: f64 = 60.0;
/// And how long one may be silent.
const WORKER_SILENCE_S: f64 = 10.0;
const MIN_SILENCE_S: f64 = 3.0;

/// Measures a run and shows its results.
///
/// # Errors
/// Usage, target, interrupted; with `--strict` an invalid KPM.
pub fn run(context: &Context, args: &RunArgs) -> Result<()> {
    let target = &args.target.place.target;
    if experiment::is_file(target) {
        return run_file(context, Path::new(target), args);
    }
    let catalog = context.catalog()?;
    let request = request::of_run(&catalog, args)?;
    measure(context, args, &catalog, &request).map(|_| ())
}

/// Measures what the file of an experiment asks for, target by target, and compares.
///
/// # Errors
/// As [`run`]; options that the file has to give; a comparison that fails.
fn run_file(context: &Context, path: &Path, args: &RunArgs) -> Result<()> {
    if let Some(option) = experiment::not_beside_a_file(&args.given) {
        let what =
            format!("cannot be combined with {}, which says what is measured", path.display());
        return Err(Error::usage(format!("--{option}"), what).advise("write it into the file"));
    }
    let experiment = Experiment::read(path, args)?;
    let catalog = context.catalog()?;
    // All of it is checked before the first target is touched.
    let request = |args: &RunArgs| {
        let request = request::of_run(&catalog, args)?;
        request.plan(&catalog).map(|_| request)
    };
    let requests = experiment.runs.iter().map(request).collect::<Result<Vec<_>>>();
    let requests = requests.map_err(|error| experiment.at_line(error))?;
    let measured = experiment
        .runs
        .iter()
        .zip(&requests)
        .map(|(args, request)| measure(context, args, &catalog, request));
    let runs = measured.collect::<Result<Vec<i64>>>()?;
    let Some(asked) = experiment.compare else { return Ok(()) };
    let compared = CompareArgs {
        runs: runs.iter().map(i64::to_string).collect(),
        baseline: asked.baseline,
        workload: Vec::new(),
        confirm: false,
        limit: LimitArgs { fail_below: asked.fail_below, junit: asked.junit },
        price: Vec::new(),
        out: OutputArgs { output: None, language: args.language },
        branding: BrandingArgs::default(),
    };
    super::compare::compare(context, &compared)
}

/// Measures what the request asks for and shows the results; gives the number of the stored run.
///
/// # Errors
/// As [`run`].
pub fn measure(
    context: &Context,
    args: &RunArgs,
    catalog: &Catalog,
    request: &Request,
) -> Result<i64> {
    let format = context.format(&["text", "json"])?;
    if let Some(path) = &args.report {
        super::report::check_file(context, path)?;
    }
    let console = Console::new(context, format == "json").plain(args.no_chart);
    let ended = execute(context, args, catalog, request, &console);
    let finished = console.finish();
    let begun = Begun { target: &request.target, format: &format, catalog };
    let ended = ended?;
    let run_id = ended.run_id;
    conclude(context, args, &begun, ended)?;
    finished.map(|()| run_id)
}

/// Measures what the request asks for and stores it; the console shows the progress.
///
/// # Errors
/// As [`run`], but of its results.
pub(super) fn execute(
    context: &Context,
    args: &RunArgs,
    catalog: &Catalog,
    request: &Request,
    console: &Console,
) -> Result<RunEnd> {
    let plan = request.plan(catalog)?;
    request.fresh.check(&request.target, &plan)?;
    let measuring = Measuring::begin(context, catalog, request, &plan)?;
    let mut store = context.store()?;
    let metrics = Arc::new(RunMetrics::new(request.target.label()));
    if let Some(Listen(address)) = args.metrics {
        let metrics = Arc::clone(&metrics);
        metrics_server::serve(address, move || metrics.text())?;
    }
    report_before(console, request, &plan);
    let worker_pool = worker_pool(context, args, request)?;
    let events = |event: Event<'_>| {
        metrics.note(&event);
        console.show(&event);
        // Only now is it known that the target can be measured.
        if let Event::RunStarted { .. } = &event {
            console.note(&forecast::before(&plan, request));
        }
    };
    let workers = worker_pool.as_ref().map(|worker_pool| worker_pool as &Mutex<dyn Workers>);
    measuring.with_events(&events, workers, |run_context| run::execute(run_context, &mut store))
}

/// The load generators that run the jobs, if there are some.
fn worker_pool(
    context: &Context,
    args: &RunArgs,
    request: &Request,
) -> Result<Option<Mutex<WorkerPool>>> {
    let Some(count) = args.workers else { return Ok(None) };
    let url = match &request.target {
        Target::Existing { url, .. } => Some(url.as_str()),
        // Other processes can see every database.
        _ if !request.engine()?.is_target() => None,
        here => {
            return Err(Error::usage(
                "--workers",
                format!("{} is only seen by this machine", here.label()),
            )
            .advise("give the URL of an existing server"));
        }
    };
    if args.worker_timeout.is_some_and(|silence| silence.0 < MIN_SILENCE_S) {
        return Err(Error::usage("--worker-timeout", "workers report every second")
            .advise("give 3s or more"));
    }
    let given = |time: Option<Seconds>, usual_s| {
        Duration::from_secs_f64(time.map_or(usual_s, |time| time.0))
    };
    let timeouts = WorkerTimeouts {
        wait: given(args.worker_join_timeout, WORKER_WAIT_S),
        silence: given(args.worker_timeout, WORKER_SILENCE_S),
    };
    let worker_pool =
        WorkerPool::call(&context.place(), count, timeouts, request.target.engine(), url)?;
    Ok(Some(Mutex::new(worker_pool)))
}

/// Reports where the plan differs from the request: left out, other numbers of jobs, data that fits
/// no cache.
fn report_before(console: &Console, request: &Request, plan: &Plan) {
    for LeftOut { label, reason } in &plan.left_out {
        console.note(&format!("{label} is left out: {reason}"));
    }
    for selection in plan.selections.iter().filter(|_| plan.jobs_given) {
        if let Some(note) = plan::jobs_note(selection) {
            console.note(&format!("{}: {note}", selection.workload.id));
        }
    }
    if let Some(warning) = request.cache_warning(plan) {
        console.note(&warning);
    }
}

/// The facts of a run's beginning that its end needs.
struct Begun<'a> {
    target: &'a Target,
    /// Format of the output: `text` or `json`.
    format: &'a str,
    catalog: &'a Catalog,
}

/// Shows what was measured, then says how it ended.
fn conclude(context: &Context, args: &RunArgs, begun: &Begun<'_>, ended: RunEnd) -> Result<()> {
    let store = context.store_to_read()?;
    let run = store.run(&ended.run_id.to_string())?;
    let tests = store.tests(ended.run_id)?;
    let verdict = judge(args, &ended, &run.target, &tests).and_then(|()| {
        let unrunnable = unrunnable::first(begun.catalog, begun.target.engine(), &tests);
        unrunnable.map_or(Ok(()), Err)
    });
    let data = RunTests::new(run, tests);
    let groups = begun.catalog.groups().to_vec();
    let (key_settings, command) = (engine::key_settings(), paths::command_line());
    let (runs, language) = (vec![data.ordered()], args.language);
    let mut input = Input { groups, runs, key_settings, command, language, ..Input::default() };
    let printed = print(context, &input, begun.format == "json");
    if let Some(path) = &args.report {
        write_report(context, path, &mut input)?;
    }
    if !context.global.quiet {
        report_results_file(context, args, ended.run_id, &mut input);
        forecast::after(&input.runs[0].run, begun.target).iter().for_each(|text| out::report(text));
    }
    verdict.and(printed)
}

/// For programs everything; for people the datasheet, below the table that grew.
fn print(context: &Context, input: &Input, is_json: bool) -> Result<()> {
    let report: &dyn Report = if is_json { &RunReport } else { super::report::find("datasheet")? };
    let format = super::report::form(context, report, None)?;
    if !is_json {
        out::print_rendered("")?;
    }
    super::report::show(context, format, &report.build(input), None)
}

/// Says where the results are. If no report was asked for, a page with everything is written beside
/// the results file; that it cannot be written is not a failure of the run.
fn report_results_file(context: &Context, args: &RunArgs, run_id: i64, input: &mut Input) {
    let results = paths::results_file(context.global.results.as_ref());
    out::report(&ending::describe_run_storage(context, run_id));
    if url_of(&results).is_some() && args.report.is_none() {
        return out::report(&format!(
            "'dbdyno report html {run_id}' with --results makes a page with every test"
        ));
    }
    let page = args.report.clone().unwrap_or_else(|| paths::page_beside(&results, run_id));
    let written = if args.report.is_some() { Ok(()) } else { write_report(context, &page, input) };
    match written {
        Ok(()) => out::report(&format!("the report with every test is {}", page.display())),
        Err(error) => out::report(&format!("no report page: {error}")),
    }
}

/// Judges the end, and with `--strict` the tests.
fn judge(args: &RunArgs, ended: &RunEnd, target: &str, tests: &[Test]) -> Result<()> {
    ending::check_run(target, ended)?;
    let invalid = tests.iter().filter(|test| test.status() == Status::Invalid).count();
    if args.strict && invalid > 0 {
        return Err(Error::new(
            Kind::Check,
            format!("run {}", ended.run_id),
            format!("{invalid} of {} tests are invalid", tests.len()),
        )
        .advise("'dbdyno report kpm' gives the reasons"));
    }
    Ok(())
}

/// The page; in a form without charts datasheet and KPM report; in the format of the file's ending.
fn write_report(context: &Context, path: &Path, input: &mut Input) -> Result<()> {
    let format = super::report::format_of_file(path)?;
    if format.is_for_programs() {
        input.language = Language::Programs;
    }
    let page = super::report::find("html")?;
    let document = if format.name() == page.format() { page.build(input) } else { tables(input)? };
    super::report::write(context, &format.render(&document, super::report::for_file())?, Some(path))
}

/// Datasheet and KPM report in one document.
fn tables(input: &Input) -> Result<Document> {
    let mut document = super::report::find("datasheet")?.build(input);
    document.sections.extend(super::report::find("kpm")?.build(input).sections);
    Ok(document)
}
