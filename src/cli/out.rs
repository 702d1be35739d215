//! Standard output and standard error. A reader that went away (`| head`) is no error: from then on nothing is written, and
//! the command goes on to its own end.

use std::io::{self, ErrorKind, Write};

use crate::error::{Error, Kind, Result};
use crate::report::format::text::fold;

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
/// A column is made no narrower than this.
const NARROWEST: usize = 8;

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

    /// The table as text, two spaces between columns, no space at line ends. If `width` is given, the widest columns are made
    /// narrower until it fits; their cells go on in further lines.
    pub fn render(&self, width: Option<usize>) -> String {
        let lines: Vec<&Vec<String>> = std::iter::once(&self.head).chain(&self.rows).collect();
        let longest =
            |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max();
        let mut widths: Vec<usize> = (0..self.head.len()).map(|column| longest(column).unwrap_or(0)).collect();
        if let Some(width) = width {
            let words: Vec<usize> = (0..self.head.len()).map(|column| longest_word(&lines, column)).collect();
            shrink(&mut widths, &words, width);
        }
        lines.into_iter().flat_map(|cells| folded(cells, &widths)).collect()
    }
}

fn longest_word(lines: &[&Vec<String>], column: usize) -> usize {
    let words = lines.iter().filter_map(|line| line.get(column)).flat_map(|cell| cell.split_whitespace());
    words.map(|word| word.chars().count()).max().unwrap_or(0)
}

/// Takes from the widest columns what is too much for `width`; a word is cut only if it must be.
fn shrink(widths: &mut [usize], words: &[usize], width: usize) {
    let gaps = SEPARATOR.len() * widths.len().saturating_sub(1);
    for least in [words, &vec![NARROWEST; words.len()]] {
        while widths.iter().sum::<usize>() + gaps > width {
            let wider = widths.iter_mut().zip(least).filter(|(width, least)| **width > (**least).max(NARROWEST));
            match wider.max_by_key(|(width, _)| **width) {
                Some((widest, _)) => *widest -= 1,
                None => break,
            }
        }
    }
}

/// Lists that are longer than a line, as of numbers of jobs, may go on behind each comma.
fn parted(cell: &str, width: usize) -> String {
    let part = |word: &str| if word.chars().count() > width { word.replace(',', ", ") } else { word.to_string() };
    cell.split_whitespace().map(part).collect::<Vec<_>>().join(" ")
}

/// A row in as many lines as its longest cell needs.
fn folded(cells: &[String], widths: &[usize]) -> Vec<String> {
    let fits = |cell: &str, width: usize| cell.chars().count() <= width;
    let parts: Vec<Vec<String>> = cells
        .iter()
        .zip(widths)
        .map(|(cell, &width)| if fits(cell, width) { vec![cell.clone()] } else { fold(&parted(cell, width), width) })
        .collect();
    let line = |level: usize| {
        let part =
            |(parts, width): (&Vec<String>, &usize)| format!("{:<width$}", parts.get(level).map_or("", String::as_str));
        parts.iter().zip(widths).map(part).collect::<Vec<_>>().join(SEPARATOR).trim_end().to_string() + "\n"
    };
    (0..parts.iter().map(Vec::len).max().unwrap_or(0)).map(line).collect()
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
        assert_eq!(text, "id  title              unit\n1   a title that is    qps\n    far too long\n");
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
