//! `compare A B [C...]`: the first run is the base.

use std::collections::BTreeSet;

use super::{confirm, ending, report};
use crate::analysis::compare::{
    Comparison, Judgement, Level, Outcome, Row, Side, answer, base_of_many, differences_within,
    unjudged,
};
use crate::catalog::{Catalog, nearest};
use crate::cli::args::CompareArgs;
use crate::cli::context::Context;
use crate::cli::out;
use crate::error::{Error, Kind, Result, quote};
use crate::model::{Status, Test};
use crate::report::compare::{CompareReport, comparisons};
use crate::report::format::junit::Junit;
use crate::report::{Input, RunTests};
use crate::serve::stored;

/// Compares, prints or writes; a loss beyond `--fail-below` is an error of kind check.
///
/// # Errors
/// Unknown runs; an unwritable file; a figure that is worse than allowed.
pub fn compare(context: &Context, args: &CompareArgs) -> Result<()> {
    let catalog = context.catalog()?;
    let output = args.out.output.as_deref();
    let input = only(runs(context, args, &catalog)?, &args.workload)?;
    let input = if args.baseline.is_some() { with_base(input, &catalog) } else { input };
    let input = report::with_prices(input, &args.price)?;
    one_currency(&input)?;
    let fail_below = args.limit.fail_below.unwrap_or_default().0;
    let is_gate = args.limit.fail_below.is_some();
    let language = args.out.language;
    let input = Input { catalog, language, fail_below, is_gate, ..input };
    let mut compared = comparisons(&input);
    let mut input = input;
    if args.confirm
        && let Some(again) = confirm::again(context, &input, &compared)?
    {
        input = again;
        compared = comparisons(&input);
    }
    let format = report::form(context, &CompareReport, output)?;
    if let Some(path) = &args.limit.junit {
        // A build server judges by the limit, whether or not the exit code does.
        let judged = Input { is_gate: true, ..input.clone() };
        let document = report::build(&CompareReport, &Junit, judged);
        report::show(context, &Junit, &document, Some(path))?;
    }
    let document = report::with_branding(
        report::build(&CompareReport, format, input),
        format,
        &args.branding,
    )?;
    report::show(context, format, &document, output)?;
    judge(&compared, args)
}

/// The input with the tests of these workloads alone, named by id or code; all tests if none is
/// named.
///
/// # Errors
/// A workload of which none of the runs has a test.
fn only(mut input: Input, workloads: &[String]) -> Result<Input> {
    let names = |test: &Test, name: &str| {
        let own = [Some(test.workload()), test.asked_as()];
        own.into_iter().flatten().any(|own| own.eq_ignore_ascii_case(name))
    };
    for name in workloads {
        if !tests_of(&input).any(|test| names(test, name)) {
            let tests = tests_of(&input);
            let known: BTreeSet<&str> = tests.map(Test::workload).collect();
            let advice = match nearest(name, known.iter().copied()).first() {
                Some(near) => format!("did you mean {near}?"),
                None => format!("they have {}", Vec::from_iter(known).join(", ")),
            };
            let what = format!("these runs have no test of {}", quote(name));
            return Err(Error::usage("--workload", what).advise(advice));
        }
    }
    if !workloads.is_empty() {
        let is_named = |test: &Test| workloads.iter().any(|name| names(test, name));
        for data in input.runs.iter_mut().chain(&mut input.history) {
            data.tests.retain(is_named);
        }
    }
    Ok(input)
}

/// The tests of all runs that are compared, those of a base of many among them.
fn tests_of(input: &Input) -> impl Iterator<Item = &Test> {
    let base = if input.is_base_of_many { input.history.as_slice() } else { &[] };
    input.runs.iter().chain(base).flat_map(|data| &data.tests)
}

/// The runs with the earlier ones of their platform, or a run with those of its base of many.
///
/// # Errors
/// Unknown runs; too few runs for a base.
fn runs(context: &Context, args: &CompareArgs, catalog: &Catalog) -> Result<Input> {
    let store = context.store_to_read()?;
    let input = report::load_with(context, catalog, &args.runs, false)?;
    let Some(baseline) = &args.baseline else {
        if args.runs.len() < 2 {
            return Err(Error::usage("compare", "needs two runs: RUN RUN")
                .advise("name the base first, or give --baseline last:10"));
        }
        let history = stored::history(&store, &input.runs, catalog.effects())?;
        return Ok(Input { history, ..input });
    };
    let [run] = input.runs.as_slice() else {
        return Err(Error::usage("--baseline", "is compared with one run")
            .advise("name one run: compare --baseline last:10 RUN"));
    };
    let Baseline { label, max_runs } = parse_base(baseline)?;
    let history = stored::base_of(&store, &run.run, label, max_runs)?;
    if history.len() < MIN_OF_BASE {
        let what = format!(
            "{} finds {} finished runs of this platform before {}, of the {MIN_OF_BASE} that it \
             takes",
            quote(baseline),
            history.len(),
            quote(&args.runs[0])
        );
        return Err(Error::usage("--baseline", what)
            .advise("measure more runs, or name the base: compare BASE RUN"));
    }
    Ok(Input { history, is_base_of_many: true, ..input })
}

/// The runs of a base of many as one run, before the one that is compared with it; of the tests of
/// each those that count.
fn with_base(input: Input, catalog: &Catalog) -> Input {
    let tests: Vec<&[Test]> = input.history.iter().map(|data| data.tests.as_slice()).collect();
    let compared = input.runs.first().map(|data| data.tests.as_slice()).unwrap_or_default();
    let base = base_of_many(&tests, compared);
    let sides: Vec<Side<'_>> = input.history.iter().map(side).collect();
    let within = differences_within(&sides, compared, catalog.effects());
    let notes_on_base = base.without().into_iter().chain(within).collect();
    let history: Vec<RunTests> =
        input.history.iter().zip(base.runs).map(|(data, tests)| of_base(data, tests)).collect();
    let newest = input.history.last().map(|data| of_base(data, base.tests));
    let runs = newest.into_iter().chain(input.runs.iter().cloned()).collect();
    Input { runs, history, notes_on_base, ..input }
}

