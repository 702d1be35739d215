//! The help of the program: its commands by the question that they answer.

use clap::Command;

/// A group of commands in the help.
struct Group {
    title: &'static str,
    commands: &'static [&'static str],
}

/// Groups of the commands; every command is in one of them.
const GROUPS: &[Group] = &[
    Group { title: "Measure", commands: &["run", "ab-test", "monitor", "failover"] },
    Group {
        title: "Study one question",
        commands: &["layers", "interference", "sweep", "calibrate", "overhead"],
    },
    Group {
        title: "Inspect results and the catalog",
        commands: &["report", "compare", "capacity", "serve", "list", "show"],
    },
    Group {
        title: "Share results and repeat runs",
        commands: &["results", "site", "bundle", "audit", "rerun", "export-sql"],
    },
    Group {
        title: "Manage targets and machines",
        commands: &[
            "check",
            "load",
            "verify",
            "selftest",
            "clean",
            "binaries",
            "worker",
            "host-exporter",
            "completions",
            "man",
            "help",
        ],
    },
];

/// Columns before what a command does.
const NAME_WIDTH: usize = 14;

/// The command line with its commands in groups.
pub fn group_commands(command: Command) -> Command {
    let mut template = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for group in GROUPS {
        template.push_str(&format!("\n{}:\n", group.title));
        for name in group.commands {
            template.push_str(&format!("  {name:NAME_WIDTH$}{}\n", about(&command, name)));
        }
    }
    template.push_str("\nOptions:\n{options}{after-help}");
    command.help_template(template)
}

/// The purpose of a command, in a line; clap adds `help` itself.
fn about(command: &Command, name: &str) -> String {
    let found = command.find_subcommand(name).and_then(Command::get_about);
    found
        .map_or_else(|| "Print this overview, or the help of a command".into(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::args::Cli;

    #[test]
    fn every_command_stands_in_one_group_on_one_line() {
        let command = Cli::command();
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut known: Vec<&str> = shown.map(Command::get_name).collect();
        known.push("help");
        known.sort_unstable();
        let mut grouped: Vec<&str> =
            GROUPS.iter().flat_map(|group| group.commands).copied().collect();
        grouped.sort_unstable();
        assert_eq!(grouped, known);
        for name in known {
            let line = format!("  {name:NAME_WIDTH$}{}", about(&command, name));
            assert!(line.len() <= 80, "{} characters: {line}", line.len());
        }
    }
}
