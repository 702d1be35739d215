//! Sentences that the summaries of one run and of several have in common.

use super::super::RunTests;
use super::super::document::{Block, Digits, Section};
use super::super::figure_doubts::FigureDoubts;
use super::super::lowered;
use super::super::texts::Language;
use dbdyno_core::model::{RunKind, Status, Test, params};

/// Digits of a figure in a sentence.
pub(super) const DIGITS: Digits = Digits::Significant(3);

/// A section of paragraphs; empty ones are left out.
pub(super) fn section(language: Language, heading: &str, paragraphs: Vec<String>) -> Section {
    let blocks = paragraphs.into_iter().filter(|text| !text.is_empty()).map(Block::Paragraph);
    Section { title: language.say(heading, &[]), blocks: blocks.collect() }
}

/// Sentence about what was measured or published.
pub(super) fn what(language: Language, data: &RunTests, name: &str) -> String {
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
    let note = data.run.plan.note().map(|note| language.phrase(note));
    let note = note.map(|note| language.say("suite_note", &[("note", &note)]));
    let cut = data.incomplete(language);
    let cut = cut.map(|how| language.say("Not complete: {how}.", &[("how", &how)]));
    [Some(said), cut, note].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// More subjects than these are counted.
const MAX_NAMED: usize = 6;

/// The sentences about the tests of a run, and about its figures.
pub(super) fn trust(language: Language, data: &RunTests) -> Vec<String> {
    let tests = data.tests.as_slice();
    let mut sentences = vec![
        counts(language, tests),
        tests_with_status(language, tests, Status::Invalid),
        tests_with_status(language, tests, Status::Conditional),
    ];
    let doubts = FigureDoubts::new(tests);
    if doubts.count > 0 {
        let values = [("count", &*doubts.count.to_string()), ("all", &doubts.all.to_string())];
        sentences.push(
            language.say("Not valid although their tests are: {count} of {all} figures.", &values),
        );
        sentences.extend(lowered::remarks(language, &doubts.lowering_reasons(language)));
    }
    sentences
}

/// Number of tests by verdict.
pub(super) fn counts(language: Language, tests: &[Test]) -> String {
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

fn tests_with_status(language: Language, tests: &[Test], status: Status) -> String {
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