fn side(data: &RunTests) -> Side<'_> {
    Side { name: "", run: &data.run, tests: &data.tests, price: None }
}

/// A run with those tests that say something of the base; their figures are those of their runs.
fn of_base(data: &RunTests, tests: Vec<Test>) -> RunTests {
    RunTests { tests, ..data.clone() }
}

/// Runs without which a base shows no spread.
const MIN_OF_BASE: usize = 2;
/// Runs of a base: more gain nothing, and hold what has changed since.
const RUNS_OF_BASE: usize = 10;

/// Runs that a base of many consists of.
struct Baseline<'t> {
    /// Key and value of the label of these runs; none for the last runs, whatever their labels.
    label: Option<(&'t str, &'t str)>,
    max_runs: usize,
}

/// Parses `last:10` or `KEY=VALUE`.
///
/// # Errors
/// Any other text.
fn parse_base(text: &str) -> Result<Baseline<'_>> {
    if let Some(count) = text.strip_prefix("last:") {
        let count = count.parse().ok().filter(|count| *count >= MIN_OF_BASE);
        let max_runs = count.ok_or_else(|| wrong_base(text))?;
        return Ok(Baseline { label: None, max_runs });
    }
    let label = text.split_once('=').filter(|(key, _)| !key.is_empty());
    let label = label.ok_or_else(|| wrong_base(text))?;
    Ok(Baseline { label: Some(label), max_runs: RUNS_OF_BASE })
}

fn wrong_base(text: &str) -> Error {
    Error::usage("--baseline", format!("{} names no runs", quote(text)))
        .advise("give last:10 (2 or more), or a label of the runs: branch=main")
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
    let found: Vec<String> = worst(comparisons, below.0)
        .into_iter()
        .chain(levels(comparisons))
        .chain(describe_lost(comparisons))
        .chain(empty)
        .collect();
    let unjudged =
        comparisons.iter().filter_map(|comparison| Some(unjudged(comparison)?.to_string()));
    let open: Vec<String> = unjudged.chain(describe_undecided(comparisons)).collect();
    if found.is_empty() {
        unseen(comparisons).iter().for_each(|text| out::report(&format!("--fail-below: {text}")));
        open.iter()
            .for_each(|text| out::report(&format!("--fail-below: {text}; that fails nothing")));
        return Ok(());
    }
    let found: Vec<String> = found.into_iter().chain(open).collect();
    Err(Error::new(Kind::Check, "--fail-below", found.join(", ")).advise("see the comparison"))
}

/// The figures in which a gate that passes would not have seen a loss, or why it has no answer.
fn unseen(comparisons: &[Comparison]) -> Vec<String> {
    let gates = comparisons.iter().filter_map(|one| Some((one, one.gate.as_ref()?)));
    let said = |(comparison, gate): (&Comparison, &Judgement)| match gate.outcome {
        Outcome::NoAnswer => answer(comparison).first().map(ToString::to_string),
        _ if gate.blind.is_empty() => None,
        _ => Some(format!(
            "passes, blind below {} % in {} of {} figures, first {}",
            crate::model::sentence::number(200.0 * gate.limit),
            gate.blind.len(),
            gate.figures,
            gate.blind[0]
        )),
    };
    gates.filter_map(said).collect()
}

/// Groups and wholes that are worse than allowed.
fn levels(comparisons: &[Comparison]) -> Option<String> {
    let gates = comparisons.iter().filter_map(|comparison| comparison.gate.as_ref());
    let levels = gates.flat_map(|gate| gate.whole.iter().chain(&gate.groups));
    let said = |level: &Level| {
        let what =
            level.group.as_ref().map_or("all figures".into(), |name| format!("group {name}"));
        format!("{what} by {:.1} %", 100.0 * level.loss())
    };
    let failed: Vec<String> = levels.filter(|level| level.fails).map(said).collect();
    (!failed.is_empty()).then(|| format!("together worse than allowed: {}", failed.join(", ")))
}

/// Sentence about figures that pass because they are undecided; readers of the exit code should
/// know of them.
fn describe_undecided(comparisons: &[Comparison]) -> Option<String> {
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
    let first = failed.first()?;
    let label = |row: &Row| format!("{} {}", row.subject.label(), row.kind.name());
    let how = "worse than allowed or became invalid";
    // The loss of a figure that became invalid is no finding.
    let known = failed.iter().filter(|row| row.other_status < Status::Invalid);
    let worst = known.max_by(|a, b| a.loss().total_cmp(&b.loss()));
    Some(match worst {
        Some(worst) => ending::describe_worse(failed.len(), how, &label(worst), worst.loss()),
        None => format!("{} {how}, first {}", ending::figures_are(failed.len()), label(first)),
    })
}

/// The sound figures of the base that are gone.
fn describe_lost(comparisons: &[Comparison]) -> Option<String> {
    let mut lost = comparisons.iter().flat_map(Comparison::lost);
    let first = lost.next()?;
    let kind = first.kind.map_or(String::new(), |kind| format!(" {}", kind.name()));
    let count = 1 + lost.count();
    let before_name = if count == 1 { ":" } else { ", first" };
    let (figures, label, why) = (ending::figures_are(count), &first.label, &first.why);
    Some(format!("{figures} lost{before_name} {label}{kind} ({why})"))
}
