//! The forms a document can take. Adding one: one file here and one line in [`FORMATS`].

pub mod csv;
mod escape;
mod heatmap_text;
pub mod html;
pub mod json;
pub mod junit;
pub mod layout;
mod markdown;
pub mod number;
pub mod pdf;
mod signs;
pub mod text;
mod xlsx;

use super::columns::{at_least, at_most};
use super::document::{BoundSide, Cell, Column, Digits, Document, HeatCell, Table};
use super::texts::Language;
use dbdyno_core::analysis::heatmap::Rank;
use dbdyno_core::error::{Error, Result};
use dbdyno_core::model::Status;

/// Options for showing a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Characters per line, for text.
    pub width: usize,
    /// Characters per line of a table in text; a wider table loses columns.
    pub table_width: usize,
    /// Colors, for text.
    pub color: Color,
}

/// Colors that a terminal shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Color {
    /// No color at all: plain text.
    #[default]
    None,
    /// The 256 colors of an xterm.
    Indexed,
    /// Any red, green and blue.
    True,
}

/// No table of dbdyno is wider than this.
const WHOLE_TABLE: usize = 1000;

impl Options {
    /// Text of this width without colors.
    pub fn plain(width: usize) -> Self {
        Options { width, table_width: width, color: Color::None }
    }

    /// Text that no terminal shows: sentences of this width, tables with all their columns.
    pub fn whole_tables(width: usize) -> Self {
        Options { table_width: WHOLE_TABLE, ..Options::plain(width) }
    }

    /// True if there is any color.
    pub fn is_colored(self) -> bool {
        self.color != Color::None
    }
}

impl Default for Options {
    fn default() -> Self {
        Options::plain(100)
    }
}

/// A document in its form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rendered {
    /// Ends with a line end.
    Text(String),
    /// A file of its own kind; not for a terminal.
    Bytes(Vec<u8>),
}

impl Rendered {
    /// The text.
    ///
    /// # Errors
    /// If the form is none for people to read as it is.
    pub fn into_text(self) -> Result<String> {
        match self {
            Rendered::Text(text) => Ok(text),
            Rendered::Bytes(_) => {
                Err(Error::usage("--format", "this format is not text")
                    .advise("give --output FILE"))
            }
        }
    }

    /// Content of the file.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Rendered::Text(text) => text.as_bytes(),
            Rendered::Bytes(bytes) => bytes,
        }
    }
}

/// A form.
pub trait Format: Sync {
    /// Name for `--format`.
    fn name(&self) -> &'static str;
    /// One line for `list formats`.
    fn title(&self) -> &'static str;
    /// True if it can be read on a terminal.
    fn is_text(&self) -> bool {
        true
    }
    /// True if programs read it: its words are English and its numbers plain, whatever the
    /// language.
    fn is_for_programs(&self) -> bool {
        false
    }
    /// True if a browser has to print what is rendered.
    fn is_printed_page(&self) -> bool {
        false
    }
    /// True of a page with pictures, on the screen or printed: it has a place for a brand.
    fn is_page(&self) -> bool {
        self.is_printed_page()
    }
    /// Ending of files of this form, without the dot.
    fn extension(&self) -> &'static str;
    /// The document in this form.
    ///
    /// # Errors
    /// If the form cannot hold it.
    fn render(&self, document: &Document, options: Options) -> Result<Rendered>;
}

/// Every form that `--format` takes. [`junit::Junit`] is none of them: it holds the checks of a
/// comparison and nothing else of a document, and `--junit` writes it beside the report.
pub const FORMATS: &[&dyn Format] = &[
    &text::Text,
    &markdown::Markdown,
    &html::Html,
    &csv::Csv,
    &json::Json,
    &xlsx::Xlsx,
    &pdf::Pdf,
];

/// `name [unit]`.
fn heading(column: &Column) -> String {
    match &column.unit {
        Some(unit) => format!("{} [{unit}]", column.name),
        None => column.name.clone(),
    }
}

/// A cell for people: figures with a mark if their verdict is not valid, unknown as `-` with its
/// footnote number.
fn shown(cell: &Cell, language: Language) -> String {
    match cell {
        Cell::Empty => String::new(),
        Cell::Text(text) => text.clone(),
        Cell::Number { value, digits, verdict } => figure_text(language, *value, *digits, *verdict),
        Cell::Bound { side, value, digits, verdict } => {
            let figure = figure_text(language, *value, *digits, *verdict);
            match side {
                BoundSide::AtLeast => at_least(language, figure, true),
                BoundSide::AtMost => at_most(language, &figure),
            }
        }
        Cell::Unknown(footnote) => format!("-{}", superscript(footnote + 1)),
        Cell::Verdict(status) => language.verdict(*status),
    }
}

