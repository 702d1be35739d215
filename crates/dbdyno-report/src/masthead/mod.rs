//! The head of a page that has no design of its own: whose figures these are, of when, the answer,
//! and how far they can be trusted.

pub(super) mod entries;
pub(super) mod run;

use super::picture::{Head, StyledText};
use super::summary::several;
use super::{Input, Language, RunTests};
use dbdyno_core::model::Test;

/// Number of runs that a title names; the others are on the name plate.
const MAX_NAMED: usize = 7;

/// The head of a page of this kind; an empty answer is none.
pub(crate) fn head(input: &Input, kind: &str, answer: &str) -> Head {
    let language = input.language;
    let answer = StyledText::sentence(answer);
    match input.runs.as_slice() {
        [] => Head { kind: language.phrase(kind), answer, ..Head::default() },
        [data] => Head {
            kind: language.phrase(kind),
            stamp: run::stamp(language, data),
            title: run::title(language, data),
            answer,
            counts: run::counts(language, &data.tests),
            folds: run::folds(language, data),
            ..Head::default()
        },
        _ => Head { answer, ..head_of_several(input, kind) },
    }
}

/// The answer of the figures of the runs as a whole: of one the headlines, of several how near each
/// comes to the best.
pub(crate) fn answer(input: &Input) -> String {
    match input.runs.as_slice() {
        [] => String::new(),
        [data] => run::answer(input, data),
        _ => several::answer(input, &input.platforms()),
    }
}

/// The platform of a run, and whether the run is complete.
fn platform(language: Language, data: &RunTests) -> String {
    let title = run::title(language, data);
    data.incomplete(language).map_or(title.clone(), |how| format!("{title} · {how}"))
}

/// The head of a page about several runs: their names, platforms and verdicts, without an answer.
pub(crate) fn head_of_several(input: &Input, kind: &str) -> Head {
    let language = input.language;
    let all: Vec<Test> =
        input.runs.iter().flat_map(|data| data.tests.iter().map(Test::without_seconds)).collect();
    let mut names = input.platforms();
    let plate =
        input.runs.iter().zip(names.clone()).map(|(data, name)| (name, platform(language, data)));
    if names.len() > MAX_NAMED {
        names.truncate(MAX_NAMED);
        names.push("…".into());
    }
    let names = names.join(", ");
    Head {
        kind: language.phrase(kind),
        title: language.count("runs", input.runs.len(), &[("names", &names)]),
        counts: run::counts(language, &all),
        plate: plate.collect(),
        folds: run::reasons(language, &all).into_iter().collect(),
        ..Head::default()
    }
}
