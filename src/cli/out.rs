//! Standard output: a reader that went away (`| head`) is no error.

use std::io::Write;

use crate::error::{Error, Kind, Result};

/// Prints a text, adding a newline if it does not end with one.
pub fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    if write!(stdout, "{text}{newline}").and_then(|()| stdout.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Prints a JSON document.
///
/// # Errors
/// None in practice: our documents have string keys only.
pub fn json<T: serde::Serialize>(document: &T) -> Result<()> {
    let text =
        serde_json::to_string_pretty(document).map_err(|error| Error::new(Kind::Target, "json", error.to_string()))?;
    print(&text);
    Ok(())
}

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

    /// The table as text, two spaces between columns, no space at line ends.
    pub fn render(&self) -> String {
        let lines: Vec<&Vec<String>> = std::iter::once(&self.head).chain(&self.rows).collect();
        let width =
            |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max();
        let widths: Vec<usize> = (0..self.head.len()).map(|column| width(column).unwrap_or(0)).collect();
        let line = |cells: &Vec<String>| {
            let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            padded.collect::<Vec<_>>().join("  ").trim_end().to_string()
        };
        lines.into_iter().map(|cells| line(cells) + "\n").collect()
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
        assert_eq!(table.render(), "id  name\n1   a long name\n12\n");
    }
}
