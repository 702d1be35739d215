//! `rerun`: the work of a bundle once more, elsewhere, beside what was sealed.

use super::{bundle, report, run};
use crate::catalog::Catalog;
use crate::cli::args::{ArrivalsArg, RerunArgs, RunArgs};
use crate::cli::context::Context;
use crate::cli::{experiment, out, request};
use crate::error::{Error, Result};
use crate::model::params::TRANSPORT;
use crate::model::{
    self, LeftOut, Plan, RunRecord, StoredPlan, Target, Test, TestResult, Transport,
};
use crate::plan;
use crate::report::compare::CompareReport;
use crate::report::{Input, RunTests};
use crate::run::{Fresh, Request};
use crate::store::Bundle;

/// Measures what the bundle's plan has, on the target, and compares.
///
/// # Errors
/// Of the bundle; as `run`; nothing of it can run on the target.
pub fn rerun(context: &Context, args: &RerunArgs) -> Result<()> {
    let bundle = bundle::open(&args.bundle, args.digest.as_deref())?;
    let catalog = context.catalog()?;
    let run_args = args.run(&bundle.run)?;
    let run_args = with_pace(run_args, &args.bundle.display().to_string(), &bundle.tests)?;
    let request = request_of(&catalog, args, &run_args, &bundle)?;
    report_difference(&bundle, &request.plan(&catalog)?)?;
    let run_id = run::measure(context, &run_args, &catalog, &request)?;
    let measured = report::load_with(context, &catalog, &[run_id.to_string()], false)?;
    let sealed = RunTests::new(bundle.run, bundle.tests).ordered();
    let runs = [vec![sealed], measured.runs].concat();
    let input = Input { runs, catalog, language: args.language, ..measured };
    let format = report::form(context, &CompareReport, None)?;
    report::show(context, format, &report::build(&CompareReport, format, input), None)
}

/// The arguments with the load over time or the think time of these tests, if they had one.
///
/// # Errors
/// Tests of several; one that cannot be read.
fn with_pace(run_args: RunArgs, place: &str, tests: &[Test]) -> Result<RunArgs> {
    let Some(pace) = experiment::pace(place, tests)? else { return Ok(run_args) };
    let (option, text) = (pace.name, pace.value);
    let unreadable = |what: String| Error::usage(place, format!("{option}: {what}"));
    let mut measured = tests.iter().filter_map(Test::measured);
    let is_uniform =
        |test: &TestResult| test.params.get("arrivals").is_some_and(|how| how == "uniform");
    let arrivals =
        if measured.any(is_uniform) { ArrivalsArg::Uniform } else { ArrivalsArg::default() };
    Ok(match option {
        model::THINK => RunArgs { think: Some(text.parse().map_err(unreadable)?), ..run_args },
        _ => {
            RunArgs { rate_profile: Some(text.parse().map_err(unreadable)?), arrivals, ..run_args }
        }
    })
}

/// Request of the bundle's plan, on the target of the arguments.
fn request_of(
    catalog: &Catalog,
    args: &RerunArgs,
    run_args: &RunArgs,
    bundle: &Bundle,
) -> Result<Request> {
    let run = &bundle.run;
    let place = args.bundle.display().to_string();
    experiment::check_rates(&place, run, &bundle.tests)?;
    let request = request::of_run(catalog, run_args)?;
    let is_pooled = |test: &TestResult| {
        test.params.get(TRANSPORT).is_some_and(|value| value == Transport::Pooler.name())
    };
    if request.via.is_some() && !bundle.tests.iter().filter_map(Test::measured).any(is_pooled) {
        return Err(Error::usage("--via", format!("no test of {place} went through a pooler"))
            .advise("leave it out"));
    }
    let is_ours = request.data_dir().is_some();
    let plan = plan::Request {
        suites: Vec::new(),
        workloads: Vec::new(),
        seed: run.seed.unwrap_or(request.plan.seed),
        key_seed: run.plan.key_seed().or(request.plan.key_seed),
        redo_disturbed: times(&run.plan).unwrap_or(request.plan.redo_disturbed),
        ..request.plan
    };
    let from = run.engine.clone().unwrap_or_default();
    let again = plan::again(catalog, &run.plan, &from, plan)?;
    for LeftOut { label, reason } in &again.left_out {
        out::report(&format!("{label} is left out: {reason}"));
    }
    unused(run, is_ours).iter().for_each(|line| out::report(line));
    let is_sampled = !run.plan.is_without_sampler();
    with_circumstances(catalog, run, Request { plan: again.request, is_sampled, ..request })
}

