//! Texts in several languages. A fixed text of the reports stands in them in English; `de.toml` has
//! its German under that English text. Sentences that need more than one form or many values stand
//! in both files by a key (`en.toml`, `de.toml`). Numbers and dates are written as the language
//! does.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::Deserialize;

use super::document::Digits;
use super::format::number;
use dbdyno_core::model::sentence::{Sentence, Style, Value};
use dbdyno_core::model::{Reason, ReasonCode, Status};

/// A language of texts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Language {
    /// American English, in which texts are written.
    #[default]
    English,
    /// German, translated in `texts/de.toml`.
    German,
    /// English with the names of columns that programs know: a name that reports no longer show
    /// stays in JSON and CSV.
    Programs,
}

impl Language {
    /// BCP 47 tag, as on the command line and in pages.
    pub fn tag(self) -> &'static str {
        match self {
            Language::English | Language::Programs => "en",
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
    /// Separator of thousands.
    group: String,
    /// Decimal mark.
    point: String,
    /// Sentences by key.
    sentences: BTreeMap<String, String>,
    /// English texts and templates, and what they are in this language.
    #[serde(default)]
    phrases: BTreeMap<String, String>,
    /// Meanings of the catalog's claims that do not hold, by their English text.
    #[serde(default)]
    claims: BTreeMap<String, String>,
    /// General texts of reasons, by code: for results that hold its English text only.
    #[serde(default)]
    reasons: BTreeMap<String, String>,
    /// English texts of earlier versions, which stored results hold, and the present text of each.
    #[serde(default)]
    former: BTreeMap<String, String>,
    /// Titles of the catalog's groups, by id.
    #[serde(default)]
    groups: BTreeMap<String, String>,
}

// That both files can be read and say the same is tested; a key without a text shows itself.
static ENGLISH: LazyLock<File> =
    LazyLock::new(|| toml::from_str(include_str!("en.toml")).unwrap_or_default());
static GERMAN: LazyLock<File> =
    LazyLock::new(|| toml::from_str(include_str!("de.toml")).unwrap_or_default());

/// Space between a number and its unit or percent sign in German: no line ends there.
const NO_BREAK: char = '\u{a0}';

impl Language {
    fn file(self) -> &'static File {
        match self {
            Language::English | Language::Programs => &ENGLISH,
            Language::German => &GERMAN,
        }
    }

    fn is_english(self) -> bool {
        self != Language::German
    }

