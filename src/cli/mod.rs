//! The command line: arguments, console, one file per command. The only module that prints.

pub mod args;
pub mod commands;
pub mod console;

pub mod context;
pub mod experiment;
pub mod file;
pub mod forecast;
pub mod live_table;
pub mod measuring;
pub mod metrics_server;
pub mod monitor_view;
pub mod out;
pub mod overview;
pub mod paths;
pub mod pdf;
pub mod ramp_chart;
pub mod reasons;
pub mod request;
pub mod target;
pub mod unrunnable;
pub mod values;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser};

use crate::error::{Error, Result, excerpt};
use args::{Cli, Command, RunArgs};
use context::Context;

/// The program: parses the arguments, runs the command, prints an error as one line.
pub fn main() -> ExitCode {
    context::survive_file_size_limit();
    let parsed = overview::group_commands(Cli::command()).try_get_matches().and_then(|matches| {
        let mut cli = Cli::from_arg_matches(&matches)?;
        if let Some(Command::Run(args)) = &mut cli.command {
            args.given = given_options(&matches);
        }
        Ok(cli)
    });
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return no_command(error),
    };
    match dispatch(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report_error(&error),
    }
}

/// The long options of `run` that were typed.
fn given_options(matches: &ArgMatches) -> Vec<String> {
    let Some(typed) = matches.subcommand_matches("run") else { return Vec::new() };
    let declared = RunArgs::augment_args(clap::Command::new("run"));
    let options = declared.get_arguments().filter_map(|arg| Some((arg.get_long()?, arg.get_id())));
    let is_typed =
        |id: &clap::Id| typed.value_source(id.as_str()) == Some(ValueSource::CommandLine);
    options.filter(|(_, id)| is_typed(id)).map(|(name, _)| name.to_string()).collect()
}

/// Says an error as one line and gives its exit code.
fn report_error(error: &Error) -> ExitCode {
    out::report(&format!("dbdyno: {error}"));
    ExitCode::from(error.kind.exit_code())
}

fn dispatch(cli: Cli) -> Result<()> {
    let context = Context::new(cli.global);
    match cli.command.unwrap_or_else(default_command) {
        Command::Run(args) => commands::run::run(&context, &args),
        Command::Calibrate(args) => commands::calibrate::calibrate(&context, &args),
        Command::AbTest(args) => commands::ab_test::ab_test(&context, &args),
        Command::Layers(args) => commands::study::layers(&context, &args),
        Command::Interference(args) => commands::study::interference(&context, &args),
        Command::Sweep(args) => commands::study::sweep(&context, &args),
        Command::Failover(args) => commands::failover::failover(&context, &args),
        Command::List { what, plan: None, .. } => commands::list::list(&context, what),
        Command::List { what, plan: Some(suite), engine } => {
            commands::list_plan::list(&context, what, &suite, engine.as_deref())
        }
        Command::Show { what } => commands::show::show(&context, &what),
        Command::Load(args) => commands::data::load(&context, &args),
        Command::Verify(args) => commands::data::verify(&context, &args),
        Command::Clean(args) => commands::data::clean(&context, &args),
        Command::Check(args) => commands::check::check(&context, &args),
        Command::Selftest(args) => commands::selftest::selftest(&context, &args),
        Command::Results { what } => commands::runs::runs(&context, &what),
        Command::Report(args) => commands::report::report(&context, &args),
        Command::Bundle(args) => commands::bundle::bundle(&context, &args),
        Command::Audit(args) => commands::bundle::audit(&context, &args),
        Command::Rerun(args) => commands::rerun::rerun(&context, &args),
        Command::Capacity(args) => commands::capacity::capacity(&context, &args),
        Command::Compare(args) => commands::compare::compare(&context, &args),
        Command::Monitor(args) => commands::monitor::monitor(&context, &args),
        Command::Serve(args) => commands::serve::serve(&context, &args),
        Command::Site(args) => commands::site::site(&context, &args),
        Command::Worker(args) => commands::worker::worker(&context, &args),
        Command::HostExporter(args) => commands::probe::probe(&context, &args),
        Command::Overhead(args) => commands::overhead::overhead(&context, &args),
        Command::ExportSql(args) => commands::export_sql::export(&context, &args),
        Command::Binaries { what } => commands::server::server(&context, &what),
        Command::Completions { shell } => commands::generate::completions(shell),
        Command::Man { dir } => commands::generate::man(dir.as_deref()),
        Command::Reference { page } => commands::reference::reference(&context, page),
    }
}

