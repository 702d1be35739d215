//! An experiment as a file (TOML): what `run` is asked for, for one target or several, with single
//! tests, settings and a comparison at the end.
//!
//! Its keys are the long options of `run`, which read their values here as there: a file becomes
//! the arguments, and those the request. There is no second way.

mod keys;
mod lines;
mod schema;
mod stored;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::{Args, Command, FromArgMatches};
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::args::RunArgs;
use super::file;
use super::values::{Percent, Setting};
use crate::catalog::SuiteEntry;
use crate::error::{Error, Kind, Result};
use keys::Keys;
pub use keys::not_beside_a_file;
use lines::Lines;
pub use schema::schema;
pub use stored::{as_file, check_rates, pace};

/// Extension of an experiment's file.
const ENDING: &str = ".toml";
/// The argument that is no option.
const TARGET: &str = "target";
/// Keys that are no options of `run`.
const PARTS: [&str; 5] = ["compare", "labels", "settings", TARGET, "test"];

/// Key of the target in a table of targets, and the other keys that are no options of `run`.
const AT: &str = "at";
const PARTS_OF_A_TARGET: [&str; 3] = [AT, "labels", "settings"];

/// An experiment that was read from a file.
pub struct Experiment {
    lines: Lines,
    /// Runs to be measured, each with its arguments.
    pub runs: Vec<RunArgs>,
    pub compare: Option<Compare>,
}

/// The comparison at the end.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// Instead of the first target: earlier runs, as `compare --baseline` has them.
    pub baseline: Option<String>,
    /// The loss from which it fails: `5%`.
    #[serde(default, deserialize_with = "percent")]
    pub fail_below: Option<Percent>,
    pub junit: Option<PathBuf>,
}

/// Fields of a target that are no options.
#[derive(Debug, Clone, Default)]
struct Own {
    settings: BTreeMap<String, String>,
    tests: Vec<SuiteEntry>,
}

/// The part of a file that is read by types; the options are read by the command line.
#[derive(Debug, Default, Deserialize)]
struct Typed {
    #[serde(default)]
    test: Vec<SuiteEntry>,
    compare: Option<Compare>,
}

/// Options of the command line, each with its value and where it stands in the file.
type Options = BTreeMap<String, (usize, Vec<String>)>;

/// True of a target that names the file of an experiment.
pub fn is_file(target: &str) -> bool {
    target.ends_with(ENDING) && !target.contains("://")
}

impl Experiment {
    /// Reads a file; `shown` are arguments that say how results are shown and called.
    ///
    /// # Errors
    /// Of usage: `FILE:LINE: what; what to do`.
    pub fn read(path: &Path, shown: &RunArgs) -> Result<Experiment> {
        let text = file::read_small(path, "for an experiment")?;
        let lines = Lines::new(path, text);
        let keys = Keys::of_run();
        let document = DeTable::parse(lines.text()).map_err(|error| lines.toml(&error, &[]))?;
        let typed: Typed = toml::from_str(lines.text())
            .map_err(|error| lines.toml(&error, &keys.beside(&PARTS)))?;
        let table = document.get_ref();
        if table.is_empty() {
            let advice = "write a target and what to run";
            return Err(lines.wrong(0, "asks for nothing".into(), advice));
        }
        let common = options(&lines, &keys, table, &PARTS)?;
        let settings = settings(&lines, table)?;
        check_tests(&lines, &keys, table, &typed.test)?;
        let sides = sides(&lines, &keys, table)?;
        let several = sides.len() > 1;
        let of = |(number, side): (usize, (Options, BTreeMap<String, String>))| {
            let mut all = common.clone();
            all.extend(side.0);
            let own = Own {
                settings: settings.clone().into_iter().chain(side.1).collect(),
                tests: typed.test.clone(),
            };
            let mut args = arguments(&lines, &all, own)?;
            shown_as(&mut args, shown, several.then_some(number));
            Ok(args)
        };
        let runs = (1..).zip(sides).map(of).collect::<Result<Vec<_>>>()?;
        check_comparison(&lines, typed.compare.as_ref(), runs.len())?;
        Ok(Experiment { runs, compare: typed.compare, lines })
    }

    /// An error of what the file asks for, with the line that it is about.
    pub fn at_line(&self, error: Error) -> Error {
        if error.kind == Kind::Usage { self.lines.at_line(error) } else { error }
    }
}

