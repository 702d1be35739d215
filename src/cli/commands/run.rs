//! `run`: the main job.

use std::io::IsTerminal;
use std::path::Path;

use crate::campaign::{self, Campaign, Ended};
use crate::cli::args::RunArgs;
use crate::cli::console::Console;
use crate::cli::context::Context;
use crate::cli::setting::Setting;
use crate::cli::{fit, out, paths, signals};
use crate::error::{Error, Kind, Result};
use crate::model::{Plan, RunStatus, Status, TestResult};
use crate::plan;
use crate::report::{Document, Input, RunTests, run_json};
use crate::store::Store;

/// Runs a campaign and shows its results.
///
/// # Errors
/// Usage, target, interrupted; with `--strict` an invalid KPM.
pub fn run(context: &Context, args: &RunArgs) -> Result<()> {
    let format = context.format(&["text", "json"])?;
    if let Some(path) = &args.report {
        super::report::check_file(context, path)?;
    }
    let catalog = context.catalog()?;
    let setting = Setting::new(&catalog, &args.target)?;
    let plan = setting.plan(&catalog, Some(args))?;
    fit::check(&catalog, &setting, &plan)?;
    let mut store = context.store()?;
    let interrupt = signals::interrupt()?;
    let console = Console::new(context, format == "json");
    tell_beforehand(&console, &setting, args, &plan);
    let settings = setting.settings_for(&plan);
    let campaign = Campaign {
        catalog: &catalog,
        plan: &plan,
        plan_without: &|drive| setting.plan_without(&catalog, Some(args), drive),
        target: &setting.target,
        settings: &settings,
        keep: setting.keep,
        ask_password: ask_password(context),
        name: args.name.clone(),
        labels: args.label.iter().map(|label| (label.key.clone(), label.value.clone())).collect(),
        command: paths::command_line(),
        interrupt: &interrupt,
        events: &|event| console.show(&event),
    };
    let ended = campaign::run(&campaign, &mut store);
    let told = console.finish();
    conclude(context, args, &store, ended?, &format)?;
    told
}

/// What becomes of the wishes otherwise than one might think: left out, other numbers of jobs, data that fits no cache.
fn tell_beforehand(console: &Console, setting: &Setting, args: &RunArgs, plan: &Plan) {
    for (workload, reason) in &plan.left_out {
        console.note(&format!("{workload} is left out: {reason}"));
    }
    for selection in plan.selections.iter().filter(|_| args.jobs.is_some()) {
        if let Some(note) = plan::jobs_note(selection) {
            console.note(&format!("{}: {note}", selection.workload.id));
        }
    }
    if let Some(warning) = setting.cache_warning(plan) {
        console.note(&warning);
    }
}

/// Shows what was measured, then says how it ended.
fn conclude(context: &Context, args: &RunArgs, store: &Store, ended: Ended, format: &str) -> Result<()> {
    let run = store.run(&ended.run_id.to_string())?;
    let tests = store.tests(ended.run_id)?;
    let verdict = judge(args, &ended, &run.target, &tests);
    let data = RunTests { run, tests };
    let document = (format == "json").then(|| run_json::document(&data.run, &data.tests));
    let groups = context.catalog()?.groups().to_vec();
    let input = Input { groups, runs: vec![data], command: paths::command_line(), ..Input::default() };
    let printed = match document {
        Some(document) => out::json(&document),
        None => print_datasheet(context, &input),
    };
    if let Some(path) = &args.report {
        write_report(context, path, &input)?;
    }
    if !context.global.quiet {
        tell_where(context, args, ended.run_id, &input);
    }
    verdict.and(printed)
}

fn print_datasheet(context: &Context, input: &Input) -> Result<()> {
    let datasheet = super::report::find("datasheet")?.build(input);
    let text = super::report::text_format()?.render(&datasheet, super::report::terminal(context))?.into_text()?;
    out::print(&format!("\n{text}"))
}

/// Says where the results are. If no report was asked for, a page with everything is written beside the results file;
/// that it cannot be written is no failure of the run.
fn tell_where(context: &Context, args: &RunArgs, run_id: i64, input: &Input) {
    let results = paths::results_file(context.global.results.as_ref());
    out::tell(&format!("run {run_id} is stored in {}", results.display()));
    let page = args.report.clone().unwrap_or_else(|| results.with_file_name(format!("run-{run_id}.html")));
    let written = if args.report.is_some() { Ok(()) } else { write_report(context, &page, input) };
    match written {
        Ok(()) => out::tell(&format!("the report with every test is {}", page.display())),
        Err(error) => out::tell(&format!("no report page: {error}")),
    }
}

fn judge(args: &RunArgs, ended: &Ended, target: &str, tests: &[TestResult]) -> Result<()> {
    let run = format!("run {}", ended.run_id);
    match ended.status {
        RunStatus::Interrupted => {
            return Err(Error::new(Kind::Interrupted, run, "interrupted").advise("what was measured is stored"));
        }
        RunStatus::Failed => {
            let why = ended.last_words.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
            return Err(Error::target(target, format!("does not answer any more, {run} ends here{why}"))
                .advise("what was measured before is stored"));
        }
        RunStatus::Finished | RunStatus::Running => {}
    }
    let invalid = tests.iter().filter(|test| test.verdict.status == Status::Invalid).count();
    if args.strict && invalid > 0 {
        return Err(Error::new(Kind::Check, run, format!("{invalid} of {} tests are invalid", tests.len()))
            .advise("'dbdyno report kpm' gives the reasons"));
    }
    Ok(())
}

/// The page; in a form without charts datasheet and KPM report; in the format of the file's ending.
fn write_report(context: &Context, path: &Path, input: &Input) -> Result<()> {
    let format = super::report::format_of_file(path)?;
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

/// Asks on the terminal, if there is one and we may talk.
pub fn ask_password(context: &Context) -> Option<fn(&str) -> Option<String>> {
    let ask: fn(&str) -> Option<String> = |prompt| rpassword::prompt_password(prompt).ok();
    (std::io::stdin().is_terminal() && !context.global.quiet).then_some(ask)
}
