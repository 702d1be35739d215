//! `show suite ID`: its tests under their published codes, what each corresponds to, its rule, and
//! where it runs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::list::{SuiteTest, suite_test};
use crate::catalog::{Catalog, Suite, SuiteEntry, Work};
use crate::cli::context::Context;
use crate::cli::out;
use crate::cli::request::check_size;
use crate::engine::{ENGINES, Engine};
use crate::error::Result;
use crate::host::processors;
use crate::model::Precision;
use crate::plan::{self, Candidate, DEFAULT_SIZE_GB};
use crate::report::format::layout::fold;

/// Shows a suite at a nominal size.
///
/// # Errors
/// Unknown suite or format, an impossible size, a broken catalog.
pub fn show(context: &Context, id: &str, size_gb: Option<f64>) -> Result<()> {
    let format = context.format(&["text", "json"])?;
    let catalog = context.catalog()?;
    let suite = catalog.suite(id)?;
    // The work of a published suite is printed as published, whatever size it runs at by default.
    let size_gb = size_gb.or(suite.published_gb).or(suite.size_gb).unwrap_or(DEFAULT_SIZE_GB);
    check_size(size_gb)?;
    let tests = tests(&catalog, suite, size_gb)?;
    if format == "json" {
        let Suite { id, title, about, published_gb, .. } = suite;
        return out::json(&Shown {
            suite: id,
            title,
            about,
            size_gb,
            published_gb: *published_gb,
            tests,
        });
    }
    out::print(&text(context, suite, size_gb, &tests))
}

#[derive(Serialize)]
struct Shown<'a> {
    suite: &'a str,
    title: &'a str,
    about: &'a str,
    size_gb: f64,
    published_gb: Option<f64>,
    tests: Vec<Test>,
}

/// A test with its rule, and what becomes of it on each engine.
#[derive(Serialize)]
struct Test {
    #[serde(flatten)]
    test: SuiteTest,
    work: Option<Work>,
    ops_per_job: Option<u64>,
    duration_s: Option<f64>,
    precision: Option<Precision>,
    /// Nothing, or why not; none of a test that is only listed.
    #[serde(serialize_with = "in_words")]
    engines: Option<Outcomes>,
}

/// By engine: why it cannot run a test.
type Outcomes = BTreeMap<&'static str, Option<String>>;

/// `yes`, or why not.
fn in_words<S: serde::Serializer>(
    engines: &Option<Outcomes>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    let words = |why: &Option<String>| why.clone().unwrap_or_else(|| "yes".into());
    let said = engines.as_ref().map(|on| on.iter().map(|(engine, why)| (*engine, words(why))));
    said.map(BTreeMap::from_iter).serialize(serializer)
}

/// Every test, with what becomes of it on each engine.
fn tests(catalog: &Catalog, suite: &Suite, size_gb: f64) -> Result<Vec<Test>> {
    let engines: Vec<&dyn Engine> =
        ENGINES.iter().copied().filter(|engine| engine.is_target()).collect();
    let on = engines
        .iter()
        .map(|engine| Ok((engine.name(), candidates(catalog, suite, *engine, size_gb)?)));
    let on = on.collect::<Result<Vec<_>>>()?;
    let entries = catalog.suite_tests(suite)?;
    entries.iter().enumerate().map(|(at, entry)| test(catalog, entry, &on, at)).collect()
}

fn candidates(
    catalog: &Catalog,
    suite: &Suite,
    engine: &dyn Engine,
    size_gb: f64,
) -> Result<Vec<Candidate>> {
    let request = plan::Request {
        suites: vec![suite.id.clone()],
        size_gb: Some(size_gb),
        ..plan::Request::new(engine.name(), engine.capabilities(), processors())
    };
    plan::candidates(catalog, &request)
}

