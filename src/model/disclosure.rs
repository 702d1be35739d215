//! The disclosure: everything about platform and settings that a reader needs to judge a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Sections of facts, machine-readable and diffable: section -> key -> value. A value that cannot be had is
/// the text `unknown`. Sections: `dbdyno`, `hardware`, `os`, `storage`, `database`, `settings`, `data`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Disclosure(pub BTreeMap<String, BTreeMap<String, String>>);

impl Disclosure {
    /// Sets a fact.
    pub fn set(&mut self, section: &str, key: &str, value: impl Into<String>) {
        self.0.entry(section.into()).or_default().insert(key.into(), value.into());
    }
    /// A fact; `unknown` if it was not found out.
    pub fn get(&self, section: &str, key: &str) -> &str {
        self.0.get(section).and_then(|facts| facts.get(key)).map_or("unknown", String::as_str)
    }
}
