//! Standard output and standard error. A reader that went away (`| head`) is no error: from then on nothing is written, and
//! the command goes on to its own end.

use std::io::{self, ErrorKind, Write};

use super::live_table::shortened;
use crate::error::{Error, Kind, Result};

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

/// `gone` if nobody reads.
fn read_or_gone<T>(written: io::Result<T>, gone: T) -> io::Result<T> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(gone),
        other => other,
    }
}

/// Prints a text, adding a newline if it does not end with one.
///
/// # Errors
/// If standard output cannot be written.
pub fn print(text: &str) -> Result<()> {
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    bytes(format!("{text}{newline}").as_bytes())
}

/// Writes what is no text, unchanged.
///
/// # Errors
/// If standard output cannot be written.
pub fn bytes(content: &[u8]) -> Result<()> {
    Out.write_all(content).and_then(|()| Out.flush()).map_err(|error| {
        Error::target("standard output", format!("cannot be written: {error}")).advise("send it somewhere else")
    })
}

/// Says a line on standard error; that nobody can hear it is no reason to stop.
pub fn tell(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Prints a JSON document.
///
/// # Errors
/// If standard output cannot be written.
pub fn json<T: serde::Serialize>(document: &T) -> Result<()> {
    let text =
        serde_json::to_string_pretty(document).map_err(|error| Error::new(Kind::Target, "json", error.to_string()))?;
    print(&text)
}

/// Between two columns.
const SEPARATOR: &str = "  ";
/// A shortened column keeps this many characters.
const NARROWEST: usize = 12;

/// A plain listing: columns as wide as their longest cell.
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column headers.
    pub fn new(head: &[&str]) -> Self {
        Table { head: head.iter().map(ToString::to_string).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table as text, two spaces between columns, no space at line ends. If `width` is given, the widest column
    /// is shortened to fit.
    pub fn render(&self, width: Option<usize>) -> String {
        let lines: Vec<&Vec<String>> = std::iter::once(&self.head).chain(&self.rows).collect();
        let longest =
            |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max();
        let mut widths: Vec<usize> = (0..self.head.len()).map(|column| longest(column).unwrap_or(0)).collect();
        if let Some(width) = width {
            shrink(&mut widths, width);
        }
        let line = |cells: &Vec<String>| {
            let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{:<width$}", shortened(cell, *width)));
            padded.collect::<Vec<_>>().join(SEPARATOR).trim_end().to_string()
        };
        lines.into_iter().map(|cells| line(cells) + "\n").collect()
    }
}

/// Takes from the widest column what is too much for `width`; it keeps some characters in any case.
fn shrink(widths: &mut [usize], width: usize) {
    let total = widths.iter().sum::<usize>() + SEPARATOR.len() * widths.len().saturating_sub(1);
    if let Some(widest) = widths.iter_mut().max() {
        *widest = widest.saturating_sub(total.saturating_sub(width)).max((*widest).min(NARROWEST));
    }
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
    fn the_widest_column_is_shortened_to_fit() {
        let mut table = Table::new(&["id", "title", "unit"]);
        table.row(["1".into(), "a title that is far too long".into(), "qps".into()]);
        let text = table.render(Some(27));
        assert_eq!(text, "id  title              unit\n1   a title that is ~  qps\n");
    }
}