/// `dbdyno` alone is `dbdyno run`.
fn default_command() -> Command {
    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        run: RunArgs,
    }
    Command::Run(Box::new(Alone::parse_from(["dbdyno"]).run))
}

/// Help and version are printed as they are; an error becomes one line, with clap's tip if it has
/// one.
fn no_command(error: clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return out::print(&error.render().to_string())
            .map_or_else(|error| report_error(&error), |()| ExitCode::SUCCESS);
    }
    let kind = error.kind();
    let words = std::env::args_os().skip(1);
    let command = typed_command(words.map(|word| word.to_string_lossy().into_owned()));
    let unknown = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => word.clone(),
        _ => String::new(),
    };
    let rendered = shorten_words(error).render().to_string();
    let error = match kind {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => incomplete(&rendered),
        ErrorKind::InvalidSubcommand => unknown_command(&command, &unknown),
        _ => usage_error(&rendered, &command),
    };
    report_error(&error)
}

/// The command that the words of a command line name: `dbdyno results list`.
fn typed_command(mut words: impl Iterator<Item = String>) -> String {
    let (mut command, mut name) = (Cli::command(), "dbdyno".to_string());
    while let Some(word) = words.next() {
        if let Some(option) = word.strip_prefix("--") {
            let is_it = |arg: &&clap::Arg| arg.get_long() == Some(option);
            let arg = command.get_arguments().find(is_it);
            if arg.is_some_and(|arg| arg.get_action().takes_values()) {
                words.next();
            }
            continue;
        }
        let Some(below) = command.find_subcommand(&word).cloned() else { break };
        name = format!("{name} {}", below.get_name());
        command = below;
    }
    name
}

/// The error for a command that does not exist, with the nearest one that help shows.
fn unknown_command(command: &str, word: &str) -> Error {
    let mut of = Cli::command();
    for name in command.split(' ').skip(1) {
        of = of.find_subcommand(name).cloned().unwrap_or_default();
    }
    let shown = of.get_subcommands().filter(|below| !below.is_hide_set());
    let names: Vec<_> = shown.map(|below| below.get_name().to_string()).collect();
    let near = crate::catalog::nearest(word, names.iter().map(String::as_str));
    let advice = match near.first() {
        Some(near) => format!("did you mean '{command} {near}'?"),
        None => format!("try '{command} --help'"),
    };
    let word = excerpt(&without_user(word));
    Error::usage("arguments", format!("unrecognized subcommand '{word}'")).advise(advice)
}

/// The error with at most 80 characters of what was typed, and nothing in them that acts on a
/// terminal.
fn shorten_words(mut error: clap::Error) -> clap::Error {
    let shown = |text: &str| excerpt(&without_secrets(text));
    let typed = |(kind, value): (ContextKind, &ContextValue)| match value {
        ContextValue::String(text) if shown(text) != *text => Some((kind, shown(text))),
        _ => None,
    };
    let long: Vec<_> = error.context().filter_map(typed).collect();
    if !long.is_empty() {
        // Suggestions repeat it.
        error.remove(ContextKind::Suggested);
    }
    for (kind, text) in long {
        error.insert(kind, ContextValue::String(text));
    }
    error
}

/// The typed text without the users and queries of its URLs, which may hold passwords and tokens.
fn without_secrets(text: &str) -> String {
    let told = without_user(text);
    match told.split_once('?') {
        Some((address, _)) => format!("{address}?..."),
        None => told,
    }
}

/// URLs without what stands before their last `@`, which may hold a password.
fn without_user(text: &str) -> String {
    let mut parts = text.split("://");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |told, part| {
        let end = part.find([' ', '\'', '"']).unwrap_or(part.len());
        match part[..end].rfind('@') {
            Some(at) => format!("{told}://...{}", &part[at..]),
            None => format!("{told}://{part}"),
        }
    })
}

/// A command that needs another word: clap shows its help, we say where the help is.
fn incomplete(rendered: &str) -> Error {
    let usage = rendered.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or("dbdyno");
    let words: Vec<&str> =
        usage.split_whitespace().take_while(|word| !word.starts_with(['[', '<'])).collect();
    let command = words.join(" ");
    Error::usage("arguments", format!("'{command}' needs another word"))
        .advise(format!("try '{command} --help'"))
}

/// clap's first line if required arguments lack; their names follow, one a line.
const MISSING: &str = "the following required arguments were not provided:";

