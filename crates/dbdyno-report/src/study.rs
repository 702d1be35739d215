//! Common parts of the reports of studies.

use super::Language;
use super::document::{Cell, Declared, Digits, Table};
use dbdyno_core::analysis::ReasonCount;
use dbdyno_core::analysis::study::{MedianInterval, too_few};
use dbdyno_core::model::{Sentence, Status};

/// Answer of a study of which no figure is valid with an interval; none without figures.
pub(super) fn undecided(language: Language, figures: usize) -> String {
    let said = "Nothing is decided: no figure is valid and has an interval. What was measured \
                stands below.";
    if figures > 0 { language.phrase(said) } else { String::new() }
}

/// Sentences about several studies, each behind the name of its study; of one alone as they are.
pub(super) fn of_each(answers: impl Iterator<Item = (String, String)>) -> String {
    let answers: Vec<(String, String)> = answers.filter(|(_, said)| !said.is_empty()).collect();
    match answers.as_slice() {
        [(_, said)] => said.clone(),
        several => {
            let named = several.iter().map(|(name, said)| format!("{name}: {said}"));
            named.collect::<Vec<_>>().join(" ")
        }
    }
}

/// A row of a study: what a figure over blocks is about, and the figure.
pub(super) struct StudyRow {
    /// One or two names of what is measured.
    pub names: Vec<String>,
    /// Median over the blocks.
    pub value: Option<f64>,
    /// Ends of its 95 % interval, where there are enough blocks for one.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Reason why one of them is missing.
    pub why: Sentence,
    pub digits: Digits,
    /// Number of blocks that count.
    pub blocks: usize,
    /// Verdict on the figure.
    pub verdict: Status,
    /// The verdict stands in its column, too.
    pub shows_verdict: bool,
}

impl StudyRow {
    /// The row of a figure over blocks. Of too few blocks for an interval there is the median,
    /// which is conditional.
    pub(super) fn new(
        names: Vec<String>,
        known: Option<&MedianInterval>,
        median: Option<f64>,
        blocks: usize,
        verdict: Status,
    ) -> StudyRow {
        StudyRow {
            names,
            value: known.map(|known| known.value).or(median),
            low: known.map(|known| known.low),
            high: known.map(|known| known.high),
            why: too_few(blocks),
            digits: Digits::Significant(3),
            blocks,
            verdict,
            shows_verdict: true,
        }
    }

    fn verdict_cell(&self) -> Cell {
        if self.shows_verdict { Cell::Verdict(self.verdict) } else { Cell::Empty }
    }

    fn cell(&self, table: &mut Table, value: Option<f64>) -> Cell {
        table.figure(value.ok_or_else(|| self.why.clone()), self.digits, self.verdict)
    }
}

/// Columns of a study with one name: `name`, then the figure with its interval, under these heads.
pub(super) fn columns(name: &'static str, figure: &'static str, unit: &'static str) -> Columns {
    [Declared::new(name, "", 0, |row: &StudyRow, _| Cell::text(&row.names[0]))]
        .into_iter()
        .chain(figure_columns(figure, unit))
        .collect()
}

/// The same with two names.
pub(super) fn pair_columns(names: [&'static str; 2], figure: &'static str) -> Columns {
    let [first, second] = names;
    [
        Declared::new(first, "", 0, |row: &StudyRow, _| Cell::text(&row.names[0])),
        Declared::new(second, "", 0, |row: &StudyRow, _| Cell::text(&row.names[1])),
    ]
    .into_iter()
    .chain(figure_columns(figure, ""))
    .collect()
}

/// Declared columns of a study.
pub(super) type Columns = Vec<Declared<StudyRow>>;

fn figure_columns(figure: &'static str, unit: &'static str) -> [Declared<StudyRow>; 5] {
    [
        Declared::new(figure, unit, 0, |row, table| row.cell(table, row.value)),
        Declared::new("low", unit, 0, |row, table| row.cell(table, row.low)),
        Declared::new("high", unit, 0, |row, table| row.cell(table, row.high)),
        Declared::new("Blocks", "", 2, |row, _| Cell::count(row.blocks as u32)),
        Declared::new("Verdict", "", 1, |row, _| row.verdict_cell()),
    ]
}

/// `TCP: lowered verdicts: 3 other programs were at work, 1 ...`; nothing if no verdict was
/// lowered. They may be of tests that are used and of tests that are not.
pub(super) fn conditions(
    language: Language,
    subject: &str,
    counted: &[ReasonCount],
) -> Option<String> {
    let said = |one: &ReasonCount| format!("{} {}", one.trials, language.code(&one.code));
    let all = counted.iter().map(said).collect::<Vec<_>>().join(", ");
    let values = [("subject", subject), ("all", all.as_str())];
    (!counted.is_empty()).then(|| language.say("{subject}: lowered verdicts: {all}", &values))
}
