//! Standard output and standard error. A reader that went away (`| head`) is not an error: from
//! then on nothing is written, and the command goes on to its own end.

use std::io::{self, ErrorKind, Write};

use serde::Serialize;

use crate::error::{Error, Result, visible};
use crate::report::format::json;
use crate::report::format::layout::{Layout, length};

/// Standard output, which takes everything once its reader is gone.
pub struct Out;

impl Write for Out {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        read_or_gone(io::stdout().lock().write(content), content.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        read_or_gone(io::stdout().lock().flush(), ())
    }
}

/// The result of a write; `gone` if the reader has ended.
fn read_or_gone<T>(written: io::Result<T>, gone: T) -> io::Result<T> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(gone),
        other => other,
    }
}

/// Prints a text line by line, adding a newline if it does not end with one; nothing in it acts on
/// the terminal.
///
/// # Errors
/// If standard output cannot be written.
pub fn print(text: &str) -> Result<()> {
    print_rendered(&text.split('\n').map(visible).collect::<Vec<_>>().join("\n"))
}

/// Prints what was made for the terminal, with its colors, adding a newline if it does not end
/// with one.
///
/// # Errors
/// If standard output cannot be written.
pub fn print_rendered(text: &str) -> Result<()> {
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    bytes(format!("{text}{newline}").as_bytes())
}

/// Writes what is not text, unchanged.
///
/// # Errors
/// If standard output cannot be written.
pub fn bytes(content: &[u8]) -> Result<()> {
    Out.write_all(content).and_then(|()| Out.flush()).map_err(|error| {
        Error::target("standard output", format!("cannot be written: {error}"))
            .advise("send it somewhere else")
    })
}

/// Prints a line on standard error; that nobody can read it is not a reason to stop. Nothing in it
/// acts on the terminal.
pub fn report(line: &str) {
    report_rendered(&visible(line));
}

/// Prints a line that was made for the terminal, with its colors.
pub fn report_rendered(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Prints a JSON document.
///
/// # Errors
/// If standard output cannot be written.
pub fn json(document: &impl Serialize) -> Result<()> {
    print_rendered(&json::text(&json::value(document)))
}

/// A column is made no narrower than this.
const NARROWEST: usize = 8;

/// A plain listing: columns as wide as their longest cell.
pub struct Table {
    /// The head if there is one, and a row per entry.
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column headers.
    pub fn new(head: &[&str]) -> Self {
        Table { rows: vec![head.iter().map(ToString::to_string).collect()] }
    }

    /// A table without column headers.
    pub fn headless() -> Self {
        Table { rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| visible(&cell)).collect());
    }

    /// The table as text, two spaces between columns, no space at line ends. If `width` is given,
    /// the widest columns are made narrower until it fits; their cells go on in further lines.
    pub fn render(&self, width: Option<usize>) -> String {
        let longest_words: Vec<usize> = (0..self.rows.first().map_or(0, Vec::len))
            .map(|column| longest_word(&self.rows, column))
            .collect();
        let right = vec![false; longest_words.len()];
        let mut layout = Layout::new(&[], self.rows.clone(), right);
        if let Some(width) = width {
            // A word is cut only if it must be.
            layout.squeeze(width, |column| longest_words[column].max(NARROWEST));
            layout.squeeze(width, |_| NARROWEST);
        }
        let lines = layout.rows.iter().flat_map(|cells| {
            let cells =
                cells.iter().zip(&layout.widths).map(|(cell, &width)| break_lists(cell, width));
            layout.row_lines(&cells.collect::<Vec<_>>())
        });
        lines.map(|line| line + "\n").collect()
    }
}

fn longest_word(rows: &[Vec<String>], column: usize) -> usize {
    rows.iter().flat_map(|row| row[column].split_whitespace()).map(length).max().unwrap_or(0)
}

/// A cell whose long lists, such as numbers of jobs, can be broken after each comma.
fn break_lists(cell: &str, width: usize) -> String {
    if length(cell) <= width {
        return cell.to_string();
    }
    let part =
        |word: &str| if length(word) > width { word.replace(',', ", ") } else { word.to_string() };
    cell.split_whitespace().map(part).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_longest_cell() {
        let mut table = Table::new(&["id", "name"]);
        table.row(["1".into(), "a long name".into()]);
        table.row(["12".into(), String::new()]);
        assert_eq!(table.render(None), "id  name\n1   a long name\n12\n");
    }

    #[test]
    fn the_widest_columns_are_made_narrower_until_the_table_fits() {
        let mut table = Table::new(&["id", "title", "unit"]);
        table.row(["1".into(), "a title that is far too long".into(), "qps".into()]);
        let text = table.render(Some(27));
        assert_eq!(
            text,
            "id  title              unit\n1   a title that is    qps\n    far too long\n"
        );
        let mut table = Table::new(&["title", "engines", "note"]);
        let long = "words that fill a line of a terminal and more than that";
        table.row([long.into(), long.into(), "x".repeat(50)]);
        let text = table.render(Some(80));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let mut table = Table::new(&["title", "jobs"]);
        table.row([long.into(), "1,2,4,8,16,32".into()]);
        assert!(table.render(Some(21)).contains("1, 2, 4, 8,\n"), "{}", table.render(Some(21)));
        assert!(text.matches('x').count() == 50 && text.matches("terminal").count() == 2, "{text}");
    }
}