/// Number of times that a disturbed test of the bundle was measured again at most, if any was.
fn times(plan: &StoredPlan) -> Option<u32> {
    plan.redo_disturbed().and_then(|times| u32::try_from(times).ok())
}

/// The request with what each block of the bundle had anew and the delay between its nodes, as far
/// as the target can have them; the rest is said.
///
/// # Errors
/// As of the plan; a delay that no cluster lives with.
fn with_circumstances(catalog: &Catalog, run: &RunRecord, mut request: Request) -> Result<Request> {
    let sealed = run.plan.fresh().and_then(Fresh::of_name);
    if let (Some(name), Some(fresh)) = (run.plan.fresh(), sealed) {
        match fresh.check(&request.target, &request.plan(catalog)?) {
            Ok(()) => request.fresh = fresh,
            Err(error) => {
                out::report(&format!("--fresh {name} of the bundle is not used: {}", error.what));
            }
        }
    }
    if let Some(delay_s) = run.plan.network_delay_s() {
        match &request.target {
            Target::Private { cluster: Some(_), .. } => {
                request::delay_links(delay_s, &mut request.target)?;
            }
            other => out::report(&format!(
                "the network delay of the bundle, {:.3} ms, is not used: {} is not a private \
                 cluster",
                delay_s * 1e3,
                other.label()
            )),
        }
    }
    Ok(request)
}

/// Lines on what the bundle's database was made with and the target's is not: a server that is not
/// made here (unlike `is_ours`) has its own size profile; settings can make a server execute
/// commands, which a stranger's file must not, and snapshots of a repository need a license that
/// only the user can state.
fn unused(run: &RunRecord, is_ours: bool) -> Vec<String> {
    let profile = run.plan.profile().filter(|_| !is_ours).map(|profile| {
        format!("size profile {profile} of the bundle is not used: the server has its own settings")
    });
    let settings = run.plan.settings().unwrap_or_default();
    let named: Vec<String> =
        settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let settings = (!named.is_empty())
        .then(|| format!("settings of the bundle are not used: {}", named.join(", ")));
    let repositories = run.plan.repositories().map(|name| {
        format!("--{name} of the bundle is not used: 'dbdyno run --{name}' takes snapshots")
    });
    profile.into_iter().chain(settings).chain(repositories).collect()
}

/// Says of which tests the statements are not those that were sealed.
fn report_difference(bundle: &Bundle, plan: &Plan) -> Result<()> {
    let differing = plan::differing(&bundle.run.plan, plan)?;
    let text = match (differing.len(), plan.selections.len()) {
        (0, 1) => {
            format!("{}: the statements of the one test are those that were sealed", bundle.digest)
        }
        (0, all) => format!(
            "{}: the statements of all {all} tests are those that were sealed",
            bundle.digest
        ),
        _ => format!(
            "{}: other statements than those that were sealed: {}",
            bundle.digest,
            differing.join(", ")
        ),
    };
    out::report(&text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RunKind;

    #[test]
    fn what_a_database_was_made_with_and_is_not_used_again_is_said() {
        let plan = serde_json::json!({
            "profile": "N", "settings": { "work_mem": "8MB" }, "repositories": ["awr"],
        });
        let run = RunRecord { plan: plan.into(), ..RunRecord::new(RunKind::Measured, "one") };
        let settings = "settings of the bundle are not used: work_mem = 8MB";
        let awr = "--awr of the bundle is not used: 'dbdyno run --awr' takes snapshots";
        assert_eq!(unused(&run, true), [settings, awr]);
        let profile = "size profile N of the bundle is not used: the server has its own settings";
        assert_eq!(unused(&run, false), [profile, settings, awr]);
        assert!(unused(&RunRecord::new(RunKind::Measured, "one"), false).is_empty());
    }
}
