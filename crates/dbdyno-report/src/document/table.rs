//! Tables of a document: columns, cells, footnotes and remarks.

use std::collections::HashMap;

use serde::{Serialize, Serializer};

use crate::about::About;
use crate::lowered;
use crate::texts::Language;
use dbdyno_core::model::{Reason, Sentence, Status, Verdict};

/// A table; every row has as many cells as there are columns.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Table {
    /// Short name, unique in the document.
    pub name: String,
    /// Language of its texts and numbers.
    #[serde(skip)]
    pub language: Language,
    /// Heads of the columns, from left to right.
    pub columns: Vec<Column>,
    /// Number of leading columns: where space is short, those behind them follow below in further
    /// blocks, and none is left out; 0 = columns are left out by priority.
    #[serde(skip)]
    pub leading: usize,
    /// Cells from top to bottom, one per column in each row.
    pub rows: Vec<Vec<Cell>>,
    /// Reasons for unknown cells; a cell names its footnote by index.
    pub footnotes: Vec<String>,
    /// Sentences below the table: the reasons of verdicts.
    pub remarks: Vec<String>,
}

/// The head of a column.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Column {
    /// Head of the column, in the language of the table.
    pub name: String,
    /// Unit of every figure of the column; none for text and counts.
    pub unit: Option<String>,
    /// 0 = always shown; where space is short, the columns with the highest number go first.
    #[serde(skip)]
    pub priority: u8,
}

/// A column as declared data: its head beside the source of its cells. `R` is what a row is made
/// from.
pub struct Declared<R> {
    name: &'static str,
    unit: &'static str,
    priority: u8,
    cell: fn(&R, &mut Table) -> Cell,
}

impl<R> Declared<R> {
    /// A column; see [`Column`] for its head. `cell` makes the cell of a row, whose footnotes go
    /// into the table.
    pub const fn new(
        name: &'static str,
        unit: &'static str,
        priority: u8,
        cell: fn(&R, &mut Table) -> Cell,
    ) -> Declared<R> {
        Declared { name, unit, priority, cell }
    }
}

/// Number of digits of a figure that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digits {
    /// Number of significant digits, whatever the size of the figure.
    Significant(u8),
    /// Number of digits after the decimal separator.
    Decimals(u8),
}

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Nothing to show: the column does not apply to the row.
    Empty,
    /// Words, which are shown as they are.
    Text(String),
    /// A figure in the unit of its column.
    Number {
        /// Figure with all its digits.
        value: f64,
        /// Digits that people are shown.
        digits: Digits,
        /// The verdict on this figure; none for counts and settings.
        verdict: Option<Status>,
    },
    /// A bound of a figure, in the unit of its column: `at least 8,000`. Programs read the number;
    /// the table has a remark on it for them.
    Bound {
        /// The side of the bound on which the figure is.
        side: BoundSide,
        /// Bound with all its digits.
        value: f64,
        /// Digits that people are shown.
        digits: Digits,
        /// The verdict on it; none without one.
        verdict: Option<Status>,
    },
    /// A value that cannot be had; the index of the footnote that says why.
    Unknown(usize),
    /// The verdict itself, as a word with its color.
    Verdict(Status),
}

impl Table {
    /// An empty table; the English names of its columns are said in the language.
    pub fn new(
        language: Language,
        name: impl Into<String>,
        columns: impl IntoIterator<Item = Column>,
    ) -> Table {
        let said = |column: Column| Column { name: language.phrase(&column.name), ..column };
        let columns = columns.into_iter().map(said).collect();
        Table { name: name.into(), language, columns, ..Table::default() }
    }

    /// An empty table of declared columns.
    pub fn declared<R>(
        language: Language,
        name: impl Into<String>,
        columns: &[Declared<R>],
    ) -> Table {
        let head = |column: &Declared<R>| Column::new(column.name, column.unit, column.priority);
        Table::new(language, name, columns.iter().map(head))
    }

    /// Adds the row that the columns make from its source.
    pub fn add_row<R>(&mut self, columns: &[Declared<R>], source: &R) {
        let row = columns.iter().map(|column| (column.cell)(source, self)).collect();
        self.rows.push(row);
    }

    /// The footnote `why` as a cell; equal reasons share one footnote.
    pub fn unknown(&mut self, why: impl Into<Sentence>) -> Cell {
        footnote(&mut self.footnotes, self.language.sentence(&why.into()))
    }

    /// The footnote as a cell, as it is said already.
    pub(crate) fn noted(&mut self, footnote_said: &str) -> Cell {
        footnote(&mut self.footnotes, footnote_said.to_string())
    }

