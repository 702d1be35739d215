//! `reference`, hidden: the pages of docs/guide that are made from what the program declares, so
//! that they cannot say anything else.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::CommandFactory;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::catalog::{Catalog, Suite};
use crate::cli::args::{Cli, ReferencePage};
use crate::cli::context::Context;
use crate::cli::reasons::{self, Explanation};
use crate::cli::{out, overview};
use crate::error::{Error, Kind, Result};
use crate::model::{Better, Param, Workload};
use crate::report::Language;
use crate::report::columns::{Definition, Source};
use crate::report::kpm_columns;

const COLUMNS: &str = include_str!("../reference/columns.toml");
/// Beside the page that is made of it: it names variables of the engines' own clients.
const ENVIRONMENT: &str = include_str!("../../../docs/guide/environment.toml");

/// Columns of the help in the reference.
const HELP_WIDTH: usize = 92;
/// A suite with more tests is listed by `show suite` only.
const MAX_LISTED_TESTS: usize = 60;

/// The line that each page begins with: it is not written by hand.
const GENERATED: &str = "<!-- Made by `dbdyno reference`; a test holds it equal. -->\n\n";

/// Environment variables that go together, and their meaning.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Variable {
    names: Vec<String>,
    meaning: String,
}

/// An exit code and what it means for a script.
struct ExitCode {
    code: u8,
    meaning: &'static str,
}

const EXIT_CODES: &[ExitCode] = &[
    ExitCode {
        code: 0,
        meaning: "done; results may be conditional or invalid unless `--strict` was given",
    },
    ExitCode {
        code: 1,
        meaning: "a check found something: a gate failed, a preflight check failed, `--strict` met \
                  an invalid result, no platform can carry the load, no workload could run",
    },
    ExitCode {
        code: 2,
        meaning: "the command line, a file that it names, the configuration or the catalog is \
                  wrong; nothing was measured",
    },
    ExitCode {
        code: 3,
        meaning: "the target failed: no connection, lacking rights, no disk space, a lost worker; \
                  or results that could not be stored",
    },
    ExitCode {
        code: 130,
        meaning: "interrupted by Ctrl-C, SIGTERM or SIGHUP; what was measured is stored",
    },
];

/// Definition of a column, and its source.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnText {
    definition: String,
    source: String,
}

/// Prints a page of the reference in Markdown.
///
/// # Errors
/// A broken catalog.
pub fn reference(context: &Context, page: ReferencePage) -> Result<()> {
    let text = match page {
        ReferencePage::Commands => commands(),
        ReferencePage::Environment => environment()?,
        ReferencePage::Workloads => workloads(&context.catalog()?),
        ReferencePage::Suites => suites(&context.catalog()?)?,
        ReferencePage::Reasons => reasons_page()?,
        ReferencePage::Columns => columns()?,
    };
    out::print_rendered(&text)
}

/// The help of every command, as `--help` prints it.
fn commands() -> String {
    let mut command = overview::group_commands(Cli::command()).term_width(HELP_WIDTH);
    command.build();
    let mut text = format!(
        "{GENERATED}# Commands\n\nEvery command with its options, as `dbdyno COMMAND --help` \
         prints them. The overview comes first; the global options stand at the end of each \
         command.\n"
    );
    section(&mut text, "dbdyno", &command);
    for sub in visible_subcommands(&command) {
        let name = format!("dbdyno {}", sub.get_name());
        section(&mut text, &name, sub);
        for nested in visible_subcommands(sub) {
            section(&mut text, &format!("{name} {}", nested.get_name()), nested);
        }
    }
    text
}

