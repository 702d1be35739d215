//! The disclosure: what a reader must know about platform and settings. What cannot be found out is `unknown`.

use std::path::Path;

use crate::engine::Session;
use crate::model::Disclosure;
use crate::sql::{Block, statement};

mod hardware;
mod os;
mod storage;

/// The text of a fact that cannot be had.
const UNKNOWN: &str = "unknown";

/// Facts of this host and of ourselves: sections `dbdyno`, `hardware`, `os`, and `storage` for the given path.
pub fn host(storage_path: Option<&Path>) -> Disclosure {
    let mut disclosure = Disclosure::default();
    put(&mut disclosure, "dbdyno", own());
    put(&mut disclosure, "hardware", hardware::facts());
    put(&mut disclosure, "os", os::facts());
    if let Some(path) = storage_path {
        put(&mut disclosure, "storage", storage::facts(path));
    }
    disclosure
}

/// Facts that the database tells: block `version` (section `database`) and the rows (name, value) of the blocks
/// `settings.*`. Returns the blocks that failed, with the reason.
pub fn database(session: &mut dyn Session, blocks: &[&Block], disclosure: &mut Disclosure) -> Vec<(String, String)> {
    let mut failed = Vec::new();
    for block in blocks {
        let is_version = block.name == "version";
        if !is_version && !block.name.starts_with("settings.") {
            continue;
        }
        match session.query(statement(&block.text), &[]) {
            Ok(rows) if is_version => disclosure.set("database", "version", rows.scalar().unwrap_or(UNKNOWN)),
            Ok(rows) => rows.rows.iter().for_each(|row| set_pair(disclosure, row)),
            Err(error) => failed.push((block.name.clone(), error.to_string())),
        }
    }
    failed
}

fn set_pair(disclosure: &mut Disclosure, row: &[Option<String>]) {
    if let Some(Some(name)) = row.first() {
        let value = row.get(1).and_then(Option::as_deref).unwrap_or(UNKNOWN);
        disclosure.set("settings", name, value);
    }
}

/// A fact's name and its value, if it could be found out.
type Fact = (&'static str, Option<String>);

fn put(disclosure: &mut Disclosure, section: &str, facts: Vec<Fact>) {
    for (name, value) in facts {
        let value = value.filter(|text| !text.is_empty()).unwrap_or_else(|| UNKNOWN.to_string());
        disclosure.set(section, name, value);
    }
}

fn own() -> Vec<Fact> {
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    vec![
        ("version", Some(env!("CARGO_PKG_VERSION").to_string())),
        ("build", Some(build.to_string())),
        ("target", Some(format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS))),
    ]
}

/// The text of a small file, without blanks around it.
fn file(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

/// The choice in brackets of a kernel setting: `always [madvise] never` is `madvise`.
fn chosen(text: &str) -> String {
    let inner = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inner.map_or_else(|| text.to_string(), |(choice, _)| choice.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_found_out_is_unknown() {
        let mut disclosure = Disclosure::default();
        put(&mut disclosure, "os", vec![("kernel", None), ("clock_source", Some(String::new()))]);
        assert_eq!(disclosure.get("os", "kernel"), "unknown");
        assert_eq!(disclosure.0["os"].len(), 2);
    }

    #[test]
    fn the_choice_is_what_stands_in_brackets() {
        assert_eq!(chosen("none [mq-deadline] kyber"), "mq-deadline");
        assert_eq!(chosen("none"), "none");
    }
}
