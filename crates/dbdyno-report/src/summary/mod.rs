//! The management summary: half a page of sentences from the figures, in the language asked for. A
//! sentence that says that something is more, less or ahead stands only where an interval supports
//! it.

mod one;
pub(super) mod several;
mod words;

pub(super) use one::tests;

use super::columns::at_least;
use super::document::{Digits, Document, Section};
use super::{BaselinePlaces, Input, Report, RunTests, beside, page, price};
use words::section;

/// `report summary`.
pub struct Summary;

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

    fn baseline(&self) -> BaselinePlaces {
        BaselinePlaces { on_page: false, beside_published: true }
    }

    fn build(&self, input: &Input) -> Document {
        let language = input.language;
        let runs = language.list(&input.platforms());
        let title = match input.runs.len() {
            1 => language.say("title_one", &[("run", &runs)]),
            _ => language.say("title_several", &[("runs", &runs)]),
        };
        let mut sections = self.sentences(input);
        sections.extend(beside::sections(&beside::pairs_to_show(input), language));
        let page = page::sheet(input, &sections);
        Document { title, sections, language, page, ..Document::default() }
    }
}

impl Summary {
    /// The sentences, in sections.
    pub(super) fn sentences(&self, input: &Input) -> Vec<Section> {
        let platforms = input.platforms();
        let mut sections = match input.runs.as_slice() {
            [data] => one::sections(input, data, &platforms[0]),
            _ => several::sections(input, &platforms),
        };
        sections.extend(prices(input, &platforms));
        sections
    }
}

/// Cost of the platforms, as far as it is known.
fn prices(input: &Input, platforms: &[String]) -> Option<Section> {
    let language = input.language;
    let whole = |value: f64| language.number(value, Digits::Decimals(0));
    let sentence = |(data, platform): (&RunTests, &String)| {
        let price = price::price_of(input, data)?;
        let is_bound = !price.unpriced(&data.run).is_empty();
        let values = [
            ("platform", platform.as_str()),
            ("licences", &whole(price.licences())),
            ("cost", &at_least(language, whole(price.cost()), is_bound)),
            ("currency", &price.currency),
            ("basis", &price.basis),
            ("date", &language.date(&price.date)),
        ];
        Some(language.say("price", &values))
    };
    let sentences: Vec<String> = input.runs.iter().zip(platforms).filter_map(sentence).collect();
    (!sentences.is_empty()).then(|| section(language, "heading_price", sentences))
}
