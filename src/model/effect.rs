//! Which workloads a difference between two disclosures touches.

use serde::Deserialize;

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
