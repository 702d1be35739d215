//! The management summary: half a page of sentences from the figures, in the language asked for. A
//! sentence that says that something is more, less or ahead stands only where an interval supports
//! it.

mod one;
pub(super) mod several;

pub(super) use one::tests;

use super::document::{Block, Digits, Document, Section};
use super::texts::Language;
use super::{BaselinePlaces, Input, Report, RunTests, beside, page, price};
use dbdyno_core::model::{RunKind, Status, Test, params};

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
        sections.extend(beside::sections(&beside::shown(input), language));
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

/// A section of paragraphs; empty ones are left out.
fn section(language: Language, heading: &str, paragraphs: Vec<String>) -> Section {
    let blocks = paragraphs.into_iter().filter(|text| !text.is_empty()).map(Block::Paragraph);
    Section { title: language.say(heading, &[]), blocks: blocks.collect() }
}

/// Sentence about what was measured or published.
fn what(language: Language, data: &RunTests, name: &str) -> String {
    let unknown = language.phrase("unknown");
    let database = data
        .run
        .disclosure
        .get("database", "version")
        .or(data.run.engine.as_deref())
        .unwrap_or(&unknown);
    let day = data.run.started_at.as_deref().and_then(|start| start.split('T').next());
    let date = day.map_or(unknown.clone(), |day| language.date(day));
    let key = if data.run.kind == RunKind::Published { "published" } else { "measured" };
    let said = language.say(
        key,
        &[("run", name), ("target", &data.run.target), ("database", database), ("date", &date)],
    );
    let note = data.run.plan["note"].as_str().map(|note| language.phrase(note));
    note.map_or(said.clone(), |note| {
        format!("{said} {}", language.say("suite_note", &[("note", &note)]))
    })
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
            ("cost", &price::at_least(language, whole(price.cost()), is_bound)),
            ("currency", &price.currency),
            ("basis", &price.basis),
            ("date", &language.date(&price.date)),
        ];
        Some(language.say("price", &values))
    };
    let sentences: Vec<String> = input.runs.iter().zip(platforms).filter_map(sentence).collect();
    (!sentences.is_empty()).then(|| section(language, "heading_price", sentences))
}

/// More subjects than these are counted.
const MAX_NAMED: usize = 6;

/// The sentences about the tests of a run.
fn trust(language: Language, tests: &[Test]) -> Vec<String> {
    vec![
        counts(language, tests),
        named(language, tests, Status::Invalid),
        named(language, tests, Status::Conditional),
    ]
}

/// Number of tests by verdict.
fn counts(language: Language, tests: &[Test]) -> String {
    let with = |status| tests.iter().filter(|test| test.status() == status).count();
    let (valid, conditional, invalid) =
        (with(Status::Valid), with(Status::Conditional), with(Status::Invalid));
    if conditional + invalid == 0 {
        return language.count("all_valid", tests.len(), &[]);
    }
    let [all, valid, conditional, invalid] =
        [tests.len(), valid, conditional, invalid].map(|number| number.to_string());
    let values = [
        ("tests", all.as_str()),
        ("valid", &valid),
        ("conditional", &conditional),
        ("invalid", &invalid),
    ];
    language.say("verdicts", &values)
}

fn named(language: Language, tests: &[Test], status: Status) -> String {
    let found: Vec<&Test> = tests.iter().filter(|test| test.status() == status).collect();
    let mut subjects: Vec<String> =
        found.iter().take(MAX_NAMED).map(|test| subject(language, test, status)).collect();
    if found.len() > MAX_NAMED {
        subjects.push(language.count("others", found.len() - MAX_NAMED, &[]));
    }
    let key = if status == Status::Invalid { "invalid" } else { "conditional" };
    match subjects.is_empty() {
        true => String::new(),
        false => language.say(key, &[("subjects", &language.list(&subjects))]),
    }
}

/// `TP-LIGHT at 2 jobs (errors)`.
fn subject(language: Language, test: &Test, status: Status) -> String {
    let key = match test.jobs() {
        None => "subject_unstated",
        Some(1) => "subject_one",
        Some(_) => "subject",
    };
    let label = format!("{} {}", test.workload(), params::assignments(test.chosen(), " "));
    let jobs = test.jobs().unwrap_or_default().to_string();
    let subject = language.say(key, &[("label", label.trim_end()), ("jobs", &jobs)]);
    let mut reasons: Vec<String> = Vec::new();
    for reason in test.verdict().reasons.iter().filter(|reason| reason.status == status) {
        let code = language.code(&reason.code);
        if !reasons.contains(&code) {
            reasons.push(code);
        }
    }
    language.say("because", &[("subject", &subject), ("reasons", &reasons.join(", "))])
}
