//! The reasons of a verdict, explained: rule and example from METHODOLOGY, cause and remedy from
//! `reference/reasons.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::catalog::nearest;
use crate::error::{Error, Kind, Result, quote};
use crate::model::ReasonCode;
use crate::report::Language;

/// Rules and examples of the reasons stand in one place for people.
const METHODOLOGY: &str = include_str!("../../METHODOLOGY.md");
const REMEDIES: &str = include_str!("reference/reasons.toml");

/// Explanation of a reason of a verdict for its readers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// Its code in JSON and in stored results.
    pub code: &'static str,
    /// Its name in reports.
    pub label: String,
    /// The verdict that it gives.
    pub status: &'static str,
    /// Rule by which it is given, in Markdown.
    pub rule: &'static str,
    /// The rule with numbers.
    pub example: &'static str,
    pub cause: String,
    pub remedy: String,
}

/// Cause and remedy, which the rule of a reason does not name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Remedy {
    cause: String,
    remedy: String,
}

/// A row of the tables of reasons in METHODOLOGY.
struct Rule {
    status: &'static str,
    rule: &'static str,
    example: &'static str,
}

/// Every reason, in the order of the model.
///
/// # Errors
/// A reason without a text, which a unit test excludes.
pub fn all() -> Result<Vec<Explanation>> {
    let rules = rules_in(METHODOLOGY);
    let mut remedies = remedies()?;
    let explained = |reason: &'static ReasonCode| {
        let code = reason.as_str();
        let lacking = || Error::new(Kind::Usage, code, "has no text in the reference");
        let Rule { status, rule, example } = rules.get(code).ok_or_else(lacking)?;
        let Remedy { cause, remedy } = remedies.remove(code).ok_or_else(lacking)?;
        let label = Language::English.code(reason);
        Ok(Explanation { code, label, status, rule, example, cause, remedy })
    };
    ReasonCode::ALL.iter().map(explained).collect()
}

/// The reason of this code or label.
///
/// # Errors
/// There is none; names the nearest.
pub fn find(asked: &str) -> Result<Explanation> {
    let mut all = all()?;
    let asked_lower = asked.to_lowercase();
    let is_asked =
        |one: &Explanation| one.code == asked_lower || one.label.to_lowercase() == asked_lower;
    if let Some(at) = all.iter().position(is_asked) {
        return Ok(all.swap_remove(at));
    }
    let words = all.iter().flat_map(|one| [one.code, one.label.as_str()]);
    let near = nearest(asked, words).first().copied();
    let meant =
        all.iter().find(|one| near.is_some_and(|word| one.code == word || one.label == word));
    let question = match meant {
        Some(one) => format!("did you mean '{}'? ", one.code),
        None => String::new(),
    };
    let codes: Vec<&str> = all.iter().map(|one| one.code).collect();
    Err(Error::usage("show reason", format!("{} is not a reason of a verdict", quote(asked)))
        .advise(format!("{question}known: {}", codes.join(", "))))
}

fn remedies() -> Result<BTreeMap<String, Remedy>> {
    toml::from_str(REMEDIES)
        .map_err(|error| Error::new(Kind::Usage, "reasons.toml", error.to_string()))
}

/// Heads of a table of reasons, by which it is known.
const HEADS: [&str; 4] = ["reason", "status", "rule", "example"];

/// The rules in the tables of reasons of a text, by the code of their reason. Another table may
/// have rows that begin with the same word.
fn rules_in(text: &'static str) -> BTreeMap<&'static str, Rule> {
    let mut rules = BTreeMap::new();
    let mut is_of_reasons = false;
    for line in text.lines() {
        let row = row(line);
        let is_head = row.as_deref() == Some(&HEADS[..]);
        is_of_reasons = line.starts_with('|') && (is_of_reasons || is_head);
        let cells = row.as_deref().filter(|_| is_of_reasons);
        let Some(&[code, status, rule, example]) = cells else { continue };
        if ReasonCode::ALL.iter().any(|known| known.as_str() == code) {
            rules.insert(code, Rule { status, rule, example });
        }
    }
    rules
}

/// Cells of a row of a table; none of another line.
fn row(line: &'static str) -> Option<Vec<&'static str>> {
    let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
    Some(cells.split(" | ").map(str::trim).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_label_and_a_remedy_and_no_other_has() {
        let mut known: Vec<&str> = ReasonCode::ALL.iter().map(ReasonCode::as_str).collect();
        known.sort_unstable();
        assert_eq!(remedies().unwrap().keys().map(String::as_str).collect::<Vec<_>>(), known);
        for one in all().unwrap() {
            assert_ne!(one.label, one.code, "no label");
        }
    }

    #[test]
    fn rules_are_read_from_tables_of_reasons_alone() {
        const TEXT: &str = "| wide | status | rule | example |\n|---|---|---|---|\n\
                            | burst | 1 | 2 | 3 |\n\n\
                            | reason | status | rule | example |\n|---|---|---|---|\n\
                            | wide | conditional | the rule | 26 % |\n\n\
                            Text.\n\n| wide | 4 | 5 | 6 |\n|---|---|---|---|\n";
        let rules = rules_in(TEXT);
        assert_eq!(rules.keys().collect::<Vec<_>>(), [&"wide"]);
        let Rule { status, rule, example } = &rules["wide"];
        assert_eq!([*status, *rule, *example], ["conditional", "the rule", "26 %"]);
    }

    #[test]
    fn a_reason_is_found_by_code_and_label_and_a_slip_of_the_pen_is_met() {
        let one = find("foreign-load").unwrap();
        assert_eq!(find(&one.label.to_uppercase()).unwrap(), one);
        let refused = find("foriegn-load").unwrap_err().to_string();
        assert!(refused.contains("did you mean 'foreign-load'?"), "{refused}");
        assert!(!find("xyz").unwrap_err().to_string().contains("did you mean"));
    }
}