/// Takes over how the results are shown and called.
fn shown_as(args: &mut RunArgs, shown: &RunArgs, number: Option<usize>) {
    args.report.clone_from(&shown.report);
    args.language = shown.language;
    (args.strict, args.no_chart, args.metrics) = (shown.strict, shown.no_chart, shown.metrics);
    args.naming.label.extend(shown.naming.label.clone());
    if let Some(name) = &shown.naming.name {
        args.naming.name = Some(match number {
            Some(number) => format!("{name}-{number}"),
            None => name.clone(),
        });
    }
}

/// The options of a table.
fn options(lines: &Lines, keys: &Keys, table: &DeTable<'_>, parts: &[&str]) -> Result<Options> {
    let mut found = Options::new();
    for (key, value) in table {
        let name = key.get_ref().as_ref();
        let place = key.span().start;
        match name {
            "labels" => drop(found.insert("label".into(), (place, labels(lines, value)?))),
            name if parts.contains(&name) => {}
            name if keys.has(name) => {
                let values = values(lines, keys, name, value)?;
                found.extend(values.map(|values| (name.to_string(), (place, values))));
            }
            name => return Err(lines.unknown(place, name, &keys.beside(parts))),
        }
    }
    Ok(found)
}

/// The values of an option as the command line has them; none of a switch that is off.
fn values(
    lines: &Lines,
    keys: &Keys,
    name: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<Option<Vec<String>>> {
    let at = value.span().start;
    if keys.is_switch(name) {
        return match value.get_ref() {
            DeValue::Boolean(true) => Ok(Some(Vec::new())),
            DeValue::Boolean(false) => Ok(None),
            _ => Err(lines.wrong(at, format!("{name} is a switch"), "write true or false")),
        };
    }
    match value.get_ref() {
        DeValue::Array(items) if keys.is_list(name) => {
            let item = |item: &Spanned<DeValue<'_>>| text(lines, name, item);
            items.iter().map(item).collect::<Result<Vec<_>>>().map(Some)
        }
        _ => text(lines, name, value).map(|text| Some(vec![text])),
    }
}

/// A text or a number as it is typed.
fn text(lines: &Lines, name: &str, value: &Spanned<DeValue<'_>>) -> Result<String> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(_) | DeValue::Float(_) => Ok(lines.text()[value.span()].replace('_', "")),
        _ => {
            let what = format!("{name} is neither a text nor a number");
            Err(lines.wrong(value.span().start, what, "write it as on the command line, in quotes"))
        }
    }
}

/// `key=value` of every label.
fn labels(lines: &Lines, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>> {
    let pair = |(key, value): (&str, String)| format!("{key}={value}");
    Ok(pairs(lines, "labels", value)?.into_iter().map(pair).collect())
}

fn settings(lines: &Lines, table: &DeTable<'_>) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let Some(value) = table.get("settings") else { return Ok(found) };
    for (name, text) in pairs(lines, "settings", value)? {
        let written = format!("{name}={text}").parse::<Setting>();
        let Setting { name, value } = written.map_err(|what| {
            lines.wrong(value.span().start, what, "name a setting of the server")
        })?;
        found.insert(name, value);
    }
    Ok(found)
}

/// Names with texts or numbers.
fn pairs<'a>(
    lines: &Lines,
    name: &str,
    value: &'a Spanned<DeValue<'_>>,
) -> Result<Vec<(&'a str, String)>> {
    let DeValue::Table(table) = value.get_ref() else {
        let what = format!("{name} is not a table");
        return Err(lines.wrong(value.span().start, what, "write one, with a line for each name"));
    };
    let pair = |(key, value): (&'a Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        Ok((key.get_ref().as_ref(), text(lines, name, value)?))
    };
    table.iter().map(pair).collect()
}

/// The targets: a text, several, or tables with options and settings of their own.
fn sides(
    lines: &Lines,
    keys: &Keys,
    table: &DeTable<'_>,
) -> Result<Vec<(Options, BTreeMap<String, String>)>> {
    let named = |value: &Spanned<DeValue<'_>>| {
        let text = text(lines, TARGET, value)?;
        let option = (TARGET.to_string(), (value.span().start, vec![text]));
        Ok((Options::from([option]), BTreeMap::new()))
    };
    let Some(value) = table.get(TARGET) else { return Ok(vec![Default::default()]) };
    let DeValue::Array(items) = value.get_ref() else { return Ok(vec![named(value)?]) };
    if items.is_empty() {
        return Err(lines.wrong(
            value.span().start,
            "no target".into(),
            "name one, or leave it out",
        ));
    }
    let side = |item: &Spanned<DeValue<'_>>| {
        let DeValue::Table(own) = item.get_ref() else { return named(item) };
        let at = item.span().start;
        let mut found = options(lines, keys, own, &PARTS_OF_A_TARGET)?;
        let Some(target) = own.get(AT) else {
            let what = "a target without 'at'".to_string();
            return Err(lines.wrong(at, what, "write at = \"ENGINE\", or a URL"));
        };
        found.insert(TARGET.into(), (target.span().start, vec![text(lines, AT, target)?]));
        Ok((found, settings(lines, own)?))
    };
    items.iter().map(side).collect()
}