    /// An English text in this language, if it has it; a stored result may hold a former one.
    fn translation(self, english: &str) -> Option<&'static str> {
        let File { phrases, claims, former, .. } = self.file();
        if self == Language::Programs {
            return None;
        }
        let english = former.get(english).map_or(english, String::as_str);
        phrases.get(english).or_else(|| claims.get(english)).map(String::as_str)
    }

    /// True if the language has this English text, which is thus one of dbdyno's.
    pub fn knows(self, english: &str) -> bool {
        let is_shown = |text: &String| text == english;
        self.translation(english).is_some() || ENGLISH.phrases.values().any(is_shown)
    }

    /// The sentence of this key or English text, with `{names}` replaced by values.
    pub fn say(self, key: &str, values: &[(&str, &str)]) -> String {
        let fill = |text: String, (name, value): &(&str, &str)| {
            text.replace(&format!("{{{name}}}"), value)
        };
        let text =
            self.file().sentences.get(key).map(String::as_str).or_else(|| self.translation(key));
        self.typeset(values.iter().fold(text.unwrap_or(key).to_owned(), fill))
    }

    /// A fixed text without values.
    pub fn phrase(self, english: &str) -> String {
        self.typeset(self.translation(english).unwrap_or(english).to_owned())
    }

    /// A sentence with its own values.
    pub fn sentence(self, sentence: &Sentence) -> String {
        self.translated(sentence, &str::to_string).unwrap_or_else(|| sentence.to_string())
    }

    /// The sentence with thousands separators in its numbers, as tables beside it have them; for
    /// programs without.
    pub fn sentence_grouped(self, sentence: &Sentence) -> String {
        if self == Language::Programs {
            return self.sentence(sentence);
        }
        self.translated(sentence, &with_groups).unwrap_or_else(|| sentence.to_string())
    }

    /// The sentence in this language, its numbers changed by `number`; none if the language does
    /// not know it. Texts of others are quoted.
    fn translated(self, sentence: &Sentence, number: &dyn Fn(&str) -> String) -> Option<String> {
        let show = |value: &Value, style: Style| match value {
            Value::Text(text) => text.clone(),
            Value::Number(value) => self.punctuated(&number(&style.show(*value))),
            Value::Span(least, most) => {
                self.punctuated(&style.show_span(*least, *most, &self.phrase("to")))
            }
            Value::Sentence(inner) => {
                self.translated(inner, number).unwrap_or_else(|| self.quote(&inner.to_string()))
            }
        };
        let is_as_written = self.is_english() || sentence.template.is_empty();
        let template =
            if is_as_written { &sentence.template } else { self.translation(&sentence.template)? };
        Some(self.typeset(sentence.fill(template, show)))
    }

    /// A text of others, in the quotation marks of the language.
    fn quote(self, text: &str) -> String {
        self.say("quotation", &[("text", text)])
    }

    /// Text of a reason. One that was stored without values is described in general, with the
    /// English text as a quote.
    pub fn reason(self, reason: &Reason) -> String {
        let own = reason
            .sentence
            .as_ref()
            .and_then(|sentence| self.translated(sentence, &str::to_string));
        own.or_else(|| self.is_english().then(|| reason.text.clone())).unwrap_or_else(|| {
            self.say(
                "reason_quoted",
                &[("general", &self.code(&reason.code)), ("text", &reason.text)],
            )
        })
    }

    /// The word for a verdict.
    pub fn verdict(self, status: Status) -> String {
        self.phrase(&status.to_string())
    }

    /// Label of a reason's code, in few words.
    pub fn code(self, code: &ReasonCode) -> String {
        self.file().reasons.get(code.as_str()).map_or_else(|| code.to_string(), String::clone)
    }

    /// The sentence `<key>_one` for 1, else `<key>_many`; `{count}` is the number.
    pub fn count(self, key: &str, count: usize, values: &[(&str, &str)]) -> String {
        let form = if count == 1 { "one" } else { "many" };
        let number = self.number(count as f64, Digits::Decimals(0));
        let values: Vec<_> = values.iter().copied().chain([("count", number.as_str())]).collect();
        self.say(&format!("{key}_{form}"), &values)
    }

    /// `1 job`, `2 jobs`; a publication may not print it.
    pub fn jobs(self, jobs: Option<u32>) -> String {
        jobs.map_or_else(
            || self.say("jobs_unprinted", &[]),
            |jobs| self.count("jobs", jobs as usize, &[]),
        )
    }

    /// A number as the language writes it: `1,234.5`, `1.234,5`.
    pub fn number(self, value: f64, digits: Digits) -> String {
        self.punctuated(&number::readable(value, digits))
    }

    /// A number with all its digits, grouped.
    pub fn exactly(self, value: f64) -> String {
        self.punctuated(&number::grouped(&value.to_string()))
    }

    /// An English number with the marks of the language.
    fn punctuated(self, english: &str) -> String {
        let digit = |character: char| match character {
            ',' => self.file().group.clone(),
            '.' => self.file().point.clone(),
            other => other.to_string(),
        };
        english.chars().map(digit).collect()
    }

    /// A day (`2026-07-20`), with or without its time, to the second, as the language writes it;
    /// other texts stay.
    pub fn date(self, iso: &str) -> String {
        let whole_seconds = without_fraction(iso);
        let iso = whole_seconds.as_str();
        let (day, time) = iso.split_once('T').unwrap_or((iso, ""));
        let parts: Vec<&str> = day.split('-').collect();
        let is_number =
            |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let [year, month, day] = parts.as_slice() else { return iso.to_string() };
        if self.is_english() || !parts.iter().all(is_number) {
            return iso.to_string();
        }
        let time =
            time.strip_suffix('Z').map_or_else(|| time.to_string(), |utc| format!("{utc} UTC"));
        format!("{day}.{month}.{year} {time}").trim_end().to_string()
    }

    /// `a, b and c`.
    pub fn list(self, items: &[String]) -> String {
        match items {
            [] => String::new(),
            [only] => only.clone(),
            [most @ .., last] => self.say("list", &[("most", &most.join(", ")), ("last", last)]),
        }
    }

    /// The title of a group.
    pub fn group(self, id: &str, title: &str) -> String {
        self.file().groups.get(id).cloned().unwrap_or_else(|| title.to_owned())
    }

    /// The title of a group with its id.
    pub fn group_heading(self, id: &str, title: &str) -> String {
        if title == id { id.into() } else { format!("{} ({id})", self.group(id, title)) }
    }

    /// Text with numbers and their units kept together, as German requires.
    fn typeset(self, text: String) -> String {
        const UNITS: [&str; 11] =
            ["%", "GB", "MB", "kB", "MB/s", "s", "ms", "us", "tps", "qps", "Jobs"];
        if self.is_english() {
            return text;
        }
        let mut tied = String::new();
        for (place, word) in text.split(' ').enumerate() {
            let bare = word.trim_end_matches([',', ';', '.', ':', ')', '*', '?', '!']);
            let after_number = tied.ends_with(|last: char| last.is_ascii_digit());
            match place {
                0 => {}
                _ if after_number && UNITS.contains(&bare) => tied.push(NO_BREAK),
                _ => tied.push(' '),
            }
            tied.push_str(word);
        }
        tied
    }
}