    /// A figure with its verdict, or unknown.
    pub fn figure(
        &mut self,
        value: Result<f64, Sentence>,
        digits: Digits,
        verdict: Status,
    ) -> Cell {
        match value {
            Ok(value) if value.is_finite() => {
                Cell::Number { value, digits, verdict: Some(verdict) }
            }
            Ok(_) => self.unknown("the figure is not a number"),
            Err(why) => self.unknown(why),
        }
    }

    /// A figure that is not the result of a test and has no verdict, or unknown.
    pub fn unjudged(&mut self, value: Result<f64, Sentence>) -> Cell {
        match self.figure(value, Digits::Significant(4), Status::Valid) {
            Cell::Number { value, digits, .. } => Cell::Number { value, digits, verdict: None },
            unknown => unknown,
        }
    }

    /// Leaves out the columns without any content.
    pub fn drop_empty_columns(&mut self) {
        let is_empty = |column: usize| self.rows.iter().all(|row| row[column] == Cell::Empty);
        let kept: Vec<bool> = (0..self.columns.len()).map(|column| !is_empty(column)).collect();
        let mut keep = kept.iter();
        self.columns.retain(|_| keep.next() == Some(&true));
        for row in &mut self.rows {
            let mut keep = kept.iter();
            row.retain(|_| keep.next() == Some(&true));
        }
    }

    /// Adds the reasons of many tests: first what lowered a verdict, then the notes, which lowered
    /// none; each once, with the tests it is about and the span of its numbers.
    pub fn explain_all<'a>(&mut self, tests: impl Iterator<Item = (About<'a>, &'a Verdict)>) {
        let mut sentences: Vec<(&Reason, Vec<About<'a>>)> = Vec::new();
        let mut places: HashMap<(Status, &str), usize> = HashMap::new();
        for (about, verdict) in tests {
            for reason in &verdict.reasons {
                let place = *places.entry((reason.status, &reason.text)).or_insert_with(|| {
                    sentences.push((reason, Vec::new()));
                    sentences.len() - 1
                });
                sentences[place].1.push(about);
            }
        }
        let mut sentences = lowered::together(sentences);
        for (_, tests) in &mut sentences {
            let place = |about: &About<'_>| (about.run.id, about.test.seq());
            tests.sort_by_key(place);
            tests.dedup_by_key(|about| place(about));
        }
        let (notes, lowering): (Vec<_>, Vec<_>) =
            sentences.into_iter().partition(|(reason, _)| reason.status == Status::Valid);
        let language = self.language;
        let lowered = lowering.iter().map(|(reason, tests)| {
            let (subject, verdict) =
                (About::subject(language, tests), language.verdict(reason.status));
            format!("{subject}: {verdict}: {}", language.reason(reason))
        });
        let noted = notes.iter().map(|(reason, tests)| {
            let values =
                [("tests", About::tests(language, tests)), ("text", language.reason(reason))];
            language.say(
                "note on {tests}: {text}",
                &values.each_ref().map(|(name, value)| (*name, value.as_str())),
            )
        });
        self.remarks.extend(lowered.chain(noted));
    }

    /// The table without the columns that have no value in any row; each kind of reason is given
    /// once below the table. A column that is always shown stays.
    pub fn without_unknown_columns(&self) -> Table {
        let is_unknown = |at: usize| {
            let mut cells = self.rows.iter().map(|row| &row[at]).peekable();
            cells.peek().is_some()
                && self.columns[at].priority > 0
                && cells.all(|cell| matches!(cell, Cell::Unknown(_)))
        };
        let gone: Vec<usize> = (0..self.columns.len()).filter(|at| is_unknown(*at)).collect();
        let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
        for &at in &gone {
            let mut notes: Vec<usize> = self.rows.iter().filter_map(|row| row[at].note()).collect();
            notes.sort_unstable();
            notes.dedup();
            let why: Vec<&str> = notes.iter().map(|note| self.footnotes[*note].as_str()).collect();
            let (why, name) = (why.join("; "), self.columns[at].name.as_str());
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, names)) => names.push(name),
                None => reasons.push((why, vec![name])),
            }
        }
        let is_kept = |at: &usize| !gone.contains(at);
        let kept: Vec<usize> = (0..self.columns.len()).filter(is_kept).collect();
        let pick = |row: &Vec<Cell>| kept.iter().map(|at| row[*at].clone()).collect::<Vec<_>>();
        let mut table = Table {
            columns: kept.iter().map(|at| self.columns[*at].clone()).collect(),
            rows: self.rows.iter().map(pick).collect(),
            ..self.clone()
        };
        table.drop_unused_footnotes();
        let told = reasons.iter().map(|(why, names)| {
            let values = [("columns", names.join(", ")), ("why", why.clone())];
            let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
            self.language.say("without_value", &values)
        });
        table.remarks.extend(told);
        table
    }

    /// Footnotes that no cell names go; the others keep their order.
    fn drop_unused_footnotes(&mut self) {
        let mut named: Vec<usize> = self.rows.iter().flatten().filter_map(Cell::note).collect();
        named.sort_unstable();
        named.dedup();
        self.footnotes = named.iter().map(|note| self.footnotes[*note].clone()).collect();
        for cell in self.rows.iter_mut().flatten() {
            if let Cell::Unknown(note) = cell {
                *note = named.partition_point(|known| *known < *note);
            }
        }
    }
}

