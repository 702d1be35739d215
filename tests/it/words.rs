//! One word for each thing: no word that the glossary has replaced is in what a person reads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::CommandFactory;
use dbdyno::cli::args::Cli;
use serde::Deserialize;

/// The replaced words, and where one of them is right all the same.
#[derive(Deserialize)]
struct Replaced {
    words: BTreeMap<String, String>,
    exception: Vec<Exception>,
}

#[derive(Deserialize)]
struct Exception {
    /// A file, or the beginning of a text.
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

fn replaced_words() -> Replaced {
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

/// The help of a command and of those below it, as `--help` prints it.
fn help_of(command: &mut clap::Command, name: &str, found: &mut Vec<Text>) {
    let place = format!("{name} --help");
    found.push(Text { place, words: command.render_long_help().to_string() });
    for below in command.get_subcommands_mut().filter(|below| !below.is_hide_set()) {
        let name = format!("{name} {}", below.get_name());
        help_of(below, &name, found);
    }
}

/// True for a sentence, a phrase or a heading; a single word in small letters is a name or a code.
fn is_prose(text: &str) -> bool {
    text.contains(' ') || text.starts_with(char::is_uppercase)
}

/// Every string of a TOML value that is prose.
fn strings(value: &toml::Value, place: &str, found: &mut Vec<Text>) {
    match value {
        toml::Value::String(text) if is_prose(text) => {
            found.push(Text { place: place.to_string(), words: text.clone() });
        }
        toml::Value::Array(items) => items.iter().for_each(|item| strings(item, place, found)),
        toml::Value::Table(table) => table.values().for_each(|it| strings(it, place, found)),
        _ => {}
    }
}

fn table(file: &Path) -> toml::Value {
    toml::Value::Table(std::fs::read_to_string(file).unwrap().parse().unwrap())
}

/// English texts of reports: sentences by key, and the texts that have a German form.
fn report_texts() -> Vec<Text> {
    let texts = Path::new("crates/dbdyno-report/src/texts");
    let mut found = Vec::new();
    strings(&table(&texts.join("en.toml")), "en.toml", &mut found);
    let german = table(&texts.join("de.toml"));
    // A name that JSON keeps is shown with another heading, which is among the texts above.
    let english = table(&texts.join("en.toml"));
    let is_shown = |name: &str| !english["phrases"].as_table().unwrap().contains_key(name);
    for part in ["phrases", "claims"] {
        let keys = german[part].as_table().unwrap().keys();
        let keys = keys.filter(|key| is_prose(key) && is_shown(key));
        found.extend(keys.map(|key| Text { place: "de.toml".into(), words: key.clone() }));
    }
    found
}

/// String literals of Rust code outside comments, raw strings left out; an escaped line end and the
/// spaces behind it are left out, too.
fn literals(code: &str) -> Vec<String> {
    let (mut found, mut rest) = (Vec::new(), code);
    while let Some(at) = rest.find(['"', '/', '\'', 'r']) {
        let (before, here) = rest.split_at(at);
        let is_in_name = before.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        rest = if here.starts_with("//") {
            here.split_once('\n').map_or("", |(_, below)| below)
        } else if let Some(quoted) = here.strip_prefix('"') {
            let (literal, behind) = literal(quoted);
            found.push(literal);
            behind
        } else if here.starts_with("'\"'") || here.starts_with("'\\") {
            &here[3..]
        } else if !is_in_name && (here.starts_with("r\"") || here.starts_with("r#\"")) {
            let (raw, end) = match here.strip_prefix("r#\"") {
                Some(raw) => (raw, "\"#"),
                None => (&here[2..], "\""),
            };
            raw.split_once(end).map_or("", |(_, behind)| behind)
        } else {
            &here[1..]
        };
    }
    found
}

/// The text of a literal, from behind its opening quotation mark, and what follows it.
fn literal(quoted: &str) -> (String, &str) {
    let (mut text, mut rest) = (String::new(), quoted);
    while let Some(at) = rest.find(['"', '\\']) {
        text += &rest[..at];
        if rest[at..].starts_with('"') {
            return (text, &rest[at + 1..]);
        }
        let escaped = &rest[at + 1..];
        let mut behind = escaped.chars();
        rest = match behind.next() {
            Some('\n') => escaped.trim_start(),
            Some(_) => behind.as_str(),
            None => "",
        };
    }
    (text, "")
}

/// Sentences that the program's sources hold, those of tests and kept names of columns left out.
fn messages() -> Vec<Text> {
    let english = table(Path::new("crates/dbdyno-report/src/texts/en.toml"));
    let kept = english["phrases"].as_table().unwrap();
    let mut found = Vec::new();
    let crates = ["core", "engines", "lab", "report", "stats"]
        .map(|name| format!("crates/dbdyno-{name}/src"));
    for folder in crates.iter().map(String::as_str).chain(["src"]) {
        for (file, text) in crate::docs::files_below(Path::new(folder)) {
            let is_test = file.display().to_string().contains("tests");
            if is_test || file.extension().is_none_or(|ending| ending != "rs") {
                continue;
            }
            let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
            let sentences = literals(shipped).into_iter();
            let sentences = sentences.filter(|one| one.contains(' ') && !kept.contains_key(one));
            let place = file.display().to_string();
            found.extend(sentences.map(|words| Text { place: place.clone(), words }));
        }
    }
    found
}

/// Titles, descriptions and reasons of the catalog.
fn catalog_texts() -> Vec<Text> {
    let mut found = Vec::new();
    for (file, _) in crate::docs::files_below(Path::new("catalog")) {
        if file.extension().is_some_and(|ending| ending == "toml") {
            strings(&table(&file), &file.display().to_string(), &mut found);
        }
    }
    found
}

/// Sources of the guide's reference.
fn reference_texts() -> Vec<Text> {
    let mut found = Vec::new();
    for name in ["src/cli/reference/columns.toml", "src/cli/reference/reasons.toml"] {
        strings(&table(Path::new(name)), name, &mut found);
    }
    found
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
    let below = crate::docs::files_below(Path::new("docs")).into_iter().map(|(file, _)| file);
    let mut found = Vec::new();
    for file in files.chain(below) {
        if file.extension().is_some_and(|ending| ending == "md") {
            let words = prose(&std::fs::read_to_string(&file).unwrap());
            found.push(Text { place: file.display().to_string(), words });
        }
    }
    found
}

/// The parts of what people read, each with the fewest texts that it surely has: a part that were
/// empty could not fail.
fn parts() -> [(&'static str, usize, Vec<Text>); 6] {
    let mut help = Vec::new();
    help_of(&mut Cli::command(), "dbdyno", &mut help);
    [
        ("help", 40, help),
        ("messages", 2_000, messages()),
        ("reports", 1_000, report_texts()),
        ("catalog", 400, catalog_texts()),
        ("reference", 150, reference_texts()),
        ("documents", 80, documents()),
    ]
}

#[test]
fn no_replaced_word_is_in_help_messages_reports_catalog_and_documents() {
    let Replaced { words, exception } = replaced_words();
    assert!(words.len() > 70, "only {} words", words.len());
    assert!(exception.iter().all(|one| !one.why.is_empty()));
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    for (part, fewest, texts) in parts() {
        assert!(texts.len() >= fewest, "only {} texts of {part}", texts.len());
        for text in &texts {
            let plain = plain(&text.words);
            for (word, instead) in words.iter().filter(|(word, _)| holds(&plain, word)) {
                let allowed = exception.iter().find(|one| {
                    one.words.contains(word)
                        && (text.place == one.place || text.words.starts_with(&one.place))
                });
                match allowed {
                    Some(one) => {
                        used.insert((one.place.clone(), word.clone()));
                    }
                    None => wrong.push(around(&text.place, &plain, word, instead)),
                }
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
fn literals_are_read_out_of_code() {
    let code = "// \"a comment\"\nlet a = \"one \\\n     line\"; let b = '\"'; f(\"a \\\"b\\\" c\", 'x');\n\
                let r = r#\"raw \" text\"#; g(\"end\");";
    assert_eq!(literals(code), ["one line", "a b c", "end"]);
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
