//! The reasons that lowered verdicts, told below a table: what holds for many figures is said once.

use super::Language;
use crate::model::{Reason, Sentence, Status, Verdict};

/// A reason, and the figure that it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Lowered {
    /// `SRV-QUERY1 at 2 jobs`.
    pub subject: String,
    pub reason: Reason,
}

/// The reasons that lowered the verdict on `subject`.
pub fn of_verdict(subject: &str, verdict: &Verdict) -> Vec<Lowered> {
    let lowering = verdict.reasons.iter().filter(|reason| reason.status > Status::Valid);
    lowering.map(|reason| Lowered { subject: subject.into(), reason: reason.clone() }).collect()
}

/// From this many figures on a reason is said once for all of them.
const MANY: usize = 3;
/// So many of them are named.
const NAMED: usize = 2;

/// Figures about which the same is to be said, but for the numbers in the sentence.
struct Together<'a> {
    status: Status,
    /// The first of the reasons.
    reason: &'a Reason,
    /// The sentence about all of them.
    sentence: Sentence,
    /// Each with its own reason.
    members: Vec<&'a Lowered>,
}

impl Together<'_> {
    fn is_about(&self, reason: &Reason) -> bool {
        (self.status, &self.reason.code) == (reason.status, &reason.code)
    }
}

/// A sentence for each reason, invalid figures first. A reason of [`MANY`] figures or more is one
/// sentence, with the least and the most of its numbers.
pub fn remarks(language: Language, lowered: &[Lowered]) -> Vec<String> {
    let mut all = together(lowered);
    all.sort_by_key(|one| std::cmp::Reverse(one.status));
    all.iter().flat_map(|one| said(language, one)).collect()
}

fn together(lowered: &[Lowered]) -> Vec<Together<'_>> {
    let mut all: Vec<Together<'_>> = Vec::new();
    for one in lowered {
        let said = one.reason.said();
        let found = all.iter_mut().filter(|known| known.is_about(&one.reason)).find_map(|known| {
            let sentence = known.sentence.together(&said)?;
            Some((known, sentence))
        });
        match found {
            Some((known, _)) if known.members.contains(&one) => {}
            Some((known, sentence)) => {
                known.sentence = sentence;
                known.members.push(one);
            }
            None => all.push(Together {
                status: one.reason.status,
                reason: &one.reason,
                sentence: said,
                members: vec![one],
            }),
        }
    }
    all
}

fn said(language: Language, together: &Together<'_>) -> Vec<String> {
    let verdict = language.verdict(together.status);
    let sentence = |subject: &str, reason: &Reason| {
        format!("{subject}: {verdict}: {}", language.reason(reason))
    };
    if together.members.len() < MANY {
        let each = together.members.iter();
        return each.map(|one| sentence(&one.subject, &one.reason)).collect();
    }
    let reason = Reason { sentence: Some(together.sentence.clone()), ..together.reason.clone() };
    vec![sentence(&subjects(language, &together.members), &reason)]
}

/// `34 figures (CPU-DOUBLE at 1 job, CPU-DOUBLE at 2 jobs and 32 more)`.
fn subjects(language: Language, members: &[&Lowered]) -> String {
    let named: Vec<&str> = members.iter().take(NAMED).map(|one| one.subject.as_str()).collect();
    let more = (members.len() - named.len()).to_string();
    let values = [("named", named.join(", ")), ("more", more)];
    let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
    language.count("figures_named", members.len(), &values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ReasonCode;

    fn lowered(subject: &str, status: Status, share: f64) -> Lowered {
        let sentence = Sentence::new("others used {share%}").with("share", share);
        let reason = Reason::new(status, ReasonCode::ForeignLoad, sentence);
        Lowered { subject: subject.into(), reason }
    }

    #[test]
    fn a_reason_of_many_figures_is_said_once_with_the_span_of_its_numbers() {
        let (conditional, invalid) = (Status::Conditional, Status::Invalid);
        let mut all: Vec<Lowered> = [("a", 0.5), ("b", 0.25), ("a", 0.5), ("c", 0.97)]
            .map(|(subject, share)| lowered(subject, conditional, share))
            .to_vec();
        all.push(lowered("d", invalid, 0.99));
        let expected = [
            "d: invalid: others used 99 %",
            "3 figures (a, b and 1 more): conditional: others used 25 to 97 %",
        ];
        assert_eq!(remarks(Language::English, &all), expected);
    }

    #[test]
    fn two_figures_have_a_sentence_each_and_other_texts_are_kept_apart() {
        let of = |subject: &str, name: &str| {
            let sentence = Sentence::new("{name} is low").with("name", name);
            let reason = Reason::new(Status::Conditional, ReasonCode::Contract, sentence);
            Lowered { subject: subject.into(), reason }
        };
        let all = [of("a", "x"), of("b", "x"), of("c", "y")];
        let expected =
            ["a: conditional: x is low", "b: conditional: x is low", "c: conditional: y is low"];
        assert_eq!(remarks(Language::English, &all), expected);
    }
}
