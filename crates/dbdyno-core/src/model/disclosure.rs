//! The disclosure: everything about platform and settings that a reader needs to judge a run, and
//! which workloads a difference between two touches.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Sections of facts, machine-readable and diffable: section -> key -> value. A value that cannot
/// be had is the text `unknown`. Sections: `dbdyno`, `hardware`, `os`, `storage`, `network`,
/// `database`, `settings`, `data`, `cloud`, and `stated` for what users stated.
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

/// Section of the disclosure with facts that cannot be read from a machine: the user who measured
/// states them.
pub const STATED: &str = "stated";

/// Fact that cannot be read from a machine, as the catalog lists it (`disclosure/facts.toml`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatableFact {
    /// Topic and key: `storage.raid`. It is its name in section [`STATED`], too.
    pub name: String,
    /// Description in one line.
    pub about: String,
    /// A value that it may have.
    pub example: String,
    /// Form of its values.
    #[serde(default)]
    pub form: FactForm,
    /// All values that it may have; empty = whatever has its form.
    #[serde(default)]
    pub values: Vec<String>,
    /// Platforms of which a complete disclosure needs it.
    #[serde(default)]
    pub needed: Needed,
    /// Section and fact of the disclosure with the same content, if the machine reports it.
    #[serde(default)]
    pub read_as: Option<String>,
    /// A publication may hold it.
    #[serde(default)]
    pub publish: bool,
}

/// The form of a stated value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FactForm {
    /// Any words.
    #[default]
    Text,
    /// Number of 0 or more; its unit is in the name.
    Number,
    /// A year, a month or a day: `2024`, `2024-05`, `2024-05-31`.
    Date,
}

/// Platforms of which a complete disclosure needs a fact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Needed {
    /// Never required; the fact is welcome where it is known.
    #[default]
    Never,
    /// Required of every platform.
    Always,
    /// Required of rented machines.
    Cloud,
    /// Required of purchased machines.
    Own,
}

impl StatableFact {
    /// Topic, the first part of the name; empty if the name has no topic.
    pub fn topic(&self) -> &str {
        self.name.split_once('.').map_or("", |(topic, _)| topic)
    }

    /// Key within the topic, the second part of the name.
    pub fn key(&self) -> &str {
        self.name.split_once('.').map_or(self.name.as_str(), |(_, key)| key)
    }

    /// True if a disclosure has the fact: stated, or reported by the machine.
    pub fn is_in(&self, disclosure: &Disclosure) -> bool {
        let read = self.read_as.as_deref().and_then(|read| read.split_once('.'));
        disclosure.get(STATED, &self.name).is_some()
            || read.is_some_and(|(section, fact)| disclosure.get(section, fact).is_some())
    }

    /// The value as a disclosure holds it.
    ///
    /// # Errors
    /// The mistake in it, to go behind its name.
    pub fn value(&self, text: &str) -> Result<String, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("is empty; leave the line out if it is not known".into());
        }
        if text.chars().count() > MAX_LETTERS || text.chars().any(char::is_control) {
            return Err(format!("is not one line of at most {MAX_LETTERS} letters"));
        }
        if !self.values.is_empty() {
            let known = self.values.iter().find(|known| known.eq_ignore_ascii_case(text));
            let all = || format!("is none of {}", self.values.join(", "));
            return known.cloned().ok_or_else(all);
        }
        let is_number = text.parse::<f64>().is_ok_and(|number| number.is_finite() && number >= 0.0);
        match self.form {
            FactForm::Number if !is_number => {
                Err(format!("is not a number; its unit stands in its name: {}", self.example))
            }
            FactForm::Date if !is_date(text) => {
                Err("is not a date: 2024, 2024-05 or 2024-05-31".into())
            }
            _ => Ok(text.to_string()),
        }
    }
}

/// A longer value is a text of its own, not a fact.
const MAX_LETTERS: usize = 200;

/// A year, with a month, with a day.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let fits = |(part, (digits, least, most)): (&&str, &(usize, u32, u32))| {
        part.len() == *digits
            && part.bytes().all(|digit| digit.is_ascii_digit())
            && part.parse().is_ok_and(|number: u32| (*least..=*most).contains(&number))
    };
    let forms = [(4, 1950, 2200), (2, 1, 12), (2, 1, 31)];
    parts.len() <= forms.len() && parts.iter().zip(&forms).all(fits)
}

/// A rule of the catalog (`comparison/effects.toml`).
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
    fn a_stated_value_has_the_form_of_its_fact() {
        let fact = |form, values: &[&str]| StatableFact {
            name: "storage.x".into(),
            form,
            values: values.iter().map(|value| (*value).to_string()).collect(),
            ..StatableFact::default()
        };
        let number = fact(FactForm::Number, &[]);
        assert_eq!(number.value(" 2.9 "), Ok("2.9".into()));
        for wrong in ["2.9 GHz", "-1", "nan", "inf", ""] {
            assert!(number.value(wrong).is_err(), "{wrong}");
        }
        let date = fact(FactForm::Date, &[]);
        for right in ["2024", "2024-05", "2024-05-31"] {
            assert_eq!(date.value(right), Ok(right.into()));
        }
        for wrong in ["May 2024", "2024-13", "24-05", "2024-05-31-1", "2024-", "0001"] {
            assert!(date.value(wrong).is_err(), "{wrong}");
        }
        let listed = fact(FactForm::Text, &["RAID 10", "none"]);
        assert_eq!(listed.value("raid 10"), Ok("RAID 10".into()));
        assert_eq!(listed.value("RAID 7"), Err("is none of RAID 10, none".into()));
        let text = fact(FactForm::Text, &[]);
        assert!(text.value("two\nlines").is_err() && text.value(&"x".repeat(201)).is_err());
    }

    #[test]
    fn a_fact_is_there_if_it_is_stated_or_read() {
        let fact = StatableFact {
            name: "memory.type".into(),
            read_as: Some("hardware.memory_type".into()),
            ..StatableFact::default()
        };
        let mut disclosure = Disclosure::default();
        disclosure.set("hardware", "memory_type", Disclosure::UNKNOWN);
        assert!(!fact.is_in(&disclosure));
        disclosure.set("hardware", "memory_type", "DDR5");
        assert!(fact.is_in(&disclosure));
        let mut disclosure = Disclosure::default();
        disclosure.set(STATED, "memory.type", "DDR5");
        assert!(fact.is_in(&disclosure));
        assert_eq!((fact.topic(), fact.key()), ("memory", "type"));
    }

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