/// A number as a sentence shows it, perhaps with a sign before it and a unit behind it, with
/// thousands separators.
fn with_groups(shown: &str) -> String {
    let begin = shown.find(|one: char| one.is_ascii_digit()).unwrap_or(shown.len());
    let (sign, rest) = shown.split_at(begin);
    let end = rest.find(|one: char| !one.is_ascii_digit() && one != '.').unwrap_or(rest.len());
    let (digits, unit) = rest.split_at(end);
    [sign, &number::grouped(digits), unit].concat()
}

/// The text with a capital letter at its beginning.
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let Some(first) = letters.next() else { return String::new() };
    first.to_uppercase().chain(letters).collect()
}

/// A time of RFC 3339 without the fraction of its second; other texts stay.
fn without_fraction(iso: &str) -> String {
    let Some((seconds, rest)) = iso.split_once('.') else { return iso.to_owned() };
    let zone = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_time = seconds.len() == "2026-07-20T09:00:00".len() && seconds.contains('T');
    if is_time { format!("{seconds}{zone}") } else { iso.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placeholders(text: &str) -> Vec<&str> {
        let mut names: Vec<&str> = text
            .split('{')
            .skip(1)
            .filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
            .collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn both_files_can_be_read_and_say_the_same() {
        let english: File = toml::from_str(include_str!("en.toml")).unwrap();
        let german: File = toml::from_str(include_str!("de.toml")).unwrap();
        assert!(english.sentences.len() > 20);
        assert_eq!(
            english.sentences.keys().collect::<Vec<_>>(),
            german.sentences.keys().collect::<Vec<_>>()
        );
        for (key, text) in &english.sentences {
            assert_eq!(placeholders(text), placeholders(&german.sentences[key]), "{key}");
        }
    }

    #[test]
    fn numbers_and_lists_are_written_as_the_language_does() {
        let value = |language: Language| language.number(1_234_567.5, Digits::Decimals(1));
        assert_eq!(
            (value(Language::English), value(Language::German)),
            ("1,234,567.5".into(), "1.234.567,5".into())
        );
        let items: Vec<String> = ["a", "b", "c"].map(String::from).into();
        assert_eq!(Language::German.list(&items), "a, b und c");
        assert_eq!(Language::English.list(&items[..2]), "a and b");
        assert_eq!("fr".parse::<Language>(), Err("choose en or de".into()));
    }
    #[test]
    fn dates_and_reasons_are_german_and_old_reasons_are_quoted() {
        let german = Language::German;
        assert_eq!(german.date("2026-07-20T09:00:00Z"), "20.07.2026 09:00:00 UTC");
        assert_eq!(german.date("2026-07-20T09:00:00.123456789Z"), "20.07.2026 09:00:00 UTC");
        let with_offset = Language::English.date("2026-07-20T09:00:00.5+02:00");
        assert_eq!(with_offset, "2026-07-20T09:00:00+02:00");
        assert_eq!(german.date("2019"), "2019");
        assert_eq!(german.date("release 2.1 of T"), "release 2.1 of T");
        assert_eq!(Language::English.date("2026-07-20T09:00:00Z"), "2026-07-20T09:00:00Z");
        let steal = Sentence::new(
            "steal time was {share%} of the CPU time: the hypervisor gave it to \
                           others",
        );
        let mut reason = Reason::new(
            Status::Conditional,
            ReasonCode::Steal,
            steal.with("share", 0.041).of_part("TP-LIGHT"),
        );
        let text = "TP-LIGHT: die Steal-Zeit war 4,10\u{a0}% der CPU-Zeit: Der Hypervisor gab sie \
                    anderen";
        assert_eq!(german.reason(&reason), text);
        assert_eq!(Language::English.reason(&reason), reason.text);
        reason.sentence = None;
        assert!(german.reason(&reason).replace(NO_BREAK, " ").ends_with(
            "(im Original: „TP-LIGHT: steal time was 4.10 % of the CPU time: the hypervisor gave \
             it to others“)"
        ));
    }

    #[test]
    fn german_knows_every_reason_and_every_claim_of_the_catalog() {
        for code in ReasonCode::ALL {
            assert!(GERMAN.reasons.contains_key(code.as_str()), "no general sentence of {code}");
        }
        let catalog = dbdyno_core::catalog::Catalog::embedded().unwrap();
        let claims = catalog
            .workloads()
            .flat_map(|workload| workload.contract.iter().chain(&workload.crosscheck));
        let differs = catalog
            .workloads()
            .flat_map(|workload| &workload.aliases)
            .filter_map(|alias| alias.differs.as_deref())
            .chain(catalog.workloads().filter_map(|workload| workload.differs.as_deref()));
        let effects = catalog.effects().iter().map(|effect| effect.because.as_str());
        let means: std::collections::BTreeSet<&str> =
            claims.map(|claim| claim.because.as_str()).chain(effects).chain(differs).collect();
        let german: std::collections::BTreeSet<&str> =
            GERMAN.claims.keys().map(String::as_str).collect();
        assert_eq!(
            means.difference(&german).collect::<Vec<_>>(),
            Vec::<&&str>::new(),
            "claims without German"
        );
        assert_eq!(
            german.difference(&means).collect::<Vec<_>>(),
            Vec::<&&str>::new(),
            "German of no claim"
        );
    }

    #[test]
    fn numbers_of_sentences_are_grouped_as_those_of_tables() {
        let most = Sentence::new("the most is {most} {unit}, with {jobs}")
            .with("most", 52744.4)
            .with("unit", "qps")
            .with("jobs", Sentence::jobs(1200));
        assert_eq!(
            Language::English.sentence_grouped(&most),
            "the most is 52,744 qps, with 1,200 jobs"
        );
        let german = Language::German.sentence_grouped(&most);
        assert!(german.contains("52.744") && german.contains("1.200"), "{german}");
        for (shown, grouped) in [
            ("123", "123"),
            ("-1234.5", "-1,234.5"),
            ("+123456.0 %", "+123,456.0 %"),
            ("1.2e-4", "1.2e-4"),
            ("", ""),
        ] {
            assert_eq!(with_groups(shown), grouped);
        }
    }

    #[test]
    fn former_texts_lead_to_the_german_of_present_ones() {
        assert!(GERMAN.former.len() > 100);
        for (former, present) in &GERMAN.former {
            assert_eq!(placeholders(former), placeholders(present), "{former}");
            assert!(!GERMAN.former.contains_key(present), "{present} is a former text itself");
            assert!(Language::German.knows(former), "no German of {present}");
        }
        let stored =
            Sentence::new("{share%} of the CPU time was taken by the host of this virtual machine");
        let german = Language::German.sentence(&stored.with("share", 0.041));
        let text = "die Steal-Zeit war 4,10\u{a0}% der CPU-Zeit: Der Hypervisor gab sie anderen";
        assert_eq!(german, text);
    }

    #[test]
    fn a_renamed_heading_keeps_its_name_for_programs() {
        assert!(ENGLISH.phrases.len() > 30);
        for (name, heading) in &ENGLISH.phrases {
            assert_eq!(Language::English.phrase(name), *heading);
            assert_eq!(Language::Programs.phrase(name), *name);
            assert!(GERMAN.phrases.contains_key(name), "no German of {name}");
        }
    }

    #[test]
    fn placeholders_of_phrases_are_those_of_the_english_text() {
        let texts = GERMAN.phrases.iter().chain(&GERMAN.claims);
        for (english, german) in texts {
            assert_eq!(placeholders(english), placeholders(german), "{english}");
        }
    }
}
