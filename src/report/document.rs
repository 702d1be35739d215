//! What a report says, independent of its form: sections with paragraphs, facts and tables of typed cells.

use crate::model::{Status, Verdict};

/// A report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    pub title: String,
    pub sections: Vec<Section>,
}

/// A part of a report under a heading.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Section {
    pub title: String,
    pub blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    Paragraph(String),
    /// Names and values, in order.
    Facts(Vec<(String, String)>),
    Table(Table),
}

/// A table; every row has as many cells as there are columns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Short name, unique in the document.
    pub name: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
    /// Why cells are unknown; a cell names its footnote by index.
    pub footnotes: Vec<String>,
    /// Sentences below the table: the reasons of verdicts.
    pub remarks: Vec<String>,
}

/// The head of a column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Column {
    pub name: String,
    /// Unit of every figure of the column; none for text and counts.
    pub unit: Option<String>,
    /// 0 = always shown; where space is short, the columns with the highest number go first.
    pub priority: u8,
}

/// How many digits of a figure are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digits {
    Significant(u8),
    Decimals(u8),
}

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Empty,
    Text(String),
    Number {
        value: f64,
        digits: Digits,
        /// The verdict on this figure; none for counts and settings.
        verdict: Option<Status>,
    },
    /// A value that cannot be had; the index of the footnote that says why.
    Unknown(usize),
    Verdict(Status),
}

impl Cell {
    /// A text.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into())
    }
    /// A whole number that needs no verdict.
    pub fn count(value: u32) -> Cell {
        Cell::Number { value: value.into(), digits: Digits::Decimals(0), verdict: None }
    }
}

impl Table {
    /// The footnote `why` as a cell; equal reasons share one footnote.
    pub fn unknown(&mut self, why: &str) -> Cell {
        let known = self.footnotes.iter().position(|footnote| footnote == why);
        Cell::Unknown(known.unwrap_or_else(|| {
            self.footnotes.push(why.into());
            self.footnotes.len() - 1
        }))
    }

    /// A figure with its verdict, or unknown.
    pub fn figure(&mut self, value: Result<f64, String>, digits: Digits, verdict: Status) -> Cell {
        match value {
            Ok(value) if value.is_finite() => Cell::Number { value, digits, verdict: Some(verdict) },
            Ok(_) => self.unknown("the figure is not a number"),
            Err(why) => self.unknown(&why),
        }
    }

    /// A figure that is not the result of a test and has no verdict, or unknown.
    pub fn unjudged(&mut self, value: Result<f64, String>) -> Cell {
        match self.figure(value, Digits::Significant(4), Status::Valid) {
            Cell::Number { value, digits, .. } => Cell::Number { value, digits, verdict: None },
            unknown => unknown,
        }
    }

    /// Adds the reasons that lowered the verdict on `subject`, each as a sentence.
    pub fn explain(&mut self, subject: &str, verdict: &Verdict) {
        for reason in verdict.reasons.iter().filter(|reason| reason.status > Status::Valid) {
            self.remark(format!("{subject}: {}: {}", reason.status, reason.text));
        }
    }

    /// Adds the notes of several verdicts, which lowered none: each text once, with the subjects it is about.
    pub fn note<'a>(&mut self, verdicts: impl Iterator<Item = (String, &'a Verdict)>) {
        let mut notes: Vec<(&str, Vec<String>)> = Vec::new();
        for (subject, verdict) in verdicts {
            for reason in verdict.reasons.iter().filter(|reason| reason.status == Status::Valid) {
                match notes.iter_mut().find(|(text, _)| *text == reason.text) {
                    Some((_, subjects)) => subjects.push(subject.clone()),
                    None => notes.push((&reason.text, vec![subject.clone()])),
                }
            }
        }
        for (text, subjects) in notes {
            self.remark(format!("note on test {}: {text}", subjects.join(", ")));
        }
    }

    fn remark(&mut self, remark: String) {
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_reasons_share_a_footnote_and_no_number_is_unknown() {
        let mut table = Table::default();
        assert_eq!(table.unknown("a"), Cell::Unknown(0));
        assert_eq!(table.unknown("b"), Cell::Unknown(1));
        assert_eq!(table.figure(Err("a".into()), Digits::Decimals(1), Status::Valid), Cell::Unknown(0));
        assert_eq!(table.figure(Ok(f64::NAN), Digits::Decimals(1), Status::Valid), Cell::Unknown(2));
    }
}
