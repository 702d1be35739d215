//! The disclosure: everything about platform and settings that a reader needs to judge a run, and
//! which workloads a difference between two touches.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Sections of facts, machine-readable and diffable: section -> key -> value. A value that cannot
/// be had is the text `unknown`. Sections: `dbdyno`, `hardware`, `os`, `storage`, `network`,
/// `database`, `settings`, `data`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Disclosure(pub BTreeMap<String, BTreeMap<String, String>>);

impl Disclosure {
    /// The text of a value that cannot be had.
    pub const UNKNOWN: &'static str = "unknown";

    /// Sets a fact.
    pub fn set(&mut self, section: &str, key: &str, value: impl Into<String>) {
        self.0.entry(section.into()).or_default().insert(key.into(), value.into());
    }
    /// A fact, if it was found out.
    pub fn get(&self, section: &str, key: &str) -> Option<&str> {
        self.0
            .get(section)?
            .get(key)
            .map(String::as_str)
            .filter(|value| *value != Disclosure::UNKNOWN)
    }
}

/// A rule of the catalogue (`comparison/effects.toml`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// Section of the disclosure.
    pub section: String,
    /// Names of its facts; `*` stands for any text.
    pub facts: Vec<String>,
    /// Groups whose figures it touches; empty = none.
    pub groups: Vec<String>,
    /// One line: why.
    pub because: String,
}

impl Effect {
    /// True if the rule speaks of this fact.
    pub fn speaks_of(&self, section: &str, fact: &str) -> bool {
        self.section == section && self.facts.iter().any(|pattern| fits(pattern, fact))
    }
}

/// A pattern with `*` for any text.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => {
            let Some(after) = text.strip_prefix(start) else { return false };
            (0..=after.len()).any(|at| after.is_char_boundary(at) && fits(rest, &after[at..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, expected) in [
            ("fsync", "fsync", true),
            ("wal_*", "wal_level", true),
            ("wal_*", "max_wal_size", false),
            ("*", "", true),
            ("cpu_*_cost", "cpu_tuple_cost", true),
            ("cpu_*_cost", "cpu_tuple", false),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }
}
