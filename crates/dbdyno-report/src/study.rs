//! Common parts of the reports of studies.

use super::Language;
use super::document::{Cell, Digits, Table};
use dbdyno_core::analysis::study::MedianInterval;
use dbdyno_core::model::{ReasonCode, Sentence, Status};

/// Answer of a study of which no figure is valid with an interval; none without figures.
pub(super) fn undecided(language: Language, figures: usize) -> String {
    let said = "Nothing is decided: no figure is valid and has an interval. What was measured \
                stands below.";
    if figures > 0 { language.phrase(said) } else { String::new() }
}

/// A figure over blocks: with its ends where there are enough blocks for an interval, else its
/// median.
pub(super) struct OfBlocks<'a> {
    pub known: Option<&'a MedianInterval>,
    pub median: Option<f64>,
}

/// A figure over blocks with its ends and its verdict. Of too few blocks for an interval there is
/// the median, which is conditional; `why` says what is missing.
pub(super) fn median_cells(
    table: &mut Table,
    figure: OfBlocks<'_>,
    why: &Sentence,
    digits: Digits,
    verdict: Status,
) -> [Cell; 4] {
    let OfBlocks { known, median } = figure;
    let value = known.map(|known| known.value).or(median);
    let ends = [known.map(|known| known.low), known.map(|known| known.high)];
    let [value, low, high] = [value, ends[0], ends[1]]
        .map(|value| table.figure(value.ok_or_else(|| why.clone()), digits, verdict));
    [value, low, high, Cell::Verdict(verdict)]
}

/// `TCP: lowered verdicts: 3 other programs were at work, 1 ...`; nothing if no verdict was
/// lowered. They may be of tests that are used and of tests that are not.
pub(super) fn conditions(
    language: Language,
    subject: &str,
    counted: &[(ReasonCode, usize)],
) -> Option<String> {
    let said = |(code, count): &(ReasonCode, usize)| format!("{count} {}", language.code(code));
    let all = counted.iter().map(said).collect::<Vec<_>>().join(", ");
    let values = [("subject", subject), ("all", all.as_str())];
    (!counted.is_empty()).then(|| language.say("{subject}: lowered verdicts: {all}", &values))
}
