//! The management summary: half a page of sentences from the figures, in the language asked for. A sentence that says
//! that something is more, less or ahead stands only where an interval supports it.

mod one;
mod several;
mod trust;

use super::document::{Block, Digits, Document, Section};
use super::texts::Language;
use super::{Input, Report, RunTests, price};
use crate::model::RunKind;

/// `report summary`.
pub struct Summary;

/// Digits of a figure in a sentence.
const DIGITS: Digits = Digits::Significant(3);

impl Report for Summary {
    fn name(&self) -> &'static str {
        "summary"
    }

    fn title(&self) -> &'static str {
        "half a page of sentences for those who decide, in English or German (--language)"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        let language = input.language;
        let platforms = input.platforms_in(language);
        let runs = language.list(&platforms);
        let (title, mut sections) = match input.runs.as_slice() {
            [data] => (language.say("title_one", &[("run", &runs)]), one::sections(input, data, &platforms[0])),
            _ => (language.say("title_several", &[("runs", &runs)]), several::sections(input, &platforms)),
        };
        sections.extend(prices(input, &platforms));
        Document { title, sections, language }
    }
}

/// A section of paragraphs; empty ones are left out.
fn section(language: Language, heading: &str, paragraphs: Vec<String>) -> Section {
    let blocks = paragraphs.into_iter().filter(|text| !text.is_empty()).map(Block::Paragraph);
    Section { title: language.say(heading, &[]), blocks: blocks.collect() }
}

/// A value of the disclosure, if it is known.
fn known<'a>(data: &'a RunTests, section: &str, key: &str) -> Option<&'a str> {
    Some(data.run.disclosure.get(section, key)).filter(|value| *value != "unknown")
}

/// What was measured or published, in a sentence.
fn what(language: Language, data: &RunTests, name: &str) -> String {
    let database = known(data, "database", "version").unwrap_or(&data.run.engine);
    let date = data.run.started_at.split('T').next().unwrap_or_default();
    let key = if data.run.kind == RunKind::Published { "published" } else { "measured" };
    let date = if date == "unknown" { language.say("unknown", &[]) } else { date.to_owned() };
    language.say(key, &[("run", name), ("target", &data.run.target), ("database", database), ("date", &date)])
}

/// What the platforms cost, as far as it is known.
fn prices(input: &Input, platforms: &[String]) -> Option<Section> {
    let language = input.language;
    let whole = |value: f64| language.number(value, Digits::Decimals(0));
    let sentence = |(data, platform): (&RunTests, &String)| {
        let price = price::price_of(input, data)?;
        let values = [
            ("platform", platform.as_str()),
            ("licences", &whole(price.licences())),
            ("cost", &whole(price.cost())),
            ("currency", &price.currency),
            ("basis", &price.basis),
            ("date", &price.date),
        ];
        Some(language.say("price", &values))
    };
    let sentences: Vec<String> = input.runs.iter().zip(platforms).filter_map(sentence).collect();
    (!sentences.is_empty()).then(|| section(language, "heading_price", sentences))
}
