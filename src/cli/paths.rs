//! Default paths (one state directory, with the results file and the private databases), and the
//! command line.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result, excerpt, shell_word};
use crate::store::url_of;

/// `$DBDYNO_HOME`; else `/var/lib/dbdyno` for root (a private server's user must be able to reach
/// it), else `$XDG_DATA_HOME/dbdyno` or `~/.local/share/dbdyno`.
pub fn state_dir() -> PathBuf {
    let var =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(home) = var("DBDYNO_HOME") {
        return home;
    }
    if crate::host::is_root() {
        return PathBuf::from("/var/lib/dbdyno");
    }
    let data_home = var("XDG_DATA_HOME");
    data_home.unwrap_or_else(|| crate::host::home_dir().join(".local/share")).join("dbdyno")
}

/// The results file, or the URL of the results: as given, else `results.db` in the state directory.
pub fn results_file(given: Option<&PathBuf>) -> PathBuf {
    given.cloned().unwrap_or_else(|| state_dir().join("results.db"))
}

/// The page of a run beside its results file: `run-7.html` beside `results.db`; beside a file of
/// another name that name comes first, so that no page overwrites that of another results file.
pub fn page_beside(results: &Path, run_id: i64) -> PathBuf {
    let name = match (results.file_stem(), results.extension()) {
        (Some(stem), Some(extension)) if extension == "db" => stem,
        _ => results.file_name().unwrap_or_default(),
    };
    let page = match name.to_string_lossy() {
        name if name == "results" || name.is_empty() => format!("run-{run_id}.html"),
        name => format!("{name}-run-{run_id}.html"),
    };
    results.with_file_name(page)
}

/// The data directory: as given, else `data` in the state directory. Always absolute.
pub fn data_dir(given: Option<&PathBuf>) -> PathBuf {
    let dir = given.cloned().unwrap_or_else(|| state_dir().join("data"));
    std::path::absolute(&dir).unwrap_or(dir)
}

/// Refuses a place whose directory is not there: it is rather a typing error than to be made.
///
/// # Errors
/// Names the directory, and the option that says where.
pub fn check_parent(path: &Path, option: &str) -> Result<()> {
    if url_of(path).is_some() {
        return Ok(());
    }
    let parent =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match parent.try_exists() {
        Ok(false) => Err(Error::target(
            path.display().to_string(),
            format!("directory {} does not exist", excerpt(&parent.to_string_lossy())),
        )
        .advise(format!("create it, or choose another place with {option}"))),
        // Whatever else is wrong with it shows when it is used.
        Ok(true) | Err(_) => Ok(()),
    }
}

/// Refuses to write results where another user would get them: into a file that he has put under
/// this name into a directory open to everybody, or through a link.
///
/// # Errors
/// Names the file, and the option that says where.
pub fn refuse_made_by_others(path: &Path, option: &str) -> Result<()> {
    if !is_made_by_others(path)? {
        return Ok(());
    }
    let what = "somebody else made it, in a directory open to everybody";
    Err(Error::usage(path.display().to_string(), what)
        .advise(format!("name a file in a directory of your own with {option}")))
}

/// True if another user has put the results file into a directory open to everybody.
///
/// # Errors
/// If that cannot be found out.
pub fn is_made_by_others(path: &Path) -> Result<bool> {
    if url_of(path).is_some() {
        return Ok(false);
    }
    crate::host::made_by_others(path)
        .map_err(|error| Error::usage(path.display().to_string(), error.to_string()))
}

/// Options whose values are commands of the user's own, which may hold passwords.
const SHELL_COMMANDS: [&str; 5] = [
    // As they were called before.
    "--break-command",
    "--mend-command",
    "--fault-command",
    "--repair-command",
    "--promote-command",
];
/// Mark for parts that are left out.
const LEFT_OUT: &str = "...";

/// The command line, to be pasted into a shell. Passwords are refused on it, and commands of the
/// user's own are left out, so it holds none.
pub fn command_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words = without_commands(words).map(|word| shell_word(&word)).collect::<Vec<_>>();
    std::iter::once("dbdyno".to_string()).chain(words).collect::<Vec<_>>().join(" ")
}

fn without_commands(words: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    let mut is_command = false;
    words.map(move |word| {
        if std::mem::take(&mut is_command) {
            return LEFT_OUT.to_string();
        }
        is_command = SHELL_COMMANDS.contains(&word.as_str());
        match word.split_once('=') {
            Some((option, _)) if SHELL_COMMANDS.contains(&option) => format!("{option}={LEFT_OUT}"),
            _ => word,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{Arg, Command, CommandFactory, ValueHint};

    use super::*;
    use crate::cli::args::Cli;
    use crate::report::shareable::{FLAGS, OUTPUT, PATH_OPTIONS};

    /// The arguments of a command and of all below it.
    fn all_arguments(command: &Command) -> Vec<Arg> {
        let below = command.get_subcommands().flat_map(all_arguments);
        command.get_arguments().cloned().chain(below).collect()
    }

    #[test]
    fn reports_know_the_options_that_are_paths_and_those_without_a_value() {
        let mut command = Cli::command();
        command.build();
        let (mut flags, mut paths) = (BTreeSet::new(), BTreeSet::new());
        let arguments = all_arguments(&command);
        for argument in &arguments {
            let is_alone =
                !argument.get_action().takes_values() || argument.is_require_equals_set();
            let is_path = matches!(
                argument.get_value_hint(),
                ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath
            );
            let names = argument.get_long().into_iter();
            let names = names.chain(argument.get_all_aliases().unwrap_or_default());
            match (is_alone, is_path) {
                (true, _) => flags.extend(names),
                (false, true) => paths.extend(names),
                (false, false) => {}
            }
            if let Some(letter) = argument.get_short() {
                let is_known = if letter == OUTPUT { is_path && !is_alone } else { is_alone };
                assert!(is_known, "-{letter}");
            }
        }
        assert_eq!(flags, FLAGS.iter().copied().collect());
        assert_eq!(paths, PATH_OPTIONS.iter().copied().collect());
    }

    #[test]
    fn commands_of_the_user_are_left_out() {
        let line = "failover x --fault-command ssh:secret --repair-command=secret --jobs 2";
        let words = without_commands(line.split(' ').map(String::from));
        let kept = words.collect::<Vec<_>>().join(" ");
        assert_eq!(kept, "failover x --fault-command ... --repair-command=... --jobs 2");
    }

    #[test]
    fn pages_of_two_results_files_do_not_overwrite_one_another() {
        let files = ["results.db", "r.db", "r2.db", "r", "r.sqlite", "results.sqlite"];
        let pages = files.map(|file| page_beside(&Path::new("/d").join(file), 7));
        let expected = [
            "run-7.html",
            "r-run-7.html",
            "r2-run-7.html",
            "r-run-7.html",
            "r.sqlite-run-7.html",
            "results.sqlite-run-7.html",
        ];
        assert_eq!(pages, expected.map(|page| Path::new("/d").join(page)));
    }
}
