//! The head of a page that has no design of its own: whose figures these are, of when, the answer,
//! and how far they can be trusted.

use super::super::Input;
use super::super::picture::{Head, StyledText};
use super::super::summary::several;
use super::{design, head};

/// The head of a page of this kind; an empty answer is none.
pub(crate) fn masthead(input: &Input, kind: &str, answer: &str) -> Head {
    let language = input.language;
    let answer = StyledText::sentence(answer);
    match input.runs.as_slice() {
        [] => Head { kind: language.phrase(kind), answer, ..Head::default() },
        [data] => Head {
            kind: language.phrase(kind),
            stamp: head::stamp(language, data),
            title: head::title(language, data),
            answer,
            counts: head::counts(language, &data.tests),
            folds: head::reasons(language, &data.tests).into_iter().collect(),
            ..Head::default()
        },
        _ => Head { answer, ..design::head_of_several(input, kind) },
    }
}

/// Answer of the figures of the runs as a whole: of one the headlines, of several how near each
/// comes to the best.
pub(crate) fn answer(input: &Input) -> String {
    match input.runs.as_slice() {
        [] => String::new(),
        [data] => head::answer(input, data),
        _ => several::answer(input, &input.platforms()),
    }
}