impl Column {
    /// A column; `unit` is empty for text and counts.
    pub fn new(name: impl Into<String>, unit: &str, priority: u8) -> Column {
        Column { name: name.into(), unit: (!unit.is_empty()).then(|| unit.into()), priority }
    }
}

/// The side of a bound on which a figure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundSide {
    /// The figure is the bound or more.
    AtLeast,
    /// The figure is the bound or less.
    AtMost,
}

impl Cell {
    /// The footnote that says why there is no value.
    fn note(&self) -> Option<usize> {
        if let Cell::Unknown(note) = self { Some(*note) } else { None }
    }

    /// The verdict of a figure; empty without one.
    pub(super) fn verdict(verdict: Option<Status>) -> Cell {
        verdict.map_or(Cell::Empty, Cell::Verdict)
    }
    /// A text.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into())
    }
    /// A whole number that needs no verdict.
    pub fn count(value: u32) -> Cell {
        Cell::Number { value: value.into(), digits: Digits::Decimals(0), verdict: None }
    }
    /// The same if it is known; else empty.
    pub fn count_if_known(value: Option<u32>) -> Cell {
        value.map_or(Cell::Empty, Cell::count)
    }
    /// The figure as a lower bound; a cell without one as it is.
    pub fn at_least(self) -> Cell {
        self.bound_on(BoundSide::AtLeast)
    }
    /// The figure as an upper bound; a cell without one as it is.
    pub fn at_most(self) -> Cell {
        self.bound_on(BoundSide::AtMost)
    }
    fn bound_on(self, side: BoundSide) -> Cell {
        match self {
            Cell::Number { value, digits, verdict } => Cell::Bound { side, value, digits, verdict },
            other => other,
        }
    }
    /// A figure that needs no verdict.
    pub fn plain(value: f64) -> Cell {
        Cell::Number { value, digits: Digits::Significant(4), verdict: None }
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Empty | Cell::Unknown(_) => serializer.serialize_none(),
            Cell::Text(text) => serializer.serialize_str(text),
            Cell::Number { value, .. } | Cell::Bound { value, .. } => {
                serializer.serialize_f64(*value)
            }
            Cell::Verdict(status) => status.serialize(serializer),
        }
    }
}

/// The footnote as a cell; equal ones stand once.
pub(super) fn footnote(footnotes: &mut Vec<String>, why: String) -> Cell {
    let known = footnotes.iter().position(|footnote| *footnote == why);
    Cell::Unknown(known.unwrap_or_else(|| {
        footnotes.push(why);
        footnotes.len() - 1
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_without_a_value_are_told_in_a_line_and_no_footnote_loses_its_cell() {
        let column = |name: &str, priority| Column::new(name, "", priority);
        let columns = [column("A", 0), column("B", 1), column("C", 1), column("D", 1)];
        let mut table = Table::new(Language::English, "t", columns);
        for number in 0..2 {
            let (lost, other) = (table.unknown("lost"), table.unknown("other"));
            let last = if number == 0 { table.unknown("third") } else { Cell::count(7) };
            table.rows.push(vec![Cell::count(number), lost, other, last]);
        }
        let shown = table.without_unknown_columns();
        let names: Vec<&str> = shown.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["A", "D"]);
        assert_eq!(
            shown.rows,
            [[Cell::count(0), Cell::Unknown(0)], [Cell::count(1), Cell::count(7)]]
        );
        assert_eq!(shown.footnotes, ["third"]);
        let said = ["B (lost)", "C (other)"].map(|of| format!("Without a value in any row: {of}"));
        assert_eq!(shown.remarks, said);
        assert_eq!(table.columns.len(), 4, "programs read all columns");
    }

    #[test]
    fn equal_reasons_share_a_footnote_and_no_number_is_unknown() {
        let mut table = Table::default();
        assert_eq!(table.unknown("a"), Cell::Unknown(0));
        assert_eq!(table.unknown("b"), Cell::Unknown(1));
        assert_eq!(
            table.figure(Err("a".into()), Digits::Decimals(1), Status::Valid),
            Cell::Unknown(0)
        );
        assert_eq!(
            table.figure(Ok(f64::NAN), Digits::Decimals(1), Status::Valid),
            Cell::Unknown(2)
        );
    }
}
