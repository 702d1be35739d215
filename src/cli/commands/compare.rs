//! `compare A B [C...]`: the first run is the base.

use super::report;
use crate::analysis::compare::Comparison;
use crate::cli::args::CompareArgs;
use crate::cli::context::Context;
use crate::cli::out;
use crate::error::{Error, Kind, Result};
use crate::report::Input;
use crate::report::compare::{CompareReport, comparisons};
use crate::report::format::junit::Junit;

/// Compares, prints or writes; a loss beyond `--fail-below` is an error of kind check.
///
/// # Errors
/// Unknown runs; an unwritable file; a figure that is worse than allowed.
pub fn compare(context: &Context, args: &CompareArgs) -> Result<()> {
    let output = args.out.output.as_deref();
    let input = report::priced(report::load(context, &args.runs, false)?, &args.price)?;
    one_currency(&input)?;
    let fail_below = args.limit.fail_below.unwrap_or_default().0;
    let input =
        Input { catalog: context.catalog()?, language: args.out.language, fail_below, ..input };
    let compared = comparisons(&input);
    let format = report::form(context, &CompareReport, output)?;
    let document =
        report::dressed(report::build(&CompareReport, format, input), format, &args.dress)?;
    if let Some(path) = &args.limit.junit {
        report::show(context, &Junit, &document, Some(path))?;
    }
    report::show(context, format, &document, output)?;
    judge(&compared, args)
}

/// Prices are compared in one currency only: we know no rate of exchange.
///
/// # Errors
/// Names the currencies.
pub fn one_currency(input: &Input) -> Result<()> {
    let mut currencies: Vec<&str> =
        input.prices.iter().map(|price| price.currency.as_str()).collect();
    currencies.sort_unstable();
    currencies.dedup();
    match currencies.len() {
        0 | 1 => Ok(()),
        _ => {
            Err(Error::usage("--price", format!("{} cannot be compared", currencies.join(" and ")))
                .advise("state all prices in one currency"))
        }
    }
}

/// With `--fail-below`: an error that names the worst figure, what is lost, and comparisons of
/// nothing.
fn judge(comparisons: &[Comparison], args: &CompareArgs) -> Result<()> {
    let Some(below) = args.limit.fail_below else { return Ok(()) };
    let empty = comparisons.iter().filter(|comparison| comparison.judges_nothing());
    let empty = empty.map(|comparison| {
        format!("no figure of {} can be judged by {}", comparison.other, comparison.base)
    });
    let found: Vec<String> =
        worst(comparisons, below.0).into_iter().chain(lost(comparisons)).chain(empty).collect();
    let undecided = undecided(comparisons);
    if found.is_empty() {
        undecided
            .iter()
            .for_each(|text| out::tell(&format!("--fail-below: {text}; that fails nothing")));
        return Ok(());
    }
    let found: Vec<String> = found.into_iter().chain(undecided).collect();
    Err(Error::new(Kind::Check, "--fail-below", found.join(", ")).advise("see the comparison"))
}

/// Figures that pass because nothing can be said of them; whoever reads the exit code should know.
fn undecided(comparisons: &[Comparison]) -> Option<String> {
    let rows: Vec<_> = comparisons.iter().flat_map(|comparison| &comparison.kpms).collect();
    let open: Vec<_> = rows.iter().filter(|row| row.is_undecided()).collect();
    let why = open.first()?.ratio.span.err()?;
    let is = if open.len() == 1 { "is" } else { "are" };
    Some(format!(
        "{} of {} figures {is} undecided, first {} {} ({why})",
        open.len(),
        rows.len(),
        open[0].subject.label(),
        open[0].kind.name()
    ))
}

/// The figures that are worse than allowed.
fn worst(comparisons: &[Comparison], below: f64) -> Option<String> {
    let rows = comparisons.iter().flat_map(|comparison| &comparison.kpms);
    let failed: Vec<_> = rows.filter(|row| row.is_failure(below)).collect();
    let worst = failed.iter().max_by(|a, b| a.loss().total_cmp(&b.loss()))?;
    let figures = if failed.len() == 1 { "figure is" } else { "figures are" };
    Some(format!(
        "{} {figures} worse than allowed or became invalid, most {} {} by {:.1} %",
        failed.len(),
        worst.subject.label(),
        worst.kind.name(),
        100.0 * worst.loss()
    ))
}

/// The sound figures of the base that are gone.
fn lost(comparisons: &[Comparison]) -> Option<String> {
    let mut lost = comparisons.iter().flat_map(Comparison::lost);
    let first = lost.next()?;
    let kind = first.kind.map_or(String::new(), |kind| format!(" {}", kind.name()));
    let label = &first.label;
    let why = &first.why;
    Some(match lost.count() {
        0 => format!("1 figure is lost: {label}{kind} ({why})"),
        more => format!("{} figures are lost, first {label}{kind} ({why})", 1 + more),
    })
}
