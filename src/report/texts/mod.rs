//! Texts in several languages: a file each (`en.toml`, `de.toml`) with sentences by key, and phrases of the English reports
//! by their own words. Numbers are written as the language does.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::Deserialize;

use super::document::{Block, Cell, Digits, Document, Section, Table};
use super::format::number;

/// Stands at the end of settings.
const MORE: &str = "more in the run's disclosure";
/// Facts that are shown as they were typed or set.
const VERBATIM: &[&str] = &["Command", "Settings"];

/// A language of texts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Language {
    #[default]
    English,
    German,
}

impl Language {
    /// Its code by BCP 47, as on the command line and in pages.
    pub fn code(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::German => "de",
        }
    }
}

impl FromStr for Language {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "en" => Ok(Language::English),
            "de" => Ok(Language::German),
            _ => Err("choose en or de".into()),
        }
    }
}

/// A file of texts.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Between thousands, and before decimals.
    group: String,
    point: String,
    sentences: BTreeMap<String, String>,
    /// English words of a report, and what they are in this language.
    #[serde(default)]
    phrases: BTreeMap<String, String>,
    /// Single words in titles and values; an empty one is left out.
    #[serde(default)]
    words: BTreeMap<String, String>,
    /// Titles of the catalogue's groups, by id.
    #[serde(default)]
    groups: BTreeMap<String, String>,
}

// That both files can be read and say the same is tested; a key without a text shows itself.
static ENGLISH: LazyLock<File> = LazyLock::new(|| toml::from_str(include_str!("en.toml")).unwrap_or_default());
static GERMAN: LazyLock<File> = LazyLock::new(|| toml::from_str(include_str!("de.toml")).unwrap_or_default());

impl Language {
    fn file(self) -> &'static File {
        match self {
            Language::English => &ENGLISH,
            Language::German => &GERMAN,
        }
    }

    /// The sentence `key` with `{names}` replaced by values.
    pub fn say(self, key: &str, values: &[(&str, &str)]) -> String {
        let sentence = self.file().sentences.get(key).map_or(key, String::as_str);
        let fill = |text: String, (name, value): &(&str, &str)| text.replace(&format!("{{{name}}}"), value);
        values.iter().fold(sentence.to_owned(), fill)
    }

    /// The sentence `<key>_one` for 1, else `<key>_many`; `{count}` is the number.
    pub fn count(self, key: &str, count: usize, values: &[(&str, &str)]) -> String {
        let form = if count == 1 { "one" } else { "many" };
        let number = self.number(count as f64, Digits::Decimals(0));
        let values: Vec<_> = values.iter().copied().chain([("count", number.as_str())]).collect();
        self.say(&format!("{key}_{form}"), &values)
    }

    /// A number as the language writes it: `1,234.5`, `1.234,5`.
    pub fn number(self, value: f64, digits: Digits) -> String {
        let digit = |character: char| match character {
            ',' => self.file().group.clone(),
            '.' => self.file().point.clone(),
            other => other.to_string(),
        };
        number::english(value, digits).chars().map(digit).collect()
    }

    /// A number with all its digits.
    pub fn exactly(self, value: f64) -> String {
        value.to_string().replace('.', &self.file().point)
    }

    /// The phrase in this language; itself if it has none.
    pub fn phrase(self, english: &str) -> String {
        self.file().phrases.get(english).cloned().unwrap_or_else(|| english.to_owned())
    }

    /// `a, b and c`.
    pub fn list(self, items: &[String]) -> String {
        match items {
            [] => String::new(),
            [only] => only.clone(),
            [most @ .., last] => self.say("list", &[("most", &most.join(", ")), ("last", last)]),
        }
    }

    /// The document with its fixed phrases and its numbers in this language; what was stored (reasons of verdicts,
    /// names, settings) stays as it is.
    pub fn translate(self, document: Document) -> Document {
        match self {
            Language::English => document,
            _ => Document {
                title: self.titled(&document.title),
                sections: document.sections.into_iter().map(|section| self.section(section)).collect(),
                language: self,
            },
        }
    }

    fn section(self, section: Section) -> Section {
        let blocks = section.blocks.into_iter().map(|block| match block {
            Block::Paragraph(text) => Block::Paragraph(self.phrase(&text)),
            Block::Facts(facts) => Block::Facts(facts.into_iter().map(|fact| self.fact(fact)).collect()),
            Block::Table(table) => Block::Table(self.table(table)),
            other => other,
        });
        Section { title: self.titled(&section.title), blocks: blocks.collect() }
    }

    fn fact(self, (name, value): (String, String)) -> (String, String) {
        let value = match VERBATIM.contains(&name.as_str()) {
            true => value.replace(MORE, &self.phrase(MORE)),
            false => self.words(&value),
        };
        (self.phrase(&name), value)
    }

    /// `Run 7: Platform`: before the last colon stands a name.
    fn titled(self, title: &str) -> String {
        match title.rsplit_once(": ") {
            Some((name, rest)) => format!("{}: {}", self.words(&self.phrase(name)), self.words(&self.phrase(rest))),
            None => self.phrase(title),
        }
    }

    /// Word for word, for values such as `1 socket, 2 cores`; sizes in GB are numbers.
    fn words(self, text: &str) -> String {
        let words: Vec<&str> = text.split(' ').collect();
        let translated = words.iter().enumerate().map(|(place, word)| {
            let bare = word.trim_end_matches(',');
            let is_size = words.get(place + 1).is_some_and(|next| next.trim_end_matches(',') == "GB");
            match (is_size, self.file().words.get(bare)) {
                (true, _) => word.replace('.', &self.file().point),
                (false, Some(known)) => format!("{known}{}", &word[bare.len()..]),
                (false, None) => (*word).to_owned(),
            }
        });
        translated.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The title of a group.
    pub fn group(self, id: &str, title: &str) -> String {
        self.file().groups.get(id).cloned().unwrap_or_else(|| title.to_owned())
    }

    fn table(self, mut table: Table) -> Table {
        for column in &mut table.columns {
            column.name = self.phrase(&column.name);
        }
        for text in &mut table.footnotes {
            *text = self.phrase(text);
        }
        for cell in table.rows.iter_mut().flatten() {
            if let Cell::Number { digits, .. } = cell {
                *digits = digits.in_language(self);
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placeholders(text: &str) -> Vec<&str> {
        let mut names: Vec<&str> =
            text.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name)).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn both_files_can_be_read_and_say_the_same() {
        let english: File = toml::from_str(include_str!("en.toml")).unwrap();
        let german: File = toml::from_str(include_str!("de.toml")).unwrap();
        assert!(english.sentences.len() > 20);
        assert_eq!(english.sentences.keys().collect::<Vec<_>>(), german.sentences.keys().collect::<Vec<_>>());
        for (key, text) in &english.sentences {
            assert_eq!(placeholders(text), placeholders(&german.sentences[key]), "{key}");
        }
    }

    #[test]
    fn numbers_and_lists_are_written_as_the_language_does() {
        let value = |language: Language| language.number(1_234_567.5, Digits::Decimals(1));
        assert_eq!((value(Language::English), value(Language::German)), ("1,234,567.5".into(), "1.234.567,5".into()));
        let items: Vec<String> = ["a", "b", "c"].map(String::from).into();
        assert_eq!(Language::German.list(&items), "a, b und c");
        assert_eq!(Language::English.list(&items[..2]), "a and b");
        assert_eq!("fr".parse::<Language>(), Err("choose en or de".into()));
    }
}
