//! Platform tables of publications: attributes per platform, as a disclosure.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Text, rows};
use dbdyno_core::catalog::PublishedWords;
use dbdyno_core::error::Result;
use dbdyno_core::model::Disclosure;

/// Platform id -> attribute -> value.
pub type Platforms = BTreeMap<String, BTreeMap<String, String>>;

#[derive(Deserialize)]
struct Row {
    platform: String,
    attribute: String,
    value: String,
}

/// Section of what has no place in the sections of a measured run.
const REST: &str = "published";

/// All platforms.
///
/// # Errors
/// `file:line` of a row that does not fit.
pub fn read(file: Text<'_>) -> Result<Platforms> {
    let mut platforms = Platforms::new();
    for Row { platform, attribute, value } in rows::records(file)? {
        platforms.entry(platform).or_default().insert(attribute, value);
    }
    Ok(platforms)
}

/// The attributes as a disclosure: what the catalog has a place for there, everything else in a
/// section of its own.
pub fn disclosure(attributes: &BTreeMap<String, String>, words: &PublishedWords) -> Disclosure {
    let mut disclosure = Disclosure::default();
    let mut placed: Vec<&str> = Vec::new();
    for (section, facts) in &words.disclosure {
        for (fact, names) in facts {
            let Some(name) = names.iter().find(|name| attributes.contains_key(*name)) else {
                continue;
            };
            disclosure.set(section, fact, &attributes[name]);
            placed.push(name);
        }
    }
    for (name, value) in attributes.iter().filter(|(name, _)| !placed.contains(&name.as_str())) {
        disclosure.set(REST, name, value);
    }
    disclosure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_known_attribute_gives_a_fact_and_the_rest_is_kept() {
        let facts =
            [("cores".to_string(), vec!["tested_cores".to_string(), "cores".into()])].into();
        let words = PublishedWords {
            disclosure: [("hardware".to_string(), facts)].into(),
            ..Default::default()
        };
        let attributes = [("cores", "16"), ("tested_cores", "8"), ("caveat", "x")]
            .map(|(k, v)| (k.into(), v.into()))
            .into();
        let disclosure = disclosure(&attributes, &words);
        assert_eq!(disclosure.get("hardware", "cores"), Some("8"));
        assert_eq!(
            (disclosure.get("published", "cores"), disclosure.get("published", "caveat")),
            (Some("16"), Some("x"))
        );
    }
}
