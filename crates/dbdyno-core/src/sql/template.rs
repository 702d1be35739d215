//! `{{name}}` substitution.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

use super::Block;
use super::scan::code_ranges;

/// Values of `{{name}}`.
pub type Values = BTreeMap<String, String>;

/// The placeholders of a text in order: byte range and name. `{{` without a name in it
/// (`'{{1,2}}'`) is plain text.
pub fn placeholders(text: &str) -> Vec<(std::ops::Range<usize>, &str)> {
    openings(text)
        .filter_map(|start| {
            let len = text[start + 2..].find("}}")?;
            let name = text[start + 2..start + 2 + len].trim();
            is_name(name).then_some((start..start + len + 4, name))
        })
        .collect()
}

/// Places of `{{`; of more than two braces the first two are one, as are the next two.
fn openings(text: &str) -> impl Iterator<Item = usize> {
    let mut from = 0;
    std::iter::from_fn(move || {
        // One character is found far faster than two: most texts of a catalog have no such place.
        while let Some(at) = text[from..].find('{').map(|at| from + at) {
            let is_double = text[at + 1..].starts_with('{');
            from = at + 1 + usize::from(is_double);
            if is_double {
                return Some(at);
            }
        }
        None
    })
}

/// The first `{{` that begins a placeholder and is none: where it is, and why. Nested braces of an
/// array's text (`'{{a,b},{c,d}}'`) begin none.
pub(super) fn unfit_placeholder(text: &str) -> Option<(usize, String)> {
    openings(text).find_map(|at| Some((at, unfit(text[at + 2..].trim_start())?)))
}

/// Error in a placeholder, of which this is the text behind the braces.
fn unfit(text: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let length = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let (word, rest) = (&text[..length], text[length..].trim_start());
    let is_array = rest.starts_with([',', '"']) || rest.starts_with("},");
    if !word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || is_array {
        return None;
    }
    match (rest.starts_with("}}"), is_name(word)) {
        (true, true) => None,
        (true, false) => Some(format!("{{{{{word}}}}} is not a valid name")),
        (false, _) => Some(format!("{{{{{word} is not closed")),
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The block's text with every `{{name}}` replaced by its value; names in `late` stay open.
///
/// # Errors
/// Names without a value, with `file:line` of the first.
pub fn substitute(block: &Block, values: &Values, late: &[&str]) -> Result<String> {
    let unknown: Vec<_> = placeholders(&block.text)
        .into_iter()
        .filter(|(_, name)| !values.contains_key(*name) && !late.contains(name))
        .collect();
    match unknown.first() {
        None => Ok(fill(&block.text, values)),
        Some((range, _)) => {
            Err(unknown_names(block, range.start, &unknown.iter().map(|u| u.1).collect::<Vec<_>>()))
        }
    }
}

fn unknown_names(block: &Block, offset: usize, names: &[&str]) -> Error {
    let mut names: Vec<_> = names.iter().map(|name| format!("{{{{{name}}}}}")).collect();
    names.sort();
    names.dedup();
    let what = format!(
        "block {} uses {}, which no parameter and no fact gives",
        block.name,
        names.join(", ")
    );
    Error::usage(block.place_at(offset), what).advise("declare the parameter or correct the name")
}

/// Replaces what has a value, leaves the other placeholders. A value of several lines is indented
/// as its placeholder is, where nothing else stands before that.
pub fn fill(text: &str, values: &Values) -> String {
    let (mut filled, mut copied) = (String::with_capacity(text.len()), 0);
    for (range, name) in placeholders(text) {
        let Some(value) = values.get(name) else { continue };
        filled.push_str(&text[copied..range.start]);
        let line_start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
        filled.push_str(&indented(value, &text[line_start..range.start]));
        copied = range.end;
    }
    filled.push_str(&text[copied..]);
    filled
}

fn indented(value: &str, lead: &str) -> String {
    if !lead.trim().is_empty() {
        return value.to_string();
    }
    // A string that spans lines would change its meaning.
    let code = code_ranges(value);
    let breaks = value
        .match_indices('\n')
        .map(|(at, _)| at)
        .filter(|at| code.iter().any(|range| range.contains(at)));
    let (mut indented, mut copied) = (String::with_capacity(value.len()), 0);
    for at in breaks {
        indented.push_str(&value[copied..=at]);
        indented.push_str(lead);
        copied = at + 1;
    }
    indented + &value[copied..]
}

/// Fills in what is known only when a test starts, its number of jobs, into SQL of a plan.
pub fn bind_late(sql: &str, jobs: u32) -> String {
    fill(sql, &Values::from([("jobs".to_string(), jobs.to_string())]))
}

#[cfg(test)]
mod tests {
    use super::super::parse_blocks;
    use super::*;

    fn block(text: &str) -> Block {
        parse_blocks("g/common.sql", &format!("-- name: a\n{text}")).unwrap().remove(0)
    }

    fn values() -> Values {
        Values::from([
            ("small".into(), "dbdyno.small".into()),
            ("body".into(), "x;\ny := 'a\nb';".into()),
        ])
    }

    #[test]
    fn replaces_known_names_and_keeps_late_ones_open() {
        let sql =
            substitute(&block("select * from {{small}} where j <= {{jobs}}"), &values(), &["jobs"])
                .unwrap();
        assert_eq!(sql, "select * from dbdyno.small where j <= {{jobs}}");
        assert_eq!(bind_late(&sql, 4), "select * from dbdyno.small where j <= 4");
    }

    #[test]
    fn unknown_names_are_listed_with_the_line_of_the_first() {
        let error =
            substitute(&block("select 1\n  from {{smal}}, {{rows}}, {{smal}}"), &values(), &[])
                .unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("g/common.sql:3: block a uses {{rows}}, {{smal}}, which"),
            "{text}"
        );
    }

    #[test]
    fn array_literals_are_plain_text() {
        assert_eq!(
            substitute(&block("select '{{1,2},{3,4}}'"), &values(), &[]).unwrap(),
            "select '{{1,2},{3,4}}'"
        );
    }

    #[test]
    fn of_more_than_two_braces_each_two_are_an_opening() {
        let names = placeholders("{{{a}}} {{b}} {c} {{{{d}} {");
        assert_eq!(names.into_iter().map(|(_, name)| name).collect::<Vec<_>>(), ["b", "d"]);
    }

    #[test]
    fn a_body_takes_over_the_indentation_of_its_place() {
        assert_eq!(
            substitute(&block("begin\n    {{body}}\nend"), &values(), &[]).unwrap(),
            "begin\n    x;\n    y := 'a\nb';\nend"
        );
    }
}