/// clap's several lines as one: what happened; its tip, or where the help of the command is.
fn usage_error(rendered: &str, command: &str) -> Error {
    let mut lines = rendered.lines().map(str::trim).filter(|line| !line.is_empty());
    let what = lines.next().unwrap_or("unusable").trim_start_matches("error: ").to_string();
    let rest: Vec<&str> = lines.take_while(|line| !line.starts_with("Usage:")).collect();
    let help = format!("try '{command} --help'");
    if what == MISSING {
        let missing: Vec<&str> = rest.into_iter().filter(|line| !is_no_advice(line)).collect();
        let verb = if missing.len() == 1 { "is" } else { "are" };
        return Error::usage("arguments", format!("{} {verb} missing", missing.join(", ")))
            .advise(help);
    }
    // How to pass an option's name as a value helps nobody who mistyped an option.
    let mut tips = rest.iter().filter_map(|line| line.strip_prefix("tip: "));
    let advice = match tips.find(|tip| !tip.starts_with("to pass ")) {
        Some(tip) => match tip.strip_prefix("a similar argument exists: ") {
            Some(near) => format!("did you mean {near}? See '{command} --help'"),
            None => format!("{tip}; {help}"),
        },
        None if rest.iter().all(|line| is_no_advice(line)) => help,
        None => rest.into_iter().filter(|line| !is_no_advice(line)).collect::<Vec<_>>().join(" "),
    };
    Error::usage("arguments", what).advise(advice)
}

/// True for a line of clap's that says nothing about the error.
fn is_no_advice(line: &str) -> bool {
    line.starts_with("For more") || line.starts_with("tip: to pass ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declarations_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_error_shows_what_stands_before_the_host_of_a_url() {
        for (typed, shown) in [
            ("--x=http://ann:hunter2@db1:9100/m is no", "--x=http://...@db1:9100/m is no"),
            ("'http://ann:hun/ter@2@db1' and 'a@b'", "'http://...@db1' and 'a@b'"),
            ("http://db1:9100 me@home", "http://db1:9100 me@home"),
        ] {
            assert_eq!(without_user(typed), shown);
        }
    }

    #[test]
    fn an_unknown_option_is_one_line_with_the_tip() {
        let rendered =
            Cli::try_parse_from(["dbdyno", "run", "--job", "1"]).unwrap_err().render().to_string();
        let line = usage_error(&rendered, "dbdyno run").to_string();
        assert!(
            line.starts_with("arguments: unexpected argument '--job' found; ")
                && line.contains("--jobs"),
            "{line}"
        );
        assert!(line.ends_with("did you mean '--jobs'? See 'dbdyno run --help'"), "{line}");
        assert_eq!(line.lines().count(), 1);
    }

    #[test]
    fn what_lacks_is_named() {
        let rendered = Cli::try_parse_from(["dbdyno", "compare"]).unwrap_err().render().to_string();
        let line = usage_error(&rendered, "dbdyno compare").to_string();
        assert_eq!(line, "arguments: <RUN>... is missing; try 'dbdyno compare --help'");
    }

    #[test]
    fn a_bad_value_says_which_and_why() {
        let rendered =
            Cli::try_parse_from(["dbdyno", "run", "--ops", "0"]).unwrap_err().render().to_string();
        let line = usage_error(&rendered, "dbdyno run").to_string();
        assert!(line.contains("'0'") && line.contains("--ops"), "{line}");
        assert!(line.ends_with("try 'dbdyno run --help'"), "{line}");
    }

    #[test]
    fn an_unknown_command_names_the_nearest_that_help_shows() {
        let typed = |line: &str| typed_command(line.split(' ').map(String::from));
        assert_eq!(typed("--quiet results lst"), "dbdyno results");
        assert_eq!(typed("--results x.db run TARGET --jobs 1"), "dbdyno run");
        assert_eq!(typed("campaign a b"), "dbdyno ab-test");
        let line = unknown_command("dbdyno", "rnu").to_string();
        assert_eq!(line, "arguments: unrecognized subcommand 'rnu'; did you mean 'dbdyno run'?");
        let line = unknown_command("dbdyno results", "lst").to_string();
        assert!(line.ends_with("did you mean 'dbdyno results list'?"), "{line}");
        let line = unknown_command("dbdyno", "zzzz").to_string();
        assert!(line.ends_with("try 'dbdyno --help'"), "{line}");
    }

    #[test]
    fn no_command_means_run_on_the_embedded_engine() {
        match default_command() {
            Command::Run(args) => {
                let engine = crate::engine::find(&args.target.place.target).unwrap();
                assert!(engine.is_target() && engine.capabilities().in_process);
            }
            other => panic!("{other:?}"),
        }
    }
}