/// Refuses tests without a workload or that contradict themselves, and tests beside suites: which
/// of both would an option be for?
fn check_tests(
    lines: &Lines,
    keys: &Keys,
    table: &DeTable<'_>,
    tests: &[SuiteEntry],
) -> Result<()> {
    let Some(written) = table.get("test") else { return Ok(()) };
    if let Some((key, _)) = table.iter().find(|(key, _)| keys.names_work(key.get_ref())) {
        let what = format!("{} and single tests", key.get_ref());
        return Err(lines.wrong(key.span().start, what, "write one of both"));
    }
    let places = written.get_ref().as_array().into_iter().flatten().map(|item| item.span().start);
    for (test, at) in tests.iter().zip(places) {
        if test.workload.is_none() {
            let what = "a test without a workload".into();
            return Err(lines.wrong(at, what, "write workload = \"ID\""));
        }
        if let Some(what) = test.contradiction() {
            return Err(lines.wrong(at, format!("this test: {what}"), "leave one of both out"));
        }
    }
    Ok(())
}

fn check_comparison(lines: &Lines, compare: Option<&Compare>, runs: usize) -> Result<()> {
    let wrong = |what: &str, advice| Err(lines.at_key("compare", what.into(), advice));
    match compare {
        Some(Compare { baseline: None, .. }) if runs < 2 => {
            wrong("one target has nothing to compare it with", "name two targets, or a baseline")
        }
        Some(Compare { baseline: Some(_), .. }) if runs > 1 => {
            wrong("a baseline and several targets", "leave the baseline out, or name one target")
        }
        _ => Ok(()),
    }
}

/// The arguments that the command line makes of these options.
fn arguments(lines: &Lines, options: &Options, own: Own) -> Result<RunArgs> {
    let mut typed = vec!["run".to_string()];
    for (name, (_, values)) in options.iter().filter(|(name, _)| *name != TARGET) {
        let option = format!("--{}", name.replace('_', "-"));
        typed.extend(values.iter().map(|value| format!("{option}={value}")));
        typed.extend(values.is_empty().then_some(option));
    }
    if let Some((_, target)) = options.get(TARGET) {
        typed.push("--".into());
        typed.extend(target.iter().cloned());
    }
    let command = RunArgs::augment_args(Command::new("run"));
    let parsed = command
        .try_get_matches_from(&typed)
        .and_then(|matches| RunArgs::from_arg_matches(&matches));
    let mut args = parsed.map_err(|error| option_error(lines, options, error))?;
    if own.settings.is_empty() || !args.target.place.target.contains("://") {
        args.target.settings = own.settings;
        args.target.tests = own.tests;
        return Ok(args);
    }
    let what = "settings of a server that is not ours".to_string();
    Err(lines.at_key("settings", what, "leave them out, or name a private server"))
}

/// Error of the command line for a value, at the line of its key.
fn option_error(lines: &Lines, options: &Options, error: clap::Error) -> Error {
    let option = error.context().find_map(|(kind, value)| match (kind, value) {
        (ContextKind::InvalidArg, ContextValue::String(name)) => Some(name.clone()),
        (ContextKind::InvalidArg, ContextValue::Strings(names)) => names.first().cloned(),
        _ => None,
    });
    let key = option.map(|option| {
        let name = option.split([' ', '=', '[', '<']).next().unwrap_or_default();
        name.trim_start_matches("--").replace('-', "_")
    });
    let place = key.as_ref().and_then(|key| options.get(key)).map_or(0, |(place, _)| *place);
    let said = super::usage_error(&super::shorten_words(error).render().to_string(), "dbdyno run");
    lines.wrong(place, said.what, said.advice)
}

fn percent<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<Percent>, D::Error> {
    String::deserialize(deserializer)?.parse().map(Some).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests;
