//! Reasons that lowered verdicts, listed below a table: a reason that holds for many figures is
//! given once.

use super::Language;
use dbdyno_core::model::{Reason, Sentence, Status, Verdict};

/// A reason, and the figure that it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct LoweringReason {
    /// `SRV-QUERY1 at 2 jobs`.
    pub subject: String,
    pub reason: Reason,
}

/// The reasons that lowered the verdict on `subject`.
pub fn of_verdict(subject: &str, verdict: &Verdict) -> Vec<LoweringReason> {
    let lowering = verdict.reasons.iter().filter(|reason| reason.status > Status::Valid);
    lowering
        .map(|reason| LoweringReason { subject: subject.into(), reason: reason.clone() })
        .collect()
}

/// Number of figures from which on they are counted instead of named.
const MANY: usize = 3;
/// Number of figures that are then named.
const NAMED: usize = 2;

/// Figures about which the same is to be said, but for the numbers in the sentence.
#[derive(Debug, Clone)]
pub struct SharedReason {
    /// Each once, in their order.
    subjects: Vec<String>,
    /// Sentence about all of them, with numbers that differ as ranges.
    sentence: Sentence,
}

impl SharedReason {
    /// Statement about one figure.
    fn of_figure(subject: &str, sentence: &Sentence) -> SharedReason {
        SharedReason { subjects: vec![subject.into()], sentence: sentence.clone() }
    }

    /// Adds a figure; false if its statement is of another kind.
    fn takes(&mut self, subject: &str, sentence: &Sentence) -> bool {
        let Some(both) = self.sentence.together(sentence) else { return false };
        self.sentence = both;
        if !self.subjects.iter().any(|known| known == subject) {
            self.subjects.push(subject.into());
        }
        true
    }

    /// `34 figures (CPU-DOUBLE at 1 job; CPU-DOUBLE at 2 jobs and 32 more)`; fewer by their names.
    fn subject(&self, language: Language) -> String {
        let count = self.subjects.len();
        if count < MANY {
            return self.subjects.join("; ");
        }
        let (named, more) = (self.subjects[..NAMED].join("; "), (count - NAMED).to_string());
        language.count("figures_named", count, &[("named", &named), ("more", &more)])
    }
}

/// A sentence for each reason, invalid figures first: one for all figures that differ only in its
/// numbers, with the least and the most of them.
pub fn remarks(language: Language, lowered: &[LoweringReason]) -> Vec<String> {
    let mut all: Vec<(&Reason, SharedReason)> = Vec::new();
    for LoweringReason { subject, reason } in lowered {
        let said = reason.to_sentence();
        let is_taken = all.iter_mut().any(|(first, together)| {
            (first.status, &first.code) == (reason.status, &reason.code)
                && together.takes(subject, &said)
        });
        if !is_taken {
            all.push((reason, SharedReason::of_figure(subject, &said)));
        }
    }
    all.sort_by_key(|(first, _)| std::cmp::Reverse(first.status));
    let said = |(first, together): &(&Reason, SharedReason)| {
        let reason = worded(first, &together.sentence);
        let (subject, verdict) = (together.subject(language), language.verdict(first.status));
        format!("{subject}: {verdict}: {}", language.reason(&reason))
    };
    all.iter().map(said).collect()
}

/// The reason in these words.
fn worded(reason: &Reason, sentence: &Sentence) -> Reason {
    let text = sentence.to_string();
    // Results of older versions have texts only, which are quoted.
    let sentence = reason.sentence.is_some().then(|| sentence.clone());
    Reason { text, sentence, ..reason.clone() }
}

/// Reason with the things that it is about.
pub type ReasonGroup<T> = (Reason, Vec<T>);

/// Reasons that are joined so far.
struct ReasonSpan<'a, T> {
    first: &'a Reason,
    /// Statement of all of them together.
    sentence: Sentence,
    about: Vec<T>,
}

impl<T> ReasonSpan<'_, T> {
    /// Statement about these reasons and another one; none if that is of another kind.
    fn with(&self, reason: &Reason, sentence: &Sentence) -> Option<Sentence> {
        let is_same = (self.first.status, &self.first.code) == (reason.status, &reason.code);
        if is_same { self.sentence.together(sentence) } else { None }
    }
}

/// Reasons that differ only in their numbers as one, with all that it is about.
pub fn together<'a, T>(
    told: impl IntoIterator<Item = (&'a Reason, Vec<T>)>,
) -> Vec<ReasonGroup<T>> {
    let mut all: Vec<ReasonSpan<'a, T>> = Vec::new();
    for (reason, about) in told {
        let sentence = reason.to_sentence();
        let place = all.iter_mut().find_map(|joined| {
            let both = joined.with(reason, &sentence)?;
            Some((joined, both))
        });
        match place {
            Some((joined, both)) => {
                joined.sentence = both;
                joined.about.extend(about);
            }
            None => all.push(ReasonSpan { first: reason, sentence, about }),
        }
    }
    all.into_iter().map(|joined| (worded(joined.first, &joined.sentence), joined.about)).collect()
}

/// The same for sentences that are about figures and have no verdict of their own.
pub fn sentences<'a>(
    language: Language,
    told: impl IntoIterator<Item = (String, &'a Sentence)>,
) -> Vec<String> {
    let mut all: Vec<SharedReason> = Vec::new();
    for (subject, sentence) in told {
        if !all.iter_mut().any(|together| together.takes(&subject, sentence)) {
            all.push(SharedReason::of_figure(&subject, sentence));
        }
    }
    let said = |one: &SharedReason| {
        format!("{}: {}", one.subject(language), language.sentence(&one.sentence))
    };
    all.iter().map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::model::ReasonCode;

    fn share(share: f64) -> Sentence {
        Sentence::new("others used {share%}").with("share", share)
    }

    fn lowered(subject: &str, status: Status, used: f64) -> LoweringReason {
        let reason = Reason::new(status, ReasonCode::ForeignLoad, share(used));
        LoweringReason { subject: subject.into(), reason }
    }

    #[test]
    fn a_reason_of_many_figures_is_said_once_with_the_span_of_its_numbers() {
        let (conditional, invalid) = (Status::Conditional, Status::Invalid);
        let mut all: Vec<LoweringReason> = [("a", 0.5), ("b", 0.25), ("a", 0.5), ("c", 0.97)]
            .map(|(subject, share)| lowered(subject, conditional, share))
            .to_vec();
        all.push(lowered("d", invalid, 0.99));
        let expected = [
            "d: invalid: others used 99 %",
            "3 figures (a; b and 1 more): conditional: others used 25 to 97 %",
        ];
        assert_eq!(remarks(Language::English, &all), expected);
    }

    #[test]
    fn two_figures_are_named_and_other_texts_are_kept_apart() {
        let of = |subject: &str, name: &str| {
            let sentence = Sentence::new("{name} is low").with("name", name);
            let reason = Reason::new(Status::Conditional, ReasonCode::Contract, sentence);
            LoweringReason { subject: subject.into(), reason }
        };
        let all = [of("a", "x"), of("b", "x"), of("c", "y")];
        let expected = ["a; b: conditional: x is low", "c: conditional: y is low"];
        assert_eq!(remarks(Language::English, &all), expected);
    }

    #[test]
    fn repetitions_of_a_figure_are_one_sentence() {
        let (low, high) = (share(0.25), share(0.5));
        let told = [("a".to_string(), &low), ("a".to_string(), &high)];
        assert_eq!(sentences(Language::English, told), ["a: others used 25 to 50 %"]);
    }
}
