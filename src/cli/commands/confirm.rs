//! `compare --confirm`: what differs between two runs is measured again, in a new run of each.

use std::collections::BTreeSet;
use std::path::Path;

use clap::Parser;

use super::{ending, report, run};
use crate::analysis::compare::{Comparison, Row};
use crate::catalog::{Catalog, SuiteEntry};
use crate::cli::args::{
    Cli, Command, DataArgs, NameArgs, PlaceArgs, RunArgs, SelectionArgs, TargetArgs,
};
use crate::cli::console::Console;
use crate::cli::context::Context;
use crate::cli::experiment::{self, Experiment};
use crate::cli::{default_command, out, request};
use crate::error::{Error, Result, quote, shell_words};
use crate::host::processors;
use crate::model::{AskedRate, RunKind, RunRecord, Status, StoredPlan, Test, rate_of};
use crate::report::{Input, RunTests};
use crate::run::Request;
use crate::store::url_of;
use crate::{engine, plan};

/// A figure whose own interval excludes 1 this clearly is measured again.
const SUSPECT: f64 = 0.05;
/// Number of repetitions.
const REPEAT: u32 = 5;

/// The two new runs of what differs; none if nothing does.
///
/// # Errors
/// Not two measured runs; a run that cannot be repeated, or fails.
pub fn again(context: &Context, input: &Input, compared: &[Comparison]) -> Result<Option<Input>> {
    let ([base, other], [comparison]) = (input.runs.as_slice(), compared) else {
        return Err(wrong("takes two runs", "name the base and one other run"));
    };
    let suspects: Vec<&Row> = comparison.kpms.iter().filter(|row| is_suspect(row)).collect();
    if suspects.is_empty() {
        out::report("--confirm: no figure differs by its own interval: nothing is measured again");
        return Ok(None);
    }
    // Both are checked before the first is measured.
    let work = [Work::of(context, base, &suspects)?, Work::of(context, other, &suspects)?];
    let [base, other] = work;
    let sides = [base.measure(context)?, other.measure(context)?];
    let figures = if suspects.len() == 1 { "figure" } else { "figures" };
    out::report(&format!(
        "--confirm: {} {figures} of {} differed and were measured again, as runs {} and {}; what \
         follows is of these alone",
        suspects.len(),
        comparison.kpms.len(),
        sides[0],
        sides[1]
    ));
    let sides = sides.map(|id| id.to_string());
    let new = report::load_with(context, &input.catalog, &sides, false)?;
    Ok(Some(Input { runs: new.runs, history: Vec::new(), ..input.clone() }))
}

fn wrong(what: &str, advice: &str) -> Error {
    Error::usage("--confirm", what).advise(advice)
}

fn is_suspect(row: &Row) -> bool {
    row.status < Status::Invalid && row.ratio.span.is_ok_and(|span| span.p < SUSPECT)
}

fn name(run: &RunRecord) -> String {
    run.name.clone().unwrap_or_else(|| format!("run {}", run.id))
}

/// The tests of a run that are measured again, on the database that it measured.
struct Work {
    catalog: Catalog,
    args: RunArgs,
    request: Request,
}

impl Work {
    /// The suspects of a run.
    ///
    /// # Errors
    /// A run that cannot be repeated, or whose statements are other ones now.
    fn of(context: &Context, data: &RunTests, suspects: &[&Row]) -> Result<Work> {
        let run = &data.run;
        let command = RunCommand::of(context, run)?;
        let plan = plan_of_suspects(data, suspects);
        let tests = tests(&command.catalog, run, &plan, suspects)?;
        let args = arguments(command.args, run, tests);
        let request = request::of_run(&command.catalog, &args)?;
        let differing = plan::differing(&plan, &request.plan(&command.catalog)?)?;
        if !differing.is_empty() {
            let what = format!(
                "other statements than those of {} would be measured: {}",
                name(run),
                differing.join(", ")
            );
            return Err(wrong(&what, "measure both runs anew with this catalog, and compare them"));
        }
        Ok(Work { catalog: command.catalog, args, request })
    }

    /// Measures it, and gives the number of the new run.
    ///
    /// # Errors
    /// As `run`; the target does not answer any more.
    fn measure(&self, context: &Context) -> Result<i64> {
        let console = Console::new(context, true).plain(self.args.no_chart);
        let ended = run::execute(context, &self.args, &self.catalog, &self.request, &console);
        let finished = console.finish();
        let ended = ended?;
        ending::check_run(&self.request.target.label(), &ended)?;
        finished.map(|()| ended.run_id)
    }
}

/// The command that measured a run, with the catalog that it named.
struct RunCommand {
    catalog: Catalog,
    args: RunArgs,
}