/// The subcommands that the help shows.
fn visible_subcommands(command: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

/// A command's help under its name.
fn section(text: &mut String, name: &str, command: &clap::Command) {
    let help = command.clone().render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(text, "\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim_end());
}

fn environment() -> Result<String> {
    let variables: BTreeMap<String, Vec<Variable>> = read(ENVIRONMENT, "environment.toml")?;
    let mut text = format!(
        "{GENERATED}# Environment variables and exit codes\n\nScripts steer dbdyno by these \
         variables and read its exit code. An option of the command line takes precedence over a \
         variable; an empty variable counts as not set.\n\n| variable | meaning |\n|---|---|\n"
    );
    for Variable { names, meaning } in variables.values().flatten() {
        let _ = writeln!(text, "| `{}` | {meaning} |", names.join("`, `"));
    }
    text.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
    for ExitCode { code, meaning } in EXIT_CODES {
        let _ = writeln!(text, "| {code} | {meaning} |");
    }
    text.push_str(
        "\nAn error is one line on standard error: where it happened, what happened, what to do.\n",
    );
    Ok(text)
}

fn workloads(catalog: &Catalog) -> String {
    let mut text = format!(
        "{GENERATED}# Workloads\n\nWhat each workload does, the unit of its KPM, and its \
         parameters. `dbdyno show workload ID` prints its SQL. Name one with `--workload ID`, with \
         parameters as `--workload ID:param=value,param=value`, or by a code of a published \
         suite.\n"
    );
    for group in catalog.groups() {
        let _ = write!(text, "\n## {}: {}\n", group.id, group.title);
        let members = catalog.workloads().filter(|workload| workload.group == group.id);
        members.for_each(|workload| one_workload(&mut text, workload));
    }
    text
}

fn one_workload(text: &mut String, workload: &Workload) {
    let _ = write!(text, "\n### {}\n\n{}.\n", workload.id, cell(&workload.title));
    let better = match workload.kpm.better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
    };
    let (unit, revision) = (&workload.kpm.unit, workload.revision);
    let _ = write!(text, "\nKPM: {unit} ({better}). Revision {revision}.");
    let codes: Vec<&str> = workload.aliases.iter().map(|alias| alias.code.as_str()).collect();
    if !codes.is_empty() {
        let _ = write!(text, " Published codes: {}.", codes.join(", "));
    }
    let _ = write!(text, "\n\n{}\n", workload.about.trim());
    if !workload.params.is_empty() {
        text.push_str("\n| parameter | values | default | meaning |\n|---|---|---|---|\n");
    }
    for param in &workload.params {
        let (name, about) = (&param.name, cell(&param.about));
        let _ = writeln!(text, "| `{name}` | {} | {} | {about} |", values(param), param.default);
    }
}

/// `default, heap, index`, or `0 to 100`.
fn values(param: &Param) -> String {
    match (param.min, param.max) {
        _ if !param.values.is_empty() => param.values.join(", "),
        (Some(min), Some(max)) => format!("{min} to {max}"),
        (Some(min), None) => format!("{min} or more"),
        (None, Some(max)) => format!("up to {max}"),
        (None, None) => "a whole number".into(),
    }
}

fn suites(catalog: &Catalog) -> Result<String> {
    let mut text = format!(
        "{GENERATED}# Suites\n\nA suite is a list of tests with their sizes, numbers of jobs and \
         windows. Choose one with `--suite NAME`; without it `run` takes `quick`. `dbdyno list \
         workloads --plan NAME` says how long it takes and how much disk it needs.\n\n\
         | suite | what it is | size [GB] | jobs | window | repetitions | tests |\n\
         |---|---|---|---|---|---|---|\n"
    );
    for suite in catalog.suites() {
        let tests = catalog.suite_tests(suite)?;
        let runs = tests.iter().filter(|test| test.workload.is_some()).count();
        let size = suite.size_gb.map_or("-".into(), |size| size.to_string());
        let jobs = suite.jobs.as_ref().map_or("own".into(), ToString::to_string);
        let repeat = suite.repeat.unwrap_or(1);
        let (id, title, window) = (&suite.id, cell(&suite.title), window(suite));
        let _ = writeln!(
            text,
            "| [{id}](#{id}) | {title} | {size} | {jobs} | {window} | {repeat} | {runs} |"
        );
    }
    for suite in catalog.suites() {
        let _ = write!(text, "\n## {}\n\n{}\n", suite.id, suite.about.trim());
        let mut names = Vec::new();
        for test in catalog.suite_tests(suite)? {
            names.extend(test.workload.map(|id| format!("`{id}`")));
        }
        let _ = match names.len() {
            0..=MAX_LISTED_TESTS => write!(text, "\nTests: {}.\n", names.join(", ")),
            many => write!(text, "\n{many} tests: `dbdyno show suite {}`.\n", suite.id),
        };
    }
    Ok(text)
}

/// The window of a suite's tests.
fn window(suite: &Suite) -> String {
    match (suite.duration_s, suite.precision, suite.max_duration_s) {
        (Some(duration_s), _, _) => format!("{duration_s} s"),
        (None, Some(_), Some(max_s)) => format!("by precision, {max_s} s at most"),
        (None, Some(_), None) => "by precision".into(),
        (None, None, _) => "own".into(),
    }
}

fn reasons_page() -> Result<String> {
    let all = reasons::all()?;
    let mut text = format!(
        "{GENERATED}# Reasons of a verdict\n\nFind the code or the label that your report shows: \
         what it means, when dbdyno gives it, and what to do. A *conditional* result is true for \
         the conditions that its reason names; an *invalid* one must not be used; a *note* changes \
         nothing. `dbdyno show reason CODE` prints one of them.\n\n| code | label | verdict \
         |\n|---|---|---|\n"
    );
    for Explanation { code, label, status, .. } in &all {
        let _ = writeln!(text, "| [{code}](#{code}) | {label} | {status} |");
    }
    for Explanation { code, label, status, rule, example, cause, remedy } in &all {
        let rule = rule.replace("](docs/", "](../");
        let _ = write!(
            text,
            "\n## {code}\n\n**{label}** ({status})\n\n- Rule: {rule}.\n- Example: {example}.\n\
             - Cause: {cause}\n- What to do: {remedy}\n"
        );
    }
    Ok(text)
}

fn columns() -> Result<String> {
    let texts: BTreeMap<String, ColumnText> = read(COLUMNS, "columns.toml")?;
    let mut text = format!(
        "{GENERATED}# Columns and units\n\nWhat each column of the KPM report (`dbdyno report \
         kpm`) shows and where its value comes from. Which columns a table has depends on the kind \
         of workload. MB are 10^6 bytes; `-` is unknown, never 0. JSON reports and CSV keep the \
         former heading of a column where it has one.\n\n| column | unit | definition | source | \
         field of a result | former heading |\n|---|---|---|---|---|---|\n"
    );
    for column in all_columns() {
        let about = texts.get(column.name).ok_or_else(|| lacking(column.name))?;
        let unit = match column.source {
            Source::Kpm | Source::KpmPerJob => "that of the KPM",
            _ => column.unit,
        };
        let id = match column.source {
            Source::Derived(id, _) | Source::Proportional(id, _) => format!("`{id}`"),
            _ => String::new(),
        };
        let (name, former) = heading(column.name);
        let ColumnText { definition, source, .. } = about;
        let _ = writeln!(text, "| {name} | {unit} | {definition} | {source} | {id} | {former} |");
    }
    Ok(text)
}

/// The heading that reports show for the name of a column, and the name if it is another one.
fn heading(name: &str) -> (String, String) {
    let shown = Language::English.phrase(name);
    let former = if shown == name { String::new() } else { format!("`{name}`") };
    (shown, former)
}

/// The columns of all forms of the KPM report, each once.
fn all_columns() -> Vec<Definition> {
    use kpm_columns::{DURABILITY, FORMS, LASTING, TIMES};
    let forms = FORMS.into_iter().flatten().copied().flatten();
    let mut all: Vec<Definition> = Vec::new();
    for column in forms.copied().chain(LASTING).chain([DURABILITY, TIMES]) {
        let is_known = |known: &Definition| (known.name, known.unit) == (column.name, column.unit);
        if !all.iter().any(is_known) {
            all.push(column);
        }
    }
    all
}

/// A text for a cell of a table, or before a full stop.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ").trim_end_matches('.').to_string()
}

fn read<T: DeserializeOwned>(text: &str, file: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| Error::new(Kind::Usage, file, error.to_string()))
}

fn lacking(name: &str) -> Error {
    Error::new(Kind::Usage, name, "has no text in the reference")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_a_text_and_no_other_has() {
        let texts: BTreeMap<String, ColumnText> = read(COLUMNS, "columns.toml").unwrap();
        let mut names: Vec<&str> = all_columns().iter().map(|column| column.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(texts.keys().map(String::as_str).collect::<Vec<_>>(), names);
    }

    #[test]
    fn every_exit_code_of_an_error_is_listed() {
        for kind in [Kind::Check, Kind::Usage, Kind::Target, Kind::Results, Kind::Interrupted] {
            assert!(EXIT_CODES.iter().any(|listed| listed.code == kind.exit_code()), "{kind:?}");
        }
    }
}
