//! Facts that cannot be read from a machine: the list of them, and the file in which a user states
//! them.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Spanned, Value};

use super::Catalog;
use super::files::File;
use super::lookup::nearest;
use super::wire::{line_of, read_toml};
use crate::error::{Error, Result, quote};
use crate::model::{FactForm, StatableFact};

/// `disclosure/facts.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FactsFile {
    #[serde(default)]
    fact: Vec<StatableFact>,
}

/// A file of facts: topic -> key -> value.
type Stated = BTreeMap<Spanned<String>, BTreeMap<Spanned<String>, Spanned<Value>>>;

/// Advice for a file that is not of this form.
const TEMPLATE: &str = "write KEY = VALUE below a [TOPIC]; 'dbdyno show facts' prints a template";

/// Adds the facts of a file; one of the same name as before is replaced. Facts of one topic stand
/// together, in the order in which the topics come first.
///
/// # Errors
/// `file:line` of what cannot be read, the file with the name of a fact that cannot be.
pub(super) fn add(known: &mut Vec<StatableFact>, file: &File) -> Result<()> {
    let FactsFile { fact: facts } = read_toml(file)?;
    for fact in facts {
        check(&fact).map_err(|what| {
            Error::usage(&file.label, format!("the fact {} {what}", quote(&fact.name)))
        })?;
        let topic = fact.topic().to_string();
        match known.iter().position(|other| other.name == fact.name) {
            Some(at) => known[at] = fact,
            None => {
                let behind = known.iter().rposition(|other| other.topic() == topic);
                known.insert(behind.map_or(known.len(), |at| at + 1), fact);
            }
        }
    }
    Ok(())
}

/// Error in a fact of the catalog, to be printed after its name.
fn check(fact: &StatableFact) -> std::result::Result<(), String> {
    let is_word = |word: &str| {
        let fits = |letter: u8| matches!(letter, b'a'..=b'z' | b'0'..=b'9' | b'_');
        !word.is_empty() && word.bytes().all(fits)
    };
    if !is_word(fact.topic()) || !is_word(fact.key()) {
        return Err("is not named as topic.key in small letters".into());
    }
    if fact.publish && fact.form == FactForm::Text && fact.values.is_empty() {
        return Err("is free text, which may not be published".into());
    }
    fact.value(&fact.example).map_err(|what| format!("has an example that {what}"))?;
    match &fact.read_as {
        Some(read) if read.split_once('.').is_none() => Err("is read as no fact".into()),
        _ => Ok(()),
    }
}

impl Catalog {
    /// The facts that a file states, by their names; `label` names the file in messages.
    ///
    /// # Errors
    /// `file:line` of what is no TOML, of a fact that there is not, with the nearest names, and of
    /// a value that it cannot have.
    pub fn stated(&self, label: &str, text: &str) -> Result<BTreeMap<String, String>> {
        let at = |offset: usize| format!("{label}:{}", line_of(text, offset));
        let topics: Stated = toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            Error::usage(at(offset), error.message().trim()).advise(TEMPLATE)
        })?;
        let mut stated = BTreeMap::new();
        for (topic, facts) in &topics {
            let known: Vec<_> =
                self.statable.iter().filter(|fact| fact.topic() == topic.get_ref()).collect();
            if known.is_empty() {
                let topics = self.statable.iter().map(StatableFact::topic);
                return Err(unknown(at(topic.span().start), "topic", topic.get_ref(), topics));
            }
            for (key, value) in facts {
                let place = at(key.span().start);
                let Some(fact) = known.iter().find(|fact| fact.key() == key.get_ref()) else {
                    let keys = known.iter().map(|fact| fact.key());
                    let topic = format!("fact of [{}]", topic.get_ref());
                    return Err(unknown(place, &topic, key.get_ref(), keys));
                };
                let text = text_of(value.get_ref()).ok_or_else(|| {
                    Error::usage(&place, format!("{} is not one value", quote(key.get_ref())))
                        .advise(format!("write it as {} = \"{}\"", key.get_ref(), fact.example))
                })?;
                let value = fact.value(&text).map_err(|what| {
                    Error::usage(&place, format!("{} {what}", quote(key.get_ref())))
                })?;
                stated.insert(fact.name.clone(), value);
            }
        }
        Ok(stated)
    }
}

