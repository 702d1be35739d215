//! One word for each thing: no word that the glossary has replaced is in a document.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

/// The replaced words, and where one of them is right all the same.
#[derive(Deserialize)]
struct Replaced {
    words: BTreeMap<String, String>,
    exception: Vec<Exception>,
}

#[derive(Deserialize)]
struct Exception {
    /// A document.
    #[serde(rename = "where")]
    place: String,
    words: Vec<String>,
    why: String,
}

/// A text that people read, and the place where it is written.
struct Text {
    place: String,
    words: String,
}

fn replaced() -> Replaced {
    let text = std::fs::read_to_string("tests/fixtures/replaced-words.toml").unwrap();
    toml::from_str(&text).unwrap()
}

/// True if the text holds the word, or its plural, as a word of its own.
fn holds(text: &str, word: &str) -> bool {
    let continues = |character: char| character.is_alphanumeric() || "-_".contains(character);
    text.match_indices(word).any(|(at, found)| {
        let after = text[at + found.len()..].strip_prefix('s').unwrap_or(&text[at + found.len()..]);
        !text[..at].ends_with(continues) && !after.starts_with(continues)
    })
}

/// A text in small letters, on one line, without `{placeholders}`.
fn plain(text: &str) -> String {
    let mut parts = text.split('{');
    let first = parts.next().unwrap_or_default().to_string();
    let without = parts
        .fold(first, |plain, part| plain + part.split_once('}').map_or(part, |(_, behind)| behind));
    without.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Prose of a document: without fenced blocks, without code between backquotes, without the targets
/// of its links.
fn prose(text: &str) -> String {
    let lines = crate::guide::outside_fences(text).map(crate::guide::without_targets);
    let whole = lines.collect::<Vec<_>>().join("\n");
    whole.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

fn documents() -> Vec<Text> {
    let at_the_root = ["README.md", "METHODOLOGY.md", "CHANGELOG.md", "BIAS.md", "CONTRIBUTING.md"];
    let files = at_the_root.map(|name| Path::new(name).to_path_buf()).into_iter();
    // What the program itself says is in the pages that it makes.
    let is_made = |file: &Path| file.display().to_string().contains("guide/reference-");
    let below = crate::docs::files_below(Path::new("docs")).into_iter().map(|(file, _)| file);
    let below = below.filter(|file| !is_made(file));
    let mut found = Vec::new();
    for file in files.chain(below) {
        if file.extension().is_some_and(|ending| ending == "md") {
            let words = prose(&std::fs::read_to_string(&file).unwrap());
            found.push(Text { place: file.display().to_string(), words });
        }
    }
    found
}

#[test]
fn no_replaced_word_is_in_a_document() {
    let Replaced { words, exception } = replaced();
    assert!(words.len() > 70, "only {} words", words.len());
    assert!(exception.iter().all(|one| !one.why.is_empty()));
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    let texts = documents();
    assert!(texts.len() > 80, "only {} documents", texts.len());
    for text in &texts {
        let plain = plain(&text.words);
        for (word, instead) in words.iter().filter(|(word, _)| holds(&plain, word)) {
            let allowed =
                exception.iter().find(|one| one.words.contains(word) && text.place == one.place);
            match allowed {
                Some(one) => {
                    used.insert((one.place.clone(), word.clone()));
                }
                None => wrong.push(around(&text.place, &plain, word, instead)),
            }
        }
    }
    assert!(wrong.is_empty(), "{} replaced words:\n{}", wrong.len(), wrong.join("\n"));
    let stated: usize = exception.iter().map(|one| one.words.len()).sum();
    assert_eq!(used.len(), stated, "exceptions that are needed: {used:#?}");
}

/// A line that shows a word where it stands.
fn around(place: &str, text: &str, word: &str, instead: &str) -> String {
    let at = text.find(word).unwrap_or_default();
    let behind: String = text[at..].chars().take(60).collect();
    format!("{place}: '{word}', write '{instead}': {behind}")
}

#[test]
fn a_replaced_word_is_found_as_a_word_only() {
    assert!(holds("two processors are busy", "processor"));
    assert!(holds("processor", "processor"));
    assert!(holds("the pay-back of it", "pay-back"));
    assert!(!holds("the in-database drive", "database drive"));
    assert!(!holds("microprocessor and processor_s", "processor"));
    assert!(!holds("recommend", "mend"));
    assert_eq!(plain("{promise} is  Kept\nat {rate}"), "is kept at");
    assert_eq!(
        prose("a `processor` in\n```sh\nprocessor\n```\n[b](processor.md)").trim(),
        "a   in\n[b"
    );
}
