//! Command lines as reports print them: to be pasted into a shell, without the directories of the
//! host.

use dbdyno_core::error::{shell_word, shell_words};

/// Names of options whose values are paths, also the names that they had before.
pub const PATH_OPTIONS: &[&str] = &[
    "brand",
    "catalog",
    "csv",
    "data-dir",
    "dir",
    "facts",
    "junit",
    "needs",
    "notes",
    "output",
    "platforms",
    "price",
    "record",
    "report",
    "requirements",
    "results",
    "server-bin",
    "server-bin-a",
    "server-bin-b",
    "text",
    "token-file",
];

/// Names of options after which no value follows as a word of its own.
pub const FLAGS: &[&str] = &[
    "allow-disruption",
    "as-file",
    "awr",
    "confirm",
    "duet",
    "explain",
    "help",
    "i-may-break-it",
    "internal",
    "keep",
    "no-chart",
    "no-sampler",
    "noise",
    "once",
    "plain",
    "point-labels",
    "quiet",
    "redo-disturbed",
    "resend",
    "retry-disturbed",
    "role-sql",
    "statspack",
    "strict",
    "test-bottleneck",
    "version",
    "with-names",
];

/// Letter of the only option of one letter that has a value, which is a path.
pub const OUTPUT: char = 'o';

/// Place of a word in a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// An option, or a word that belongs to none: a command, a target, a file.
    Own,
    /// The value of the option before it, a path.
    Path,
    /// The value of the option before it, no path.
    Value,
}

/// The command line with local paths cut to their last part; everything else, also addresses of
/// servers, stays.
pub fn shareable(command: &str) -> String {
    let mut role = Role::Own;
    let mut shown = Vec::new();
    for word in shell_words(command) {
        let is_long_option = word.starts_with("--");
        let (word, next) = match role {
            Role::Value if !is_long_option => (word, Role::Own),
            _ if is_long_option => long_option(&word),
            Role::Own if word.starts_with('-') => short_options(&word),
            _ => (file_name(&word).to_string(), Role::Own),
        };
        shown.push(shell_word(&word));
        role = next;
    }
    shown.join(" ")
}

/// An option as `--name` or `--name=value`, and the role of the word after it.
fn long_option(word: &str) -> (String, Role) {
    let name = word.trim_start_matches("--");
    match name.split_once('=') {
        Some((name, path)) if PATH_OPTIONS.contains(&name) => {
            (format!("--{name}={}", file_name(path)), Role::Own)
        }
        Some(_) => (word.to_string(), Role::Own),
        None if PATH_OPTIONS.contains(&name) => (word.to_string(), Role::Path),
        None if FLAGS.contains(&name) || name.is_empty() => (word.to_string(), Role::Own),
        None => (word.to_string(), Role::Value),
    }
}

/// Options of one letter as `-q`, `-o`, `-qo` or `-oFILE`, and the role of the word after them.
fn short_options(word: &str) -> (String, Role) {
    match word.split_once(OUTPUT) {
        Some((_, "")) => (word.to_string(), Role::Path),
        Some((flags, path)) => (format!("{flags}{OUTPUT}{}", file_name(path)), Role::Own),
        None => (word.to_string(), Role::Own),
    }
}

/// The last part of a path; what is no path stays.
fn file_name(word: &str) -> &str {
    let parts = word.trim_end_matches('/').rsplit_once('/');
    parts.filter(|_| !word.contains("://")).map_or(word, |(_, last)| last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_paths_are_cut_and_addresses_are_not() {
        let typed =
            "dbdyno --results=/home/me/r.db report html --output ../out/page.html --catalog ~/my/";
        assert_eq!(
            shareable(typed),
            "dbdyno --results=r.db report html --output page.html --catalog my"
        );
        let run = "/usr/local/bin/dbdyno run x://me@db:5432/app --workload TP-LIGHT:org=heap \
                   --data-dir '/data/my dir/x' --server-bin '/opt/my server'";
        let expected = "dbdyno run x://me@db:5432/app --workload TP-LIGHT:org=heap --data-dir x \
                        --server-bin 'my server'";
        assert_eq!(shareable(run), expected);
        let files = "dbdyno run --quiet ./my/all.toml -q -o/a/b.txt -qo '/a b/c.txt' /d/e";
        let expected = "dbdyno run --quiet all.toml -q -ob.txt -qo c.txt e";
        assert_eq!(shareable(files), expected);
    }

    #[test]
    fn what_is_no_path_stays_and_is_quoted_for_a_shell() {
        for whole in [
            "dbdyno run x --name 'a/b c' --label 'team=x/y z'",
            "dbdyno run x --name '<script>alert(1)</script>=1+1'",
            "dbdyno run x '--name=<script>alert(1)</script>=1+1' --label=team=x/y",
            "dbdyno run 'x://me@db/app?a=/b&c=d' --results 'x://me@db/app?a=/b&c=d'",
            r"dbdyno run x --name 'it'\''s' --set 'search_path=a/b, c' --jobs 1,2 --quiet",
            "dbdyno run x --delay -5ms --fault-command ...",
        ] {
            assert_eq!(shareable(whole), whole);
        }
    }
}
