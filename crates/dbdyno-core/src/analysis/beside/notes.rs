//! The notes of a pair, each said once: differences that keep its two figures from being the same.

use serde::Serialize;

use super::{Code, Pair};
use crate::model::{ReasonCode, RunRecord, Sentence};

/// A remark on a pair.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Note {
    /// `data`, `one-an-op`, `per-op`, `fixed-work`, `differs`, or the doubt about the printed
    /// figure: `lower-bound`, `doubtful`, `approximate`, `caution`, `restored`, `bound`.
    pub code: String,
    /// The remark as a sentence.
    #[serde(serialize_with = "super::serialize_sentence")]
    pub text: Sentence,
}

/// The notes of a pair: data, units, bounds and doubts of the source, other work. `runs` are yours
/// and theirs.
pub(super) fn collect(
    pair: &Pair,
    doubts: &[ReasonCode],
    differs: Option<&str>,
    runs: [&RunRecord; 2],
) -> Vec<Note> {
    let units = [unit(pair), fixed_work(pair)];
    let sources = doubts.iter().map(doubt);
    let other = differs.map(|text| note("differs", Sentence::new(text)));
    let said = [data(runs)].into_iter().chain(units.into_iter().flatten()).chain(sources);
    said.chain(other).collect()
}

fn note(code: &str, text: Sentence) -> Note {
    Note { code: code.into(), text }
}

fn data(runs: [&RunRecord; 2]) -> Note {
    let unknown = || Sentence::new("unknown size");
    let size = |run: &RunRecord| {
        run.size_gb.map_or_else(unknown, |gb| Sentence::new("{gb=} GB").with("gb", gb))
    };
    let [yours, theirs] = runs.map(size);
    let text = "your data set: {yours}; theirs: {theirs}";
    note("data", Sentence::new(text).with("yours", yours).with("theirs", theirs))
}

/// Note on the conversion of the measured figure to the common unit.
fn unit(pair: &Pair) -> Option<Note> {
    let (own, conversion) = (&pair.yours.printed_unit, pair.yours.conversion);
    let said = |text: &str| {
        Sentence::new(text)
            .with("unit", pair.unit)
            .with("own", own.as_str())
            .with("things", Sentence::new(pair.quantity.plural()))
    };
    match conversion.code {
        Code::OneAnOp => Some(note(
            "one-an-op",
            said("{unit}: yours is printed in {own}; one op is one of the {things}"),
        )),
        Code::PerOp => Some(note(
            "per-op",
            said("{unit}: yours is printed in {own}; one op is {factor} {things}")
                .with("factor", conversion.factor),
        )),
        Code::AsPrinted | Code::FixedWork => None,
    }
}

/// The conversion of theirs to the common unit.
fn fixed_work(pair: &Pair) -> Option<Note> {
    let conversion = pair.theirs.conversion;
    (conversion.code == Code::FixedWork).then(|| {
        let text = "theirs is a time: {amount} {things} of each job in {printed} {unit}";
        let text = Sentence::new(text)
            .with("amount", conversion.factor)
            .with("things", Sentence::new(pair.quantity.plural()))
            .with("printed", pair.theirs.printed)
            .with("unit", pair.theirs.printed_unit.as_str());
        note("fixed-work", text)
    })
}

/// The source's own doubts about its figure.
fn doubt(code: &ReasonCode) -> Note {
    let text = match code {
        ReasonCode::LowerBound => {
            "theirs was done in about the shortest time that the suite can resolve: it is at \
             least this, and the ratio at most"
        }
        ReasonCode::Bound => "the source gives only a bound",
        ReasonCode::Doubtful => "theirs is read, but not provable",
        ReasonCode::Caution => "theirs is inconsistent or untypical, as printed",
        ReasonCode::Approximate => "theirs is a statement of the text, rounded",
        ReasonCode::Restored => {
            "digits of theirs are recovered by arithmetic or from a second place"
        }
        _ => "the source has a reservation about its figure",
    };
    note(code.as_str(), Sentence::new(text))
}