/// A figure with the mark of its verdict.
fn figure_text(language: Language, value: f64, digits: Digits, verdict: Option<Status>) -> String {
    format!("{}{}", language.number(value, digits), mark(verdict))
}

/// A cell of a heatmap for people: as [`shown`], with a sign for the best of the row and what
/// equals it.
fn heat_shown(cell: &HeatCell, language: Language) -> String {
    format!("{}{}", shown(&cell.cell, language), rank_sign(cell.rank))
}

/// `*` for the best of a row, `~` for what does not differ from it.
fn rank_sign(rank: Option<Rank>) -> &'static str {
    match rank {
        Some(Rank::Best) => "*",
        Some(Rank::Equal) => "~",
        Some(Rank::Below | Rank::Undecided) | None => "",
    }
}

/// Mark behind a figure; see [`LEGEND`].
fn mark(verdict: Option<Status>) -> &'static str {
    match verdict {
        Some(Status::Conditional) => "?",
        Some(Status::Invalid) => "!",
        Some(Status::Valid) | None => "",
    }
}

/// Explains [`mark`], where marks are shown; a phrase of the languages.
const LEGEND: &str = "? conditional  ! invalid: see the reasons; figures without a mark are valid";

/// True if the table shows a mark.
fn is_marked(rows: &[Vec<Cell>]) -> bool {
    let marked = |cell: &Cell| match cell {
        Cell::Number { verdict, .. } | Cell::Bound { verdict, .. } => !mark(*verdict).is_empty(),
        _ => false,
    };
    rows.iter().flatten().any(marked)
}

/// True if the column holds figures: right-aligned.
fn is_number(table: &Table, column: usize) -> bool {
    let any = |is: fn(&Cell) -> bool| table.rows.iter().any(|row| is(&row[column]));
    // A column of texts stays one where some are unknown.
    any(|cell| matches!(cell, Cell::Number { .. } | Cell::Bound { .. }))
        || (any(|cell| matches!(cell, Cell::Unknown(_)))
            && !any(|cell| matches!(cell, Cell::Text(_))))
}

/// The number in raised digits.
fn superscript(number: usize) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    number
        .to_string()
        .bytes()
        .filter_map(|digit| RAISED.get(usize::from(digit.wrapping_sub(b'0'))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_told_that_a_bound_is_none_of_the_figures_beside_it() {
        let (value, digits) = (8000.0, Digits::Significant(4));
        let figure = |verdict| Cell::Number { value, digits, verdict: Some(verdict) };
        let bound = |verdict| figure(verdict).at_least();
        let said = |verdict| shown(&bound(verdict), Language::English);
        assert_eq!(said(Status::Valid), "at least 8,000");
        assert_eq!(said(Status::Conditional), "at least 8,000?");
        assert!(is_marked(&[vec![bound(Status::Conditional)]]));
        assert!(!is_marked(&[vec![bound(Status::Valid)]]));
        assert_eq!(serde_json::to_value(bound(Status::Valid)).unwrap(), 8000.0);
    }

    #[test]
    fn an_upper_bound_is_told_as_one_in_both_languages() {
        let (value, digits) = (80.0, Digits::Significant(3));
        let figure = |verdict| Cell::Number { value, digits, verdict: Some(verdict) };
        let bound = |verdict| figure(verdict).at_most();
        let said = |verdict, language| shown(&bound(verdict), language);
        assert_eq!(said(Status::Valid, Language::English), "at most 80.0");
        assert_eq!(said(Status::Conditional, Language::English), "at most 80.0?");
        assert_eq!(said(Status::Conditional, Language::German), "höchstens 80,0?");
        assert!(is_marked(&[vec![bound(Status::Conditional)]]));
        assert!(!is_marked(&[vec![bound(Status::Valid)]]));
        assert_eq!(serde_json::to_value(bound(Status::Valid)).unwrap(), 80.0);
    }

    #[test]
    fn footnotes_are_numbered_in_raised_digits() {
        assert_eq!(superscript(1), "¹");
        assert_eq!(superscript(120), "¹²⁰");
    }
}