impl RunCommand {
    /// The command of a stored run.
    ///
    /// # Errors
    /// Not one of `dbdyno run`; one that starts programs, from results that others write, too.
    fn of(context: &Context, run: &RunRecord) -> Result<RunCommand> {
        let words = shell_words(&run.command);
        let parsed = match words.is_empty() || run.kind != RunKind::Measured {
            true => None,
            false => Cli::try_parse_from(words).ok(),
        };
        let refused = || {
            wrong(
                &format!("{} was not measured by 'dbdyno run': {}", name(run), quote(&run.command)),
                "compare runs of 'dbdyno run'",
            )
        };
        let Cli { global, command } = parsed.ok_or_else(refused)?;
        let Command::Run(args) = command.unwrap_or_else(default_command) else {
            return Err(refused());
        };
        let target = &args.target.place.target;
        let is_file = experiment::is_file(target);
        let is_shared = url_of(&context.place().path).is_some();
        if is_shared && names_a_place(&args, global.catalog.as_deref()) {
            let what = format!(
                "the command of {} names files, programs or servers, and others may have written \
                 it: {}",
                name(run),
                quote(&run.command)
            );
            let advice = "look at it; if it is as it should be, take both runs into a file of your \
                          own ('dbdyno results export', then 'import') and compare them there";
            return Err(wrong(&what, advice));
        }
        let catalog = Context::new(global).catalog()?;
        let args = match is_file {
            true => arguments_of_file(&catalog, Path::new(target), &args, run)?,
            false => *args,
        };
        Ok(RunCommand { catalog, args })
    }
}

/// True if a command names more than an engine whose database is private: a file that would be
/// read or written, programs that would be started (the statements of a catalog are some, too), or
/// a server, to which the passwords of the user's environment would go.
fn names_a_place(args: &RunArgs, catalog: Option<&Path>) -> bool {
    let place = &args.target.place;
    let names_files = experiment::is_file(&place.target)
        || place.data.data_dir.is_some()
        || args.stated.facts.is_some();
    let names_programs = place.server_bin.is_some() || catalog.is_some();
    let names_servers =
        place.target.contains("://") || args.via.is_some() || !args.host.host_metrics.is_empty();
    names_files || names_programs || names_servers
}

/// The arguments by which the file of an experiment asked for a run, of several that with its
/// target and, if these are alike, its name.
///
/// # Errors
/// A file that cannot be read, or that asks for no such run any more.
fn arguments_of_file(
    catalog: &Catalog,
    path: &Path,
    typed: &RunArgs,
    run: &RunRecord,
) -> Result<RunArgs> {
    let experiment = Experiment::read(path, typed)?;
    let has_target = |args: &&RunArgs| {
        request::of_run(catalog, args).is_ok_and(|request| request.target.label() == run.target)
    };
    let same: Vec<&RunArgs> = experiment.runs.iter().filter(has_target).collect();
    let found = match same.as_slice() {
        [only] => Some(*only),
        several => several.iter().copied().find(|args| args.naming.name == run.name),
    };
    found.cloned().ok_or_else(|| {
        wrong(
            &format!("{} asks for no run like {} any more", path.display(), name(run)),
            "compare runs that were measured by the file as it is",
        )
    })
}

/// The stored plan with the selections of the suspects alone.
fn plan_of_suspects(data: &RunTests, suspects: &[&Row]) -> StoredPlan {
    let is_suspected = |test: &&Test| {
        suspects.iter().any(|row| {
            row.subject.workload == test.workload() && row.subject.params == *test.chosen()
        })
    };
    let suspected: Vec<&Test> = data.tests.iter().filter(is_suspected).collect();
    data.run.plan.only(|selection| suspected.iter().any(|test| selection.is_of(test)))
}

/// The tests of the plan, each as often as all are measured again, at the numbers of jobs and the
/// rates of its suspects.
///
/// # Errors
/// A test that this version or catalog cannot run.
fn tests(
    catalog: &Catalog,
    run: &RunRecord,
    plan: &StoredPlan,
    suspects: &[&Row],
) -> Result<Vec<SuiteEntry>> {
    let found = run.engine.as_deref().and_then(engine::find);
    let engine = found.ok_or_else(|| {
        let what = format!("this program has no engine that {} ran on", name(run));
        wrong(&what, "use one that has it: 'dbdyno list engines'")
    })?;
    let request = plan::Request {
        size_gb: run.size_gb,
        ..plan::Request::new(engine.name(), engine.capabilities(), processors())
    };
    let again = plan::again(catalog, plan, engine.name(), request)?;
    if let Some(left_out) = again.left_out.first() {
        let what = format!("{} cannot run any more: {}", left_out.label, left_out.reason);
        return Err(wrong(&what, "compare without it: --workload names the others"));
    }
    again.request.tests.into_iter().map(|test| at_suspects(test, suspects)).collect()
}

