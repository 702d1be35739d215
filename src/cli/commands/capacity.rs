//! `capacity RUN...`: do the runs' platforms do what is needed?

use std::path::Path;

use super::report;
use crate::analysis::capacity::{FORM, Need, Outcome};
use crate::catalog::{Catalog, nearest};
use crate::cli::args::CapacityArgs;
use crate::cli::commands::compare::one_currency;
use crate::cli::context::Context;
use crate::cli::file;
use crate::error::{Error, Kind, Result, quote};
use crate::model::params;
use crate::report::Input;
use crate::report::capacity::{CapacityReport, platforms};

/// Answers, prints or writes; if no platform is known to do it, that is an error of kind check.
///
/// # Errors
/// Unknown runs and workloads; needs that are not valid; an unwritable file.
pub fn capacity(context: &Context, args: &CapacityArgs) -> Result<()> {
    let output = args.out.output.as_deref();
    let asked = requirements(args)?;
    let catalog = context.catalog()?;
    let input = report::load_with(context, &catalog, &args.runs, false)?;
    let input = report::with_prices(input, &args.price)?;
    one_currency(&input)?;
    let needs = asked
        .into_iter()
        .map(|need| resolve(need, &catalog, &input))
        .collect::<Result<Vec<_>>>()?;
    let input = Input { needs, language: args.out.language, ..input };
    let outcome = check_outcome(&input);
    let format = report::form(context, &CapacityReport, output)?;
    let document = report::with_branding(
        report::build(&CapacityReport, format, input),
        format,
        &args.branding,
    )?;
    report::show(context, format, &document, output)?;
    outcome
}

/// The needs of the command line, then those of files.
fn requirements(args: &CapacityArgs) -> Result<Vec<Need>> {
    let typed = args.requirement.iter().map(|text| {
        Need::parse(text).map_err(|what| Error::usage("--requirement", what).advise(FORM))
    });
    let read = args.requirements.iter().map(|path| needs_of(path));
    let typed = typed.collect::<Result<Vec<_>>>()?;
    let files = read.collect::<Result<Vec<_>>>()?;
    Ok(typed.into_iter().chain(files.into_iter().flatten()).collect())
}

fn needs_of(path: &Path) -> Result<Vec<Need>> {
    let advice = "each [[need]] has workload, rate and unit; params and promise (the SLO) are \
                  optional";
    let text = file::read_small(path, "for needs")?;
    Need::parse_file(&text).map_err(|mistake| {
        Error::usage(file::line_of(path, &text, mistake.offset), mistake.what).advise(advice)
    })
}

/// The need by the workload's id: with what an alias fixes. A workload of the runs needs no
/// catalog.
fn resolve(need: Need, catalog: &Catalog, input: &Input) -> Result<Need> {
    let mut tests = input.runs.iter().flat_map(|data| &data.tests);
    if let Ok(found) = catalog.find(&need.workload) {
        let params = found.with(&need.params, "--requirement")?;
        let workload = &found.entry.workload;
        let is_known = |name: &str| {
            params::RESERVED.contains(&name) || workload.params.iter().any(|own| own.name == name)
        };
        if let Some(name) = params.keys().find(|name| !is_known(name)) {
            let what = format!("{} has no parameter {}", workload.id, quote(name));
            let own = workload.params.iter().map(|own| own.name.as_str());
            let advice = match nearest(name, own).first() {
                Some(near) => format!("did you mean {near}?"),
                None => format!("see 'dbdyno show workload {}'", workload.id),
            };
            return Err(Error::usage("--requirement", what).advise(advice));
        }
        return Ok(Need { workload: workload.id.clone(), params, ..need });
    }
    match tests.find(|test| test.workload().eq_ignore_ascii_case(&need.workload)) {
        Some(test) => Ok(Need { workload: test.workload().to_string(), ..need }),
        None => catalog
            .find(&need.workload)
            .map(|_| need)
            .map_err(|error| Error { place: "--requirement".into(), ..error }),
    }
}

/// One platform that fits is enough.
fn check_outcome(input: &Input) -> Result<()> {
    let names = input.platforms();
    let found = platforms(input, &names);
    if found.iter().any(|platform| platform.outcome == Outcome::Fits) {
        return Ok(());
    }
    let answers = found.iter().map(|platform| match platform.doubtful_answer() {
        Some(doubtful) => format!("{}: {doubtful}", platform.name),
        None => format!("{}: {}", platform.name, platform.outcome.name()),
    });
    Err(Error::new(Kind::Check, "--requirement", answers.collect::<Vec<_>>().join(", "))
        .advise("see the answer"))
}
