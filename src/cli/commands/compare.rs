//! `compare A B [C...]`: the first run is the base.

use std::path::Path;

use super::report::{options, write_form};
use crate::analysis::compare::{Comparison, Noise, Side, compare as compare_runs};
use crate::cli::args::CompareArgs;
use crate::cli::context::Context;
use crate::cli::{file, out};
use crate::error::{Error, Kind, Result};
use crate::report::{Input, RunTests, compare, junit, price};

/// Compares, prints or writes; a loss beyond `--fail-below` is an error of kind check.
///
/// # Errors
/// Unknown runs; an unwritable file; a figure that is worse than allowed.
pub fn compare(context: &Context, args: &CompareArgs) -> Result<()> {
    let input = super::report::load(context, &args.runs, false)?;
    let input = super::report::priced(input, &args.price)?;
    one_currency(&input)?;
    let noise = Noise::default();
    let comparisons = comparisons(context, &input, &noise)?;
    if let Some(path) = &args.junit {
        write_junit(context, path, &comparisons, args.fail_below.unwrap_or_default().0)?;
    }
    let noise = format!("+-{:.0} % ({})", 100.0 * noise.between_runs, noise.source);
    if context.global.format.as_deref() == Some("json") {
        print_json(context, &compare::json(&comparisons, &noise), args.output.as_deref())?;
    } else {
        let document = compare::document(&comparisons, &noise);
        write_form(context, &document, args.output.as_deref(), options(context, args.output.as_deref()))?;
    }
    judge(&comparisons, args)
}

fn comparisons(context: &Context, input: &Input, noise: &Noise) -> Result<Vec<Comparison>> {
    let catalog = context.catalog()?;
    let names = input.platforms();
    let sides = input.runs.iter().zip(&names).map(|(data, name)| {
        let RunTests { run, tests } = data;
        Side { name, run, tests, price: price::price_of(input, data) }
    });
    let sides: Vec<Side<'_>> = sides.collect();
    let Some((base, others)) = sides.split_first() else { return Ok(Vec::new()) };
    Ok(others.iter().map(|other| compare_runs(base, other, catalog.effects(), noise)).collect())
}

/// Prices are compared in one currency only: we know no rate of exchange.
fn one_currency(input: &Input) -> Result<()> {
    let mut currencies: Vec<&str> = input.prices.iter().map(|price| price.currency.as_str()).collect();
    currencies.sort_unstable();
    currencies.dedup();
    match currencies.len() {
        0 | 1 => Ok(()),
        _ => Err(Error::usage("--price", format!("{} cannot be compared", currencies.join(" and ")))
            .advise("state all prices in one currency")),
    }
}

fn print_json(context: &Context, document: &serde_json::Value, output: Option<&Path>) -> Result<()> {
    match output {
        None => out::json(document),
        Some(path) => file::write(context, path, format!("{document:#}\n").as_bytes()),
    }
}

fn write_junit(context: &Context, path: &Path, comparisons: &[Comparison], below: f64) -> Result<()> {
    let text = junit::document(comparisons, below)
        .map_err(|error| Error::usage(path.display().to_string(), format!("cannot be made: {error}")))?;
    file::write(context, path, text.as_bytes())
}

/// With `--fail-below`: an error that names the worst figure, what is lost, and comparisons of nothing.
fn judge(comparisons: &[Comparison], args: &CompareArgs) -> Result<()> {
    let Some(below) = args.fail_below else { return Ok(()) };
    let empty = comparisons.iter().filter(|comparison| comparison.judges_nothing());
    let empty =
        empty.map(|comparison| format!("no figure of {} can be judged by {}", comparison.other, comparison.base));
    let found: Vec<String> = worst(comparisons, below.0).into_iter().chain(lost(comparisons)).chain(empty).collect();
    match found.is_empty() {
        true => Ok(()),
        false => Err(Error::new(Kind::Check, "--fail-below", found.join(", ")).advise("see the comparison")),
    }
}

/// The figures that are worse than allowed.
fn worst(comparisons: &[Comparison], below: f64) -> Option<String> {
    let rows = comparisons.iter().flat_map(|comparison| &comparison.kpms);
    let failed: Vec<_> = rows.filter(|row| row.is_failure(below)).collect();
    let worst = failed.iter().max_by(|a, b| a.loss().total_cmp(&b.loss()))?;
    Some(format!(
        "{} figures are worse than allowed or became invalid, most {} {} by {:.1} %",
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
    Some(format!("{} figures are lost, first {}{kind} ({})", 1 + lost.count(), first.label, first.why))
}