/// The test at the numbers of jobs and the rates at which its workload is suspect.
fn at_suspects(test: SuiteEntry, suspects: &[&Row]) -> Result<SuiteEntry> {
    let own: Vec<&Row> = suspects
        .iter()
        .copied()
        .filter(|row| test.workload.as_ref() == Some(&row.subject.workload))
        .collect();
    let jobs: BTreeSet<u32> =
        own.iter().flat_map(|row| [row.base_jobs, row.other_jobs]).flatten().collect();
    let jobs = jobs.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let ramp = match jobs.is_empty() {
        true => test.jobs.clone(),
        false => Some(jobs.parse().map_err(|what: String| Error::usage("--confirm", what))?),
    };
    let mut rates: Vec<f64> =
        own.iter().filter_map(|row| rate_of(&row.subject.params)?.parse().ok()).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let test = SuiteEntry { jobs: ramp, repeat: Some(REPEAT), ..test };
    Ok(match rates.is_empty() {
        true => test,
        // Of a search for the highest rate the rates that it tried.
        false => SuiteEntry { rate: Some(AskedRate::Listed(rates)), slo: None, ..test },
    })
}

/// The arguments of a run with these tests in place of those that it had. Its data are those that
/// it measured on: its suite may have chosen them.
fn arguments(args: RunArgs, run: &RunRecord, tests: Vec<SuiteEntry>) -> RunArgs {
    let data = DataArgs {
        size: run.plan.size_gb().or(args.target.place.data.size),
        profile: run.plan.profile().map(String::from).or(args.target.place.data.profile),
        ..args.target.place.data
    };
    let place = PlaceArgs { data, keep: false, ..args.target.place };
    let selection = SelectionArgs::default();
    RunArgs {
        target: TargetArgs { selection, place, tests, ..args.target },
        naming: NameArgs { name: Some(format!("{} again", name(run))), label: Vec::new() },
        // The tests say how long each is, at which load and how often.
        jobs: None,
        duration: None,
        precision: None,
        max_duration: None,
        ops: None,
        warmup: None,
        time_scale: None,
        repeat: None,
        rate: None,
        slo: None,
        background: None,
        background_jobs: None,
        fresh: None,
        retry_disturbed: None,
        test_bottleneck: None,
        report: None,
        strict: false,
        metrics: None,
        ..args
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::args::{Color, Global};

    /// Reason why the command of a run in these results is not repeated; none if it is.
    fn refusal(results: &str, command: &str) -> Option<String> {
        let global = Global {
            results: Some(results.into()),
            catalog: None,
            format: None,
            color: Color::Never,
            quiet: true,
        };
        let run = RunRecord {
            command: command.into(),
            ..RunRecord::new(RunKind::Measured, "x (private server)")
        };
        RunCommand::of(&Context::new(global), &run).err().map(|error| error.what)
    }

    #[test]
    fn a_command_in_shared_results_that_names_files_programs_or_servers_is_refused() {
        const SHARED: &str = "x://team@h/results";
        for command in [
            "dbdyno run x --server-bin /opt/x/bin",
            "dbdyno --catalog /srv/own run x",
            "dbdyno run x --catalog /srv/own",
            "dbdyno run suspect.toml",
            "dbdyno run x --data-dir /srv/data",
            "dbdyno run x --facts facts.toml",
            "dbdyno run x://me@h/suspect",
            "dbdyno run x://me@h/suspect.toml",
            "dbdyno run x --via x://me@h/suspect",
            "dbdyno run x --host-metrics http://h:9100/metrics",
        ] {
            let what = refusal(SHARED, command).unwrap_or_else(|| panic!("{command} is taken"));
            assert!(what.contains("others may have written it"), "{command}: {what}");
        }
        // What names a private database alone is repeated, and all that nobody else has named.
        assert_eq!(refusal(SHARED, "dbdyno run x --size 1 --port 5433"), None);
        assert_eq!(refusal("results.db", "dbdyno run x --server-bin /opt/x/bin"), None);
        assert_eq!(refusal("results.db", "dbdyno run x://me@h/suspect.toml"), None);
    }

    #[test]
    fn what_differs_is_measured_again_on_data_of_the_size_that_its_suite_chose() {
        let again = |command: &str| {
            let run = RunRecord {
                command: command.into(),
                plan: json!({ "size_gb": 0.5, "profile": "M" }).into(),
                ..RunRecord::new(RunKind::Measured, "x (private server)")
            };
            let Some(Command::Run(args)) = Cli::parse_from(shell_words(command)).command else {
                panic!("{command} is not one of run")
            };
            arguments(*args, &run, vec![SuiteEntry::default()])
        };
        let given = "dbdyno run x --suite quick --size=0.2 --port 7 --repeat 3 --ops 5 --drive \
                     client --keep --think 50ms";
        let args = again(given);
        let data = &args.target.place.data;
        assert_eq!((data.size, data.profile.as_deref()), (Some(0.5), Some("M")));
        assert_eq!((args.target.place.port, args.target.place.keep), (Some(7), false));
        assert!(args.target.selection.suite.is_empty() && args.target.selection.drive.is_none());
        assert_eq!((args.repeat, args.ops, args.target.tests.len()), (None, None, 1));
        assert_eq!(args.think.map(|think| think.0), Some(0.05), "the load of all tests is kept");
        assert_eq!(args.naming.name.as_deref(), Some("run 0 again"));
    }
}