/// A value as text; none of a list or a table. A switch is a word.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(is_so) => Some(if *is_so { "yes" } else { "no" }.into()),
        Value::Datetime(date) => Some(date.to_string()),
        Value::Array(_) | Value::Table(_) => None,
    }
}

/// The error for a name that is not there: near ones, else all.
fn unknown<'a>(
    place: String,
    kind: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Error {
    let mut near = nearest(name, known.clone());
    near.dedup();
    let mut all: Vec<&str> = known.collect();
    all.dedup();
    let advice = match near.is_empty() {
        true => format!("there are {}", all.join(", ")),
        false => format!("did you mean {}?", near.join(", ")),
    };
    Error::usage(place, format!("{} is not a {kind}", quote(name))).advise(advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(text: &str) -> std::result::Result<Vec<(String, String)>, String> {
        let catalog = Catalog::embedded().unwrap();
        let stated = catalog.stated("facts.toml", text).map_err(|error| error.to_string());
        stated.map(|facts| facts.into_iter().collect())
    }

    #[test]
    fn facts_are_read_with_their_values_as_text() {
        let text = "[storage]\nraid = 'raid 10'\nluns = 8\nthin = false\n\
                    [cpu]\nbase_ghz = 2.9\navailable_from = 2022-11-01\n";
        let expected = [
            ("cpu.available_from", "2022-11-01"),
            ("cpu.base_ghz", "2.9"),
            ("storage.luns", "8"),
            ("storage.raid", "RAID 10"),
            ("storage.thin", "no"),
        ];
        let expected = expected.map(|(name, value)| (name.into(), value.into()));
        assert_eq!(stated(text).unwrap(), expected);
        assert_eq!(stated("# nothing\n").unwrap(), []);
    }

    #[test]
    fn what_cannot_be_is_refused_in_one_line_with_its_place() {
        for (text, message) in [
            (
                "[storage]\n\nraids = 'x'\n",
                "facts.toml:3: 'raids' is not a fact of [storage]; did you mean raid",
            ),
            (
                "\n[storrage]\nraid = 1\n",
                "facts.toml:2: 'storrage' is not a topic; did you mean storage?",
            ),
            ("[storage]\nluns = 'many'\n", "facts.toml:2: 'luns' is not a number"),
            ("[storage]\nraid = 'RAID 7'\n", "facts.toml:2: 'raid' is none of none, RAID 0"),
            (
                "[storage]\nluns = [1, 2]\n",
                "facts.toml:2: 'luns' is not one value; write it as luns",
            ),
            ("raid = 'none'\n", "facts.toml:1: "),
            ("[storage\n", "facts.toml:1: "),
            ("[storage]\nluns = 1\nluns = 2\n", "facts.toml:3: "),
        ] {
            let error = stated(text).unwrap_err();
            assert!(error.starts_with(message), "{text}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_catalog_of_ones_own_adds_facts_and_publishes_no_free_text() {
        let add = |text: &str| {
            let mut known = Catalog::embedded().unwrap().statable;
            let file = File {
                path: "disclosure/facts.toml".into(),
                label: "mine.toml".into(),
                text: text.into(),
                lent: false,
            };
            super::add(&mut known, &file).map(|()| known)
        };
        let mine = "[[fact]]\nname = 'storage.rack'\nabout = 'x'\nexample = 'r1'\n";
        let known = add(mine).unwrap();
        let at = known.iter().position(|fact| fact.name == "storage.rack").unwrap();
        assert!(known[at - 1].name.starts_with("storage.") && known.len() > at + 1);
        let published = add(&format!("{mine}publish = true\n")).unwrap_err().to_string();
        assert!(published.contains("free text"), "{published}");
        assert!(add(&mine.replace("storage.rack", "Rack")).is_err());
    }
}