fn test(
    catalog: &Catalog,
    entry: &SuiteEntry,
    on: &[(&'static str, Vec<Candidate>)],
    at: usize,
) -> Result<Test> {
    let why_not = |candidates: &Vec<Candidate>| {
        candidates.get(at).and_then(|candidate| candidate.selection.clone().err())
    };
    let engines = || on.iter().map(|(engine, candidates)| (*engine, why_not(candidates))).collect();
    let planned = on.iter().find_map(|(_, candidates)| candidates.get(at)?.selection.as_ref().ok());
    let window = planned.map(|selection| selection.window);
    Ok(Test {
        test: suite_test(catalog, entry)?,
        work: entry.work.clone(),
        ops_per_job: window.and_then(|window| window.ops_per_job()),
        duration_s: window.filter(|_| entry.work.is_none()).and_then(|window| window.duration_s()),
        precision: window.and_then(|window| window.precision()),
        engines: entry.workload.is_some().then(engines),
    })
}

/// The tests as a table; reasons stand below it, each once.
fn text(context: &Context, suite: &Suite, size_gb: f64, tests: &[Test]) -> String {
    let mut reasons = Vec::new();
    let coded = tests.iter().any(|Test { test, .. }| test.code.is_some() || test.class.is_some());
    let names: &[&str] = if coded { &["class", "code"] } else { &[] };
    let mut table = out::Table::new(
        &[names, &["test", "corresponds to", "jobs", "per job", "runs on"]].concat(),
    );
    for test in tests {
        let said = |text: &Option<String>| text.clone().unwrap_or_default();
        let SuiteTest { code, title, class, corresponds_to, none, jobs, differs } = &test.test;
        let corresponds = match none {
            Some(reason) => format!("- {}", note(&mut reasons, reason)),
            None => said(corresponds_to),
        };
        let corresponds = match differs {
            Some(text) => format!("{corresponds} {}", note(&mut reasons, text)),
            None => corresponds,
        };
        let runs_on = runs_on(test, &mut reasons);
        let names = [class, code].into_iter().filter(|_| coded).map(said);
        let jobs = jobs.as_ref().map_or_else(String::new, ToString::to_string);
        table.row(names.chain([said(title), corresponds, jobs, rule(test), runs_on]));
    }
    let fitted =
        |text: &str| context.fit().map_or(text.to_string(), |width| fold(text, width).join("\n"));
    let (title, about) = (format!("{}: {}", suite.id, suite.title), suite.about.trim());
    let head = format!("{}\n{}\nat {size_gb} GB:\n\n", fitted(&title), fitted(about));
    let notes = reasons
        .iter()
        .enumerate()
        .map(|(at, reason)| fitted(&format!("[{}] {reason}", at + 1)) + "\n");
    head + &table.render(context.fit()) + "\n" + &notes.collect::<String>()
}

/// The engines that run the test; of the others the notes that say why not.
fn runs_on(test: &Test, reasons: &mut Vec<String>) -> String {
    let word = test.engines.iter().flatten().map(|(engine, why_not)| match why_not {
        None => engine.to_string(),
        Some(reason) => format!("not {engine} {}", note(reasons, reason)),
    });
    word.collect::<Vec<_>>().join(", ")
}

fn note(reasons: &mut Vec<String>, reason: &str) -> String {
    let known = reasons.iter().position(|known| known == reason);
    let at = known.unwrap_or_else(|| {
        reasons.push(reason.to_string());
        reasons.len() - 1
    });
    format!("[{}]", at + 1)
}

/// `65536 selects` as published, and in ops of ours; or the window.
fn rule(test: &Test) -> String {
    match (&test.work, test.ops_per_job, test.duration_s) {
        (Some(work), Some(ops), _) => {
            let op = if ops == 1 { "op" } else { "ops" };
            format!("{} {} = {ops} {op}", work.amount, work.unit)
        }
        (_, _, Some(seconds)) => match test.precision {
            Some(precision) => format!("until +-{precision}, at most {seconds} s"),
            None => format!("{seconds} s"),
        },
        _ => String::new(),
    }
}
