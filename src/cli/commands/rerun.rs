//! `rerun`: the work of a bundle once more, elsewhere, beside what was sealed.

use super::{bundle, report, run};
use crate::campaign::Request;
use crate::catalog::Catalog;
use crate::cli::args::{RerunArgs, RunArgs};
use crate::cli::context::Context;
use crate::cli::{out, request};
use crate::error::{Error, Result};
use crate::model::params::TRANSPORT;
use crate::model::{Plan, Test, TestResult, Transport, pace_of};
use crate::plan;
use crate::report::compare::CompareReport;
use crate::report::{Input, RunTests};
use crate::store::Bundle;

/// Measures what the bundle's plan has, on the target, and compares.
///
/// # Errors
/// Of the bundle; as `run`; nothing of it can run on the target.
pub fn rerun(context: &Context, args: &RerunArgs) -> Result<()> {
    let bundle = bundle::open(&args.bundle, args.digest.as_deref())?;
    let catalog = context.catalog()?;
    let run_args = args.run(&bundle.run)?;
    let request = request_of(&catalog, args, &run_args, &bundle)?;
    tell_difference(&bundle, &request.plan(&catalog)?)?;
    let run_id = run::measure(context, &run_args, &catalog, &request)?;
    let measured = report::load(context, &[run_id.to_string()], false)?;
    let sealed = RunTests { run: bundle.run, tests: bundle.tests }.ordered();
    let runs = [vec![sealed], measured.runs].concat();
    let input = Input { runs, catalog, language: args.language, ..measured };
    let format = report::form(context, &CompareReport, None)?;
    report::show(context, format, &report::build(&CompareReport, format, input), None)
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
    let mut measured = bundle.tests.iter().filter_map(Test::measured);
    if measured.clone().any(|test| pace_of(&test.params).is_some()) {
        let what =
            "has tests of a load over time or of users who think, which are not repeated yet";
        return Err(Error::usage(place, what)
            .advise("use 'dbdyno run' with the --rate-profile or --think of 'dbdyno audit'"));
    }
    if measured.any(|test| test.open.is_some()) && !plan::tells_rates(&run.plan) {
        return Err(Error::usage(
            place,
            "an early version measured it at rates that its plan lacks",
        )
        .advise("use 'dbdyno run --rate' with the rates that 'dbdyno report kpm' shows"));
    }
    let request = request::of_run(catalog, run_args)?;
    let is_pooled = |test: &TestResult| {
        test.params.get(TRANSPORT).is_some_and(|value| value == Transport::Pooler.name())
    };
    if request.via.is_some() && !bundle.tests.iter().filter_map(Test::measured).any(is_pooled) {
        return Err(Error::usage("--via", format!("no test of {place} went through a pooler"))
            .advise("leave it out"));
    }
    let plan = plan::Request {
        suites: Vec::new(),
        workloads: Vec::new(),
        seed: run.seed.unwrap_or(request.plan.seed),
        ..request.plan
    };
    let from = run.engine.clone().unwrap_or_default();
    let again = plan::again(catalog, &run.plan, &from, plan)?;
    for (workload, reason) in &again.left_out {
        out::tell(&format!("{workload} is left out: {reason}"));
    }
    Ok(Request { plan: again.request, ..request })
}

/// Says of which tests the statements are not those that were sealed.
fn tell_difference(bundle: &Bundle, plan: &Plan) -> Result<()> {
    let differing = plan::differing(&bundle.run.plan, plan)?;
    let all = plan.selections.len();
    let text = match differing.len() {
        0 => format!(
            "{}: the statements of all {all} tests are those that were sealed",
            bundle.digest
        ),
        _ => format!(
            "{}: other statements than those that were sealed: {}",
            bundle.digest,
            differing.join(", ")
        ),
    };
    out::tell(&text);
    Ok(())
}
