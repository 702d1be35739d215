//! Position in the file of an experiment: `FILE:LINE`.

use std::path::{Path, PathBuf};

use crate::catalog::nearest;
use crate::cli::file::line_of;
use crate::error::{Error, quote};

/// A file with its text.
pub struct Lines {
    path: PathBuf,
    text: String,
}

impl Lines {
    pub fn new(path: &Path, text: String) -> Lines {
        Lines { path: path.to_path_buf(), text }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Error at a byte.
    pub fn wrong(&self, at: usize, what: String, advice: impl Into<String>) -> Error {
        Error::usage(line_of(&self.path, &self.text, at.min(self.text.len())), what).advise(advice)
    }

    /// A key that is none of these.
    pub fn unknown(&self, at: usize, name: &str, known: &[&str]) -> Error {
        let advice = match nearest(name, known.iter().copied()).first() {
            Some(known) => format!("did you mean '{known}'?"),
            None => "the keys are the long options of 'dbdyno run', with _ for -".into(),
        };
        self.wrong(at, format!("{} is not a key", quote(name)), advice)
    }

    /// Error of the TOML reader, without the text of the file, which may be anything.
    pub fn toml(&self, error: &toml::de::Error, known: &[&str]) -> Error {
        let at = error.span().map_or(0, |span| span.start);
        let message = error.message();
        let field = message.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'));
        let Some((name, rest)) = field else {
            let line = message.lines().collect::<Vec<_>>().join(", ");
            return self.wrong(at, line, "docs/schema/experiment.schema.json describes the form");
        };
        let listed: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
        self.unknown(at, name, if listed.is_empty() { known } else { &listed })
    }

    /// Error at the first place of a key.
    pub fn at_key(&self, key: &str, what: String, advice: impl Into<String>) -> Error {
        self.wrong(self.key(key).unwrap_or(0), what, advice)
    }

    /// An error that is about an option, or that quotes a word of the file.
    pub fn at_line(&self, error: Error) -> Error {
        let place = error.place.split_whitespace().next().unwrap_or_default();
        let option = place.strip_prefix("--").map(|option| option.replace('-', "_"));
        let of_key = match place {
            "TARGET" => self.key("target").or_else(|| self.key("at")),
            _ => option.as_deref().and_then(|key| self.key(key)),
        };
        let quoted = || {
            let said = format!("{} {}", error.place, error.what);
            let words = said.split(['\'', ' ', ':']).filter(|word| word.len() > 2);
            let found = words.filter_map(|word| self.value(word));
            found.max_by_key(|(length, _)| *length).map(|(_, at)| at)
        };
        let at = match of_key {
            // One of several workloads or suites is the one that is named.
            Some(at) if ["workload", "suite"].contains(&option.as_deref().unwrap_or_default()) => {
                quoted().unwrap_or(at)
            }
            Some(at) => at,
            None => match quoted() {
                Some(at) => at,
                None => {
                    let place = format!("{}: {}", self.path.display(), error.place);
                    return Error { place, ..error };
                }
            },
        };
        Error { place: line_of(&self.path, &self.text, at), ..error }
    }

    /// Line that begins with this key.
    fn key(&self, key: &str) -> Option<usize> {
        let mut at = 0;
        for line in self.text.split_inclusive('\n') {
            let bare = line.trim_start().trim_start_matches(['[', '{', ' ']);
            let rest = bare.strip_prefix(key).map(str::trim_start);
            if rest.is_some_and(|rest| rest.starts_with(['=', ']', '.'])) {
                return Some(at);
            }
            at += line.len();
        }
        None
    }

    /// Position of a quoted text that begins with this word, with the length of the word.
    fn value(&self, word: &str) -> Option<(usize, usize)> {
        let found = ['"', '\''].iter().find_map(|sign| self.text.find(&format!("{sign}{word}")));
        found.map(|at| (word.len(), at))
    }
}
