//! Options of `run` that a file may give.

use clap::{ArgAction, Args, Command};

use crate::cli::args::RunArgs;

/// Options that say how results are shown, and on which machines jobs run: they stay on the command
/// line. Labels are a table of their own.
const NOT_IN_A_FILE: [&str; 9] = [
    "report",
    "language",
    "strict",
    "no-chart",
    "metrics",
    "label",
    "workers",
    "worker-join-timeout",
    "worker-timeout",
];
/// Options that may stand on the command line beside a file.
const BESIDE_A_FILE: [&str; 7] =
    ["report", "language", "strict", "no-chart", "metrics", "name", "label"];
/// Options that name what is run.
const WORK: [&str; 2] = ["suite", "workload"];

/// An option as a key.
struct Key {
    name: String,
    is_switch: bool,
    is_list: bool,
}

/// The keys of a file.
pub struct Keys(Vec<Key>);

impl Keys {
    /// Keys of the options that `run` declares.
    pub fn of_run() -> Keys {
        let command = RunArgs::augment_args(Command::new("run"));
        let long = command.get_arguments().filter_map(|arg| Some((arg.get_long()?, arg)));
        let keys = long.filter(|(name, _)| !NOT_IN_A_FILE.contains(name)).map(|(name, arg)| Key {
            name: name.replace('-', "_"),
            is_switch: matches!(arg.get_action(), ArgAction::SetTrue),
            is_list: matches!(arg.get_action(), ArgAction::Append),
        });
        Keys(keys.collect())
    }

    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// True if it has no value on the command line.
    pub fn is_switch(&self, name: &str) -> bool {
        self.get(name).is_some_and(|key| key.is_switch)
    }

    /// True if it may be given several times.
    pub fn is_list(&self, name: &str) -> bool {
        self.get(name).is_some_and(|key| key.is_list)
    }

    /// True if it names what is run.
    pub fn names_work(&self, name: &str) -> bool {
        WORK.contains(&name)
    }

    /// Every key, with these that are no options.
    pub fn beside<'a>(&'a self, parts: &[&'a str]) -> Vec<&'a str> {
        self.0.iter().map(|key| key.name.as_str()).chain(parts.iter().copied()).collect()
    }

    fn get(&self, name: &str) -> Option<&Key> {
        self.0.iter().find(|key| key.name == name)
    }
}

/// The first of these options of `run`, as they were typed, that may not stand beside a file.
pub fn not_beside_a_file(given: &[String]) -> Option<&str> {
    given.iter().map(String::as_str).find(|name| !BESIDE_A_FILE.contains(name))
}
